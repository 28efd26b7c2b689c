//! The exercise: a float maximum that keeps to the policy, and then with few compare-and-swaps.

use anyhow::Result;

use super::maximum::{self, NO_NUMBER};
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::exercise::{Exercise, Goal};

const BLOCK: u64 = 256;
/// One element, a warp and one, a block less one, several blocks and a rest.
const SIZES: [u64; 5] = [1, 33, 255, 1_000, 20_001];
/// Atomics allowed for each warp of the launch: a swap, and three retries.
const ATOMICS_A_WARP: u64 = 4;

pub(super) const EXERCISE: Exercise = Exercise {
    starter: include_str!("../../../../kernels/exercises/day28_cas_loop.cu"),
    solution: include_str!("../../../../kernels/exercises/solutions/day28_cas_loop.cu"),
    hints: &[
        "Below zero the integers have the opposite order of the floats they stand for. Compare floats, swap bits.",
        "atomicCAS(word, seen, wanted) returns what the word held. Only if that is `seen` has it swapped.",
        "fmaxf gives the number when one side is NaN, so NaN is the value to begin with. `>` is false for every NaN.",
        "If the maximum of the word and your value is the word, there is nothing to swap, and the loop ends.",
        "For fewer swaps, fold the warp's 32 values with __shfl_down_sync and fmaxf first; a lane without an element \
         takes part with NaN.",
    ],
    attempt,
};

fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    let highest = backend.allocate(4)?;
    let mut goals = Vec::new();
    for input in maximum::SPECIAL {
        let wanted = input.iter().copied().fold(f32::NAN, maximum::higher);
        goals.push(match maximum_of(backend, highest, input)? {
            Ok((found, _)) => result(&format!("of {input:?}"), found, wanted),
            Err(stopped) => Goal { line: format!("of {input:?}: {stopped}"), reached: false },
        });
    }
    for n in SIZES {
        let input: Vec<f32> = maximum::firsts(n, 28).collect();
        let wanted = input.iter().copied().fold(f32::NAN, maximum::higher);
        match maximum_of(backend, highest, &input)? {
            Ok((found, atomics)) => {
                goals.push(result(&format!("size {n}:"), found, wanted));
                let most = ATOMICS_A_WARP * n.div_ceil(BLOCK) * (BLOCK / 32);
                goals.push(Goal {
                    line: format!(
                        "size {n}: {atomics} atomics, at most {most} wanted, {ATOMICS_A_WARP} a warp"
                    ),
                    reached: atomics <= most,
                });
            }
            Err(stopped) => goals.push(Goal { line: format!("size {n}: {stopped}"), reached: false }),
        }
    }
    Ok(goals)
}

fn result(what: &str, found: f32, wanted: f32) -> Goal {
    Goal {
        line: format!("{what} the maximum is {found:?}, the reference {wanted:?}"),
        // Any NaN is as good as another.
        reached: found.to_bits() == wanted.to_bits() || (found.is_nan() && wanted.is_nan()),
    }
}

/// What the kernel makes of an input, and how many atomics it took; or what stopped it.
fn maximum_of(
    backend: &mut dyn Backend,
    highest: Buffer,
    input: &[f32],
) -> Result<Result<(f32, u64), String>> {
    let n = input.len() as u64;
    // The input ends where the size does: what is read past it shows.
    let memory = backend.allocate(n * 4)?;
    let bytes: Vec<u8> = input.iter().flat_map(|value| value.to_le_bytes()).collect();
    backend.write(memory, &bytes)?;
    backend.write(highest, &NO_NUMBER.to_le_bytes())?;
    backend.counts();
    let arguments = vec![Argument::Buffer(memory), Argument::Buffer(highest), Argument::U64(n)];
    let launch = Launch::new("exercise", u32::try_from(n.div_ceil(BLOCK))?, BLOCK as u32, arguments);
    if let Err(error) = backend.run(&[Step::Launch(launch)]) {
        return Ok(Err(format!("{error:#}")));
    }
    let atomics = backend.counts().map_or(0, |counts| counts.global_atomics);
    let mut bytes = [0; 4];
    backend.read(highest, &mut bytes)?;
    Ok(Ok((f32::from_le_bytes(bytes), atomics)))
}
