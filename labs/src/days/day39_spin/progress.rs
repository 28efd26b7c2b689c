//! What a GPU promises about progress, and what it does not: waits that end only if another thread goes on.

use anyhow::Result;
use labs_record::figure::Coordinate;

use super::{numbers, write_given};
use crate::backend::{Argument, Launch, Step};
use crate::lab::Case;
use crate::measure::Bench;

/// The figure.
pub(super) const GAVE_UP: &str = "waited_in_vain";
/// The axis: what is waited for.
const WAITS_FOR: &str = "waits_for";
/// Threads a block: the largest there are, so that few blocks fill the GPU.
const BLOCK: u32 = 1_024;
/// SM cycles after which a wait is given up.
const LIMIT_CYCLES: u64 = 10_000_000;
/// Launches a place.
const RUNS: u64 = 20;
/// Blocks over those that fit, for the wait on the one before.
const MANY: u32 = 8;

/// What is waited for, and how the threads that wait are launched.
const PLACES: [(&str, &str); 4] = [
    ("lane", "lock_by_lanes"),
    ("resident_block", "wait_for_last"),
    ("block_without_place", "wait_for_last"),
    ("block_before", "wait_for_before"),
];

pub(super) const PROTOCOL: &str = "progress: 20 launches each, waits given up after 10000000 cycles; 32 lanes of a warp at one lock; blocks of 1024 \
     threads, as many as fit and one more, each waiting for the last; 8 times as many as fit, each waiting for the one before";

/// The cases, properties of the machine.
pub(super) fn cases() -> impl Iterator<Item = Case> {
    PLACES.iter().map(|(place, _)| Case {
        variant: None,
        at: [(WAITS_FOR.to_owned(), Coordinate::from(*place))].into(),
    })
}

/// Counts the waits that the clock ended. Only hardware has a scheduler to ask.
pub(super) fn measure(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    let wanted = case.at.get(WAITS_FOR);
    let place = PLACES.iter().find(|(place, _)| wanted == Some(&Coordinate::from(*place)));
    let (Some((place, kernel)), true) = (place, bench.takes_time()) else { return Ok(()) };
    let fit = bench.backend.resources(kernel, BLOCK)?.map_or(0, |resources| resources.blocks_per_sm)
        * bench.backend.device().gpu.sms;
    let (grid, block, waiting) = match *place {
        "lane" => (1, 32, 32),
        "resident_block" => (fit, BLOCK, fit.saturating_sub(1)),
        "block_without_place" => (fit + 1, BLOCK, fit),
        _ => (MANY * fit, BLOCK, MANY * fit),
    };
    let (flag, given) = (bench.scratch("words", 4)?, bench.scratch("given", 16)?);
    let gave_up = bench.scratch("waits_given_up", 4)?;
    write_given(bench.backend, given, LIMIT_CYCLES, 0)?;
    let arguments = [flag, given, gave_up].map(Argument::Buffer).to_vec();
    let launch = Step::Launch(Launch::new(kernel, grid, block, arguments));
    let mut seen = 0;
    for _ in 0..RUNS {
        bench.backend.run(&[Step::Zero(flag), Step::Zero(gave_up), launch.clone()])?;
        seen += u64::from(numbers(bench.backend, gave_up, 1)?[0]);
        (bench.alive)();
    }
    bench.observation(GAVE_UP, case, &[], seen, RUNS * u64::from(waiting));
    Ok(())
}
