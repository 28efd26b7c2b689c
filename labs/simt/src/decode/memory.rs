//! Loads, stores, atomics, fences.

use super::lower::Lowering;
use super::modifiers::Modifiers;
use crate::code::{Address, Atomic, AtomicOp, Load, NONE, Op, Src, Store};
use crate::event::{Order, Scope};
use crate::syntax::Operand;
use crate::types::{Class, Space, Ty};

type Result<T> = std::result::Result<T, String>;

impl Lowering<'_> {
    pub(super) fn memory(
        &mut self,
        opcode: &str,
        m: &mut Modifiers<'_>,
        ops: &[Operand],
    ) -> Result<Option<Op>> {
        Ok(Some(match opcode {
            "ld" | "ldu" => self.load(m, ops)?,
            "st" => self.store(m, ops)?,
            "atom" | "red" => self.atomic(opcode == "red", m, ops)?,
            "membar" => {
                let scope = m
                    .one_of(&[("cta", Scope::Block), ("gl", Scope::Device), ("sys", Scope::System)])
                    .ok_or("membar needs a level")?;
                Op::Fence { scope, sequential: true }
            }
            "fence" => {
                let sequential = m.take("sc");
                let _ = m.take("acq_rel") || m.take("acquire") || m.take("release");
                let scope = m.scope().ok_or("this fence is not supported")?;
                Op::Fence { scope, sequential }
            }
            "prefetch" | "prefetchu" => {
                m.ignore_cache_hints();
                let _ = (
                    m.space(),
                    m.take("L1"),
                    m.take("L2"),
                    m.take("L2::evict_last"),
                    m.take("L2::evict_normal"),
                );
                Op::Nothing
            }
            _ => return Ok(None),
        }))
    }

    fn elements(m: &mut Modifiers<'_>) -> usize {
        m.one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1)
    }

    /// Order and scope of a load or store; a plain one is weak.
    fn order(m: &mut Modifiers<'_>) -> (Order, Scope) {
        let order = m.order().unwrap_or(Order::Weak);
        let scope = m.scope().unwrap_or(Scope::System);
        (order, scope)
    }

    fn load(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let space = m.space();
        let (order, scope) = Self::order(m);
        let elements = Self::elements(m);
        m.ignore_cache_hints();
        let _ = m.take("unified");
        let ty = m.ty()?;
        let parts = parts(ops.first(), elements)?;
        let class = parts.iter().map(|p| self.register_class(Some(p), ty)).next().unwrap_or(Class::Word);
        let to = parts
            .iter()
            .map(|p| if *p == Operand::Sink { Ok(NONE) } else { self.dst(Some(p), class) })
            .collect::<Result<Vec<_>>>()?;
        let at = self.address(ops.get(1), space)?;
        if matches!(ty, Ty::Pred) || elements as u32 * ty.bytes() > 32 {
            return Err("a load of this size is not supported".to_owned());
        }
        Ok(Op::Load(Box::new(Load { at, ty, to, class, order, scope })))
    }

    fn store(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let space = m.space();
        let (order, scope) = Self::order(m);
        let elements = Self::elements(m);
        m.ignore_cache_hints();
        let ty = m.ty()?;
        let parts = parts(ops.get(1), elements)?;
        let class = parts.iter().map(|p| self.register_class(Some(p), ty)).next().unwrap_or(Class::Word);
        let from = parts.iter().map(|p| self.src_class(Some(p), class, ty)).collect::<Result<Vec<_>>>()?;
        let at = self.address(ops.first(), space)?;
        if matches!(at.space, Space::Param | Space::Const)
            || ty == Ty::Pred
            || elements as u32 * ty.bytes() > 32
        {
            return Err("a store like this is not supported".to_owned());
        }
        Ok(Op::Store(Box::new(Store { at, ty, from, class, order, scope })))
    }

    pub(super) fn atomic(&mut self, reduction: bool, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let space = m.space();
        let order = m.order().unwrap_or(Order::Relaxed);
        let scope = m.scope().unwrap_or(Scope::Device);
        let op = m
            .one_of(&[
                ("add", AtomicOp::Add),
                ("inc", AtomicOp::Inc),
                ("dec", AtomicOp::Dec),
                ("min", AtomicOp::Min),
                ("max", AtomicOp::Max),
                ("and", AtomicOp::And),
                ("or", AtomicOp::Or),
                ("xor", AtomicOp::Xor),
                ("exch", AtomicOp::Exchange),
                ("cas", AtomicOp::CompareAndSwap),
            ])
            .ok_or("an atomic needs an operation")?;
        let _ = m.take("noftz");
        let elements = Self::elements(m);
        let ty = m.ty()?;
        check_atomic(op, ty, elements)?;
        let (to, rest) = match ops {
            rest if reduction => (Vec::new(), rest),
            [Operand::Sink, rest @ ..] => (Vec::new(), rest),
            [to, rest @ ..] => {
                let to = parts(Some(to), elements)?
                    .iter()
                    .map(|p| if *p == Operand::Sink { Ok(NONE) } else { self.dst(Some(p), ty.class()) })
                    .collect::<Result<Vec<_>>>()?;
                (to, rest)
            }
            [] => return Err("an atomic needs operands".to_owned()),
        };
        let at = self.address(rest.first(), space)?;
        let mut values = parts(rest.get(1), elements)?
            .iter()
            .map(|p| self.src(Some(p), ty))
            .collect::<Result<Vec<Src>>>()?;
        let mut compare = None;
        if op == AtomicOp::CompareAndSwap {
            compare = values.pop();
            values.push(self.src(rest.get(2), ty)?);
        }
        if !matches!(at.space, Space::Generic | Space::Global | Space::Shared) {
            return Err("an atomic in this state space does not exist".to_owned());
        }
        let asynchronous = false;
        Ok(Op::Atomic(Box::new(Atomic { at, op, ty, to, from: values, compare, order, scope, asynchronous })))
    }

    pub(super) fn address(&mut self, operand: Option<&Operand>, space: Option<Space>) -> Result<Address> {
        let Some(Operand::Address(base, offset)) = operand else {
            return Err("an address in brackets is missing".to_owned());
        };
        if matches!(**base, Operand::Variable(..) | Operand::Symbol(..)) {
            let home = self.space_of(base);
            let (_, src) = self.variable(base)?;
            let found = home.ok_or("unknown variable")?;
            let space = match (space, found) {
                (None, Space::Global) => Space::Global,
                (None, _) => return Err("a generic access needs a generic address".to_owned()),
                // A call's parameters are the thread's own memory here.
                (Some(Space::Param), Space::Local | Space::Param) => found,
                (Some(space), found) if space == found => found,
                _ => return Err(format!("the variable is in {found:?} space")),
            };
            return Ok(Address { space, class: Class::Wide, base: src, offset: *offset });
        }
        let class = self.register_class(Some(base), Ty::U64);
        let ty = if class == Class::Word { Ty::U32 } else { Ty::U64 };
        let base = self.src_class(Some(base), class, ty)?;
        Ok(Address { space: space.unwrap_or(Space::Generic), class, base, offset: *offset })
    }
}

