//! Day 30 on the simulator: sums whose order is open differ from schedule to schedule, sums whose order is fixed or
//! does not matter never do, and a kernel that loses that is refused. Needs no GPU and no compiler.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use labs::backend::sim::Sim;
use labs::backend::{Argument, Backend, Image, Launch, Step};
use labs::code::{self, Code};
use labs::lab::{self, Lab};
use labs::session::{self, Job, Report};
use labs_record::Coordinate;
use labs_record::figure::{Figure, Samples};
use labs_record::record::Check;
use labs_simt::{Options, Order};

const OPEN: [&str; 5] = ["global_atomic", "shared_privatised", "block_tree", "grid_stride", "compensated"];
const FIXED: [&str; 2] = ["two_pass", "fixed_point"];

fn day30() -> &'static dyn Lab {
    lab::find("day30").unwrap()
}

fn shipped() -> Code {
    code::for_simulator(day30(), None, 90).unwrap()
}

/// The lab's PTX with one text replaced.
fn spoiled(from: &str, to: &str) -> Code {
    let mut code = shipped();
    for image in &mut code.images {
        let Image::Ptx(text) = image else { panic!("the simulator runs PTX") };
        assert!(text.contains(from), "the PTX no longer holds `{from}`");
        *text = text.replace(from, to);
    }
    code
}

fn run(code: Code, sizes: &[u64], runs: u64, options: Options) -> Report {
    let places = BTreeMap::from([
        ("size".to_owned(), sizes.iter().map(|n| Coordinate::Number(*n)).collect()),
        ("runs".to_owned(), vec![Coordinate::Number(runs)]),
    ]);
    let job = Job {
        lab: day30().stem().to_owned(),
        variants: Vec::new(),
        places,
        samples: None,
        seed: 30,
        kernel: None,
        pinned: false,
        only_check: false,
    };
    session::run(&job, day30(), &mut Sim::new(options, false), code, true, &mut |_| {}).unwrap()
}

fn refused(report: &Report) -> Vec<&str> {
    let checks = report.findings.checks.iter();
    checks.filter(|(_, check, _)| *check == Check::Refused).map(|(name, ..)| name.as_str()).collect()
}

fn numbers(figure: &Figure) -> &[f64] {
    let Samples::Numbers(numbers) = &figure.samples[0] else { panic!("{} is no number", figure.describe()) };
    numbers
}

fn figures<'a>(report: &'a Report, name: &'a str, variant: &'a str) -> impl Iterator<Item = &'a Figure> {
    let all = report.findings.figures.iter();
    all.filter(move |figure| figure.name == name && figure.variant.as_deref() == Some(variant))
}

#[test]
fn sums_are_right_at_any_size_under_any_schedule() {
    let sizes = [0, 1, 3, 31, 33, 255, 256, 257, 1_000, 1_027, 4_097, 8_193];
    for order in [Order::Fair, Order::Shuffled, Order::Adversarial] {
        let report = run(shipped(), &sizes, 2, Options { order, seed: 5, ..Options::default() });
        assert_eq!(refused(&report), Vec::<&str>::new(), "{:?}", report.findings.checks);
    }
}

#[test]
fn the_lab_counts_the_global_atomics_that_the_simulator_counts() {
    let report = run(shipped(), &[0, 1, 257, 1_025, 20_011], 1, Options::default());
    let mut compared = 0;
    for (variant, at, counts) in &report.findings.counts {
        let figure = figures(&report, "global_atomics", variant).find(|figure| figure.at == *at).unwrap();
        assert_eq!(numbers(figure), [counts.global_atomics as f64], "{}", figure.describe());
        compared += 1;
    }
    assert_eq!(compared, 5 * day30().variants().len());
}

#[test]
fn an_open_order_gives_several_totals_and_a_fixed_one_gives_one() {
    let report = run(shipped(), &[20_011], 20, Options::default());
    let distinct = |variant| numbers(figures(&report, "distinct_totals", variant).next().unwrap())[0];
    for variant in OPEN {
        assert!(distinct(variant) >= 2.0, "{variant}: {}", distinct(variant));
    }
    for variant in FIXED {
        assert_eq!(distinct(variant), 1.0, "{variant}");
    }
    for variant in day30().variants() {
        let distances = numbers(figures(&report, "ulp_distance", variant.name).next().unwrap());
        let spread = numbers(figures(&report, "ulp_spread", variant.name).next().unwrap())[0];
        let low = distances.iter().copied().fold(f64::INFINITY, f64::min);
        let high = distances.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert_eq!((distances.len(), spread), (20, high - low), "{}", variant.name);
    }
}

/// `fixed_point` rounds each element once and nothing else: its total is the sum, correctly rounded.
#[test]
fn integers_lose_nothing() {
    let report = run(shipped(), &[1_003, 20_011], 3, Options::default());
    for figure in figures(&report, "ulp_distance", "fixed_point") {
        assert!(numbers(figure).iter().all(|ulps| *ulps == 0.0), "{}", figure.describe());
    }
}

#[test]
fn totals_that_are_not_the_hosts_bits_are_refused() {
    // Half the units: off by no more than rounding could explain in another variant, and not the integer.
    let coarser = spoiled("0f4F800000", "0f4F7FFFFF");
    let report = run(coarser, &[1_003], 1, Options::default());
    assert_eq!(refused(&report), ["fixed_point"]);
    let reason = report.findings.checks.iter().find_map(|(_, _, reason)| reason.clone()).unwrap();
    assert!(reason.starts_with("at size 1003 the total"), "{reason}");
    // Sums rounded towards zero: small errors, and other bits.
    let towards_zero = spoiled("\tadd.f32", "\tadd.rz.f32");
    let report = run(towards_zero, &[1_003], 1, Options::default());
    assert!(refused(&report).contains(&"two_pass"), "{:?}", report.findings.checks);
}

/// Integers do not show the grid either; floats in a fixed order do.
#[test]
fn the_same_integer_from_any_grid() {
    let mut sim = Sim::new(Options::default(), false);
    for image in &shipped().images {
        sim.load(image).unwrap();
    }
    let n = 5_003_u64;
    let mut random = fastrand::Rng::with_seed(7);
    let values: Vec<u8> = (0..n).flat_map(|_| random.f32().to_le_bytes()).collect();
    let (input, total) = (sim.allocate(n * 4).unwrap(), sim.allocate(8).unwrap());
    sim.write(input, &values).unwrap();
    let mut totals = |kernel: &str, grid: u32| {
        let arguments = vec![Argument::Buffer(input), Argument::Buffer(total), Argument::U64(n)];
        let launch = Launch::new(kernel, grid, 256, arguments);
        sim.run(&[Step::Zero(total), Step::Launch(launch)]).unwrap();
        let mut bytes = [0; 8];
        sim.read(total, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    };
    let integer = totals("fixed_point", 1);
    assert!((2..=20).all(|grid| totals("fixed_point", grid) == integer));
    let float = totals("grid_stride", 1);
    assert!((2..=20).any(|grid| totals("grid_stride", grid) != float), "the order depends on the grid");
}
