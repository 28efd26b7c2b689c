//! What does it cost to count the values below a threshold, when every hit adds to one counter?

use std::rc::Rc;

use anyhow::{Context as _, Result};
use labs_record::figure::{Coordinate, Unit};
use labs_record::manifest::FigureEntry;

use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::exercise::{Exercise, Goal};
use crate::lab::{Axis, BLOCK, Case, Lab, Mode, Places, Selection, Shipped, Variant};
use crate::measure::{Bench, Cache, Work, host_room, word_bytes};
use crate::results::{Like, Values};

const WARP: usize = 32;
/// Values run from 0 up to, not including, this one.
const VALUES: u32 = 1000;
/// Elements that are measured: 64 MiB.
const SIZE: u64 = 1 << 24;
/// Thresholds that are measured: 1000 times the hit rates 0, 0.05, 0.125, 0.25, 0.5, 1. Without a hit there is no add:
/// what is left is the launch and the reading.
const SWEEP: [u64; 6] = [0, 50, 125, 250, 500, 1000];
const LAYOUTS: [&str; 2] = ["random", "sequential"];
/// Size and threshold of each run of the exercise: no hit, few, half, all; a rest, a block, several.
const EXERCISE: [(u64, u32); 6] =
    [(1, 1000), (255, 128), (256, 1000), (1_000, 0), (5_001, 50), (20_001, 1000)];

const VARIANTS: [Variant; 6] = [
    Variant::new("naive", "every hit adds 1 to the counter; the compiler folds a warp's hits", &["naive"]),
    Variant::new("naive_unfolded", "the same adds where the compiler can't fold them", &["naive_unfolded"]),
    Variant::new("agg", "a leader adds the number of the warp's hits", &["agg"]),
    Variant::new("smem", "hits add to a 64-bit word of the block, which is added once", &["smem"]),
    Variant::new("smem32", "the block's word has 32 bits", &["smem32"]),
    Variant::new("agg_smem", "the warp's leader adds to the block's 64-bit word", &["agg_smem"]),
];

const MODES: [Mode; 2] = [
    Mode { name: "sweep", help: "All hit rates", axis: "threshold", places: &SWEEP },
    Mode { name: "modes", help: "Every value is a hit", axis: "threshold", places: &[1000] },
];

/// The lab.
pub struct Filter;

