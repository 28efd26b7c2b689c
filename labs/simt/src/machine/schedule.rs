//! Which block and which warp has its turn. A turn ends when the warp waits:
//! for a barrier, or for the reply of an atomic or of a strong load, as a real
//! warp does; so contended loops interleave as they do on a GPU.

use super::block::{Block, Cluster};
use super::grid::Grid;
use super::place::Fault;
use super::warp::{State, Warp};
use super::{Order, Reconvergence};
use crate::count::Report;
use crate::error::Error;

/// Instructions of a warp's turn when nothing else ends it.
const TURN: u32 = 1 << 14;
/// Cycles that a round of waiting for memory takes (a round trip to the L2 is of this order).
const ROUND_CYCLES: u64 = 500;
/// Rounds without any change after which the launch counts as deadlocked. A
/// warp may need one for each of its lanes' turns, [`POLLS_MAX`] times over.
const STALLED_ROUNDS_MAX: u32 = 512;
/// Polls without any change anywhere after which a warp's other lanes get a turn.
const POLLS_MAX: u32 = 4;
/// How rarely the starved block of the adversarial order has a turn while others move.
const STARVED_EVERY: u64 = 64;

/// Why a warp's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Waiting,
    Yielded,
}

/// What a group does after its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Groups changed: choose again.
    Again,
    /// It waits for memory.
    Poll,
    /// Its turn is over.
    Over,
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, (self.next() % (index as u64 + 1)) as usize);
        }
    }
}

/// Clusters (single blocks where there are none) not yet started.
struct Pending {
    next: u32,
    count: u32,
    reverse: bool,
    permutation: Vec<u32>,
}

impl Pending {
    fn new(count: u32, order: Order, random: &mut Random) -> Pending {
        let mut permutation = Vec::new();
        if order == Order::Shuffled {
            permutation = (0..count).collect();
            random.shuffle(&mut permutation);
        }
        Pending { next: 0, count, reverse: order == Order::Adversarial, permutation }
    }

    fn left(&self) -> usize {
        (self.count - self.next) as usize
    }

    fn pop(&mut self) -> Option<u32> {
        if self.next == self.count {
            return None;
        }
        self.next += 1;
        let index = if self.reverse { self.count - self.next } else { self.next - 1 };
        Some(self.permutation.get(index as usize).copied().unwrap_or(index))
    }
}

