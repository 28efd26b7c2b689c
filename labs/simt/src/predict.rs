//! What ptxas is predicted to make of each atomic. The rules were read off the
//! machine code of small kernels (ptxas 12.9 for sm_75, sm_80, sm_90), which
//! `tests/prediction.rs` holds them to.

mod uniform;

use crate::code::{Atomic, AtomicOp, Code, Op};
use crate::decode::{Module, Parts};
use crate::event::Order;
use crate::types::{Class, Space};
use uniform::Uniform;

/// How a warp's operations at one place are folded into fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Folding {
    /// Each lane sends its own.
    None,
    /// The active lanes send one (vote and popc, or redux).
    Warp,
    /// A full warp sends one (by shuffles); when a lane is missing, each sends its own.
    FullWarp,
    /// One for each distinct address (`ATOMS.POPC.INC`).
    Address,
}

/// The prediction for one atomic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitePrediction {
    /// Index of the instruction in its kernel.
    pub instruction: u32,
    /// Source line by `.loc`, or the PTX line.
    pub line: u32,
    /// The instruction as the PTX spells it.
    pub text: String,
    /// What it does.
    pub op: AtomicOp,
    /// How the warp's lanes are folded.
    pub folding: Folding,
    /// The machine instruction's name: `RED`, `ATOMG`, `ATOM` (generic address), `ATOMS`,
    /// `ATOMS.POPC.INC`, `ATOMS.CAST.SPIN`, `REDAS` (asynchronous), `UBLKRED` (bulk). On sm_90 and up the disassembler
    /// spells RED as `REDG`.
    pub machine: &'static str,
    /// A reply comes back from memory.
    pub returns: bool,
    /// There is no such machine instruction: a loop around compare-and-swap stands for it.
    pub loops: bool,
}

/// Predictions for a kernel's atomics on `sm` (75, 80, 90), in its order. None when there is no such kernel.
pub fn predict(module: &Module, kernel: &str, sm: u32) -> Option<Vec<SitePrediction>> {
    module.code(kernel).map(|code| predict_code(code, &module.parts, sm))
}

pub(crate) fn predict_code(code: &Code, parts: &Parts, sm: u32) -> Vec<SitePrediction> {
    let is_atomic = |op: &Op| matches!(op, Op::Atomic(_) | Op::Bulk(_));
    let atomics: Vec<_> = code.instrs.iter().enumerate().filter(|(_, instr)| is_atomic(&instr.op)).collect();
    if atomics.is_empty() {
        return Vec::new();
    }
    let uniform = Uniform::of(code, sm);
    atomics
        .into_iter()
        .filter_map(|(at, instr)| {
            let site = |op, folding, machine, loops| SitePrediction {
                instruction: at as u32,
                line: instr.line,
                text: parts.text(instr.ptx_line).to_owned(),
                op,
                folding,
                machine,
                returns: !matches!(machine, "RED" | "REDAS" | "UBLKRED"),
                loops,
            };
            match &instr.op {
                Op::Atomic(atomic) => {
                    let used = uniform.is_read(atomic.ty.class(), &atomic.to);
                    let folding = folding(&uniform, atomic, used, uniform.single_lane(at), sm);
                    let machine = machine(atomic, used, folding);
                    let loops = atomic.ty.bytes() == 2 || machine == "ATOMS.CAST.SPIN";
                    Some(site(atomic.op, folding, machine, loops))
                }
                Op::Bulk(bulk) => Some(site(bulk.op, Folding::None, "UBLKRED", false)),
                _ => None,
            }
        })
        .collect()
}

fn folding(uniform: &Uniform<'_>, atomic: &Atomic, used: bool, single: bool, sm: u32) -> Folding {
    let [operand] = atomic.from[..] else { return Folding::None };
    if atomic.asynchronous {
        return Folding::None;
    }
    let (ty, space) = (atomic.ty, atomic.at.space);
    let wide = ty.class() == Class::Wide;
    if ty.float() {
        return Folding::None;
    }
    if space == Space::Shared
        && sm >= 80
        && !used
        && !wide
        && atomic.op == AtomicOp::Add
        && uniform.constant(operand) == Some(1)
    {
        return Folding::Address;
    }
    if single || !uniform.uniform(atomic.at.class, atomic.at.base) {
        return Folding::None;
    }
    let same = uniform.uniform(ty.class(), operand);
    match atomic.op {
        AtomicOp::Add if same => Folding::Warp,
        AtomicOp::Add if wide => Folding::None,
        AtomicOp::Add if used || sm < 80 => Folding::FullWarp,
        AtomicOp::Add => Folding::Warp,
        AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor if !wide && !used => {
            if sm < 80 {
                Folding::FullWarp
            } else {
                Folding::Warp
            }
        }
        _ => Folding::None,
    }
}

fn machine(atomic: &Atomic, used: bool, folding: Folding) -> &'static str {
    let swaps = matches!(atomic.op, AtomicOp::Exchange | AtomicOp::CompareAndSwap);
    let acquires = matches!(atomic.order, Order::Acquire | Order::AcqRel);
    match atomic.at.space {
        Space::Shared if atomic.asynchronous => "REDAS",
        Space::Shared if folding == Folding::Address => "ATOMS.POPC.INC",
        // 16 bits: a loop around a compare-and-swap of the word they are in.
        Space::Shared if atomic.ty.bytes() == 2 => "ATOMS",
        Space::Shared if !swaps && (atomic.ty.float() || atomic.ty.bytes() == 8) => "ATOMS.CAST.SPIN",
        Space::Shared => "ATOMS",
        // Which memory a generic address leads to shows only when it runs: there is no RED for those.
        Space::Generic => "ATOM",
        // 16 bits: a loop around a 32-bit compare-and-swap.
        _ if used || swaps || acquires || atomic.ty.bytes() == 2 => "ATOMG",
        _ => "RED",
    }
}
