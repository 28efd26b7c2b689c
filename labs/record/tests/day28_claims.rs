//! day28's claims on made-up figures: all hold where the model does, and each is refuted on its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers here fail as a test does"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use labs_record::figure::{Coordinate, Figure, Kind, Samples, Unit};
use labs_record::record::Gpu;
use labs_record::{Claims, Evidence, Verdict, claim_check, store, wording};

const CONTENDERS: [u32; 8] = [1, 4, 32, 256, 2_048, 16_384, 65_536, 262_144];
/// The model's two times, in nanoseconds: a round trip, and a turn at the word.
const TRIP: f64 = 700.0;
const TURN: f64 = 1.0;

fn claims() -> Claims {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../verification/claims/day28_cas_loop.yaml");
    store::read(&path, "claims file").unwrap()
}

fn gpu() -> Gpu {
    Gpu {
        name: "Made-up".to_owned(),
        compute_capability: "9.0".to_owned(),
        sms: 132,
        l2_bytes: 1 << 26,
        memory_bytes: 1 << 36,
        ecc: None,
    }
}

/// Updates a nanosecond of all threads, retries an update and threads without one, as the model has them on one word.
fn model(variant: &str, n: f64) -> (f64, f64, f64) {
    let round = |contenders: f64| TRIP.max(contenders * TURN);
    let native = (n / TRIP).min(1.0 / TURN);
    // A warp looks once for all its updates, a thread that is alone for each.
    let alone = if n == 1.0 { 2.0 } else { 1.0 };
    let starved = if n > 1e5 { n - 8.0 } else { 0.0 };
    match variant {
        "cas_add" | "cas_multiply" | "cas_xor" => (1.0 / round(n) / alone, n - 1.0, starved),
        "cas_backoff" => (1.0 / TRIP / alone, (n - 1.0) / 100.0, starved),
        "warp_then_cas" => (n.min(32.0) / round(n / 32.0) / alone, n / 1024.0, starved),
        "cas_float_max" => (native / 2.0, 1.0, 0.0),
        _ => (native, 0.0, 0.0),
    }
}

fn figures() -> Vec<Figure> {
    let mut all = Vec::new();
    let mut push = |name: &str, variant: &str, place: (u32, &str), unit, kind, value: f64| {
        let at = [("contenders", u64::from(place.0).into()), ("words", place.1.into())];
        all.push(Figure {
            name: name.to_owned(),
            variant: Some(variant.to_owned()),
            at: at.into_iter().map(|(axis, place)| (axis.to_owned(), place)).collect(),
            unit,
            kind,
            median: None,
            samples: vec![Samples::Numbers(vec![value]); 3],
            set_aside: Vec::new(),
        });
    };
    let variants = [
        "native_add",
        "native_fetch_add",
        "native_subtract",
        "cas_add",
        "cas_multiply",
        "cas_xor",
        "cas_backoff",
        "warp_then_cas",
        "exchange",
        "cas_float_max",
        "ordered_max",
    ];
    for n in CONTENDERS {
        for variant in variants {
            let (rate, retries, without) = model(variant, f64::from(n));
            let place = (n, "one");
            push("updates_per_second", variant, place, Unit::PerSecond, Kind::Duration, rate * 1e9);
            push("update_time", variant, place, Unit::Nanoseconds, Kind::Duration, f64::from(n) / rate);
            push("retries", variant, place, Unit::One, Kind::Duration, retries);
            push("threads_without", variant, place, Unit::Count, Kind::Spread, without);
        }
        push("retries", "cas_add", (n, "own"), Unit::One, Kind::Duration, 0.0);
        for (variant, right) in [("cas_float_max", 10.0), ("ordered_max", 10.0), ("integer_max", 3.0)] {
            push("special_inputs_right", variant, (n, "one"), Unit::Count, Kind::Exact, right);
        }
    }
    all
}

/// What refutes a claim: a figure becomes `times` × its value + `more`.
struct Refutation {
    claim: &'static str,
    figure: &'static str,
    variant: &'static str,
    contenders: u64,
    times: f64,
    more: f64,
}

const fn refute(
    claim: &'static str,
    figure: &'static str,
    variant: &'static str,
    contenders: u64,
    times: f64,
) -> Refutation {
    Refutation { claim, figure, variant, contenders, times, more: 0.0 }
}

const MOST: u64 = 262_144;
const RATE: &str = "updates_per_second";

