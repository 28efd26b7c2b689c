//! What the command line says, word for word: help, and every way to ask for what there is not. Run anew with
//! `SNAPSHOTS=overwrite` where the words were meant to change.
//!
//! Nothing here depends on a GPU, a compiler or a checkout: commands run in an empty folder, on the simulator.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use snapbox::cmd::{Command, OutputAssert};

mod compiled;
mod failures;
mod help;
mod usage;

/// Runs `labs` in a folder, where there is no compiler.
fn labs_in(folder: &Path, arguments: &[impl AsRef<OsStr>]) -> OutputAssert {
    labs_with(&folder.join("none"), folder, arguments)
}

/// Runs `labs` in a folder with this compiler, where the search for one ends.
fn labs_with(nvrtc: &Path, folder: &Path, arguments: &[impl AsRef<OsStr>]) -> OutputAssert {
    let command = Command::new(env!("CARGO_BIN_EXE_labs"))
        .args(arguments)
        .current_dir(folder)
        .stdin("")
        .env("COLUMNS", "100")
        .env_remove("RUST_BACKTRACE")
        .env("HOT_ADDRESSES_NVRTC", nvrtc)
        .env("HOT_ADDRESSES_NVDISASM", folder.join("none"));
    command.assert()
}

/// Runs `labs` in an empty folder, with the words of a line as its arguments.
fn labs(line: &str) -> OutputAssert {
    let folder = tempfile::tempdir().unwrap();
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let ran = labs_in(folder.path(), &arguments);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "`labs {line}` left something behind");
    ran
}

/// A checkout in which nothing was measured.
fn checkout() -> tempfile::TempDir {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("kernels")).unwrap();
    fs::create_dir_all(folder.path().join("verification")).unwrap();
    for file in ["kernels/manifest.yaml", "kernels/common.cuh"] {
        fs::copy(root.join(file), folder.path().join(file)).unwrap();
    }
    folder
}
