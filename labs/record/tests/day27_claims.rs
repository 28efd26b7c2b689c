//! day27's claims on made-up figures: all hold where the model of passes does, and each is refuted on its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers here fail as a test does"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use labs_record::figure::{At, Coordinate, Figure, Kind, Samples, Unit};
use labs_record::record::Gpu;
use labs_record::{Claims, Evidence, Verdict, claim_check, store, wording};

/// Passes a second of a slice, and slices.
const PASSES: f64 = 1.6e9;
const SLICES: u64 = 96;
const LINE: u64 = 128;
/// Bytes that the hash keeps in one slice.
const PIECE: u64 = 256;
const OPERATIONS: [&str; 6] = ["uniform_add", "add_u32", "max_u32", "exchange_u32", "add_u64", "add_f32"];

fn claims() -> Claims {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../verification/claims/day27_address.yaml");
    store::read(&path, "claims file").unwrap()
}

fn gpu() -> Gpu {
    Gpu {
        name: "Made-up".to_owned(),
        compute_capability: "9.0".to_owned(),
        sms: 132,
        l2_bytes: 60 << 20,
        memory_bytes: 1 << 36,
        ecc: None,
    }
}

/// A place in the lab's space.
#[derive(Clone, Copy)]
struct Point {
    sweep: &'static str,
    variant: &'static str,
    addresses: u64,
    stride: u64,
    mapping: &'static str,
    blocks: u64,
    size: u64,
}

/// Where the sweeps meet.
const PLAIN: Point = Point {
    sweep: "",
    variant: "add_u32",
    addresses: 1,
    stride: LINE,
    mapping: "random",
    blocks: 1024,
    size: 1 << 26,
};

fn points() -> Vec<Point> {
    let mut points = Vec::new();
    let size = |addresses: u64| (addresses << 18).min(1 << 26);
    for power in 0..=20 {
        let addresses = 1 << power;
        let here = Point { addresses, size: size(addresses), ..PLAIN };
        points.extend([4, 32, 128, 4096].map(|stride| Point { sweep: "addresses", stride, ..here }));
        points.extend([64, 128, 256, 4096].map(|stride| Point { sweep: "stride", stride, ..here }));
        let mappings = ["warp_word", "contiguous", "random"];
        points.extend(mappings.map(|mapping| Point { sweep: "mapping", stride: 4, mapping, ..here }));
        points.extend(OPERATIONS.map(|variant| Point { sweep: "operation", variant, ..here }));
    }
    for blocks in [1, 2, 4, 8, 16, 32, 64, 128] {
        let here = Point { blocks, size: blocks << 16, ..PLAIN };
        points.push(Point { sweep: "grid", ..here });
        points.push(Point { sweep: "spread", addresses: blocks, stride: 4096, ..here });
    }
    points.extend([1, 64, 1024].map(|blocks| Point { sweep: "many", addresses: 65_536, blocks, ..PLAIN }));
    points
}

/// Operations that share a pass, as lanes are dealt out.
fn a_pass(at: &Point) -> f64 {
    match (at.mapping, at.stride, at.addresses) {
        ("contiguous", 4, addresses) => addresses.min(8) as f64,
        ("random", 4, 1..=8) => [1.0, 1.7, 2.8, 4.4][at.addresses.ilog2() as usize],
        ("random", 4, 9..=256) => 17.6 / at.addresses as f64 + 2.0,
        _ => 1.0,
    }
}

/// Operations a second: operations a pass × slices at work × passes a second.
fn model(at: &Point) -> f64 {
    let pieces = at.addresses * at.stride.min(PIECE) / PIECE;
    let slices = pieces.clamp(1, SLICES) as f64;
    let sent = if at.sweep == "many" { (at.blocks as f64 / 48.0).min(1.0) } else { 1.0 };
    let fits = if at.addresses * at.stride < 120 << 20 { 1.0 } else { 0.4 };
    let operation = match at.variant {
        "uniform_add" => 30.0,
        "exchange_u32" => 0.9,
        // Its adds to one word are slower, to other words they overlap.
        "add_f32" if at.addresses < SLICES => 0.4,
        _ => 1.0,
    };
    a_pass(at) * slices * sent * fits * operation * PASSES
}

