//! The histograms on the simulator: right at any size and alignment, counted as declared, refused where they were spoiled.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use labs::backend::Image;
use labs::backend::sim::Sim;
use labs::code::{self, Code};
use labs::lab::{self, Lab};
use labs::session::{self, Job, Report};
use labs_record::Coordinate;
use labs_record::figure::Samples;
use labs_record::record::Check;
use labs_simt::{Options, Order};

fn histogram() -> &'static dyn Lab {
    lab::find("day29").unwrap()
}

fn job(sizes: &[u64], inputs: &[&str]) -> Job {
    let sizes = sizes.iter().map(|n| Coordinate::Number(*n)).collect();
    let inputs = inputs.iter().map(|input| Coordinate::from(*input)).collect();
    Job {
        lab: histogram().stem().to_owned(),
        variants: Vec::new(),
        places: BTreeMap::from([("size".to_owned(), sizes), ("input".to_owned(), inputs)]),
        samples: None,
        seed: 3,
        kernel: None,
        pinned: false,
        only_check: false,
    }
}

fn run(job: &Job, code: Code, options: Options) -> Report {
    let mut sim = Sim::new(options, false);
    session::run(job, histogram(), &mut sim, code, true, &mut |_| {}).unwrap()
}

fn own_code() -> Code {
    code::for_simulator(histogram(), None, 90).unwrap()
}

fn refused(report: &Report) -> Vec<&str> {
    let checks = report.findings.checks.iter();
    checks.filter(|(_, check, _)| *check == Check::Refused).map(|(name, ..)| name.as_str()).collect()
}

#[test]
fn every_bin_is_right_at_any_size() {
    // Each is counted from its first byte and, for another alignment, from its sixth.
    let sizes = [0, 1, 5, 6, 15, 16, 17, 20, 21, 31, 255, 256, 4_095, 8_197, 50_001];
    for order in [Order::Fair, Order::Shuffled, Order::Adversarial] {
        let report = run(
            &job(&sizes, &["uniform", "one"]),
            own_code(),
            Options { order, seed: 5, ..Options::default() },
        );
        assert_eq!(refused(&report), Vec::<&str>::new(), "{:?}", report.findings.checks);
    }
}

#[test]
fn the_lab_counts_the_global_atomics_that_the_simulator_counts() {
    let sizes = [0, 1, 257, 8_192, 70_001];
    let report = run(&job(&sizes, &["skewed"]), own_code(), Options::default());
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
    assert_eq!(compared, sizes.len() * histogram().variants().len());
}

#[test]
fn equal_bytes_are_one_add_where_they_are_merged() {
    let n = 16 * 8_192;
    let report = run(&job(&[n], &["one"]), own_code(), Options::default());
    let adds = |variant: &str| {
        report.findings.counts.iter().find(|(name, ..)| name == variant).unwrap().2.shared_atomics
    };
    assert_eq!(adds("wide_loads"), n);
    assert_eq!(adds("warp_aggregated"), n / 32);
    assert_eq!(adds("lane_columns"), n / 16);
    // One for the run, and one of 0 to begin with, but for the thread of each block that begins with the very byte.
    assert_eq!(adds("merged_runs"), n / 16 * 2 - n / 16 / 256);
}

/// The lab's own PTX with every byte that is loaded alone taken for a 7: in the wide kernels, the edges.
fn with_wrong_single_bytes() -> Code {
    let mut code = own_code();
    for image in &mut code.images {
        let Image::Ptx(text) = image else { panic!("the simulator runs PTX") };
        let lines = text.lines().map(|line| match line.trim_start().strip_prefix("ld.global.u8") {
            Some(rest) => format!("\tmov.u32 {}, 7;", rest.trim_start().split(',').next().unwrap()),
            None => line.to_owned(),
        });
        *text = lines.collect::<Vec<_>>().join("\n");
    }
    code
}

#[test]
fn a_wrong_bin_is_refused_and_named() {
    let report = run(&job(&[1_003], &["one"]), with_wrong_single_bytes(), Options::default());
    let all: Vec<&str> = histogram().variants().iter().map(|variant| variant.name).collect();
    assert_eq!(refused(&report), all);
    let reason = |name: &str| {
        let checks = report.findings.checks.iter();
        checks.filter(|(variant, ..)| variant == name).find_map(|(_, _, reason)| reason.clone()).unwrap()
    };
    assert_eq!(reason("global_atomic"), "at size 1003, input one, bin 7 holds 1003, the reference 0");
    assert_eq!(reason("lane_columns"), "at size 1003, input one, bin 7 holds 11, the reference 0");
}

#[test]
fn bytes_beyond_the_first_boundary_are_checked_too() {
    // A whole number of quads: only the shifted check has edges.
    let report = run(&job(&[1_024], &["one"]), with_wrong_single_bytes(), Options::default());
    assert!(refused(&report).contains(&"lane_columns"), "{:?}", report.findings.checks);
}

#[test]
fn races_are_found_where_a_barrier_was_taken_away() {
    let mut code = own_code();
    for image in &mut code.images {
        let Image::Ptx(text) = image else { panic!("the simulator runs PTX") };
        *text = text.replace("bar.sync", "// bar.sync");
    }
    let mut sim = Sim::new(Options { order: Order::Shuffled, seed: 2, ..Options::default() }, true);
    let mut job = job(&[1_000], &["uniform"]);
    job.variants = vec!["block_private".to_owned()];
    session::run(&job, histogram(), &mut sim, code, true, &mut |_| {}).unwrap();
    assert!(!sim.races().unwrap().races.is_empty());
}
