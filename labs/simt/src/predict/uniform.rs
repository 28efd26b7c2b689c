//! Which registers hold one value for all active lanes, as ptxas sees it:
//! found by compiling small kernels with ptxas 12.9 for sm_75, sm_80 and sm_90
//! and reading what it folds.

use std::collections::{HashMap, HashSet};

use crate::code::operands::{Register, operands};
use crate::code::{Code, Collective, Instr, NONE, Op, Shuffle, Special, Src};
use crate::scalar::Compare;
use crate::types::{Class, Space};

/// The analysis of one kernel.
pub(super) struct Uniform<'a> {
    code: &'a Code,
    sm: u32,
    divergent: HashSet<Register>,
    definitions: HashMap<Register, Vec<usize>>,
    read: HashSet<Register>,
    /// Instructions that only one lane of a warp can reach: those under `threadIdx.x == constant`.
    single: HashSet<usize>,
}

/// The instructions on either side of a conditional branch, before its lanes meet.
struct Sides {
    at: usize,
    taken: HashSet<usize>,
    not_taken: HashSet<usize>,
}

impl<'a> Uniform<'a> {
    pub(super) fn of(code: &'a Code, sm: u32) -> Uniform<'a> {
        let mut found = Uniform {
            code,
            sm,
            divergent: HashSet::new(),
            definitions: HashMap::new(),
            read: HashSet::new(),
            single: HashSet::new(),
        };
        for (at, instr) in code.instrs.iter().enumerate() {
            let operands = operands(&instr.op);
            found.read.extend(operands.reads);
            for register in operands.writes {
                found.definitions.entry(register).or_default().push(at);
            }
        }
        let sides: Vec<Sides> = (0..code.instrs.len()).filter_map(|at| sides(&code.instrs, at)).collect();
        while found.spread(&sides) {}
        for side in &sides {
            found.mark_single(side);
        }
        found
    }

    /// Whether all active lanes have the same value there.
    pub(super) fn uniform(&self, class: Class, src: Src) -> bool {
        src.slot().is_ok() || src.slot().is_err_and(|slot| !self.divergent.contains(&(class, slot as u32)))
    }

    /// Whether any instruction reads one of these registers.
    pub(super) fn is_read(&self, class: Class, slots: &[u32]) -> bool {
        slots.iter().any(|&slot| slot != NONE && self.read.contains(&(class, slot)))
    }

    pub(super) fn single_lane(&self, at: usize) -> bool {
        self.single.contains(&at)
    }

    /// A word that is one number wherever it comes from.
    pub(super) fn constant(&self, src: Src) -> Option<u32> {
        match src.slot() {
            Ok(slot) => self.code.words.get(slot).copied(),
            Err(slot) => match self.only_definition((Class::Word, slot as u32))? {
                Op::Move { a, .. } if a.slot().is_ok() => self.constant(*a),
                _ => None,
            },
        }
    }

    fn only_definition(&self, register: Register) -> Option<&'a Op> {
        match self.definitions.get(&register)?[..] {
            [at] => self.code.instrs.get(at).map(|i| &i.op),
            _ => None,
        }
    }

    /// One round of spreading divergence; whether anything changed.
    fn spread(&mut self, sides: &[Sides]) -> bool {
        let before = self.divergent.len();
        for instr in &self.code.instrs {
            let operands = operands(&instr.op);
            let guarded = instr.guard.is_some_and(|g| self.divergent.contains(&(Class::Pred, g.slot)));
            for &register in &operands.writes {
                let merges = self.definitions.get(&register).is_some_and(|d| d.len() > 1);
                if self.diverges(&instr.op, &operands.reads) || (guarded && merges) {
                    self.divergent.insert(register);
                }
            }
        }
        let merged: Vec<Register> = sides
            .iter()
            .filter(|side| self.branch_diverges(side.at))
            .flat_map(|side| self.definitions.iter().filter(|(_, d)| side.tells_apart(d)).map(|(r, _)| *r))
            .collect();
        self.divergent.extend(merged);
        self.divergent.len() != before
    }

