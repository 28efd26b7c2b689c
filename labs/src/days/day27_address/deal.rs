//! How a launch's operations are dealt out over the counters, and what each counter must hold in the end: all of it
//! known before the launch.

use labs_record::figure::Coordinate;

/// Lanes of a warp.
const WARP: u64 = 32;
/// Bytes of a sector.
const SECTOR: u64 = 32;

/// Which lanes share a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    /// All lanes of a warp one counter, the next warp the next one.
    WarpWord,
    /// Neighbouring lanes, neighbouring counters.
    Contiguous,
    /// The places of `Contiguous`, dealt to the threads of the grid at random.
    Random,
}

impl Mapping {
    /// Their names on the axis `mapping`.
    pub(super) const NAMES: [&'static str; 3] = ["warp_word", "contiguous", "random"];

    /// The mapping of this name; `Random` where there is none, which no place on the axis is.
    pub(super) fn named(place: Option<&Coordinate>) -> Mapping {
        match place {
            Some(Coordinate::Text(name)) if name == "warp_word" => Mapping::WarpWord,
            Some(Coordinate::Text(name)) if name == "contiguous" => Mapping::Contiguous,
            _ => Mapping::Random,
        }
    }

    /// Neighbouring threads that begin at one counter.
    fn lanes_a_word(self) -> u64 {
        if self == Mapping::WarpWord { WARP } else { 1 }
    }
}

/// A launch's operations: operation `i` is thread `i % threads`'s, in its round `i / threads`.
#[derive(Clone, Debug)]
pub(super) struct Deal {
    mapping: Mapping,
    /// At least 1.
    counters: u64,
    size: u64,
    /// Where each thread begins.
    pub(super) slots: Vec<u32>,
    /// How many counters on a thread's next operation goes; below `counters`.
    pub(super) step: u64,
}

impl Deal {
    /// Deals `size` operations of `threads` threads over `counters` counters. `threads` is a multiple of a warp.
    pub(super) fn new(mapping: Mapping, counters: u64, threads: u64, size: u64, seed: u64) -> Deal {
        let lanes = mapping.lanes_a_word();
        // Below `counters`, which fits: an axis bounds it.
        let mut slots: Vec<u32> = (0..threads).map(|t| (t / lanes % counters) as u32).collect();
        if mapping == Mapping::Random {
            fastrand::Rng::with_seed(seed).shuffle(&mut slots);
        }
        Deal { mapping, counters, size, slots, step: threads / lanes % counters }
    }

    fn threads(&self) -> u64 {
        self.slots.len() as u64
    }

    /// The counter that operation `i` goes to.
    pub(super) fn counter_of(&self, i: u64) -> usize {
        let begin = u64::from(self.slots[(i % self.threads()) as usize]);
        if self.step == 0 {
            // Most deals: as many threads as go evenly around the ring. Spares a check two divisions a counter.
            return begin as usize;
        }
        ((begin + i / self.threads() % self.counters * self.step) % self.counters) as usize
    }

    /// How many operations go to each counter.
    pub(super) fn shares(&self) -> Vec<u64> {
        // Over whole rounds all mappings go around the ring, `Random` in another order of threads.
        let whole = self.size - self.size % self.threads();
        let lanes = self.mapping.lanes_a_word();
        let (rounds, rest) = (whole / lanes / self.counters, whole / lanes % self.counters);
        let mut shares: Vec<u64> =
            (0..self.counters).map(|counter| lanes * (rounds + u64::from(counter < rest))).collect();
        for i in whole..self.size {
            shares[self.counter_of(i)] += 1;
        }
        shares
    }

    /// How many operations go to each sector, for counters `stride` bytes apart.
    pub(super) fn sector_shares(&self, stride: u64) -> Vec<u64> {
        // Counters of one sector are neighbours.
        let mut sectors: Vec<(u64, u64)> = Vec::new();
        for (counter, share) in (0_u64..).zip(self.shares()) {
            let sector = counter * stride / SECTOR;
            match sectors.last_mut() {
                Some((last, sum)) if *last == sector => *sum += share,
                _ => sectors.push((sector, share)),
            }
        }
        sectors.into_iter().map(|(_, sum)| sum).collect()
    }

    /// Operations in a pass: one sector, one lane's operation on each of its words, of one warp. 0 of none.
    pub(super) fn operations_a_pass(&self, stride: u64) -> f64 {
        let (threads, rounds) = (self.threads(), self.size / self.threads());
        let whole = rounds * threads;
        // A step that leads whole sectors on, in a ring of whole sectors, makes every round like the first.
        let alike =
            (self.step * stride).is_multiple_of(SECTOR) && (self.counters * stride).is_multiple_of(SECTOR);
        let passes = |from: u64, to: u64| -> u64 {
            (from..to)
                .step_by(WARP as usize)
                .map(|first| self.passes(first, to.min(first + WARP), stride))
                .sum()
        };
        let in_whole_rounds = match (stride >= SECTOR, alike) {
            (true, _) => whole,
            (false, true) => rounds * passes(0, threads.min(whole)),
            (false, false) => passes(0, whole),
        };
        let all = in_whole_rounds + passes(whole, self.size);
        self.size as f64 / all.max(1) as f64
    }

