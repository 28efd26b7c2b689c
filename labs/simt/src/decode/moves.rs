//! Moves, conversions, special registers, address spaces.

use super::lower::Lowering;
use super::modifiers::Modifiers;
use crate::code::{Op, Special, Src};
use crate::scalar::Conversion;
use crate::syntax::Operand;
use crate::types::{Class, Round, Space, Ty};

type Result<T> = std::result::Result<T, String>;

impl Lowering<'_> {
    pub(super) fn moving(
        &mut self,
        opcode: &str,
        m: &mut Modifiers<'_>,
        ops: &[Operand],
    ) -> Result<Option<Op>> {
        Ok(Some(match opcode {
            "mov" => self.mov(m, ops)?,
            "cvt" => self.cvt(m, ops)?,
            "cvta" => self.cvta(m, ops)?,
            "isspacep" => {
                let space = m.space().ok_or("isspacep needs a state space")?;
                Op::IsSpace {
                    space,
                    d: self.dst(ops.first(), Class::Pred)?,
                    a: self.src(ops.get(1), Ty::U64)?,
                }
            }
            "mapa" => {
                let generic = m.space().is_none();
                let ty = m.ty()?;
                let (a, rank) = (self.src(ops.get(1), ty)?, self.src(ops.get(2), Ty::U32)?);
                Op::Map { class: ty.class(), generic, d: self.dst(ops.first(), ty.class())?, a, rank }
            }
            _ => return Ok(None),
        }))
    }

    fn mov(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let ty = m.ty()?;
        let class = ty.class();
        if ty == Ty::Pred {
            return Ok(Op::PredMove { d: self.dst(ops.first(), Class::Pred)?, a: self.pred(ops.get(1))? });
        }
        match (ops.first(), ops.get(1)) {
            (Some(Operand::Vector(parts)), Some(_)) => {
                let bits = ty.bits() / (parts.len() as u32).max(1);
                let to = parts.iter().map(|p| self.part_dst(p, bits)).collect::<Result<Vec<_>>>()?;
                Ok(Op::Unpack { class, bits, a: self.src(ops.get(1), ty)?, to })
            }
            (_, Some(Operand::Vector(parts))) => {
                let bits = ty.bits() / (parts.len() as u32).max(1);
                let from = parts.iter().map(|p| self.part_src(p, bits)).collect::<Result<Vec<_>>>()?;
                Ok(Op::Pack { class, bits, d: self.dst(ops.first(), class)?, from })
            }
            (_, Some(Operand::Special(name))) => {
                Ok(Op::Special { what: special(name)?, class, d: self.dst(ops.first(), class)? })
            }
            (_, Some(operand @ (Operand::Variable(..) | Operand::Symbol(..)))) if class == Class::Wide => {
                let (_, a) = self.variable(operand)?;
                Ok(Op::Move { class, d: self.dst(ops.first(), class)?, a })
            }
            _ => Ok(Op::Move { class, d: self.dst(ops.first(), class)?, a: self.src(ops.get(1), ty)? }),
        }
    }

    fn part_class(bits: u32) -> Result<(Class, Ty)> {
        match bits {
            8 => Ok((Class::Word, Ty::B8)),
            16 => Ok((Class::Word, Ty::B16)),
            32 => Ok((Class::Word, Ty::B32)),
            _ => Err(format!("a vector move with elements of {bits} bits is not supported")),
        }
    }

    fn part_dst(&mut self, part: &Operand, bits: u32) -> Result<(Class, u32)> {
        let (class, _) = Self::part_class(bits)?;
        Ok((class, self.dst(Some(part), class)?))
    }

    fn part_src(&mut self, part: &Operand, bits: u32) -> Result<(Class, Src)> {
        let (class, ty) = Self::part_class(bits)?;
        Ok((class, self.src(Some(part), ty)?))
    }

    fn cvt(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let whole = m.one_of(&[
            ("rni", Round::Nearest),
            ("rzi", Round::Zero),
            ("rmi", Round::Down),
            ("rpi", Round::Up),
        ]);
        let mut how = Conversion { mode: m.mode(), whole: whole.is_some() };
        if let Some(round) = whole {
            how.mode.round = round;
        }
        let (to, from) = (m.ty()?, m.ty()?);
        if to.half_of_pair().is_some() {
            if from != Ty::F32 {
                return Err(format!("cvt to {to:?} from {from:?} is not supported"));
            }
            let (high, low) = (self.src(ops.get(1), from)?, self.src(ops.get(2), from)?);
            return Ok(Op::ConvertPair { to, how, d: self.dst(ops.first(), Class::Word)?, high, low });
        }
        if from.half_of_pair().is_some() || to == Ty::Pred || from == Ty::Pred {
            return Err(format!("cvt to {to:?} from {from:?} is not supported"));
        }
        let class = (self.register_class(ops.first(), to), self.register_class(ops.get(1), from));
        let a = self.src_class(ops.get(1), class.1, from)?;
        Ok(Op::Convert { to, from, how, class, d: self.dst(ops.first(), class.0)?, a })
    }

    /// Operands of cvt, ld and st may be wider than the type (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
    pub(super) fn register_class(&self, operand: Option<&Operand>, ty: Ty) -> Class {
        match operand {
            Some(Operand::Register(register)) => {
                self.class_of(*register).map_or(ty.class(), |(class, _)| class)
            }
            _ => ty.class(),
        }
    }

    fn cvta(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let to_space = m.take("to");
        let space = m.space().ok_or("cvta needs a state space")?;
        let ty = m.ty()?;
        let d = self.dst(ops.first(), ty.class())?;
        let a = self.src(ops.get(1), ty)?;
        Ok(Op::Generic { space, to_space, class: ty.class(), d, a })
    }

    /// Which space a variable as an operand lives in.
    pub(super) fn space_of(&mut self, operand: &Operand) -> Option<Space> {
        match operand {
            Operand::Variable(..) | Operand::Symbol(..) => {
                self.variable(operand).ok().map(|(space, _)| space)
            }
            _ => None,
        }
    }
}