const REFUTATIONS: [Refutation; 23] = [
    Refutation { more: 1.0, ..refute("own_words_never_retry", "retries", "cas_add", 32, 0.0) },
    refute("alone_two_trips", "update_time", "cas_add", 1, 2.0),
    refute("retry_is_a_round_trip", RATE, "cas_add", 32, 4.0),
    refute("native_rate_is_flat", RATE, "native_fetch_add", 65_536, 0.5),
    refute("retries_follow_contenders", "retries", "cas_add", MOST, 0.01),
    refute("slower_than_linear", "update_time", "cas_add", MOST, 0.01),
    refute("wait_is_quadratic", "update_time", "cas_add", MOST, 0.01),
    refute("loop_collapses", RATE, "cas_add", MOST, 1e4),
    Refutation { more: 5.0, ..refute("native_serves_all", "threads_without", "native_fetch_add", MOST, 1.0) },
    refute("xor_starves", "threads_without", "cas_xor", MOST, 0.1),
    refute("maximum_converges", "retries", "cas_float_max", 2_048, 1e3),
    refute("subtract_is_an_add", RATE, "native_subtract", 4, 0.9),
    refute("multiply_is_a_swap", RATE, "cas_multiply", 2_048, 0.7),
    Refutation { more: 1.0, ..refute("exchange_never_retries", "retries", "exchange", 4, 1.0) },
    refute("exchange_at_native_rate", RATE, "exchange", MOST, 0.7),
    refute("maxima_keep_the_policy", "special_inputs_right", "ordered_max", 4, 0.5),
    Refutation { more: 7.0, ..refute("integer_max_is_wrong", "special_inputs_right", "integer_max", 4, 1.0) },
    refute("mapping_beats_loop", RATE, "ordered_max", MOST, 0.1),
    refute("backoff_cuts_retries", "retries", "cas_backoff", 16_384, 50.0),
    refute("backoff_gains", RATE, "cas_backoff", 16_384, 0.01),
    refute("folding_gains_its_square", RATE, "warp_then_cas", MOST, 0.1),
    refute("folding_beats_sleeping", RATE, "warp_then_cas", MOST, 0.01),
    refute("native_beats_folding", RATE, "native_add", MOST, 0.01),
];

/// Applies a refutation to the sessions from `first` on.
fn refuted(by: &Refutation, first: usize) -> Vec<Figure> {
    let mut figures = figures();
    let mut touched = 0;
    for figure in &mut figures {
        let here = figure.at.get("contenders") == Some(&Coordinate::Number(by.contenders));
        if figure.name != by.figure || figure.variant.as_deref() != Some(by.variant) || !here {
            continue;
        }
        touched += 1;
        for samples in figure.samples.iter_mut().skip(first) {
            let Samples::Numbers(numbers) = samples else { continue };
            numbers.iter_mut().for_each(|number| *number = *number * by.times + by.more);
        }
    }
    assert!(touched > 0, "`{}` refutes nothing", by.claim);
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
    let refutable: BTreeSet<&str> = REFUTATIONS.iter().map(|refutation| refutation.claim).collect();
    let claims = claims().claims;
    let all: BTreeSet<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(refutable, all, "every claim needs a refutation");
    for refutation in &REFUTATIONS {
        let verdict = verdicts(&refuted(refutation, 0))[refutation.claim];
        assert_eq!(verdict, Verdict::Fails, "{}", refutation.claim);
    }
}

#[test]
fn sessions_that_disagree_confirm_nothing() {
    for refutation in &REFUTATIONS {
        let verdict = verdicts(&refuted(refutation, 2))[refutation.claim];
        assert_ne!(verdict, Verdict::Holds, "{}", refutation.claim);
    }
}

#[test]
fn a_false_law_is_refused() {
    let (claims, gpu) = (claims(), gpu());
    for refutation in &REFUTATIONS {
        let figures = refuted(refutation, 0);
        let evidence = Evidence { gpu: &gpu, figures: &figures, absent: &[] };
        let law = claims.claims.iter().any(|claim| claim.law && claim.id == refutation.claim);
        let broken = claim_check::broken_laws(&claims, &evidence);
        assert_eq!(broken.iter().any(|fault| fault.contains(refutation.claim)), law, "{broken:?}");
    }
    assert!(claims.claims.iter().any(|claim| claim.law));
}
