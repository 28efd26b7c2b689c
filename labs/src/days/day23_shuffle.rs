//! How do the 32 values of a warp become one without a round trip through memory?

use anyhow::Result;
use labs_record::figure::{Coordinate, Unit};
use labs_record::manifest::FigureEntry;
use labs_record::record::Outcome;

use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::baseline;
use crate::exercise::{Exercise, Goal};
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, Simulated, Variant};
use crate::measure::{Bench, Cache, Work, read_words, word_bytes};
use crate::results::{Like, Values};

/// Lanes a warp.
const WARP: u64 = 32;
/// Reductions a thread takes part in, where time is kept: long against the launch.
const ROUNDS: u32 = 4_096;
/// And where it is not.
const SIMULATED_ROUNDS: u32 = 4;
/// Runs whose results are looked at, for the variant that may give any.
const UNDEFINED_RUNS: u64 = 20;

const VARIANTS: [Variant; 7] = [
    Variant::new("shared_tree", "fold through shared memory", &["shared_tree"]),
    Variant::new("shuffle_down", "read the lane above", &["shuffle_down"]),
    Variant::new("shuffle_xor", "read the partner; all lanes get the sum", &["shuffle_xor"]),
    Variant::new("reduce_add", "one instruction for all five steps", &["reduce_add"]).needs(80),
    Variant::new("tile_reduce", "cooperative groups' reduce", &["tile_reduce"]).needs(80),
    Variant::new("partial_mask", "a mask of the lanes that are there", &["partial_mask"]),
    Variant::new("absent_lanes", "wrong: a mask that names lanes that have left", &["absent_lanes"])
        .undefined(),
];

/// The lab.
pub struct Shuffle;

impl Lab for Shuffle {
    fn stem(&self) -> &'static str {
        "day23_shuffle"
    }

    fn part(&self) -> u32 {
        3
    }

    fn question(&self) -> &'static str {
        "How do the 32 values of a warp become one without a round trip through memory?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day23_shuffle.cu"),
            ptx: &[
                (75, include_str!("../../../kernels/ptx/day23_shuffle.sm75.ptx")),
                (80, include_str!("../../../kernels/ptx/day23_shuffle.sm80.ptx")),
            ],
            claims: include_str!("../../../verification/claims/day23_shuffle.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let sizes = |sizes: &[u64]| sizes.iter().map(|size| Coordinate::Number(*size)).collect();
        vec![Axis {
            name: "size",
            help: "Threads with a value; one warp, some, a full GPU of 132 SMs",
            places: Places::UpTo(1 << 28),
            defaults: sizes(&[32, 1_000, 33_792, 270_336]),
            simulator_defaults: sizes(&[1_000, 4_096]),
        }]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            FigureEntry::duration("time", "time of 4,096 folds by every warp"),
            // A warp is 32 threads: size / 32 × 4,096 folds.
            FigureEntry::rate(
                "folds",
                Unit::PerSecond,
                "time",
                u64::from(ROUNDS) / WARP,
                "folds of a warp a second, all warps together",
            ),
            FigureEntry::observation("wrong_totals", "runs in which the last warp's total was wrong"),
            baseline::launch_floor(),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; one value a thread, {ROUNDS} folds in registers, value = value * 1664525 + 1013904223 after \
             each; random 32-bit inputs; each warp's total compared with the host's; wrong totals of absent_lanes in \
             {UNDEFINED_RUNS} runs at sizes that leave a warp partly empty"
        )
    }

    fn simulated(&self) -> Simulated {
        Simulated::Results
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(Exercise {
            starter: include_str!("../../../kernels/exercises/day23_shuffle.cu"),
            solution: include_str!("../../../kernels/exercises/solutions/day23_shuffle.cu"),
            hints: &[
                "A thread that returns early can't be named in a mask: take the ballot before anyone leaves.",
                "Or let every thread stay, and give those without a value one that can't win.",
                "The largest of two: max(value, __shfl_xor_sync(mask, value, width)).",
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
        let largest = bench.largest_size;
        let seed = bench.seed;
        let input = bench.input("values", largest * 4, |_| word_bytes(largest, values(largest, seed)))?;
        let rounds = if bench.takes_time() { ROUNDS } else { SIMULATED_ROUNDS };
        let folds = Folds { n, rounds, seed, total: bench.scratch("totals", threads(largest) / WARP * 4)? };
        let check = |backend: &mut dyn Backend| folds.check(backend);
        let launch = folds.launch(variant.kernels[0], input);
        let work =
            Work { reset: vec![Step::Zero(folds.total)], timed: vec![Step::Launch(launch)], check: &check };
        if variant.declared == Outcome::Undefined {
            return undefined(bench, case, &variant, &work, n);
        }
        if !bench.passes(&variant, &case.at, &work)? {
            return Ok(());
        }
        bench.result("totals", case, Like::Bits, |backend| Ok(Values::U32(folds.totals(backend)?)))?;
        let at = [("cache", Cache::Hot.place()), ("launches", Coordinate::from("single"))];
        bench.duration("time", case, &at, Cache::Hot, &work)
    }
}

/// The variant whose result nobody promises: how often it was wrong.
fn undefined(bench: &mut Bench<'_>, case: &Case, variant: &Variant, work: &Work<'_>, n: u64) -> Result<()> {
    if !bench.passes(variant, &case.at, work)? && !bench.backend.keeps_time() {
        return Ok(());
    }
    if n.is_multiple_of(WARP) || !bench.backend.keeps_time() {
        return Ok(());
    }
    let mut wrong = 0;
    for _ in 0..UNDEFINED_RUNS {
        bench.backend.run(&work.reset)?;
        bench.backend.run(&work.timed)?;
        wrong += u64::from((work.check)(bench.backend)?.is_err());
    }
    bench.observation("wrong_totals", case, &[], wrong, UNDEFINED_RUNS);
    Ok(())
}

/// Threads of the grid that covers `n`.
fn threads(n: u64) -> u64 {
    n.div_ceil(u64::from(BLOCK)).max(1) * u64::from(BLOCK)
}

struct Folds {
    n: u64,
    rounds: u32,
    seed: u64,
    total: Buffer,
}

impl Folds {
    fn launch(&self, kernel: &str, input: Buffer) -> Launch {
        let grid = u32::try_from(self.n.div_ceil(u64::from(BLOCK))).unwrap_or(u32::MAX);
        let n = u32::try_from(self.n).unwrap_or(u32::MAX);
        let arguments = vec![
            Argument::Buffer(input),
            Argument::Buffer(self.total),
            Argument::U32(n),
            Argument::U32(self.rounds),
        ];
        Launch::new(kernel, grid, BLOCK, arguments)
    }

    /// The total of every warp that has a value.
    fn totals(&self, backend: &mut dyn Backend) -> Result<Vec<u32>> {
        read_words(backend, self.total, self.n.div_ceil(WARP))
    }

    /// Every warp that has a value holds the host's total.
    fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        let found = self.totals(backend)?;
        for (warp, (found, wanted)) in
            found.into_iter().zip(reference(self.n, self.rounds, self.seed)).enumerate()
        {
            if found != wanted {
                let n = self.n;
                return Ok(Err(format!(
                    "at size {n} warp {warp}'s total is {found}, the reference {wanted}"
                )));
            }
        }
        Ok(Ok(()))
    }
}

fn values(n: u64, seed: u64) -> impl Iterator<Item = u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(move |_| random.u32(..))
}

