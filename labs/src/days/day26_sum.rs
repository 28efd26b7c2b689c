//! What does it cost when every thread of a grid adds into one float?

use anyhow::Result;
use labs_record::figure::{Coordinate, Unit};
use labs_record::manifest::FigureEntry;

use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::baseline;
use crate::exercise::{Exercise, Goal};
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, Variant};
use crate::measure::{Bench, Cache, Work, host_bytes};
use crate::results::{Like, Values};

/// Blocks of the two-pass sum at most: a number of its own, so that every GPU adds in the same order.
const TWO_PASS_BLOCKS: u64 = 1024;
/// Resident blocks an SM that the grid of `grid_stride` and `vectorised` is made for: 8 × 256 threads fill an SM.
const BLOCKS_PER_SM: u64 = 8;
/// Elements up to which `vectorised` is one block, which needs no atomic.
const ONE_BLOCK: u64 = 8192;
/// Every integer up to this one is a float.
const EXACT: i64 = 1 << 24;
/// Sizes from here on are not batched: a launch is long against the launch floor.
const BATCHED_BELOW: u64 = 1 << 26;
/// Runs over random floats a session, for the error.
const ERROR_RUNS: usize = 3;
/// Bytes between the accumulators of a batch, so that no two share a 128-byte line.
const APART: u64 = 256;
const MOST_LAUNCHES: u64 = 64;
/// Sizes of the exercise: one element, a block less one, a block, several and a rest.
const EXERCISE_SIZES: [u64; 5] = [1, 255, 256, 1_000, 20_001];

const VARIANTS: [Variant; 7] = [
    Variant::new("global_atomic", "every thread adds to the one total", &["global_atomic"]),
    Variant::new("shared_privatised", "the block adds in shared memory first", &["shared_privatised"]),
    Variant::new("block_tree", "the block folds in eight halving steps", &["block_tree"]),
    Variant::new("warp_shuffle", "warps fold in registers", &["warp_shuffle"]),
    Variant::new("grid_stride", "a thread adds many elements before anything is shared", &["grid_stride"]),
    Variant::new("vectorised", "16-byte loads, four in flight a thread", &["vectorised"]),
    Variant::new(
        "two_pass",
        "partials to memory, a second launch adds them",
        &["two_pass_partials", "two_pass_total"],
    ),
];

/// The lab.
pub struct Sum;

