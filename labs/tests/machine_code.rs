//! What the pinned compiler makes of day31's and day32's adds on sm_90: who has an adder, where a loop stands for one, and
//! which old values are asked for. Needs the tools that `scripts/kernels --install` puts into `.toolchain`; with
//! `HOT_ADDRESSES_REQUIRE_TOOLCHAIN` set their lack is a failure.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use labs::toolchain::cache::Cache;
use labs::toolchain::disassembly::{Disassembler, Function};
use labs::toolchain::nvrtc::{Header, Nvrtc, Program, Target};
use labs::toolchain::{Architecture, Missing};
use labs_record::manifest::Manifest;
use labs_record::store;

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

/// Machine code of a kernel file for sm_90, by kernel; none without the pinned compiler.
fn functions(stem: &str) -> Option<Vec<Function>> {
    let nvrtc = found(Nvrtc::find(Some(&root())))?;
    let disassembler = found(Disassembler::find(Some(&root())))?;
    if !nvrtc.is_pinned() {
        eprintln!("SKIPPED, not passed: another compiler than the pinned one may do otherwise");
        return None;
    }
    let read = |name: &str| fs::read_to_string(root().join("kernels").join(name)).unwrap();
    let (text, common) = (read(&format!("{stem}.cu")), read("common.cuh"));
    let headers = [Header { name: "common.cuh", source: &common }];
    let name = format!("kernels/{stem}.cu");
    let program = Program { name: &name, source: &text, headers: &headers };
    let cubin = Cache::open().compile(&nvrtc, &program, Target::Cubin(Architecture(90))).unwrap();
    Some(disassembler.functions(&cubin.image).unwrap())
}

/// Kernels whose atomics are not these, each opcode by its beginning.
fn differing(functions: &[Function], expected: &[(&str, &[&str])]) -> Vec<String> {
    let mut differing = Vec::new();
    for (kernel, opcodes) in expected {
        let function = functions.iter().find(|function| function.name == *kernel);
        let atomics: Vec<&str> = function
            .iter()
            .flat_map(|f| f.atomics())
            .map(|instruction| instruction.opcode.as_str())
            .collect();
        let same = atomics.len() == opcodes.len()
            && atomics.iter().zip(*opcodes).all(|(found, expected)| found.starts_with(expected));
        if !same {
            differing.push(format!("{kernel}: {atomics:?}, not {opcodes:?}"));
        }
    }
    differing
}

const PLACEMENT: [(&str, &[&str]); 18] = [
    ("global_u32", &["REDG.E.ADD.STRONG"]),
    ("global_u64", &["REDG.E.ADD.64"]),
    ("global_f32", &["REDG.E.ADD.F32"]),
    ("global_f64", &["REDG.E.ADD.F64"]),
    ("global_f16", &["ATOMG.E.CAS"]),
    ("global_bf16", &["ATOMG.E.CAS"]),
    ("global_f16x2", &["REDG.E.ADD.F16x2"]),
    ("global_bf16x2", &["REDG.E.ADD.BF16x2"]),
    ("global_float2", &["REDG.E.ADD.F32x2"]),
    ("global_float4", &["REDG.E.ADD.F32x4"]),
    ("shared_u32", &["ATOMS.ADD"]),
    ("shared_u64", &["ATOMS.CAST.SPIN.64"]),
    ("shared_f32", &["ATOMS.CAST.SPIN"]),
    ("shared_f64", &["ATOMS.CAST.SPIN.64"]),
    ("shared_f16", &["ATOMS.CAS"]),
    ("shared_f16x2", &["ATOMS.CAST.SPIN"]),
    ("cluster_u32", &["ATOM.E.ADD"]),
    ("host_u32", &["REDG.E.ADD.STRONG.SYS"]),
];

const NO_RETURN: [(&str, &[&str]); 16] = [
    ("add_unused", &["REDG.E.ADD"]),
    ("add_shown", &["REDG.E.ADD"]),
    ("add_kept", &["ATOMG.E.ADD"]),
    ("add_used", &["ATOMG.E.ADD"]),
    ("ref_unused", &["ATOM.E.ADD"]),
    ("ref_used", &["ATOM.E.ADD"]),
    ("builtin_unused", &["ATOM.E.ADD"]),
    ("builtin_used", &["ATOM.E.ADD"]),
    ("ptx_red", &["REDG.E.ADD"]),
    ("ptx_atom_unused", &["REDG.E.ADD"]),
    ("ptx_atom_generic", &["ATOM.E.ADD"]),
    ("cluster_unused", &["ATOM.E.ADD"]),
    ("cluster_used", &["ATOM.E.ADD"]),
    ("cluster_async", &["REDAS.ADD"]),
    ("bulk_line", &["UBLKRED", "REDG.E.ADD"]),
    ("bulk_page", &["UBLKRED", "REDG.E.ADD"]),
];

#[test]
fn types_have_adders_where_day31_says() {
    let Some(functions) = functions("day31_placement") else { return };
    assert_eq!(differing(&functions, &PLACEMENT), Vec::<String>::new());
    // And the comparison sees a loop for what it is.
    let wrong: [(&str, &[&str]); 2] = [("shared_f32", &["ATOMS.ADD"]), ("global_f16", &["REDG.E.ADD"])];
    assert_eq!(differing(&functions, &wrong).len(), 2);
}

#[test]
fn replies_are_asked_for_where_day32_says() {
    let Some(functions) = functions("day32_no_return") else { return };
    assert_eq!(differing(&functions, &NO_RETURN), Vec::<String>::new());
    let wrong: [(&str, &[&str]); 2] = [("add_kept", &["REDG.E.ADD"]), ("absent", &["REDG.E.ADD"])];
    assert_eq!(differing(&functions, &wrong).len(), 2);
}

/// Whoever leaves the old value writes one of two kernels, by the address: each group is one machine code, to the bit.
#[test]
fn who_leaves_the_old_value_writes_one_of_two_kernels() {
    let manifest: Manifest = store::read(&root().join("kernels/manifest.yaml"), "manifest").unwrap();
    let code = &manifest.code["day32_no_return"]["sm_90"];
    let global = ["add_unused", "add_shown", "ptx_red", "ptx_atom_unused"].map(|kernel| &code[kernel]);
    let generic = ["ref_unused", "builtin_unused", "ptx_atom_generic"].map(|kernel| &code[kernel]);
    assert!(global.iter().all(|hash| *hash == global[0]), "{global:?}");
    assert!(generic.iter().all(|hash| *hash == generic[0]), "{generic:?}");
    assert_ne!(global[0], generic[0]);
    assert_ne!(&code["add_kept"], global[0]);
}

/// The destination of an atomic that nobody reads is the register that forgets; one that is read has another.
#[test]
fn a_generic_add_forgets_its_reply() {
    let Some(functions) = functions("day32_no_return") else { return };
    let text = |kernel: &str| {
        let function = functions.iter().find(|function| function.name == kernel).unwrap();
        function.atomics().next().unwrap().text.clone()
    };
    assert!(text("ref_unused").contains(" RZ, "), "{}", text("ref_unused"));
    assert!(text("builtin_unused").contains(" RZ, "), "{}", text("builtin_unused"));
    assert!(!text("ref_used").contains(" RZ, "), "{}", text("ref_used"));
}
