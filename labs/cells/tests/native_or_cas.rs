//! The compilers, asked again: each cell of the committed table is what they make today. What is missing here is
//! skipped and says so; `scripts/native-or-cas --check` installs everything and asks all targets.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

use labs::toolchain::Architecture;
use labs::toolchain::nvrtc::Nvrtc;
use labs_cells::{Column, amdgpu, cpu, cuda, differences, price, renewed, spirv};
use labs_record::cells::{CellVerdict, Cells, Operation, Prices, Scalar, Spelling};
use labs_record::store;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn committed() -> Cells {
    store::read(&root().join(Cells::FILE), "table of operations").unwrap()
}

fn same(columns: &[Column]) {
    let (there, made) = (committed(), labs_cells::table(columns));
    for note in renewed(&there, &made) {
        eprintln!("note: {note}");
    }
    assert_eq!(differences(&there, &made), Vec::<String>::new(), "run scripts/native-or-cas");
}

/// Whether all these programs run, or a loud skip.
fn there_are(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| Command::new(program).arg("--version").output().is_err());
    if let Some(program) = missing {
        eprintln!("SKIPPED, not passed: {program} is missing; scripts/native-or-cas --install");
    }
    missing.is_none()
}

#[test]
fn cuda_cells_are_what_the_pinned_compiler_makes() {
    match Nvrtc::find(Some(&root())) {
        Ok(nvrtc) if nvrtc.is_pinned() => {}
        found => {
            let required = std::env::var_os("HOT_ADDRESSES_REQUIRE_TOOLCHAIN").is_some();
            assert!(!required, "{found:?}");
            eprintln!("SKIPPED, not passed: {found:?}");
            return;
        }
    }
    // The reference GPU's; the script asks all seven.
    same(&[cuda::column(&root(), Architecture(90)).unwrap()]);
}

#[test]
fn amdgpu_cells_are_what_clang_makes() {
    if there_are(&["clang-19"]) {
        same(&amdgpu::columns().unwrap());
    }
}

#[test]
fn cpu_cells_are_what_both_compilers_make() {
    let targets = Command::new("rustup").args(["target", "list", "--installed"]).output();
    let has_arm = targets.is_ok_and(|out| {
        String::from_utf8_lossy(&out.stdout).lines().any(|line| line == "aarch64-unknown-linux-gnu")
    });
    if there_are(&["clang-19"]) && has_arm && cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        same(&cpu::columns().unwrap());
    } else {
        eprintln!("SKIPPED, not passed: rustup's target for 64-bit ARM; scripts/native-or-cas --install");
    }
}

#[test]
fn spirv_cells_are_what_glslang_makes() {
    if there_are(&["glslangValidator", "spirv-dis", "spirv-cross"]) {
        same(&spirv::columns(&root()).unwrap());
    }
}

#[test]
fn every_row_with_a_price_is_priced_and_its_kernel_compiles() {
    let prices: Prices = store::read(&root().join(Prices::FILE), "list of prices").unwrap();
    let rows: Vec<_> = price::rows().collect();
    for (operation, scalar, old) in &rows {
        for addresses in [1, 1_024] {
            let key = (*operation, *scalar, *old, addresses);
            assert!(prices.prices.iter().any(|price| price.key() == key), "{key:?} has no price");
        }
    }
    assert_eq!(prices.prices.len(), 2 * rows.len());
    match price::code(&root(), Architecture(90)) {
        Ok(image) => assert!(image.starts_with(b"\x7fELF")),
        Err(error) => {
            assert!(std::env::var_os("HOT_ADDRESSES_REQUIRE_TOOLCHAIN").is_none(), "{error:#}");
            eprintln!("SKIPPED, not passed: {error:#}");
        }
    }
}

#[test]
fn a_changed_cell_is_told() {
    let there = committed();
    let mut made = there.clone();
    made.rows[0].cells[0].answer.verdict = CellVerdict::CasLoop;
    let told = differences(&there, &made);
    assert!(!told.is_empty());
    assert!(told[0].contains("add_i32_global_unused: CAS loop"), "{told:?}");
    made = there.clone();
    made.targets[0].compiler = "NVRTC 13".to_owned();
    assert_eq!(differences(&there, &made), Vec::<String>::new());
    assert!(renewed(&there, &made)[0].contains("NVRTC 13"));
}

#[test]
fn every_written_loop_is_read_as_one() {
    // The negative control of the whole table: what the source spells as a loop came out as a loop everywhere.
    let loops =
        committed().rows.into_iter().flat_map(|row| row.cells).filter(|cell| cell.spelled == Spelling::Loop);
    let loops: Vec<_> = loops.collect();
    assert!(loops.len() > 100, "{}", loops.len());
    let wanted = [CellVerdict::CasLoop, CellVerdict::ExclusiveLoop];
    assert!(loops.iter().all(|cell| wanted.contains(&cell.answer.verdict)));
    assert_eq!(cuda::spelling(Operation::Mul, Scalar::I32), Spelling::Loop);
}
