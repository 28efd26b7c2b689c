//! Every claims file is sound, and day26's claims come out as they should on made-up figures: as the model has
//! them, each one refuted on its own, undecided, not applicable, not measured.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers here fail as a test does"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use labs_record::figure::{Coordinate, Figure, Kind, Samples, Unit};
use labs_record::manifest::{LabEntry, Manifest};
use labs_record::published::Published;
use labs_record::record::{Absent, Gpu};
use labs_record::sources::Sources;
use labs_record::{Claims, Evidence, Verdict, claim_check, store, wording};

const SIZES: [u64; 6] = [4_096, 65_536, 262_144, 1_048_576, 4_194_304, 67_108_864];
const LARGEST: u64 = SIZES[5];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manifest() -> Manifest {
    store::read(&root().join("kernels/manifest.yaml"), "manifest").unwrap()
}

fn day26() -> (LabEntry, Claims) {
    let claims = store::read(&root().join("verification/claims/day26_sum.yaml"), "claims file").unwrap();
    (manifest().labs.remove("day26_sum").expect("the manifest lists day26_sum"), claims)
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

#[test]
fn every_claims_file_is_sound() {
    let sources: Sources = store::read(&root().join("verification/sources.yaml"), "list of sources").unwrap();
    let known: BTreeSet<String> = sources.claims.iter().map(|claim| claim.id.clone()).collect();
    assert_eq!(known.len(), sources.claims.len(), "an id stands in sources.yaml twice");

    let files = store::yaml_files(&root().join("verification/claims")).unwrap();
    assert!(!files.is_empty());
    let labs = manifest().labs;
    for path in files {
        let claims: Claims = store::read(&path, "claims file").unwrap();
        assert_eq!(path.file_stem().unwrap().to_str().unwrap(), claims.lab, "{}", path.display());
        let lab = labs.get(&claims.lab).unwrap_or_else(|| panic!("no lab `{}` in the manifest", claims.lab));
        assert_eq!(claim_check::faults(&claims, lab), Vec::<String>::new(), "{}", path.display());
        for claim in &claims.claims {
            for source in &claim.sources {
                assert!(known.contains(source), "`{}` tests `{source}`, which no source claims", claim.id);
            }
        }
    }
}

#[test]
fn every_published_file_says_where_it_is_from() {
    let mut files = 0;
    for folder in std::fs::read_dir(root().join("verification/published")).unwrap() {
        let folder = folder.unwrap().path();
        for path in store::yaml_files(&folder).unwrap() {
            files += 1;
            let published: Published = store::read(&path, "file of published figures").unwrap();
            let source = &published.source;
            assert_eq!(folder.file_name().unwrap().to_str().unwrap(), published.gpu.slug());
            assert_eq!(path.file_stem().unwrap().to_str().unwrap(), published.lab);
            for text in [&source.title, &source.publisher, &source.date, &source.method] {
                assert!(!text.trim().is_empty(), "{}: write 'not stated'", path.display());
            }
            for figure in &published.figures {
                let summary = figure.summary().expect("a published figure has a sample");
                // A sample a run: several runs are several sessions.
                assert_eq!(
                    (figure.median, summary.count),
                    (Some(summary.median), figure.samples.len()),
                    "{}",
                    figure.describe()
                );
            }
        }
    }
    assert!(files > 0);
}

/// The model as figures: 2 ns an add in the queue at the total, a floor of 3 µs, three sessions that agree.
fn figures(lab: &LabEntry) -> Vec<Figure> {
    let mut all = Vec::new();
    let mut push = |name: &str, variant: Option<&str>, at: &[(&str, Coordinate)], unit, kind, value: f64| {
        all.push(Figure {
            name: name.to_owned(),
            variant: variant.map(str::to_owned),
            at: at.iter().map(|(axis, place)| ((*axis).to_owned(), place.clone())).collect(),
            unit,
            kind,
            median: None,
            samples: vec![Samples::Numbers(vec![value]); 3],
            set_aside: Vec::new(),
        });
    };
    let (ns, duration) = (Unit::Nanoseconds, Kind::Duration);
    for size in SIZES {
        let n = size as f64;
        let at = ("size", Coordinate::from(size));
        let blocks = (n / 256.0).ceil();
        let fast = 3_200.0 + 0.0009 * n;
        let variants = [
            ("global_atomic", 3_000.0 + 2.0 * n, n, if size == LARGEST { 0.5 } else { 1e-5 }),
            ("shared_privatised", 15_000.0 + 0.2 * n, blocks, 1e-6),
            ("block_tree", 4_000.0 + 2.4 * blocks, blocks, 1e-6),
            ("warp_shuffle", 3_800.0 + 2.3 * blocks, blocks, 1e-6),
            ("grid_stride", 3_500.0 + 0.001 * n, blocks.min(1_056.0), 1e-6),
            ("vectorised", fast, blocks.min(1_056.0), 1e-6),
            ("two_pass", fast + 2_000.0, 0.0, 1e-6),
        ];
        for (variant, time, adds, error) in variants {
            for (cache, launches) in [("cold", "single"), ("hot", "single"), ("hot", "batched")] {
                let at = [at.clone(), ("cache", cache.into()), ("launches", launches.into())];
                push("time", Some(variant), &at, ns, duration, time);
            }
            push("global_atomics", Some(variant), std::slice::from_ref(&at), Unit::Count, Kind::Exact, adds);
            push("error_uniform", Some(variant), std::slice::from_ref(&at), Unit::One, Kind::Spread, error);
        }
        for cache in ["cold", "hot"] {
            let at = [at.clone(), ("cache", cache.into())];
            push("time_with_reset", Some("vectorised"), &at, ns, duration, fast + 1_000.0);
            push("time_with_reset", Some("cub_device_reduce"), &at, ns, duration, fast * 1.05 + 2_000.0);
        }
    }
    let at = [("size", LARGEST.into()), ("cache", "cold".into())];
    push("read_time", None, &at, ns, duration, 0.0009 * LARGEST as f64);
    push("launch_floor", None, &[("launches", "single".into())], ns, duration, 3_000.0);
    push("launch_floor", None, &[("launches", "batched".into())], ns, duration, 1_000.0);
    lab.with_derived(&all)
}

/// What refutes a claim: the figures of this name, variant and size become `times` × their value + `more`.
struct Refutation {
    claim: &'static str,
    figure: &'static str,
    variant: &'static str,
    size: u64,
    times: f64,
    more: f64,
}

const fn refute(
    claim: &'static str,
    figure: &'static str,
    variant: &'static str,
    size: u64,
    times: f64,
) -> Refutation {
    Refutation { claim, figure, variant, size, times, more: 0.0 }
}

const REFUTATIONS: [Refutation; 23] = [
    refute("one_add_an_element", "global_atomics", "global_atomic", 4_096, 0.5),
    refute("folding_cuts_global_adds", "global_atomics", "shared_privatised", 4_194_304, 16.0),
    refute("same_global_adds", "global_atomics", "block_tree", 262_144, 2.0),
    refute("grid_bounds_global_adds", "global_atomics", "grid_stride", LARGEST, 2.0),
    Refutation { more: 1.0, ..refute("two_pass_sends_none", "global_atomics", "two_pass", 4_096, 1.0) },
    refute("time_follows_n", "time", "global_atomic", LARGEST, 3.0),
    refute("gap_below_fold", "time", "block_tree", LARGEST, 0.5),
    refute("tree_still_queues", "time", "block_tree", LARGEST, 3.0),
    refute("shared_queue_costs_less", "time", "shared_privatised", 4_194_304, 10.0),
    refute("tree_beats_global", "time", "block_tree", 4_096, 10.0),
    refute("tree_beats_privatised", "time", "block_tree", 4_096, 10.0),
    refute("tree_tens_of_times_faster", "time", "block_tree", 4_194_304, 20.0),
    refute("gap_widens", "time", "block_tree", 4_194_304, 3.0),
    refute("privatised_slowest_when_small", "time", "shared_privatised", 4_096, 0.1),
    refute("small_is_mostly_launch", "time", "block_tree", 4_096, 3.0),
    refute("shuffle_beats_tree", "time", "warp_shuffle", 4_194_304, 2.0),
    refute("four_levels_are_faster", "time", "grid_stride", LARGEST, 100.0),
    refute("vectorised_reads_at_full_rate", "bandwidth", "vectorised", LARGEST, 0.5),
    refute("vectorised_matches_cub", "time_with_reset", "vectorised", 65_536, 2.0),
    refute("second_launch_hides", "time", "two_pass", LARGEST, 2.0),
    refute("three_routes_agree", "error_uniform", "block_tree", 4_194_304, 1e3),
    refute("one_total_stalls", "error_uniform", "global_atomic", LARGEST, 0.01),
    refute("folded_total_goes_on", "error_uniform", "block_tree", LARGEST, 1e3),
];

/// Applies a refutation to the sessions from `first` on.
fn refuted(figures: &[Figure], by: &Refutation, first: usize) -> Vec<Figure> {
    let mut figures = figures.to_vec();
    let mut touched = 0;
    for figure in &mut figures {
        let here = figure.at.get("size") == Some(&Coordinate::Number(by.size));
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
fn verdicts(claims: &Claims, figures: &[Figure], absent: &[Absent]) -> BTreeMap<String, Verdict> {
    let gpu = gpu();
    let evidence = Evidence { gpu: &gpu, figures, absent };
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
    let (lab, claims) = day26();
    for (id, verdict) in verdicts(&claims, &figures(&lab), &[]) {
        assert_eq!(verdict, Verdict::Holds, "{id}");
    }
}

#[test]
fn each_claim_can_fail() {
    let (lab, claims) = day26();
    let figures = figures(&lab);
    let refutable: BTreeSet<&str> = REFUTATIONS.iter().map(|refutation| refutation.claim).collect();
    let all: BTreeSet<&str> = claims.claims.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(refutable, all, "every claim needs a refutation");
    for refutation in &REFUTATIONS {
        let verdict = verdicts(&claims, &refuted(&figures, refutation, 0), &[])[refutation.claim];
        assert_eq!(verdict, Verdict::Fails, "{}", refutation.claim);
    }
}

#[test]
fn sessions_that_disagree_decide_nothing() {
    let (lab, claims) = day26();
    let figures = figures(&lab);
    for refutation in &REFUTATIONS {
        let verdict = verdicts(&claims, &refuted(&figures, refutation, 2), &[])[refutation.claim];
        let claim = claims.claims.iter().find(|claim| claim.id == refutation.claim).unwrap();
        // Counts that differ are wrong, whichever of them is right; a ratio of them can still be on both sides.
        let expected = match claim.law && claim.id != "folding_cuts_global_adds" {
            true => Verdict::Fails,
            false => Verdict::TooClose,
        };
        assert_eq!(verdict, expected, "{}", refutation.claim);
    }
}

#[test]
fn nothing_measured_and_nothing_there() {
    let (_, claims) = day26();
    assert!(verdicts(&claims, &[], &[]).values().all(|verdict| *verdict == Verdict::NotMeasured));
    let names = [
        "time",
        "time_with_reset",
        "bandwidth",
        "read_bandwidth",
        "launch_floor",
        "global_atomics",
        "error_uniform",
    ];
    let absent = names.map(|name| Absent { what: name.to_owned(), why: "made up without it".to_owned() });
    assert!(verdicts(&claims, &[], &absent).values().all(|verdict| *verdict == Verdict::NotApplicable));
}

#[test]
fn a_false_law_is_refused() {
    let (lab, mut claims) = day26();
    let (gpu, figures) = (gpu(), figures(&lab));
    let broken = |claims: &Claims, figures: &[Figure]| {
        claim_check::broken_laws(claims, &Evidence { gpu: &gpu, figures, absent: &[] })
    };
    assert_eq!(broken(&claims, &figures), Vec::<String>::new());
    for refutation in &REFUTATIONS {
        let law = claims.claims.iter().any(|claim| claim.law && claim.id == refutation.claim);
        let faults = broken(&claims, &refuted(&figures, refutation, 0));
        assert_eq!(faults.iter().any(|fault| fault.contains(refutation.claim)), law, "{faults:?}");
    }
    // What was measured is right, and the law is not.
    for claim in &mut claims.claims {
        claim.law = claim.id == "time_follows_n";
    }
    let faults = broken(&claims, &refuted(&figures, &REFUTATIONS[5], 0));
    assert!(faults[0].starts_with("the law `time_follows_n` is broken on Made-up, 1."), "{faults:?}");
}

#[test]
fn unsound_claims_are_refused() {
    let (lab, claims) = day26();
    let faults = |edit: fn(&mut Claims)| {
        let mut claims = claims.clone();
        edit(&mut claims);
        claim_check::faults(&claims, &lab).join("\n")
    };
    assert_eq!(faults(|_| {}), "");
    let twice = faults(|claims| claims.claims[1].id = claims.claims[0].id.clone());
    assert!(twice.contains("stands there twice"), "{twice}");
    let unknown = faults(|claims| claims.claims[0].wording.holds = "{fats}".to_owned());
    assert!(unknown.contains("names `{fats}`"), "{unknown}");
    let place = faults(|claims| claims.claims[0].wording.fails = "{place}".to_owned());
    assert!(place.contains("names `{place}`"), "{place}");
    let silent = faults(|claims| claims.claims[0].wording.not_measured = "not measured".to_owned());
    assert!(silent.contains("must name `{reason}`"), "{silent}");
    let typed = faults(|claims| claims.claims[0].wording.holds = "it takes 17.5 µs".to_owned());
    assert!(typed.contains("`17.5 µs` is typed"), "{typed}");
    let schema = faults(|claims| claims.schema = 2);
    assert!(schema.contains("schema is 2"), "{schema}");
}

#[test]
fn claims_about_what_the_lab_lacks_are_refused() {
    let (mut lab, claims) = day26();
    lab.variants.retain(|variant| variant.name != "two_pass");
    lab.figures.retain(|figure| figure.name != "launch_floor");
    let faults = claim_check::faults(&claims, &lab).join("\n");
    assert!(faults.contains("claim `two_pass_sends_none`: the lab has no variant `two_pass`"), "{faults}");
    assert!(
        faults.contains("claim `small_is_mostly_launch`: the lab makes no figure `launch_floor`"),
        "{faults}"
    );
}
