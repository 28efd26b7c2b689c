//! A resident block: its warps, shared memory and barriers; and a cluster of them.

use super::warp::Warp;
use crate::code::Code;
use crate::count::Queues;

/// Barriers a block has (PTX ISA, `barrier`).
pub(super) const BARRIERS: usize = 16;

/// One of a block's barriers.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    /// Threads that have arrived.
    pub(super) arrived: u32,
    /// Threads it needs; 0 while nobody has said: all of the block.
    pub(super) need: u32,
    /// For `bar.red`: lanes whose predicate held, and lanes in all.
    pub(super) holds: u32,
    /// How often it has opened.
    pub(super) phase: u64,
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) index: u32,
    pub(super) at: [u32; 3],
    pub(super) sm: u32,
    /// Slot of its cluster, and its rank there.
    pub(super) cluster: usize,
    pub(super) rank: u32,
    pub(super) live: u32,
    pub(super) shared: Vec<u8>,
    pub(super) warps: Vec<Warp>,
    pub(super) barriers: [Barrier; BARRIERS],
    /// Queues at its shared memory, by instruction.
    pub(super) queues: Vec<(u32, Queues)>,
}

impl Block {
    /// Makes the warps: a block that waits for its first turn has none.
    pub(super) fn start(&mut self, threads: u32, shared_bytes: usize, code: &Code) {
        self.shared = vec![0; shared_bytes];
        self.warps =
            (0..threads.div_ceil(32)).map(|w| Warp::new(w, (threads - w * 32).min(32), code)).collect();
    }

    /// The queues at one instruction.
    pub(super) fn queues(&mut self, instruction: u32) -> &mut Queues {
        let found = self.queues.iter().position(|(i, _)| *i == instruction);
        let index = found.unwrap_or_else(|| {
            self.queues.push((instruction, Queues::default()));
            self.queues.len() - 1
        });
        &mut self.queues[index].1
    }
}

/// Blocks that are resident together and share barriers and memory.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    pub(super) index: u32,
    /// Slots of its blocks by rank; a block that has ended leaves its slot.
    pub(super) slots: Vec<Option<usize>>,
    pub(super) live: u32,
    pub(super) phase: u64,
    pub(super) arrived: u32,
    pub(super) used: bool,
}
