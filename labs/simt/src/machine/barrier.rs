//! Barriers of a block and of a cluster, and fences.

use super::access::Checked;
use super::block::BARRIERS;
use super::grid::Grid;
use super::place::Fault;
use super::step::After;
use super::vector::set_words;
use super::warp::{State, Warp};
use crate::code::{Bar, BarKind, NONE, Op};
use crate::event::{Barrier, BarrierOf, Scope, Thread};

impl Grid<'_> {
    #[allow(clippy::too_many_arguments)] // an instruction's whole context, as all of `step`
    pub(super) fn bar(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        at: usize,
        pc: u32,
        mask: u32,
        bar: &Bar,
    ) -> Checked<After> {
        let lane = mask.trailing_zeros();
        let id = self.words(warp, bar.id)[lane as usize];
        let need = bar.count.map_or(0, |c| self.words(warp, c)[lane as usize]);
        let sync = |reason| Box::new(Fault::Sync { lane, reason });
        if id as usize >= BARRIERS {
            return Err(sync(format!("barrier {id} does not exist: a block has {BARRIERS}")));
        }
        if !need.is_multiple_of(32) {
            return Err(sync(format!("a barrier for {need} threads: the number must be a multiple of 32")));
        }
        let holds = bar.pred.map_or(0, |p| (warp.pred(p) & mask).count_ones());
        let Some(block) = self.block_mut(slot) else { return Ok(After::Next) };
        let barrier = &mut block.barriers[id as usize];
        if barrier.arrived > 0 && barrier.need != need {
            let before = barrier.need;
            return Err(sync(format!(
                "barrier {id} is used for {need} threads while others use it for {before} (0: all)"
            )));
        }
        barrier.need = need;
        barrier.arrived += mask.count_ones();
        barrier.holds += holds;
        let of = BarrierOf::Block { block: block.index, number: id as u8 };
        let event = Barrier { of, phase: block.barriers[id as usize].phase };
        self.tell_arrival(event, slot, warp, mask, pc);
        let group = &mut warp.groups[at];
        // The group's lanes that the guard leaves out go on by themselves.
        let stays = group.mask & !mask;
        if stays != 0 {
            return Err(sync("a barrier under a predicate that differs among the lanes".to_owned()));
        }
        group.pc = pc + 1;
        if bar.kind != BarKind::Arrive {
            group.state = State::Barrier(id as u8);
        }
        self.open_barrier_if_full(slot, warp, id as u8, pc);
        Ok(After::Waits)
    }

    /// Lets the threads at a barrier go when it has all it needs. `current` is the warp
    /// whose turn it is, which its block does not hold meanwhile.
    pub(super) fn open_barrier_if_full(&mut self, slot: usize, current: &mut Warp, id: u8, pc: u32) {
        let Some(block) = self.block_mut(slot) else { return };
        let live = block.live;
        let barrier = &mut block.barriers[id as usize];
        let need = if barrier.need == 0 { live } else { barrier.need };
        if barrier.arrived < need || barrier.arrived == 0 {
            return;
        }
        let phase = barrier.phase;
        let done = std::mem::take(barrier);
        barrier.phase = phase + 1;
        let event = Barrier { of: BarrierOf::Block { block: block.index, number: id }, phase };
        let mut warps = std::mem::take(&mut block.warps);
        let mut released = Vec::new();
        let result = Reduced { holds: done.holds, all: done.holds == done.arrived };
        for warp in warps.iter_mut().chain(std::iter::once(&mut *current)) {
            self.release_warp(slot, warp, id, result, &mut released);
        }
        if let Some(block) = self.block_mut(slot) {
            block.warps = warps;
        }
        self.epoch += 1;
        self.barriers += 1;
        let site = self.site(if pc == NONE { 0 } else { pc });
        if let Some(observer) = &mut self.observer {
            observer.leave(event, &released, site);
        }
    }

    fn release_warp(
        &self,
        slot: usize,
        warp: &mut Warp,
        id: u8,
        result: Reduced,
        released: &mut Vec<Thread>,
    ) {
        let mut opened = false;
        for at in 0..warp.groups.len() {
            let group = warp.groups[at];
            if group.state != State::Barrier(id) {
                continue;
            }
            warp.groups[at].state = State::Ready;
            opened = true;
            if self.observer.is_some() {
                released.extend(self.threads_of(slot, warp, group.mask));
            }
            if let Some(Op::Bar(bar)) = self.code.instrs.get(group.pc as usize - 1).map(|i| &i.op) {
                match bar.kind {
                    BarKind::Popc => set_words(warp, bar.to, group.mask, |_| result.holds),
                    BarKind::And => warp.set_pred(bar.to, group.mask, if result.all { u32::MAX } else { 0 }),
                    BarKind::Or => {
                        warp.set_pred(bar.to, group.mask, if result.holds > 0 { u32::MAX } else { 0 })
                    }
                    BarKind::Sync | BarKind::Arrive => {}
                }
            }
        }
        if opened {
            warp.merge();
        }
    }

    pub(super) fn cluster_arrive(&mut self, slot: usize, warp: &mut Warp, pc: u32, mask: u32, release: bool) {
        let Some(index) = self.block_at(slot).map(|b| b.cluster) else { return };
        let cluster = &mut self.clusters[index];
        if warp.cluster_arrived.0 != cluster.phase {
            warp.cluster_arrived = (cluster.phase, 0);
        }
        warp.cluster_arrived.1 |= mask;
        cluster.arrived += mask.count_ones();
        let event = Barrier { of: BarrierOf::Cluster(cluster.index), phase: cluster.phase };
        if release {
            self.tell_arrival(event, slot, warp, mask, pc);
        }
        self.open_cluster_if_full(slot, index, warp, pc);
    }

    fn tell_arrival(&mut self, barrier: Barrier, slot: usize, warp: &Warp, mask: u32, pc: u32) {
        if self.observer.is_none() {
            return;
        }
        let (threads, site) = (self.threads_of(slot, warp, mask), self.site(pc));
        if let Some(observer) = &mut self.observer {
            observer.arrive(barrier, &threads, site);
        }
    }

    pub(super) fn cluster_wait(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        at: usize,
        pc: u32,
        mask: u32,
    ) -> After {
        let Some(cluster) = self.block_at(slot).and_then(|b| self.clusters.get(b.cluster)) else {
            return After::Next;
        };
        let (of, now) = (BarrierOf::Cluster(cluster.index), cluster.phase);
        let (phase, arrived) = warp.cluster_arrived;
        if arrived & mask == 0 {
            return After::Next;
        }
        if phase != now {
            // It has opened since the warp arrived.
            let (threads, site) = (self.threads_of(slot, warp, mask), self.site(pc));
            if let Some(observer) = &mut self.observer {
                observer.leave(Barrier { of, phase }, &threads, site);
            }
            return After::Next;
        }
        let group = &mut warp.groups[at];
        (group.pc, group.state) = (pc + 1, State::Cluster(phase));
        After::Waits
    }

    fn open_cluster_if_full(&mut self, slot: usize, index: usize, current: &mut Warp, pc: u32) {
        let cluster = &mut self.clusters[index];
        if cluster.arrived < cluster.live || cluster.arrived == 0 {
            return;
        }
        let phase = cluster.phase;
        cluster.phase += 1;
        cluster.arrived = 0;
        let event = Barrier { of: BarrierOf::Cluster(cluster.index), phase };
        let slots: Vec<usize> = cluster.slots.iter().flatten().copied().collect();
        let mut released = Vec::new();
        self.wake_from_cluster(slot, current, phase, &mut released);
        for other in slots {
            let Some(block) = self.block_mut(other) else { continue };
            let mut warps = std::mem::take(&mut block.warps);
            for warp in &mut warps {
                self.wake_from_cluster(other, warp, phase, &mut released);
            }
            if let Some(block) = self.block_mut(other) {
                block.warps = warps;
            }
        }
        self.epoch += 1;
        self.barriers += 1;
        let site = self.site(if pc == NONE { 0 } else { pc });
        if let Some(observer) = &mut self.observer {
            observer.leave(event, &released, site);
        }
    }

    fn wake_from_cluster(&self, slot: usize, warp: &mut Warp, phase: u64, released: &mut Vec<Thread>) {
        for at in 0..warp.groups.len() {
            if warp.groups[at].state == State::Cluster(phase) {
                warp.groups[at].state = State::Ready;
                if self.observer.is_some() {
                    released.extend(self.threads_of(slot, warp, warp.groups[at].mask));
                }
            }
        }
        warp.merge();
    }

    /// Lanes have ended: a cluster's barrier no longer waits for them.
    pub(super) fn exit_cluster(&mut self, slot: usize, index: usize, warp: &mut Warp, mask: u32) {
        let Some(cluster) = self.clusters.get_mut(index) else { return };
        cluster.live -= mask.count_ones();
        if warp.cluster_arrived.0 == cluster.phase {
            let gone = warp.cluster_arrived.1 & mask;
            cluster.arrived -= gone.count_ones();
            warp.cluster_arrived.1 &= !mask;
        }
        self.open_cluster_if_full(slot, index, warp, NONE);
    }

    pub(super) fn fence(
        &mut self,
        slot: usize,
        warp: &Warp,
        pc: u32,
        mask: u32,
        scope: Scope,
        sequential: bool,
    ) {
        if self.observer.is_none() {
            return;
        }
        let site = self.site(pc);
        for by in self.threads_of(slot, warp, mask) {
            if let Some(observer) = &mut self.observer {
                observer.fence(by, scope, sequential, site);
            }
        }
    }
}

/// What `bar.red` found.
#[derive(Clone, Copy)]
struct Reduced {
    holds: u32,
    all: bool,
}