fn figures() -> Vec<Figure> {
    let mut all = Vec::new();
    for point in points() {
        let places = [
            ("sweep", point.sweep.into()),
            ("mapping", point.mapping.into()),
            ("addresses", point.addresses.into()),
            ("stride", point.stride.into()),
            ("blocks", point.blocks.into()),
            ("size", point.size.into()),
        ];
        let mut push = |name: &str, unit, kind, value: f64| {
            all.push(Figure {
                name: name.to_owned(),
                variant: Some(point.variant.to_owned()),
                at: places.clone().map(|(axis, place)| (axis.to_owned(), place)).into(),
                unit,
                kind,
                median: None,
                samples: vec![Samples::Numbers(vec![value]); 3],
                set_aside: Vec::new(),
            });
        };
        let (rate, queue) = (model(&point), point.size / point.addresses);
        let in_a_sector = (32 / point.stride).clamp(1, point.addresses);
        push("throughput", Unit::PerSecond, Kind::Duration, rate);
        push("time", Unit::Nanoseconds, Kind::Duration, point.size as f64 / rate * 1e9);
        push("operations_a_pass", Unit::One, Kind::Spread, a_pass(&point));
        push("longest_queue", Unit::Count, Kind::Exact, queue as f64);
        push("sector_queue", Unit::Count, Kind::Exact, (queue * in_a_sector) as f64);
        if point.variant == "max_u32" {
            push("changed", Unit::One, Kind::Spread, if point.addresses > 1 << 17 { 1.0 } else { 0.01 });
        }
    }
    all
}

