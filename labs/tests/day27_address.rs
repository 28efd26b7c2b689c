//! Day 27: right in every sweep at odd shapes, refused where it was spoiled, and nothing of it folded.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::path::Path;

use labs::backend::Image;
use labs::backend::sim::Sim;
use labs::code::{self, Code};
use labs::failure::{self, Kind};
use labs::lab::{self, Lab};
use labs::session::{self, Job, Report};
use labs::toolchain::disassembly::{Disassembler, Function};
use labs::toolchain::nvrtc::{Header, Nvrtc, Program, Target};
use labs::toolchain::{Architecture, Missing};
use labs_record::Coordinate;
use labs_record::figure::Samples;
use labs_record::record::Check;

use labs_simt::{Folding, Module, Options, Order, predict};

/// What is sent as it was asked for, with the machine instruction that is timed.
const SENT: [(&str, &str); 5] = [
    ("add_u32", "RED"),
    ("max_u32", "RED"),
    ("exchange_u32", "ATOMG"),
    ("add_u64", "RED"),
    ("add_f32", "RED"),
];

fn address() -> &'static dyn Lab {
    lab::find("day27").unwrap()
}

fn job(places: &[(&str, &[u64])], variants: &[&str]) -> Job {
    let numbers = |numbers: &[u64]| numbers.iter().map(|n| Coordinate::Number(*n)).collect::<Vec<_>>();
    let mut all: BTreeMap<String, Vec<Coordinate>> =
        places.iter().map(|(axis, places)| ((*axis).to_owned(), numbers(places))).collect();
    let sweeps = ["addresses", "mapping", "spread", "operation"];
    all.insert("sweep".to_owned(), sweeps.map(Coordinate::from).to_vec());
    Job {
        lab: address().stem().to_owned(),
        variants: variants.iter().map(|name| (*name).to_owned()).collect(),
        places: all,
        samples: None,
        seed: 3,
        kernel: None,
        pinned: false,
        only_check: false,
    }
}

fn try_run(job: &Job, code: Code, order: Order) -> anyhow::Result<Report> {
    let mut sim = Sim::new(Options { order, seed: 5, ..Options::default() }, false);
    session::run(job, address(), &mut sim, code, true, &mut |_| {})
}

fn own_code() -> Code {
    code::for_simulator(address(), None, 90).unwrap()
}

/// The lab's own PTX, one kernel's text changed.
fn spoiled(kernel: &str, from: &str, to: &str) -> Code {
    let mut code = own_code();
    for image in &mut code.images {
        let Image::Ptx(text) = image else { panic!("the simulator runs PTX") };
        let begin = text.find(&format!(".entry {kernel}(")).unwrap();
        let (before, kernel) = text.split_at(begin);
        let end = kernel.find("\n}\n").unwrap();
        let (kernel, after) = kernel.split_at(end);
        assert!(kernel.contains(from), "the PTX no longer holds `{from}`");
        *text = format!("{before}{}{after}", kernel.replace(from, to));
    }
    code
}

fn refusals(report: &Report) -> Vec<(&str, &str)> {
    let checks = report.findings.checks.iter().filter(|(_, check, _)| *check == Check::Refused);
    checks.map(|(name, _, reason)| (name.as_str(), reason.as_deref().unwrap_or_default())).collect()
}

const ODD: [(&str, &[u64]); 4] = [
    ("addresses", &[1, 7, 33, 1_500]),
    ("size", &[0, 1, 31, 257, 5_003]),
    ("blocks", &[1, 3]),
    ("stride", &[8, 40]),
];

#[test]
fn every_sweep_is_right_at_odd_shapes_under_any_schedule() {
    for order in [Order::Fair, Order::Shuffled, Order::Adversarial] {
        let report = try_run(&job(&ODD, &[]), own_code(), order).unwrap();
        assert_eq!(refusals(&report), [], "{order:?}");
        assert_eq!(report.findings.checks.len(), address().variants().len());
    }
}

#[test]
fn every_variant_runs_in_a_sweep_where_it_is_asked_for() {
    let report = try_run(&job(&ODD, &["add_f32", "exchange_u32"]), own_code(), Order::Fair).unwrap();
    let in_mapping = report.findings.counts.iter().filter(|(_, at, _)| at["sweep"] == "mapping".into());
    let names: std::collections::BTreeSet<&str> = in_mapping.map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["add_f32", "exchange_u32"].into());
}

#[test]
fn the_declared_queues_are_those_that_the_simulator_counts() {
    let report = try_run(&job(&ODD, &[]), own_code(), Order::Fair).unwrap();
    let mut compared = 0;
    let queues = ["longest_queue", "sector_queue"];
    for figure in report.findings.figures.iter().filter(|figure| queues.contains(&figure.name.as_str())) {
        let variant = figure.variant.as_deref().unwrap();
        let here = |(name, at, _): &&(String, _, _)| name == variant && *at == figure.at;
        let counts = report.findings.counts.iter().find(here).unwrap().2;
        let Samples::Numbers(numbers) = &figure.samples[0] else { panic!("a count is a number") };
        // The simulator tells what is left of a queue after folding, the lab what is asked.
        let folded = variant == "uniform_add" && figure.name == "longest_queue";
        let counted =
            if figure.name == "sector_queue" { counts.global_sector_queue } else { counts.global_queue };
        assert!(numbers[0] == counted as f64 || folded, "{}: {counted}", figure.describe());
        assert_eq!(figure.at["size"], Coordinate::Number(counts.global_atomics), "{}", figure.describe());
        if variant != "uniform_add" {
            assert_eq!(counts.global_after_folding, counts.global_atomics, "{}", figure.describe());
        }
        compared += 1;
    }
    assert_eq!(compared, 2 * report.findings.counts.len());
}

