//! The exercise: a scan in one pass that is right in whatever order blocks begin, and hands over sums without a race.

use anyhow::Result;

use crate::backend::{Argument, Backend, Launch, Step};
use crate::exercise::{Exercise, Goal};

const BLOCK: u64 = 256;
/// One element, a block less one, a block and one, several blocks and a rest.
const SIZES: [u64; 4] = [1, 255, 257, 5_000];
/// Blocks a multiprocessor in the last launch, of which [`SHARED_BYTES`] each lets three be there at once.
const CROWD: u64 = 4;
const SHARED_BYTES: u32 = 60_000;
const SEED: u64 = 40;

pub(super) const EXERCISE: Exercise = Exercise {
    starter: include_str!("../../../../kernels/exercises/day40_lookback.cu"),
    solution: include_str!("../../../../kernels/exercises/solutions/day40_lookback.cu"),
    hints: &[
        "Which blocks have begun when this one waits? With a ticket the answer is: all that hold an earlier one.",
        "One thread takes the ticket, __shared__ hands it to the others, and a barrier stands between.",
        "A volatile flag is never torn or cached, and orders nothing. The sum needs a way to be there before the flag.",
        "st.release.gpu and ld.acquire.gpu are one such way; __threadfence() before the store and after the load another.",
        "Or let there be nothing to order: state and sum in one word of 64 bits, as in packed_word. `flags` has room.",
    ],
    attempt,
};

fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    let mut goals = Vec::new();
    for n in SIZES {
        goals.push(goal(backend, n, 0)?);
    }
    let crowd = u64::from(backend.device().gpu.sms) * CROWD;
    goals.push(goal(backend, crowd * BLOCK, SHARED_BYTES)?);
    Ok(goals)
}

fn goal(backend: &mut dyn Backend, n: u64, shared_bytes: u32) -> Result<Goal> {
    let blocks = n.div_ceil(BLOCK);
    let crowded = if shared_bytes > 0 { ", more blocks than fit" } else { "" };
    let told = |what: String, reached| Goal { line: format!("size {n}{crowded}: {what}"), reached };
    let mut random = fastrand::Rng::with_seed(SEED);
    let elements: Vec<u32> = (0..n).map(|_| random.u32(..)).collect();
    // Both end where they must: what is read or written past them shows.
    let (input, out) = (backend.allocate(n * 4)?, backend.allocate(n * 4)?);
    backend.write(input, &elements.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
    let [ticket, flags, sums, prefixes] =
        [4, blocks * 8, blocks * 4, blocks * 4].map(|bytes| backend.allocate(bytes));
    let zeroed = [ticket?, flags?, sums?, prefixes?];
    let mut steps: Vec<Step> = zeroed.into_iter().map(Step::Zero).collect();
    let buffers = [input, out].into_iter().chain(zeroed).map(Argument::Buffer);
    let launch = Launch::new(
        "exercise",
        u32::try_from(blocks)?,
        BLOCK as u32,
        buffers.chain([Argument::U64(n)]).collect(),
    );
    steps.push(Step::Launch(Launch { shared_bytes, ..launch }));
    if let Err(error) = backend.run(&steps) {
        return Ok(told(format!("{error:#}"), false));
    }
    let mut bytes = vec![0; elements.len() * 4];
    backend.read(out, &mut bytes)?;
    let found = bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four));
    let wanted = elements.iter().scan(0_u32, |sum, value| {
        *sum = sum.wrapping_add(*value);
        Some(*sum)
    });
    let wrong = found.zip(wanted).enumerate().find(|(_, (found, wanted))| found != wanted);
    Ok(match wrong {
        None => told("every element is the sum of all up to it".to_owned(), true),
        Some((element, (found, wanted))) => {
            told(format!("element {element} is {found}, the reference {wanted}"), false)
        }
    })
}