/// The elements of a vector operand, or the operand itself.
fn parts(operand: Option<&Operand>, elements: usize) -> Result<Vec<Operand>> {
    match operand {
        Some(Operand::Vector(parts)) if parts.len() == elements => Ok(parts.clone()),
        Some(Operand::Vector(parts)) => Err(format!("{} elements where {elements} are needed", parts.len())),
        Some(operand) if elements == 1 => Ok(vec![operand.clone()]),
        Some(_) => Err(format!("a vector of {elements} elements is needed")),
        None => Err("an operand is missing".to_owned()),
    }
}

fn check_atomic(op: AtomicOp, ty: Ty, elements: usize) -> Result<()> {
    let fits = match op {
        AtomicOp::Add => !matches!(ty, Ty::B8 | Ty::U8 | Ty::S8 | Ty::B16 | Ty::U16 | Ty::S16 | Ty::Pred),
        AtomicOp::Inc | AtomicOp::Dec => ty == Ty::U32,
        AtomicOp::Min | AtomicOp::Max => {
            matches!(ty, Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64 | Ty::F16 | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2)
        }
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Exchange => ty.bytes() >= 4 && !ty.float(),
        AtomicOp::CompareAndSwap => ty.bytes() >= 2 && !ty.float(),
    };
    let vector = elements == 1 || (ty.float() && matches!(op, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max));
    if fits && vector && elements as u32 * ty.bytes() <= 16 {
        return Ok(());
    }
    Err(format!("an atomic {op:?} on {elements} of {ty:?} does not exist"))
}
