//! Barriers that count bytes (`mbarrier`), adds that tell them (`red.async`), and bulk reductions
//! (`cp.reduce.async.bulk`).
//!
//! Here they are done at once and in order: what is asynchronous on a GPU has landed when the next instruction runs.
//! That shows results and counts; a kernel that forgets to wait is not found out.

use super::lower::Lowering;
use super::modifiers::Modifiers;
use crate::code::{AtomicOp, Bulk, Cond, Landing, LandingStep, Op};
use crate::event::{Order, Scope};
use crate::syntax::{Instruction, Operand};
use crate::types::{Class, Space, Ty};

type Result<T> = std::result::Result<T, String>;

impl Lowering<'_> {
    pub(super) fn asynchronous(
        &mut self,
        opcode: &str,
        m: &mut Modifiers<'_>,
        ops: &[Operand],
    ) -> Result<Option<Op>> {
        Ok(Some(match opcode {
            "mbarrier" => self.mbarrier(m, ops)?,
            "cp" if m.take("async") && m.take("bulk") => match m.take("reduce") {
                true => self.bulk_reduction(m, ops)?,
                // What a thread has sent has landed already.
                false if m.take("commit_group") => Op::Nothing,
                false if m.take("wait_group") => {
                    let _ = m.take("read");
                    Op::Nothing
                }
                false => return Err("this bulk copy is not supported".to_owned()),
            },
            "fence" if m.take("proxy") => {
                let _ = (m.take("async"), m.space());
                Op::Nothing
            }
            "fence" if m.take("mbarrier_init") => {
                let scope = m.take("release").then(|| m.scope()).flatten();
                Op::Fence { scope: scope.ok_or("this fence is not supported")?, sequential: false }
            }
            _ => return Ok(None),
        }))
    }

    /// `red.async`: the operation, then the barrier is told its bytes.
    pub(super) fn landing_reduction(&mut self, instruction: &Instruction, guard: Option<Cond>) -> Result<()> {
        let mut m = Modifiers::new(&instruction.modifiers);
        let there = m.take("async") && m.take("mbarrier::complete_tx::bytes");
        let ([operands @ .., barrier], true) = (&instruction.operands[..], there) else {
            return Err("this asynchronous reduction is not supported".to_owned());
        };
        let Op::Atomic(mut atomic) = self.atomic(true, &mut m, operands)? else {
            return Err("an asynchronous reduction is an atomic".to_owned());
        };
        m.finish()?;
        atomic.asynchronous = true;
        let bytes = self.constant(Class::Word, u64::from(atomic.ty.bytes()));
        let at = self.address(Some(barrier), Some(Space::Shared))?;
        self.push(Op::Atomic(atomic), guard, false);
        self.push(landing(at, LandingStep::Land { bytes }, Order::Release, Scope::Cluster), guard, true);
        Ok(())
    }

    fn mbarrier(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let space = m.space();
        let of = |operand: Option<&Operand>, this: &mut Self| this.address(operand, space);
        let order = m.order();
        let scope = m.scope().unwrap_or(Scope::Block);
        let op = if m.take("init") {
            let count = self.src(ops.get(1), Ty::U32)?;
            landing(of(ops.first(), self)?, LandingStep::Init { count }, Order::Weak, Scope::Block)
        } else if m.take("arrive") && m.take("expect_tx") && ops.first() == Some(&Operand::Sink) {
            let bytes = self.src(ops.get(2), Ty::U32)?;
            // Another block's bytes may land at the same time: the barrier itself is never raced for.
            landing(of(ops.get(1), self)?, LandingStep::Expect { bytes }, Order::Release, Scope::Cluster)
        } else if m.take("try_wait") && m.take("parity") {
            let (d, parity) = (self.dst(ops.first(), Class::Pred)?, self.src(ops.get(2), Ty::U32)?);
            let order = order.unwrap_or(Order::Acquire);
            landing(of(ops.get(1), self)?, LandingStep::Try { d, parity }, order, scope)
        } else {
            return Err("this mbarrier operation is not supported".to_owned());
        };
        m.ty()?;
        Ok(op)
    }

    fn bulk_reduction(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        if !(m.take("global") && m.take("shared::cta") && m.take("bulk_group") && m.take("add")) {
            return Err("this bulk reduction is not supported".to_owned());
        }
        let ty = m.ty()?;
        let to = self.address(ops.first(), Some(Space::Global))?;
        let from = self.address(ops.get(1), Some(Space::Shared))?;
        let bytes = self.src(ops.get(2), Ty::U32)?;
        Ok(Op::Bulk(Box::new(Bulk { to, from, bytes, op: AtomicOp::Add, ty })))
    }
}

fn landing(at: crate::code::Address, step: LandingStep, order: Order, scope: Scope) -> Op {
    Op::Landing(Box::new(Landing { at, step, order, scope }))
}
