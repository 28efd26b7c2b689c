//! Errors and waits said with their place in the kernel.

use super::block::Block;
use super::grid::Grid;
use super::warp::{State, Warp};
use crate::error::{Error, Place, Waiter};

/// How many waiting groups a report lists.
const WAITERS_SHOWN: usize = 8;
/// Lanes at the place where a branch's lanes meet again.
const MEET: &str = "wait for the warp's other lanes to reach the same place";

/// What went wrong in a lane.
#[derive(Debug)]
pub(super) enum Fault {
    Memory { lane: u32, address: u64, reason: String },
    Trap { lane: u32, reason: String },
    Sync { lane: u32, reason: String },
    Budget,
}

/// What is wrong with a mask that names lanes which are not alive.
pub(super) fn names_absent(wanted: u32, live: u32) -> String {
    let absent = wanted & !live;
    format!(
        "the mask {wanted:#010x} of a .sync instruction names lanes {absent:#010x}, which have ended or never were"
    )
}

impl Grid<'_> {
    fn place(&self, block: &Block, warp: &Warp, lane: u32, pc: u32) -> Box<Place> {
        let instr = self.code.instrs.get(pc as usize);
        let thread = warp.index * 32 + lane;
        let [x, y, _] = self.block;
        Box::new(Place {
            kernel: self.code.name.clone(),
            instruction: instr.map_or(String::new(), |i| self.parts.text(i.ptx_line).to_owned()),
            line: instr.map_or(0, |i| i.line),
            ptx_line: instr.map_or(0, |i| i.ptx_line),
            block: block.at,
            thread: [thread % x, thread / x % y, thread / (x * y)],
        })
    }

    /// The error for a fault of a warp of the block in `slot`.
    pub(super) fn error(&self, slot: usize, warp: &Warp, pc: u32, fault: Fault) -> Error {
        let Some(block) = self.block_at(slot) else {
            return Error::Usage("a block that has ended failed".to_owned());
        };
        let place = |lane| self.place(block, warp, lane, pc);
        match fault {
            Fault::Memory { lane, address, reason } => Error::Memory { place: place(lane), address, reason },
            Fault::Trap { lane, reason } => Error::Trap { place: place(lane), reason },
            Fault::Sync { lane, reason } => Error::Sync { place: place(lane), reason },
            Fault::Budget => {
                let mut waiters = Vec::new();
                self.waiters_of(block, warp, &mut waiters);
                waiters.truncate(WAITERS_SHOWN);
                Error::Budget { limit: self.options.budget, waiters }
            }
        }
    }

    /// The report when nothing moves; `pending` blocks have not started.
    pub(super) fn deadlock(&self, pending: usize) -> Error {
        let mut waiters = Vec::new();
        for block in self.blocks.iter().flatten() {
            for warp in &block.warps {
                if let Some(error) = self.waits_for_absent(block, warp) {
                    return error;
                }
                self.waiters_of(block, warp, &mut waiters);
            }
        }
        let total = waiters.len();
        waiters.truncate(WAITERS_SHOWN);
        Error::Deadlock { waiters, total, not_started: pending }
    }

    /// A `.sync` instruction whose mask names lanes that ended while the others waited for them.
    fn waits_for_absent(&self, block: &Block, warp: &Warp) -> Option<Error> {
        warp.groups.iter().find_map(|group| match group.state {
            State::Sync(wanted) if wanted & !warp.live != 0 => Some(Error::Sync {
                place: self.place(block, warp, group.mask.trailing_zeros(), group.pc),
                reason: names_absent(wanted, warp.live),
            }),
            _ => None,
        })
    }

    fn waiters_of(&self, block: &Block, warp: &Warp, found: &mut Vec<Waiter>) {
        for (at, group) in warp.groups.iter().enumerate() {
            let ready = group.state == State::Ready;
            let (pc, waits_for) = match group.polled {
                _ if ready && group.pc == warp.meeting_point(at) => (group.pc, MEET.to_owned()),
                Some((pc, address)) if ready => {
                    (pc, format!("poll address {address:#x}, which nobody changes"))
                }
                _ => (group.pc, self.waits_for(block, group.state)),
            };
            let place = *self.place(block, warp, group.mask.trailing_zeros(), pc);
            found.push(Waiter { place, lanes: group.mask, waits_for });
        }
        for (meet, lanes) in warp.parked() {
            let place = *self.place(block, warp, lanes.trailing_zeros(), meet);
            let waits_for = MEET.to_owned();
            found.push(Waiter { place, lanes, waits_for });
        }
    }

    fn waits_for(&self, block: &Block, state: State) -> String {
        match state {
            State::Barrier(id) => {
                let barrier = &block.barriers[id as usize % block.barriers.len()];
                let need = if barrier.need == 0 { block.live } else { barrier.need };
                format!("wait at barrier {id}: {} of {need} threads have arrived", barrier.arrived)
            }
            State::Sync(mask) => format!("wait for the lanes of mask {mask:#010x} at a .sync instruction"),
            State::Cluster(_) => "wait at the cluster's barrier".to_owned(),
            State::Asleep(_) => "sleep".to_owned(),
            State::Ready => "are running".to_owned(),
        }
    }
}