    /// Passes for the operations of one warp, from `first` to `end`.
    fn passes(&self, first: u64, end: u64, stride: u64) -> u64 {
        let mut counters: Vec<u64> = (first..end).map(|i| self.counter_of(i) as u64).collect();
        counters.sort_unstable();
        let (mut passes, mut busiest, mut here) = (0, 0, 0);
        for (place, counter) in counters.iter().enumerate() {
            let before = if place > 0 { Some(counters[place - 1]) } else { None };
            here = if before == Some(*counter) { here + 1 } else { 1 };
            if before.is_none_or(|before| before * stride / SECTOR != counter * stride / SECTOR) {
                passes += busiest;
                busiest = 0;
            }
            busiest = busiest.max(here);
        }
        passes + busiest
    }

    /// The last operation that goes to each counter; none where none does.
    pub(super) fn last(&self) -> Vec<Option<u64>> {
        let mut last = vec![None; self.counters as usize];
        // Whoever is dealt anything at all is dealt something once around the ring; rounds may be cut at both ends.
        let around = self.counters * self.mapping.lanes_a_word() + 2 * self.threads();
        for i in self.size.saturating_sub(around)..self.size {
            last[self.counter_of(i)] = Some(i);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPPINGS: [Mapping; 3] = [Mapping::WarpWord, Mapping::Contiguous, Mapping::Random];

    /// Counters by threads by size: fewer, as many and more counters than threads, cut rounds, primes, nothing.
    fn deals() -> impl Iterator<Item = Deal> {
        let shapes = [
            (1, 256, 1_000),
            (7, 256, 10_007),
            (64, 512, 4_096),
            (1_000, 256, 33_333),
            (4_099, 768, 12_345),
            (32, 256, 0),
            (5_000, 256, 31),
        ];
        shapes.into_iter().flat_map(|(counters, threads, size)| {
            MAPPINGS.map(|mapping| Deal::new(mapping, counters, threads, size, 9))
        })
    }

    #[test]
    fn shares_and_last_operations_are_those_of_going_through_all_of_them() {
        for deal in deals() {
            let mut shares = vec![0; deal.counters as usize];
            let mut last = vec![None; deal.counters as usize];
            for i in 0..deal.size {
                shares[deal.counter_of(i)] += 1;
                last[deal.counter_of(i)] = Some(i);
            }
            assert_eq!(deal.shares(), shares, "{:?} {}", deal.mapping, deal.counters);
            assert_eq!(deal.last(), last, "{:?} {}", deal.mapping, deal.counters);
            assert_eq!(shares.iter().sum::<u64>(), deal.size);
        }
    }

    #[test]
    fn the_mappings_are_what_they_are_called() {
        let counters = |mapping| {
            let deal = Deal::new(mapping, 4_096, 4_096, 4_096, 1);
            (0..WARP).map(|lane| deal.counter_of(lane)).collect::<Vec<_>>()
        };
        assert_eq!(counters(Mapping::WarpWord), vec![0; 32]);
        assert_eq!(counters(Mapping::Contiguous), (0..32).collect::<Vec<_>>());
        let random = counters(Mapping::Random);
        assert!(random.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() < 3, "{random:?}");
    }

    #[test]
    fn names_lead_to_their_mappings() {
        let named = Mapping::NAMES.map(|name| Mapping::named(Some(&name.into())));
        assert_eq!(named, MAPPINGS);
    }

    #[test]
    fn passes_are_counted_by_sector_and_by_the_busiest_word_in_it() {
        let a_pass = |mapping, counters, stride| {
            Deal::new(mapping, counters, 256, 1 << 10, 1).operations_a_pass(stride)
        };
        assert_eq!(a_pass(Mapping::Contiguous, 1, 4), 1.0);
        assert_eq!(a_pass(Mapping::Contiguous, 2, 4), 2.0);
        assert_eq!(a_pass(Mapping::Contiguous, 8, 4), 8.0);
        assert_eq!(a_pass(Mapping::Contiguous, 256, 4), 8.0, "four sectors, a pass each");
        assert_eq!(a_pass(Mapping::Contiguous, 256, 8), 4.0);
        assert_eq!(a_pass(Mapping::Contiguous, 256, 32), 1.0);
        assert_eq!(a_pass(Mapping::WarpWord, 256, 4), 1.0);
        let random = a_pass(Mapping::Random, 8, 4);
        assert!(
            random > 3.5 && random < 5.5,
            "{random}: about seven lanes are on the busiest of eight words"
        );
    }

    #[test]
    fn a_step_over_parts_of_sectors_is_counted_round_by_round() {
        // 12 counters: a ring of one sector and a half, and warps that begin at 0, 8 and 4 in turn.
        let deal = Deal::new(Mapping::Contiguous, 12, 32, 96, 1);
        let by_hand: u64 = (0..3).map(|round| deal.passes(round * 32, round * 32 + 32, 4)).sum();
        assert_eq!(deal.operations_a_pass(4), 96.0 / by_hand as f64);
        assert_eq!(Deal::new(Mapping::Contiguous, 12, 32, 0, 1).operations_a_pass(4), 0.0);
    }

    #[test]
    fn sectors_add_up_their_counters() {
        let deal = Deal::new(Mapping::Contiguous, 20, 32, 100, 1);
        assert_eq!(deal.sector_shares(4), [8 * 5, 8 * 5, 4 * 5]);
        assert_eq!(deal.sector_shares(32), deal.shares());
        assert_eq!(deal.sector_shares(4096), deal.shares());
    }
}
