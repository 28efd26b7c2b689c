//! The round trip of one dependent add, from every SM to many lines.

use anyhow::Result;
use labs_record::figure::{At, Unit};
use labs_record::statistics::Summary;

use super::kinds::{Memory, kind};
use crate::backend::{Argument, Buffer, Launch, Step};
use crate::lab::{Case, Variant};
use crate::measure::Bench;

/// Lines, or words of a block, that every SM visits.
const LINES: u64 = 64;
/// Lines of the memory that they are drawn from: a part of any L2.
const POOL: u64 = 1 << 17;
const LINE: u64 = 128;
/// Adds of one chain.
const HOPS: u32 = 16;
const HOST_HOPS: u32 = 4;
/// The variant of which every pair of SM and line is kept.
const IN_FULL: &str = "global_u32";

/// For the protocol.
pub(super) fn in_words() -> String {
    format!(
        "trips: one thread on every SM, {LINES} lines drawn by the session's seed from {POOL} (in a block: words), each SM \
         begins at another one; {HOPS} adds a chain ({HOST_HOPS} in host memory), the first visit not counted, address \
         arithmetic included; the second of two launches counts"
    )
}

/// Measures the trips of a variant that has a kernel for them.
pub(super) fn measure(bench: &mut Bench<'_>, variant: &Variant) -> Result<()> {
    for kernel in variant.kernels.iter().filter(|kernel| kernel.ends_with("_trip")) {
        let trips = trips(bench, variant.name, kernel)?;
        let case = Case { variant: Some(*variant), at: At::from([("lines".to_owned(), LINES.into())]) };
        let median = |cycles: Vec<f64>| Summary::of(&[cycles]).map_or(0.0, |summary| tenths(summary.median));
        let by_line = (0..LINES as usize).map(|line| median(trips.iter().map(|sm| sm[line]).collect()));
        if *kernel == "global_load_trip" {
            bench.spread("load_round_trip", &case, &[], Unit::Cycles, by_line.collect());
            continue;
        }
        bench.spread("round_trip", &case, &[], Unit::Cycles, by_line.collect());
        let by_sm = trips.iter().map(|sm| median(sm.clone())).collect();
        bench.spread("round_trip_by_sm", &case, &[], Unit::Cycles, by_sm);
        if variant.name == IN_FULL {
            let pairs = trips.concat().into_iter().map(f64::round).collect();
            bench.spread("round_trip_pairs", &case, &[], Unit::Cycles, pairs);
        }
    }
    Ok(())
}

/// Cycles of one add, SM by SM in the order of their numbers, for each line.
fn trips(bench: &mut Bench<'_>, variant: &str, kernel: &str) -> Result<Vec<Vec<f64>>> {
    let (memory, ty) = kind(variant);
    let sms = bench.backend.device().gpu.sms;
    // Whole clusters.
    let blocks = if memory == Memory::Cluster { sms / 2 * 2 } else { sms };
    let hops = if memory == Memory::Host { HOST_HOPS } else { HOPS };
    let steps = bench.scratch("steps", 32)?;
    bench.backend.write(steps, &[ty.steps(1), ty.steps(-1)].concat())?;
    let cycles = bench.scratch("cycles", u64::from(blocks) * LINES * 4)?;
    let places = bench.scratch("trip_sms", u64::from(blocks) * 4)?;
    let mut before = Vec::new();
    let mut arguments = Vec::new();
    if !memory.in_block() {
        let pool = pool(bench, memory)?;
        let lines = bench.scratch("lines", LINES * 4)?;
        let drawn = fastrand::Rng::with_seed(bench.seed);
        let bytes: Vec<u8> = draw(drawn).into_iter().flat_map(u32::to_le_bytes).collect();
        bench.backend.write(lines, &bytes)?;
        before.push(Step::Zero(pool));
        arguments.extend([Argument::Buffer(pool), Argument::Buffer(lines)]);
    }
    arguments.extend([
        Argument::U32(LINES as u32),
        Argument::Buffer(steps),
        Argument::U32(hops),
        Argument::U32(0),
        Argument::Buffer(cycles),
        Argument::Buffer(places),
    ]);
    let cluster = if memory == Memory::Cluster { 2 } else { 1 };
    let launch = Step::Launch(Launch { cluster, ..Launch::new(kernel, blocks, 1, arguments) });
    before.extend([launch.clone(), launch]);
    bench.backend.run(&before)?;
    let numbers = |bench: &mut Bench<'_>, buffer: Buffer, count: u64| -> Result<Vec<u32>> {
        let mut bytes = vec![0; count as usize * 4];
        bench.backend.read(buffer, &mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    };
    let found = numbers(bench, cycles, u64::from(blocks) * LINES)?;
    let order = numbers(bench, places, u64::from(blocks))?;
    // A block an SM: were there two on one, the later would stand for both.
    let mut by_sm = std::collections::BTreeMap::new();
    for (sm, chains) in order.into_iter().zip(found.chunks_exact(LINES as usize)) {
        by_sm.insert(sm, chains.iter().map(|cycles| tenths(f64::from(*cycles) / f64::from(hops))).collect());
    }
    Ok(by_sm.into_values().collect())
}

/// The memory that lines are drawn from.
fn pool(bench: &mut Bench<'_>, memory: Memory) -> Result<Buffer> {
    match memory {
        Memory::Host => bench.backend.allocate_host(POOL * LINE),
        _ => bench.scratch("pool", POOL * LINE),
    }
}

/// Different lines of the pool.
fn draw(mut random: fastrand::Rng) -> Vec<u32> {
    let mut lines = Vec::new();
    while lines.len() < LINES as usize {
        let line = random.u32(..POOL as u32);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn tenths(cycles: f64) -> f64 {
    (cycles * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_different_and_change_with_the_seed() {
        let of = |seed| draw(fastrand::Rng::with_seed(seed));
        let mut lines = of(1);
        assert_ne!(lines, of(2));
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len() as u64, LINES);
        assert!(lines.iter().all(|line| u64::from(*line) < POOL));
    }
}
