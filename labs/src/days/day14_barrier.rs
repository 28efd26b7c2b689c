//! When may a thread read what the other threads have added?

use std::rc::Rc;

use anyhow::Result;
use labs_record::figure::Coordinate;
use labs_record::manifest::FigureEntry;
use labs_record::record::Outcome;

use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::baseline;
use crate::exercise::{Exercise, Goal};
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, Variant};
use crate::measure::{Bench, Cache, Work, host_bytes};
use crate::results::{Like, Values};

/// Bytes before the blocks' sums: the ticket and the total, on a line of their own.
const SUMS_AT: u64 = 256;
/// Launches whose blocks' sums are looked at, at each size.
const BLOCK_RUNS: u64 = 200;
/// Launches whose total is looked at, at each size.
const TOTAL_RUNS: u64 = 1_000;
/// Rounds of the exercise.
const ROUNDS: u32 = 3;
/// Barriers a block of the exercise may meet: one a round, and one.
const MOST_BARRIERS: u64 = ROUNDS as u64 + 1;

const VARIANTS: [Variant; 11] = [
    Variant::new("atomic_only", "wrong: thread 0 reads after its own atomic add", &["atomic_only"])
        .undefined(),
    Variant::new("late_reader", "wrong: the last thread reads instead", &["late_reader"]).undefined(),
    Variant::new("slots", "wrong: a slot a thread, no atomic, no barrier", &["slots"]).undefined(),
    Variant::new("warp_barrier", "wrong: a barrier of the reader's warp only", &["warp_barrier"]).undefined(),
    Variant::new("block_barrier", "a barrier of the block between add and read", &["block_barrier"]),
    Variant::new("warp_totals", "a word a warp, and a barrier of that warp", &["warp_totals"]),
    Variant::new("last_block_relaxed", "wrong: the last ticket, and no fence", &["last_block_relaxed"])
        .undefined(),
    Variant::new("last_block_released", "wrong: a fence before the ticket only", &["last_block_released"])
        .undefined(),
    Variant::new("last_block_narrow", "wrong: both fences at block scope", &["last_block_narrow"])
        .undefined(),
    Variant::new("last_block_fenced", "a fence on either side of the ticket", &["last_block_fenced"]),
    Variant::new("last_block_acq_rel", "the ticket releases and acquires", &["last_block_acq_rel"]),
];

/// The lab.
pub struct Barrier;

impl Lab for Barrier {
    fn stem(&self) -> &'static str {
        "day14_barrier"
    }

    fn part(&self) -> u32 {
        4
    }

    fn question(&self) -> &'static str {
        "When may a thread read what the other threads have added?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day14_barrier.cu"),
            ptx: &[(75, include_str!("../../../kernels/ptx/day14_barrier.sm75.ptx"))],
            claims: include_str!("../../../verification/claims/day14_barrier.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let sizes = |sizes: &[u64]| sizes.iter().map(|size| Coordinate::Number(*size)).collect();
        vec![Axis {
            name: "size",
            help: "Elements to add; again for several sizes",
            places: Places::UpTo(1 << 32),
            defaults: sizes(&[65_536, 4_194_304]),
            simulator_defaults: sizes(&[1_000, 65_536]),
        }]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            FigureEntry::duration("time", "time of a launch, its targets zeroed beforehand"),
            FigureEntry::observation("wrong_blocks", "blocks whose sum came out wrong"),
            FigureEntry::observation("wrong_totals", "launches whose total came out wrong"),
            baseline::launch_floor(),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; one element a thread; random 32-bit inputs, sums modulo 2^32; after each launch every block's \
             sum, and the total where there is one, compared with the host's; wrong blocks of {BLOCK_RUNS} launches, wrong \
             totals of {TOTAL_RUNS} launches a size; time of the correct variants, input in the L2"
        )
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(Exercise {
            starter: include_str!("../../../kernels/exercises/day14_barrier.cu"),
            solution: include_str!("../../../kernels/exercises/solutions/day14_barrier.cu"),
            hints: &[
                "Draw an arrow from each write of `total` to each read that needs it, and from each read to the next write.",
                "Every arrow that leaves a thread needs a barrier between its ends; one barrier serves all arrows that cross it.",
                "One word needs three barriers a round: after zeroing, after adding, after reading. Use several words in turn.",
                "With three words in turn a round can zero the word of the next round: nobody has read it since the last barrier.",
                "All threads of the block must reach the barrier: a thread without an element too.",
            ],
            attempt,
        })
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let mut cases = selection.cases();
        cases.extend(baseline::cases().into_iter().filter(|case| case.number("size") == 0));
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let Some(variant) = case.variant else { return baseline::measure(bench, case, None) };
        let n = case.number("size");
        let (largest, seed) = (bench.largest_size, bench.seed);
        let input = bench.input("values", largest * 4, |_| bytes_of(largest, seed))?;
        let sums = Sums::new(bench, n, variant.name.starts_with("last_block"))?;
        let check = |backend: &mut dyn Backend| {
            let wrong = sums.wrong(backend)?;
            Ok(wrong.first.map_or(Ok(()), |reason| Err(format!("at size {n} {reason}"))))
        };
        let timed = vec![sums.launch(variant.name, input)];
        let work = Work { reset: vec![Step::Zero(sums.memory)], timed, check: &check };
        if bench.passes(&variant, &case.at, &work)? && variant.declared == Outcome::Correct {
            bench.result("sums", case, Like::Bits, |backend| Ok(Values::U32(sums.words(backend)?)))?;
        }
        if bench.takes_time() && n > 0 {
            sums.observe(bench, case, &work)?;
        }
        let at = [("cache", Cache::Hot.place()), ("launches", Coordinate::from("single"))];
        bench.duration("time", case, &at, Cache::Hot, &work)
    }
}