impl Lab for Filter {
    fn stem(&self) -> &'static str {
        "day35_filter"
    }

    fn part(&self) -> u32 {
        3
    }

    fn question(&self) -> &'static str {
        "What does it cost to count the values below a threshold, when every hit adds to one counter?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day35_filter.cu"),
            ptx: &[(75, include_str!("../../../kernels/ptx/day35_filter.sm75.ptx"))],
            claims: include_str!("../../../verification/claims/day35_filter.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let numbers = |numbers: &[u64]| numbers.iter().map(|number| Coordinate::Number(*number)).collect();
        let layouts = || LAYOUTS.map(Coordinate::from).to_vec();
        vec![
            Axis {
                name: "threshold",
                help: "Values below it are hits: 1000 times the hit rate; again for several",
                places: Places::UpTo(u64::from(VALUES)),
                defaults: numbers(&SWEEP),
                simulator_defaults: numbers(&[50, 250, 1000]),
            },
            Axis {
                name: "layout",
                help: "Which lanes hit together: any (random), or neighbours (sequential)",
                places: Places::OneOf(&LAYOUTS),
                defaults: layouts(),
                simulator_defaults: layouts(),
            },
            Axis {
                name: "size",
                help: "Elements to filter; again for several sizes",
                places: Places::UpTo(1 << 28),
                defaults: numbers(&[SIZE]),
                simulator_defaults: numbers(&[1 << 15]),
            },
        ]
    }

    fn modes(&self) -> &'static [Mode] {
        &MODES
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            FigureEntry::duration("time", "time of a count, the counter zeroed beforehand"),
            FigureEntry::rate("elements_per_second", Unit::PerSecond, "time", 1, "elements over time"),
            FigureEntry::exact("counted", "hits, as the kernel counts them"),
            FigureEntry::exact("host_count", "hits, as the host counts them"),
            // Which warps hold a hit depends on the order of a random input, which is another one in every session.
            FigureEntry::spread(
                "queued_adds",
                Unit::Count,
                "adds that reach the counter once a warp's are folded, by the machine code and the input",
            ),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}, an element a thread; u32 values, sequential: i mod {VALUES}; random: the same values \
             shuffled; hot, single launches"
        )
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(Exercise {
            starter: include_str!("../../../kernels/exercises/day35_filter.cu"),
            solution: include_str!("../../../kernels/exercises/solutions/day35_filter.cu"),
            hints: &[
                "A word of __shared__ memory a block, as in `smem`, leaves one global add a block.",
                "256 hits must fit the block's counter, and it must be 0 before the first of them.",
                "Without a word of shared memory: __popc(__ballot_sync(full_warp, hit)) counts a warp, every lane taking part.",
                "__syncthreads_count(hit) is a barrier that returns in how many threads of the block `hit` was true.",
            ],
            attempt,
        })
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let mut cases = selection.cases();
        let mut places = Vec::new();
        for case in &cases {
            if !places.contains(&case.at) {
                places.push(case.at.clone());
            }
        }
        cases.extend(places.into_iter().map(|at| Case { variant: None, at }));
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let (layout, n) = (layout(case), case.number("size"));
        let threshold = u32::try_from(case.number("threshold")).context("a threshold is at most 1000")?;
        let census = Census::of(bench, layout, n)?;
        let hits = census.hits(threshold);
        let Some(variant) = case.variant else {
            bench.exact("host_count", case, &[], hits);
            return Ok(());
        };
        let largest = bench.largest_size;
        let input =
            bench.input(layout, largest * 4, |bench| bytes_of(&values(layout, largest, bench.seed)?))?;
        let offsets = bench.input("offsets", WARP as u64 * 4, |_| Ok(vec![0; WARP * 4]))?;
        let counter = bench.scratch("counter", 8)?;
        let check = |backend: &mut dyn Backend| {
            let found = read(backend, counter)?;
            Ok(if found == hits {
                Ok(())
            } else {
                Err(format!(
                    "at threshold {threshold}, {layout}, size {n} the counter is {found}, the host counts {hits}"
                ))
            })
        };
        let launch = launch(variant.name, n, threshold, [input, counter, offsets])?;
        let work = Work { reset: vec![Step::Zero(counter)], timed: vec![launch], check: &check };
        let passed = bench.passes(&variant, &case.at, &work)?;
        let found = read(bench.backend, counter)?;
        bench.result("counter", case, Like::Bits, |_| Ok(Values::U64(vec![found])))?;
        bench.exact("counted", case, &[], found);
        if !passed {
            return Ok(());
        }
        let queued = census.queued(variant.name, threshold);
        bench.spread("queued_adds", case, &[], Unit::Count, vec![queued as f64]);
        let at = [("cache", Cache::Hot.place()), ("launches", Coordinate::from("single"))];
        bench.duration("time", case, &at, Cache::Hot, &work)
    }
}

/// The exercise: the host's count at each size and threshold, and at most one global add a block.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    const SEED: u64 = 35;
    let counter = backend.allocate(8)?;
    let mut goals = Vec::new();
    for (n, threshold) in EXERCISE {
        // The input ends where the size does: what is read past it shows.
        let input = backend.allocate(n * 4)?;
        let values = values("random", n, SEED)?;
        backend.write(input, &bytes_of(&values)?)?;
        let wanted = values.iter().filter(|value| **value < threshold).count() as u64;
        let place = format!("size {n}, threshold {threshold}");
        backend.counts();
        if let Err(error) =
            backend.run(&[Step::Zero(counter), launch("exercise", n, threshold, [input, counter, counter])?])
        {
            goals.push(Goal { line: format!("{place}: {error:#}"), reached: false });
            continue;
        }
        let counted = backend.counts().map_or(0, |counts| counts.global_atomics);
        let found = read(backend, counter)?;
        goals.push(Goal {
            line: format!("{place}: the counter is {found}, the host counts {wanted}"),
            reached: found == wanted,
        });
        let blocks = n.div_ceil(u64::from(BLOCK));
        goals.push(Goal {
            line: format!("{place}: {counted} global adds, at most {blocks} wanted, one a block"),
            reached: counted <= blocks,
        });
    }
    Ok(goals)
}

