//! day37: the machine code has every event of every version, the page's verdicts are the model's, and without a GPU the
//! program prints verdicts and no counts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use labs::cli::{self, Request};
use labs::lab::{self, Case, Lab};
use labs::toolchain::Architecture;
use labs::toolchain::cache::Cache;
use labs::toolchain::disassembly::{Disassembler, Function};
use labs::toolchain::nvrtc::{Header, Nvrtc, Program, Target};
use labs_record::Coordinate;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn day37() -> &'static dyn Lab {
    lab::find("day37").unwrap()
}

/// What stands in the machine code between the start of a round and its answer, in this order: loads, stores and fences,
/// each as `L`, `S` or `F` with its strength. Of a load and a store in a row one is made, by what the part does.
fn events(function: &Function) -> Vec<String> {
    let list = &function.instructions;
    let bars: Vec<usize> = (0..list.len()).filter(|at| list[*at].mnemonic() == "BAR").collect();
    let [.., start, end] = bars.as_slice() else { return Vec::new() };
    let mut events = Vec::new();
    for instruction in &list[*start + 1..*end] {
        let strength = |from: &str| {
            let parts: Vec<&str> = instruction.opcode.split('.').collect();
            let found = parts.iter().position(|part| *part == from).and_then(|at| parts.get(at + 1));
            // Turing says CTA where later ones say SM.
            found.map_or("weak", |scope| if *scope == "CTA" { "SM" } else { scope }).to_owned()
        };
        match instruction.mnemonic() {
            "LDG" | "LD" => events.push(format!("L:{}", strength("STRONG"))),
            "STG" | "ST" => events.push(format!("S:{}", strength("STRONG"))),
            "MEMBAR" => events.push(instruction.opcode.replace("MEMBAR.", "F:")),
            _ => {}
        }
    }
    events
}

/// The events of a version as [`events`] tells them: what its name promises.
fn promised(variant: &str) -> Vec<String> {
    let (order, scope) = match variant.rsplit_once('_') {
        Some((order, "cta")) => (order, "SM"),
        // A cluster's scope is the GPU's in machine code.
        Some((order, "cluster" | "gpu")) => (order, "GPU"),
        Some((order, "sys")) => (order, "SYS"),
        _ => (variant, "weak"),
    };
    let fenced = if scope == "SM" { "CTA" } else { scope };
    let mut access = vec![format!("L:{scope}")];
    if order == "relacq" {
        access.push(format!("F:ALL.{fenced}"));
    }
    access.push(format!("S:{scope}"));
    let fence = match order {
        "fence_acq_rel" => vec![format!("F:ALL.{fenced}")],
        "fence_sc" => vec![format!("F:SC.{fenced}")],
        _ => Vec::new(),
    };
    // Last the answer, and what was looked at.
    let after = vec!["S:weak".to_owned(); 2];
    [access.clone(), fence, access, after].concat()
}

/// The functions of the kernel file, or a loud skip.
fn functions(sm: u32) -> Option<Vec<Function>> {
    let required = std::env::var_os("HOT_ADDRESSES_REQUIRE_TOOLCHAIN").is_some();
    let tools = Nvrtc::find(Some(&root())).ok().zip(Disassembler::find(Some(&root())).ok());
    let Some((nvrtc, disassembler)) = tools.filter(|(nvrtc, _)| nvrtc.is_pinned()) else {
        assert!(!required, "no pinned tools; run scripts/kernels --install");
        eprintln!("SKIPPED, not passed: no pinned compiler and disassembler");
        return None;
    };
    let text = |name: &str| fs::read_to_string(root().join("kernels").join(name)).unwrap();
    let (source, common) = (text("day37_litmus.cu"), text("common.cuh"));
    let headers = [Header { name: "common.cuh", source: &common }];
    let program = Program { name: "kernels/day37_litmus.cu", source: &source, headers: &headers };
    let cubin = Cache::open().compile(&nvrtc, &program, Target::Cubin(Architecture(sm))).unwrap();
    Some(disassembler.functions(&cubin.image).unwrap())
}

/// So no row of the matrix shows the compiler instead of the machine.
#[test]
fn the_machine_code_has_every_event_in_its_place() {
    for sm in [75, 80, 90, 100, 120] {
        let Some(functions) = functions(sm) else { return };
        let here = day37().variants().iter().filter(|variant| variant.needs <= sm);
        let mut compared = 0;
        for variant in here {
            let function = functions.iter().find(|function| function.name == variant.name).unwrap();
            assert_eq!(events(function), promised(variant.name), "{} for sm_{sm}", variant.name);
            compared += 1;
        }
        assert_eq!(compared, if sm >= 90 { 18 } else { 14 });
    }
}

#[test]
fn a_missing_merged_or_moved_event_is_noticed() {
    let Some(functions) = functions(90) else { return };
    let of = |name: &str| functions.iter().find(|function| function.name == name).unwrap().clone();
    let fenced = of("fence_sc_gpu");
    for opcode in ["MEMBAR.SC.GPU", "STG.E.STRONG.GPU", "LDG.E.STRONG.GPU"] {
        let mut without = fenced.clone();
        let last = without.instructions.iter().rposition(|instruction| instruction.opcode == opcode).unwrap();
        without.instructions.remove(last);
        assert_ne!(events(&without), promised("fence_sc_gpu"), "without a {opcode}");
    }
    assert_ne!(events(&of("fence_sc_cta")), promised("fence_sc_gpu"));
    assert_ne!(events(&of("relaxed_gpu")), promised("relacq_gpu"));
    let mut moved = fenced;
    let fence = moved.instructions.iter().rposition(|i| i.mnemonic() == "MEMBAR").unwrap();
    moved.instructions.swap(fence, fence - 1);
    let before = moved.instructions[fence].mnemonic().to_owned();
    assert!(before != "LDG" || events(&moved) != promised("fence_sc_gpu"));
}

