//! The queue model on made-up constants: where it is right by construction it hits, elsewhere it is seen to miss.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "the helpers here fail as a test does")]

use std::collections::BTreeMap;
use std::path::Path;

use labs_record::figure::{At, Coordinate, Figure, Kind, Samples, Unit};
use labs_record::model::{self, Constants, Prediction};
use labs_record::record::Reading;
use labs_record::{Record, store};

/// Name, variant, place, value.
type Given<'a> = (&'a str, Option<&'a str>, &'a [(&'a str, Coordinate)], f64);

/// A record of the reference GPU, emptied, with figures of one's own.
fn made_up(lab: &str, figures: &[Given<'_>]) -> Record {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../verification/nvidia-h200/day26_sum.yaml");
    let mut record = store::read_record(&path).unwrap();
    record.lab = lab.to_owned();
    for session in record.sittings.iter_mut().flat_map(|sitting| &mut sitting.sessions) {
        session.sm_clock_mhz = Reading::Seen { min: 1000.0, median: 1000.0, max: 1000.0 };
    }
    let figure = |(name, variant, at, value): &Given<'_>| Figure {
        name: (*name).to_owned(),
        variant: variant.map(str::to_owned),
        at: at.iter().map(|(axis, place)| ((*axis).to_owned(), place.clone())).collect::<At>(),
        unit: Unit::Nanoseconds,
        kind: Kind::Duration,
        median: None,
        samples: vec![Samples::Numbers(vec![*value; 10])],
        set_aside: Vec::new(),
    };
    record.figures = figures.iter().map(figure).collect();
    record
}

/// Launches of a thousand operations and a floor of 1,000 ns: an operation of 2 ns takes 3,000.
fn day27() -> Record {
    let place = |sweep: &str, addresses: u64, stride: u64, mapping: &str| {
        [
            ("sweep", Coordinate::from(sweep)),
            ("addresses", addresses.into()),
            ("stride", stride.into()),
            ("mapping", mapping.into()),
            ("size", 1_000.into()),
        ]
    };
    let one = place("operation", 1, 128, "random");
    let [packed, rows] = ["random", "contiguous"].map(|mapping| place("mapping", 256, 4, mapping));
    let padded = place("addresses", 256, 128, "random");
    made_up(
        "day27_address",
        &[
            ("time", Some("add_u32"), &one, 3_000.0),
            ("time", Some("add_u64"), &one, 3_000.0),
            ("time", Some("add_f32"), &one, 5_000.0),
            ("time", Some("add_u32"), &packed, 1_500.0),
            ("time", Some("add_u32"), &padded, 1_100.0),
            ("time", Some("add_u32"), &rows, 1_050.0),
        ],
    )
}

fn day31() -> Record {
    let floor = [("launches", Coordinate::from("single"))];
    let read = [("cache", Coordinate::from("cold")), ("size", (1 << 26).into())];
    let blocks = [("blocks", Coordinate::from(1 << 16))];
    let resident = [("resident", Coordinate::from(8)), ("size", 1_000.into())];
    made_up(
        "day31_placement",
        &[
            ("launch_floor", None, &floor, 1_000.0),
            ("read_time", None, &read, 1_000.0 + f64::from(1 << 28) / 1_000.0),
            ("turnover_time", None, &blocks, 1_000.0 + f64::from(1 << 16) / 10.0),
            ("round_trip", Some("global_u32"), &[], 500.0),
            ("sm_time", Some("shared_u32"), &resident, 2_000.0),
            ("sm_time", Some("shared_u64"), &resident, 2_000.0),
            ("sm_time", Some("shared_f32"), &resident, 11_000.0),
        ],
    )
}

/// What a sum of 65,536 elements takes: by the model 4 ns an add behind a floor of 1,000 ns and a trip of 500 cycles at 1 GHz.
fn day26(global_ns: f64) -> Record {
    let size = ("size", Coordinate::from(65_536));
    let alone = [size.clone()];
    let at = [size, ("cache", "cold".into()), ("launches", "single".into())];
    made_up(
        "day26_sum",
        &[
            ("global_atomics", Some("global_atomic"), &alone, 65_536.0),
            ("time", Some("global_atomic"), &at, global_ns),
            ("global_atomics", Some("vectorised"), &alone, 1.0),
            ("time", Some("vectorised"), &at, 2_000.0),
        ],
    )
}

fn predict(records: &[&Record]) -> Result<Vec<Prediction>, String> {
    let by_lab: BTreeMap<String, &Record> =
        records.iter().map(|record| (record.lab.clone(), *record)).collect();
    model::predictions(&by_lab)
}

const BY_THE_MODEL: f64 = 1_000.0 + 500.0 + 65_536.0 * 4.0;

#[test]
fn constants_are_times_past_the_floor_over_what_was_done() {
    let (day27, day31) = (day27(), day31());
    let records = [&day27, &day31].map(|record| (record.lab.clone(), record)).into();
    let constants = Constants::from_records(&records).unwrap();
    assert_eq!((constants.add_u32_ns, constants.add_f32_ns, constants.packed_ns), (2.0, 4.0, 0.5));
    assert_eq!((constants.shared_u32_ns, constants.shared_f32_ns), (1.0, 10.0));
    assert_eq!((constants.launch_floor_ns, constants.round_trip_ns), (1_000.0, 500.0));
    assert!((constants.read_ns_a_byte - 0.001).abs() < 1e-12 && (constants.block_ns - 0.1).abs() < 1e-12);
}

#[test]
fn a_queue_is_predicted_and_what_is_no_queue_is_not_counted() {
    let all = predict(&[&day27(), &day31(), &day26(BY_THE_MODEL)]).unwrap();
    let [global, vectorised] = &all[..] else { unreachable!("{} predictions", all.len()) };
    assert_eq!((global.bound, global.predicted_ns, global.ratio()), ("one address", BY_THE_MODEL, 1.0));
    assert!(global.counts() && global.hits());
    assert_eq!(vectorised.bound, "reading");
    assert!(!vectorised.counts());
}

#[test]
fn a_time_that_the_model_does_not_have_is_a_miss() {
    for (measured, hits) in [(0.75, false), (0.85, true), (1.3, true), (1.4, false)] {
        let all = predict(&[&day27(), &day31(), &day26(measured * BY_THE_MODEL)]).unwrap();
        assert_eq!(all[0].hits(), hits, "{measured}");
    }
}

#[test]
fn a_missing_constant_is_named_with_its_lab() {
    assert!(predict(&[&day27(), &day26(1.0)]).unwrap_err().contains("day31_placement"));
    let mut cut = day27();
    cut.figures.retain(|figure| figure.variant.as_deref() != Some("add_f32"));
    let told = predict(&[&cut, &day31(), &day26(1.0)]).unwrap_err();
    assert!(told.contains("`time` of day27_address"), "{told}");
}
