//! Arithmetic, logic, comparison, selection.

use super::lower::Lowering;
use super::modifiers::Modifiers;
use crate::code::{NONE, Op, PredSrc};
use crate::scalar::{One, Three, Two};
use crate::syntax::Operand;
use crate::types::{Class, Round, Ty};

type Result<T> = std::result::Result<T, String>;

impl Lowering<'_> {
    pub(super) fn arithmetic(
        &mut self,
        opcode: &str,
        m: &mut Modifiers<'_>,
        ops: &[Operand],
    ) -> Result<Option<Op>> {
        if let Some(op) = two_of(opcode) {
            return self.two(op, m, ops).map(Some);
        }
        if let Some(op) = one_of(opcode, m) {
            return self.one(op, m, ops).map(Some);
        }
        Ok(Some(match opcode {
            "mul" => self.multiply(m, ops)?,
            "mad" => self.multiply_add(m, ops)?,
            "mul24" | "mad24" => return Err("24-bit multiplication is not supported".to_owned()),
            "fma" => self.three(Three::Fma, m, ops)?,
            "sad" => self.three(Three::Sad, m, ops)?,
            "bfe" | "bfi" => self.bit_field(opcode == "bfi", m, ops)?,
            "prmt" => self.three(Three::Prmt, m, ops)?,
            "shf" => {
                let (left, wrap) = (m.take("l") || !m.take("r"), m.take("wrap") || !m.take("clamp"));
                self.three(
                    match (left, wrap) {
                        (true, true) => Three::ShfLeftWrap,
                        (true, false) => Three::ShfLeftClamp,
                        (false, true) => Three::ShfRightWrap,
                        (false, false) => Three::ShfRightClamp,
                    },
                    m,
                    ops,
                )?
            }
            "lop3" => self.lop3(m, ops)?,
            "setp" => self.setp(m, ops)?,
            "set" => self.set(m, ops)?,
            "selp" => {
                let ty = m.ty()?;
                let (a, b, p) =
                    (self.src(ops.get(1), ty)?, self.src(ops.get(2), ty)?, self.pred(ops.get(3))?);
                Op::Select { class: ty.class(), d: self.dst(ops.first(), ty.class())?, a, b, p }
            }
            _ => return Ok(None),
        }))
    }

    fn bit_field(&mut self, insert: bool, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let ty = m.ty()?;
        let d = self.dst(ops.first(), ty.class())?;
        let a = self.src(ops.get(1), ty)?;
        if !insert {
            let (b, c) = (self.src(ops.get(2), Ty::U32)?, self.src(ops.get(3), Ty::U32)?);
            return Ok(Op::Three { op: Three::Bfe, ty, mode: m.mode(), d, a, b, c });
        }
        let b = self.src(ops.get(2), ty)?;
        let (position, length) = (self.src(ops.get(3), Ty::U32)?, self.src(ops.get(4), Ty::U32)?);
        Ok(Op::Bfi { ty, d, a, b, position, length })
    }

    fn two(&mut self, op: Two, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let ty = m.ty()?;
        if ty == Ty::Pred {
            return Ok(Op::PredTwo {
                op,
                d: self.dst(ops.first(), Class::Pred)?,
                a: self.pred(ops.get(1))?,
                b: self.pred(ops.get(2))?,
            });
        }
        if op == Two::Div && ty == Ty::F32 {
            // Both approximations are rounded properly here: within their error bounds.
            let _ = m.take("approx") || m.take("full");
        }
        let mode = self.mode(op, ty, m)?;
        let b_ty = if matches!(op, Two::Shl | Two::Shr) { Ty::U32 } else { ty };
        let (a, b) = (self.src(ops.get(1), ty)?, self.src(ops.get(2), b_ty)?);
        Ok(Op::Two { op, ty, mode, d: self.dst(ops.first(), ty.class())?, a, b })
    }

    fn mode(&self, op: Two, ty: Ty, m: &mut Modifiers<'_>) -> Result<crate::scalar::Mode> {
        let mode = m.mode();
        if ty == Ty::F64 && mode.round != Round::Nearest {
            return Err("doubles rounded other than to nearest are not supported".to_owned());
        }
        if mode.saturate && !ty.float() {
            return Err("saturating integer arithmetic is not supported".to_owned());
        }
        if ty.float() && matches!(op, Two::Rem | Two::MulHigh | Two::Shl | Two::Shr) {
            return Err(format!("no such operation on {ty:?}"));
        }
        Ok(mode)
    }

    fn one(&mut self, op: One, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let ty = m.ty()?;
        if ty == Ty::Pred {
            let d = self.dst(ops.first(), Class::Pred)?;
            return match self
                .pred(Some(&Operand::Not(Box::new(ops.get(1).cloned().unwrap_or(Operand::Sink)))))?
            {
                a if op == One::Not => Ok(Op::PredMove { d, a }),
                _ => Err("no such operation on predicates".to_owned()),
            };
        }
        let _ = m.take("approx");
        let mode = m.mode();
        if ty == Ty::F64
            && (mode.round != Round::Nearest
                || matches!(op, One::Ex2 | One::Lg2 | One::Sin | One::Cos | One::Tanh))
        {
            return Err("no such operation on doubles".to_owned());
        }
        let counts = matches!(op, One::Popc | One::Clz | One::Bfind | One::BfindShift);
        let class = if counts { Class::Word } else { ty.class() };
        let a = self.src(ops.get(1), ty)?;
        Ok(Op::One { op, ty, mode, d: self.dst(ops.first(), class)?, a })
    }

    fn three(&mut self, op: Three, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let ty = m.ty()?;
        let mode = self.mode(Two::Add, ty, m)?;
        let (a, b, c) = (self.src(ops.get(1), ty)?, self.src(ops.get(2), ty)?, self.src(ops.get(3), ty)?);
        Ok(Op::Three { op, ty, mode, d: self.dst(ops.first(), ty.class())?, a, b, c })
    }

    fn multiply(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        if m.take("wide") {
            return self.widen(m, ops, false);
        }
        let op = if m.take("hi") { Two::MulHigh } else { Two::Mul };
        let _ = m.take("lo");
        self.two(op, m, ops)
    }

    fn multiply_add(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        if m.take("wide") {
            return self.widen(m, ops, true);
        }
        let high = m.take("hi");
        let _ = m.take("lo");
        let op = self.three(if high { Three::MadHigh } else { Three::Mad }, m, ops)?;
        match op {
            Op::Three { ty, .. } if ty.float() => Err("mad on floats is not supported: use fma".to_owned()),
            op => Ok(op),
        }
    }

    fn widen(&mut self, m: &mut Modifiers<'_>, ops: &[Operand], add: bool) -> Result<Op> {
        let ty = m.ty()?;
        let wide = match ty {
            Ty::U16 => Ty::U32,
            Ty::S16 => Ty::S32,
            Ty::U32 => Ty::U64,
            Ty::S32 => Ty::S64,
            _ => return Err(format!("a wide multiplication of {ty:?} does not exist")),
        };
        let (a, b) = (self.src(ops.get(1), ty)?, self.src(ops.get(2), ty)?);
        let c = if add { Some(self.src(ops.get(3), wide)?) } else { None };
        Ok(Op::Widen { ty, d: self.dst(ops.first(), wide.class())?, a, b, c })
    }

    fn lop3(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let ty = m.ty()?;
        let Some(Operand::Integer(table)) = ops.get(4) else {
            return Err("lop3 needs a number as its table".to_owned());
        };
        let (a, b, c) = (self.src(ops.get(1), ty)?, self.src(ops.get(2), ty)?, self.src(ops.get(3), ty)?);
        Ok(Op::Lop3 { table: *table as u8, d: self.dst(ops.first(), Class::Word)?, a, b, c })
    }

    fn setp(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let cmp = m.compare().ok_or("setp needs a comparison")?;
        let combine = m.one_of(&[("and", Two::And), ("or", Two::Or), ("xor", Two::Xor)]);
        let flush = m.take("ftz");
        let ty = m.ty()?;
        let (d, not_d) = match ops.first() {
            Some(Operand::Pair(d, n)) => (self.dst(Some(d), Class::Pred)?, self.dst(Some(n), Class::Pred)?),
            d => (self.dst(d, Class::Pred)?, NONE),
        };
        if ty == Ty::Pred || ty.half_of_pair().is_some() {
            return Err(format!("setp on {ty:?} is not supported"));
        }
        let (a, b) = (self.src(ops.get(1), ty)?, self.src(ops.get(2), ty)?);
        let also: Option<(Two, PredSrc)> = match combine {
            Some(op) => Some((op, self.pred(ops.get(3))?)),
            None => None,
        };
        Ok(Op::Compare { cmp, ty, flush, d, not_d, a, b, also })
    }

    fn set(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let cmp = m.compare().ok_or("set needs a comparison")?;
        let flush = m.take("ftz");
        let (to, ty) = (m.ty()?, m.ty()?);
        if !matches!(to, Ty::U32 | Ty::S32 | Ty::F32) || ty.half_of_pair().is_some() || ty == Ty::Pred {
            return Err(format!("set.{to:?}.{ty:?} is not supported"));
        }
        let (a, b) = (self.src(ops.get(1), ty)?, self.src(ops.get(2), ty)?);
        Ok(Op::Set { cmp, ty, to, flush, d: self.dst(ops.first(), Class::Word)?, a, b })
    }
}

fn two_of(opcode: &str) -> Option<Two> {
    Some(match opcode {
        "add" => Two::Add,
        "sub" => Two::Sub,
        "div" => Two::Div,
        "rem" => Two::Rem,
        "min" => Two::Min,
        "max" => Two::Max,
        "and" => Two::And,
        "or" => Two::Or,
        "xor" => Two::Xor,
        "shl" => Two::Shl,
        "shr" => Two::Shr,
        "copysign" => Two::CopySign,
        _ => return None,
    })
}

fn one_of(opcode: &str, m: &mut Modifiers<'_>) -> Option<One> {
    Some(match opcode {
        "neg" => One::Neg,
        "abs" => One::Abs,
        "not" => One::Not,
        "popc" => One::Popc,
        "clz" => One::Clz,
        "brev" => One::Brev,
        "bfind" if m.take("shiftamt") => One::BfindShift,
        "bfind" => One::Bfind,
        "sqrt" => One::Sqrt,
        "rsqrt" => One::Rsqrt,
        "rcp" => One::Rcp,
        "ex2" => One::Ex2,
        "lg2" => One::Lg2,
        "sin" => One::Sin,
        "cos" => One::Cos,
        "tanh" => One::Tanh,
        _ => return None,
    })
}
