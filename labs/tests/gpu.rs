//! On a machine with a GPU: `cargo test -p labs --test gpu -- --ignored`. A missing GPU is a skip that says so.
//!
//! Everything goes through the program, and so through the child process that measures and the watchdog over it. Where
//! the tests were built elsewhere, `HOT_ADDRESSES_LABS` names the program; where there must be a GPU, set
//! `HOT_ADDRESSES_REQUIRE_GPU`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::ffi::OsString;
use std::fs;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use labs::lab::{self, Lab, Places};
use labs_record::record::{Check, Outcome, Record};

mod skip;

/// Nothing, one element, around a warp, around a block, no power of two, and more than a grid holds at once.
const SIZES: [u64; 11] = [0, 1, 3, 31, 33, 255, 257, 1_000, 4_097, 100_003, 1_000_003];

fn labs(arguments: &[&str]) -> Output {
    let built = || OsString::from(env!("CARGO_BIN_EXE_labs"));
    let program = std::env::var_os("HOT_ADDRESSES_LABS").unwrap_or_else(built);
    Command::new(program).args(arguments).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// One test at a time has the GPU.
static GPU: Mutex<()> = Mutex::new(());

/// The GPU, where there is one that runs the kernels; a loud skip where not.
fn gpu() -> Option<MutexGuard<'static, ()>> {
    // A test that failed is no reason for the others to fail.
    let guard = GPU.lock().unwrap_or_else(PoisonError::into_inner);
    let output =
        labs(&["day26", "--backend", "cuda", "--size", "1", "--variant", "global_atomic", "--samples", "1"]);
    let found = output.status.code() != Some(3);
    if !found {
        skip::skipped(told(&output).trim_end());
    }
    found.then_some(guard)
}

/// Runs a lab on the GPU and gives its exit code, what it said, and its draft record, if it came to one.
fn measured(lab: &dyn Lab, more: &[&str]) -> (Option<i32>, String, Option<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.json");
    let common = [lab.stem(), "--backend", "cuda", "--samples", "1", "--format", "json", "--out"];
    let output = labs(&[&common[..], &[out.to_str().unwrap()], more].concat());
    let record = fs::read_to_string(&out).ok().map(|text| serde_json::from_str(&text).unwrap());
    (output.status.code(), told(&output), record)
}

fn day26() -> &'static dyn Lab {
    lab::find("day26").unwrap()
}

/// Runs this PTX in place of day26's `global_atomic`.
fn edited(ptx: &str, more: &[&str]) -> (Option<i32>, String, Option<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edited.ptx");
    fs::write(&file, ptx).unwrap();
    let chosen = ["--size", "1000", "--variant", "global_atomic", "--kernel", file.to_str().unwrap()];
    measured(day26(), &[&chosen, more].concat())
}

/// A kernel `global_atomic` with this body.
fn kernel(body: &str) -> String {
    format!(
        ".version 6.3\n.target sm_75\n.address_size 64\n\
         .visible .entry global_atomic(.param .u64 in, .param .u64 total, .param .u64 n)\n{{\n\
         .reg .pred %p<2>;\n.reg .b64 %rd<4>;\n{body}\nret;\n}}\n"
    )
}

#[test]
#[ignore = "needs a GPU"]
fn every_variant_is_what_it_declares_at_odd_sizes() {
    let Some(_gpu) = gpu() else { return };
    for lab in lab::registry() {
        let sized =
            lab.axes().iter().any(|axis| axis.name == "size" && matches!(axis.places, Places::UpTo(_)));
        let sizes = SIZES.map(|size| size.to_string());
        let options: Vec<&str> =
            sizes.iter().filter(|_| sized).flat_map(|size| ["--size", size.as_str()]).collect();
        let (code, told, record) = measured(*lab, &options);
        let record = record.unwrap_or_else(|| panic!("{}: {told}", lab.stem()));
        for variant in lab.variants() {
            let ran = record.variant(variant.name).map(|variant| variant.check);
            let absent = record.absent.iter().any(|absent| absent.what == variant.name);
            let fits = match variant.declared {
                Outcome::Correct => ran == Some(Check::Passed),
                Outcome::Wrong => ran == Some(Check::Refused),
                Outcome::Undefined => ran.is_some(),
            };
            assert!(fits || absent, "{} {}: {ran:?}\n{told}", lab.stem(), variant.name);
        }
        assert_eq!(code, Some(0), "{}: {told}", lab.stem());
    }
}

