//! NVIDIA's own tools, driven for real. Where they are missing each test says that it is skipped; with
//! `HOT_ADDRESSES_REQUIRE_TOOLCHAIN` set, as `scripts/test` does, a missing tool is a failure.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use labs::toolchain::cache::Cache;
use labs::toolchain::cubin::code_hashes;
use labs::toolchain::disassembly::{Disassembler, Role};
use labs::toolchain::nvrtc::{CompileError, Header, Nvrtc, Program, Target};
use labs::toolchain::{Architecture, Missing, ptx};

const SOURCE: &str = r#"#include "shared.cuh"
extern "C" __global__ void count(unsigned* out) { atomicAdd(out, 1u); }
extern "C" __global__ void total(const float* in, float* out) { add(out, in[threadIdx.x]); }
"#;
const HEADER: &str = "__device__ inline void add(float* out, float x) { atomicAdd(out, x); }\n";
const HEADERS: [Header<'_>; 1] = [Header { name: "shared.cuh", source: HEADER }];
const PROGRAM: Program<'_> = Program { name: "kernels/day00_toy.cu", source: SOURCE, headers: &HEADERS };
const SM_90: Architecture = Architecture(90);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
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

#[test]
fn the_version_has_its_patch_number() {
    let Some(nvrtc) = found(Nvrtc::find(Some(&root()))) else { return };
    assert_eq!(nvrtc.version().split('.').count(), 3, "{nvrtc:?}");
    assert!(nvrtc.architectures().unwrap().contains(&SM_90));
}

#[test]
fn ptx_names_no_folder_of_this_machine() {
    let Some(nvrtc) = found(Nvrtc::find(Some(&root()))) else { return };
    // NVIDIA's headers come in packages of their own; the pinned tools have them.
    let include = if nvrtc.include_paths().is_empty() { "" } else { "#include <cooperative_groups.h>\n" };
    let program = Program { source: &format!("{include}{SOURCE}"), ..PROGRAM };
    let compiled = nvrtc.compile(&program, Target::Ptx(SM_90)).unwrap();
    let text = String::from_utf8(compiled.image).unwrap();
    let files: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with(".file")).collect();
    assert!(files.iter().any(|line| line.ends_with("\"kernels/day00_toy.cu\"")), "{files:?}");
    assert!(files.iter().any(|line| line.ends_with("\"kernels/shared.cuh\"")), "{files:?}");
    assert!(!files.iter().any(|line| line.contains("\"/")), "{files:?}");
    assert!(!text.contains('\0') && ptx::language_version(&text).is_some());
}

#[test]
fn machine_code_shows_the_fold_and_the_atomics() {
    let Some(nvrtc) = found(Nvrtc::find(Some(&root()))) else { return };
    let Some(disassembler) = found(Disassembler::find(Some(&root()))) else { return };
    let cubin = nvrtc.compile(&PROGRAM, Target::Cubin(SM_90)).unwrap().image;
    let functions = disassembler.functions(&cubin).unwrap();
    let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["count", "total"]);
    let (count, total) = (&functions[0], &functions[1]);
    assert!(count.evidence().any(|i| i.role() == Some(Role::Folding)), "an add of 1 to one word is folded");
    assert!(!total.evidence().any(|i| i.role() == Some(Role::Folding)), "a float add never is");
    let red = total.atomics().next().unwrap();
    assert!(red.opcode.starts_with("REDG.E.ADD.F32"), "{red:?}");
    if disassembler.path().ends_with("nvdisasm") {
        assert_eq!(red.source.as_ref().unwrap().to_string(), "shared.cuh:1");
    }
    let hashed: Vec<String> = code_hashes(&cubin).unwrap().into_keys().collect();
    assert_eq!(hashed, names);
}