impl Lab for Sum {
    fn stem(&self) -> &'static str {
        "day26_sum"
    }

    fn part(&self) -> u32 {
        1
    }

    fn question(&self) -> &'static str {
        "What does it cost when every thread of a grid adds into one float?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day26_sum.cu"),
            ptx: &[(75, include_str!("../../../kernels/ptx/day26_sum.sm75.ptx"))],
            claims: include_str!("../../../verification/claims/day26_sum.yaml"),
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
            places: Places::UpTo(1 << 38),
            defaults: sizes(&[4_096, 65_536, 262_144, 1_048_576, 4_194_304, 67_108_864]),
            simulator_defaults: sizes(&[4_096, 65_536, 262_144]),
        }]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        let mut figures = vec![
            FigureEntry::duration("time", "time of a sum, the total zeroed beforehand"),
            FigureEntry::rate(
                "bandwidth",
                Unit::GigabytesPerSecond,
                "time",
                4,
                "four bytes an element over time",
            ),
            FigureEntry::exact("global_atomics", "global atomic operations a sum issues"),
            FigureEntry::spread(
                "error_uniform",
                Unit::One,
                "relative error on uniform random floats in [0, 1)",
            ),
            FigureEntry::duration("time_with_reset", "time of a sum, zeroing the total included").optional(),
        ];
        figures.extend(baseline::figures());
        figures
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; one element a thread in the first four; grid_stride and vectorised at most {BLOCKS_PER_SM} \
             blocks an SM; vectorised one block up to {ONE_BLOCK} elements, else 4 elements a thread at least; two_pass at \
             most {TWO_PASS_BLOCKS} blocks; time on inputs whose partial sums are exact (integers, positive and negative \
             part each at most 2^24), result bit for bit; batched below {BATCHED_BELOW}, accumulators {APART} bytes \
             apart; error on uniform [0, 1), {ERROR_RUNS} runs a session, against Kahan's sum in double; read at {} with {}",
            baseline::READ_SIZE,
            "8 blocks an SM"
        )
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(Exercise {
            starter: include_str!("../../../kernels/exercises/day26_sum.cu"),
            solution: include_str!("../../../kernels/exercises/solutions/day26_sum.cu"),
            hints: &[
                "Guard the load: a thread whose i is not below n takes part with 0.",
                "Give each block a word, or 256 words, of __shared__ memory, and fold there first.",
                "Every thread of the block must reach every __syncthreads(): leave none by an early return.",
                "block_tree, warp_shuffle and shared_privatised in kernels/day26_sum.cu are three ways to do it.",
            ],
            attempt,
        })
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let mut cases = selection.cases();
        // The roofline belongs to the largest default size; a learner's small run does without it.
        let reads = selection.numbers("size").contains(&baseline::READ_SIZE);
        cases.extend(baseline::cases().into_iter().filter(|case| reads || case.number("size") == 0));
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let n = case.number("size");
        let Some(variant) = case.variant else {
            let input = if n == 0 { None } else { Some(exact_input(bench)?) };
            return baseline::measure(bench, case, input);
        };
        let input = exact_input(bench)?;
        let sum = Sums::new(bench, &variant, n)?;
        // Exact: the sum is an integer of at most 2^24.
        let reference = bench.reference("exact", n, |seed| exact(n, seed).sum::<i64>() as f64) as f32;
        let check = |backend: &mut dyn Backend| sum.check(backend, reference, 1);
        let work = Work { reset: sum.reset(1), timed: sum.steps(input, 0), check: &check };
        if !bench.passes(&variant, &case.at, &work)? {
            return Ok(());
        }
        bench.result("total", case, Like::Bits, |backend| Ok(Values::F32(vec![sum.total(backend, 0)?])))?;
        bench.exact("global_atomics", case, &[], sum.global_atomics());
        let single = Coordinate::from("single");
        for cache in [Cache::Cold, Cache::Hot] {
            let at = [("cache", cache.place()), ("launches", single.clone())];
            bench.duration("time", case, &at, cache, &work)?;
        }
        if n < BATCHED_BELOW {
            self.batched(bench, case, &sum, input, reference)?;
        }
        if variant.name == "vectorised" {
            with_reset(bench, case, &sum, &work)?;
        }
        error_on_uniform(bench, case, &sum)
    }
}

/// The exercise: right at each size, and at most one global add a block.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    const SEED: u64 = 26;
    let total = backend.allocate(4)?;
    let mut goals = Vec::new();
    for n in EXERCISE_SIZES {
        // The input ends where the size does: what is read past it shows.
        let input = backend.allocate(n * 4)?;
        backend.write(input, &bytes_of(n, exact(n, SEED).map(|value| value as f32))?)?;
        let blocks = u32::try_from(n.div_ceil(u64::from(BLOCK)))?;
        let arguments = vec![Argument::Buffer(input), Argument::Buffer(total), Argument::U64(n)];
        backend.counts();
        let steps = [Step::Zero(total), Step::Launch(Launch::new("exercise", blocks, BLOCK, arguments))];
        if let Err(error) = backend.run(&steps) {
            goals.push(Goal { line: format!("size {n}: {error:#}"), reached: false });
            continue;
        }
        let counted = backend.counts().map_or(0, |counts| counts.global_atomics);
        let mut bytes = [0; 4];
        backend.read(total, &mut bytes)?;
        let (found, wanted) = (f32::from_le_bytes(bytes), exact(n, SEED).sum::<i64>() as f32);
        goals.push(Goal {
            line: format!("size {n}: the total is {found}, the reference {wanted}"),
            reached: found.to_bits() == wanted.to_bits(),
        });
        goals.push(Goal {
            line: format!("size {n}: {counted} global adds, at most {blocks} wanted, one a block"),
            reached: counted <= u64::from(blocks),
        });
    }
    Ok(goals)
}