    fn branch_diverges(&self, at: usize) -> bool {
        let guard = self.code.instrs.get(at).and_then(|i| i.guard);
        guard.is_some_and(|g| self.divergent.contains(&(Class::Pred, g.slot)))
    }

    fn diverges(&self, op: &Op, reads: &[Register]) -> bool {
        let operand = || reads.iter().any(|r| self.divergent.contains(r));
        match op {
            Op::Special { what, .. } => match what {
                Special::Tid(_) | Special::LaneId => true,
                Special::MaskEq | Special::MaskLt | Special::MaskLe | Special::MaskGt | Special::MaskGe => {
                    true
                }
                Special::WarpId => self.sm < 90,
                _ => false,
            },
            Op::Atomic(_) | Op::Bar(_) => true,
            Op::Load(load) => load.at.space == Space::Local || operand(),
            Op::Collective { what, .. } => match **what {
                Collective::Shuffle { mode: Shuffle::Idx, b, .. } if self.sm >= 90 => {
                    !self.uniform(Class::Word, b)
                }
                Collective::Vote { .. } | Collective::Redux { .. } => self.sm < 90,
                _ => true,
            },
            _ => operand(),
        }
    }

    /// Marks the side of a branch on `threadIdx.x == constant` that one thread takes.
    fn mark_single(&mut self, side: &Sides) {
        let Some(Instr { guard: Some(guard), .. }) = self.code.instrs.get(side.at) else { return };
        let Some(&Op::Compare { cmp, a, b, also: None, .. }) =
            self.only_definition((Class::Pred, guard.slot))
        else {
            return;
        };
        let Err(slot) = a.slot() else { return };
        let thread = matches!(
            self.only_definition((Class::Word, slot as u32)),
            Some(Op::Special { what: Special::Tid(0), .. })
        );
        let Some(constant) = self.constant(b).filter(|_| thread) else { return };
        let equal_when_true = match cmp {
            Compare::Eq => true,
            Compare::Lt if constant == 1 => true,
            Compare::Ne => false,
            Compare::Gt if constant == 0 => false,
            _ => return,
        };
        let (one, other) = if equal_when_true != guard.negated {
            (&side.taken, &side.not_taken)
        } else {
            (&side.not_taken, &side.taken)
        };
        self.single.extend(one.difference(other));
    }
}

impl Sides {
    /// Whether a register with these definitions may differ among lanes that took different sides.
    fn tells_apart(&self, definitions: &[usize]) -> bool {
        let side = |at: &usize| (self.taken.contains(at), self.not_taken.contains(at));
        definitions.windows(2).any(|pair| side(&pair[0]) != side(&pair[1]))
    }
}

fn sides(instrs: &[Instr], at: usize) -> Option<Sides> {
    let Instr { op: Op::Branch { target, meet }, guard: Some(_), .. } = instrs.get(at)? else { return None };
    Some(Sides { at, taken: reach(instrs, *target, *meet), not_taken: reach(instrs, at as u32 + 1, *meet) })
}

/// Instructions reached from `from` without passing `meet`.
fn reach(instrs: &[Instr], from: u32, meet: u32) -> HashSet<usize> {
    let mut found = HashSet::new();
    let mut stack = vec![from];
    while let Some(at) = stack.pop() {
        if at == meet || !found.insert(at as usize) {
            continue;
        }
        match instrs.get(at as usize) {
            Some(Instr { op: Op::Branch { target, .. }, guard, .. }) => {
                stack.push(*target);
                if guard.is_some() {
                    stack.push(at + 1);
                }
            }
            Some(Instr { op: Op::Exit | Op::Trap(_), guard: None, .. }) | None => {}
            _ => stack.push(at + 1),
        }
    }
    found
}