/// The total of each warp. After `r` rounds a value is a^r x + c_r, so a lane's share is x Σ a^r + Σ c_r.
fn reference(n: u64, rounds: u32, seed: u64) -> impl Iterator<Item = u32> {
    let (mut power, mut constant) = (1_u32, 0_u32);
    let (mut powers, mut constants) = (0_u32, 0_u32);
    for _ in 0..rounds {
        powers = powers.wrapping_add(power);
        constants = constants.wrapping_add(constant);
        constant = constant.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        power = power.wrapping_mul(1_664_525);
    }
    let mut shares = values(n, seed).map(move |x| x.wrapping_mul(powers).wrapping_add(constants));
    (0..n.div_ceil(WARP)).map(move |_| shares.by_ref().take(WARP as usize).fold(0, u32::wrapping_add))
}

/// The exercise: the largest value of each warp, right where the last warp is not full, without shared memory.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    const SEED: u64 = 23;
    let mut goals = Vec::new();
    for n in [1_u64, 31, 32, 33, 1_000] {
        // All below 2^31 and most far below: a zero from an absent lane would win over none of them.
        let data: Vec<i32> = values(n, SEED).map(|x| -((x >> 8) as i32) - 1).collect();
        let input = backend.allocate(n * 4)?;
        backend.write(input, &data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
        let largest = backend.allocate(threads(n) / WARP * 4)?;
        let arguments =
            vec![Argument::Buffer(input), Argument::Buffer(largest), Argument::U32(u32::try_from(n)?)];
        let grid = u32::try_from(threads(n) / u64::from(BLOCK))?;
        backend.counts();
        if let Err(error) = backend.run(&[Step::Launch(Launch::new("exercise", grid, BLOCK, arguments))]) {
            goals.push(Goal { line: format!("size {n}: {error:#}"), reached: false });
            continue;
        }
        let instructions = backend.counts().map_or(0, |counts| counts.lane_instructions) / threads(n);
        let mut bytes = vec![0; data.len().div_ceil(32) * 4];
        backend.read(largest, &mut bytes)?;
        let found =
            bytes.chunks_exact(4).map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let wanted = data.chunks(32).map(|warp| warp.iter().copied().max().unwrap_or(i32::MIN));
        let wrong = found.zip(wanted).enumerate().find(|(_, (found, wanted))| found != wanted);
        goals.push(match wrong {
            None => Goal { line: format!("size {n}: every warp's largest value"), reached: true },
            Some((warp, (found, wanted))) => Goal {
                line: format!(
                    "size {n}: the largest value of warp {warp} is {found}, the reference {wanted}"
                ),
                reached: false,
            },
        });
        goals.push(Goal {
            line: format!(
                "size {n}: {instructions} instructions a thread, at most {MOST_INSTRUCTIONS} wanted"
            ),
            reached: instructions <= MOST_INSTRUCTIONS,
        });
    }
    Ok(goals)
}

/// What five steps of shuffle and maximum take, with room for the mask; a loop over 32 lanes takes more.
const MOST_INSTRUCTIONS: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_form_is_what_the_rounds_add_up_to() {
        let (n, rounds, seed) = (70, 5, 9);
        let mut lanes: Vec<u32> = values(n, seed).collect();
        let mut totals = vec![0_u32; 3];
        for _ in 0..rounds {
            for (lane, value) in lanes.iter_mut().enumerate() {
                totals[lane / 32] = totals[lane / 32].wrapping_add(*value);
                *value = value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            }
        }
        assert_eq!(reference(n, rounds, seed).collect::<Vec<_>>(), totals);
    }
}
