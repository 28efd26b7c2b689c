//! The simulator's second column against the machine code: for every kernel that ships, what is predicted of each
//! atomic is what the pinned compiler made of its line, on sm_75 and sm_90. Needs the tools that `scripts/kernels
//! --install` puts into `.toolchain`; with `HOT_ADDRESSES_REQUIRE_TOOLCHAIN` set their lack is a failure.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use labs::toolchain::cache::Cache;
use labs::toolchain::disassembly::{Disassembler, Function, Instruction, Role};
use labs::toolchain::nvrtc::{Header, Nvrtc, Program, Target};
use labs::toolchain::{Architecture, Missing};
use labs_simt::{Folding, Module, SitePrediction, predict};

const ARCHITECTURES: [u32; 2] = [75, 90];

/// Sites where the prediction is known to be wrong: kernel file, kernel (`*` for all of them), architecture, and why.
const KNOWN: [(&str, &str, u32, &str); 10] = [
    ("day35_filter", "agg_smem", 75, MASK),
    ("day35_filter", "agg_smem", 90, MASK),
    ("day36_compaction", "per_warp", 75, LEADER),
    ("day32_no_return", "ref_unused", 75, HEADER),
    ("day32_no_return", "ref_unused", 90, HEADER),
    ("day32_no_return", "ref_used", 75, HEADER),
    ("day32_no_return", "ref_used", 90, HEADER),
    ("day37_litmus", "*", 90, THREAD),
    ("day33_slice_map", "load_lines", 75, ALONE),
    ("day33_slice_map", "load_lines", 90, ALONE),
];
const HEADER: &str = "the instruction is the one predicted; to the disassembler it stands in a line of the library's header, to \
    the simulator in the kernel's line that calls it";
const MASK: &str = "the active mask is one value a warp, and ptxas keeps it in a register of each lane; since the \
    leader alone adds, there is nothing to fold and the count is the same";
const LEADER: &str = "ptxas sees that the first lane alone adds, the prediction does not: a full warp never comes \
    there, and the count is the same";
const ALONE: &str = "thread 0 alone adds, so there is nothing to fold and the count is the same";
const THREAD: &str = "in a loop ptxas does not fold, and thread 0 alone adds where it could; where a fence may come after an \
    add whose old value nobody uses, ptxas asks for the reply all the same";

/// What machine code shows at one source line: its atomics by name, and how they are folded.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    machines: BTreeSet<String>,
    folding: Folding,
}

fn seen(instructions: &[&Instruction]) -> Seen {
    let atomic = |instruction: &&&Instruction| instruction.role() == Some(Role::Atomic);
    let mut machines: BTreeSet<String> =
        instructions.iter().filter(atomic).map(|i| machine(&i.opcode)).collect();
    // A generic address may lead to shared memory: beside the ATOM stands a branch for the types that it cannot add there.
    if machines.contains("ATOM") {
        machines.remove("ATOMS.CAST.SPIN");
    }
    let has = |prefixes: &[&str]| {
        instructions.iter().any(|i| prefixes.iter().any(|prefix| i.opcode.starts_with(prefix)))
    };
    // A folded operation elects its sender among the voters; a full warp is tested by a vote, and both ways follow.
    let elects = has(&["VOTEU.ANY", "VOTE.ANY"]) && has(&["UFLO", "FLO"]);
    let shown: Vec<&&Instruction> = instructions.iter().filter(|i| i.role().is_some()).collect();
    let twice = shown.windows(3).any(|three| {
        three[0].opcode.starts_with("VOTE.ANY")
            && three[1].opcode == three[2].opcode
            && three[1].role() == Some(Role::Atomic)
    });
    let folding = match () {
        () if has(&["ATOMS.POPC"]) => Folding::Address,
        () if twice => Folding::FullWarp,
        () if elects => Folding::Warp,
        () => Folding::None,
    };
    Seen { machines, folding }
}

/// The machine instruction as predictions spell it.
fn machine(opcode: &str) -> String {
    let known = ["REDAS", "UBLKRED", "ATOMS.POPC.INC", "ATOMS.CAST.SPIN", "ATOMS", "ATOMG", "ATOM"];
    known.iter().find(|name| opcode.starts_with(**name)).map_or("RED".to_owned(), |name| (*name).to_owned())
}

/// Where prediction and machine code of a kernel differ, line by line.
fn disagreements(sites: &[SitePrediction], function: Option<&Function>) -> Vec<String> {
    let mut found: BTreeMap<u32, Vec<&Instruction>> = BTreeMap::new();
    for instruction in function.iter().flat_map(|function| &function.instructions) {
        if let Some(source) = &instruction.source {
            found.entry(source.line).or_default().push(instruction);
        }
    }
    let mut predicted: BTreeMap<u32, Vec<&SitePrediction>> = BTreeMap::new();
    sites.iter().for_each(|site| predicted.entry(site.line).or_default().push(site));
    let with_atomics = found.iter().filter(|(_, list)| list.iter().any(|i| i.role() == Some(Role::Atomic)));
    let lines: BTreeSet<u32> = with_atomics.map(|(line, _)| *line).chain(predicted.keys().copied()).collect();
    let mut differences = Vec::new();
    for line in lines {
        let sites = predicted.get(&line).map(Vec::as_slice).unwrap_or_default();
        let made = seen(found.get(&line).map(Vec::as_slice).unwrap_or_default());
        let machines: BTreeSet<String> = sites.iter().map(|site| site.machine.to_owned()).collect();
        let foldings: Vec<Folding> = sites.iter().map(|site| site.folding).collect();
        // Two atomics of one line that fold differently: which one did, the opcodes do not say.
        let mixed = foldings.iter().any(|folding| *folding != foldings[0]);
        if machines != made.machines || !(mixed || foldings.contains(&made.folding)) {
            differences
                .push(format!("line {line}: predicted {machines:?} {foldings:?}, ptxas made {made:?}"));
        }
    }
    differences
}

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

