//! The elements: 32-bit values, each there once, of which a known share lies below any limit.

use anyhow::Result;

use crate::measure::host_room;

/// Elements of a window: in each whole one the values are spread evenly over 32 bits.
pub(super) const WINDOW: u64 = 4096;
/// What no element is; what a slot holds that nobody wrote to.
pub(super) const NOTHING: u32 = u32::MAX;
/// Elements of a row: a warp's, one a lane.
const ROW: usize = 32;
/// Rows of a block of 256 elements.
const BLOCK_ROWS: usize = 8;
/// Decides which elements share a row; the same in every session, so that counts are.
const ROWS_SEED: u64 = 36;

/// The first `n` elements. The upper 12 bits of a value are its place in its window's order of values, the lower 20
/// the window: no two are the same, and a limit of a quarter of 2^32 keeps a quarter of every whole window. All windows
/// hold the same rows of 32, each window in another order.
pub(super) fn values(n: u64, seed: u64) -> Result<Vec<u32>> {
    let mut values = host_room(n.next_multiple_of(WINDOW))?;
    for (window, rows) in windows(n, seed).enumerate() {
        values.extend(rows.into_iter().flatten().map(|place| place << 20 | window as u32));
    }
    values.truncate(n as usize);
    Ok(values)
}

/// What a stable compaction of `values` leaves.
pub(super) fn kept(values: &[u32], limit: u32) -> Result<Vec<u32>> {
    let kept = || values.iter().copied().filter(|value| *value < limit);
    let mut room = host_room(kept().count() as u64)?;
    room.extend(kept());
    Ok(room)
}

/// The element's number among all there may be, from 0 up to the number of windows × [`WINDOW`].
pub(super) fn number_of(value: u32) -> u64 {
    (u64::from(value) & 0xf_ffff) << 12 | u64::from(value >> 20)
}

/// Places by row of each window that the first `n` elements touch.
fn windows(n: u64, seed: u64) -> impl Iterator<Item = Vec<[u32; ROW]>> {
    let mut places: Vec<u32> = (0..WINDOW as u32).collect();
    fastrand::Rng::with_seed(ROWS_SEED).shuffle(&mut places);
    let (rows, _) = places.as_chunks::<ROW>();
    let mut rows = rows.to_vec();
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n.div_ceil(WINDOW)).map(move |_| {
        random.shuffle(&mut rows);
        rows.clone()
    })
}

/// How many elements are kept, and how many groups of neighbours keep any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) elements: u64,
    /// Groups of 32.
    pub(super) warps: u64,
    /// Groups of 256.
    pub(super) blocks: u64,
    /// Groups of 4,096.
    pub(super) tiles: u64,
}

impl Kept {
    /// Of the first `n` elements, those below `limit`.
    pub(super) fn count(n: u64, seed: u64, limit: u32) -> Kept {
        let mut kept = Kept::default();
        for (window, rows) in windows(n, seed).enumerate() {
            let here = (n - window as u64 * WINDOW).min(WINDOW) as usize;
            let of_row = |(number, row): (usize, &[u32; ROW])| {
                let inside = here.saturating_sub(number * ROW).min(ROW);
                row[..inside].iter().filter(|place| *place << 20 < limit).count() as u64
            };
            let counts: Vec<u64> = rows.iter().enumerate().map(of_row).collect();
            let any = |counts: &[u64]| u64::from(counts.iter().any(|count| *count > 0));
            kept.elements += counts.iter().sum::<u64>();
            kept.warps += counts.iter().filter(|count| **count > 0).count() as u64;
            kept.blocks += counts.chunks(BLOCK_ROWS).map(any).sum::<u64>();
            kept.tiles += any(&counts);
        }
        kept
    }

    /// As numbers that a session keeps.
    pub(super) fn numbers(self) -> Vec<f64> {
        [self.elements, self.warps, self.blocks, self.tiles].map(|count| count as f64).into()
    }

    /// From [`Kept::numbers`].
    pub(super) fn from_numbers(numbers: &[f64]) -> Kept {
        let count = |place: usize| numbers.get(place).map_or(0, |number| *number as u64);
        Kept { elements: count(0), warps: count(1), blocks: count(2), tiles: count(3) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_elements_are_the_same_and_a_limit_keeps_its_share() {
        let values = values(3 * WINDOW + 100, 1).unwrap();
        let numbers: HashSet<u64> = values.iter().map(|value| number_of(*value)).collect();
        assert_eq!(numbers.len(), values.len());
        assert!(numbers.iter().all(|number| *number < 4 * WINDOW));
        for window in values.chunks_exact(WINDOW as usize) {
            assert_eq!(kept(window, 1 << 29).unwrap().len(), 512);
            assert_eq!(kept(window, 1 << 31).unwrap().len(), 2048);
        }
    }

    #[test]
    fn a_longer_input_begins_as_a_shorter_one() {
        assert_eq!(values(10_000, 7).unwrap()[..5_000], values(5_000, 7).unwrap());
        assert_ne!(values(5_000, 8).unwrap(), values(5_000, 7).unwrap());
    }

    #[test]
    fn groups_are_counted_as_they_lie_in_the_input() {
        for (n, limit) in [(0, 1 << 31), (1, 1 << 31), (5_000, 1 << 29), (9_001, 1 << 27)] {
            let values = values(n, 3).unwrap();
            let groups = |of: usize| {
                values.chunks(of).filter(|group| !kept(group, limit).unwrap().is_empty()).count() as u64
            };
            let wanted = Kept {
                elements: kept(&values, limit).unwrap().len() as u64,
                warps: groups(32),
                blocks: groups(256),
                tiles: groups(4096),
            };
            assert_eq!(Kept::count(n, 3, limit), wanted, "{n}");
        }
    }

    #[test]
    fn counts_of_whole_windows_do_not_hang_on_the_seed() {
        assert_eq!(Kept::count(1 << 16, 1, 1 << 29), Kept::count(1 << 16, 2, 1 << 29));
        let kept = Kept::count(WINDOW, 1, 1 << 29);
        assert_eq!(Kept::from_numbers(&kept.numbers()), kept);
        let warps = kept.warps;
        assert!((110..128).contains(&warps), "some warps keep nothing: {warps} keep something");
    }
}
