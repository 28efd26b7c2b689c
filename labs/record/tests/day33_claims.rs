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
    of_map("groups", counts(&[47.0, 47.0]));
    of_map("classes_a_group", counts(&[2.0, 2.0]));
    of_map("agreement", Found::Tries(2048, 2048));
    of_map("ambiguous", Found::Tries(0, 4096));
    for (home, cycles) in [("near", 330.0), ("far", 500.0)] {
        let trip = Found::Numbers(Unit::Cycles, Kind::Spread, vec![cycles]);
        all.push(figure("trip", "add_lines", &[lines.clone(), ("home", home.into())], trip));
    }
    for (view, seen) in [("alike", 66), ("opposite", 66), ("neither", 0)] {
        all.push(figure(
            "sms",
            "add_lines",
            &[lines.clone(), ("view", view.into())],
            Found::Tries(seen, 132),
        ));
    }
    for (from, cycles) in [("own_gpc", 2400.0), ("own_side", 600.0), ("other_side", 310.0)] {
        let wait = Found::Numbers(Unit::Cycles, Kind::Spread, vec![cycles]);
        all.push(figure("hot_cluster", "add_lines", &[lines.clone(), ("heated_from", from.into())], wait));
    }
    for (chosen, ns) in
        [("near_once", 28e3), ("near_twice", 60e3), ("every_class", 50e3), ("neighbours", 140e3)]
    {
        all.push(figure("set_time", "hot_lines", &[("chosen", chosen.into())], time(ns)));
    }
    for (pair, ns) in [("alone", 9e3), ("itself", 15e3), ("together", 14.5e3), ("apart", 9e3)] {
        all.push(figure("pair_time", "hot_lines", &[lines.clone(), ("pair", pair.into())], time(ns)));
    }
    for (pair, delay) in [("together", 0.9), ("partner", 0.4), ("apart", 0.05)] {
        let found = Found::Numbers(Unit::One, Kind::Spread, vec![delay]);
        all.push(figure("delay", "hot_lines", &[lines.clone(), ("pair", pair.into())], found));
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
    all.extend(beside());
    all
}

/// Loads beside a hot line: those of its group wait, the longer the more hot SMs are on the reader's way, until the queue is
/// full.
fn beside() -> Vec<Figure> {
    let mut all = Vec::new();
    let cycles = |cycles| Found::Numbers(Unit::Cycles, Kind::Duration, vec![cycles]);
    for (hot_sms, waits) in [(0, 1.0), (1, 2.0), (4, 4.0), (12, 14.0), (48, 23.0), (96, 23.0)] {
        for home in ["near", "far"] {
            for slice in ["same", "partner", "other"] {
                let at = [
                    ("hot_sms", Coordinate::Number(hot_sms)),
                    ("home", home.into()),
                    ("slice", slice.into()),
                ];
                let times = |waits| if slice == "other" || hot_sms == 0 { 1.0 } else { waits };
                all.push(figure("stream_cycles", "load_stream", &at, cycles(8e3 * times(waits))));
                for (from, waits) in
                    [("everywhere", waits), ("own_gpc", 6.0), ("own_side", 2.0), ("other_side", 1.0)]
                {
                    let at = [at.as_slice(), &[("heated_from", from.into())]].concat();
                    all.push(figure("load_cycles", "load_lines", &at, cycles(300.0 * times(waits))));
                }
            }
        }
    }
    all
}

/// What refutes a claim: the figure of this name at this place becomes `times` its value, or so many more tries of 2,048.
type Refutation = (&'static str, &'static str, &'static str, &'static str, f64);

const REFUTATIONS: [Refutation; 33] = [
    ("far_is_far", "trip", "home", "far", 0.5),
    ("two_sides", "sms", "view", "neither", 0.1),
    ("two_classes_a_group", "classes_a_group", "", "", 0.5),
    ("one_number_of_classes", "classes", "", "", 1.1),
    ("maps_agree", "agreement", "", "", 0.9),
    ("few_ambiguous", "ambiguous", "", "", 0.1),
    ("itself_takes_turns", "pair_time", "pair", "itself", 0.6),
    ("together_takes_turns", "delay", "pair", "together", 0.5),
    ("apart_is_free", "delay", "pair", "apart", 4.0),
    ("partners_delay", "delay", "pair", "partner", 0.2),
    ("neighbours_share", "kept", "bit", "7", 0.5),
    ("bit_nine_is_free", "kept", "bit", "9", 0.5),
    ("other_bits_move", "kept", "bit", "13", 0.5),
    ("no_plain_exclusive_or", "moved_together", "bit", "10", 1.0),
    ("neighbours_resonate", "set_time", "stride", "128", 0.5),
    ("half_a_mebibyte_resonates", "set_time", "stride", "524288", 0.5),
    ("scales_with_length", "set_time", "buckets", "128", 2.0),
    ("a_second_line_doubles", "set_time", "chosen", "near_once", 2.0),
    ("far_classes_are_not_free", "set_time", "chosen", "every_class", 0.6),
    ("map_beats_array", "set_time", "chosen", "every_class", 3.0),
    ("a_load_waits", "load_cycles", "hot_sms", "0", 20.0),
    ("the_partner_waits_as_long", "load_cycles", "slice", "partner", 0.5),
    ("more_sms_longer_queue", "load_cycles", "hot_sms", "12", 0.1),
    ("the_queue_is_full", "load_cycles", "hot_sms", "96", 2.0),
    ("four_fill_the_queue", "load_cycles", "hot_sms", "4", 0.5),
    ("own_gpc_waits_longest", "load_cycles", "heated_from", "own_side", 6.0),
    ("others_take_turns", "load_cycles", "hot_sms", "48", 2.0),
    ("the_other_side_costs_nothing", "load_cycles", "hot_sms", "48", 2.0),
    ("the_gpc_shows", "hot_cluster", "heated_from", "own_gpc", 0.4),
    ("far_loads_are_answered_near", "load_cycles", "home", "far", 2.0),
    ("a_load_elsewhere_does_not", "load_cycles", "hot_sms", "96", 3.0),
    ("a_stream_slows", "stream_cycles", "hot_sms", "96", 0.1),
    ("a_stream_elsewhere_does_not", "stream_cycles", "hot_sms", "96", 3.0),
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
