//! The exercise: spread a hot counter over enough addresses.

use anyhow::Result;

use super::BLOCK;
use crate::backend::{Argument, Backend, Launch, Step};
use crate::exercise::{Exercise, Goal};

/// Words that the kernel may spread its adds over.
const WORDS: u64 = 2_048;
/// The fewest queues that are wanted.
const QUEUES: u64 = 64;
/// One element, less than a warp, a warp and one, a few blocks, many.
const SIZES: [u64; 5] = [1, 31, 33, 1_000, 20_001];
const SEED: u64 = 27;

/// What `labs exercise day27` asks for.
pub(super) const EXERCISE: Exercise = Exercise {
    starter: include_str!("../../../../kernels/exercises/day27_address.cu"),
    solution: include_str!("../../../../kernels/exercises/solutions/day27_address.cu"),
    hints: &[
        "The total is the sum of all words of `part`: it does not matter which word an add goes to.",
        "Neighbouring threads run together, so they should go to different words: i % 64 does that, blockIdx.x does not.",
        "64 neighbouring words are 8 sectors of 32 bytes, and warps that meet in a sector take turns, whichever word they add to.",
        "Leave room: words that are 8 apart lie in different sectors, words that are 32 apart in different lines.",
    ],
    attempt,
};

/// Right at each size, and no address and no sector gets more than its share of the adds.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    let mut goals = Vec::new();
    for n in SIZES {
        let mut random = fastrand::Rng::with_seed(SEED);
        // Floats, which no compiler folds; whole ones, whose sums are exact in any order.
        let values: Vec<f32> = (0..n).map(|_| f32::from(random.u8(1..100))).collect();
        // Input and parts end where they are said to: what is read or added past them shows.
        let (input, part) = (backend.allocate(n * 4)?, backend.allocate(WORDS * 4)?);
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        backend.write(input, &bytes)?;
        let blocks = u32::try_from(n.div_ceil(u64::from(BLOCK)))?;
        let arguments = vec![Argument::Buffer(input), Argument::Buffer(part), Argument::U64(n)];
        backend.counts();
        let steps = [Step::Zero(part), Step::Launch(Launch::new("exercise", blocks, BLOCK, arguments))];
        if let Err(error) = backend.run(&steps) {
            goals.push(Goal { line: format!("size {n}: {error:#}"), reached: false });
            continue;
        }
        let counts = backend.counts().unwrap_or_default();
        let mut parts = vec![0; WORDS as usize * 4];
        backend.read(part, &mut parts)?;
        let found: f32 = parts.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).sum();
        let wanted: f32 = values.iter().sum();
        goals.push(Goal {
            line: format!("size {n}: the parts add up to {found}, the reference is {wanted}"),
            reached: found == wanted,
        });
        let most = n.div_ceil(QUEUES);
        for (what, queue) in [("address", counts.global_queue), ("sector", counts.global_sector_queue)] {
            goals.push(Goal {
                line: format!("size {n}: the busiest {what} gets {queue} adds, at most {most} wanted"),
                reached: queue <= most,
            });
        }
    }
    Ok(goals)
}
