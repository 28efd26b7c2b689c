//! One function's statements into instructions, calls inlined.

use std::collections::HashMap;

use super::modifiers::Modifiers;
use crate::code::{Code, Cond, Instr, NONE, Op};
use crate::error::ParseError;
use crate::flow;
use crate::syntax::{Function, Instruction, Operand, Statement, Text};
use crate::types::{Class, Space};

/// Longest kernel, calls inlined.
const INSTRUCTIONS_MAX: usize = 1 << 20;
/// Deepest chain of calls; a recursive one never ends.
const CALLS_MAX: usize = 24;
/// Most shared memory a kernel may declare: what a block can address here.
const SHARED_BYTES_MAX: u64 = 1 << 20;
/// Most local memory a thread may declare.
const LOCAL_BYTES_MAX: u64 = 1 << 16;

/// Where a variable of the function being lowered lives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Home {
    pub(super) space: Space,
    pub(super) offset: u32,
}

/// A function's names while its body is lowered; one for each call.
pub(super) struct Frame<'t> {
    pub(super) function: &'t Function,
    pub(super) registers: Vec<(Class, u32)>,
    pub(super) homes: Vec<Home>,
    /// First label of this body among the kernel's.
    pub(super) labels: u32,
    /// Where `ret` goes; [`NONE`] for the kernel itself.
    pub(super) end: u32,
}

pub(super) struct Lowering<'t> {
    pub(super) text: &'t Text,
    pub(super) code: Code,
    pub(super) frames: Vec<Frame<'t>>,
    pub(super) registers: HashMap<String, Vec<(Class, u32)>>,
    pub(super) words: HashMap<u32, u32>,
    pub(super) wides: HashMap<u64, u32>,
    pub(super) relocated: HashMap<(u32, i64), u32>,
    pub(super) module_shared: HashMap<u32, u32>,
    /// Slots of constants that hold an address in dynamic shared memory, relative to its start.
    pub(super) dynamic: Vec<(u32, i64)>,
    pub(super) labels: Vec<u32>,
    pub(super) line: (u32, u32),
}

/// Lowers `function` and all it calls.
pub(super) fn lower(text: &Text, function: &Function, lines: &[String]) -> Result<Code, ParseError> {
    let mut lowering = Lowering {
        text,
        code: Code {
            name: function.name.clone(),
            cluster: function.cluster,
            max_threads: function.max_threads,
            ..Code::default()
        },
        frames: Vec::new(),
        registers: HashMap::new(),
        words: HashMap::new(),
        wides: HashMap::new(),
        relocated: HashMap::new(),
        module_shared: HashMap::new(),
        dynamic: Vec::new(),
        labels: Vec::new(),
        line: (function.line, function.line),
    };
    lowering.function(function).map_err(|reason| {
        let line = lowering.line.1;
        let text = lines.get(line.saturating_sub(1) as usize).cloned().unwrap_or_default();
        ParseError { line, text, reason }
    })?;
    Ok(lowering.code)
}

/// Opcodes with modifiers, as written.
pub(super) fn forms(function: &Function) -> impl Iterator<Item = String> {
    function.body.iter().filter_map(|statement| match statement {
        Statement::Instruction(i) if i.modifiers.is_empty() => Some(i.opcode.clone()),
        Statement::Instruction(i) => Some(format!("{}.{}", i.opcode, i.modifiers.join("."))),
        Statement::Label(_) => None,
    })
}

impl<'t> Lowering<'t> {
    fn function(&mut self, function: &'t Function) -> Result<(), String> {
        self.enter(function, NONE)?;
        self.body(function)?;
        self.push(Op::Exit, None, false);
        self.frames.pop();
        self.resolve_labels()?;
        let start = self.code.shared_bytes.next_multiple_of(16);
        if !self.dynamic.is_empty() {
            self.code.shared_bytes = start;
        }
        for &(slot, offset) in &self.dynamic {
            if let Some(value) = self.code.wides.get_mut(slot as usize) {
                *value = (i64::from(start) + offset) as u64;
            }
        }
        flow::find_meeting_points(&mut self.code.instrs);
        Ok(())
    }

    /// Opens a frame: registers (the same for each call of one function: it
    /// cannot be on the stack twice) and variables.
    pub(super) fn enter(&mut self, function: &'t Function, end: u32) -> Result<(), String> {
        if self.frames.iter().any(|f| f.function.name == function.name) || self.frames.len() > CALLS_MAX {
            return Err(format!("recursive or very deep call of '{}' is not supported", function.name));
        }
        let kernel = self.frames.is_empty() && function.entry;
        let mut homes = Vec::with_capacity(function.variables.len());
        for (index, variable) in function.variables.iter().enumerate() {
            let space = match variable.space {
                Space::Param if kernel && function.params.contains(&(index as u32)) => Space::Param,
                Space::Param => Space::Local,
                other => other,
            };
            let offset = self.place(space, variable.size, variable.align)?;
            if space == Space::Param {
                self.code.params.push((offset, variable.size as u32));
            }
            homes.push(Home { space, offset });
        }
        let registers = match self.registers.get(&function.name) {
            Some(known) => known.clone(),
            None => {
                let fresh: Vec<_> = function.registers.iter().map(|&ty| self.fresh(ty.class())).collect();
                self.registers.insert(function.name.clone(), fresh.clone());
                fresh
            }
        };
        let labels = self.labels.len() as u32;
        self.labels.resize(self.labels.len() + function.labels as usize, NONE);
        self.frames.push(Frame { function, registers, homes, labels, end });
        Ok(())
    }

