//! day33's claims on made-up figures: as the model has them, each refuted on its own, not measured.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here fail as a test does")]

use std::collections::BTreeSet;
use std::path::Path;

use labs_record::figure::{Figure, Kind, Samples, Unit};
use labs_record::record::Gpu;
use labs_record::{Claims, Coordinate, Evidence, Verdict, store, wording};

fn claims() -> Claims {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    store::read(&root.join("verification/claims/day33_slice_map.yaml"), "claims file").unwrap()
}

/// What three sessions found of a quantity.
#[derive(Clone)]
enum Found {
    /// The same numbers in each.
    Numbers(Unit, Kind, Vec<f64>),
    /// The same count of tries in each.
    Tries(u64, u64),
}

fn figure(name: &str, variant: &str, at: &[(&str, Coordinate)], found: Found) -> Figure {
    let (unit, kind, samples) = match found {
        Found::Numbers(unit, kind, numbers) => (unit, kind, Samples::Numbers(numbers)),
        Found::Tries(seen, of) => (Unit::One, Kind::Observation, Samples::Tries { seen, of }),
    };
    Figure {
        name: name.to_owned(),
        variant: Some(variant.to_owned()),
        at: at.iter().map(|(axis, place)| ((*axis).to_owned(), place.clone())).collect(),
        unit,
        kind,
        median: None,
        samples: vec![samples; 3],
        set_aside: Vec::new(),
    }
}

fn time(ns: f64) -> Found {
    Found::Numbers(Unit::Nanoseconds, Kind::Duration, vec![ns])
}

/// Slices as the chapter has them.
fn figures() -> Vec<Figure> {
    let counts = |numbers: &[f64]| Found::Numbers(Unit::Count, Kind::Spread, numbers.to_vec());
    let lines = ("lines", Coordinate::Number(2048));
    let mut all = Vec::new();
    let mut of_map =
        |name: &str, found| all.push(figure(name, "hot_lines", std::slice::from_ref(&lines), found));
    of_map("classes", counts(&[94.0, 94.0]));
    of_map("class_size", counts(&[20.0, 22.0]));
    of_map("partners", counts(&[1.0, 1.0]));
    of_map("agreement", Found::Tries(2048, 2048));
    of_map("ambiguous", Found::Tries(0, 4096));
    of_map("even_time", time(40_000.0));
    for (pair, ns) in [("alone", 9e3), ("itself", 15e3), ("together", 14.5e3), ("apart", 9e3)] {
        all.push(figure("pair_time", "hot_lines", &[lines.clone(), ("pair", pair.into())], time(ns)));
    }
    for bit in 7..28 {
        let at = [lines.clone(), ("bit", Coordinate::Number(bit))];
        let kept = if bit == 7 || bit == 9 { 2048 } else { 0 };
        all.push(figure("kept", "hot_lines", &at, Found::Tries(kept, 2048)));
        all.push(figure("moved_together", "hot_lines", &at, Found::Tries(1200, 1900)));
    }
    for buckets in [32, 96, 128] {
        for stride in [128, 2048, 524_288] {
            let at = [("buckets", Coordinate::Number(buckets)), ("stride", Coordinate::Number(stride))];
            let ns = 50e3 * if stride == 2048 { 1.0 } else { 2.0 };
            all.push(figure("set_time", "hot_lines", &at, time(ns)));
            all.push(figure("busiest", "hot_lines", &at, counts(&[4.0])));
        }
    }
    for (hot_blocks, waits) in [(0, 1.0), (8, 4.0), (32, 24.0), (128, 24.0)] {
        for slice in ["same", "partner", "other"] {
            let at = [("hot_blocks", Coordinate::Number(hot_blocks)), ("slice", slice.into())];
            let times = if slice == "same" { waits } else { 1.0 };
            let cycles = |cycles| Found::Numbers(Unit::Cycles, Kind::Duration, vec![cycles]);
            all.push(figure("load_cycles", "load_lines", &at, cycles(300.0 * times)));
            all.push(figure("stream_cycles", "load_stream", &at, cycles(8e3 * times)));
        }
    }
    all
}

/// What refutes a claim: the figure of this name at this place becomes `times` its value, or so many more tries of 2,048.
type Refutation = (&'static str, &'static str, &'static str, &'static str, f64);

