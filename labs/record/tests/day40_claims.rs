//! day40's claims on made-up figures: as the model has them, each refuted on its own, undecided, not measured.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here fail as a test does")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use labs_record::figure::{Figure, Kind, Samples, Unit};
use labs_record::record::Gpu;
use labs_record::{At, Claims, Coordinate, Evidence, Verdict, store, wording};

const SIZES: [u64; 5] = [SMALL, MIDDLE, 4_194_304, LARGE, LARGEST];
const SMALL: u64 = 65_536;
const MIDDLE: u64 = 1_048_576;
const LARGE: u64 = 16_777_216;
const LARGEST: u64 = 67_108_864;
/// Nanoseconds a word moved, and a turn of the chain.
const WORD: f64 = 0.001;
const TURN: f64 = 300.0;
const SESSIONS: usize = 3;
const RUNS: u64 = 200;

fn claims() -> Claims {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    store::read(&root.join("verification/claims/day40_lookback.yaml"), "claims file").unwrap()
}

fn figure(name: &str, variant: Option<&str>, at: &At, samples: Samples) -> Figure {
    let seen = matches!(samples, Samples::Tries { .. });
    Figure {
        name: name.to_owned(),
        variant: variant.map(str::to_owned),
        at: at.clone(),
        unit: if seen { Unit::One } else { Unit::Nanoseconds },
        kind: if seen { Kind::Observation } else { Kind::Duration },
        median: None,
        samples: vec![samples; SESSIONS],
        set_aside: Vec::new(),
    }
}

/// The model as figures: words moved, or turns where they take longer; what launches cost on top.
fn figures() -> Vec<Figure> {
    let mut all = Vec::new();
    for size in SIZES {
        let n = size as f64;
        for cache in ["cold", "hot"] {
            let place = |cache: &str| Coordinate::from(cache);
            let at = At::from([("size".to_owned(), size.into()), ("cache".to_owned(), place(cache))]);
            let times = [
                ("three_pass", 9_000.0 + 3.2 * n * WORD, Some(0.0)),
                ("chained_prefix", 5_000.0 + n / 4096.0 * TURN, None),
                ("released_flag", 6_000.0 + 8.0 * n * WORD, None),
                ("packed_word", 5_500.0 + 5.0 * n * WORD, None),
                ("warp_window", 5_500.0 + 3.0 * n * WORD, Some(1_500.0)),
                ("separate_warp", 5_500.0 + 2.65 * n * WORD, Some(0.0)),
                ("held_in_shared", 5_700.0 + 2.4 * n * WORD, Some(0.0)),
            ];
            for (variant, time, reset) in times {
                all.push(figure("time", Some(variant), &at, Samples::Numbers(vec![time])));
                if let Some(reset) = reset {
                    let samples = Samples::Numbers(vec![time + reset]);
                    all.push(figure("time_with_reset", Some(variant), &at, samples));
                }
            }
            let cub = Samples::Numbers(vec![8_500.0 + 2.7 * n * WORD]);
            all.push(figure("time_with_reset", Some("cub_device_scan"), &at, cub));
            all.push(figure("copy_time", None, &at, Samples::Numbers(vec![3_500.0 + 2.0 * n * WORD])));
        }
        let at = At::from([("size".to_owned(), size.into())]);
        let shows = |size: u64| if size > SMALL { RUNS } else { 0 };
        for (variant, wrong, given_up) in [
            ("released_flag", 0, 0),
            ("relaxed_flag", shows(size), 0),
            ("block_scope", shows(size), shows(size)),
            ("packed_word", 0, 0),
            ("block_index", 0, 0),
            ("separate_warp", 0, 0),
            ("held_in_shared", 0, 0),
        ] {
            let tries = |seen| Samples::Tries { seen, of: RUNS };
            all.push(figure("wrong_runs", Some(variant), &at, tries(wrong)));
            all.push(figure("given_up_runs", Some(variant), &at, tries(given_up)));
        }
    }
    all
}