fn word(test: &str, variant: &str, place: &str) -> String {
    let variant = day37().variants().iter().find(|known| known.name == variant).copied();
    let at = [("test", test), ("place", place)].map(|(axis, at)| (axis.to_owned(), Coordinate::from(at)));
    let words = day37().derived(&[Case { variant, at: at.into() }]).unwrap();
    words[0].word.split(',').next().unwrap().to_owned()
}

/// Whether a variant's scope holds both ends of a place.
fn reaches(variant: &str, place: &str) -> bool {
    let far = ["same_warp", "same_block", "same_cluster", "other_block", "host"];
    let far = far.iter().position(|known| place.starts_with(known)).unwrap();
    let wide = [("cta", 1), ("cluster", 2), ("gpu", 3), ("sys", 4)];
    wide.iter().any(|(scope, widest)| variant.ends_with(&format!("_{scope}")) && far <= *widest)
}

/// The page's column for a variant at a place: its order if the scope reaches, else as if there were none.
fn column(variant: &str, place: &str) -> usize {
    match variant {
        _ if !reaches(variant, place) => 1,
        "volatile_sys" => 2,
        _ if variant.starts_with("relaxed") => 2,
        _ if variant.starts_with("relacq") => 3,
        _ if variant.starts_with("fence_acq_rel") => 4,
        _ => 5,
    }
}

/// The page's table of verdicts holds for every test, variant and place.
#[test]
fn the_page_says_what_the_model_says() {
    let page = fs::read_to_string(root().join("book/src/litmus_matrix.md")).unwrap();
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let tests: Vec<String> = day37().axes()[0].defaults.iter().map(ToString::to_string).collect();
    let mut wrong = Vec::new();
    for test in &tests {
        let mut rows = page.lines().map(cells).filter(|row| row[0].trim_matches('`') == test);
        let row = rows.find(|row| row.len() == 6);
        let row = row.unwrap_or_else(|| panic!("the page has no row `{test}`"));
        for variant in day37().variants() {
            for place in ["same_warp", "same_block", "same_cluster", "other_block", "host", "host_first"] {
                let (said, model) = (&row[column(variant.name, place)], word(test, variant.name, place));
                if *said != model {
                    wrong.push(format!(
                        "{test} {} {place}: the page says {said}, the model {model}",
                        variant.name
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn labs(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_labs")).args(arguments).current_dir(root()).output().unwrap()
}

fn told(arguments: &[&str]) -> String {
    let output = labs(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn without_a_gpu_there_are_verdicts_and_no_counts() {
    let all = told(&["day37", "--backend", "sim"]);
    assert!(
        all.contains("MP  (what the model says)") && all.contains("ISA2  (what the model says)"),
        "{all}"
    );
    assert!(!all.contains(" of ") && !all.contains("RECORDED"), "{all}");
    let one = [
        "day37",
        "--backend",
        "sim",
        "--test",
        "MP",
        "--scope",
        "gpu",
        "--order",
        "relacq",
        "--place",
        "other_block",
    ];
    let one = told(&one);
    assert!(one.contains("forbidden") && one.contains("sync  T1 ld.acquire.gpu"), "{one}");
    let json = told(&[
        "day37",
        "--backend",
        "sim",
        "--test",
        "MP",
        "--scope",
        "cta",
        "--order",
        "relacq",
        "--format",
        "json",
    ]);
    assert!(json.contains("\"word\": \"allowed, race\""), "{json}");
}

#[test]
fn order_and_scope_choose_variants() {
    let chosen = |arguments: &[&str]| {
        let line = ["labs", "day37"].iter().chain(arguments).map(std::ffi::OsString::from);
        cli::parse(line).map(|request| match request {
            Request::Run { args, .. } => args.variants,
            Request::Other(_) => panic!("a lab was asked for"),
        })
    };
    assert_eq!(chosen(&["--scope", "cta", "--order", "relacq"]).unwrap(), ["relacq_cta"]);
    assert_eq!(chosen(&["--scope", "none"]).unwrap(), ["plain"]);
    assert_eq!(chosen(&["--order", "relaxed", "--variant", "relaxed_gpu"]).unwrap(), ["relaxed_gpu"]);
    assert_eq!(chosen(&[]).unwrap(), Vec::<String>::new());
    assert!(chosen(&["--scope", "cta", "--order", "plain"]).is_err());
    assert!(chosen(&["--scope", "warp"]).is_err());
}

/// The detector reports every version whose scope does not reach, and none of the others.
#[test]
fn races_are_told_where_a_scope_does_not_reach() {
    let output = labs(&["day37", "--check", "races"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}{}", String::from_utf8_lossy(&output.stderr));
    for variant in day37().variants() {
        let line = told.lines().find(|line| line.starts_with(&format!("{}:", variant.name))).unwrap();
        assert_eq!(line.contains("no race"), reaches(variant.name, "other_block"), "{line}");
    }
}
