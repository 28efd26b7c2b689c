//! The exercise: two halves at once.

use anyhow::Result;

use super::BLOCK;
use crate::backend::{Argument, Backend, Launch, Step};
use crate::exercise::{Exercise, Goal};

/// One element, less than a warp, a warp and one, a few blocks, many.
const SIZES: [u64; 5] = [1, 31, 33, 1_000, 20_001];
const SEED: u64 = 31;
/// What all values above zero add up to at most, and all below: every sum on the way is then a half.
const MOST: i32 = 1_024;

/// What `labs exercise day31` asks for.
pub(super) const EXERCISE: Exercise = Exercise {
    starter: include_str!("../../../../kernels/exercises/day31_placement.cu"),
    solution: include_str!("../../../../kernels/exercises/solutions/day31_placement.cu"),
    hints: &[
        "A pair is already one word in memory, and so is the total.",
        "PTX has an add for two halves in one register; its type is f16x2.",
        "It takes the word's address and the pair as they are: red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;",
    ],
    attempt,
};

/// Right at each size, and one add a pair.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    let mut goals = Vec::new();
    for n in SIZES {
        let (pairs, wanted) = pairs(n);
        // Input and total end where they are said to: what is read or added past them shows.
        let (input, total) = (backend.allocate(n * 4)?, backend.allocate(4)?);
        let bytes: Vec<u8> = pairs.iter().flat_map(|pair| pair.to_le_bytes()).collect();
        backend.write(input, &bytes)?;
        let blocks = u32::try_from(n.div_ceil(u64::from(BLOCK)))?;
        let arguments = vec![Argument::Buffer(input), Argument::Buffer(total), Argument::U64(n)];
        backend.counts();
        let steps = [Step::Zero(total), Step::Launch(Launch::new("exercise", blocks, BLOCK, arguments))];
        if let Err(error) = backend.run(&steps) {
            goals.push(Goal { line: format!("size {n}: {error:#}"), reached: false });
            continue;
        }
        let counted = backend.counts().map_or(0, |counts| counts.global_atomics);
        let mut bytes = [0; 4];
        backend.read(total, &mut bytes)?;
        let found = u32::from_le_bytes(bytes);
        goals.push(Goal {
            line: format!("size {n}: the two totals are 0x{found:08x}, the reference is 0x{wanted:08x}"),
            reached: found == wanted,
        });
        goals.push(Goal {
            line: format!("size {n}: {counted} global adds, at most {n} wanted, one a pair"),
            reached: counted <= n,
        });
    }
    Ok(goals)
}

/// Pairs of halves, and their totals.
fn pairs(n: u64) -> (Vec<u32>, u32) {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut sums = [0_i32; 2];
    let mut room = [[MOST; 2]; 2];
    let mut pairs = Vec::new();
    for _ in 0..n {
        let parts = [0, 1].map(|part: usize| {
            let value = random.i32(-3..=3);
            let left = &mut room[part][usize::from(value < 0)];
            if value.abs() > *left {
                return 0;
            }
            *left -= value.abs();
            sums[part] += value;
            value
        });
        pairs.push(packed(parts));
    }
    (pairs, packed(sums))
}

fn packed(parts: [i32; 2]) -> u32 {
    let [low, high] = parts.map(|part| u32::from(super::kinds::half(part as f32)));
    high << 16 | low
}
