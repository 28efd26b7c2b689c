//! day34: right at odd sizes under any schedule, adds and queues as the simulator counts them, and the folding that its
//! variants are named for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::path::Path;

use labs::backend::{Image, sim::Sim};
use labs::code::{self, Code};
use labs::lab::{self, Lab};
use labs::session::{self, Job, Report};
use labs::toolchain::Architecture;
use labs::toolchain::disassembly::{Disassembler, Function, Role};
use labs::toolchain::nvrtc::{Header, Nvrtc, Program, Target};
use labs_record::Coordinate;
use labs_record::figure::{Figure, Samples};
use labs_record::record::Check;
use labs_simt::{Options, Order};

const SIZES: [u64; 9] = [0, 1, 16, 31, 33, 255, 257, 1_000, 5_001];

fn aggregation() -> &'static dyn Lab {
    lab::find("day34").unwrap()
}

fn run(sizes: &[u64], distinct: &[u64], code: Code, options: Options) -> anyhow::Result<Report> {
    let numbers = |numbers: &[u64]| numbers.iter().map(|number| Coordinate::Number(*number)).collect();
    let job = Job {
        lab: aggregation().stem().to_owned(),
        variants: Vec::new(),
        places: BTreeMap::from([
            ("size".to_owned(), numbers(sizes)),
            ("distinct".to_owned(), numbers(distinct)),
        ]),
        samples: None,
        seed: 3,
        kernel: None,
        pinned: false,
        only_check: false,
    };
    let mut sim = Sim::new(options, false);
    session::run(&job, aggregation(), &mut sim, code, true, &mut |_| {})
}

fn own_code() -> Code {
    code::for_simulator(aggregation(), None, 90).unwrap()
}

fn number(figure: &Figure) -> u64 {
    let Samples::Numbers(numbers) = &figure.samples[0] else { panic!("a count is a number") };
    numbers[0] as u64
}

#[test]
fn results_are_right_at_any_size_and_number_of_bins() {
    for order in [Order::Fair, Order::Shuffled, Order::Adversarial] {
        let options = Options { order, seed: 5, ..Options::default() };
        let report = run(&SIZES, &[1, 3, 32], own_code(), options).unwrap();
        assert_eq!(report.findings.checks.len(), aggregation().variants().len());
        for (name, check, reason) in &report.findings.checks {
            assert_eq!(*check, Check::Passed, "{name}: {reason:?}");
        }
    }
}

#[test]
fn adds_and_queues_are_those_the_simulator_counts() {
    let report = run(&SIZES, &[1, 5, 16, 32], own_code(), Options::default()).unwrap();
    let mut compared = BTreeMap::new();
    for figure in &report.findings.figures {
        let Some(variant) = figure.variant.clone() else { continue };
        let counted =
            report.findings.counts.iter().find(|(name, at, _)| *name == variant && *at == figure.at);
        let counts = counted.unwrap().2;
        let shared = variant.starts_with("shared");
        let counted = match (figure.name.as_str(), shared) {
            ("asked_adds", false) => counts.global_atomics,
            ("asked_adds", true) => counts.shared_atomics,
            ("sent_adds", false) => counts.global_after_folding,
            ("longest_queue", false) => counts.global_queue,
            ("longest_queue", true) => counts.shared_queue,
            other => panic!("{other:?} is no count of the simulator"),
        };
        assert_eq!(number(figure), counted, "{}", figure.describe());
        *compared.entry(figure.name.clone()).or_insert(0) += 1;
    }
    // 16 kernels with a counter; two in two tables and three in one, at four numbers of bins.
    let (counters, bins) = (SIZES.len() * 16, SIZES.len() * 7 * 4);
    assert_eq!(compared["sent_adds"], counters);
    assert_eq!(compared["asked_adds"], counters + bins);
    assert_eq!(compared["longest_queue"], counters + bins);
}

#[test]
fn a_lost_add_is_refused_and_named() {
    for (from, to, kernels, told) in [
        ("redux.sync.add.u32", "redux.sync.max.u32", &["redux"][..], "at size 1000 a counter is "),
        (
            "atom.shared.add.u32",
            "atom.shared.max.u32",
            &["shared_bins", "shared_step", "shared_match"],
            "at size 1000, 2 distinct, bin 0 of table 0 is ",
        ),
    ] {
        let mut code = own_code();
        let mut spoiled = 0;
        for image in &mut code.images {
            let Image::Ptx(text) = image else { panic!("the simulator runs PTX") };
            spoiled += text.matches(from).count();
            *text = text.replace(from, to);
        }
        assert!(spoiled > 0, "the PTX no longer holds `{from}`");
        let report = run(&[1_000], &[2], code, Options::default()).unwrap();
        for (name, check, reason) in &report.findings.checks {
            let wrong = kernels.contains(&name.as_str());
            assert_eq!(*check == Check::Refused, wrong, "{name}: {reason:?}");
            let reason = reason.clone().unwrap_or_default();
            assert!(!wrong || reason.starts_with(told), "{reason}");
        }
    }
}