/// What refutes a claim: a figure at a place becomes `times` × its value.
type Refutation =
    (&'static str, &'static str, &'static str, &'static [(&'static str, u64)], &'static str, f64);

const RATE: &str = "throughput";
const DENSE: u64 = 65_536;

/// Claim, figure, variant, places, sweep or mapping, factor.
const REFUTATIONS: [Refutation; 34] = [
    ("one_address_takes_all", "longest_queue", "add_u32", &[("addresses", 1)], "addresses", 2.0),
    ("equal_shares", "longest_queue", "add_u32", &[("addresses", 1024)], "addresses", 1.5),
    ("neighbours_share_a_sector", "sector_queue", "add_u32", &[("addresses", 8)], "addresses", 0.5),
    ("folding_hides_the_queue", RATE, "uniform_add", &[("addresses", 1)], "operation", 0.1),
    ("blocks_contend", "time", "add_u32", &[("blocks", 2)], "grid", 0.5),
    ("flat_in_blocks", RATE, "add_u32", &[("blocks", 64)], "grid", 1.2),
    ("time_grows_with_threads", "time", "add_u32", &[("blocks", 128)], "grid", 0.4),
    ("a_counter_a_block_scales", RATE, "add_u32", &[("blocks", 32)], "spread", 0.1),
    ("million_beats_one", RATE, "add_u32", &[("addresses", 1 << 20), ("stride", 4)], "addresses", 0.1),
    ("spread_is_parallel", RATE, "add_u32", &[("addresses", 1024), ("stride", 128)], "addresses", 0.1),
    ("in_proportion_at_first", RATE, "add_u32", &[("addresses", 8), ("stride", 4096)], "addresses", 0.4),
    ("whole_l2_is_flat", RATE, "add_u32", &[("addresses", 131_072), ("stride", 128)], "addresses", 1.5),
    ("beyond_the_l2", RATE, "add_u32", &[("addresses", 1 << 20), ("stride", 128)], "addresses", 3.0),
    ("few_sms_fill_the_l2", RATE, "add_u32", &[("blocks", 64)], "many", 0.5),
    ("two_sectors_apart", RATE, "add_u32", &[("addresses", 2), ("stride", 64)], "stride", 2.0),
    ("pages_apart", RATE, "add_u32", &[("addresses", 2), ("stride", 4096)], "stride", 0.5),
    ("a_line_has_one_slice", RATE, "add_u32", &[("addresses", 4), ("stride", 32)], "addresses", 4.0),
    ("two_lines_share", RATE, "add_u32", &[("addresses", 2), ("stride", 128)], "stride", 2.0),
    ("two_pieces_do_not", RATE, "add_u32", &[("addresses", 2), ("stride", 256)], "stride", 0.5),
    ("words_of_a_sector_go_together", RATE, "add_u32", &[("addresses", 8)], "contiguous", 0.2),
    ("no_more_than_eight", RATE, "add_u32", &[("addresses", 8)], "contiguous", 1.2),
    ("warps_take_turns", RATE, "add_u32", &[("addresses", 8)], "warp_word", 3.0),
    ("a_line_is_worked_sector_by_sector", RATE, "add_u32", &[("addresses", 32)], "contiguous", 4.0),
    ("more_can_be_slower", RATE, "add_u32", &[("addresses", 64), ("stride", 4)], "addresses", 2.0),
    ("passes_explain_one_slice", RATE, "add_u32", &[("addresses", 16), ("stride", 4)], "addresses", 1.5),
    ("neighbouring_lanes_gain", RATE, "add_u32", &[("addresses", DENSE)], "contiguous", 0.1),
    ("a_word_a_warp_is_as_random", RATE, "add_u32", &[("addresses", DENSE)], "warp_word", 0.5),
    ("max_is_an_add", RATE, "max_u32", &[("addresses", 32)], "operation", 0.8),
    ("every_max_changes_memory", "changed", "max_u32", &[("addresses", 262_144)], "operation", 0.9),
    ("exchange_is_slower", RATE, "exchange_u32", &[("addresses", 1024)], "operation", 1.2),
    ("reply_costs_on_many", RATE, "exchange_u32", &[("addresses", 262_144)], "operation", 1.2),
    ("eight_bytes_cost_no_more", RATE, "add_u64", &[("addresses", 16_384)], "operation", 0.5),
    ("float_queue_is_slower", RATE, "add_f32", &[("addresses", 1)], "operation", 2.5),
    ("floats_catch_up", RATE, "add_f32", &[("addresses", 262_144)], "operation", 0.5),
];

/// Applies a refutation to the sessions from `first` on.
fn refuted(by: &Refutation, first: usize) -> Vec<Figure> {
    let (claim, name, variant, places, word, times) = by;
    let here = |at: &At| {
        let word = Coordinate::from(*word);
        places.iter().all(|(axis, place)| at[*axis] == Coordinate::Number(*place))
            && (at["sweep"] == word || at["mapping"] == word)
    };
    let mut figures = figures();
    let mut touched = 0;
    for figure in &mut figures {
        if figure.name != *name || figure.variant.as_deref() != Some(variant) || !here(&figure.at) {
            continue;
        }
        touched += 1;
        for samples in figure.samples.iter_mut().skip(first) {
            let Samples::Numbers(numbers) = samples else { continue };
            numbers.iter_mut().for_each(|number| *number *= times);
        }
    }
    assert!(touched > 0, "`{claim}` is refuted by nothing");
    figures
}

/// Each claim's verdict; on the way, its sentence is made and has no brace left open.
fn verdicts(figures: &[Figure]) -> BTreeMap<String, Verdict> {
    let gpu = gpu();
    let evidence = Evidence { gpu: &gpu, figures, absent: &[] };
    let judged = claims().claims.into_iter().map(|claim| {
        let finding = evidence.judge(&claim);
        let sentence = wording::sentence(&claim, &finding, &evidence).unwrap();
        assert!(!sentence.contains(['{', '}']) && !sentence.contains(" – "), "{sentence}");
        (claim.id, finding.verdict)
    });
    judged.collect()
}

#[test]
fn all_hold_where_the_model_does() {
    for (id, verdict) in verdicts(&figures()) {
        assert_eq!(verdict, Verdict::Holds, "{id}");
    }
}

#[test]
fn each_claim_can_fail() {
    let refutable: BTreeSet<&str> = REFUTATIONS.iter().map(|refutation| refutation.0).collect();
    let claims = claims().claims;
    let all: BTreeSet<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(refutable, all, "every claim needs a refutation");
    for refutation in &REFUTATIONS {
        let verdict = verdicts(&refuted(refutation, 0))[refutation.0];
        assert_eq!(verdict, Verdict::Fails, "{}", refutation.0);
    }
}

#[test]
fn sessions_that_disagree_confirm_nothing() {
    for refutation in &REFUTATIONS {
        let verdict = verdicts(&refuted(refutation, 2))[refutation.0];
        assert_ne!(verdict, Verdict::Holds, "{}", refutation.0);
    }
}

#[test]
fn a_false_law_is_refused() {
    let (claims, gpu) = (claims(), gpu());
    for refutation in &REFUTATIONS {
        let figures = refuted(refutation, 0);
        let evidence = Evidence { gpu: &gpu, figures: &figures, absent: &[] };
        let law = claims.claims.iter().any(|claim| claim.law && claim.id == refutation.0);
        let broken = claim_check::broken_laws(&claims, &evidence);
        assert_eq!(broken.iter().any(|fault| fault.contains(refutation.0)), law, "{broken:?}");
    }
    assert!(claims.claims.iter().any(|claim| claim.law));
}
