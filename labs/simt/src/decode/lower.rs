//! One function's statements into instructions, calls inlined.

use std::collections::HashMap;

use super::modifiers::Modifiers;
use crate::code::{Code, Cond, Instr, NONE, Op, PredSrc, Relocation, Src};
use crate::error::ParseError;
use crate::flow;
use crate::syntax::{Function, Instruction, Operand, Statement, Text};
use crate::types::{Class, Space, Ty};

/// Longest kernel, calls inlined.
const INSTRUCTIONS_MAX: usize = 1 << 20;
/// Deepest chain of calls; a recursive one never ends.
const CALLS_MAX: usize = 24;
/// Most shared memory a kernel may declare: what a block can address here.
const SHARED_BYTES_MAX: u64 = 1 << 20;
/// Most local memory a thread may declare.
const LOCAL_BYTES_MAX: u64 = 1 << 20;

/// Where a variable of the function being lowered lives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Home {
    pub(super) space: Space,
    pub(super) offset: u32,
}

/// A function's names while its body is lowered; one for each call.
struct Frame<'t> {
    function: &'t Function,
    registers: Vec<(Class, u32)>,
    homes: Vec<Home>,
    /// First label of this body among the kernel's.
    labels: u32,
    /// Where `ret` goes; [`NONE`] for the kernel itself.
    end: u32,
}

