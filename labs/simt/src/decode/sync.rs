//! Barriers, warp collectives, waiting and ending.

use super::lower::Lowering;
use super::modifiers::Modifiers;
use crate::code::{Bar, BarKind, Collective, NONE, Op, Shuffle, Vote};
use crate::scalar::Two;
use crate::syntax::Operand;
use crate::types::{Class, Ty};

type Result<T> = std::result::Result<T, String>;

impl Lowering<'_> {
    pub(super) fn synchronising(
        &mut self,
        opcode: &str,
        m: &mut Modifiers<'_>,
        ops: &[Operand],
    ) -> Result<Option<Op>> {
        Ok(Some(match opcode {
            "bar" if m.take("warp") => {
                let _ = m.take("sync");
                self.collective(ops.first(), Collective::Barrier)?
            }
            "barrier" if m.take("cluster") => cluster_barrier(m)?,
            "bar" | "barrier" => self.barrier(m, ops)?,
            "shfl" => self.shuffle(m, ops)?,
            "vote" => self.vote(m, ops)?,
            "match" => self.matching(m, ops)?,
            "redux" => self.redux(m, ops)?,
            "elect" => {
                let _ = m.take("sync");
                let (d, p) = self.pair(ops.first(), Class::Word)?;
                self.collective(ops.get(1), Collective::Elect { d, p })?
            }
            "activemask" => {
                m.ty()?;
                Op::ActiveMask { d: self.dst(ops.first(), Class::Word)? }
            }
            "nanosleep" => {
                m.ty()?;
                Op::Sleep { nanoseconds: self.src(ops.first(), Ty::U32)? }
            }
            "trap" => Op::Trap("the kernel executed trap".into()),
            "exit" => Op::Exit,
            "brkpt" | "pmevent" => Op::Nothing,
            _ => return Ok(None),
        }))
    }

    fn collective(&mut self, mask: Option<&Operand>, what: Collective) -> Result<Op> {
        Ok(Op::Collective { mask: self.src(mask, Ty::B32)?, what: Box::new(what) })
    }

    /// `d|p`, or `d` alone.
    fn pair(&mut self, operand: Option<&Operand>, class: Class) -> Result<(u32, u32)> {
        match operand {
            Some(Operand::Pair(d, p)) => {
                let p = if **p == Operand::Sink { NONE } else { self.dst(Some(p), Class::Pred)? };
                Ok((self.dst(Some(d), class)?, p))
            }
            d => Ok((self.dst(d, class)?, NONE)),
        }
    }

    fn barrier(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let _ = m.take("cta") | m.take("aligned");
        let kind = m.one_of(&[("sync", BarKind::Sync), ("arrive", BarKind::Arrive)]);
        let reduces = m.take("red");
        let (kind, to, pred, rest) = match kind {
            Some(kind) => (kind, NONE, None, ops),
            None if reduces => {
                let kind = m
                    .one_of(&[("popc", BarKind::Popc), ("and", BarKind::And), ("or", BarKind::Or)])
                    .ok_or("bar.red needs an operation")?;
                let class = m.ty()?.class();
                let (last, rest) = ops.split_last().ok_or("bar.red needs operands")?;
                let pred = self.pred(Some(last))?;
                let (first, rest) = rest.split_first().ok_or("bar.red needs operands")?;
                (kind, self.dst(Some(first), class)?, Some(pred), rest)
            }
            None => return Err("this barrier is not supported".to_owned()),
        };
        let id = self.src(rest.first(), Ty::U32)?;
        let count = match rest.get(1) {
            Some(count) => Some(self.src(Some(count), Ty::U32)?),
            None if kind == BarKind::Arrive => return Err("bar.arrive needs a number of threads".to_owned()),
            None => None,
        };
        Ok(Op::Bar(Box::new(Bar { kind, id, count, to, pred })))
    }

    fn shuffle(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        if !m.take("sync") {
            return Err("shfl without .sync is not supported".to_owned());
        }
        let mode = m
            .one_of(&[
                ("up", Shuffle::Up),
                ("down", Shuffle::Down),
                ("bfly", Shuffle::Bfly),
                ("idx", Shuffle::Idx),
            ])
            .ok_or("shfl needs a mode")?;
        m.ty()?;
        let (d, p) = self.pair(ops.first(), Class::Word)?;
        let (a, b, c) =
            (self.src(ops.get(1), Ty::B32)?, self.src(ops.get(2), Ty::B32)?, self.src(ops.get(3), Ty::B32)?);
        self.collective(ops.get(4), Collective::Shuffle { mode, d, p, a, b, c })
    }

    fn vote(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        if !m.take("sync") {
            return Err("vote without .sync is not supported".to_owned());
        }
        let kind = m
            .one_of(&[("all", Vote::All), ("any", Vote::Any), ("uni", Vote::Uni), ("ballot", Vote::Ballot)])
            .ok_or("vote needs a mode")?;
        let class = m.ty()?.class();
        let (d, pred) = (self.dst(ops.first(), class)?, self.pred(ops.get(1))?);
        self.collective(ops.get(2), Collective::Vote { kind, d, pred })
    }

    fn matching(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let _ = m.take("sync");
        let all = m.take("all");
        let _ = m.take("any");
        let ty = m.ty()?;
        let a = self.src(ops.get(1), ty)?;
        let (d, p) = self.pair(ops.first(), Class::Word)?;
        let what = if all { Collective::MatchAll { ty, d, p, a } } else { Collective::MatchAny { ty, d, a } };
        self.collective(ops.get(2), what)
    }

    fn redux(&mut self, m: &mut Modifiers<'_>, ops: &[Operand]) -> Result<Op> {
        let _ = m.take("sync");
        let op = m
            .one_of(&[
                ("add", Two::Add),
                ("min", Two::Min),
                ("max", Two::Max),
                ("and", Two::And),
                ("or", Two::Or),
                ("xor", Two::Xor),
            ])
            .ok_or("redux needs an operation")?;
        let ty = m.ty()?;
        if ty.class() != Class::Word || ty.float() {
            return Err(format!("redux on {ty:?} is not supported"));
        }
        let (d, a) = (self.dst(ops.first(), Class::Word)?, self.src(ops.get(1), ty)?);
        self.collective(ops.get(2), Collective::Redux { op, ty, d, a })
    }
}

fn cluster_barrier(m: &mut Modifiers<'_>) -> Result<Op> {
    let _ = m.take("aligned");
    let relaxed = m.take("relaxed");
    let _ = m.take("release") | m.take("acquire");
    if m.take("arrive") {
        return Ok(Op::ClusterArrive { release: !relaxed });
    }
    if m.take("wait") {
        return Ok(Op::ClusterWait);
    }
    Err("this cluster barrier is not supported".to_owned())
}
