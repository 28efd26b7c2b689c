//! Every variant of every lab on the simulator: right at small, odd and large sizes, and refused where it was spoiled.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use labs::backend::sim::Sim;
use labs::backend::{Argument, Backend as _, Launch, Step};
use labs::code::{self, Code};
use labs::lab::{self, Lab, Simulated};
use labs::session::{self, Job, Report};
use labs_record::Coordinate;
use labs_record::figure::Samples;
use labs_record::record::{Check, Outcome};
use labs_simt::{Options, Order};

fn job(lab: &dyn Lab, sizes: &[u64]) -> Job {
    let mut places = BTreeMap::new();
    if !sizes.is_empty() {
        places.insert("size".to_owned(), sizes.iter().map(|n| Coordinate::Number(*n)).collect());
    }
    Job {
        lab: lab.stem().to_owned(),
        variants: Vec::new(),
        places,
        samples: None,
        seed: 3,
        kernel: None,
        pinned: false,
        only_check: false,
    }
}

fn run(lab: &dyn Lab, job: &Job, code: Code, options: Options) -> Report {
    let mut sim = Sim::new(options, false);
    session::run(job, lab, &mut sim, code, true, &mut |_| {}).unwrap()
}

fn sum() -> &'static dyn Lab {
    lab::find("day26").unwrap()
}

/// The lab's own PTX with one text replaced, the way a slip of an edit would.
fn spoiled(from: &str, to: &str) -> Code {
    let mut code = code::for_simulator(sum(), None, 90).unwrap();
    for image in &mut code.images {
        let labs::backend::Image::Ptx(text) = image else { panic!("the simulator runs PTX") };
        assert!(text.contains(from), "the PTX no longer holds `{from}`");
        *text = text.replace(from, to);
    }
    code
}

fn refused(report: &Report) -> Vec<&str> {
    let checks = report.findings.checks.iter();
    checks.filter(|(_, check, _)| *check == Check::Refused).map(|(name, ..)| name.as_str()).collect()
}

#[test]
fn every_variant_is_what_it_declares_at_its_default_sizes() {
    for lab in lab::registry().iter().filter(|lab| lab.simulated() != Simulated::Nothing) {
        let job = job(*lab, &[]);
        let mut report = run(*lab, &job, code::for_simulator(*lab, None, 90).unwrap(), Options::default());
        labs::simulate::catch_undefined(*lab, &job, &mut report).unwrap();
        for variant in lab.variants().iter().filter(|variant| variant.needs <= 90) {
            let check = report.findings.checks.iter().find(|(name, ..)| name == variant.name);
            let (_, check, reason) =
                check.unwrap_or_else(|| panic!("{} {} did not run", lab.stem(), variant.name));
            let expected = if variant.declared == Outcome::Correct { Check::Passed } else { Check::Refused };
            assert_eq!(*check, expected, "{} {}: {reason:?}", lab.stem(), variant.name);
        }
    }
}

#[test]
fn sums_are_right_at_any_size() {
    let sizes = [0, 1, 3, 31, 32, 33, 255, 256, 257, 1_000, 4_097, 8_191, 8_193, 100_003];
    for order in [Order::Fair, Order::Shuffled, Order::Adversarial] {
        let options = Options { order, seed: 5, ..Options::default() };
        let report = run(sum(), &job(sum(), &sizes), code::for_simulator(sum(), None, 90).unwrap(), options);
        assert_eq!(refused(&report), Vec::<&str>::new(), "{:?}", report.findings.checks);
    }
}

#[test]
fn the_lab_counts_the_global_atomics_that_the_simulator_counts() {
    let sizes = [0, 1, 257, 8_192, 8_193, 300_000];
    let report =
        run(sum(), &job(sum(), &sizes), code::for_simulator(sum(), None, 90).unwrap(), Options::default());
    let declared = report.findings.figures.iter().filter(|figure| figure.name == "global_atomics");
    let mut compared = 0;
    for figure in declared {
        let variant = figure.variant.clone().unwrap();
        let counted =
            report.findings.counts.iter().find(|(name, at, _)| *name == variant && *at == figure.at);
        let Samples::Numbers(numbers) = &figure.samples[0] else { panic!("a count is a number") };
        assert_eq!(numbers[0], counted.unwrap().2.global_atomics as f64, "{}", figure.describe());
        compared += 1;
    }
    assert_eq!(compared, sizes.len() * sum().variants().len());
}

#[test]
fn a_kernel_edited_to_be_wrong_is_refused_and_the_first_wrong_value_named() {
    let code = spoiled("\tadd.f32", "\tsub.f32");
    let report = run(sum(), &job(sum(), &[1_000]), code, Options::default());
    let refused = refused(&report);
    assert!(refused.contains(&"block_tree"), "{refused:?}");
    let reasons: Vec<&String> =
        report.findings.checks.iter().filter_map(|(_, _, reason)| reason.as_ref()).collect();
    assert!(reasons.iter().all(|reason| reason.starts_with("at size 1000 the total is")), "{reasons:?}");
    let timed = report.findings.figures.iter().any(|figure| figure.name == "time");
    assert!(!timed, "what has not passed its check is not timed");
}

#[test]
fn races_are_found_where_a_barrier_was_taken_away() {
    let code = spoiled("bar.sync", "// bar.sync");
    let mut sim = Sim::new(Options { order: Order::Shuffled, seed: 2, ..Options::default() }, true);
    let mut job = job(sum(), &[1_000]);
    job.variants = vec!["block_tree".to_owned()];
    session::run(&job, sum(), &mut sim, code, true, &mut |_| {}).unwrap();
    assert!(!sim.races().unwrap().races.is_empty());
}

/// Float adds in another order round otherwise: what a schedule changes shows in the bits.
#[test]
fn schedules_are_drawn_by_number_and_taken_back() {
    let n = 2_003_u64;
    let mut sim = Sim::new(Options::default(), false);
    for image in &code::for_simulator(sum(), None, 90).unwrap().images {
        sim.load(image).unwrap();
    }
    let mut random = fastrand::Rng::with_seed(1);
    let values: Vec<u8> = (0..n).flat_map(|_| random.f32().to_le_bytes()).collect();
    let (input, total) = (sim.allocate(n * 4).unwrap(), sim.allocate(4).unwrap());
    sim.write(input, &values).unwrap();
    let mut under = |schedule: Option<u64>| {
        sim.schedule(schedule);
        let arguments = vec![Argument::Buffer(input), Argument::Buffer(total), Argument::U64(n)];
        let launch = Launch::new("global_atomic", n.div_ceil(256) as u32, 256, arguments);
        sim.run(&[Step::Zero(total), Step::Launch(launch)]).unwrap();
        let mut bytes = [0; 4];
        sim.read(total, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    };
    let first = under(None);
    let shuffled: Vec<u32> = (0..10).map(|number| under(Some(number))).collect();
    assert!(shuffled.iter().any(|bits| *bits != shuffled[0]), "{shuffled:?}");
    assert_eq!(under(Some(3)), shuffled[3], "a number stands for one schedule");
    assert_eq!(under(None), first);
}
