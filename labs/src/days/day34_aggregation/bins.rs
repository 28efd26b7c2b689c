//! Several bins a warp: which lanes share one, the launch, what every table must hold, and the queue at its busiest bin.

use anyhow::Result;
use labs_record::figure::Coordinate;

use super::{BLOCK, WARP};
use crate::backend::{Argument, Backend, Buffer, Launch};
use crate::failure::usage;
use crate::lab::Case;
use crate::measure::Bench;

/// Whose a table of bins is: all warps', one warp's, or a block's, in shared memory.
pub(super) const TABLES: [&str; 3] = [GRID, "warp", BLOCKS];
const GRID: &str = "grid";
const BLOCKS: &str = "block";
/// Threads that are measured: 1024 blocks, all resident on a large GPU.
pub(super) const THREADS: u64 = 1 << 18;
/// Bins a table has room for.
const ROOM: u64 = 32;
/// Bins that a thread visits in global memory, and in shared memory: long against the launch.
const ROUNDS: [u32; 2] = [32, 256];
/// And where no time is kept.
const UNTIMED_ROUNDS: u32 = 3;

/// The tables that a variant adds to; none for a variant without bins.
pub(super) fn tables_of(variant: &str) -> &'static [&'static str] {
    match variant {
        "plain_bins" | "match_bins" => &TABLES[..2],
        "shared_bins" | "shared_step" | "shared_match" => &TABLES[2..],
        _ => &[],
    }
}

/// Launch shapes and inputs, for the protocol.
pub(super) fn in_words() -> String {
    format!(
        "{THREADS} threads; lanes of a warp shuffled anew, lane l of them begins at bin l mod distinct, then the next \
         in a ring; {} rounds in global memory, {} in shared; tables of {ROOM} words, one for the grid, one a warp, one a \
         block; increments 1",
        ROUNDS[0], ROUNDS[1]
    )
}

/// A kernel at a place.
pub(super) struct Bins {
    kernel: &'static str,
    n: u64,
    rounds: u32,
    distinct: u64,
    /// Words from one warp's table to the next.
    apart: u32,
    bin: Buffer,
    count: Buffer,
    /// Adds by word, table after table: one a lane, and one for all lanes of a warp that share a bin.
    lanes: Vec<u32>,
    groups: Vec<u32>,
    folds_by_itself: bool,
}

impl Bins {
    /// Deals out the bins of a case and makes room for its tables.
    pub(super) fn new(bench: &mut Bench<'_>, kernel: &'static str, case: &Case) -> Result<Bins> {
        let (n, distinct) = (case.number("size"), case.number("distinct"));
        if distinct == 0 {
            return Err(usage("--distinct 0: a lane names a bin; choose 1 to 32"));
        }
        let is = |table: &str| case.at.get("table") == Some(&Coordinate::from(table));
        let (threads_a_table, apart, rounds) = match () {
            () if is(GRID) => (n.next_multiple_of(WARP).max(WARP), 0, ROUNDS[0]),
            () if is(BLOCKS) => (u64::from(BLOCK), 0, ROUNDS[1]),
            () => (WARP, ROOM as u32, ROUNDS[0]),
        };
        let rounds = if bench.takes_time() { rounds } else { UNTIMED_ROUNDS };
        let dealt = deal(n, distinct, bench.seed);
        let (lanes, groups) = adds(&dealt, distinct, rounds, threads_a_table);
        let bin = bench.scratch("bin", n.max(1) * 4)?;
        bench.backend.write(bin, &dealt.iter().flat_map(|bin| bin.to_le_bytes()).collect::<Vec<u8>>())?;
        let bytes = (lanes.len() as u64 * 4).max(4);
        Ok(Bins {
            kernel,
            n,
            rounds,
            distinct,
            apart,
            bin,
            count: Buffer { bytes, ..bench.scratch("count", bytes)? },
            lanes,
            groups,
            folds_by_itself: bench.backend.device().architecture >= 80,
        })
    }

    /// The tables, to be zeroed.
    pub(super) fn buffer(&self) -> Buffer {
        self.count
    }

    /// The launch of all rounds.
    pub(super) fn launch(&self) -> Result<Launch> {
        let mut arguments = vec![
            Argument::Buffer(self.bin),
            Argument::Buffer(self.count),
            Argument::U64(self.n),
            Argument::U32(self.rounds),
            Argument::U32(u32::try_from(self.distinct)?),
        ];
        match self.kernel {
            "plain_bins" | "match_bins" => arguments.push(Argument::U32(self.apart)),
            "shared_step" => arguments.push(Argument::U32(1)),
            _ => {}
        }
        Ok(Launch::new(self.kernel, u32::try_from(self.n.div_ceil(u64::from(BLOCK)))?, BLOCK, arguments))
    }