#[test]
#[ignore = "needs a GPU"]
fn a_wrong_kernel_is_refused_before_it_is_timed() {
    let Some(_gpu) = gpu() else { return };
    let shipped = day26().shipped().ptx[0].1;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.ptx");
    fs::write(&file, shipped.replace("\tadd.f32", "\tsub.f32")).unwrap();
    let options = ["--size", "1000", "--variant", "block_tree", "--kernel", file.to_str().unwrap()];
    let (code, told, record) = measured(day26(), &options);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("block_tree: at size 1000 the total is"), "{told}");
    let record = record.unwrap();
    assert_eq!(record.variant("block_tree").unwrap().check, Check::Refused);
    let of_it = record.figures.iter().filter(|figure| figure.variant.as_deref() == Some("block_tree"));
    assert_eq!(of_it.count(), 0, "what has not passed its check is not measured");

    // The same file unspoiled is timed.
    fs::write(&file, shipped).unwrap();
    let (code, told, record) = measured(day26(), &options);
    assert_eq!(code, Some(0), "{told}");
    assert!(record.unwrap().figures.iter().any(|figure| figure.name == "time"));
}

#[test]
#[ignore = "needs a GPU"]
fn a_trap_ends_with_one_and_the_next_run_is_whole() {
    let Some(_gpu) = gpu() else { return };
    let (code, told, record) = edited(&kernel("trap;"), &[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("global_atomic at size=1000: the GPU stopped the work"), "{told}");
    assert!(record.is_none(), "nothing is written of a run that failed");
    let (code, told, _) = measured(day26(), &["--size", "1000"]);
    assert_eq!(code, Some(0), "{told}");
}

/// The kernel ends by itself after 45 s, so that no GPU is left busy if the watchdog does not work.
#[test]
#[ignore = "needs a GPU, for a minute"]
fn the_watchdog_ends_a_kernel_that_spins() {
    let Some(_gpu) = gpu() else { return };
    let spin = "mov.u64 %rd1, %globaltimer;\nadd.u64 %rd2, %rd1, 45000000000;\n\
        again:\nmov.u64 %rd3, %globaltimer;\nsetp.lt.u64 %p1, %rd3, %rd2;\n@%p1 bra again;";
    let (code, told, record) = edited(&kernel(spin), &[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("watchdog: global_atomic at size=1000 gave no sign of life"), "{told}");
    assert!(record.is_none());
}

/// The simulator does not take over what is too large for the GPU.
#[test]
#[ignore = "needs a GPU"]
fn memory_that_no_gpu_has_is_lacking() {
    let Some(_gpu) = gpu() else { return };
    for backend in ["cuda", "auto"] {
        let output = labs(&["day26", "--backend", backend, "--size", "274877906944"]);
        assert_eq!(output.status.code(), Some(3), "{}", told(&output));
        assert!(told(&output).contains("not enough GPU memory"), "{}", told(&output));
        assert!(!told(&output).contains("the simulator runs"), "{}", told(&output));
    }
}

#[test]
#[ignore = "needs a GPU"]
fn code_that_the_driver_refuses_is_told_with_its_file() {
    let Some(_gpu) = gpu() else { return };
    let (code, told, _) = edited(&kernel("frobnicate;"), &[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("edited.ptx`: the driver can't assemble the PTX"), "{told}");
}
