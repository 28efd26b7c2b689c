//! How samples are taken: warm-ups left out, each checked, as many as it takes, and nothing of what is wrong.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::cell::Cell;

use labs::backend::{Backend, Buffer, Step};
use labs::lab::{self, Case, Variant};
use labs::measure::{Bench, Cache, Findings, Work};
use labs_record::figure::{At, Coordinate, Figure, Kind, Samples};
use labs_record::record::{Check, Outcome};
use labs_record::rules::SAMPLES;

mod clock;
use clock::{Clock, FLUSH};

const RESET: Step = Step::Zero(Buffer { address: 4096, bytes: 4 });
const WARM_UPS: usize = 3;
/// Samples a case takes at most.
const MOST: usize = 100;

fn case(declared: Outcome) -> Case {
    let variant = Variant { declared, ..lab::registry()[0].variants()[0] };
    Case { variant: Some(variant), at: At::from([("size".to_owned(), 4096.into())]) }
}

fn numbers(figure: &Figure) -> &[f64] {
    match &figure.samples[..] {
        [Samples::Numbers(numbers)] => numbers,
        other => panic!("a session's figure has one list of numbers: {other:?}"),
    }
}

/// Measures `time` once on a clock, after what `prepare` does to the bench; the check refuses the sample of this number.
fn measured(
    clock: &mut Clock,
    case: &Case,
    refused: u32,
    (cache, launches): (Cache, u32),
    prepare: impl FnOnce(&mut Bench<'_>),
) -> Findings {
    let checked = Cell::new(0);
    let check = |_: &mut dyn Backend| {
        checked.set(checked.get() + 1);
        Ok(if checked.get() == refused { Err("wrong".to_owned()) } else { Ok(()) })
    };
    let work = Work { reset: vec![RESET], timed: Vec::new(), check: &check };
    let mut alive = || {};
    let mut bench = Bench::new(clock, 1, 4096, &mut alive);
    prepare(&mut bench);
    let at = [("cache", cache.place())];
    bench.durations("time", case, &at, cache, &work, launches).unwrap();
    bench.finish()
}

#[test]
fn a_duration_has_samples_enough_and_no_warm_up() {
    let mut clock = Clock::new();
    let findings = measured(&mut clock, &case(Outcome::Correct), 0, (Cache::Hot, 1), |_| ());
    let [figure] = &findings.figures[..] else { panic!("{:?}", findings.figures) };
    assert_eq!((figure.name.as_str(), figure.kind), ("time", Kind::Duration));
    assert_eq!(figure.at.get("cache"), Some(&Coordinate::from("hot")));
    assert_eq!(figure.at.get("size"), Some(&4096.into()));
    let samples = numbers(figure);
    assert_eq!(samples[0], (WARM_UPS + 1) as f64 * 1000.0, "the warm-ups are left out");
    assert!((SAMPLES..=MOST).contains(&samples.len()), "{}", samples.len());
    assert_eq!(clock.runs as usize, WARM_UPS + samples.len());
    assert_eq!(clock.before, [RESET], "the target is reset before each sample");
}

#[test]
fn the_time_of_a_batch_is_that_of_one_launch() {
    let findings = measured(&mut Clock::new(), &case(Outcome::Correct), 0, (Cache::Hot, 8), |_| ());
    assert_eq!(numbers(&findings.figures[0])[0], 500.0);
}

#[test]
fn the_cache_is_emptied_before_the_targets_are_reset() {
    let mut clock = Clock::new();
    let findings = measured(&mut clock, &case(Outcome::Correct), 0, (Cache::Cold, 1), |_| ());
    assert_eq!(clock.before, [FLUSH, RESET]);
    assert_eq!(findings.figures[0].at.get("cache"), Some(&Coordinate::from("cold")));
}

#[test]
fn the_command_line_can_ask_for_fewer_samples() {
    let few = |bench: &mut Bench<'_>| bench.samples = Some(2);
    let findings = measured(&mut Clock::new(), &case(Outcome::Correct), 0, (Cache::Hot, 1), few);
    assert_eq!(numbers(&findings.figures[0]), [4000.0, 5000.0]);
}

/// Ten samples at a time are kept or set aside.
#[test]
fn samples_of_a_slowed_device_are_set_aside_and_counted() {
    let slowed = |readings: &[bool]| {
        let mut clock = Clock::new();
        clock.slowed = readings.to_vec();
        let findings = measured(&mut clock, &case(Outcome::Correct), 0, (Cache::Hot, 1), |_| ());
        let [figure] = &findings.figures[..] else { panic!("{:?}", findings.figures) };
        let aside: Vec<_> = figure.set_aside.iter().map(|aside| (aside.count, &*aside.reason)).collect();
        assert_eq!(aside, [(readings.iter().filter(|slow| **slow).count() as u64 * 10, "hot")]);
        numbers(figure).to_vec()
    };
    let kept = slowed(&[true, false, true]);
    assert_eq!(kept[..2], [14_000.0, 15_000.0], "the first ten were slow");
    assert_eq!(kept[10], 34_000.0, "and the third ten");
    // A device that stays slow is given up, and nothing of what it did is kept.
    assert!(slowed(&[true; 4]).is_empty());
    assert_eq!(slowed(&[true, true, false, true, true]).len(), SAMPLES);
}

#[test]
fn a_wrong_result_at_any_time_leaves_no_figure() {
    for refused in [1, 4, 12] {
        let mut clock = Clock::new();
        let findings = measured(&mut clock, &case(Outcome::Correct), refused, (Cache::Hot, 1), |_| ());
        assert!(findings.figures.is_empty(), "{:?}", findings.figures);
        assert_eq!((findings.checks[0].1, findings.checks[0].2.as_deref()), (Check::Refused, Some("wrong")));
        assert_eq!(clock.runs, refused, "it stops at the first wrong result");
    }
}

#[test]
fn what_is_refused_declared_wrong_or_only_checked_is_not_timed() {
    let correct = case(Outcome::Correct);
    let refuse = |bench: &mut Bench<'_>| {
        bench.enter_check(&correct.variant.unwrap(), Err("first".to_owned()));
        bench.enter_check(&correct.variant.unwrap(), Ok(()));
    };
    let mut clock = Clock::new();
    let findings = measured(&mut clock, &correct, 0, (Cache::Hot, 1), refuse);
    assert!(findings.figures.is_empty() && clock.runs == 0);
    assert_eq!(findings.checks[0].2.as_deref(), Some("first"), "a refusal stays, whatever comes after");

    let findings = measured(&mut clock, &case(Outcome::Wrong), 0, (Cache::Hot, 1), |_| ());
    assert!(findings.figures.is_empty() && clock.runs == 0);
    let findings = measured(&mut clock, &correct, 0, (Cache::Hot, 1), |bench| bench.only_check());
    assert!(findings.figures.is_empty() && clock.runs == 0);
}

/// A batch takes 200 microseconds, and never fewer than 4 or more than 64 launches.
#[test]
fn batches_are_as_long_as_the_rules_say() {
    for (ns, launches) in [(1.0, 64), (10_000.0, 20), (30_000.0, 7), (1e9, 4)] {
        let mut clock = Clock::new();
        let mut alive = || {};
        let mut bench = Bench::new(&mut clock, 1, 4096, &mut alive);
        let case = case(Outcome::Correct);
        assert_eq!(bench.batch("time", &case), 4, "of what was never timed");
        bench.spread("time", &case, &[], labs_record::Unit::Nanoseconds, vec![ns]);
        assert_eq!(bench.batch("time", &case), launches, "{ns} ns");
    }
}
