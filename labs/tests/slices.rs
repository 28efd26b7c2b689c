//! Counters of slices without a GPU: made-up ones, sound or spoiled.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use labs::backend::Backend as _;
use labs::backend::sim::Sim;
use labs_record::manifest::Manifest;
use labs_record::slices::{CountedLaunch, Input, Slices, counters};
use labs_record::{SCHEMA, store};
use labs_simt::Options;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn manifest() -> Manifest {
    store::read(&root().join("kernels/manifest.yaml"), "manifest").unwrap()
}

/// One launch of which one slice of 94 took every input.
fn slices() -> Slices {
    let manifest = manifest();
    let mut gpu = Sim::new(Options::default(), false).device().gpu.clone();
    gpu.name = "Made-up GPU".to_owned();
    let count = |name: &str| match name {
        "lts__cycles_elapsed.sum" => 93_700,
        "lts__d_atomic_input_cycles_active.min" => 0,
        name if name.starts_with("lts__t_requests_op_red.sum") => 1_536,
        name if name.contains("atom.") => 0,
        _ => 1_000,
    };
    let launch = CountedLaunch {
        lab: "day26_sum".to_owned(),
        variant: "global_atomic".to_owned(),
        kernel: "global_atomic".to_owned(),
        machine_code: manifest.code["day26_sum"]["sm_90"]["global_atomic"].clone(),
        protocol: manifest.labs["day26_sum"].protocol.clone(),
        at: [("size".to_owned(), 1_000.into())].into(),
        shape: (4, 256),
        counters: counters().map(|name| (name.to_owned(), count(name))).collect(),
    };
    let mut slices = Slices {
        schema: SCHEMA,
        gpu,
        started: "2026-01-01T00:00:00Z".to_owned(),
        driver: "1.2.3".to_owned(),
        profiler: "made up".to_owned(),
        compiler: manifest.compiler,
        sources: "made up".to_owned(),
        launches: vec![launch],
        digest: String::new(),
    };
    slices.seal();
    slices
}

fn spoiled(spoil: impl Fn(&mut Slices)) -> Vec<String> {
    let mut slices = slices();
    spoil(&mut slices);
    slices.seal();
    [slices.faults(&manifest()), slices.stale(&manifest())].concat()
}

#[test]
fn counters_tell_the_slices_and_how_many_work() {
    let slices = slices();
    assert_eq!(slices.count(), Some(94), "each counts its cycles by a clock of its own");
    let input = slices.launches[0].input().unwrap();
    assert_eq!(input, Input { busiest: 1_000, idlest: 0, all: 1_000 });
    assert_eq!(input.slices_worth(), Some(1.0));
    assert_eq!(Input { busiest: 0, idlest: 0, all: 0 }.slices_worth(), None);
    assert_eq!((slices.launches[0].sent(), slices.launches[0].arrived()), (Some(1_000), Some(1_536)));
    assert_eq!(slices.launches[0].arrived_at_busiest(), Some(1_000));
}

#[test]
fn sound_counters_have_no_faults_and_spoiled_ones_are_named() {
    assert_eq!(spoiled(|_| {}), Vec::<String>::new());
    let input = "lts__d_atomic_input_cycles_active.sum".to_owned();
    for (spoil, words) in [
        (
            &(|all: &mut Slices| all.launches[0].variant = "none".to_owned()) as &dyn Fn(&mut Slices),
            "no such variant",
        ),
        (&|all| all.launches[0].counters.clear(), "was not counted"),
        (&|all| all.launches.clear(), "one number of slices"),
        (&|all| all.compiler.version = "1".to_owned(), "not the pinned"),
        (&|all| all.launches[0].machine_code = "old".to_owned(), "other machine code"),
        (&|all| all.launches[0].protocol = "old".to_owned(), "another protocol"),
        (
            &|all| all.launches[0].counters.extend([(input.clone(), 1)]),
            "of 1 cycles in all the busiest slice has 1000",
        ),
    ] {
        let faults = spoiled(spoil).join("; ");
        assert!(faults.contains(words), "{words}: {faults}");
    }
}

#[test]
fn records_check_looks_at_them() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("kernels")).unwrap();
    for file in ["kernels/common.cuh", "kernels/manifest.yaml"] {
        fs::copy(root().join(file), folder.path().join(file)).unwrap();
    }
    let path = folder.path().join("verification/slices/made-up-gpu.yaml");
    store::write(&path, &slices()).unwrap();
    let check = || {
        let output = Command::new(env!("CARGO_BIN_EXE_labs"))
            .args(["records", "check"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    assert_eq!(check(), (true, "0 records and 1 file of slices, none refused\n".to_owned()));
    let text = fs::read_to_string(&path).unwrap();
    for (from, to, words) in [
        ("sources: made up", "sources: other", "its digest does not match"),
        ("schema: 1", "schema: 7", "its schema is 7"),
    ] {
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let (passed, said) = check();
        assert!(!passed && said.contains(words), "{said}");
    }
    fs::write(path.with_file_name("other.yaml"), &text).unwrap();
    assert!(check().1.contains("belongs at verification/slices/made-up-gpu.yaml"));
}