/// One count; only `naive_unfolded` takes the offsets.
fn launch(kernel: &str, n: u64, threshold: u32, [input, counter, offsets]: [Buffer; 3]) -> Result<Step> {
    let blocks = u32::try_from(n.div_ceil(u64::from(BLOCK)))?;
    let mut arguments =
        vec![Argument::Buffer(input), Argument::Buffer(counter), Argument::U64(n), Argument::U32(threshold)];
    if kernel == "naive_unfolded" {
        arguments.push(Argument::Buffer(offsets));
    }
    Ok(Step::Launch(Launch::new(kernel, blocks, BLOCK, arguments)))
}

fn read(backend: &mut dyn Backend, counter: Buffer) -> Result<u64> {
    let mut bytes = [0; 8];
    backend.read(counter, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn layout(case: &Case) -> &'static str {
    let random = case.at.get("layout") == Some(&Coordinate::from(LAYOUTS[0]));
    if random { LAYOUTS[0] } else { LAYOUTS[1] }
}

/// The first `n` values: 0 to 999 over and over, so that hits are neighbours; or the same, shuffled.
fn values(layout: &str, n: u64, seed: u64) -> Result<Vec<u32>> {
    let mut values = host_room(n)?;
    values.extend((0..n).map(|i| (i % u64::from(VALUES)) as u32));
    if layout == LAYOUTS[0] {
        fastrand::Rng::with_seed(seed).shuffle(&mut values);
    }
    Ok(values)
}

fn bytes_of(values: &[u32]) -> Result<Vec<u8>> {
    word_bytes(values.len() as u64, values.iter().copied())
}

/// How many values, warps and blocks hold a hit, at every threshold.
struct Census(Rc<[f64]>);

impl Census {
    /// The census of the first `n` values of a layout, taken once a session.
    fn of(bench: &mut Bench<'_>, layout: &'static str, n: u64) -> Result<Census> {
        let largest = bench.largest_size;
        let take = |bench: &mut Bench<'_>| {
            let census = Census::take(&values(layout, largest, bench.seed)?[..n as usize]);
            (bench.alive)();
            Ok(census)
        };
        Ok(Census(bench.kept(layout, n, take)?))
    }

    /// A group holds a hit at every threshold above its smallest value.
    fn take(values: &[u32]) -> Vec<f64> {
        let mut table = Vec::new();
        for group in [1, WARP, BLOCK as usize] {
            let mut holding = vec![0_u64; VALUES as usize + 1];
            for smallest in values.chunks(group).filter_map(|group| group.iter().min()) {
                holding[*smallest as usize + 1] += 1;
            }
            let mut sum = 0;
            table.extend(holding.into_iter().map(|more| {
                sum += more;
                sum as f64
            }));
        }
        table
    }

    fn at(&self, kind: usize, threshold: u32) -> u64 {
        let place = kind * (VALUES as usize + 1) + threshold as usize;
        self.0.get(place).map_or(0, |number| *number as u64)
    }

    fn hits(&self, threshold: u32) -> u64 {
        self.at(0, threshold)
    }

    /// Adds that reach the counter: one a hit, or one for the hits of a warp or of a block.
    fn queued(&self, variant: &str, threshold: u32) -> u64 {
        match variant {
            "naive_unfolded" => self.hits(threshold),
            "naive" | "agg" => self.at(1, threshold),
            _ => self.at(2, threshold),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_hold_the_same_values() {
        let (mut random, sequential) =
            (values("random", 4_321, 7).unwrap(), values("sequential", 4_321, 7).unwrap());
        assert_ne!(random, sequential);
        random.sort_unstable();
        let mut sorted = sequential.clone();
        sorted.sort_unstable();
        assert_eq!(random, sorted);
    }

    #[test]
    fn a_census_counts_hits_and_the_groups_that_hold_one() {
        // 1,000 values: 32 warps and 4 blocks, the last of each not full.
        let census = Census(Census::take(&values("sequential", 1_000, 0).unwrap()).into());
        for (threshold, hits, warps, blocks) in
            [(0, 0, 0, 0), (1, 1, 1, 1), (50, 50, 2, 1), (257, 257, 9, 2), (1000, 1000, 32, 4)]
        {
            let found =
                ["naive_unfolded", "agg", "agg_smem"].map(|variant| census.queued(variant, threshold));
            assert_eq!(found, [hits, warps, blocks], "{threshold}");
        }
    }
}
