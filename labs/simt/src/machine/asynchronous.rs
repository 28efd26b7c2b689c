//! Barriers that count bytes, and reductions of many words at once.

use super::access::{Checked, Request, lanes};
use super::grid::Grid;
use super::place::Fault;
use super::step::After;
use super::warp::Warp;
use crate::code::{Bulk, Landing, LandingStep};
use crate::event::{Kind, Order, Scope};
use crate::scalar::{Mode, Two, two};
use crate::types::Space;

/// Most arrivals, and most bytes on either side of zero, that a barrier counts (PTX ISA, "Contents of the mbarrier object").
const MOST: i64 = (1 << 20) - 1;
const BITS: u64 = (1 << 20) - 1;
/// Bytes and addresses of a bulk operation are multiples of this.
const BULK_ALIGN: u64 = 16;

/// A barrier's word. How a GPU lays it out is not documented; this is how it is here.
#[derive(Clone, Copy)]
struct Word {
    /// Arrivals a phase takes, and those that are still to come.
    expected: u64,
    pending: u64,
    /// Bytes that are still to land; below zero where they landed before they were expected.
    bytes: i64,
    phase: u64,
}

impl Word {
    fn unpack(word: u64) -> Word {
        let bytes = (word >> 40 & 0x7f_ffff) as i64 - (1 << 22);
        Word { pending: word & BITS, expected: word >> 20 & BITS, bytes, phase: word >> 63 }
    }

    fn pack(self) -> u64 {
        self.pending
            | self.expected << 20
            | (((self.bytes + (1 << 22)) as u64) & 0x7f_ffff) << 40
            | self.phase << 63
    }

    /// The phase ends once everybody has arrived and everything has landed.
    fn settled(mut self) -> Word {
        if self.pending == 0 && self.bytes == 0 {
            (self.phase, self.pending) = (self.phase ^ 1, self.expected);
        }
        self
    }
}

impl Grid<'_> {
    pub(super) fn landing(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        pc: u32,
        mask: u32,
        landing: &Landing,
    ) -> Checked<After> {
        let mut addresses = self.addresses(warp, &landing.at);
        let mut rest = mask;
        let request = Self::request(landing.at.space, &mut addresses, &mut rest);
        let (kind, operands) = match landing.step {
            LandingStep::Init { count } => (Kind::Write, self.words(warp, count)),
            LandingStep::Expect { bytes } | LandingStep::Land { bytes } => {
                (Kind::ReadModifyWrite, self.words(warp, bytes))
            }
            LandingStep::Try { parity, .. } => (Kind::Read, self.words(warp, parity)),
        };
        let mut over = 0;
        for lane in lanes(request.mask) {
            let (address, operand) = (addresses[lane], u64::from(operands[lane]));
            let old = self.read_far(slot, warp, Space::Shared, lane, address, (0, 8, 8))?;
            let new = step(landing.step, old, operand)
                .map_err(|reason| Box::new(Fault::Trap { lane: lane as u32, reason }))?;
            match new {
                Ok(word) => {
                    self.write_far(slot, warp, Space::Shared, lane, address, (0, 8, 8), word)?;
                }
                Err(ended) => over |= u32::from(ended) << lane,
            }
        }
        if self.observer.is_some() {
            self.tell(slot, warp, pc, &request, &addresses, (1, 8, kind, landing.order, landing.scope));
        }
        let LandingStep::Try { d, .. } = landing.step else { return Ok(After::Next) };
        warp.set_pred(d, mask, over);
        warp.polled = (pc, addresses[mask.trailing_zeros() as usize]);
        Ok(After::Poll)
    }

    /// Each lane's words one after the other, as atomics that nobody waits for.
    pub(super) fn bulk(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        pc: u32,
        mask: u32,
        bulk: &Bulk,
    ) -> Checked<After> {
        let (to, from) = (self.addresses(warp, &bulk.to), self.addresses(warp, &bulk.from));
        let lengths = self.words(warp, bulk.bytes);
        let size = u64::from(bulk.ty.bytes());
        for lane in lanes(mask) {
            let bytes = u64::from(lengths[lane]);
            let ragged = [bytes, to[lane], from[lane]].into_iter().any(|n| !n.is_multiple_of(BULK_ALIGN));
            if ragged {
                let reason = format!(
                    "a bulk operation of {bytes} bytes from {:#x} to {:#x}: all three are multiples of {BULK_ALIGN}",
                    from[lane], to[lane]
                );
                return Err(Box::new(Fault::Trap { lane: lane as u32, reason }));
            }
            for at in (0..bytes).step_by(size as usize) {
                self.bulk_word(slot, warp, pc, lane, (to[lane] + at, from[lane] + at), bulk)?;
            }
            let site = &mut self.sites[pc as usize];
            site.global_requests += u64::from(bytes > 0);
            site.sectors += bytes.div_ceil(32);
            site.lines += ((to[lane] % 128) + bytes).div_ceil(128);
        }
        Ok(After::Next)
    }

    fn bulk_word(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        pc: u32,
        lane: usize,
        (to, from): (u64, u64),
        bulk: &Bulk,
    ) -> Checked<()> {
        let bytes = bulk.ty.bytes();
        let whole = (0, bytes as usize, u64::from(bytes));
        let operand = self.read_far(slot, warp, Space::Shared, lane, from, whole)?;
        let old = self.read_far(slot, warp, Space::Global, lane, to, whole)?;
        let new = two(Two::Add, bulk.ty, Mode::PLAIN, old, operand);
        self.write_far(slot, warp, Space::Global, lane, to, whole, new)?;
        let site = &mut self.sites[pc as usize];
        site.global_lanes += 1;
        site.global_sent += 1;
        site.queues.get_or_insert_default().add(to, 1, 1);
        if self.observer.is_some() {
            let one = |space| Request { space, mask: 1 << lane };
            let read = (1, u64::from(bytes), Kind::Read, Order::Weak, Scope::System);
            self.tell(slot, warp, pc, &one(Space::Shared), &[from; 32], read);
            let add = (1, u64::from(bytes), Kind::ReadModifyWrite, Order::Relaxed, Scope::Device);
            self.tell(slot, warp, pc, &one(Space::Global), &[to; 32], add);
        }
        Ok(())
    }
}

