//! The exercise: one launch that gives the same bits under every schedule, is right, and sends at most two global atomics
//! a block.

use std::collections::BTreeSet;

use anyhow::Result;

use super::super::day26_sum::bytes_of;
use super::{BLOCK, host};
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::exercise::Goal;

/// One element, a block less one, a block and one, many blocks and a rest.
const SIZES: [u64; 4] = [1, 255, 257, 20_011];
/// Schedules that must give the same bits.
const SCHEDULES: u64 = 8;
/// Largest relative error of a total.
const MOST_ERROR: f64 = 1e-6;
const SEED: u64 = 30;

/// Runs the kernel `exercise` at each size under all schedules.
pub(super) fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    let total = backend.allocate(4)?;
    let mut goals = Vec::new();
    for n in SIZES {
        // The input ends where the size does: what is read past it shows.
        let input = backend.allocate(n * 4)?;
        backend.write(input, &bytes_of(n, host::uniform(n, SEED))?)?;
        let blocks = n.div_ceil(u64::from(BLOCK));
        let scratch = backend.allocate((blocks + 1) * 8)?;
        let (tried, most_atomics) = tries(backend, n, [input, total, scratch])?;
        match tried {
            Err(stopped) => goals.push(Goal { line: format!("size {n}: {stopped}"), reached: false }),
            Ok(totals) => goals.extend(exercise_goals(n, &totals, most_atomics, 2 * blocks)),
        }
    }
    Ok(goals)
}

/// The totals under each schedule, or why a schedule was stopped; and the most global atomics of one of them.
fn tries(backend: &mut dyn Backend, n: u64, memory: [Buffer; 3]) -> Result<(Result<Vec<f32>, String>, u64)> {
    let [input, total, scratch] = memory;
    let arguments = [input, total, scratch].map(Argument::Buffer).into_iter().chain([Argument::U64(n)]);
    let launch =
        Launch::new("exercise", u32::try_from(n.div_ceil(u64::from(BLOCK)))?, BLOCK, arguments.collect());
    let steps = [Step::Zero(total), Step::Zero(scratch), Step::Launch(launch)];
    let (mut totals, mut most_atomics) = (Vec::new(), 0);
    for schedule in 0..SCHEDULES {
        backend.schedule(Some(schedule));
        backend.counts();
        if let Err(error) = backend.run(&steps) {
            backend.schedule(None);
            return Ok((Err(format!("{error:#}")), 0));
        }
        most_atomics = most_atomics.max(backend.counts().map_or(0, |counts| counts.global_atomics));
        let mut bytes = [0; 4];
        backend.read(total, &mut bytes)?;
        totals.push(f32::from_le_bytes(bytes));
    }
    backend.schedule(None);
    Ok((Ok(totals), most_atomics))
}

fn exercise_goals(n: u64, totals: &[f32], atomics: u64, most_atomics: u64) -> [Goal; 3] {
    let reference = host::sum(host::uniform(n, SEED));
    let patterns: BTreeSet<u32> = totals.iter().map(|total| total.to_bits()).collect();
    // Without their number, which the next schedules would only say again in another way.
    let bits = if patterns.len() == 1 { "the same bits" } else { "other bits" };
    let off = |total: &f32| (f64::from(*total) - reference).abs() / reference;
    let worst = totals.iter().copied().max_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(f32::NAN);
    [
        Goal {
            line: format!("size {n}: {bits} under {SCHEDULES} schedules, the same bits wanted"),
            reached: patterns.len() == 1,
        },
        Goal {
            line: format!("size {n}: the total is {worst}, the reference {reference}"),
            reached: off(&worst) <= MOST_ERROR,
        },
        Goal {
            line: format!("size {n}: {atomics} global atomics, at most {most_atomics} wanted, two a block"),
            reached: atomics <= most_atomics,
        },
    ]
}
