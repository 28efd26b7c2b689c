//! day36's claims on made-up figures: as the model has them, each refuted on its own, undecided, not measured.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here fail as a test does")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use labs_record::figure::{Figure, Kind, Samples, Unit};
use labs_record::record::Gpu;
use labs_record::{At, Claims, Evidence, Verdict, store, wording};

const SIZES: [u64; 5] = [65_536, 262_144, 1_048_576, 4_194_304, LARGEST];
const LARGEST: u64 = 16_777_216;
/// Nanoseconds a turn at the counter, and a byte moved.
const TURN: f64 = 0.75;
const BYTE: f64 = 0.000_27;

fn claims() -> Claims {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    store::read(&root.join("verification/claims/day36_compaction.yaml"), "claims file").unwrap()
}

/// One quantity of one variant at one place, in three sessions that agree.
fn figure(name: &str, variant: &str, at: &At, value: f64) -> Figure {
    let time = name.contains("time");
    Figure {
        name: name.to_owned(),
        variant: Some(variant.to_owned()),
        at: at.clone(),
        unit: if time { Unit::Nanoseconds } else { Unit::Count },
        kind: if time { Kind::Duration } else { Kind::Exact },
        median: None,
        samples: vec![Samples::Numbers(vec![value]); 3],
        set_aside: Vec::new(),
    }
}

/// The model as figures: turns at the counter, or bytes where they take longer; what a launch costs on top.
fn figures() -> Vec<Figure> {
    let mut all = Vec::new();
    for (size, rate, share) in SIZES.iter().flat_map(|size| [(*size, "1/8", 0.125), (*size, "1/2", 0.5)]) {
        let at = At::from([("size".to_owned(), size.into()), ("rate".to_owned(), rate.into())]);
        let n = size as f64;
        let (kept, bytes) = (n * share, n * 4.0 * (1.0 + share));
        let tile = 4_000.0 + bytes * BYTE;
        let variants = [
            ("per_element", 3_000.0 + n / 32.0 * TURN, kept),
            ("per_element_unfolded", 3_000.0 + kept * TURN, kept),
            ("per_warp", 3_000.0 + n / 32.0 * TURN, n / 32.0),
            ("per_block", 3_500.0 + n / 256.0 * 1.5 * TURN, n / 256.0),
            ("per_block_vectorised", tile, n / 4096.0),
            ("ordered_scan", 0.0, 0.0),
            ("bounded_queue", 3_500.0 + n / 256.0 * 1.5 * TURN, n / 256.0),
        ];
        for (variant, _, adds) in variants {
            let refused = if variant == "bounded_queue" { kept / 4.0 } else { 0.0 };
            all.push(figure("global_atomics", variant, &at, adds));
            all.push(figure("kept", variant, &at, kept - refused));
        }
        all.push(figure("overflowed", "bounded_queue", &at, kept / 4.0));
        for (cache, second_reading) in [("cold", n * 4.0), ("hot", 0.0)] {
            let mut at = at.clone();
            at.insert("cache".to_owned(), cache.into());
            let ordered = 8_000.0 + (bytes + second_reading) * BYTE;
            for (variant, time, _) in variants {
                let time = if variant == "ordered_scan" { ordered } else { time };
                all.push(figure("time", variant, &at, time));
            }
            all.push(figure("scatter_time", "ordered_scan", &at, tile - 200.0));
            all.push(figure("time_with_reset", "per_block_vectorised", &at, tile + 800.0));
            all.push(figure("time_with_reset", "ordered_scan", &at, ordered));
            all.push(figure("time_with_reset", "cub_device_select", &at, 8_500.0 + bytes * BYTE * 1.2));
        }
    }
    all
}

/// What refutes a claim: the figures of this name and variant at this rate and size become `times` × their value.
type Refutation = (&'static str, &'static str, &'static str, &'static str, u64, f64);