#[test]
fn each_check_refuses_a_spoiled_kernel_and_names_the_first_wrong_counter() {
    let places: [(&str, &[u64]); 3] = [("addresses", &[7]), ("size", &[5_003]), ("blocks", &[3])];
    for (kernel, from, to, told) in [
        ("add_u32", ", 1;", ", 2;", "at size 5003 counter 0 of 7, 4 bytes apart, holds"),
        ("add_u64", ", 1;", ", 3;", "counter 0 of 7"),
        ("add_f32", "0f3F800000", "0f40000000", "counter 0 of 7"),
        ("max_u32", "max.u32", "min.u32", "the largest value offered"),
        ("exchange_u32", "exch.b32", "add.u32", "which nobody put there"),
        ("exchange_u32", "st.global.u64", "// st.global.u64", "was put in, and"),
    ] {
        let report = try_run(&job(&places, &[kernel]), spoiled(kernel, from, to), Order::Fair).unwrap();
        let refused = refusals(&report);
        assert!(matches!(refused[..], [(name, why)] if name == kernel && why.contains(told)), "{refused:?}");
    }
}

#[test]
fn places_that_no_launch_can_have_are_refused_with_what_to_choose() {
    for (axis, place, variant, told) in [
        ("addresses", 0, "add_u32", "at least 1"),
        ("blocks", 0, "add_u32", "at least 1"),
        ("stride", 6, "add_u32", "a multiple of 4"),
        ("stride", 4, "add_u64", "a multiple of 8"),
        ("size", 20_000_000, "add_f32", "a smaller --size"),
    ] {
        let mut places = vec![("addresses", &[1_u64][..]), ("blocks", &[1]), ("size", &[64])];
        let one = [place];
        places.retain(|(name, _)| *name != axis);
        places.push((axis, &one));
        let error = try_run(&job(&places, &[variant]), own_code(), Order::Fair).unwrap_err();
        assert_eq!(failure::kind_of(&error), Kind::Usage, "{error:#}");
        assert!(format!("{error:#}").contains(told), "{error:#}");
    }
}

#[test]
fn nothing_but_the_plain_counter_is_predicted_to_be_folded() {
    let module = Module::parse(address().shipped().ptx[0].1).unwrap();
    for sm in [75, 80, 90] {
        let folding = |kernel| predict(&module, kernel, sm).unwrap()[0].folding;
        assert_eq!(folding("uniform_add"), Folding::Warp, "sm_{sm}");
        for (kernel, _) in SENT {
            assert_eq!(folding(kernel), Folding::None, "sm_{sm} {kernel}");
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The tool, or a loud skip.
fn found<T>(tool: Result<T, Missing>) -> Option<T> {
    match tool {
        Ok(tool) => Some(tool),
        Err(missing) if std::env::var_os("HOT_ADDRESSES_REQUIRE_TOOLCHAIN").is_some() => panic!("{missing}"),
        Err(missing) => {
            eprintln!("SKIPPED, not passed: {missing}");
            None
        }
    }
}

/// Instructions that fold a warp's operations. A vote alone also serves to bring lanes back together.
fn folds(function: &Function) -> bool {
    let folding = ["REDUX", "UREDUX", "CREDUX", "POPC", "UPOPC", "MATCH", "SHFL"];
    function.instructions.iter().any(|instruction| folding.contains(&instruction.mnemonic()))
}

#[test]
fn machine_code_sends_one_operation_a_lane_and_folds_the_plain_counter_only() {
    let Some(nvrtc) = found(Nvrtc::find(Some(root()))) else { return };
    let Some(disassembler) = found(Disassembler::find(Some(root()))) else { return };
    let common = code::common(Some(root())).unwrap();
    let headers = [Header { name: "common.cuh", source: &common }];
    let source = address().shipped().source;
    let program = Program { name: "kernels/day27_address.cu", source, headers: &headers };
    for architecture in [75, 80, 90, 100, 120] {
        let cubin = nvrtc.compile(&program, Target::Cubin(Architecture(architecture))).unwrap().image;
        let functions = disassembler.functions(&cubin).unwrap();
        let function = |name: &str| functions.iter().find(|function| function.name == name).unwrap();
        assert!(folds(function("uniform_add")), "sm_{architecture}");
        for (kernel, instruction) in SENT {
            let function = function(kernel);
            assert!(!folds(function), "sm_{architecture} {kernel}");
            let atomics: Vec<_> = function.atomics().collect();
            let [atomic] = atomics[..] else { panic!("sm_{architecture} {kernel}: {atomics:?}") };
            assert!(atomic.mnemonic().starts_with(instruction), "sm_{architecture} {kernel}: {atomic:?}");
            assert_eq!(atomic.predicate, None, "sm_{architecture} {kernel}: every lane sends");
        }
    }
}