impl Grid<'_> {
    pub(super) fn run(mut self) -> Result<Report, Error> {
        let mut random = Random(self.options.seed);
        let clusters = self.grid.iter().product::<u32>() / self.cluster_blocks();
        let mut pending = Pending::new(clusters, self.options.order, &mut random);
        let mut free: Vec<usize> = (0..self.resident_blocks()).rev().collect();
        if (free.len() as u32) < self.cluster_blocks() {
            return Err(Error::Usage(format!(
                "a cluster of {} blocks does not fit on the GPU",
                self.cluster_blocks()
            )));
        }
        self.blocks.resize_with(free.len(), || None);
        let (mut stalled, mut round) = (0, 0);
        loop {
            self.admit(&mut pending, &mut free);
            if self.blocks.iter().all(Option::is_none) {
                break;
            }
            round += 1;
            let epoch = self.epoch;
            self.clock_read = false;
            let ran = self.round(round, &mut random, &mut free)?;
            for clock in &mut self.clocks {
                *clock += ROUND_CYCLES;
            }
            if self.epoch != epoch || self.clock_read || ran.over {
                stalled = 0;
            } else if ran.warps > 0 {
                stalled += 1;
            } else if !self.skip_to_next_wake() && !self.release_parked() {
                stalled = STALLED_ROUNDS_MAX;
            }
            if stalled >= STALLED_ROUNDS_MAX {
                return Err(self.deadlock(pending.left() * self.cluster_blocks() as usize));
            }
        }
        if let Some(observer) = &mut self.observer {
            observer.launch_end();
        }
        Ok(self.report())
    }

    /// Blocks that the GPU holds at once.
    fn resident_blocks(&self) -> usize {
        let threads = self.threads().next_multiple_of(32);
        let by_threads = (self.gpu.threads_per_sm / threads).max(1);
        let by_shared =
            self.gpu.shared_bytes_per_sm.checked_div(self.shared_bytes()).unwrap_or(u32::MAX).max(1);
        let blocks: u32 = self.grid.iter().product();
        let all = u64::from(self.gpu.blocks_per_sm.min(by_threads).min(by_shared)) * u64::from(self.gpu.sms);
        all.min(u64::from(blocks)) as usize
    }

    /// Starts clusters while there is room.
    fn admit(&mut self, pending: &mut Pending, free: &mut Vec<usize>) {
        let size = self.cluster_blocks();
        while free.len() >= size as usize {
            let Some(index) = pending.pop() else { return };
            let cluster = self.clusters.iter().position(|c| !c.used).unwrap_or(self.clusters.len());
            if cluster == self.clusters.len() {
                self.clusters.push(Cluster::default());
            }
            let threads = self.threads();
            let mut slots = Vec::with_capacity(size as usize);
            for rank in 0..size {
                let Some(slot) = free.pop() else { return };
                let at = self.block_position(index, rank);
                let block = Block {
                    index: at[0] + self.grid[0] * (at[1] + self.grid[1] * at[2]),
                    at,
                    sm: slot as u32 % self.gpu.sms,
                    cluster,
                    rank,
                    live: threads,
                    shared: Vec::new(),
                    warps: Vec::new(),
                    barriers: Default::default(),
                    queues: Vec::new(),
                };
                self.blocks[slot] = Some(Box::new(block));
                slots.push(Some(slot));
            }
            self.clusters[cluster] =
                Cluster { index, slots, live: threads * size, used: true, ..Cluster::default() };
            if size > 1 {
                self.start_cluster(cluster);
            }
        }
    }

    /// A cluster's blocks start together: each may touch another's shared memory at once.
    fn start_cluster(&mut self, cluster: usize) {
        let (threads, bytes, code) = (self.threads(), self.shared_bytes() as usize, self.code);
        for slot in self.clusters[cluster].slots.clone().into_iter().flatten() {
            if let Some(block) = self.block_mut(slot) {
                block.start(threads, bytes, code);
            }
        }
    }

    /// Position in the grid of a cluster's block.
    fn block_position(&self, cluster: u32, rank: u32) -> [u32; 3] {
        let per = [self.grid[0] / self.cluster[0], self.grid[1] / self.cluster[1]];
        let base = [cluster % per[0], cluster / per[0] % per[1], cluster / (per[0] * per[1])];
        let inner = [
            rank % self.cluster[0],
            rank / self.cluster[0] % self.cluster[1],
            rank / (self.cluster[0] * self.cluster[1]),
        ];
        std::array::from_fn(|axis| base[axis] * self.cluster[axis] + inner[axis])
    }

    /// Every resident block has a turn.
    fn round(&mut self, round: u64, random: &mut Random, free: &mut Vec<usize>) -> Result<Ran, Error> {
        let mut order: Vec<usize> =
            (0..self.blocks.len()).filter(|&slot| self.blocks[slot].is_some()).collect();
        match self.options.order {
            Order::Fair => {}
            Order::Shuffled => random.shuffle(&mut order),
            Order::Adversarial => {
                order.sort_by_key(|&slot| std::cmp::Reverse(self.block_at(slot).map_or(0, |b| b.index)));
                if !round.is_multiple_of(STARVED_EVERY) && order.len() > 1 {
                    // The first of the resident blocks waits until the others are stuck.
                    let starved = order.pop();
                    let epoch = self.epoch;
                    let ran = self.turns(&order, random, free)?;
                    if ran.warps > 0 && self.epoch != epoch {
                        return Ok(ran);
                    }
                    order = starved.into_iter().collect();
                    let last = self.turns(&order, random, free)?;
                    return Ok(Ran { warps: ran.warps + last.warps, over: ran.over || last.over });
                }
            }
        }
        self.turns(&order, random, free)
    }

    fn turns(&mut self, slots: &[usize], random: &mut Random, free: &mut Vec<usize>) -> Result<Ran, Error> {
        let mut ran = Ran::default();
        for &slot in slots {
            self.visit(slot, random, &mut ran)?;
            if self.block_at(slot).is_some_and(|b| b.live == 0) {
                if let Some(block) = self.blocks[slot].take() {
                    self.collect_queues(&block);
                    self.leave_cluster(&block);
                    if let Some(observer) = &mut self.observer {
                        observer.block_end(block.index);
                    }
                }
                free.push(slot);
            }
        }
        Ok(ran)
    }

    fn leave_cluster(&mut self, block: &Block) {
        let cluster = &mut self.clusters[block.cluster];
        if let Some(slot) = cluster.slots.get_mut(block.rank as usize) {
            *slot = None;
        }
        cluster.used = cluster.slots.iter().any(Option::is_some);
    }

    /// A block's turn: each of its warps runs until it waits, barriers among them opened on the way.
    fn visit(&mut self, slot: usize, random: &mut Random, ran: &mut Ran) -> Result<(), Error> {
        let (threads, bytes, code) = (self.threads(), self.shared_bytes() as usize, self.code);
        let Some(block) = self.block_mut(slot) else { return Ok(()) };
        if block.warps.is_empty() {
            block.start(threads, bytes, code);
        }
        let sm = block.sm as usize;
        let mut order: Vec<usize> = (0..block.warps.len()).collect();
        match self.options.order {
            Order::Fair => {}
            Order::Shuffled => random.shuffle(&mut order),
            Order::Adversarial => order.reverse(),
        }
        self.now = self.clocks[sm];
        let mut yielded = 0_u32;
        let mut again = true;
        while again {
            again = false;
            for &index in &order {
                if yielded >> index & 1 != 0 {
                    continue;
                }
                let Some(block) = self.blocks[slot].as_deref_mut() else { break };
                if block.warps[index].live == 0 || !awake(&mut block.warps[index], self.now) {
                    continue;
                }
                let mut warp = std::mem::take(&mut block.warps[index]);
                let turn = if self.options.order == Order::Shuffled {
                    1 + (random.next() % 96) as u32
                } else {
                    TURN
                };
                let stop = self.turn(slot, &mut warp, turn, ran);
                if let Some(block) = self.block_mut(slot) {
                    block.warps[index] = warp;
                }
                ran.warps += 1;
                again = true;
                if stop? == Stop::Yielded {
                    yielded |= 1 << index;
                }
            }
        }
        self.clocks[sm] = self.now;
        Ok(())
    }

    /// One warp's turn.
    fn turn(&mut self, slot: usize, warp: &mut Warp, mut turn: u32, ran: &mut Ran) -> Result<Stop, Error> {
        loop {
            let Some(at) = warp.groups.iter().rposition(|g| g.state == State::Ready) else {
                return Ok(Stop::Waiting);
            };
            let mut pc = warp.groups[at].pc;
            let flow = self.run_group(slot, warp, at, &mut pc, &mut turn);
            let flow = flow.map_err(|fault| self.error(slot, warp, pc, *fault))?;
            if self.spent > self.options.budget {
                return Err(self.error(slot, warp, pc, Fault::Budget));
            }
            match flow {
                Flow::Again => {}
                Flow::Over => {
                    // A short turn ends in the middle of a spin, too, and that is no progress.
                    ran.over |= !self.spins(warp, at);
                    return Ok(Stop::Yielded);
                }
                Flow::Poll => {
                    self.polled(warp, at);
                    return Ok(Stop::Yielded);
                }
            }
        }
    }

    /// Whether a group has polled and nothing has changed anywhere since.
    fn spins(&self, warp: &Warp, at: usize) -> bool {
        warp.groups.get(at).is_some_and(|group| group.polled.is_some() && group.epoch == self.epoch)
    }

    /// A group polls: when nothing changes anywhere, the warp's other lanes must have their turn.
    fn polled(&self, warp: &mut Warp, at: usize) {
        let polled = warp.polled;
        let Some(group) = warp.groups.get_mut(at) else { return };
        group.polled = Some(polled);
        if group.epoch != self.epoch {
            (group.epoch, group.polls) = (self.epoch, 0);
            return;
        }
        group.polls += 1;
        if group.polls < POLLS_MAX || self.options.reconvergence == Reconvergence::Stack {
            return;
        }
        group.polls = 0;
        let ready = |at: usize| warp.groups[at].state == State::Ready;
        let others: Vec<usize> =
            (0..warp.groups.len()).filter(|other| *other != at && ready(*other)).collect();
        // Where all of them poll as vainly, the lanes that wait to meet them may be the ones who change it.
        let in_vain = others.iter().all(|other| self.spins(warp, *other));
        let released = in_vain && warp.release_early();
        if released || !others.is_empty() {
            let group = warp.groups.remove(at);
            warp.groups.insert(0, group);
        }
    }

    /// When nothing can move, lanes that only wait to meet others go on without them. On the hardware such lanes are
    /// promised to get on, too; a lane whose way leads out of the kernel then ends, and is seen to be absent.
    fn release_parked(&mut self) -> bool {
        if self.options.reconvergence == Reconvergence::Stack {
            return false;
        }
        let warps = self.blocks.iter_mut().flatten().flat_map(|block| &mut block.warps);
        warps.filter_map(|warp| warp.release_early().then_some(())).count() > 0
    }

    /// When all sleep, time moves to the first that wakes.
    fn skip_to_next_wake(&mut self) -> bool {
        let groups = self.blocks.iter().flatten().flat_map(|b| &b.warps).flat_map(|w| &w.groups);
        let wake =
            groups.filter_map(|g| if let State::Asleep(until) = g.state { Some(until) } else { None }).min();
        if let Some(wake) = wake {
            for clock in &mut self.clocks {
                *clock = (*clock).max(wake);
            }
        }
        wake.is_some()
    }
}

/// What a round did.
#[derive(Clone, Copy, Debug, Default)]
struct Ran {
    warps: u32,
    /// Some turn ended by its length alone.
    over: bool,
}

/// Wakes the groups whose time has come; whether any group is ready.
fn awake(warp: &mut Warp, now: u64) -> bool {
    let mut ready = false;
    for group in &mut warp.groups {
        if let State::Asleep(until) = group.state
            && until <= now
        {
            group.state = State::Ready;
        }
        ready |= group.state == State::Ready;
    }
    ready
}
