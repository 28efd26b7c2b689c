//! Part 4, scoped ordering: the race detector reports every wrong variant and none of the right ones, and machine code
//! is what the chapters say of it. The latter needs NVRTC and a disassembler.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use labs::lab::{self, Lab};
use labs::session::Job;
use labs::simulate;
use labs::toolchain::Architecture;
use labs::toolchain::disassembly::{Disassembler, Function, Instruction};
use labs::toolchain::nvrtc::{Header, Nvrtc, Program, Target};
use labs_record::record::Outcome;

fn job(lab: &dyn Lab) -> Job {
    Job {
        lab: lab.stem().to_owned(),
        variants: Vec::new(),
        places: BTreeMap::new(),
        samples: None,
        seed: 5,
        kernel: None,
        pinned: false,
        only_check: true,
    }
}

#[test]
fn the_race_detector_reports_the_wrong_variants_and_no_others() {
    let (mut right, mut wrong) = (0, 0);
    for lab in lab::registry().iter().filter(|lab| lab.part() == 4) {
        for variant in lab.variants() {
            let (races, caught) = simulate::watch(*lab, &job(*lab), variant).unwrap();
            let name = format!("{} {}", lab.stem(), variant.name);
            if variant.declared == Outcome::Correct {
                assert!(races.races.is_empty() && caught.is_none(), "{name}: {races} {caught:?}");
                right += 1;
            } else {
                // A wait for a block that can't begin is no race.
                let races_at_all = variant.name != "block_index";
                assert_eq!(!races.races.is_empty(), races_at_all, "{name}: {races}");
                assert!(races_at_all || caught.is_some(), "{name} is wrong, and no result shows it");
                wrong += 1;
            }
        }
    }
    assert!(right >= 4 && wrong >= 7, "{right} right and {wrong} wrong variants");
}