/// One size: its memory and what must be in it.
struct Sums {
    n: u64,
    memory: Buffer,
    has_total: bool,
    /// Each block's sum, and behind them the total.
    reference: Rc<[f64]>,
}

/// What was wrong after a launch.
struct Wrong {
    blocks: u64,
    total: bool,
    first: Option<String>,
}

impl Sums {
    fn new(bench: &mut Bench<'_>, n: u64, has_total: bool) -> Result<Sums> {
        let room = SUMS_AT + blocks(bench.largest_size) * 4;
        let memory = Buffer { bytes: SUMS_AT + blocks(n) * 4, ..bench.scratch("sums", room)? };
        Ok(Sums { n, memory, has_total, reference: bench.references("sums", n, |seed| reference(n, seed)) })
    }

    fn launch(&self, kernel: &str, input: Buffer) -> Step {
        let mut arguments =
            vec![Argument::Buffer(input), Argument::Buffer(self.memory.at(SUMS_AT)), Argument::U64(self.n)];
        if self.has_total {
            arguments.extend([Argument::Buffer(self.memory), Argument::Buffer(self.memory.at(4))]);
        }
        let grid = u32::try_from(blocks(self.n)).unwrap_or(u32::MAX);
        Step::Launch(Launch::new(kernel, grid, BLOCK, arguments))
    }