    pub(super) fn place(&mut self, space: Space, size: u64, align: u32) -> Result<u32, String> {
        let (used, limit) = match space {
            Space::Param => (&mut self.code.param_bytes, 1 << 15),
            Space::Shared => (&mut self.code.shared_bytes, SHARED_BYTES_MAX),
            Space::Local => (&mut self.code.local_bytes, LOCAL_BYTES_MAX),
            _ => return Err("a variable in this state space is not supported inside a function".to_owned()),
        };
        let offset = u64::from(*used).next_multiple_of(u64::from(align.max(1)));
        if offset + size > limit {
            return Err(format!("more than {limit} bytes of variables in {space:?} space"));
        }
        *used = (offset + size) as u32;
        Ok(offset as u32)
    }

    pub(super) fn fresh(&mut self, class: Class) -> (Class, u32) {
        let counter = match class {
            Class::Word => &mut self.code.registers.words,
            Class::Wide => &mut self.code.registers.wides,
            Class::Pred => &mut self.code.registers.preds,
        };
        *counter += 1;
        (class, *counter - 1)
    }

    pub(super) fn body(&mut self, function: &'t Function) -> Result<(), String> {
        for statement in &function.body {
            match statement {
                Statement::Label(label) => {
                    let here = self.code.instrs.len() as u32;
                    let label = self.label(*label);
                    if let Some(place) = self.labels.get_mut(label as usize) {
                        *place = here;
                    }
                }
                Statement::Instruction(instruction) => {
                    self.line = (instruction.line, instruction.ptx_line);
                    self.instruction(instruction)?;
                }
            }
            if self.code.instrs.len() > INSTRUCTIONS_MAX {
                return Err("the kernel is too long with its calls inlined".to_owned());
            }
        }
        Ok(())
    }

    fn label(&self, label: u32) -> u32 {
        self.frames.last().map_or(label, |f| f.labels + label)
    }

    fn resolve_labels(&mut self) -> Result<(), String> {
        for instr in &mut self.code.instrs {
            if let Op::Branch { target, .. } = &mut instr.op {
                match self.labels.get(*target as usize) {
                    Some(&place) if place != NONE => *target = place,
                    _ => return Err("a branch to a label that is nowhere".to_owned()),
                }
            }
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), String> {
        let guard = match instruction.guard {
            Some((register, negated)) => Some(Cond { slot: self.register(register, Class::Pred)?, negated }),
            None => None,
        };
        let ops = &instruction.operands;
        match instruction.opcode.as_str() {
            "bra" => {
                let Some(Operand::Label(label)) = ops.first() else {
                    return Err("a branch needs a label".to_owned());
                };
                let target = self.label(*label);
                self.push(Op::Branch { target, meet: NONE }, guard, true);
                return Ok(());
            }
            "ret" => {
                let end = self.frames.last().map_or(NONE, |f| f.end);
                let op = if end == NONE { Op::Exit } else { Op::Branch { target: end, meet: NONE } };
                self.push(op, guard, true);
                return Ok(());
            }
            "call" => return self.call(ops, guard),
            "red" if instruction.modifiers.iter().any(|word| word == "async") => {
                return self.landing_reduction(instruction, guard);
            }
            _ => {}
        }
        let mut modifiers = Modifiers::new(&instruction.modifiers);
        let operands = self.without_specials(instruction)?;
        let op = self.operation(&instruction.opcode, &mut modifiers, &operands)?;
        modifiers.finish()?;
        self.push(op, guard, true);
        Ok(())
    }

    fn operation(
        &mut self,
        opcode: &str,
        modifiers: &mut Modifiers<'_>,
        operands: &[Operand],
    ) -> Result<Op, String> {
        if let Some(op) = self.arithmetic(opcode, modifiers, operands)? {
            return Ok(op);
        }
        if let Some(op) = self.moving(opcode, modifiers, operands)? {
            return Ok(op);
        }
        if let Some(op) = self.asynchronous(opcode, modifiers, operands)? {
            return Ok(op);
        }
        if let Some(op) = self.memory(opcode, modifiers, operands)? {
            return Ok(op);
        }
        if let Some(op) = self.synchronising(opcode, modifiers, operands)? {
            return Ok(op);
        }
        Err(format!("unknown instruction '{opcode}'"))
    }

    /// A special register may stand wherever a register may; it is moved to one first.
    fn without_specials(&mut self, instruction: &Instruction) -> Result<Vec<Operand>, String> {
        let mut operands = instruction.operands.clone();
        if instruction.opcode == "mov" {
            return Ok(operands);
        }
        for operand in &mut operands {
            if let Operand::Special(name) = operand {
                let what = super::moves::special(name)?;
                let wide = matches!(name.as_str(), "clock64" | "globaltimer");
                let (class, slot) = self.fresh(if wide { Class::Wide } else { Class::Word });
                self.push(Op::Special { what, class, d: slot }, None, false);
                let Some(frame) = self.frames.last_mut() else { continue };
                *operand = Operand::Register(frame.registers.len() as u32);
                frame.registers.push((class, slot));
            }
        }
        Ok(operands)
    }

    pub(super) fn push(&mut self, op: Op, guard: Option<Cond>, counted: bool) {
        let (line, ptx_line) = self.line;
        self.code.instrs.push(Instr { op, guard, line, ptx_line, counted });
    }

    pub(super) fn home(&self, variable: u32) -> Option<Home> {
        self.frames.last().and_then(|f| f.homes.get(variable as usize)).copied()
    }

    pub(super) fn class_of(&self, register: u32) -> Option<(Class, u32)> {
        self.frames.last().and_then(|f| f.registers.get(register as usize)).copied()
    }
}
