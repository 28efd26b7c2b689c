//! day34's claims on made-up figures: as the model has them, each refuted on its own, undecided, not measured.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here fail as a test does")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use labs_record::figure::{Figure, Kind, Samples, Unit};
use labs_record::record::Gpu;
use labs_record::{At, Claims, Evidence, Verdict, store, wording};

const THREADS: f64 = 4_194_304.0;
const WARPS: f64 = THREADS / 32.0;
const DISTINCT: [u64; 6] = [1, 2, 4, 8, 16, 32];
/// Nanoseconds: a launch, and a turn at a word of an integer and of a float add.
const LAUNCH: f64 = 3_000.0;
const TURN: f64 = 0.73;
const FLOAT_TURN: f64 = 1.77;
/// Adds of the bins in global and in shared memory, by warp.
const WARP_ROUNDS: f64 = 262_144.0;
const SHARED_WARP_ROUNDS: f64 = 2_097_152.0;

fn claims() -> Claims {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    store::read(&root.join("verification/claims/day34_aggregation.yaml"), "claims file").unwrap()
}

/// One quantity of one variant at one place, in three sessions that agree.
fn figure(name: &str, variant: &str, at: &At, unit: Unit, value: f64) -> Figure {
    Figure {
        name: name.to_owned(),
        variant: Some(variant.to_owned()),
        at: at.clone(),
        unit,
        kind: if unit == Unit::Count { Kind::Exact } else { Kind::Duration },
        median: None,
        samples: vec![Samples::Numbers(vec![value]); 3],
        set_aside: Vec::new(),
    }
}

/// One counter: adds asked for, sent, and sent to the busier counter.
fn counters() -> Vec<Figure> {
    let at = At::from([("size".to_owned(), (THREADS as u64).into())]);
    let variants = [
        ("one", THREADS, WARPS, WARPS),
        ("one_loaded", THREADS, WARPS, WARPS),
        ("one_unfolded", THREADS, THREADS, THREADS),
        ("value", THREADS, WARPS, WARPS),
        ("value_unfolded", THREADS, THREADS, THREADS),
        ("wide_one", THREADS, WARPS, WARPS),
        ("wide_value", THREADS, THREADS, THREADS),
        ("float_value", THREADS, THREADS, THREADS),
        ("two_addresses", THREADS, THREADS, THREADS / 2.0),
        ("two_branches", THREADS, WARPS * 2.0, WARPS),
        ("divergent", THREADS / 2.0, WARPS, WARPS),
        ("divergent_unfolded", THREADS / 2.0, THREADS / 2.0, THREADS / 2.0),
        ("ballot", WARPS, WARPS, WARPS),
        ("redux", WARPS, WARPS, WARPS),
        ("wide_by_hand", WARPS, WARPS, WARPS),
        ("float_by_hand", WARPS, WARPS, WARPS),
    ];
    let mut all = Vec::new();
    for (variant, asked, sent, queue) in variants {
        let turn = if variant.starts_with("float") { FLOAT_TURN } else { TURN };
        let time = LAUNCH + queue * turn;
        all.push(figure("asked_adds", variant, &at, Unit::Count, asked));
        all.push(figure("sent_adds", variant, &at, Unit::Count, sent));
        all.push(figure("time", variant, &at, Unit::Nanoseconds, time));
        all.push(figure("threads_per_second", variant, &at, Unit::PerSecond, THREADS / time * 1e9));
    }
    all
}

/// Bins: passes at a slice, turns at a bank, and what a match takes.
fn bins() -> Vec<Figure> {
    let mut all = Vec::new();
    for distinct in DISTINCT {
        let d = distinct as f64;
        let at = |table: &str| {
            At::from([("distinct".to_owned(), distinct.into()), ("table".to_owned(), table.into())])
        };
        let mut time = |table: &str, variant: &str, ns: f64| {
            all.push(figure("bins_time", variant, &at(table), Unit::Nanoseconds, LAUNCH + ns));
        };
        // A pass takes one lane for each word of a sector of eight.
        let sectors = (d / 8.0).max(1.0);
        time("grid", "plain_bins", WARP_ROUNDS * sectors * 32.0 / d * TURN);
        time("grid", "match_bins", WARP_ROUNDS * sectors * TURN);
        let matching = 20.0 + 7.0 * d;
        time("warp", "plain_bins", 10_000.0 + 100_000.0 / d);
        time("warp", "match_bins", WARP_ROUNDS * matching * 0.000_6);
        time("block", "shared_bins", SHARED_WARP_ROUNDS * 0.011);
        time("block", "shared_step", SHARED_WARP_ROUNDS * (0.01 + 0.004 * 32.0 / d));
        time("block", "shared_match", SHARED_WARP_ROUNDS * matching * 0.001_2);
    }
    all
}

fn figures() -> Vec<Figure> {
    [counters(), bins()].concat()
}

/// What refutes a claim: this figure of this variant, at this number of distinct bins if it has any, becomes `times` ×
/// its value.
type Refutation = (&'static str, &'static str, &'static str, Option<(&'static str, u64)>, f64);

