//! Part 4, scoped ordering: the race detector reports every wrong variant and none of the right ones, and machine code
//! is what the chapters say of it. The latter needs NVRTC and a disassembler.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use labs::lab::{self, Lab};
use labs::session::Job;
use labs::simulate;
use labs::toolchain::Architecture;
use labs::toolchain::disassembly::{Disassembler, Function};
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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The kernels of a lab in machine code for the reference GPU's architecture; a loud skip where tools are missing.
fn machine_code(stem: &str) -> Option<Vec<Function>> {
    let tools = Nvrtc::find(Some(&root())).ok().zip(Disassembler::find(Some(&root())).ok());
    let required = std::env::var_os("HOT_ADDRESSES_REQUIRE_TOOLCHAIN").is_some();
    assert!(tools.is_some() || !required, "no NVRTC or no disassembler; run scripts/kernels --install");
    let Some((nvrtc, disassembler)) = tools else {
        eprintln!("SKIPPED, not passed: no NVRTC or no disassembler; run scripts/kernels --install");
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
        // The innermost loop that reads the clock is the wait.
        let bodies = function.loops().into_iter().map(|range| &function.instructions[range]);
        let wait = bodies.filter(|body| body.iter().any(|i| i.text.contains("SR_CLOCKLO")));
        let wait = wait.min_by_key(|body| body.len()).unwrap_or_else(|| panic!("{name}: no wait"));
        let looks = wait.iter().filter(|instruction| instruction.opcode == look).count();
        assert_eq!(looks, usize::from(name != "plain_load"), "{name}: {wait:?}");
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
