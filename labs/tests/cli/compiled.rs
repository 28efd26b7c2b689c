//! Kernels that are compiled on the way: `--kernel FILE.cu`, an edited checkout, exercises. Needs NVRTC; with
//! `HOT_ADDRESSES_REQUIRE_TOOLCHAIN` set its lack is a failure.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use labs::lab;
use labs::toolchain::nvrtc::Nvrtc;
use snapbox::str;

use crate::{checkout, labs_in, labs_with};

/// The compiler's file, or a loud skip.
fn nvrtc() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let found = Nvrtc::find(Some(root));
    let required = std::env::var_os("HOT_ADDRESSES_REQUIRE_TOOLCHAIN").is_some();
    assert!(found.is_ok() || !required, "no NVRTC; run scripts/kernels --install");
    if found.is_err() {
        eprintln!("SKIPPED, not passed: no NVRTC; run scripts/kernels --install");
    }
    found.ok().map(|nvrtc| nvrtc.path().to_owned())
}

fn day26_with<'a>(file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let common =
        ["day26", "--backend", "sim", "--variant", "global_atomic", "--format", "csv", "--kernel", file];
    [&common, more].concat()
}

const HEAD: &str = "#include \"common.cuh\"\n\
    extern \"C\" __global__ void global_atomic(const float* in, float* total, u64 n) {\n\
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;\n";

#[test]
fn a_kernel_that_does_not_compile_is_told_with_its_line() {
    let Some(nvrtc) = nvrtc() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("broken.cu"), format!("{HEAD}if (i < n) atomicAdd(total, im[i]);\n}}\n"))
        .unwrap();
    let ran = labs_with(&nvrtc, folder.path(), &day26_with("broken.cu", &["--size", "64"]));
    ran.code(1).stdout_eq("").stderr_eq(str![[r#"
labs: `broken.cu` does not compile:
broken.cu(4): error: identifier "im" is undefined
  if (i < n) atomicAdd(total, im[i]);
                              ^

1 error detected in the compilation of "broken.cu".

"#]]);
}

#[test]
fn a_kernel_that_is_wrong_is_told_with_the_first_wrong_size_and_value() {
    let Some(nvrtc) = nvrtc() else { return };
    let folder = tempfile::tempdir().unwrap();
    let kernel = format!("{HEAD}int unused;\nif (i < n / 256 * 256) atomicAdd(total, in[i]);\n}}\n");
    fs::write(folder.path().join("short.cu"), kernel).unwrap();
    let sizes = ["--size", "512", "--size", "600", "--size", "700"];
    let ran = labs_with(&nvrtc, folder.path(), &day26_with("short.cu", &sizes));
    ran.code(1).stderr_eq(str![[r#"
short.cu(4): warning #177-D: variable "unused" was declared but never referenced
  int unused;
      ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"
labs: global_atomic: at size 600 the total is [..], the reference [..]

"#]]);
    let ran = labs_with(&nvrtc, folder.path(), &day26_with("short.cu", &sizes[..2]));
    ran.success().stderr_eq(str![[r#"
short.cu(4): warning #177-D: variable "unused" was declared but never referenced
  int unused;
      ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

"#]]);
}

#[test]
fn what_the_checkout_holds_is_what_runs() {
    let Some(nvrtc) = nvrtc() else { return };
    let folder = checkout();
    let shipped = lab::find("day26").unwrap().shipped().source;
    let file = folder.path().join("kernels/day26_sum.cu");
    let run = ["day26", "--backend", "sim", "--size", "100", "--variant", "block_tree"];
    fs::write(&file, shipped).unwrap();
    let same = labs_in(folder.path(), &run).success().stderr_eq("").get_output().clone();
    let same = String::from_utf8(same.stdout).unwrap();
    assert!(same.contains(", the PTX inside this program\n"), "{same}");
    assert!(same.ends_with("\nEvery result equals the reference.\n"), "{same}");

    fs::write(&file, shipped.replace("value[t] += value[t + width];", "value[t] -= value[t + width];"))
        .unwrap();
    labs_with(&nvrtc, folder.path(), &run).code(1).stderr_eq(str![[r#"
labs: block_tree: at size 100 the total is [..], the reference [..]

"#]]);
    labs_in(folder.path(), &run).code(3).stdout_eq("").stderr_eq(str![[r#"
labs: `kernels/day26_sum.cu` was edited, and there is no compiler to build it: NVRTC not found (looked at: HOT_ADDRESSES_NVRTC=[..]none); let HOT_ADDRESSES_NVRTC name the file or its folder, or unset it

"#]]);
}

/// A checkout with day26's exercise as it ships, and where the file is.
fn with_exercise() -> (tempfile::TempDir, PathBuf) {
    let folder = checkout();
    let file = folder.path().join("kernels/exercises/day26_sum.cu");
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, lab::find("day26").unwrap().exercise().unwrap().starter).unwrap();
    (folder, file)
}

#[test]
fn an_exercise_is_missed_then_solved() {
    let Some(nvrtc) = nvrtc() else { return };
    let (folder, file) = with_exercise();
    let exercise = lab::find("day26").unwrap().exercise().unwrap();
    let attempt = || labs_with(&nvrtc, folder.path(), &["exercise", "day26"]);
    attempt().code(1).stderr_eq(str![[r#"
labs: [..] goals missed; edit [..]day26_sum.cu, or ask for --hint

"#]]);
    fs::write(&file, exercise.solution).unwrap();
    let solved = attempt().success().stderr_eq("").get_output().clone();
    let solved = String::from_utf8(solved.stdout).unwrap();
    assert!(solved.ends_with("Solved.\n") && !solved.contains("MISSED"), "{solved}");
    fs::write(&file, exercise.solution.replace(';', ":")).unwrap();
    let broken = String::from_utf8(attempt().code(1).stdout_eq("").get_output().stderr.clone()).unwrap();
    assert!(broken.contains("kernels/exercises/day26_sum.cu(") && broken.contains("error:"), "{broken}");
    labs_in(folder.path(), &["exercise", "day26"]).code(3).stdout_eq("");
    fs::remove_file(&file).unwrap();
    attempt().code(3).stdout_eq("").stderr_eq(str![[r#"
labs: `[..]day26_sum.cu` is not there; `git checkout` it, or start from the text of the chapter

"#]]);
}

/// Saving the file is enough: the next attempt is told without another command.
#[test]
fn an_exercise_is_watched() {
    let Some(nvrtc) = nvrtc() else { return };
    let (folder, file) = with_exercise();
    let child = Command::new(env!("CARGO_BIN_EXE_labs"))
        .args(["exercise", "day26", "--watch"])
        .current_dir(&folder)
        .env("HOT_ADDRESSES_NVRTC", &nvrtc)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    // Ends the child when the test has seen enough, and also if it never does.
    let (enough, seen) = channel();
    let end = thread::spawn(move || {
        let _ = seen.recv_timeout(Duration::from_secs(120));
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let (mut missed, mut solved) = (false, false);
    for line in lines {
        missed |= line.starts_with("MISSED");
        solved |= line == "Solved.";
        if line.starts_with("watching") {
            fs::write(&file, lab::find("day26").unwrap().exercise().unwrap().solution).unwrap();
        }
        if solved {
            break;
        }
    }
    let _ = enough.send(());
    end.join().unwrap();
    assert!(missed && solved, "missed at first: {missed}, solved after it was saved: {solved}");
}