pub(super) struct Lowering<'t> {
    text: &'t Text,
    pub(super) code: Code,
    frames: Vec<Frame<'t>>,
    registers: HashMap<String, Vec<(Class, u32)>>,
    words: HashMap<u32, u32>,
    wides: HashMap<u64, u32>,
    relocated: HashMap<(u32, i64), u32>,
    module_shared: HashMap<u32, u32>,
    /// Slots of constants that hold an address in dynamic shared memory, relative to its start.
    dynamic: Vec<(u32, i64)>,
    labels: Vec<u32>,
    line: (u32, u32),
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
    fn enter(&mut self, function: &'t Function, end: u32) -> Result<(), String> {
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

    fn place(&mut self, space: Space, size: u64, align: u32) -> Result<u32, String> {
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

    fn body(&mut self, function: &'t Function) -> Result<(), String> {
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

    /// `call (ret), name, (args)`: the callee's body with its parameters copied in and results out.
    fn call(&mut self, ops: &[Operand], guard: Option<Cond>) -> Result<(), String> {
        let mut rest = ops;
        let mut returns: &[Operand] = &[];
        if let [Operand::List(list), tail @ ..] = rest {
            (returns, rest) = (list, tail);
        }
        let [Operand::Symbol(name, _), rest @ ..] = rest else {
            return Err("only direct calls are supported".to_owned());
        };
        let args: &[Operand] = match rest {
            [Operand::List(list), ..] => list,
            _ => &[],
        };
        let text = self.text;
        let Some(callee) = text.functions.iter().find(|f| f.name == *name && !f.external) else {
            let reason = format!("the kernel called '{name}', which is not in the module");
            self.push(Op::Trap(reason.into()), guard, true);
            return Ok(());
        };
        let from = args.iter().map(|a| self.local_of(a)).collect::<Result<Vec<_>, _>>()?;
        let to = returns.iter().map(|a| self.local_of(a)).collect::<Result<Vec<_>, _>>()?;
        if from.len() != callee.params.len() || to.len() != callee.returns.len() {
            return Err(format!("'{name}' is called with a wrong number of parameters"));
        }
        let end = self.labels.len() as u32;
        let after = end + 1;
        self.labels.extend([NONE, NONE]);
        match guard {
            Some(cond) => self.push(
                Op::Branch { target: after, meet: NONE },
                Some(Cond { negated: !cond.negated, ..cond }),
                true,
            ),
            None => self.push(Op::Nothing, None, true),
        }
        self.enter(callee, end)?;
        let home = |frame: Option<&Frame<'_>>, index: u32| {
            frame.and_then(|f| f.homes.get(index as usize)).map_or(0, |h| h.offset)
        };
        let size = |index: u32| callee.variables.get(index as usize).map_or(0, |v| v.size as u32);
        for (&source, &param) in from.iter().zip(&callee.params) {
            let target = home(self.frames.last(), param);
            self.push(Op::CopyLocal { to: target, from: source, bytes: size(param) }, None, false);
        }
        self.body(callee)?;
        self.mark(end);
        for (&target, &result) in to.iter().zip(&callee.returns) {
            let source = home(self.frames.last(), result);
            self.push(Op::CopyLocal { to: target, from: source, bytes: size(result) }, None, false);
        }
        self.frames.pop();
        self.push(Op::Nothing, None, false);
        self.mark(after);
        Ok(())
    }

    fn mark(&mut self, label: u32) {
        let here = self.code.instrs.len() as u32;
        if let Some(place) = self.labels.get_mut(label as usize) {
            *place = here;
        }
    }

    fn local_of(&self, operand: &Operand) -> Result<u32, String> {
        match operand {
            Operand::Variable(index, 0) => match self.home(*index) {
                Some(Home { space: Space::Local, offset }) => Ok(offset),
                _ => Err("a call's operands must be .param variables".to_owned()),
            },
            _ => Err("a call's operands must be .param variables".to_owned()),
        }
    }

    pub(super) fn home(&self, variable: u32) -> Option<Home> {
        self.frames.last().and_then(|f| f.homes.get(variable as usize)).copied()
    }

    pub(super) fn class_of(&self, register: u32) -> Option<(Class, u32)> {
        self.frames.last().and_then(|f| f.registers.get(register as usize)).copied()
    }

    fn register(&self, register: u32, class: Class) -> Result<u32, String> {
        match self.class_of(register) {
            Some((found, slot)) if found == class => Ok(slot),
            Some((found, _)) => Err(format!("a register of class {found:?} where {class:?} is needed")),
            None => Err("unknown register".to_owned()),
        }
    }

    /// A destination of `class`; `_` where the result is dropped.
    pub(super) fn dst(&mut self, operand: Option<&Operand>, class: Class) -> Result<u32, String> {
        match operand {
            Some(Operand::Register(register)) => self.register(*register, class),
            Some(Operand::Sink) => Ok(self.fresh(class).1),
            _ => Err("the destination must be a register".to_owned()),
        }
    }

    /// A source of `ty`: a register of its class or a literal.
    pub(super) fn src(&mut self, operand: Option<&Operand>, ty: Ty) -> Result<Src, String> {
        self.src_class(operand, ty.class(), ty)
    }

    pub(super) fn src_class(
        &mut self,
        operand: Option<&Operand>,
        class: Class,
        ty: Ty,
    ) -> Result<Src, String> {
        let operand = operand.ok_or_else(|| "an operand is missing".to_owned())?;
        if let Operand::Register(register) = operand {
            return self.register(*register, class).map(Src::register);
        }
        let bits = match *operand {
            Operand::Integer(value) if ty == Ty::F32 => u64::from((value as i64 as f32).to_bits()),
            Operand::Integer(value) if ty == Ty::F64 => (value as i64 as f64).to_bits(),
            Operand::Integer(value) => value,
            Operand::Single(bits) if ty == Ty::F64 => f64::from(f32::from_bits(bits)).to_bits(),
            Operand::Single(bits) => u64::from(bits),
            Operand::Double(bits) if ty == Ty::F32 => u64::from((f64::from_bits(bits) as f32).to_bits()),
            Operand::Double(bits) => bits,
            Operand::Variable(..) | Operand::Symbol(..) if class == Class::Wide => {
                return self.address_of(operand);
            }
            Operand::Variable(..) | Operand::Symbol(..) => return self.short_address_of(operand),
            _ => return Err("this operand must be a register or a number".to_owned()),
        };
        Ok(self.constant(class, crate::scalar::truncate(ty, bits)))
    }

    pub(super) fn constant(&mut self, class: Class, bits: u64) -> Src {
        if class == Class::Wide {
            let values = &mut self.code.wides;
            return Src::constant(*self.wides.entry(bits).or_insert_with(|| {
                values.push(bits);
                values.len() as u32 - 1
            }));
        }
        let values = &mut self.code.words;
        Src::constant(*self.words.entry(bits as u32).or_insert_with(|| {
            values.push(bits as u32);
            values.len() as u32 - 1
        }))
    }

    /// A predicate operand, perhaps negated or constant.
    pub(super) fn pred(&self, operand: Option<&Operand>) -> Result<PredSrc, String> {
        match operand {
            Some(Operand::Not(inner)) => Ok(match self.pred(Some(inner))? {
                PredSrc::Register(cond) => PredSrc::Register(Cond { negated: !cond.negated, ..cond }),
                PredSrc::Constant(value) => PredSrc::Constant(!value),
            }),
            Some(Operand::Register(register)) => {
                Ok(PredSrc::Register(Cond { slot: self.register(*register, Class::Pred)?, negated: false }))
            }
            Some(Operand::Integer(value)) => Ok(PredSrc::Constant(*value != 0)),
            _ => Err("this operand must be a predicate".to_owned()),
        }
    }

    /// The space and 64-bit constant of a variable's address in that space.
    pub(super) fn variable(&mut self, operand: &Operand) -> Result<(Space, Src), String> {
        match operand {
            Operand::Variable(index, offset) => {
                let home = self.home(*index).ok_or("unknown variable")?;
                if home.space == Space::Shared {
                    // A function's `extern .shared x[]` has no size: it is the dynamic part.
                    let empty = self
                        .frames
                        .last()
                        .and_then(|f| f.function.variables.get(*index as usize))
                        .is_some_and(|v| v.size == 0);
                    if empty {
                        return Ok((Space::Shared, self.dynamic_address(*offset)));
                    }
                }
                Ok((home.space, self.constant(Class::Wide, (i64::from(home.offset) + offset) as u64)))
            }
            Operand::Symbol(name, offset) => self.module_variable(name, *offset),
            _ => Err("not a variable".to_owned()),
        }
    }

    fn dynamic_address(&mut self, offset: i64) -> Src {
        let slot = self.code.wides.len() as u32;
        self.code.wides.push(0);
        self.dynamic.push((slot, offset));
        Src::constant(slot)
    }

    fn module_variable(&mut self, name: &str, offset: i64) -> Result<(Space, Src), String> {
        let text = self.text;
        let Some((index, variable)) = text.variables.iter().enumerate().find(|(_, v)| v.name == name) else {
            return Err(format!("unknown name '{name}'"));
        };
        let index = index as u32;
        if variable.space == Space::Shared {
            if variable.size == 0 {
                return Ok((Space::Shared, self.dynamic_address(offset)));
            }
            let start = match self.module_shared.get(&index) {
                Some(&start) => start,
                None => self.place(Space::Shared, variable.size, variable.align)?,
            };
            self.module_shared.insert(index, start);
            return Ok((Space::Shared, self.constant(Class::Wide, (i64::from(start) + offset) as u64)));
        }
        let slot = match self.relocated.get(&(index, offset)) {
            Some(&slot) => slot,
            None => {
                let slot = self.code.wides.len() as u32;
                self.code.wides.push(0);
                self.code.relocations.push(Relocation { slot, variable: index, offset });
                self.relocated.insert((index, offset), slot);
                slot
            }
        };
        Ok((variable.space, Src::constant(slot)))
    }

    fn address_of(&mut self, operand: &Operand) -> Result<Src, String> {
        self.variable(operand).map(|(_, src)| src)
    }

    /// `mov.u32 %r, shared_variable`
    fn short_address_of(&mut self, operand: &Operand) -> Result<Src, String> {
        match self.variable(operand)? {
            (Space::Shared | Space::Local, src) => match src.slot() {
                Ok(slot) if !self.dynamic.iter().any(|d| d.0 as usize == slot) => {
                    let bits = self.code.wides.get(slot).copied().unwrap_or(0);
                    Ok(self.constant(Class::Word, bits))
                }
                _ => Err("a 32-bit address of dynamic shared memory needs cvta".to_owned()),
            },
            _ => Err("a 64-bit address in a 32-bit register".to_owned()),
        }
    }
}
