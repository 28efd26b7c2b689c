//! day31's and day32's claims on made-up figures: each holds on a GPU as the essay has it, and each is refuted on its own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here fail as a test does")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use labs_record::figure::{Figure, Kind, Samples, Unit};
use labs_record::record::Gpu;
use labs_record::{At, Claims, Coordinate, Evidence, Verdict, store, wording};

/// A figure: name, variant, axis and place, value.
type Made = (&'static str, &'static str, &'static str, Coordinate, f64);

/// What refutes a claim: the figures of this name and variant, at this place if one is named, become `times` as much.
type Refutation = (&'static str, &'static str, &'static str, &'static str, f64);

fn claims(stem: &str) -> Claims {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    store::read(&root.join(format!("verification/claims/{stem}.yaml")), "claims file").unwrap()
}

fn figure((name, variant, axis, place, value): &Made) -> Figure {
    let (unit, kind) = match *name {
        "time" => (Unit::Nanoseconds, Kind::Duration),
        "throughput" | "sm_throughput" => (Unit::PerSecond, Kind::Duration),
        "torn" | "wrong_pairs" => (Unit::One, Kind::Observation),
        _ => (Unit::Cycles, Kind::Spread),
    };
    let samples = match kind {
        Kind::Observation => Samples::Tries { seen: *value as u64, of: 1_000 },
        _ => Samples::Numbers(vec![*value]),
    };
    let at = if axis.is_empty() { At::new() } else { At::from([((*axis).to_owned(), place.clone())]) };
    Figure {
        name: (*name).to_owned(),
        variant: Some((*variant).to_owned()),
        at,
        unit,
        kind,
        median: None,
        samples: vec![samples; 3],
        set_aside: Vec::new(),
    }
}

/// As the essay and the page on operations have it: shared memory ten times as fast in everything, doubles slow.
fn placement() -> Vec<Made> {
    let mut made = Vec::new();
    let trips = [
        ("shared_u32", 40.0),
        ("cluster_u32", 200.0),
        ("global_u32", 400.0),
        ("host_u32", 4_000.0),
        ("global_f16", 1_000.0),
    ];
    for (variant, cycles) in trips {
        made.push(("round_trip", variant, "", 0.into(), cycles));
    }
    made.push(("load_round_trip", "global_u32", "", 0.into(), 350.0));
    let one = [
        ("shared_u32", 1e10),
        ("shared_f32", 1e10),
        ("global_u32", 1e9),
        ("global_f32", 1e9),
        ("global_f64", 1e8),
        ("global_f16", 1e7),
        ("global_f16x2", 1e9),
        ("global_float4", 1e9),
        ("host_u32", 1e6),
    ];
    for (variant, rate) in one {
        made.push(("throughput", variant, "addresses", 1.into(), rate));
        made.push(("throughput", variant, "addresses", 1_024.into(), rate * 50.0));
    }
    for (variant, rate) in [("shared_u32", 2e9), ("shared_u64", 1e8), ("shared_f32", 1e8)] {
        made.push(("sm_throughput", variant, "resident", 1.into(), rate));
        made.push(("sm_throughput", variant, "resident", 8.into(), rate * 4.0));
    }
    made.push(("torn", "global_float4", "", 0.into(), 3.0));
    made.push(("wrong_pairs", "cluster_u32", "", 0.into(), 900.0));
    made
}

const PLACEMENT: [Refutation; 19] = [
    ("one_trip_is_a_few_hundred_cycles", "round_trip", "global_u32", "", 3.0),
    ("added_at_the_slice", "load_round_trip", "global_u32", "", 2.0),
    ("added_at_the_slice", "load_round_trip", "global_u32", "", 0.5),
    ("shared_trip_is_shorter", "round_trip", "shared_u32", "", 3.0),
    ("cluster_is_between", "round_trip", "cluster_u32", "", 0.2),
    ("cluster_is_between", "round_trip", "cluster_u32", "", 2.0),
    ("host_is_over_the_bus", "round_trip", "host_u32", "", 0.1),
    ("one_shared_word_is_faster", "throughput", "shared_u32", "1", 0.2),
    ("one_shared_float_keeps_up", "throughput", "shared_f32", "1", 0.05),
    ("shared_floats_are_a_loop", "sm_throughput", "shared_f32", "1", 15.0),
    ("shared_u64_is_a_loop", "sm_throughput", "shared_u64", "1", 15.0),
    ("resident_blocks_help_loops", "sm_throughput", "shared_f32", "8", 0.3),
    ("half_is_a_loop", "throughput", "global_f16", "1", 60.0),
    ("two_halves_are_native", "throughput", "global_f16x2", "1", 0.3),
    ("double_falls_off", "throughput", "global_f64", "1024", 8.0),
    ("four_floats_in_one_turn", "throughput", "global_float4", "1", 0.25),
    ("pairs_go_wrong_in_a_cluster", "wrong_pairs", "cluster_u32", "", 0.0),
    ("vectors_are_torn", "torn", "global_float4", "", 0.0),
    ("host_rate", "throughput", "host_u32", "1", 500.0),
];

/// As the essay has it: a reply costs everywhere; and as asynchronous operations are advertised.
fn no_return() -> Vec<Made> {
    let rates = [
        ("add_unused", 2.0),
        ("add_shown", 2.0),
        ("add_kept", 1.0),
        ("add_used", 1.0),
        ("ref_unused", 1.0),
        ("ref_used", 1.0),
        ("builtin_unused", 1.0),
        ("ptx_red", 2.0),
        ("ptx_atom_unused", 2.0),
        ("ptx_atom_generic", 1.0),
        ("cluster_unused", 1.0),
        ("cluster_used", 1.0),
        ("cluster_async", 2.0),
        ("bulk_line", 4.0),
        ("bulk_page", 8.0),
    ];
    let mut made = Vec::new();
    for (variant, rate) in rates {
        for target in ["word", "line", "lines", "scattered"] {
            let rate = if (variant, target) == ("bulk_line", "line") { 2.0 } else { rate };
            made.push(("throughput", variant, "target", target.into(), rate * 1e9));
            made.push(("time", variant, "target", target.into(), 1e6 / rate));
        }
    }
    made
}

const NO_RETURN: [Refutation; 18] = [
    ("reply_costs_when_spread", "throughput", "add_used", "lines", 1.9),
    ("reply_on_one_word", "throughput", "add_used", "word", 2.0),
    ("reply_costs_scattered", "throughput", "add_unused", "scattered", 0.5),
    ("shown_is_unused", "time", "add_shown", "scattered", 1.3),
    ("kept_is_used", "throughput", "add_kept", "lines", 2.0),
    ("generic_is_why", "time", "builtin_unused", "lines", 1.2),
    ("generic_is_why", "time", "ptx_atom_generic", "lines", 0.5),
    ("generic_is_why", "time", "ptx_atom_unused", "lines", 2.0),
    ("generic_costs", "throughput", "ref_unused", "lines", 2.0),
    ("forgotten_is_no_cheaper", "throughput", "ref_unused", "lines", 1.5),
    ("red_is_unused", "time", "ptx_red", "word", 1.1),
    ("async_beats_cluster_add", "throughput", "cluster_async", "lines", 0.5),
    ("async_against_used", "throughput", "cluster_used", "lines", 2.0),
    ("async_on_one_word", "throughput", "cluster_async", "word", 0.5),
    ("bulk_line_is_no_faster_on_a_line", "throughput", "bulk_line", "line", 2.0),
    ("bulk_against_red", "throughput", "bulk_line", "lines", 0.5),
    ("large_requests_help", "throughput", "bulk_page", "lines", 0.5),
    ("page_against_red", "throughput", "bulk_page", "lines", 0.2),
];

/// Each claim's verdict; on the way, its sentence is made and has no brace left open.
fn verdicts(stem: &str, made: &[Made]) -> BTreeMap<String, Verdict> {
    let gpu = Gpu {
        name: "Made-up".to_owned(),
        compute_capability: "9.0".to_owned(),
        sms: 132,
        l2_bytes: 1 << 26,
        memory_bytes: 1 << 36,
        ecc: None,
    };
    let figures: Vec<Figure> = made.iter().map(figure).collect();
    let evidence = Evidence { gpu: &gpu, figures: &figures, absent: &[] };
    let judged = claims(stem).claims.into_iter().map(|claim| {
        let finding = evidence.judge(&claim);
        let sentence = wording::sentence(&claim, &finding, &evidence).unwrap();
        assert!(!sentence.contains(['{', '}']) && !sentence.contains(" – "), "{sentence}");
        (claim.id, finding.verdict)
    });
    judged.collect()
}

fn refuted(made: &[Made], (claim, name, variant, place, times): &Refutation) -> Vec<Made> {
    let mut made = made.to_vec();
    let here =
        |m: &&mut Made| m.0 == *name && m.1 == *variant && (place.is_empty() || m.3.to_string() == *place);
    let mut touched = 0;
    for figure in made.iter_mut().filter(here) {
        figure.4 *= times;
        touched += 1;
    }
    assert!(touched > 0, "`{claim}` is refuted nowhere");
    made
}

fn every_claim_holds_and_is_refuted(stem: &str, made: &[Made], refutations: &[Refutation]) {
    let held = verdicts(stem, made);
    let other: Vec<_> = held.iter().filter(|(_, verdict)| **verdict != Verdict::Holds).collect();
    assert!(other.is_empty(), "{stem}: {other:?}");
    for refutation in refutations {
        let verdict = verdicts(stem, &refuted(made, refutation))[refutation.0];
        assert_eq!(verdict, Verdict::Fails, "{stem}: {refutation:?}");
    }
    let known: BTreeSet<&str> = held.keys().map(String::as_str).collect();
    let tried: BTreeSet<&str> = refutations.iter().map(|refutation| refutation.0).collect();
    assert_eq!(known, tried, "every claim has its refutation");
    assert!(verdicts(stem, &[]).values().all(|verdict| *verdict == Verdict::NotMeasured));
}

#[test]
fn every_claim_of_placement_can_fail() {
    every_claim_holds_and_is_refuted("day31_placement", &placement(), &PLACEMENT);
}

#[test]
fn every_claim_of_no_return_can_fail() {
    every_claim_holds_and_is_refuted("day32_no_return", &no_return(), &NO_RETURN);
}
