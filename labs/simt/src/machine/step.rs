//! Runs a group of lanes, instruction by instruction.

use super::grid::Grid;
use super::place::Fault;
use super::schedule::Flow;
use super::warp::{State, Warp};
use crate::code::{NONE, Op};
use crate::types::Class;

/// What an instruction other than a branch leaves to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Next,
    /// The next instruction, but not before others had a turn.
    Poll,
    /// The group's state is set: it waits at this instruction or is past it.
    Waits,
}

impl Grid<'_> {
    /// Runs group `at` until it branches apart, meets others, waits or its turn ends.
    /// `pc` is left at the instruction that failed, if one did.
    pub(super) fn run_group(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        at: usize,
        pc: &mut u32,
        turn: &mut u32,
    ) -> Result<Flow, Box<Fault>> {
        let code = self.code;
        let meet = warp.meeting_point(at);
        let mask = warp.groups[at].mask;
        loop {
            if *pc == meet {
                warp.groups[at].pc = *pc;
                warp.arrive(at);
                return Ok(Flow::Again);
            }
            if *turn == 0 {
                warp.groups[at].pc = *pc;
                return Ok(Flow::Over);
            }
            *turn -= 1;
            self.now += 1;
            let instr = &code.instrs[*pc as usize];
            let active = match instr.guard {
                Some(cond) => mask & warp.cond(cond),
                None => mask,
            };
            let executed = &mut self.executed[*pc as usize];
            executed[0] += 1;
            executed[1] += u64::from(active.count_ones());
            self.spent += u64::from(active.count_ones());
            match &instr.op {
                Op::Branch { target, .. } if active == mask => *pc = *target,
                Op::Branch { target, meet } if active != 0 => {
                    warp.groups[at].pc = *pc;
                    warp.split(at, active, *target, *meet);
                    return Ok(Flow::Again);
                }
                Op::Exit if active != 0 => {
                    warp.groups[at].pc = *pc + 1;
                    self.exit(slot, warp, active);
                    return Ok(Flow::Again);
                }
                _ if active == 0 => *pc += 1,
                op => {
                    // Only what may wait needs the group's place up to date.
                    warp.groups[at].pc = *pc;
                    match self.step(slot, warp, at, *pc, active, op)? {
                        After::Next => *pc += 1,
                        After::Poll => {
                            warp.groups[at].pc = *pc + 1;
                            return Ok(Flow::Poll);
                        }
                        After::Waits => return Ok(Flow::Again),
                    }
                }
            }
        }
    }

    fn step(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        at: usize,
        pc: u32,
        mask: u32,
        op: &Op,
    ) -> Result<After, Box<Fault>> {
        match op {
            Op::Load(load) => self.load(slot, warp, pc, mask, load),
            Op::Store(store) => self.store(slot, warp, pc, mask, store),
            Op::Atomic(atomic) => self.atomic(slot, warp, pc, mask, atomic),
            Op::Landing(landing) => self.landing(slot, warp, pc, mask, landing),
            Op::Bulk(bulk) => self.bulk(slot, warp, pc, mask, bulk),
            Op::Bar(bar) => self.bar(slot, warp, at, pc, mask, bar),
            Op::Collective { mask: members, what } => {
                self.collective(slot, warp, at, pc, mask, *members, what)
            }
            Op::ClusterArrive { release } => {
                self.cluster_arrive(slot, warp, pc, mask, *release);
                Ok(After::Next)
            }
            Op::ClusterWait => Ok(self.cluster_wait(slot, warp, at, pc, mask)),
            Op::Fence { scope, sequential } => {
                self.fence(slot, warp, pc, mask, *scope, *sequential);
                Ok(After::Next)
            }
            Op::Sleep { nanoseconds } => {
                // A cycle for a nanosecond; the longest sleep among the lanes, as the warp waits for it.
                let times = self.words(warp, *nanoseconds);
                let time = (0..32).filter(|l| mask >> l & 1 != 0).map(|l| times[l]).max().unwrap_or(0);
                let group = &mut warp.groups[at];
                (group.pc, group.state) = (pc + 1, State::Asleep(self.now + u64::from(time)));
                Ok(After::Waits)
            }
            Op::Trap(reason) => {
                Err(Box::new(Fault::Trap { lane: mask.trailing_zeros(), reason: reason.to_string() }))
            }
            Op::Special { what, class, d } => {
                self.special(slot, warp, mask, *what, *class == Class::Wide, *d);
                Ok(After::Next)
            }
            Op::CopyLocal { to, from, bytes } => {
                self.copy_local(warp, mask, *to, *from, *bytes);
                Ok(After::Next)
            }
            Op::ActiveMask { d } => {
                super::vector::set_words(warp, *d, mask, |_| mask);
                Ok(After::Next)
            }
            Op::Nothing => Ok(After::Next),
            op => {
                self.compute(warp, mask, op);
                Ok(After::Next)
            }
        }
    }

    /// The lanes of `mask` end: barriers that waited for them may open.
    fn exit(&mut self, slot: usize, warp: &mut Warp, mask: u32) {
        warp.exit(mask);
        self.epoch += 1;
        let gone = mask.count_ones();
        let Some(block) = self.block_mut(slot) else { return };
        block.live -= gone;
        let cluster = block.cluster;
        let waiting: Vec<u8> =
            (0..block.barriers.len() as u8).filter(|&id| block.barriers[id as usize].arrived > 0).collect();
        for id in waiting {
            self.open_barrier_if_full(slot, warp, id, NONE);
        }
        self.exit_cluster(slot, cluster, warp, mask);
    }

    fn copy_local(&self, warp: &mut Warp, mask: u32, to: u32, from: u32, bytes: u32) {
        let size = self.code.local_bytes as usize;
        for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
            let start = lane * size;
            let range = start + from as usize..start + (from + bytes) as usize;
            if range.end <= warp.local.len() && start + (to + bytes) as usize <= warp.local.len() {
                warp.local.copy_within(range, start + to as usize);
            }
        }
    }
}
