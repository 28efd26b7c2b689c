//! The exercise: given a map, spread one counter over all slices.

use anyhow::Result;

use super::hot::bytes_of;
use super::{BLOCK, LINE};
use crate::backend::{Argument, Backend, Launch, Step};
use crate::exercise::{Exercise, Goal};

/// Lines that the map names.
const LINES: u32 = 384;
/// Adds, slices: one add, fewer than slices, a block and one, many; slices that are no power of two.
const RUNS: [(u64, u32); 5] = [(1, 12), (31, 12), (257, 24), (1_000, 5), (20_001, 24)];
const SEED: u64 = 33;

/// What `labs exercise day33` asks for.
pub(super) const EXERCISE: Exercise = Exercise {
    starter: include_str!("../../../../kernels/exercises/day33_slice_map.cu"),
    solution: include_str!("../../../../kernels/exercises/solutions/day33_slice_map.cu"),
    hints: &[
        "More lines do not help by themselves: the first lines all lie in two slices of this map.",
        "It takes one line a slice. Which one does not matter, so long as the map says that it is in that slice.",
        "Let the block look for them first: thread t looks at lines t, t + blockDim.x, and so on, and notes in shared memory, by slice, a line that it found.",
        "Two threads may find a line of the same slice: note the smaller number with atomicMin, after all notes were set to the largest number, and meet at a barrier before you read.",
    ],
    attempt,
};

/// A map on which neighbouring lines, and lines at strides of powers of two, meet in few slices. 0 is ambiguous, the first
/// slice is 1.
fn slice(line: u32, slices: u32) -> u32 {
    if line % 37 == 5 {
        return 0;
    }
    (line / 64 * 2 + (line & 1) + (line / 64) * (line / 8 % 2)) % slices + 1
}

fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    let mut goals = Vec::new();
    for (n, slices) in RUNS {
        let mut random = fastrand::Rng::with_seed(SEED + n);
        // Every slice has a line somewhere, but not where one would look first.
        let mut map: Vec<u32> = (0..LINES).map(|line| slice(line, slices)).collect();
        let mut late: Vec<u32> = (LINES / 2..LINES).collect();
        random.shuffle(&mut late);
        for (number, line) in late.into_iter().take(slices as usize).enumerate() {
            map[line as usize] = number as u32 + 1;
        }
        let words = backend.allocate(u64::from(LINES) * LINE)?;
        let given = backend.allocate(u64::from(LINES) * 4)?;
        backend.write(given, &bytes_of(&map))?;
        let blocks = u32::try_from(n.div_ceil(u64::from(BLOCK)))?;
        let arguments = vec![
            Argument::Buffer(given),
            Argument::U32(LINES),
            Argument::U32(slices),
            Argument::Buffer(words),
            Argument::U64(n),
        ];
        let steps = [Step::Zero(words), Step::Launch(Launch::new("exercise", blocks, BLOCK, arguments))];
        if let Err(error) = backend.run(&steps) {
            goals.push(Goal { line: format!("{n} adds, {slices} slices: {error:#}"), reached: false });
            continue;
        }
        let mut bytes = vec![0; (u64::from(LINES) * LINE) as usize];
        backend.read(words, &mut bytes)?;
        goals.extend(judge(&map, &bytes, n, slices));
    }
    Ok(goals)
}

/// The adds of each line, and so of each slice.
fn judge(map: &[u32], words: &[u8], n: u64, slices: u32) -> [Goal; 3] {
    let mut by_slice = vec![0_u64; slices as usize + 1];
    for (line, bytes) in words.chunks_exact(LINE as usize).enumerate() {
        let adds = bytes.as_chunks().0.iter().map(|word| u64::from(u32::from_le_bytes(*word))).sum::<u64>();
        by_slice[map[line] as usize] += adds;
    }
    let (total, ambiguous) = (by_slice.iter().sum::<u64>(), by_slice[0]);
    let busiest = by_slice[1..].iter().max().copied().unwrap_or(0);
    let most = n.div_ceil(u64::from(slices));
    let run = format!("{n} adds, {slices} slices");
    [
        Goal {
            line: format!("{run}: the words add up to {total}, the reference is {n}"),
            reached: total == n,
        },
        Goal {
            line: format!("{run}: {ambiguous} adds went to ambiguous lines, none wanted"),
            reached: ambiguous == 0,
        },
        Goal {
            line: format!("{run}: the busiest slice gets {busiest} adds, at most {most} wanted"),
            reached: busiest <= most,
        },
    ]
}