    /// The ticket, the total, and at [`SUMS_AT`] the blocks' sums.
    fn words(&self, backend: &mut dyn Backend) -> Result<Vec<u32>> {
        let mut bytes = host_bytes(self.memory.bytes)?;
        backend.read(self.memory, &mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    fn wrong(&self, backend: &mut dyn Backend) -> Result<Wrong> {
        let words = self.words(backend)?;
        let blocks = self.reference.len().saturating_sub(1);
        let found = words.iter().skip(SUMS_AT as usize / 4).zip(self.reference.iter().take(blocks));
        let mut wrong = Wrong { blocks: 0, total: false, first: None };
        for (block, (found, wanted)) in found.enumerate() {
            if f64::from(*found) != *wanted {
                wrong.blocks += 1;
                wrong.first.get_or_insert_with(|| {
                    format!("the sum of block {block} is {found}, the reference {wanted}")
                });
            }
        }
        let (total, wanted) = (words.get(1).copied().unwrap_or_default(), self.reference[blocks]);
        if self.has_total && f64::from(total) != wanted {
            wrong.total = true;
            wrong.first.get_or_insert(format!("the total is {total}, the reference {wanted}"));
        }
        Ok(wrong)
    }

    /// How often the result is wrong, of the correct variants as of the others.
    fn observe(&self, bench: &mut Bench<'_>, case: &Case, work: &Work<'_>) -> Result<()> {
        let runs = if self.has_total { TOTAL_RUNS } else { BLOCK_RUNS };
        let (mut blocks, mut totals) = (0, 0);
        for _ in 0..runs {
            bench.backend.run(&work.reset)?;
            bench.backend.run(&work.timed)?;
            let wrong = self.wrong(bench.backend)?;
            blocks += wrong.blocks;
            totals += u64::from(wrong.total);
            (bench.alive)();
        }
        if self.has_total {
            bench.observation("wrong_totals", case, &[], totals, runs);
        } else {
            bench.observation("wrong_blocks", case, &[], blocks, runs * self::blocks(self.n));
        }
        Ok(())
    }
}

fn blocks(n: u64) -> u64 {
    n.div_ceil(u64::from(BLOCK))
}

fn values(n: u64, seed: u64) -> impl Iterator<Item = u32> {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x0d14);
    (0..n).map(move |_| random.u32(..))
}

fn bytes_of(n: u64, seed: u64) -> Result<Vec<u8>> {
    let mut bytes = host_bytes(n * 4)?;
    for (word, value) in bytes.as_chunks_mut().0.iter_mut().zip(values(n, seed)) {
        *word = value.to_le_bytes();
    }
    Ok(bytes)
}

/// Each block's sum, and behind them the total, modulo 2^32.
fn reference(n: u64, seed: u64) -> Vec<f64> {
    let mut sums = vec![0_u32; blocks(n) as usize];
    for (i, value) in values(n, seed).enumerate() {
        let sum = &mut sums[i / BLOCK as usize];
        *sum = sum.wrapping_add(value);
    }
    let total = sums.iter().fold(0, |total: u32, sum| total.wrapping_add(*sum));
    sums.iter().chain([&total]).map(|sum| f64::from(*sum)).collect()
}

/// The exercise: rounds in which every thread needs the block's total, with as few barriers as that takes.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    const SEED: u64 = 14;
    let mut goals = Vec::new();
    for n in [1_u64, 255, 256, 1_000] {
        let memory = backend.allocate(n * 4)?;
        backend.write(memory, &bytes_of(n, SEED)?)?;
        let arguments = vec![Argument::Buffer(memory), Argument::U64(n), Argument::U32(ROUNDS)];
        let grid = u32::try_from(blocks(n))?;
        backend.counts();
        if let Err(error) = backend.run(&[Step::Launch(Launch::new("exercise", grid, BLOCK, arguments))]) {
            goals.push(Goal { line: format!("size {n}: {error:#}"), reached: false });
            continue;
        }
        let barriers = backend.counts().map_or(0, |counts| counts.barriers);
        let mut bytes = host_bytes(n * 4)?;
        backend.read(memory, &mut bytes)?;
        let found = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
        let wrong = found.zip(rounds(n, SEED)).enumerate().find(|(_, (found, wanted))| found != wanted);
        goals.push(match wrong {
            None => Goal { line: format!("size {n}: every value is right"), reached: true },
            Some((i, (found, wanted))) => Goal {
                line: format!("size {n}: value {i} is {found}, the reference {wanted}"),
                reached: false,
            },
        });
        let most = MOST_BARRIERS * u64::from(grid);
        goals.push(Goal {
            line: format!(
                "size {n}: {barriers} barriers, at most {most} wanted: one a round and block, and one"
            ),
            reached: barriers <= most,
        });
    }
    Ok(goals)
}

/// The exercise's reference: in each round a value becomes its triple plus the block's total.
fn rounds(n: u64, seed: u64) -> Vec<u32> {
    let mut all: Vec<u32> = values(n, seed).collect();
    for block in all.chunks_mut(BLOCK as usize) {
        for _ in 0..ROUNDS {
            let total = block.iter().fold(0, |total: u32, value| total.wrapping_add(*value));
            block.iter_mut().for_each(|value| *value = value.wrapping_mul(3).wrapping_add(total));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_ends_with_the_total() {
        let sums = reference(600, 1);
        let all = values(600, 1).fold(0, |sum: u32, value| sum.wrapping_add(value));
        assert_eq!(sums.len(), 4);
        assert_eq!(sums[3], f64::from(all));
        assert_eq!(reference(0, 1), [0.0]);
    }

    #[test]
    fn a_round_adds_the_blocks_own_total() {
        let before: Vec<u32> = values(1, 2).collect();
        assert_eq!(rounds(1, 2), [before[0].wrapping_mul(4_u32.wrapping_pow(ROUNDS))]);
    }
}
