//! What each thread knows of the others, and what its fences have prepared.

use super::class::{Class, Level};
use super::clock::{Clock, ThreadId, block_of};
use crate::event::Thread;

/// A thread's knowledge at one moment: `base`, and itself up to `epoch`.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) base: Clock,
    pub(super) epoch: u32,
}

/// What fences remember of a thread, by [`Level`].
#[derive(Clone, Debug, Default)]
struct Fences {
    /// The latest fence of at least this level; a strong write after it completes
    /// a release pattern that begins at the fence.
    released: [Option<Snapshot>; 3],
    /// Releases seen by reads; a fence of at least this level after them
    /// completes the acquire pattern.
    pending: [Clock; 3],
}

#[derive(Debug)]
struct State {
    /// Counts the thread's releases; starts at 1, since 0 is "nothing known".
    epoch: u32,
    base: Clock,
    /// Only threads that use fences pay for them.
    fences: Option<Box<Fences>>,
}

impl State {
    fn new() -> Self {
        Self { epoch: 1, base: Clock::default(), fences: None }
    }

    /// Ends the epoch.
    fn advance(&mut self) {
        self.epoch = self.epoch.saturating_add(1);
    }
}

/// What has come together at a barrier.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    clock: Clock,
    /// The last base that was joined.
    joined: Clock,
}

/// All threads seen in this launch.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// By warp, 32 lanes each.
    warps: Vec<Option<Box<[State]>>>,
    /// The cluster of each block.
    clusters: Vec<u32>,
}

impl Threads {
    /// The id of a thread, which is known from here on.
    pub(super) fn see(&mut self, thread: Thread) -> ThreadId {
        let warp_in_block = thread.warp() % 32;
        let id = ThreadId {
            warp: thread.block.wrapping_mul(32).wrapping_add(warp_in_block),
            lane: thread.thread % 32,
        };
        let slot = id.warp as usize;
        if self.warps.len() <= slot {
            self.warps.resize_with(slot + 1, || None);
        }
        if self.warps[slot].is_none() {
            self.warps[slot] = Some((0..32).map(|_| State::new()).collect());
            let block = id.block() as usize;
            if self.clusters.len() <= block {
                self.clusters.resize(block + 1, 0);
            }
            self.clusters[block] = thread.cluster;
        }
        id
    }

    fn get(&self, id: ThreadId) -> Option<&State> {
        self.warps.get(id.warp as usize)?.as_deref()?.get(id.lane as usize)
    }

    fn get_mut(&mut self, id: ThreadId) -> Option<&mut State> {
        self.warps.get_mut(id.warp as usize)?.as_deref_mut()?.get_mut(id.lane as usize)
    }

    pub(super) fn cluster(&self, block: u32) -> u32 {
        self.clusters.get(block as usize).copied().unwrap_or(block)
    }

    /// The event's form of an id.
    pub(super) fn thread(&self, id: ThreadId) -> Thread {
        Thread { block: id.block(), thread: id.warp % 32 * 32 + id.lane, cluster: self.cluster(id.block()) }
    }

    pub(super) fn epoch(&self, id: ThreadId) -> u32 {
        self.get(id).map_or(0, |state| state.epoch)
    }

    /// What the thread knows of others.
    pub(super) fn base(&self, id: ThreadId) -> Option<&Clock> {
        self.get(id).map(|state| &state.base)
    }

    pub(super) fn snapshot(&self, id: ThreadId) -> Option<Snapshot> {
        self.get(id).map(|state| Snapshot { base: state.base.clone(), epoch: state.epoch })
    }

    /// What a strong write by `id` releases to readers within `level` because of
    /// fences before it.
    pub(super) fn fenced(&self, id: ThreadId, level: Level) -> Option<&Snapshot> {
        let fences = self.get(id)?.fences.as_deref()?;
        fences.released[level as usize].as_ref()
    }

    /// Ends the thread's epoch: what it does from here on was not released.
    pub(super) fn advance(&mut self, id: ThreadId) {
        if let Some(state) = self.get_mut(id) {
            state.advance();
        }
    }

    pub(super) fn acquire(&mut self, id: ThreadId, released: &Clock) {
        if let Some(state) = self.get_mut(id) {
            state.base.join(released);
        }
    }

    /// Keeps a release until a fence of at least `level` acquires it.
    pub(super) fn acquire_at_fence(&mut self, id: ThreadId, level: Level, released: &Clock) {
        if let Some(state) = self.get_mut(id) {
            let fences = state.fences.get_or_insert_default();
            fences.pending[level as usize].join(released);
        }
    }

    pub(super) fn fence(&mut self, id: ThreadId, level: Level) {
        let Some(state) = self.get_mut(id) else {
            return;
        };
        let fences = state.fences.get_or_insert_default();
        for pending in &mut fences.pending[..=level as usize] {
            state.base.join(&std::mem::take(pending));
        }
        for released in &mut fences.released[..=level as usize] {
            *released = Some(Snapshot { base: state.base.clone(), epoch: state.epoch });
        }
        self.advance(id);
    }

    /// Adds what the threads know and did to what has met at a barrier.
    pub(super) fn arrive(&mut self, met: &mut Meeting, by: impl Iterator<Item = ThreadId>) {
        for id in by {
            let Some(state) = self.get_mut(id) else { continue };
            // Threads that have met before share their base: once is enough.
            if !state.base.is_same(&met.joined) {
                met.clock.join(&state.base);
                met.joined = state.base.clone();
            }
            met.clock.learn(id, state.epoch);
            state.advance();
        }
    }

    /// Tells the threads what has met at a barrier.
    pub(super) fn leave(&mut self, met: &Meeting, by: impl Iterator<Item = ThreadId>) {
        let mut last: Option<(Clock, Clock)> = None;
        for id in by {
            let Some(state) = self.get_mut(id) else { continue };
            match &last {
                Some((before, after)) if state.base.is_same(before) => state.base = after.clone(),
                _ => {
                    let before = state.base.clone();
                    state.base.join(&met.clock);
                    last = Some((before, state.base.clone()));
                }
            }
        }
    }

    /// Whether `scope`'s level, seen from a thread of `a`, contains `b` (warps).
    pub(super) fn within(&self, level: Level, a: u32, b: u32) -> bool {
        match level {
            Level::Block => block_of(a) == block_of(b),
            Level::Cluster => self.cluster(block_of(a)) == self.cluster(block_of(b)),
            Level::Device => true,
        }
    }

    /// "Morally strong" in the PTX ISA, for accesses of two threads that
    /// overlap: both strong, each in the other's scope, and on the same bytes
    /// (accesses are aligned, so those of one size that overlap coincide).
    pub(super) fn morally_strong(&self, a: (&Class, u32), b: (&Class, u32)) -> bool {
        a.0.is_strong()
            && b.0.is_strong()
            && a.0.bytes == b.0.bytes
            && self.within(a.0.level(), a.1, b.1)
            && self.within(b.0.level(), b.1, a.1)
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.warps.clear();
        self.clusters.clear();
    }
}
