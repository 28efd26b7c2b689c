//! The exercise: count without a reply.

use anyhow::Result;

use super::BLOCK;
use crate::backend::{Argument, Backend, Launch, Step};
use crate::exercise::{Exercise, Goal};

/// Bins of the count.
const BINS: u32 = 8;
/// One element, less than a warp, a warp and one, a few blocks, many.
const SIZES: [u64; 5] = [1, 31, 33, 1_000, 20_001];
const SEED: u64 = 32;

/// What `labs exercise day32` asks for.
pub(super) const EXERCISE: Exercise = Exercise {
    starter: include_str!("../../../../kernels/exercises/day32_no_return.cu"),
    solution: include_str!("../../../../kernels/exercises/solutions/day32_no_return.cu"),
    hints: &[
        "The count is right as it is. What is in the way is whoever reads the old value.",
        "A comparison is a use: it has to go, and with it the register.",
        "No result is not enough: __nv_atomic_add has none, and its PTX is for an address of any memory.",
        "atomicAdd(word, 1u); as a statement of its own is one answer, red.relaxed.gpu.global.add.u32 another.",
    ],
    attempt,
};

/// Right at each size, and no add waits for a reply.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    let mut goals = Vec::new();
    for n in SIZES {
        let mut random = fastrand::Rng::with_seed(SEED);
        let values: Vec<u32> = (0..n).map(|_| random.u32(..)).collect();
        let mut wanted = vec![0_u32; BINS as usize];
        values.iter().for_each(|value| wanted[(value % BINS) as usize] += 1);
        // Input and bins end where they are said to: what is read or added past them shows.
        let (input, bins) = (backend.allocate(n * 4)?, backend.allocate(u64::from(BINS) * 4)?);
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        backend.write(input, &bytes)?;
        let blocks = u32::try_from(n.div_ceil(u64::from(BLOCK)))?;
        let arguments = vec![Argument::Buffer(input), Argument::Buffer(bins), Argument::U64(n)];
        backend.counts();
        let steps = [Step::Zero(bins), Step::Launch(Launch::new("exercise", blocks, BLOCK, arguments))];
        if let Err(error) = backend.run(&steps) {
            goals.push(Goal { line: format!("size {n}: {error:#}"), reached: false });
            continue;
        }
        let counts = backend.counts().unwrap_or_default();
        let mut bytes = vec![0; BINS as usize * 4];
        backend.read(bins, &mut bytes)?;
        let found: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        goals.push(Goal {
            line: format!("size {n}: the bins hold {found:?}, the reference is {wanted:?}"),
            reached: found == wanted,
        });
        let replies = counts.atom_requests;
        goals.push(Goal {
            line: format!("size {n}: {replies} requests of a warp ask for a reply, none is wanted"),
            reached: replies == 0,
        });
    }
    Ok(goals)
}
