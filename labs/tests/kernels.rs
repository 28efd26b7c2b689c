//! Shipped PTX and the manifest, made anew and equal; and the check refuses what differs. Needs the tools
//! that `scripts/kernels --install` puts into `.toolchain`; with `HOT_ADDRESSES_REQUIRE_TOOLCHAIN` set
//! their lack is a failure.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Whether the pinned tools are there; a loud skip where not.
fn has_toolchain() -> bool {
    let there = root().join(".toolchain/installed.txt").is_file();
    let required = std::env::var_os("HOT_ADDRESSES_REQUIRE_TOOLCHAIN").is_some();
    assert!(there || !required, "no .toolchain; run scripts/kernels --install");
    if !there {
        eprintln!("SKIPPED, not passed: no .toolchain; run scripts/kernels --install");
    }
    there
}

fn kernels(action: &str, root: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kernels")).args([action, "--root"]).arg(root).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// A root of its own with one kernel file and this checkout's tools.
fn checkout(kernel: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("kernels")).unwrap();
    fs::write(folder.path().join("kernels/day00_toy.cu"), kernel).unwrap();
    std::os::unix::fs::symlink(root().join(".toolchain"), folder.path().join(".toolchain")).unwrap();
    folder
}

const KERNEL: &str = "// needs: sm_90\n\
    extern \"C\" __global__ void one(unsigned* out) { atomicAdd(out, 1u); }\n\
    #if __CUDA_ARCH__ >= 900\n\
    extern \"C\" __global__ void four(float4* out, float4 x) { atomicAdd(out, x); }\n\
    #endif\n";

#[test]
fn what_is_committed_is_what_the_kernels_make() {
    if !has_toolchain() {
        return;
    }
    let checked = kernels("check", &root());
    assert!(checked.status.success(), "{}", text(&checked));
}

#[test]
fn newer_architectures_get_ptx_of_their_own() {
    if !has_toolchain() {
        return;
    }
    let folder = checkout(KERNEL);
    let built = kernels("build", folder.path());
    assert!(built.status.success(), "{}", text(&built));
    let ptx = |architecture: &str| {
        fs::read_to_string(folder.path().join(format!("kernels/ptx/day00_toy.{architecture}.ptx"))).unwrap()
    };
    assert!(ptx("sm75").contains(".version 6.3\n") && !ptx("sm75").contains("four"));
    assert!(
        ptx("sm90").contains(".version 8.1\n") && ptx("sm90").contains("four"),
        "vector atomics came with PTX 8.1"
    );
    let manifest = fs::read_to_string(folder.path().join("kernels/manifest.yaml")).unwrap();
    assert_eq!(manifest.matches("four:").count(), 3, "sm_90, sm_100 and sm_120 have it:\n{manifest}");
    let checked = kernels("check", folder.path());
    assert!(checked.status.success(), "{}", text(&checked));
}

#[test]
fn each_difference_is_told() {
    if !has_toolchain() {
        return;
    }
    let folder = checkout(KERNEL);
    assert!(kernels("build", folder.path()).status.success());
    let path = |name: &str| folder.path().join("kernels").join(name);
    fs::write(path("day00_toy.cu"), KERNEL.replace("1u", "2u")).unwrap();
    fs::write(path("ptx/day99_gone.sm75.ptx"), "").unwrap();
    fs::remove_file(path("ptx/day00_toy.sm90.ptx")).unwrap();
    let checked = kernels("check", folder.path());
    let told = text(&checked);
    assert_eq!(checked.status.code(), Some(1), "{told}");
    for expected in [
        "kernels/ptx/day00_toy.sm75.ptx: line ",
        "kernels/ptx/day00_toy.sm90.ptx: missing",
        "kernels/ptx/day99_gone.sm75.ptx: no kernel file makes it",
        "code: day00_toy sm_75 one is ",
    ] {
        assert!(told.contains(expected), "`{expected}` is not in:\n{told}");
    }
    assert!(!told.contains("sm_90 four"), "the other kernel's code is the same:\n{told}");

    fs::write(path("manifest.yaml"), "schema: 1\nlabs: [").unwrap();
    let checked = kernels("check", folder.path());
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked).contains("manifest.yaml"), "{}", text(&checked));
}

#[test]
fn warnings_and_errors_of_a_kernel_stop_the_build_with_its_line() {
    if !has_toolchain() {
        return;
    }
    for (kernel, expected) in [
        ("\nextern \"C\" __global__ void f() { int unused; }\n", "kernels/day00_toy.cu(2): warning"),
        ("\nint* x = nothing;\n", "kernels/day00_toy.cu(2): error"),
        (
            "// needs: sm_ninety\nextern \"C\" __global__ void f() {}\n",
            "`// needs: sm_ninety` names no architecture",
        ),
    ] {
        let folder = checkout(kernel);
        let built = kernels("build", folder.path());
        assert_eq!(built.status.code(), Some(3), "{}", text(&built));
        assert!(text(&built).contains(expected), "{}", text(&built));
        assert!(!folder.path().join("kernels/manifest.yaml").exists(), "nothing half-written");
    }
}

#[test]
fn a_root_without_kernels_or_tools_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let built = Command::new(env!("CARGO_BIN_EXE_kernels"))
        .args(["build", "--root"])
        .arg(folder.path())
        .env("HOT_ADDRESSES_NVRTC", folder.path().join("none"))
        .output()
        .unwrap();
    assert_eq!(built.status.code(), Some(3));
    assert!(text(&built).contains("HOT_ADDRESSES_NVRTC"), "{}", text(&built));
}