    /// Every word of every table holds its share.
    pub(super) fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        for (word, (found, wanted)) in self.words(backend)?.iter().zip(&self.lanes).enumerate() {
            if found != wanted {
                let (n, distinct) = (self.n, self.distinct);
                let (table, bin) = (word as u64 / ROOM, word as u64 % ROOM);
                return Ok(Err(format!(
                    "at size {n}, {distinct} distinct, bin {bin} of table {table} is {found}, the reference {wanted}"
                )));
            }
        }
        Ok(Ok(()))
    }

    /// The bins of all tables.
    pub(super) fn words(&self, backend: &mut dyn Backend) -> Result<Vec<u32>> {
        let mut bytes = vec![0; self.lanes.len() * 4];
        backend.read(self.count, &mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// Adds that the source asks for.
    pub(super) fn asked(&self) -> u64 {
        let by_word = if self.matches() { &self.groups } else { &self.lanes };
        by_word.iter().map(|adds| u64::from(*adds)).sum()
    }

    /// Adds on the busiest word, as the kernel's machine code has it: `ATOMS.POPC.INC` folds by address.
    pub(super) fn longest_queue(&self) -> u64 {
        let folded = self.matches() || (self.kernel == "shared_bins" && self.folds_by_itself);
        let by_word = if folded { &self.groups } else { &self.lanes };
        by_word.iter().copied().max().unwrap_or(0).into()
    }

    fn matches(&self) -> bool {
        matches!(self.kernel, "match_bins" | "shared_match")
    }
}

/// The first bin of every thread. Lanes are shuffled in each warp, so that neighbours share a bin by chance only.
fn deal(n: u64, distinct: u64, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut lanes: Vec<u32> = (0..WARP).map(|lane| (lane % distinct) as u32).collect();
    let mut bins = Vec::new();
    for _ in 0..n.div_ceil(WARP) {
        random.shuffle(&mut lanes);
        bins.extend_from_slice(&lanes);
    }
    bins.truncate(n as usize);
    bins
}

/// Adds by word of each table: one a lane, and one for the lanes of a warp that share a bin.
fn adds(first: &[u32], distinct: u64, rounds: u32, threads_a_table: u64) -> (Vec<u32>, Vec<u32>) {
    let tables = (first.len() as u64).div_ceil(threads_a_table);
    let (mut lanes, mut groups) = (Vec::new(), Vec::new());
    for table in first.chunks(threads_a_table as usize) {
        let (mut lanes_from, mut groups_from) = ([0; ROOM as usize], [0; ROOM as usize]);
        for warp in table.chunks(WARP as usize) {
            let mut seen = 0_u32;
            for bin in warp {
                lanes_from[*bin as usize] += 1;
                seen |= 1 << bin;
            }
            for (bin, groups) in groups_from.iter_mut().enumerate() {
                *groups += seen >> bin & 1;
            }
        }
        lanes.extend(visited(&lanes_from, distinct, rounds));
        groups.extend(visited(&groups_from, distinct, rounds));
    }
    debug_assert_eq!(lanes.len() as u64, tables * ROOM);
    (lanes, groups)
}

/// Adds by word, of as many as begin at each word and go on in a ring of `distinct` words.
fn visited(from: &[u32; ROOM as usize], distinct: u64, rounds: u32) -> [u32; ROOM as usize] {
    let mut words = [0; ROOM as usize];
    for round in 0..u64::from(rounds) {
        for start in 0..distinct {
            words[((start + round) % distinct) as usize] += from[start as usize];
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_warp_names_as_many_bins_as_it_is_told() {
        for distinct in [1, 3, 8, 32] {
            for warp in deal(96, distinct, 5).chunks(32) {
                let mut named: Vec<u32> = warp.to_vec();
                named.sort_unstable();
                named.dedup();
                assert_eq!(named.len() as u64, distinct);
            }
        }
    }

    #[test]
    fn adds_are_those_of_the_rounds_played_one_by_one() {
        let (n, distinct, rounds) = (70, 5, 7);
        let first = deal(n, distinct, 9);
        for threads_a_table in [96, 32] {
            let tables = n.div_ceil(threads_a_table);
            let mut lanes = vec![0_u32; (tables * ROOM) as usize];
            let mut groups = lanes.clone();
            for round in 0..rounds {
                for (warp, bins) in first.chunks(32).enumerate() {
                    let table = warp as u64 * WARP / threads_a_table * ROOM;
                    let mut named = Vec::new();
                    for bin in bins {
                        let word = (table + u64::from(bin + round) % distinct) as usize;
                        lanes[word] += 1;
                        if !named.contains(&word) {
                            named.push(word);
                            groups[word] += 1;
                        }
                    }
                }
            }
            assert_eq!(adds(&first, distinct, rounds, threads_a_table), (lanes, groups));
        }
    }
}