impl Sum {
    fn batched(
        &self,
        bench: &mut Bench<'_>,
        case: &Case,
        sum: &Sums,
        input: Buffer,
        reference: f32,
    ) -> Result<()> {
        let launches = u64::from(bench.batch("time", case)).min(MOST_LAUNCHES);
        let check = |backend: &mut dyn Backend| sum.check(backend, reference, launches);
        let timed = (0..launches).flat_map(|place| sum.steps(input, place)).collect();
        let work = Work { reset: sum.reset(launches), timed, check: &check };
        let at = [("cache", Cache::Hot.place()), ("launches", Coordinate::from("batched"))];
        bench.durations("time", case, &at, Cache::Hot, &work, launches as u32)
    }
}

/// The peer's rule: whatever it takes to have a fresh total is inside.
fn with_reset(bench: &mut Bench<'_>, case: &Case, sum: &Sums, work: &Work<'_>) -> Result<()> {
    // A single block stores its sum and needs no zero.
    let mut timed = if sum.grid() == 1 { Vec::new() } else { work.reset.clone() };
    timed.extend(work.timed.iter().cloned());
    let work = Work { reset: work.reset.clone(), timed, check: work.check };
    for cache in [Cache::Cold, Cache::Hot] {
        bench.duration("time_with_reset", case, &[("cache", cache.place())], cache, &work)?;
    }
    Ok(())
}

fn error_on_uniform(bench: &mut Bench<'_>, case: &Case, sum: &Sums) -> Result<()> {
    let n = bench.largest_size;
    let input = bench.input("uniform", n * 4, |bench| bytes_of(n, uniform(n, bench.seed)))?;
    let n = sum.n;
    let reference = bench.reference("uniform", n, |seed| kahan(uniform(n, seed).map(f64::from)));
    let mut errors = Vec::new();
    for _ in 0..ERROR_RUNS {
        bench.backend.run(&sum.reset(1))?;
        bench.backend.run(&sum.steps(input, 0))?;
        let total = f64::from(sum.total(bench.backend, 0)?);
        errors.push(if reference == 0.0 { total.abs() } else { (total - reference).abs() / reference });
    }
    let like = Like::Within(sum.rounding());
    bench.result("total_uniform", case, like, |backend| Ok(Values::F32(vec![sum.total(backend, 0)?])))?;
    bench.spread("error_uniform", case, &[], Unit::One, errors);
    Ok(())
}

/// One variant at one size: its memory and its launches.
struct Sums {
    variant: &'static str,
    n: u64,
    sms: u64,
    totals: Buffer,
    partials: Buffer,
}

impl Sums {
    fn new(bench: &mut Bench<'_>, variant: &Variant, n: u64) -> Result<Sums> {
        Ok(Sums {
            variant: variant.name,
            n,
            sms: u64::from(bench.backend.device().gpu.sms),
            totals: bench.scratch("totals", MOST_LAUNCHES * APART)?,
            partials: bench.scratch("partials", TWO_PASS_BLOCKS * 4)?,
        })
    }

    /// Blocks of the launch that reads the input.
    fn grid(&self) -> u32 {
        let one_each = self.n.div_ceil(u64::from(BLOCK));
        let four_each = self.n.div_ceil(u64::from(BLOCK) * 4);
        let resident = self.sms * BLOCKS_PER_SM;
        let blocks = match self.variant {
            "grid_stride" => one_each.min(resident),
            "vectorised" if self.n <= ONE_BLOCK => 1,
            "vectorised" => four_each.min(resident),
            "two_pass" => four_each.clamp(1, TWO_PASS_BLOCKS),
            _ => one_each,
        };
        u32::try_from(blocks).unwrap_or(u32::MAX)
    }

    /// One sum into the accumulator `place`.
    fn steps(&self, input: Buffer, place: u64) -> Vec<Step> {
        let total = Argument::Buffer(self.totals.at(place * APART));
        let launch =
            |kernel: &str, grid, arguments| Step::Launch(Launch::new(kernel, grid, BLOCK, arguments));
        let input = Argument::Buffer(input);
        if self.variant == "two_pass" {
            let partials = Argument::Buffer(self.partials);
            return vec![
                launch("two_pass_partials", self.grid(), vec![input, partials, Argument::U64(self.n)]),
                launch("two_pass_total", 1, vec![partials, total, Argument::U32(self.grid())]),
            ];
        }
        vec![launch(self.variant, self.grid(), vec![input, total, Argument::U64(self.n)])]
    }

    fn reset(&self, launches: u64) -> Vec<Step> {
        vec![Step::Zero(Buffer { bytes: (launches - 1) * APART + 4, ..self.totals })]
    }

