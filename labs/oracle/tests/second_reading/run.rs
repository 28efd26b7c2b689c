//! One execution: the orders of 8.9 and the axioms of 8.10.

use std::collections::BTreeMap;

use super::model::{Overlooked, Reading};
use super::pairs::Pairs;

/// What no execution changes.
pub(crate) struct Fixed {
    pub(crate) strong: Pairs,
    po: Pairs,
    overlapping: Pairs,
    releases: Pairs,
    acquires: Pairs,
    barriers: Pairs,
}

impl Fixed {
    pub(crate) fn of(reading: &Reading) -> Fixed {
        Fixed {
            strong: reading.pairs(|a, b| reading.morally_strong(a, b)),
            po: reading.pairs(|a, b| reading.program_order(a, b)),
            overlapping: reading.pairs(|a, b| reading.overlaps(a, b)),
            releases: reading.pairs(|a, b| reading.releases(a, b)),
            acquires: reading.pairs(|a, b| reading.acquires(a, b)),
            barriers: reading.pairs(|a, b| reading.meets(a, b)),
        }
    }
}

pub(crate) struct Run<'a> {
    reading: &'a Reading,
    fixed: &'a Fixed,
    rf: Pairs,
    sc: Pairs,
    /// 8.9.5: base causality order, what of it proxies preserve, and causality order.
    base: Pairs,
    preserved: Pairs,
    cause: Pairs,
}

impl<'a> Run<'a> {
    pub(crate) fn of(
        reading: &'a Reading,
        fixed: &'a Fixed,
        from: &BTreeMap<usize, usize>,
        sc: Pairs,
    ) -> Run<'a> {
        let rf: Pairs = from.iter().map(|(read, write)| (*write, *read)).collect();
        let observation = observation(reading, fixed, rf);
        let base = base(reading, fixed, observation, sc);
        // Proxies: all are generic, so what is left of 8.9.5 is that both are performed to one address.
        let preserved = base & fixed.overlapping;
        let cause = match reading.overlooks(Overlooked::Observation) {
            true => preserved,
            false => preserved | observation.then(preserved),
        };
        Run { reading, fixed, rf, sc, base, preserved, cause }
    }

    /// 8.10: whether every axiom holds under this coherence order.
    pub(crate) fn permits(&self, co: Pairs) -> bool {
        let due = (self.fixed.strong & self.fixed.overlapping) | self.cause;
        let related = |a: usize, b: usize| co.contains((a, b)) || co.contains((b, a));
        let complete = self.between_writes(due).all(|(a, b)| a == b || related(a, b));
        // 8.9.7: a read before the writes that follow in coherence order what it read.
        let fr = self.rf.iter().map(|(write, read)| (read, write)).collect::<Pairs>().then(co);
        let fr: Pairs = fr.iter().filter(|(read, write)| read != write).collect();
        complete
            && self.coherence(co)
            && self.fence_sc()
            && self.atomicity(co, fr)
            && self.sc_per_location(co, fr)
            && self.causality(fr)
    }

    /// 8.7.1: two conflicting operations that are neither related in causality order nor morally strong.
    pub(crate) fn races(&self) -> bool {
        let initial = |op: usize| self.reading.initial(op);
        let conflict = |a: usize, b: usize| self.reading.write(a) || self.reading.write(b);
        let ordered = |a: usize, b: usize| self.cause.contains((a, b)) || self.cause.contains((b, a));
        let apart = |a: usize, b: usize| a != b && !self.fixed.strong.contains((a, b)) && !ordered(a, b);
        let pairs = self.fixed.overlapping.iter();
        pairs.filter(|(a, b)| !initial(*a) && !initial(*b)).any(|(a, b)| conflict(a, b) && apart(a, b))
    }

    fn between_writes(&self, pairs: Pairs) -> impl Iterator<Item = (usize, usize)> {
        pairs.iter().filter(|(a, b)| self.reading.write(*a) && self.reading.write(*b))
    }

    fn coherence(&self, co: Pairs) -> bool {
        self.between_writes(self.cause).all(|pair| co.contains(pair))
    }

    fn fence_sc(&self) -> bool {
        self.sc.iter().all(|(first, second)| !self.base.contains((second, first)))
    }

    fn atomicity(&self, co: Pairs, fr: Pairs) -> bool {
        let broken = |(a, write): (usize, usize)| self.reading.atomic(a) && co.contains((write, a));
        !(fr & self.fixed.strong).iter().any(broken)
    }

    fn sc_per_location(&self, co: Pairs, fr: Pairs) -> bool {
        let program = self.fixed.po & self.fixed.overlapping;
        (program | ((self.rf | co | fr) & self.fixed.strong)).is_acyclic()
    }

    fn causality(&self, fr: Pairs) -> bool {
        // Here the chapter and its authors' Alloy form part: taken of a whole atomic, the sentence would also forbid it
        // to read what follows from its own write. The Alloy form splits it, and of its read only base causality speaks.
        let later = |read: usize| if self.reading.atomic(read) { self.preserved } else { self.cause };
        let read_later = self.rf.iter().any(|(write, read)| later(read).contains((read, write)));
        let overwritten = fr.iter().any(|(read, write)| self.cause.contains((write, read)));
        !read_later && !overwritten
    }
}

/// 8.9.2
fn observation(reading: &Reading, fixed: &Fixed, rf: Pairs) -> Pairs {
    let direct = rf & fixed.strong;
    let to_atomics = |pairs: Pairs| pairs.iter().filter(|(_, z)| reading.atomic(*z)).collect::<Pairs>();
    match reading.overlooks(Overlooked::ThroughAtomics) {
        true => direct,
        false => direct.closed(|pairs| to_atomics(pairs).then(pairs)),
    }
}

/// 8.9.4 and the first half of 8.9.5
fn base(reading: &Reading, fixed: &Fixed, observation: Pairs, sc: Pairs) -> Pairs {
    let mut synchronizes = fixed.releases.then(observation).then(fixed.acquires) & fixed.strong;
    if !reading.overlooks(Overlooked::FenceSc) {
        synchronizes = synchronizes | sc;
    }
    if !reading.overlooks(Overlooked::Barriers) {
        synchronizes = synchronizes | fixed.barriers;
    }
    (fixed.po | synchronizes).closed(|pairs| pairs.then(pairs))
}