/// What refutes a claim: the figures of this name and variant at this size become so many times their value; runs were
/// seen to go wrong if they were not, and not if they were.
type Refutation = (&'static str, &'static str, Option<&'static str>, u64, f64);

const REFUTATIONS: [Refutation; 19] = [
    ("three_pass_pays_for_its_reading", "time", Some("three_pass"), LARGEST, 0.5),
    ("chain_is_a_queue", "time", Some("chained_prefix"), LARGEST, 4.0),
    ("chain_loses_to_three_passes", "time", Some("chained_prefix"), LARGE, 0.1),
    ("look_back_beats_chain", "time", Some("packed_word"), LARGE, 10.0),
    ("order_costs", "time", Some("released_flag"), LARGE, 0.5),
    ("window_beats_thread", "time", Some("packed_word"), LARGE, 0.5),
    ("separate_warp_gains", "time", Some("separate_warp"), LARGEST, 2.0),
    ("room_gains", "time", Some("held_in_shared"), LARGEST, 2.0),
    ("one_pass_beats_three", "time_with_reset", Some("three_pass"), 4_194_304, 0.5),
    ("near_the_copy", "time", Some("held_in_shared"), LARGEST, 2.0),
    ("reset_shows_when_small", "time", Some("warp_window"), SMALL, 1.5),
    ("cub_at_16m", "time_with_reset", Some("cub_device_scan"), LARGE, 0.5),
    ("cub_at_67m", "time_with_reset", Some("cub_device_scan"), LARGEST, 0.5),
    ("cub_when_small", "time_with_reset", Some("cub_device_scan"), MIDDLE, 0.5),
    ("relaxed_flag_shows", "wrong_runs", Some("relaxed_flag"), LARGE, 1.0),
    ("block_scope_shows", "wrong_runs", Some("block_scope"), LARGE, 1.0),
    ("block_scope_waits_for_ever", "given_up_runs", Some("block_scope"), LARGE, 1.0),
    ("block_index_is_lucky", "wrong_runs", Some("block_index"), LARGE, 1.0),
    ("right_publications_are_never_wrong", "wrong_runs", Some("packed_word"), MIDDLE, 1.0),
];

/// The model's figures with a refutation in the sessions from `first` on.
fn refuted(by: &Refutation, first: usize) -> Vec<Figure> {
    let (claim, name, variant, size, times) = *by;
    let mut figures = figures();
    let mut touched = 0;
    let here = |figure: &&mut Figure| {
        figure.name == name
            && figure.variant.as_deref() == variant
            && figure.at.get("size") == Some(&size.into())
    };
    for figure in figures.iter_mut().filter(here) {
        touched += 1;
        for samples in figure.samples.iter_mut().skip(first) {
            match samples {
                Samples::Numbers(numbers) => numbers.iter_mut().for_each(|number| *number *= times),
                Samples::Tries { seen, .. } => *seen = u64::from(*seen == 0),
            }
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
fn each_claim_can_fail_and_those_about_times_be_undecided() {
    let claims = claims();
    let refutable: BTreeSet<&str> = REFUTATIONS.iter().map(|refutation| refutation.0).collect();
    assert_eq!(refutable, claims.claims.iter().map(|claim| claim.id.as_str()).collect());
    for refutation in &REFUTATIONS {
        assert_eq!(verdicts(&refuted(refutation, 0))[refutation.0], Verdict::Fails, "{}", refutation.0);
        // One session in which it was seen decides what is counted.
        if refutation.1.contains("time") {
            let undecided = verdicts(&refuted(refutation, 2))[refutation.0];
            assert_eq!(undecided, Verdict::TooClose, "{}", refutation.0);
        }
    }
    assert!(verdicts(&[]).values().all(|verdict| *verdict == Verdict::NotMeasured));
}