/// The special register with this name (without its percent sign).
pub(super) fn special(name: &str) -> Result<Special> {
    let (base, axis) = name.split_once('.').unwrap_or((name, "x"));
    let axis = match axis {
        "x" => 0,
        "y" => 1,
        _ => 2,
    };
    Ok(match base {
        "tid" => Special::Tid(axis),
        "ntid" => Special::Ntid(axis),
        "ctaid" => Special::Ctaid(axis),
        "nctaid" => Special::Nctaid(axis),
        "cluster_ctaid" => Special::ClusterCtaid(axis),
        "cluster_nctaid" => Special::ClusterNctaid(axis),
        "clusterid" => Special::ClusterId(axis),
        "nclusterid" => Special::NclusterId(axis),
        "laneid" => Special::LaneId,
        "warpid" => Special::WarpId,
        "nwarpid" => Special::NwarpId,
        "smid" => Special::SmId,
        "nsmid" => Special::NsmId,
        "gridid" => Special::GridId,
        "lanemask_eq" => Special::MaskEq,
        "lanemask_lt" => Special::MaskLt,
        "lanemask_le" => Special::MaskLe,
        "lanemask_gt" => Special::MaskGt,
        "lanemask_ge" => Special::MaskGe,
        "clock" => Special::Clock,
        "clock_hi" => Special::ClockHigh,
        "clock64" => Special::Clock64,
        "globaltimer" => Special::Timer,
        "globaltimer_lo" => Special::TimerLow,
        "globaltimer_hi" => Special::TimerHigh,
        "cluster_ctarank" => Special::ClusterRank,
        "cluster_nctarank" => Special::ClusterSize,
        "dynamic_smem_size" => Special::DynamicShared,
        "total_smem_size" => Special::TotalShared,
        "is_explicit_cluster" => Special::ExplicitCluster,
        _ => return Err(format!("special register '%{name}' is not supported")),
    })
}
