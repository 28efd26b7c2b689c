//! Operands into register slots and constants.

use super::lower::Lowering;
use crate::code::{Cond, PredSrc, Relocation, Src};
use crate::syntax::Operand;
use crate::types::{Class, Space, Ty};

impl Lowering<'_> {
    pub(super) fn register(&self, register: u32, class: Class) -> Result<u32, String> {
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

    pub(super) fn dynamic_address(&mut self, offset: i64) -> Src {
        let slot = self.code.wides.len() as u32;
        self.code.wides.push(0);
        self.dynamic.push((slot, offset));
        Src::constant(slot)
    }

    pub(super) fn module_variable(&mut self, name: &str, offset: i64) -> Result<(Space, Src), String> {
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

    pub(super) fn address_of(&mut self, operand: &Operand) -> Result<Src, String> {
        self.variable(operand).map(|(_, src)| src)
    }

    /// `mov.u32 %r, shared_variable`
    pub(super) fn short_address_of(&mut self, operand: &Operand) -> Result<Src, String> {
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
