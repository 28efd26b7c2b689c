//! Readings of runs that end by themselves: the fewest samples the rules ask for, each checked, none of a refused run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::cell::Cell;

use labs::backend::Backend;
use labs::lab::{self, Case};
use labs::measure::{Bench, Findings, Reading};
use labs_record::figure::{At, Kind, Samples, Unit};
use labs_record::record::Check;
use labs_record::rules::SAMPLES;

mod clock;
use clock::Clock;

const READINGS: [Reading; 2] = [
    Reading { name: "rate", unit: Unit::PerSecond, kind: Kind::Duration },
    Reading { name: "retries", unit: Unit::One, kind: Kind::Spread },
];

/// Readings of runs of which the one with this number is refused; and how many runs there were.
fn read(refused: u32) -> (Findings, u32) {
    let mut clock = Clock::new();
    let variant = lab::registry()[0].variants()[0];
    let case = Case { variant: Some(variant), at: At::new() };
    let run = Cell::new(0);
    let reader = |_: &mut dyn Backend, ns: f64| {
        run.set(run.get() + 1);
        Ok(if run.get() == refused { Err("lost".to_owned()) } else { Ok(vec![1e9 / ns, ns / 1000.0]) })
    };
    let mut alive = || {};
    let mut bench = Bench::new(&mut clock, 1, 0, &mut alive);
    bench.readings(&READINGS, &case, &[], &[], &reader).unwrap();
    let findings = bench.finish();
    (findings, clock.runs)
}

#[test]
fn a_run_gives_a_number_a_reading_after_the_warm_ups() {
    let (findings, runs) = read(0);
    let numbers = |place: usize| match &findings.figures[place].samples[0] {
        Samples::Numbers(numbers) => numbers.clone(),
        Samples::Tries { .. } => panic!("these are numbers"),
    };
    assert_eq!(numbers(1).len(), SAMPLES);
    assert_eq!(runs as usize, SAMPLES + 3);
    assert_eq!(numbers(1)[..2], [4.0, 5.0], "the warm-ups are not among them");
    assert_eq!(numbers(0)[0], 250_000.0);
    assert_eq!((findings.figures[1].name.as_str(), findings.figures[1].kind), ("retries", Kind::Spread));
}

#[test]
fn a_wrong_result_in_any_run_leaves_no_reading() {
    for refused in [1, 9] {
        let (findings, runs) = read(refused);
        assert!(findings.figures.is_empty());
        assert_eq!(runs, refused);
        assert_eq!(findings.checks[0].1, Check::Refused);
        assert_eq!(findings.checks[0].2.as_deref(), Some("lost"));
    }
}
