//! day30's claims come out as they should on made-up figures: they hold where the model does and compensation gains,
//! each can fail, and without figures none is decided.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here fail as a test does")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use labs_record::figure::{At, Coordinate, Figure, Kind, Samples, Unit};
use labs_record::record::Gpu;
use labs_record::{Claims, Evidence, Verdict, store, wording};

const SIZES: [u64; 4] = [4_099, 65_537, 1_000_003, LARGEST];
const LARGEST: u64 = 67_108_879;

fn claims() -> Claims {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    store::read(&root.join("verification/claims/day30_determinism.yaml"), "claims file").unwrap()
}

fn figure(name: &str, variant: &str, at: &[(&str, Coordinate)], unit: Unit, value: f64) -> Figure {
    Figure {
        name: name.to_owned(),
        variant: Some(variant.to_owned()),
        at: at.iter().map(|(axis, place)| ((*axis).to_owned(), place.clone())).collect::<At>(),
        unit,
        kind: if name == "time" { Kind::Duration } else { Kind::Spread },
        median: None,
        samples: vec![Samples::Numbers(vec![value]); 3],
        set_aside: Vec::new(),
    }
}

/// The model as figures; compensation is given the gain that it is claimed to have.
fn figures() -> Vec<Figure> {
    let mut all = Vec::new();
    let variants = [
        // Name, totals in 20 runs, floats between them, time beside reading, error.
        ("global_atomic", 20.0, 800.0, 2.0, 1e-5),
        ("block_tree", 8.0, 50.0, 0.01, 1e-6),
        ("grid_stride", 5.0, 25.0, 0.0, 3e-7),
        ("two_pass", 1.0, 0.0, 0.0, 3e-8),
        ("fixed_point", 1.0, 0.0, 0.0, 3e-8),
        ("compensated", 5.0, 25.0, 0.0, 1e-7),
    ];
    for (variant, totals, spread, queue, error) in variants {
        for size in SIZES {
            let at = ("size", Coordinate::from(size));
            for runs in [20_u64, 200] {
                let at = [at.clone(), ("runs", runs.into())];
                let stalled = variant == "global_atomic" && size == LARGEST;
                let (totals, spread) = if stalled { (1.0, 0.0) } else { (totals, spread) };
                all.push(figure("distinct_totals", variant, &at, Unit::Count, totals));
                all.push(figure("ulp_spread", variant, &at, Unit::Count, spread));
                all.push(figure("ulp_distance", variant, &at, Unit::Count, spread));
            }
            let launches = if variant == "two_pass" { 5_000.0 } else { 3_000.0 };
            for cache in ["cold", "hot"] {
                let time = launches + (0.001 + queue) * size as f64;
                all.push(figure(
                    "time",
                    variant,
                    &[at.clone(), ("cache", cache.into())],
                    Unit::Nanoseconds,
                    time,
                ));
            }
            let adds = if variant == "two_pass" { 0.0 } else { 1_024.0 };
            all.push(figure("global_atomics", variant, &[at], Unit::Count, adds));
        }
        for size in [16_777_217, 33_554_467, 50_331_653, LARGEST] {
            for (input, reaches) in [("ones", size), ("uniform", size / 2)] {
                let lost = 1.0 - (1 << 24) as f64 / reaches as f64;
                let error = if variant == "global_atomic" { lost.max(error / 1e3) } else { error };
                let at = [("size", size.into()), ("input", input.into())];
                all.push(figure("error", variant, &at, Unit::One, error));
            }
        }
    }
    all
}

