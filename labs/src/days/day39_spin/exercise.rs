//! The exercise: a lock that every thread takes, lane after lane.

use anyhow::Result;

use super::numbers;
use crate::backend::{Argument, Backend, Launch, Step};
use crate::exercise::{Exercise, Goal};

const BLOCK: u32 = 64;
/// Threads: a warp, a block of two, several blocks.
const SIZES: [u64; 3] = [32, 64, 320];
/// Updates that a thread makes.
const UPDATES: u32 = 2;

pub(super) const EXERCISE: Exercise = Exercise {
    starter: include_str!("../../../../kernels/exercises/day39_spin.cu"),
    solution: include_str!("../../../../kernels/exercises/solutions/day39_spin.cu"),
    hints: &[
        "Two words make a fair lock: the next ticket, and the ticket that is served. One atomic add draws a ticket.",
        "Wait with loads: a load of order acquire, which the compiler must repeat, until your ticket is served.",
        "Leaving is a store of order release: ticket + 1 into the word that is served.",
        "Lanes of a warp take their turns at different times. Keep taking the lock, the update and giving it back inside the \
         branch or the loop that only the lane with the turn runs.",
    ],
    attempt,
};

/// No update is lost under any schedule, and each lock costs one atomic.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    let mut goals = Vec::new();
    for threads in SIZES {
        let (lock, counter) = (backend.allocate(8)?, backend.allocate(4)?);
        let grid = u32::try_from(threads.div_ceil(u64::from(BLOCK)))?;
        let block = u32::try_from(threads)?.min(BLOCK);
        let arguments = vec![Argument::Buffer(lock), Argument::Buffer(counter), Argument::U32(UPDATES)];
        let launch = Step::Launch(Launch::new("exercise", grid, block, arguments));
        backend.counts();
        if let Err(error) = backend.run(&[Step::Zero(lock), Step::Zero(counter), launch]) {
            goals.push(Goal { line: format!("{threads} threads: {error:#}"), reached: false });
            continue;
        }
        let atomics = backend.counts().map_or(0, |counts| counts.global_atomics);
        let (found, wanted) = (numbers(backend, counter, 1)?[0], threads * u64::from(UPDATES));
        goals.push(Goal {
            line: format!("{threads} threads: the counter is {found}, the reference {wanted}"),
            reached: u64::from(found) == wanted,
        });
        goals.push(Goal {
            line: format!(
                "{threads} threads: {atomics} global atomics, at most {wanted} wanted, one a lock taken"
            ),
            reached: atomics <= wanted,
        });
    }
    Ok(goals)
}
