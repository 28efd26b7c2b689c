//! The exercise: a message from block to block, whole and without a race.

use anyhow::Result;

use crate::backend::{Argument, Backend, Launch, Step};
use crate::exercise::{Exercise, Goal};

/// Blocks of the launch.
const BLOCKS: u32 = 2;
/// Nothing, a word, a warp and one, more than a block.
const SIZES: [u32; 4] = [0, 1, 33, 1_000];

pub(super) const EXERCISE: Exercise = Exercise {
    starter: include_str!("../../../../kernels/exercises/day37_litmus.cu"),
    solution: include_str!("../../../../kernels/exercises/solutions/day37_litmus.cu"),
    hints: &[
        "Run `labs day37 --test MP --order relacq --scope cta --place other_block --backend sim`: what does the model say?",
        "A scope is the set of threads that an operation speaks to. Which one holds both blocks?",
        "Both sides must name it: the scope of each has to include the other.",
        "The barrier before the release stays: it brings the other 255 threads' words under it.",
    ],
    attempt,
};

fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    let mut goals = Vec::new();
    for n in SIZES {
        let words: Vec<u32> = (0..n).map(|i| i.wrapping_mul(0x9e37_79b9) | 1).collect();
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let size = u64::from(n) * 4;
        let [input, message, out] =
            [backend.allocate(size)?, backend.allocate(size)?, backend.allocate(size)?];
        let flag = backend.allocate(4)?;
        backend.write(input, &bytes(&words))?;
        let buffers = [input, message, flag, out].map(Argument::Buffer);
        let arguments = buffers.into_iter().chain([Argument::U32(n)]).collect();
        let launch = Launch::new("exercise", BLOCKS, super::BLOCK, arguments);
        let steps = [Step::Zero(message), Step::Zero(flag), Step::Zero(out), Step::Launch(launch)];
        if let Err(error) = backend.run(&steps) {
            goals.push(Goal { line: format!("size {n}: {error:#}"), reached: false });
            continue;
        }
        let mut found = vec![0; size as usize];
        backend.read(out, &mut found)?;
        let wrong =
            found.chunks_exact(4).zip(&words).filter(|(four, word)| **four != word.to_le_bytes()).count();
        goals.push(Goal {
            line: match wrong {
                0 => format!("size {n}: the message is copied whole"),
                wrong => format!("size {n}: {wrong} of {n} words of the message were not copied"),
            },
            reached: wrong == 0,
        });
    }
    Ok(goals)
}