/// What refutes a claim: figures of this name, variant and size become `times` × their value + `more`.
type Refutation = (&'static str, &'static str, &'static str, u64, f64, f64);

const REFUTATIONS: [Refutation; 20] = [
    ("float_totals_differ", "distinct_totals", "global_atomic", 1_000_003, 0.0, 1.0),
    ("tree_totals_differ", "distinct_totals", "block_tree", 1_000_003, 0.0, 1.0),
    ("tree_differs_less_often", "distinct_totals", "block_tree", 1_000_003, 0.0, 18.0),
    ("spread_follows_the_roundings", "ulp_spread", "block_tree", 1_000_003, 4.0, 0.0),
    ("integer_totals_never_differ", "distinct_totals", "fixed_point", 65_537, 0.0, 2.0),
    ("fixed_order_never_differs", "distinct_totals", "two_pass", 4_099, 0.0, 2.0),
    ("fixed_tree_needs_no_atomic", "global_atomics", "two_pass", 4_099, 0.0, 1.0),
    ("fixed_point_is_rounded_once", "ulp_distance", "fixed_point", LARGEST, 0.0, 1.0),
    ("ones_stop_at_two_to_24", "error", "global_atomic", 33_554_467, 0.1, 0.0),
    ("one_total_stalls", "error", "global_atomic", 50_331_653, 0.1, 0.0),
    ("stalled_totals_agree", "distinct_totals", "global_atomic", LARGEST, 0.0, 20.0),
    ("folded_total_goes_on", "error", "block_tree", LARGEST, 0.0, 0.5),
    ("atomic_saves_a_launch", "time", "grid_stride", 4_099, 2.0, 0.0),
    ("atomic_leaves_the_order_open", "distinct_totals", "grid_stride", 1_000_003, 0.0, 1.0),
    ("second_pass_hides", "time", "two_pass", LARGEST, 2.0, 0.0),
    ("integers_need_no_launch", "time", "fixed_point", 4_099, 2.0, 0.0),
    ("integers_cost_no_bandwidth", "time", "fixed_point", LARGEST, 2.0, 0.0),
    ("compensation_keeps_precision", "error", "compensated", LARGEST, 10.0, 0.0),
    ("compensation_gains", "error", "compensated", LARGEST, 3.0, 0.0),
    ("fixed_tree_beats_compensation", "error", "two_pass", LARGEST, 4.0, 0.0),
];

/// Applies a refutation to the sessions from `first` on.
fn refuted(figures: &[Figure], by: &Refutation, first: usize) -> Vec<Figure> {
    let (claim, name, variant, size, times, more) = *by;
    let mut figures = figures.to_vec();
    let here = |figure: &&mut Figure| {
        figure.name == name
            && figure.variant.as_deref() == Some(variant)
            && figure.at.get("size") == Some(&Coordinate::Number(size))
    };
    let mut touched = 0;
    for figure in figures.iter_mut().filter(here) {
        touched += 1;
        for samples in figure.samples.iter_mut().skip(first) {
            let Samples::Numbers(numbers) = samples else { panic!("{claim}: no numbers") };
            numbers.iter_mut().for_each(|number| *number = *number * times + more);
        }
    }
    assert!(touched > 0, "`{claim}` is refuted by nothing");
    figures
}

/// Each claim's verdict; on the way its sentence is made, with no brace left open.
fn verdicts(claims: &Claims, figures: &[Figure]) -> BTreeMap<String, Verdict> {
    let gpu = Gpu {
        name: "Made-up".to_owned(),
        compute_capability: "9.0".to_owned(),
        sms: 132,
        l2_bytes: 1 << 26,
        memory_bytes: 1 << 36,
        ecc: None,
    };
    let evidence = Evidence { gpu: &gpu, figures, absent: &[] };
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
    for (id, verdict) in verdicts(&claims(), &figures()) {
        assert_eq!(verdict, Verdict::Holds, "{id}");
    }
}

#[test]
fn each_claim_can_fail() {
    let (claims, figures) = (claims(), figures());
    let refutable: BTreeSet<&str> = REFUTATIONS.iter().map(|refutation| refutation.0).collect();
    let all: BTreeSet<&str> = claims.claims.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(refutable, all, "every claim needs a refutation");
    for refutation in &REFUTATIONS {
        let verdict = verdicts(&claims, &refuted(&figures, refutation, 0))[refutation.0];
        assert_eq!(verdict, Verdict::Fails, "{}", refutation.0);
    }
}

#[test]
fn sessions_that_disagree_decide_nothing() {
    let (claims, figures) = (claims(), figures());
    // Equality is refuted by one session.
    let equal = ["never", "no_atomic", "rounded_once", "agree"];
    for refutation in REFUTATIONS.iter().filter(|by| !equal.iter().any(|word| by.0.contains(word))) {
        let verdict = verdicts(&claims, &refuted(&figures, refutation, 2))[refutation.0];
        assert_eq!(verdict, Verdict::TooClose, "{}", refutation.0);
    }
}

#[test]
fn nothing_measured_decides_nothing() {
    assert!(verdicts(&claims(), &[]).values().all(|verdict| *verdict == Verdict::NotMeasured));
}
