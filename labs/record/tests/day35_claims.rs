//! day35's claims on made-up figures: as the model has them, each refuted on its own, undecided; and on what is
//! published of an RTX 5090.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here fail as a test does")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use labs_record::figure::{Figure, Kind, Samples, Unit};
use labs_record::published::Published;
use labs_record::record::Gpu;
use labs_record::{At, Claims, Evidence, Verdict, store, wording};

const N: f64 = 16_777_216.0;
const RANDOM: &str = "random";
const SEQUENTIAL: &str = "sequential";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn claims() -> Claims {
    store::read(&root().join("verification/claims/day35_filter.yaml"), "claims file").unwrap()
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

/// Groups of this many elements that hold a hit.
fn holding(layout: &str, rate: f64, group: f64) -> f64 {
    let share = match layout {
        _ if rate == 0.0 => 0.0,
        RANDOM => 1.0 - (1.0 - rate).powf(group),
        _ => (rate + (group - 1.0) / 1000.0).min(1.0),
    };
    (N / group * share).round()
}

/// The model as figures: 30 µs of reading, 2 µs of barriers, 0.3 ns an add in the queue, three sessions that agree.
fn figures() -> Vec<Figure> {
    let mut all = Vec::new();
    for layout in [RANDOM, SEQUENTIAL] {
        for threshold in [0_u64, 50, 125, 250, 500, 1000] {
            let at =
                At::from([("layout".to_owned(), layout.into()), ("threshold".to_owned(), threshold.into())]);
            let mut push = |name: &str, variant: Option<&str>, unit, kind, value: f64| {
                all.push(Figure {
                    name: name.to_owned(),
                    variant: variant.map(str::to_owned),
                    at: at.clone(),
                    unit,
                    kind,
                    median: None,
                    samples: vec![Samples::Numbers(vec![value]); 3],
                    set_aside: Vec::new(),
                });
            };
            let rate = threshold as f64 / 1000.0;
            let [hits, warps, blocks] = [1.0, 32.0, 256.0].map(|group| holding(layout, rate, group));
            push("host_count", None, Unit::Count, Kind::Exact, hits);
            for (variant, adds, barriers) in [
                ("naive", warps, 0.0),
                ("naive_unfolded", hits, 0.0),
                ("agg", warps, 0.0),
                ("smem", blocks, 2_000.0),
                ("smem32", blocks, 2_000.0),
                ("agg_smem", blocks, 2_000.0),
            ] {
                push("counted", Some(variant), Unit::Count, Kind::Exact, hits);
                push("queued_adds", Some(variant), Unit::Count, Kind::Spread, adds);
                let time = 30_000.0 + barriers + 0.3 * adds;
                push("time", Some(variant), Unit::Nanoseconds, Kind::Duration, time);
            }
        }
    }
    all
}

/// What refutes a claim: the figure at this place becomes `times` × its value.
type Refutation = (&'static str, &'static str, &'static str, &'static str, u64, f64);

const REFUTATIONS: [Refutation; 15] = [
    ("counts_equal_host", "counted", "smem", RANDOM, 50, 2.0),
    ("compiler_folds", "time", "naive_unfolded", SEQUENTIAL, 1000, 0.1),
    ("unfolded_queue_follows_hits", "time", "naive_unfolded", RANDOM, 1000, 3.0),
    ("agg_is_naive", "time", "agg", SEQUENTIAL, 125, 2.0),
    ("agg_is_naive_random", "time", "agg", RANDOM, 1000, 0.5),
    ("naive_grows", "time", "naive", SEQUENTIAL, 1000, 0.1),
    ("naive_flat_when_random", "time", "naive", RANDOM, 1000, 3.0),
    ("layout_decides", "time", "naive", RANDOM, 50, 0.1),
    ("smem_nearly_flat", "time", "smem", SEQUENTIAL, 1000, 3.0),
    ("gain_rises", "time", "smem", SEQUENTIAL, 1000, 5.0),
    ("gain_flat_when_random", "time", "smem", RANDOM, 50, 3.0),
    ("gain_below_fold", "time", "smem", SEQUENTIAL, 1000, 0.1),
    ("staging_costs_without_hits", "time", "smem", SEQUENTIAL, 0, 0.5),
    ("agg_smem_is_smem", "time", "agg_smem", SEQUENTIAL, 500, 2.0),
    ("wide_counter_hides", "time", "smem32", RANDOM, 250, 0.5),
];

/// The model's figures with a refutation in the sessions from `first` on.
fn refuted(by: &Refutation, first: usize) -> Vec<Figure> {
    let (claim, name, variant, layout, threshold, times) = *by;
    let mut figures = figures();
    let place = At::from([("layout".to_owned(), layout.into()), ("threshold".to_owned(), threshold.into())]);
    let mut touched = 0;
    for figure in &mut figures {
        if figure.name != name || figure.variant.as_deref() != Some(variant) || figure.at != place {
            continue;
        }
        touched += 1;
        for samples in figure.samples.iter_mut().skip(first) {
            let Samples::Numbers(numbers) = samples else { continue };
            numbers.iter_mut().for_each(|number| *number *= times);
        }
    }
    assert_eq!(touched, 1, "`{claim}` is refuted at one place");
    figures
}

/// Each claim's verdict; on the way, its sentence is made and has no brace left open.
fn verdicts(evidence: &Evidence) -> BTreeMap<String, Verdict> {
    let claims = claims();
    let judged = claims.claims.iter().map(|claim| {
        let finding = evidence.judge(claim);
        let sentence = wording::sentence(claim, &finding, evidence).unwrap();
        assert!(!sentence.contains(['{', '}']) && !sentence.contains(" – "), "{sentence}");
        (claim.id.clone(), finding.verdict)
    });
    judged.collect()
}

fn made_up(figures: &[Figure]) -> BTreeMap<String, Verdict> {
    verdicts(&Evidence { gpu: &gpu(), figures, absent: &[] })
}

#[test]
fn all_hold_where_the_model_does() {
    for (id, verdict) in made_up(&figures()) {
        assert_eq!(verdict, Verdict::Holds, "{id}");
    }
}

#[test]
fn each_claim_can_fail_and_be_undecided() {
    let claims = claims();
    let refutable: BTreeSet<&str> = REFUTATIONS.iter().map(|refutation| refutation.0).collect();
    assert_eq!(refutable, claims.claims.iter().map(|claim| claim.id.as_str()).collect());
    for refutation in &REFUTATIONS {
        assert_eq!(made_up(&refuted(refutation, 0))[refutation.0], Verdict::Fails, "{}", refutation.0);
        let law = claims.claims.iter().any(|claim| claim.law && claim.id == refutation.0);
        // A count that differs between sessions is wrong, whichever of them is right.
        let expected = if law { Verdict::Fails } else { Verdict::TooClose };
        assert_eq!(made_up(&refuted(refutation, 2))[refutation.0], expected, "{}", refutation.0);
    }
    assert!(made_up(&[]).values().all(|verdict| *verdict == Verdict::NotMeasured));
}

#[test]
fn the_published_figures_bear_out_what_their_source_claims() {
    let path = root().join("verification/published/nvidia-geforce-rtx-5090/day35_filter.yaml");
    let published: Published = store::read(&path, "file of published figures").unwrap();
    let figures = published.compared();
    let verdicts = verdicts(&Evidence { gpu: &published.gpu, figures: &figures, absent: &published.absent });
    let judged = [
        "agg_is_naive",
        "naive_grows",
        "smem_nearly_flat",
        "gain_rises",
        "gain_below_fold",
        "agg_smem_is_smem",
    ];
    for (id, verdict) in &verdicts {
        let expected = if judged.contains(&id.as_str()) { Verdict::Holds } else { Verdict::NotMeasured };
        assert_eq!(*verdict, expected, "{id}");
    }
    // Without the place at which the course compares, nothing is: the source is silent on the layout.
    let silent = Evidence { gpu: &published.gpu, figures: &published.figures, absent: &[] };
    assert!(self::verdicts(&silent).values().all(|verdict| *verdict == Verdict::NotMeasured));
}