const REFUTATIONS: [Refutation; 18] = [
    ("every_element_has_a_slot", "kept", "per_warp", "1/8", LARGEST, 0.5),
    ("one_add_a_group", "global_atomics", "per_block", "1/2", LARGEST, 2.0),
    ("compiler_folds", "time", "per_element", "1/8", LARGEST, 1.5),
    ("unfolded_pays", "time", "per_element_unfolded", "1/2", LARGEST, 0.3),
    ("unfolded_follows_elements", "time", "per_element_unfolded", "1/8", LARGEST, 3.0),
    ("folded_ignores_rate", "time", "per_element", "1/2", LARGEST, 2.0),
    ("warps_queue", "time", "per_warp", "1/2", LARGEST, 3.0),
    ("block_shortens_the_queue", "time", "per_block", "1/2", LARGEST, 3.0),
    ("gain_below_bound", "time", "per_block", "1/2", LARGEST, 0.3),
    ("tile_beats_block", "time", "per_block_vectorised", "1/8", LARGEST, 3.0),
    ("tickets_are_hidden", "time", "per_block_vectorised", "1/2", LARGEST, 2.0),
    ("order_costs_a_reading", "time", "ordered_scan", "1/2", LARGEST, 2.0),
    ("launches_show_when_small", "time", "ordered_scan", "1/2", 65_536, 0.5),
    ("one_reading_keeps_order", "time_with_reset", "cub_device_select", "1/2", LARGEST, 2.0),
    ("second_reading_in_l2", "time_with_reset", "ordered_scan", "1/8", 4_194_304, 2.0),
    ("unordered_matches_cub", "time_with_reset", "per_block_vectorised", "1/2", 65_536, 3.0),
    ("queue_loses_nothing", "overflowed", "bounded_queue", "1/2", LARGEST, 0.5),
    ("bound_is_free", "time", "bounded_queue", "1/2", LARGEST, 2.0),
];

/// The model's figures with a refutation in the sessions from `first` on.
fn refuted(by: &Refutation, first: usize) -> Vec<Figure> {
    let (claim, name, variant, rate, size, times) = *by;
    let mut figures = figures();
    let here = |figure: &Figure| {
        figure.name == name
            && figure.variant.as_deref() == Some(variant)
            && figure.at.get("rate") == Some(&rate.into())
            && figure.at.get("size") == Some(&size.into())
    };
    let mut touched = 0;
    for figure in figures.iter_mut().filter(|figure| here(figure)) {
        touched += 1;
        for samples in figure.samples.iter_mut().skip(first) {
            let Samples::Numbers(numbers) = samples else { continue };
            numbers.iter_mut().for_each(|number| *number *= times);
        }
    }
    assert!(touched > 0, "`{claim}` is refuted nowhere");
    figures
}

/// Each claim's verdict; on the way, its sentence is made and has no brace left open.
fn verdicts(figures: &[Figure]) -> BTreeMap<String, Verdict> {
    let gpu = Gpu {
        name: "Made-up".to_owned(),
        compute_capability: "9.0".to_owned(),
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
    for (id, verdict) in verdicts(&figures()) {
        assert_eq!(verdict, Verdict::Holds, "{id}");
    }
}

#[test]
fn each_claim_can_fail_and_be_undecided() {
    let claims = claims();
    let refutable: BTreeSet<&str> = REFUTATIONS.iter().map(|refutation| refutation.0).collect();
    assert_eq!(refutable, claims.claims.iter().map(|claim| claim.id.as_str()).collect());
    for refutation in &REFUTATIONS {
        assert_eq!(verdicts(&refuted(refutation, 0))[refutation.0], Verdict::Fails, "{}", refutation.0);
        let law = claims.claims.iter().any(|claim| claim.law && claim.id == refutation.0);
        // A count that differs between sessions is wrong, whichever of them is right.
        let expected = if law { Verdict::Fails } else { Verdict::TooClose };
        assert_eq!(verdicts(&refuted(refutation, 2))[refutation.0], expected, "{}", refutation.0);
    }
    assert!(verdicts(&[]).values().all(|verdict| *verdict == Verdict::NotMeasured));
}