const REFUTATIONS: [Refutation; 23] = [
    ("folded_sends_one_a_warp", "sent_adds", "value", None, 2.0),
    ("one_is_folded", "time", "one", None, 3.0),
    ("a_turn_is_a_turn", "time", "one_unfolded", None, 0.7),
    ("loaded_address_is_folded", "time", "one_loaded", None, 1.5),
    ("integer_sum_is_folded", "time", "value_unfolded", None, 0.3),
    ("float_sum_is_not_folded", "time", "float_value", None, 0.1),
    ("wide_folds_one_number_only", "time", "wide_value", None, 0.3),
    ("a_branch_is_folded", "time", "two_branches", None, 4.0),
    ("divergence_is_folded", "time", "divergent_unfolded", None, 0.3),
    ("ballot_is_the_compiler", "time", "ballot", None, 1.5),
    ("redux_is_the_compiler", "time", "redux", None, 0.5),
    ("wide_by_hand_pays", "time", "wide_by_hand", None, 3.0),
    ("float_by_hand_pays", "time", "float_by_hand", None, 3.0),
    ("match_saves_in_a_queue", "bins_time", "match_bins", Some(("grid", 1)), 3.0),
    ("match_saves_less_on_more_bins", "bins_time", "plain_bins", Some(("grid", 4)), 4.0),
    ("sectors_end_the_gain", "bins_time", "plain_bins", Some(("grid", 32)), 0.5),
    ("match_crosses_in_the_l2", "bins_time", "match_bins", Some(("warp", 16)), 0.3),
    ("hardware_folds", "bins_time", "shared_bins", Some(("block", 4)), 1.5),
    ("general_add_takes_turns", "bins_time", "shared_step", Some(("block", 32)), 4.0),
    ("match_costs_by_bin", "bins_time", "shared_match", Some(("block", 32)), 0.2),
    ("match_crosses_in_shared", "bins_time", "shared_step", Some(("block", 2)), 0.3),
    ("match_crosses_in_shared", "bins_time", "shared_match", Some(("block", 8)), 0.2),
    ("hardware_beats_match", "bins_time", "shared_match", Some(("block", 1)), 0.3),
];

/// The model's figures with a refutation in the sessions from `first` on.
fn refuted(by: &Refutation, first: usize) -> Vec<Figure> {
    let (claim, name, variant, place, times) = *by;
    let mut figures = figures();
    let here = |figure: &Figure| {
        figure.name == name
            && figure.variant.as_deref() == Some(variant)
            && place.is_none_or(|(table, distinct)| {
                figure.at.get("table") == Some(&table.into())
                    && figure.at.get("distinct") == Some(&distinct.into())
            })
    };
    let mut touched = 0;
    for figure in figures.iter_mut().filter(|figure| here(figure)) {
        touched += 1;
        for samples in figure.samples.iter_mut().skip(first) {
            let Samples::Numbers(numbers) = samples else { continue };
            numbers.iter_mut().for_each(|number| *number *= times);
        }
    }
    assert_eq!(touched, 1, "`{claim}` is refuted by one figure");
    figures
}

/// Each claim's verdict; on the way, its sentence is made and has no brace left open.
fn verdicts(figures: &[Figure], compute_capability: &str) -> BTreeMap<String, Verdict> {
    let gpu = Gpu {
        name: "Made-up".to_owned(),
        compute_capability: compute_capability.to_owned(),
        sms: 132,
        l2_bytes: 1 << 26,
        memory_bytes: 1 << 36,
        ecc: None,
    };
    let evidence = Evidence { gpu: &gpu, figures, absent: &[] };
    let claims = claims();
    let judged = claims.claims.iter().map(|claim| {
        let finding = evidence.judge(claim);
        let sentence = wording::sentence(claim, &finding, &evidence).unwrap();
        assert!(!sentence.contains(['{', '}']) && !sentence.contains(" – "), "{sentence}");
        (claim.id.clone(), finding.verdict)
    });
    judged.collect()
}

#[test]
fn all_hold_where_the_model_does() {
    for (id, verdict) in verdicts(&figures(), "9.0") {
        assert_eq!(verdict, Verdict::Holds, "{id}");
    }
}

#[test]
fn each_claim_can_fail_and_be_undecided() {
    let claims = claims();
    let refutable: BTreeSet<&str> = REFUTATIONS.iter().map(|refutation| refutation.0).collect();
    assert_eq!(refutable, claims.claims.iter().map(|claim| claim.id.as_str()).collect());
    for refutation in &REFUTATIONS {
        let after = |first| verdicts(&refuted(refutation, first), "9.0")[refutation.0];
        assert_eq!(after(0), Verdict::Fails, "{}", refutation.0);
        let law = claims.claims.iter().any(|claim| claim.law && claim.id == refutation.0);
        // A count that differs between sessions is wrong, whichever of them is right.
        let expected = if law { Verdict::Fails } else { Verdict::TooClose };
        assert_eq!(after(2), expected, "{}", refutation.0);
    }
    assert!(verdicts(&[], "9.0").values().all(|verdict| *verdict == Verdict::NotMeasured));
}

#[test]
fn before_compute_capability_8_0_nothing_is_claimed_of_what_came_with_it() {
    let found = verdicts(&figures(), "7.5");
    let not_applicable = found.iter().filter(|(_, verdict)| **verdict == Verdict::NotApplicable);
    let names: Vec<&str> = not_applicable.map(|(id, _)| id.as_str()).collect();
    assert_eq!(names, ["hardware_beats_match", "hardware_folds", "redux_is_the_compiler"]);
}
