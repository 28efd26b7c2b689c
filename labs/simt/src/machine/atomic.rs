//! Atomics: lane after lane in the order of the lanes, each one at once.

use super::access::{Checked, Request, lanes};
use super::grid::Grid;
use super::memory::{OFFSET_MASK, read, write};
use super::step::After;
use super::vector::set_class;
use super::warp::{FULL, Warp};
use crate::code::{Atomic, AtomicOp, NONE};
use crate::count::{Queues, sectors_and_lines};
use crate::event::Kind;
use crate::predict::Folding;
use crate::scalar::{Mode, Two, truncate, two};
use crate::types::{RANK_SHIFT, Space, Ty};

/// What the lanes of a request did.
#[derive(Default)]
struct Outcome {
    changed: bool,
    failed: u32,
}

impl Grid<'_> {
    pub(super) fn atomic(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        pc: u32,
        mask: u32,
        atomic: &Atomic,
    ) -> Checked<After> {
        let mut addresses = self.addresses(warp, &atomic.at);
        let total = u64::from(atomic.ty.bytes()) * atomic.from.len() as u64;
        let mut rest = mask;
        let mut outcome = Outcome::default();
        let mut global = false;
        while rest != 0 {
            let request = Self::request(atomic.at.space, &mut addresses, &mut rest);
            global |= request.space == Space::Global;
            for index in 0..atomic.from.len() {
                self.element(slot, warp, &request, &addresses, atomic, (index, total), &mut outcome)?;
            }
            self.count_atomic(slot, pc, &request, &addresses, total);
            if self.observer.is_some() {
                let how = (
                    atomic.from.len() as u64,
                    u64::from(atomic.ty.bytes()),
                    Kind::ReadModifyWrite,
                    atomic.order,
                    atomic.scope,
                );
                self.tell(slot, warp, pc, &request, &addresses, how);
            }
        }
        self.sites[pc as usize].failed += u64::from(outcome.failed);
        self.epoch += u64::from(outcome.changed);
        // A warp waits for what comes back from the L2; in shared memory, only a poll that changed nothing does.
        if atomic.to.is_empty() || (!global && outcome.changed) {
            return Ok(After::Next);
        }
        warp.polled = (pc, addresses[mask.trailing_zeros() as usize]);
        Ok(After::Poll)
    }

    /// One element of a vector atomic, or the whole of a scalar one, in all lanes.
    #[allow(clippy::too_many_arguments)] // one request's whole context; `atomic` above is the only caller
    fn element(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        request: &Request,
        addresses: &[u64; 32],
        atomic: &Atomic,
        (index, total): (usize, u64),
        outcome: &mut Outcome,
    ) -> Checked<()> {
        let (ty, size) = (atomic.ty, atomic.ty.bytes() as usize);
        let skip = index * size;
        let operands = self.values(warp, ty.class(), atomic.from[index]);
        let compare = atomic.compare.map(|c| self.values(warp, ty.class(), c));
        // Float adds in global memory flush subnormals, those in shared memory do not (PTX ISA, `atom`).
        let mode = Mode { flush: ty == Ty::F32 && request.space == Space::Global, ..Mode::PLAIN };
        let mut olds = [0; 32];
        for lane in lanes(request.mask) {
            let address = addresses[lane];
            let compared = compare.as_ref().map(|c| truncate(ty, c[lane]));
            let apply = |old| next(atomic.op, ty, mode, old, operands[lane], compared);
            if request.space == Space::Global && address & (total - 1) == 0 {
                let (bytes, _) = self.memory.around_mut(address);
                let offset = (address & OFFSET_MASK) as usize + skip;
                if let Some(old) = read(bytes, offset, size) {
                    let new = apply(old);
                    outcome.changed |= write(bytes, offset, size, new).unwrap_or(false);
                    outcome.failed += u32::from(compared.is_some_and(|c| c != old));
                    olds[lane] = old;
                    continue;
                }
            }
            let old = self.read_far(slot, warp, request.space, lane, address, (skip, size, total))?;
            let new = apply(old);
            self.write_far(slot, warp, request.space, lane, address, (skip, size, total), new)?;
            outcome.changed |= new != old;
            outcome.failed += u32::from(compared.is_some_and(|c| c != old));
            olds[lane] = old;
        }
        if let Some(&d) = atomic.to.get(index).filter(|&&d| d != NONE) {
            set_class(warp, ty.class(), d, request.mask, |i| olds[i]);
        }
        Ok(())
    }

    fn count_atomic(&mut self, slot: usize, pc: u32, request: &Request, addresses: &[u64; 32], total: u64) {
        let asked = request.mask.count_ones();
        let first = addresses[request.mask.trailing_zeros() as usize];
        let uniform = lanes(request.mask).all(|l| addresses[l] == first);
        let folding = self.folds[pc as usize];
        let sent = match folding {
            Folding::Warp if uniform => 1,
            Folding::FullWarp if uniform && request.mask == FULL => 1,
            Folding::Address => distinct(addresses, request.mask),
            _ => asked,
        };
        let by_address = folding == Folding::Address;
        let site = &mut self.sites[pc as usize];
        match request.space {
            Space::Shared => {
                site.shared_requests += 1;
                site.shared_lanes += u64::from(asked);
                site.shared_sent += u64::from(sent);
                self.queue_shared((slot, pc), request.mask, addresses, by_address, sent);
            }
            _ => {
                site.global_requests += 1;
                site.global_lanes += u64::from(asked);
                site.global_sent += u64::from(sent);
                let (sectors, lines) = sectors_and_lines(addresses, request.mask, total);
                site.sectors += sectors;
                site.lines += lines;
                queue(
                    site.queues.get_or_insert_default(),
                    request.mask,
                    addresses,
                    (uniform, by_address),
                    sent,
                );
            }
        }
    }

    /// Queues at shared memory are kept by the block that owns it.
    fn queue_shared(
        &mut self,
        (slot, pc): (usize, u32),
        mask: u32,
        addresses: &[u64; 32],
        by_address: bool,
        sent: u32,
    ) {
        let mut rest = mask;
        while rest != 0 {
            let first = addresses[rest.trailing_zeros() as usize];
            let same = lanes(rest)
                .filter(|&l| addresses[l] >> RANK_SHIFT == first >> RANK_SHIFT)
                .fold(0, |m, l| m | 1 << l);
            rest &= !same;
            let uniform = lanes(same).all(|l| addresses[l] == first);
            let own = addresses.map(|a| a & ((1 << RANK_SHIFT) - 1));
            let owner = self.shared_owner(slot, first).unwrap_or(slot);
            if let Some(block) = self.block_mut(owner) {
                queue(
                    block.queues(pc),
                    same,
                    &own,
                    (uniform, by_address),
                    if same == mask { sent } else { same.count_ones() },
                );
            }
        }
    }
}