    /// Threads that add to global memory.
    fn global_atomics(&self) -> u64 {
        match self.variant {
            "global_atomic" => self.n,
            "two_pass" => 0,
            "vectorised" if self.grid() == 1 => 0,
            _ => u64::from(self.grid()),
        }
    }

    /// How far two totals of the same positive floats may be apart, as a part of the larger: each is off by at most
    /// 2^-24 for each addition on an element's way (N. J. Higham, "Accuracy and Stability of Numerical Algorithms",
    /// 2nd edition, section 4.2): those of its thread, fewer than a block's in the block, and one for each block.
    fn rounding(&self) -> f64 {
        let grid = u64::from(self.grid().max(1));
        let way = match self.variant {
            "global_atomic" => self.n,
            _ => self.n.div_ceil(grid * u64::from(BLOCK)) + u64::from(BLOCK) + grid,
        };
        2.0 * way as f64 * f64::from(2.0_f32.powi(-24))
    }

    fn total(&self, backend: &mut dyn Backend, place: u64) -> Result<f32> {
        let mut bytes = [0; 4];
        backend.read(self.totals.at(place * APART), &mut bytes)?;
        Ok(f32::from_le_bytes(bytes))
    }

    /// Every accumulator holds the reference, bit for bit.
    fn check(&self, backend: &mut dyn Backend, reference: f32, launches: u64) -> Result<Result<(), String>> {
        for place in 0..launches {
            let total = self.total(backend, place)?;
            if total.to_bits() != reference.to_bits() {
                let n = self.n;
                return Ok(Err(format!("at size {n} the total is {total}, the reference {reference}")));
            }
        }
        Ok(Ok(()))
    }
}

fn exact_input(bench: &mut Bench<'_>) -> Result<Buffer> {
    let n = bench.largest_size;
    bench.input("exact", n * 4, |bench| bytes_of(n, exact(n, bench.seed).map(|value| value as f32)))
}

/// Integers whose sums are exact in f32 in any order: those above zero add up to at most 2^24, and so do those
/// below. Larger first, since few large or many small ones fit.
pub(super) fn exact(n: u64, seed: u64) -> impl Iterator<Item = i64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut above, mut below) = (EXACT, EXACT);
    (0..n).map(move |i| {
        let most = match i {
            0..0x4_0000 => 15,
            0x4_0000..0x40_0000 => 3,
            // One in four: 2^26 elements use half of what is left.
            _ if random.u8(..4) == 0 => 1,
            _ => return 0,
        };
        let value = random.i64(-most..=most);
        let room = if value > 0 { &mut above } else { &mut below };
        if value.abs() > *room {
            return 0;
        }
        *room -= value.abs();
        value
    })
}

fn uniform(n: u64, seed: u64) -> impl Iterator<Item = f32> {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
    (0..n).map(move |_| random.f32())
}

pub(super) fn bytes_of(n: u64, values: impl Iterator<Item = f32>) -> Result<Vec<u8>> {
    let mut bytes = host_bytes(n.saturating_mul(4))?;
    for (place, value) in bytes.chunks_exact_mut(4).zip(values) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    Ok(bytes)
}

/// Kahan's compensated sum (W. Kahan, "Further remarks on reducing truncation errors", CACM 8(1), 1965).
fn kahan(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    for value in values {
        let next = value - lost;
        let larger = sum + next;
        lost = (larger - sum) - next;
        sum = larger;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_inputs_stay_exact_in_any_order() {
        let n = 1 << 23;
        let (mut above, mut below) = (0_i64, 0_i64);
        for value in exact(n, 7) {
            if value > 0 { above += value } else { below -= value }
        }
        assert!(above <= EXACT && below <= EXACT, "{above} {below}");
        assert!(above > EXACT / 4, "most of the input is not zero: {above}");
        assert_ne!(above, below);
    }

    #[test]
    fn kahan_keeps_what_a_plain_sum_loses() {
        let values = || std::iter::once(1e16).chain(std::iter::repeat_n(1.0, 1000));
        assert_eq!(kahan(values()), 1e16 + 1000.0);
        assert_ne!(values().sum::<f64>(), 1e16 + 1000.0);
    }
}
