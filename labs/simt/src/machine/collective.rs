//! Operations among the lanes that a mask names: shuffles, votes, matches,
//! reductions, warp barriers.

use super::access::{Checked, lanes};
use super::grid::Grid;
use super::place::Fault;
use super::step::After;
use super::vector::{set_class, set_words};
use super::warp::{State, Warp};
use crate::code::{Collective, NONE, Op, Shuffle, Src, Vote};
use crate::scalar::{Mode, Two, truncate, two};
use crate::types::{Class, Ty};

impl Grid<'_> {
    #[allow(clippy::too_many_arguments)] // an instruction's whole context, as all of `step`
    pub(super) fn collective(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        at: usize,
        pc: u32,
        mask: u32,
        members: Src,
        what: &Collective,
    ) -> Checked<After> {
        let members = self.words(warp, members);
        let first = mask.trailing_zeros();
        let wanted = members[first as usize];
        let same = lanes(mask).filter(|&l| members[l] == wanted).fold(0, |m, l| m | 1 << l);
        self.check_members(warp, mask, &members)?;
        if same == mask && wanted & !mask == 0 && wanted & mask == mask {
            self.perform(warp, mask, wanted, what);
            self.tell_warp_barrier(slot, warp, pc, mask, what);
            return Ok(After::Next);
        }
        self.wait_for_members(slot, warp, at, pc, mask, &members);
        Ok(After::Waits)
    }

    /// Every lane must be in its own mask, and every lane of a mask must exist still.
    fn check_members(&self, warp: &Warp, mask: u32, members: &[u32; 32]) -> Checked<()> {
        for lane in lanes(mask) {
            let wanted = members[lane];
            let fault = |reason| Err(Box::new(Fault::Sync { lane: lane as u32, reason }));
            if wanted >> lane & 1 == 0 {
                return fault(format!(
                    "lane {lane} executes a .sync instruction whose mask {wanted:#010x} leaves it out"
                ));
            }
            if wanted & !warp.live != 0 {
                return fault(super::place::names_absent(wanted, warp.live));
            }
        }
        Ok(())
    }

    /// The group waits in parts, one for each mask; a part that is complete goes on at once.
    fn wait_for_members(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        at: usize,
        pc: u32,
        mask: u32,
        members: &[u32; 32],
    ) {
        let group = warp.groups.remove(at);
        let skipped = group.mask & !mask;
        if skipped != 0 {
            warp.groups.push(super::warp::Group { pc: pc + 1, mask: skipped, ..group });
        }
        let mut rest = mask;
        while rest != 0 {
            let wanted = members[rest.trailing_zeros() as usize];
            let part = lanes(rest).filter(|&l| members[l] == wanted).fold(0, |m, l| m | 1 << l);
            rest &= !part;
            warp.groups.push(super::warp::Group { pc, mask: part, state: State::Sync(wanted), ..group });
            self.meet_if_complete(slot, warp, pc, wanted);
        }
        warp.merge();
    }

    /// Performs a collective when all lanes of its mask wait for it. Warp barriers
    /// meet wherever they stand; the others must be the same instruction.
    fn meet_if_complete(&mut self, slot: usize, warp: &mut Warp, pc: u32, wanted: u32) {
        let code = self.code;
        let Some(Op::Collective { what, .. }) = code.instrs.get(pc as usize).map(|i| &i.op) else { return };
        let barrier = |pc: u32| matches!(code.instrs.get(pc as usize).map(|i| &i.op), Some(Op::Collective { what, .. }) if matches!(**what, Collective::Barrier));
        let meets = |g: &super::warp::Group| {
            g.state == State::Sync(wanted) && (g.pc == pc || (barrier(g.pc) && barrier(pc)))
        };
        let present = warp.groups.iter().filter(|g| meets(g)).fold(0, |m, g| m | g.mask);
        if present & wanted != wanted {
            return;
        }
        self.perform(warp, wanted, wanted, what);
        for group in warp.groups.iter_mut().filter(|g| meets(g)) {
            group.pc += 1;
            group.state = State::Ready;
        }
        self.epoch += 1;
        self.tell_warp_barrier(slot, warp, pc, wanted, what);
    }

    fn tell_warp_barrier(&mut self, slot: usize, warp: &Warp, pc: u32, mask: u32, what: &Collective) {
        if self.observer.is_none() || !matches!(what, Collective::Barrier) {
            return;
        }
        let (threads, site) = (self.threads_of(slot, warp, mask), self.site(pc));
        if let Some(observer) = &mut self.observer {
            observer.warp_barrier(&threads, site);
        }
    }

    fn perform(&self, warp: &mut Warp, mask: u32, members: u32, what: &Collective) {
        match *what {
            Collective::Shuffle { mode, d, p, a, b, c } => self.shuffle(warp, mask, mode, (d, p), (a, b, c)),
            Collective::Vote { kind, d, pred } => {
                let votes = warp.pred(pred) & members;
                let holds = match kind {
                    Vote::Ballot => {
                        set_words(warp, d, mask, |_| votes);
                        return;
                    }
                    Vote::All => votes == members,
                    Vote::Any => votes != 0,
                    Vote::Uni => votes == members || votes == 0,
                };
                warp.set_pred(d, mask, if holds { u32::MAX } else { 0 });
            }
            Collective::MatchAny { ty, d, a } => {
                let values = self.values(warp, ty.class(), a);
                set_words(warp, d, mask, |lane| {
                    lanes(members).filter(|&l| values[l] == values[lane]).fold(0, |m, l| m | 1 << l)
                });
            }
            Collective::MatchAll { ty, d, p, a } => {
                let values = self.values(warp, ty.class(), a);
                let first = values[members.trailing_zeros() as usize];
                let all = lanes(members).all(|l| values[l] == first);
                set_words(warp, d, mask, |_| if all { members } else { 0 });
                if p != NONE {
                    warp.set_pred(p, mask, if all { u32::MAX } else { 0 });
                }
            }
            Collective::Redux { op, ty, d, a } => self.redux(warp, mask, (op, ty), d, a),
            Collective::Elect { d, p } => {
                let leader = members.trailing_zeros();
                set_words(warp, d, mask, |_| leader);
                if p != NONE {
                    warp.set_pred(p, mask, 1 << leader);
                }
            }
            Collective::Barrier => {}
        }
    }

    fn redux(&self, warp: &mut Warp, mask: u32, (op, ty): (Two, Ty), d: u32, a: Src) {
        let values = self.words(warp, a);
        let all = lanes(mask)
            .map(|l| u64::from(values[l]))
            .reduce(|x, y| two(op, ty, Mode::PLAIN, x, y))
            .unwrap_or(0);
        set_class(warp, Class::Word, d, mask, |_| truncate(ty, all));
    }

    /// PTX ISA, `shfl.sync`: `c` holds the clamp in bits 0 to 4 and the segment mask in bits 8 to 12.
    fn shuffle(
        &self,
        warp: &mut Warp,
        mask: u32,
        mode: Shuffle,
        (d, p): (u32, u32),
        (a, b, c): (Src, Src, Src),
    ) {
        let (a, b, c) = (self.words(warp, a), self.words(warp, b), self.words(warp, c));
        let mut from = [0_usize; 32];
        let mut inside = 0_u32;
        for lane in lanes(mask) {
            let (offset, clamp, segment) = (b[lane] & 31, c[lane] & 31, c[lane] >> 8 & 31);
            let here = lane as u32;
            let highest = (here & segment) | (clamp & !segment);
            let lowest = here & segment;
            let (source, fits) = match mode {
                Shuffle::Up => {
                    let source = here.wrapping_sub(offset) as i32;
                    (source, source >= highest as i32)
                }
                Shuffle::Down => ((here + offset) as i32, here + offset <= highest),
                Shuffle::Bfly => ((here ^ offset) as i32, here ^ offset <= highest),
                Shuffle::Idx => {
                    let source = lowest | (offset & !segment);
                    (source as i32, source <= highest)
                }
            };
            from[lane] = if fits { source as usize & 31 } else { lane };
            inside |= u32::from(fits) << lane;
        }
        set_words(warp, d, mask, |lane| a[from[lane]]);
        if p != NONE {
            warp.set_pred(p, mask, inside);
        }
    }
}