const REFUTATIONS: [Refutation; 21] = [
    ("one_number_of_classes", "classes", "", "", 1.1),
    ("maps_agree", "agreement", "", "", 0.9),
    ("few_ambiguous", "ambiguous", "", "", 0.1),
    ("itself_takes_turns", "pair_time", "pair", "itself", 0.6),
    ("apart_is_alone", "pair_time", "pair", "apart", 1.3),
    ("together_takes_turns", "pair_time", "pair", "together", 0.7),
    ("one_partner", "partners", "", "", 2.0),
    ("neighbours_share", "kept", "bit", "7", 0.5),
    ("bit_nine_is_free", "kept", "bit", "9", 0.5),
    ("other_bits_move", "kept", "bit", "13", 0.5),
    ("no_plain_exclusive_or", "moved_together", "bit", "10", 1.0),
    ("neighbours_resonate", "set_time", "stride", "128", 0.5),
    ("half_a_mebibyte_resonates", "set_time", "stride", "524288", 0.5),
    ("scales_with_length", "set_time", "buckets", "128", 2.0),
    ("map_beats_array", "even_time", "", "", 3.0),
    ("a_load_waits", "load_cycles", "hot_blocks", "0", 20.0),
    ("more_blocks_longer_queue", "load_cycles", "hot_blocks", "8", 4.0),
    ("the_queue_is_full", "load_cycles", "hot_blocks", "128", 2.0),
    ("a_load_elsewhere_does_not", "load_cycles", "hot_blocks", "32", 3.0),
    ("a_stream_slows", "stream_cycles", "hot_blocks", "32", 0.1),
    ("a_stream_elsewhere_does_not", "stream_cycles", "hot_blocks", "32", 3.0),
];

fn refuted(by: &Refutation) -> Vec<Figure> {
    let (_, name, axis, place, times) = *by;
    let mut figures = figures();
    let here = |figure: &&mut Figure| {
        figure.name == name
            && (axis.is_empty() || figure.at.get(axis).is_some_and(|known| known.to_string() == place))
    };
    let mut changed = 0;
    for figure in figures.iter_mut().filter(here) {
        changed += 1;
        for samples in &mut figure.samples {
            *samples = match samples {
                // Of several numbers only the last: that they are not all the same is what refutes.
                Samples::Numbers(numbers) => {
                    let mut numbers = numbers.clone();
                    numbers.last_mut().into_iter().for_each(|number| *number *= times);
                    Samples::Numbers(numbers)
                }
                Samples::Tries { of, .. } => Samples::Tries { seen: (*of as f64 * times) as u64, of: *of },
            };
        }
    }
    assert!(changed > 0, "nothing is called {name} at {axis}={place}");
    figures
}

fn verdict(figures: &[Figure], id: &str) -> Verdict {
    let gpu = Gpu {
        name: "Made-up GPU".to_owned(),
        compute_capability: "9.0".to_owned(),
        sms: 132,
        l2_bytes: 1,
        memory_bytes: 1,
        ecc: None,
    };
    let evidence = Evidence { gpu: &gpu, figures, absent: &[] };
    let claims = claims();
    let claim = claims.claims.iter().find(|claim| claim.id == id).unwrap();
    let finding = evidence.judge(claim);
    let sentence = wording::sentence(claim, &finding, &evidence).unwrap();
    assert!(!sentence.contains('{'), "{sentence}");
    finding.verdict
}

#[test]
fn on_the_models_figures_all_claims_hold() {
    for claim in claims().claims {
        assert_eq!(verdict(&figures(), &claim.id), Verdict::Holds, "{}", claim.id);
    }
}

#[test]
fn each_claim_can_be_refuted() {
    for refutation in &REFUTATIONS {
        assert_eq!(verdict(&refuted(refutation), refutation.0), Verdict::Fails, "{}", refutation.0);
    }
    let refuted: BTreeSet<&str> = REFUTATIONS.iter().map(|refutation| refutation.0).collect();
    let claims = claims();
    let all: BTreeSet<&str> = claims.claims.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(refuted, all);
}

#[test]
fn without_figures_nothing_is_measured() {
    for claim in claims().claims {
        assert_eq!(verdict(&[], &claim.id), Verdict::NotMeasured, "{}", claim.id);
    }
}
