//! A warp: registers, and which of its lanes stand where.

use crate::code::{Code, Cond, NONE, PredSrc};

pub(super) const FULL: u32 = u32::MAX;

/// What a group of lanes does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// At a barrier of the block with this number.
    Barrier(u8),
    /// At a `.sync` instruction, for the lanes of this mask.
    Sync(u32),
    /// At a cluster barrier, until this phase is over.
    Cluster(u64),
    /// Until the SM's clock reaches this.
    Asleep(u64),
}

/// Lanes at one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) pc: u32,
    pub(super) mask: u32,
    /// Index of the frame whose meeting point it heads for, or [`NONE`].
    pub(super) frame: u32,
    pub(super) state: State,
    /// Polls in a row while nothing changed anywhere.
    pub(super) polls: u32,
    pub(super) epoch: u64,
    /// Instruction and address that it polled last, for the report of a deadlock.
    pub(super) polled: Option<(u32, u64)>,
}

/// Lanes that were together at a branch and meet again at `meet`.
#[derive(Clone, Copy, Debug)]
struct Frame {
    meet: u32,
    parent: u32,
    expected: u32,
    arrived: u32,
    used: bool,
}

#[derive(Debug, Default)]
pub(super) struct Warp {
    pub(super) index: u32,
    pub(super) live: u32,
    pub(super) groups: Vec<Group>,
    frames: Vec<Frame>,
    pub(super) words: Vec<[u32; 32]>,
    pub(super) wides: Vec<[u64; 32]>,
    pub(super) preds: Vec<u32>,
    pub(super) local: Vec<u8>,
    /// Instruction and address of the poll that ended the last turn.
    pub(super) polled: (u32, u64),
    /// Lanes that arrived at the cluster barrier's current phase.
    pub(super) cluster_arrived: (u64, u32),
}

impl Warp {
    pub(super) fn new(index: u32, lanes: u32, code: &Code) -> Warp {
        let live = if lanes >= 32 { FULL } else { (1 << lanes) - 1 };
        let group =
            Group { pc: 0, mask: live, frame: NONE, state: State::Ready, polls: 0, epoch: 0, polled: None };
        Warp {
            index,
            live,
            groups: vec![group],
            words: vec![[0; 32]; code.registers.words as usize],
            wides: vec![[0; 32]; code.registers.wides as usize],
            preds: vec![0; code.registers.preds as usize],
            local: vec![0; code.local_bytes as usize * 32],
            ..Warp::default()
        }
    }

    /// Lanes for which the condition holds.
    #[inline(always)]
    pub(super) fn cond(&self, cond: Cond) -> u32 {
        let mask = self.preds[cond.slot as usize];
        if cond.negated { !mask } else { mask }
    }

    #[inline(always)]
    pub(super) fn pred(&self, src: PredSrc) -> u32 {
        match src {
            PredSrc::Register(cond) => self.cond(cond),
            PredSrc::Constant(true) => FULL,
            PredSrc::Constant(false) => 0,
        }
    }

    #[inline(always)]
    pub(super) fn set_pred(&mut self, slot: u32, mask: u32, value: u32) {
        let place = &mut self.preds[slot as usize];
        *place = (*place & !mask) | (value & mask);
    }

    /// Where the group's lanes meet others, or [`NONE`].
    pub(super) fn meeting_point(&self, group: usize) -> u32 {
        self.frames.get(self.groups[group].frame as usize).map_or(NONE, |f| f.meet)
    }

    /// The lanes of `taken` go to `target`, the others of group `at` to the next instruction.
    pub(super) fn split(&mut self, at: usize, taken: u32, target: u32, meet: u32) {
        let group = self.groups[at];
        let next = group.pc + 1;
        let mut frame = group.frame;
        if meet != NONE && self.meeting_point(at) != meet {
            frame = self.new_frame(Frame {
                meet,
                parent: group.frame,
                expected: group.mask,
                arrived: 0,
                used: true,
            });
        }
        let side = |pc, mask| Group {
            pc,
            mask,
            frame,
            state: State::Ready,
            polls: 0,
            epoch: group.epoch,
            polled: None,
        };
        // A loop goes on before what follows it; else the code that comes first.
        let (first, second) = if target < next {
            (side(next, group.mask & !taken), side(target, taken))
        } else {
            (side(target, taken), side(next, group.mask & !taken))
        };
        self.groups[at] = first;
        self.groups.push(second);
    }

    fn new_frame(&mut self, frame: Frame) -> u32 {
        if let Some(free) = self.frames.iter().position(|f| !f.used) {
            self.frames[free] = frame;
            return free as u32;
        }
        self.frames.push(frame);
        self.frames.len() as u32 - 1
    }

    /// Group `at` reached its frame's meeting point: it ends there until all have come.
    pub(super) fn arrive(&mut self, at: usize) {
        let group = self.groups.swap_remove(at);
        let frame = &mut self.frames[group.frame as usize];
        frame.arrived |= group.mask;
        self.complete(group.frame, group.epoch);
    }

    /// Goes on with a frame's lanes when all that are expected have arrived.
    fn complete(&mut self, index: u32, epoch: u64) {
        let frame = self.frames[index as usize];
        if !frame.used || frame.arrived != frame.expected {
            return;
        }
        self.frames[index as usize].used = false;
        if frame.expected != 0 {
            self.add(Group {
                pc: frame.meet,
                mask: frame.arrived,
                frame: frame.parent,
                state: State::Ready,
                polls: 0,
                epoch,
                polled: None,
            });
        }
    }

    /// Adds a group, to one that stands at the same place when there is one.
    fn add(&mut self, group: Group) {
        let same = |g: &&mut Group| g.pc == group.pc && g.frame == group.frame && g.state == State::Ready;
        match self.groups.iter_mut().find(same) {
            Some(found) => found.mask |= group.mask,
            None => self.groups.push(group),
        }
    }

    /// Joins groups that are ready at the same place.
    pub(super) fn merge(&mut self) {
        if self.groups.len() < 2 {
            return;
        }
        for group in std::mem::take(&mut self.groups) {
            if group.state == State::Ready { self.add(group) } else { self.groups.push(group) }
        }
    }

    /// The lanes of `mask` end.
    pub(super) fn exit(&mut self, mask: u32) {
        self.live &= !mask;
        for group in &mut self.groups {
            group.mask &= !mask;
        }
        self.groups.retain(|g| g.mask != 0);
        for index in 0..self.frames.len() {
            let frame = &mut self.frames[index];
            if frame.used && frame.expected & mask != 0 {
                frame.expected &= !mask;
                frame.arrived &= !mask;
                self.complete(index as u32, 0);
            }
        }
    }

    /// Lets lanes that wait at a meeting point go on without the others:
    /// independent thread scheduling promises that they get there in the end.
    pub(super) fn release_early(&mut self) -> bool {
        let Some(index) = self.frames.iter().rposition(|f| f.used && f.arrived != 0) else {
            return false;
        };
        let frame = &mut self.frames[index];
        let (arrived, meet, parent) = (frame.arrived, frame.meet, frame.parent);
        frame.expected &= !arrived;
        frame.arrived = 0;
        self.add(Group {
            pc: meet,
            mask: arrived,
            frame: parent,
            state: State::Ready,
            polls: 0,
            epoch: 0,
            polled: None,
        });
        true
    }

    /// Lanes that wait at meeting points, with the instruction they will go on at.
    pub(super) fn parked(&self) -> impl Iterator<Item = (u32, u32)> {
        self.frames.iter().filter(|f| f.used && f.arrived != 0).map(|f| (f.meet, f.arrived))
    }
}
