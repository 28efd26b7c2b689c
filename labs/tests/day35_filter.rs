//! day35: right at odd sizes under any schedule, adds as the simulator counts them, the folding that its variants are
//! named for, and its two modes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use labs::backend::{Image, sim::Sim};
use labs::cli::{self, Request};
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

const SIZES: [u64; 9] = [0, 1, 31, 33, 255, 256, 257, 1_000, 20_001];

fn filter() -> &'static dyn Lab {
    lab::find("day35").unwrap()
}

fn run(sizes: &[u64], thresholds: &[u64], code: Code, options: Options) -> Report {
    let numbers = |numbers: &[u64]| numbers.iter().map(|number| Coordinate::Number(*number)).collect();
    let job = Job {
        lab: filter().stem().to_owned(),
        variants: Vec::new(),
        places: BTreeMap::from([
            ("size".to_owned(), numbers(sizes)),
            ("threshold".to_owned(), numbers(thresholds)),
        ]),
        samples: None,
        seed: 3,
        kernel: None,
        pinned: false,
        only_check: false,
    };
    let mut sim = Sim::new(options, false);
    session::run(&job, filter(), &mut sim, code, true, &mut |_| {}).unwrap()
}

fn own_code() -> Code {
    code::for_simulator(filter(), None, 90).unwrap()
}

fn number(figure: &Figure) -> u64 {
    let Samples::Numbers(numbers) = &figure.samples[0] else { panic!("a count is a number") };
    numbers[0] as u64
}

#[test]
fn counts_are_right_at_any_size_and_hit_rate() {
    for order in [Order::Fair, Order::Shuffled, Order::Adversarial] {
        let options = Options { order, seed: 5, ..Options::default() };
        let report = run(&SIZES, &[0, 1, 50, 999, 1000], own_code(), options);
        assert_eq!(report.findings.checks.len(), filter().variants().len());
        for (name, check, reason) in &report.findings.checks {
            assert_eq!(*check, Check::Passed, "{name}: {reason:?}");
        }
    }
}

#[test]
fn queued_adds_are_those_the_simulator_counts_after_folding() {
    let thresholds = [0, 50, 250, 1000];
    let report = run(&SIZES, &thresholds, own_code(), Options::default());
    let declared = report.findings.figures.iter().filter(|figure| figure.name == "queued_adds");
    let mut compared = 0;
    for figure in declared {
        let variant = figure.variant.clone().unwrap();
        let counted =
            report.findings.counts.iter().find(|(name, at, _)| *name == variant && *at == figure.at);
        let counts = counted.unwrap().2;
        assert_eq!(number(figure), counts.global_after_folding, "{}", figure.describe());
        assert_eq!(number(figure), counts.global_queue, "one address: {}", figure.describe());
        compared += 1;
    }
    assert_eq!(compared, SIZES.len() * thresholds.len() * 2 * filter().variants().len());
}

#[test]
fn a_lost_hit_is_refused_and_the_counter_is_on_record() {
    let mut code = own_code();
    for image in &mut code.images {
        let Image::Ptx(text) = image else { panic!("the simulator runs PTX") };
        let spoiled = text.replace("atom.shared.add.u64", "atom.shared.max.u64");
        // The baseline's kernels have no shared memory.
        assert!(*text != spoiled || !text.contains("entry smem("), "the PTX no longer adds in shared memory");
        *text = spoiled;
    }
    let report = run(&[1_000], &[500], code, Options::default());
    for (name, check, reason) in &report.findings.checks {
        let wrong = ["smem", "agg_smem"].contains(&name.as_str());
        assert_eq!(*check == Check::Refused, wrong, "{name}: {reason:?}");
        if wrong {
            let reason = reason.as_ref().unwrap();
            assert!(
                reason.starts_with("at threshold 500, ") && reason.ends_with("host counts 500"),
                "{reason}"
            );
        }
    }
    let counted = |variant: &str| {
        let figures = report.findings.figures.iter();
        figures
            .filter(|f| f.name == "counted" && f.variant.as_deref() == Some(variant))
            .map(number)
            .collect::<Vec<_>>()
    };
    assert!(counted("smem").iter().all(|hits| *hits < 500), "{:?}", counted("smem"));
    assert_eq!(counted("smem32"), [500, 500]);
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
    let program =
        Program { name: "kernels/day35_filter.cu", source: filter().shipped().source, headers: &headers };
    let compiled = nvrtc.compile(&program, Target::Cubin(Architecture(architecture))).unwrap();
    Some(disassembler.functions(&compiled.image).unwrap())
}

#[test]
fn the_machine_code_folds_where_the_names_say() {
    for architecture in [75, 80, 90, 120] {
        let Some(functions) = machine_code(architecture) else { return };
        let of = |kernel: &str| functions.iter().find(|function| function.name == kernel).unwrap();
        let folds = |kernel: &str| of(kernel).evidence().any(|i| i.role() == Some(Role::Folding));
        let atomics = |kernel: &str| of(kernel).atomics().map(|i| i.text.clone()).collect::<Vec<_>>();
        // One lane sends the warp's hits.
        assert!(folds("naive"), "sm_{architecture}");
        let naive = atomics("naive");
        assert!(naive.len() == 1 && naive[0].starts_with("@P0 RED"), "sm_{architecture}: {naive:?}");
        // Every lane sends its own.
        assert!(!folds("naive_unfolded"), "sm_{architecture}");
        let unfolded = atomics("naive_unfolded");
        assert!(unfolded.len() == 1 && unfolded[0].starts_with("RED"), "sm_{architecture}: {unfolded:?}");
        // 64 bits in shared memory are a loop, 32 are not.
        let swaps = |kernel: &str| atomics(kernel).iter().any(|text| text.contains("CAST.SPIN.64"));
        assert_eq!(["smem", "agg_smem", "smem32"].map(swaps), [true, true, false], "sm_{architecture}");
    }
}

fn parsed(arguments: &[&str]) -> Result<Vec<Coordinate>, String> {
    let arguments = ["labs"].iter().chain(arguments).map(OsString::from);
    match cli::parse(arguments) {
        Ok(Request::Run { places, .. }) => Ok(places.get("threshold").cloned().unwrap_or_default()),
        Ok(Request::Other(_)) => Err("not a lab".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn modes_are_names_for_places() {
    let numbers = |numbers: &[u64]| numbers.iter().map(|n| Coordinate::Number(*n)).collect::<Vec<_>>();
    assert_eq!(parsed(&["day35", "--mode", "modes"]).unwrap(), numbers(&[1000]));
    let sweep = parsed(&["day35", "--mode", "sweep"]).unwrap();
    assert_eq!(sweep, numbers(&[0, 50, 125, 250, 500, 1000]));
    let threshold = filter().axes().into_iter().find(|axis| axis.name == "threshold").unwrap();
    assert_eq!(sweep, threshold.defaults, "the sweep is what is measured");
    assert!(
        parsed(&["day35", "--mode", "sweep", "--threshold", "50"])
            .unwrap_err()
            .contains("cannot be used with")
    );
    assert!(parsed(&["day35", "--mode", "swept"]).unwrap_err().contains("sweep, modes"));
    assert!(parsed(&["day26", "--mode", "sweep"]).unwrap_err().contains("--mode"));
}
