//! The prediction of what ptxas makes of each atomic, against what it made of small kernels. The shipped kernels are
//! compared in `labs/tests/prediction.rs`, which has the compiler.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::collections::BTreeSet;

use common::fixture;
use labs_simt::{Folding, Module, SitePrediction, predict};

/// Cases where the rules are known not to say what ptxas does, with the reason.
const KNOWN: [(&str, &str); 2] = [
    (
        "t_local",
        "ptxas knows what was stored in the thread's own array; the prediction takes it for different",
    ),
    ("t_loopdiv_addr", "on sm_75 the kernel's own FLO looks like the election of a sender"),
];

/// What a kernel's machine code shows: its atomics by name, and how they are folded.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    machines: BTreeSet<String>,
    folding: Folding,
}

/// Reads a list of opcodes as `fold.sass` has them.
fn seen(opcodes: &[&str]) -> Seen {
    let atomic = |o: &&&str| o.starts_with("RED.") || o.starts_with("REDG.") || o.starts_with("ATOM");
    let machines: BTreeSet<String> = opcodes.iter().filter(atomic).map(|o| name(o)).collect();
    let has = |prefix: &str| opcodes.iter().any(|o| o.starts_with(prefix));
    // A folded operation elects its sender among the voters; a full warp is tested by a vote, and both ways follow.
    let elects = (has("VOTEU.ANY") || has("VOTE.ANY")) && (has("UFLO") || has("FLO"));
    let twice = opcodes.windows(3).any(|w| {
        w[0].starts_with("VOTE.ANY") && w[1] == w[2] && (w[1].starts_with("RED") || w[1].starts_with("ATOM"))
    });
    let folding = match () {
        () if has("ATOMS.POPC") => Folding::Address,
        () if twice => Folding::FullWarp,
        () if elects => Folding::Warp,
        () => Folding::None,
    };
    Seen { machines, folding }
}

/// The machine instruction as predictions spell it.
fn name(opcode: &str) -> String {
    let known = ["ATOMS.POPC.INC", "ATOMS.CAST.SPIN", "ATOMS", "ATOMG", "ATOM"];
    known.iter().find(|k| opcode.starts_with(**k)).map_or("RED".to_owned(), |k| (*k).to_owned())
}

fn disagreement(sites: &[SitePrediction], opcodes: &[&str]) -> Option<String> {
    let seen = seen(opcodes);
    let machines: BTreeSet<String> = sites.iter().map(|s| s.machine.to_owned()).collect();
    // Several atomics in a kernel: which one is folded, the opcodes alone do not say.
    let foldings: BTreeSet<String> = sites.iter().map(|s| format!("{:?}", s.folding)).collect();
    let folding_fits = foldings.len() != 1 || foldings.contains(&format!("{:?}", seen.folding));
    (machines != seen.machines || !folding_fits)
        .then(|| format!("predicted {machines:?} {foldings:?}, ptxas made {seen:?}"))
}

#[test]
fn predictions_hold_for_every_case_on_three_architectures() {
    let module = fixture("fold.sm75.ptx");
    let evidence = include_str!("ptx/fold.sass");
    let (mut checked, mut wrong) = (0, Vec::new());
    for line in evidence.lines().filter(|l| !l.starts_with('#')) {
        let (head, opcodes) = line.split_once(':').unwrap();
        let (sm, kernel) = head.split_once(' ').unwrap();
        let opcodes: Vec<&str> = opcodes.split_whitespace().collect();
        let sites = predict(&module, kernel, sm.parse().unwrap()).unwrap();
        checked += 1;
        if let Some(why) = disagreement(&sites, &opcodes) {
            wrong.push(format!("sm_{sm} {kernel}: {why}\n    {}", opcodes.join(" ")));
        }
    }
    wrong.retain(|w| !KNOWN.iter().any(|(kernel, _)| w.contains(&format!(" {kernel}:"))));
    assert!(checked > 300, "{checked}");
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_wrong_prediction_is_noticed() {
    let module = fixture("fold.sm75.ptx");
    let sites = predict(&module, "p_add_const", 75).unwrap();
    assert!(disagreement(&sites, &["VOTEU.ANY", "UFLO.U32", "POPC", "RED.E.ADD.STRONG.GPU"]).is_none());
    assert!(disagreement(&sites, &["RED.E.ADD.STRONG.GPU"]).is_some());
    assert!(disagreement(&sites, &["VOTEU.ANY", "UFLO.U32", "POPC", "ATOMG.E.ADD.STRONG.GPU"]).is_some());
}

/// ptxas 12.9: a 32-bit `ATOMG.E.CAS` in a loop for 16 bits, `ATOMS.CAST.SPIN` for floats in shared memory.
#[test]
fn what_the_hardware_lacks_is_a_loop() {
    let text = ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {
        .reg .b16 %h<2>; .reg .b32 %r<2>; .reg .f32 %f<2>; .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [p];
        red.global.add.noftz.f16 [%rd1], %h1;
        red.global.add.noftz.f16x2 [%rd1], %r1;
        red.shared.add.f32 [%rd1], %f1;
        red.global.add.f32 [%rd1], %f1; }";
    let sites = predict(&Module::parse(text).unwrap(), "k", 90).unwrap();
    let found: Vec<_> = sites.iter().map(|s| (s.machine, s.loops)).collect();
    assert_eq!(found, [("ATOMG", true), ("RED", false), ("ATOMS.CAST.SPIN", true), ("RED", false)]);
}