#[test]
fn the_code_hash_outlives_comments_and_changes_with_the_code() {
    let Some(nvrtc) = found(Nvrtc::find(Some(&root()))) else { return };
    let hashes = |source: &str| {
        let program = Program { source, ..PROGRAM };
        code_hashes(&nvrtc.compile(&program, Target::Cubin(SM_90)).unwrap().image).unwrap()
    };
    let original = hashes(SOURCE);
    assert_eq!(hashes(&format!("// a comment\n\n{SOURCE}")), original);
    let changed = hashes(&SOURCE.replace("1u", "2u"));
    assert_ne!(changed["count"], original["count"]);
    assert_eq!(changed["total"], original["total"]);
}

#[test]
fn a_wrong_program_is_refused_with_file_and_line() {
    let Some(nvrtc) = found(Nvrtc::find(Some(&root()))) else { return };
    let program = Program { source: "\nint* x = nothing;", ..PROGRAM };
    let error = nvrtc.compile(&program, Target::Cubin(SM_90)).unwrap_err();
    assert!(matches!(error, CompileError::Rejected(_)), "{error:?}");
    assert!(error.to_string().contains("kernels/day00_toy.cu(2): error"), "{error}");
    let with_nul = Program { source: "int x\0;", ..PROGRAM };
    let error = nvrtc.compile(&with_nul, Target::Cubin(SM_90)).unwrap_err();
    assert!(error.to_string().contains("NUL byte at offset 5"), "{error}");
    let unknown = nvrtc.compile(&PROGRAM, Target::Cubin(Architecture(9999))).unwrap_err();
    assert!(unknown.to_string().contains("gpu-architecture"), "{unknown}");
}

#[test]
fn warnings_are_kept() {
    let Some(nvrtc) = found(Nvrtc::find(Some(&root()))) else { return };
    let program = Program { source: "__global__ void f() { int unused; }", ..PROGRAM };
    let compiled = nvrtc.compile(&program, Target::Ptx(SM_90)).unwrap();
    assert!(compiled.log.contains("kernels/day00_toy.cu(1): warning"), "{}", compiled.log);
}

#[test]
fn the_cache_gives_the_same_and_survives_damage() {
    let Some(nvrtc) = found(Nvrtc::find(Some(&root()))) else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let target = Target::Cubin(SM_90);
    let first = cache.compile(&nvrtc, &PROGRAM, target).unwrap();
    let entries: Vec<PathBuf> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(cache.compile(&nvrtc, &PROGRAM, target).unwrap(), first);

    let whole = fs::read(&entries[0]).unwrap();
    for damage in [&whole[..whole.len() / 2], b"", &[&whole[..], b"x"].concat()] {
        fs::write(&entries[0], damage).unwrap();
        assert_eq!(cache.compile(&nvrtc, &PROGRAM, target).unwrap(), first);
        assert_eq!(fs::read(&entries[0]).unwrap(), whole, "a damaged entry is made anew");
    }

    let changed = Program {
        headers: &[Header {
            name: "shared.cuh",
            source: &format!("{HEADER}// a line\nextern \"C\" __global__ void more() {{}}\n"),
        }],
        ..PROGRAM
    };
    cache.compile(&nvrtc, &changed, target).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "a header's change is another entry");
    let other = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| *path != entries[0]);
    fs::copy(other.unwrap(), &entries[0]).unwrap();
    assert_ne!(
        cache.compile(&nvrtc, &PROGRAM, target).unwrap(),
        first,
        "a whole entry is read, not made anew"
    );
    let nowhere = Cache::at(&entries[0].join("below-a-file"));
    assert_eq!(nowhere.compile(&nvrtc, &PROGRAM, target).unwrap(), first);
}

#[test]
fn a_disassembler_refuses_garbage_in_its_own_words() {
    let Some(disassembler) = found(Disassembler::find(Some(&root()))) else { return };
    assert!(disassembler.functions(b"garbage").is_err());
    assert!(disassembler.functions(b"").is_err());
    assert_eq!(disassembler.version().unwrap().split('.').count(), 3);
}

#[test]
fn a_library_that_is_none_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("libnvrtc.so.12");
    fs::write(&file, "no library").unwrap();
    let error = Nvrtc::load(&file).unwrap_err().to_string();
    assert!(error.contains("libnvrtc.so.12") && error.contains("does not work"), "{error}");
}