/// A compiler and a disassembler that names source lines.
fn tools() -> Option<(Nvrtc, Disassembler)> {
    let nvrtc = found(Nvrtc::find(Some(&root())))?;
    let disassembler = found(Disassembler::find(Some(&root())))?;
    let pinned = nvrtc.is_pinned() && disassembler.path().file_stem().is_some_and(|stem| stem == "nvdisasm");
    let required = std::env::var_os("HOT_ADDRESSES_REQUIRE_TOOLCHAIN").is_some();
    assert!(pinned || !required, "not the pinned tools; run scripts/kernels --install");
    if !pinned {
        eprintln!(
            "SKIPPED, not passed: neither another compiler nor cuobjdump is what predictions are held to"
        );
    }
    pinned.then_some((nvrtc, disassembler))
}

/// The kernel files, `day26_sum`, with their text.
fn kernel_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("kernels")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "cu") {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            files.push((stem, fs::read_to_string(&path).unwrap()));
        }
    }
    files.sort();
    files
}

/// Machine code of a kernel file, by kernel.
fn functions(
    (nvrtc, disassembler): &(Nvrtc, Disassembler),
    stem: &str,
    text: &str,
    sm: u32,
) -> Vec<Function> {
    let common = fs::read_to_string(root().join("kernels/common.cuh")).unwrap();
    let headers = [Header { name: "common.cuh", source: &common }];
    let name = format!("kernels/{stem}.cu");
    let program = Program { name: &name, source: text, headers: &headers };
    let cubin = Cache::open().compile(nvrtc, &program, Target::Cubin(Architecture(sm))).unwrap();
    disassembler.functions(&cubin.image).unwrap()
}

/// The PTX that the simulator runs for this architecture: the newest that ships and is not newer.
fn shipped_ptx(stem: &str, sm: u32) -> Module {
    let path = |sm: &u32| root().join(format!("kernels/ptx/{stem}.sm{sm}.ptx"));
    let newest = (75..=sm).rev().find(|sm| path(sm).is_file()).unwrap_or_else(|| panic!("no PTX of {stem}"));
    let text = fs::read_to_string(path(&newest)).unwrap();
    Module::parse(&text).unwrap_or_else(|error| panic!("{stem}: {error}"))
}

#[test]
fn predictions_hold_for_every_shipped_kernel() {
    let Some(tools) = tools() else { return };
    let (mut sites, mut wrong, mut unused) = (0, Vec::new(), KNOWN.to_vec());
    for (stem, text) in kernel_files() {
        for sm in ARCHITECTURES {
            let functions = functions(&tools, &stem, &text, sm);
            let module = shipped_ptx(&stem, sm);
            for kernel in module.kernels() {
                let predicted = predict(&module, kernel, sm).unwrap();
                sites += predicted.len();
                let function = functions.iter().find(|function| function.name == kernel);
                assert!(function.is_some(), "{stem} sm_{sm}: no machine code of {kernel}");
                let differences = disagreements(&predicted, function);
                let known = |(file, name, at, _): &(&str, &str, u32, &str)| {
                    *file == stem && (*name == kernel || *name == "*") && *at == sm
                };
                if !differences.is_empty() && KNOWN.iter().any(known) {
                    unused.retain(|exception| !known(exception));
                    continue;
                }
                wrong.extend(differences.iter().map(|what| format!("{stem} sm_{sm} {kernel} {what}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} sites disagree:\n{}", wrong.len(), wrong.join("\n"));
    assert!(unused.is_empty(), "these agree by now and are no exceptions: {unused:?}");
    assert!(sites >= 10, "only {sites} atomics were compared");
}

/// Predictions for other machine code, and code without its atomics, are refused.
#[test]
fn a_wrong_prediction_is_noticed() {
    let Some(tools) = tools() else { return };
    let (stem, text) = kernel_files().into_iter().find(|(stem, _)| stem == "day26_sum").unwrap();
    let functions = functions(&tools, &stem, &text, 90);
    let module = shipped_ptx(&stem, 90);
    let of = |kernel: &str| functions.iter().find(|function| function.name == kernel).unwrap().clone();
    let sites = predict(&module, "shared_privatised", 90).unwrap();
    assert_eq!(disagreements(&sites, Some(&of("shared_privatised"))), Vec::<String>::new());
    assert!(!disagreements(&sites, Some(&of("block_tree"))).is_empty());
    assert!(!disagreements(&[], Some(&of("shared_privatised"))).is_empty());
    assert!(!disagreements(&sites, None).is_empty());
    let mut folded = sites.clone();
    folded.iter_mut().for_each(|site| site.folding = Folding::Warp);
    assert!(!disagreements(&folded, Some(&of("shared_privatised"))).is_empty());
    let mut without = of("shared_privatised");
    without.instructions.retain(|instruction| !instruction.opcode.starts_with("ATOMS"));
    assert!(!disagreements(&sites, Some(&without)).is_empty());
}