/// The word that a step leaves, or, of a try, whether the phase it asks for is over.
fn step(step: LandingStep, old: u64, operand: u64) -> Result<Result<u64, bool>, String> {
    let mut word = Word::unpack(old);
    if !matches!(step, LandingStep::Init { .. }) && word.expected == 0 {
        return Err("this mbarrier was not initialised".to_owned());
    }
    match step {
        LandingStep::Init { .. } if operand == 0 || operand as i64 > MOST => {
            return Err(format!("an mbarrier for {operand} arrivals; 1 to {MOST} are possible"));
        }
        LandingStep::Init { .. } => word = Word { expected: operand, pending: operand, bytes: 0, phase: 0 },
        LandingStep::Expect { .. } if word.pending == 0 => {
            return Err("one arrival more at an mbarrier than its phase takes".to_owned());
        }
        LandingStep::Expect { .. } => {
            word.bytes += operand as i64;
            word.pending -= 1;
        }
        LandingStep::Land { .. } => word.bytes -= operand as i64,
        LandingStep::Try { .. } => return Ok(Err(word.phase != operand & 1)),
    }
    if word.bytes.abs() > MOST {
        return Err(format!("an mbarrier counts {MOST} bytes at most, and {} are to land", word.bytes));
    }
    let settled = if matches!(step, LandingStep::Init { .. }) { word } else { word.settled() };
    Ok(Ok(settled.pack()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Src;

    const SRC: LandingStep = LandingStep::Init { count: Src::register(0) };
    const EXPECT: LandingStep = LandingStep::Expect { bytes: Src::register(0) };
    const LAND: LandingStep = LandingStep::Land { bytes: Src::register(0) };
    const TRY: LandingStep = LandingStep::Try { d: 0, parity: Src::register(0) };

    fn after(word: u64, what: LandingStep, operand: u64) -> u64 {
        step(what, word, operand).unwrap().unwrap()
    }

    fn over(word: u64, parity: u64) -> bool {
        step(TRY, word, parity).unwrap().unwrap_err()
    }

    #[test]
    fn a_phase_ends_when_all_have_arrived_and_all_bytes_have_landed() {
        let fresh = after(0, SRC, 2);
        let one = after(fresh, EXPECT, 8);
        let landed = after(after(one, LAND, 4), LAND, 4);
        assert!([fresh, one, landed].iter().all(|word| !over(*word, 0)), "one has not arrived");
        let all = after(landed, EXPECT, 4);
        assert!(!over(all, 0), "four bytes are under way");
        let ended = after(all, LAND, 4);
        assert!(over(ended, 0) && !over(ended, 1), "the next phase is open");
    }

    #[test]
    fn bytes_may_land_before_they_are_expected() {
        let early = after(after(0, SRC, 1), LAND, 12);
        assert!(!over(early, 0));
        assert!(over(after(early, EXPECT, 12), 0));
    }

    #[test]
    fn what_a_barrier_cannot_count_is_told() {
        let told = |word, what, operand| step(what, word, operand).unwrap_err();
        assert!(told(0, LAND, 4).contains("not initialised"));
        assert!(told(0, SRC, 0).contains("0 arrivals"));
        let fresh = after(0, SRC, 1);
        assert!(told(fresh, EXPECT, 1 << 20).contains("1048575 bytes at most"));
    }
}