#[test]
fn a_lane_names_a_bin() {
    let refused = run(&[1], &[0], own_code(), Options::default()).err().unwrap().to_string();
    assert!(refused.ends_with(": --distinct 0: a lane names a bin; choose 1 to 32"), "{refused}");
}

/// The kernels' machine code for an architecture; none, with a loud skip, without the tools.
fn machine_code(architecture: u32) -> Option<Vec<Function>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (nvrtc, disassembler) = match (Nvrtc::find(Some(root)), Disassembler::find(Some(root))) {
        (Ok(nvrtc), Ok(disassembler)) => (nvrtc, disassembler),
        (Err(missing), _) | (_, Err(missing)) => {
            assert!(std::env::var_os("HOT_ADDRESSES_REQUIRE_TOOLCHAIN").is_none(), "{missing}");
            eprintln!("SKIPPED, not passed: {missing}");
            return None;
        }
    };
    let common = code::common(Some(root)).unwrap();
    let headers = [Header { name: "common.cuh", source: &common }];
    let source = aggregation().shipped().source;
    let program = Program { name: "kernels/day34_aggregation.cu", source, headers: &headers };
    let compiled = nvrtc.compile(&program, Target::Cubin(Architecture(architecture))).unwrap();
    Some(disassembler.functions(&compiled.image).unwrap())
}

#[test]
fn the_machine_code_folds_where_the_names_say() {
    for architecture in [75, 80, 90, 120] {
        let Some(functions) = machine_code(architecture) else { return };
        let opcodes = |kernel: &str| {
            let function = functions.iter().find(|function| function.name == kernel).unwrap();
            function.instructions.iter().map(|i| i.opcode.clone()).collect::<Vec<_>>()
        };
        let atomics = |kernel: &str| {
            let function = functions.iter().find(|function| function.name == kernel).unwrap();
            let atomics = function.instructions.iter().filter(|i| i.role() == Some(Role::Atomic));
            atomics.map(|i| i.opcode.clone()).collect::<Vec<_>>()
        };
        let has = |kernel: &str, name: &str| opcodes(kernel).iter().any(|opcode| opcode.starts_with(name));
        let sends = |kernel: &str| atomics(kernel).iter().filter(|name| name.starts_with("RED")).count();
        // A folded add elects the lane that sends it.
        let elects = |kernel: &str| has(kernel, "VOTEU.ANY") && has(kernel, "UFLO");
        for (kernel, adds) in
            [("one", 1), ("one_loaded", 1), ("wide_one", 1), ("divergent", 1), ("two_branches", 2)]
        {
            assert!(
                elects(kernel) && sends(kernel) == adds,
                "sm_{architecture} {kernel}: {:?}",
                opcodes(kernel)
            );
        }
        // Without REDUX a full warp folds by shuffles, and any other sends an add a lane.
        let value = if architecture < 80 { (false, true, 2) } else { (true, false, 1) };
        let found = (has("value", "REDUX"), has("value", "SHFL"), sends("value"));
        assert_eq!(found, value, "sm_{architecture}");
        for kernel in [
            "one_unfolded",
            "value_unfolded",
            "wide_value",
            "float_value",
            "two_addresses",
            "divergent_unfolded",
            "plain_bins",
            "ballot",
            "wide_by_hand",
            "float_by_hand",
            "match_bins",
        ] {
            assert!(
                !elects(kernel) && sends(kernel) == 1,
                "sm_{architecture} {kernel}: {:?}",
                opcodes(kernel)
            );
        }
        if architecture >= 80 {
            assert!(has("redux", "REDUX") && !elects("redux") && sends("redux") == 1, "sm_{architecture}");
        }
        let by_hardware = has("shared_bins", "ATOMS.POPC.INC");
        assert_eq!(by_hardware, architecture >= 80, "sm_{architecture}");
        assert_eq!(atomics("shared_step"), ["ATOMS.ADD"], "sm_{architecture}");
        assert_eq!(atomics("shared_match"), ["ATOMS.ADD"], "sm_{architecture}");
        assert!(has("match_bins", "MATCH.ANY") && has("shared_match", "MATCH.ANY"), "sm_{architecture}");
    }
}