/// The last block's pattern of day 14 with its fences where they do nothing: after a release has begun, or in a thread
/// that draws no ticket. The right one, changed in nothing, is the control.
#[test]
fn fences_elsewhere_are_reported() {
    if Nvrtc::find(Some(&root())).is_err() {
        return skip();
    }
    let lab = lab::find("day14").unwrap();
    let variant = lab.variants().iter().find(|variant| variant.name == "last_block_fenced").unwrap();
    let source = std::fs::read_to_string(root().join("kernels/day14_barrier.cu")).unwrap();
    let (before, rest) = source.split_once("// ANCHOR: last_block_fenced\n").unwrap();
    let (kernel, after) = rest.split_once("// ANCHOR_END: last_block_fenced").unwrap();
    let fence = "        __threadfence();\n";
    let [head, middle, tail] = kernel.split(fence).collect::<Vec<_>>()[..] else { panic!("two fences") };
    let (store, draw) = ("        sum[blockIdx.x] = mine;\n", "    if (threadIdx.x == 0) {\n");
    let elsewhere = "    if (threadIdx.x == 32) {\n        __threadfence();\n    }\n    __syncthreads();\n";
    let all_others = "    __threadfence();\n    __syncthreads();\n";
    let kernels = [
        ("both", kernel.to_owned(), false),
        ("none before the ticket", [head, middle, fence, tail].concat(), true),
        ("before the store", [&head.replace(store, ""), fence, store, middle, fence, tail].concat(), true),
        (
            "by another thread",
            [&head.replace(draw, &[elsewhere, draw].concat()), middle, fence, tail].concat(),
            true,
        ),
        (
            "by all, too early",
            [&head.replace(draw, &[all_others, draw].concat()), middle, fence, tail].concat(),
            true,
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(root().join("kernels/common.cuh"), folder.path().join("common.cuh")).unwrap();
    for (what, kernel, races) in kernels {
        let file = folder.path().join("day14_barrier.cu");
        std::fs::write(&file, [before, &kernel, after].concat()).unwrap();
        let job = Job { kernel: Some(file), ..job(lab) };
        let (found, _) = simulate::watch(lab, &job, variant).unwrap();
        assert_eq!(!found.races.is_empty(), races, "{what}: {found}");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn skip() {
    let required = std::env::var_os("HOT_ADDRESSES_REQUIRE_TOOLCHAIN").is_some();
    assert!(!required, "no NVRTC or no disassembler; run scripts/kernels --install");
    eprintln!("SKIPPED, not passed: no NVRTC or no disassembler; run scripts/kernels --install");
}

/// The kernels of a lab in machine code for the reference GPU's architecture; a loud skip where tools are missing.
fn machine_code(stem: &str) -> Option<Vec<Function>> {
    let tools = Nvrtc::find(Some(&root())).ok().zip(Disassembler::find(Some(&root())).ok());
    let Some((nvrtc, disassembler)) = tools else {
        skip();
        return None;
    };
    let text = |name: &str| std::fs::read_to_string(root().join("kernels").join(name)).unwrap();
    let (name, source, common) = (format!("{stem}.cu"), text(&format!("{stem}.cu")), text("common.cuh"));
    let headers = [Header { name: "common.cuh", source: &common }];
    let program = Program { name: &name, source: &source, headers: &headers };
    let compiled = nvrtc.compile(&program, Target::Cubin(Architecture(90))).unwrap();
    Some(disassembler.functions(&compiled.image).unwrap())
}

fn kernel<'a>(functions: &'a [Function], name: &str) -> &'a Function {
    functions.iter().find(|function| function.name == name).unwrap()
}

/// What each order and scope of day 38 is made of.
#[test]
fn orders_are_the_instructions_that_the_chapter_names() {
    let Some(functions) = machine_code("day38_order_cost") else { return };
    // In machine code: the scope of an atomic, and of a fence. A cluster has none of its own.
    let scopes =
        [("cta", "SM", "CTA"), ("cluster", "GPU", "GPU"), ("gpu", "GPU", "GPU"), ("sys", "SYS", "SYS")];
    for (scope, atomic, fence) in scopes {
        let wide = scope != "cta";
        let add = format!("ATOMG.E.ADD.STRONG.{atomic}");
        let membar = |kind: &str| {
            let barrier = format!("MEMBAR.{kind}.{fence}");
            let behind = ["ERRBAR", "CGAERRBAR"].iter().filter(|_| wide).map(|name| (*name).to_owned());
            std::iter::once(barrier).chain(behind).collect::<Vec<_>>()
        };
        let forget: Vec<String> = std::iter::once("CCTL.IVALL".to_owned()).filter(|_| wide).collect();
        let add = vec![add];
        let wanted = [
            ("relaxed", vec![add.clone()]),
            ("acquire", vec![add.clone(), forget.clone()]),
            ("release", vec![membar("ALL"), add.clone()]),
            ("acq_rel", vec![membar("ALL"), add.clone(), forget.clone()]),
            ("seq_cst", vec![membar("SC"), forget.clone(), add.clone(), forget.clone()]),
            ("fence_acq_rel", vec![membar("ALL"), forget.clone()]),
            ("fence_sc", vec![membar("SC"), forget.clone()]),
        ];
        for (order, wanted) in wanted {
            let function = kernel(&functions, &format!("{order}_{scope}"));
            let found: Vec<String> = function.evidence().map(|i| i.opcode.clone()).collect();
            assert_eq!(found, wanted.concat(), "{order} {scope}");
        }
    }
}

/// The innermost loop that reads the clock: the wait.
fn wait(function: &Function) -> RangeInclusive<usize> {
    let reads_clock =
        |range: &RangeInclusive<usize>| function.instructions[range.clone()].iter().any(is_clock_read);
    let waits = function.loops().into_iter().filter(reads_clock);
    waits
        .min_by_key(|range| range.end() - range.start())
        .unwrap_or_else(|| panic!("{}: no wait", function.name))
}

fn is_clock_read(instruction: &Instruction) -> bool {
    instruction.text.contains("SR_CLOCKLO")
}

/// A plain load in a wait stands before the loop, and every other kind of look stays in it.
#[test]
fn only_the_plain_load_is_hoisted() {
    let Some(functions) = machine_code("day39_spin") else { return };
    let looks = [
        ("plain_load", "LDG.E"),
        ("volatile_load", "LDG.E.STRONG.SYS"),
        ("relaxed_load", "LDG.E.STRONG.GPU"),
        ("acquire_load", "LDG.E.STRONG.GPU"),
        ("fence_in_loop", "LDG.E.STRONG.SYS"),
        ("atomic_or", "ATOMG.E.OR.STRONG.GPU"),
        ("backoff", "LDG.E.STRONG.GPU"),
        ("test_and_set", "ATOMG.E.EXCH.STRONG.GPU"),
    ];
    for (name, look) in looks {
        let function = kernel(&functions, name);
        assert!(
            function.instructions.iter().any(|instruction| instruction.opcode == look),
            "{name}: no {look}"
        );
        let wait = &function.instructions[wait(function)];
        let looks = wait.iter().filter(|instruction| instruction.opcode == look).count();
        assert_eq!(looks, usize::from(name != "plain_load"), "{name}: {wait:?}");
    }
}

/// The chapter shows two waits in machine code; what it shows is what the compiler makes of the kernel file.
#[test]
fn the_waits_that_the_chapter_shows_are_the_compilers() {
    let Some(functions) = machine_code("day39_spin") else { return };
    for name in ["plain_load", "volatile_load"] {
        let function = kernel(&functions, name);
        let wait = wait(function);
        let is_load = |at: &usize| function.instructions[*at].mnemonic() == "LDG";
        let look = (0..=*wait.end()).rev().find(is_load).unwrap();
        let lines = (look..=*wait.end()).map(|at| {
            let mark = if wait.contains(&at) { "loop  " } else { "      " };
            format!("{mark}{}\n", function.instructions[at].text)
        });
        let listing: String = lines.collect();
        let path = root().join(format!("kernels/sass/day39_{name}.txt"));
        if std::env::var_os("HOT_ADDRESSES_WRITE_LISTINGS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &listing).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            kept, listing,
            "{name}: write it anew with HOT_ADDRESSES_WRITE_LISTINGS=1 and read the chapter"
        );
    }
}

/// What announces a sum in day 40: order at device scope, at block scope, or none.
#[test]
fn a_flag_is_ordered_by_membar_and_cctl_or_by_nothing() {
    let Some(functions) = machine_code("day40_lookback") else { return };
    for (name, membar, empties_l1, load) in [
        ("released_flag", Some("MEMBAR.ALL.GPU"), true, "LDG.E.STRONG.GPU"),
        ("block_scope", Some("MEMBAR.ALL.CTA"), false, "LDG.E.STRONG.SM"),
        ("relaxed_flag", None, false, "LDG.E.STRONG.GPU"),
        ("packed_word", None, false, "LDG.E.64.STRONG.GPU"),
    ] {
        let function = kernel(&functions, name);
        let opcodes = || function.instructions.iter().map(|instruction| instruction.opcode.as_str());
        let membars: Vec<&str> = opcodes().filter(|opcode| opcode.starts_with("MEMBAR")).collect();
        // One before each of the two flags that a tile writes.
        assert_eq!(membars, vec![membar; 2].into_iter().flatten().collect::<Vec<_>>(), "{name}");
        assert_eq!(opcodes().any(|opcode| opcode == "CCTL.IVALL"), empties_l1, "{name}");
        let loads: Vec<&str> =
            opcodes().filter(|opcode| opcode.contains("LDG.E") && opcode.contains("STRONG")).collect();
        assert_eq!(loads, [load], "{name}");
    }
}