fn queue(
    queues: &mut Queues,
    mask: u32,
    addresses: &[u64; 32],
    (uniform, by_address): (bool, bool),
    sent: u32,
) {
    if uniform {
        queues.add(addresses[mask.trailing_zeros() as usize], mask.count_ones(), sent);
        return;
    }
    let mut rest = mask;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        let mut same = 1 << lane;
        if by_address {
            same = lanes(rest).filter(|&l| addresses[l] == addresses[lane]).fold(0, |m, l| m | 1 << l);
        }
        rest &= !same;
        queues.add(addresses[lane], same.count_ones(), 1);
    }
}

/// Distinct addresses among the lanes.
fn distinct(addresses: &[u64; 32], mask: u32) -> u32 {
    lanes(mask).filter(|&l| lanes(mask & ((1 << l) - 1)).all(|e| addresses[e] != addresses[l])).count() as u32
}

/// The value that an atomic leaves.
#[inline(always)]
fn next(op: AtomicOp, ty: Ty, mode: Mode, old: u64, operand: u64, compare: Option<u64>) -> u64 {
    let as_two = match op {
        AtomicOp::Add => Two::Add,
        AtomicOp::Min => Two::Min,
        AtomicOp::Max => Two::Max,
        AtomicOp::And => Two::And,
        AtomicOp::Or => Two::Or,
        AtomicOp::Xor => Two::Xor,
        AtomicOp::Exchange => return operand,
        AtomicOp::CompareAndSwap => return if Some(old) == compare { operand } else { old },
        AtomicOp::Inc => return if old >= operand { 0 } else { old + 1 },
        AtomicOp::Dec => return if old == 0 || old > operand { operand } else { old - 1 },
    };
    two(as_two, ty, mode, old, operand)
}
