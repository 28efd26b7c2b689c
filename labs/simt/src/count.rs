//! What a launch asked of memory, counted exactly for the PTX as written, and
//! beside it what ptxas is predicted to make of it.

mod queue;
mod report;

pub(crate) use queue::Queues;
pub use report::{Report, SiteCounts, SiteKind};

/// How a set of atomics spreads over addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressCounts {
    /// Distinct addresses.
    pub addresses: u64,
    /// Distinct 32-byte sectors.
    pub sectors: u64,
    /// Distinct 128-byte lines.
    pub lines: u64,
    /// Most operations that one address gets.
    pub longest_queue: u64,
    /// The same after the folding that ptxas is predicted to do.
    pub longest_queue_after_folding: u64,
    /// Most operations that one sector gets.
    pub longest_queue_sector: u64,
    /// Most operations that one line gets.
    pub longest_queue_line: u64,
}

impl AddressCounts {
    /// Adds another set over other addresses.
    pub(crate) fn join(&mut self, other: &AddressCounts) {
        self.addresses += other.addresses;
        self.sectors += other.sectors;
        self.lines += other.lines;
        self.longest_queue = self.longest_queue.max(other.longest_queue);
        self.longest_queue_after_folding =
            self.longest_queue_after_folding.max(other.longest_queue_after_folding);
        self.longest_queue_sector = self.longest_queue_sector.max(other.longest_queue_sector);
        self.longest_queue_line = self.longest_queue_line.max(other.longest_queue_line);
    }
}

/// Counters of one instruction while the launch runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    /// Requests with at least one lane in global memory, and those lanes.
    pub(crate) global_requests: u64,
    pub(crate) global_lanes: u64,
    pub(crate) shared_requests: u64,
    pub(crate) shared_lanes: u64,
    /// Over all global requests: distinct sectors and lines in each, summed.
    pub(crate) sectors: u64,
    pub(crate) lines: u64,
    /// Atomics sent after folding, by space.
    pub(crate) global_sent: u64,
    pub(crate) shared_sent: u64,
    /// Compare-and-swaps that did not swap.
    pub(crate) failed: u64,
    pub(crate) queues: Option<Box<Queues>>,
    pub(crate) shared_queues: AddressCounts,
}

/// Distinct 32-byte sectors and 128-byte lines that `lanes` touch with `bytes` bytes each.
pub(crate) fn sectors_and_lines(addresses: &[u64; 32], mask: u32, bytes: u64) -> (u64, u64) {
    // Ascending addresses, the common case, need no set.
    let (mut sectors, mut lines) = (0, 0);
    let (mut last_sector, mut last_line) = (u64::MAX, u64::MAX);
    let mut rest = mask;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let first = addresses[lane] >> 5;
        let end = (addresses[lane] + bytes - 1) >> 5;
        if last_sector != u64::MAX && first < last_sector {
            return sorted_sectors_and_lines(addresses, mask, bytes);
        }
        if end != last_sector {
            sectors += end - first + u64::from(first != last_sector);
            last_sector = end;
            lines += u64::from(end >> 2 != last_line);
            last_line = end >> 2;
        }
    }
    (sectors, lines)
}

fn sorted_sectors_and_lines(addresses: &[u64; 32], mask: u32, bytes: u64) -> (u64, u64) {
    let mut found = [u64::MAX; 64];
    let mut count = 0;
    for (lane, &address) in addresses.iter().enumerate().filter(|(lane, _)| mask >> lane & 1 != 0) {
        let _ = lane;
        for sector in [address >> 5, (address + bytes - 1) >> 5] {
            found[count] = sector;
            count += 1;
        }
    }
    let found = &mut found[..count];
    found.sort_unstable();
    let distinct = |shift: u32| {
        found.windows(2).filter(|w| w[0] >> shift != w[1] >> shift).count() as u64 + u64::from(count > 0)
    };
    (distinct(0), distinct(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_distinct_in_any_order() {
        let ascending: [u64; 32] = std::array::from_fn(|i| 4096 + 4 * i as u64);
        let mut reversed = ascending;
        reversed.reverse();
        assert_eq!(sectors_and_lines(&ascending, !0, 4), (4, 1));
        assert_eq!(sectors_and_lines(&reversed, !0, 4), (4, 1));
        assert_eq!(sectors_and_lines(&ascending.map(|a| 4096 + (a - 4096) * 32), !0, 4), (32, 32));
        assert_eq!(sectors_and_lines(&[4096; 32], 0b101, 16), (1, 1));
        assert_eq!(sectors_and_lines(&ascending.map(|a| a * 4), !0, 16), (16, 4));
        assert_eq!(sectors_and_lines(&ascending, 1 << 31 | 1, 4), (2, 1));
    }
}
