//! Does the same sum give the same bits twice, and what does it cost to see to it?

use std::collections::BTreeSet;

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{Coordinate, Unit};
use labs_record::manifest::FigureEntry;

use super::day26_sum::{bytes_of, exact};
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::exercise::Exercise;
use crate::failure::usage;
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, Variant};
use crate::measure::{Bench, Cache, Work};
use crate::results::{Like, Values};

mod exercise;
mod host;

/// Blocks of the last four at most: a number of its own, so that every GPU adds in the same order.
const BLOCKS: u64 = 1024;
/// Units of `fixed_point` in one, as a power of two.
const FIXED_BITS: i32 = 32;
/// The size at which one total has stopped growing: past 2^26, and odd.
const STALLED: u64 = 67_108_879;
/// More sizes for the error alone, measured together with [`STALLED`]. None is a power of two.
const CURVE: [u64; 6] = [2_097_143, 4_194_301, 8_388_593, 16_777_217, 33_554_467, 50_331_653];
/// Sizes up to this one are cheap to repeat, and to add again on the host.
const SMALL: u64 = 1 << 20;
/// Elements that one case's runs add at most, all together; more runs than that are not made.
const MOST_ADDS: u64 = 1 << 31;
/// Runs up to which the record keeps each total, not only how many there are.
const KEPT_RUNS: u64 = 20;
/// Runs for the error ..
const ERROR_RUNS: u64 = 20;
/// .. fewer in `global_atomic` where they would add more elements than this, all together; one in any case.
const MOST_ERROR_ADDS: u64 = 3 << 24;

const VARIANTS: [Variant; 7] = [
    Variant::new("global_atomic", "every thread adds to the one total, in any order", &["global_atomic"]),
    Variant::new(
        "shared_privatised",
        "the block adds in any order, then sends one add",
        &["shared_privatised"],
    ),
    Variant::new("block_tree", "the block folds in a fixed order, then sends one add", &["block_tree"]),
    Variant::new("grid_stride", "at most 1,024 blocks, each of which sends one add", &["grid_stride"]),
    Variant::new(
        "two_pass",
        "the blocks' sums are added by a second launch, in a fixed order",
        &["two_pass_partials", "two_pass_total"],
    ),
    Variant::new("fixed_point", "the blocks' sums are 64-bit integers, in units of 2^-32", &["fixed_point"]),
    Variant::new(
        "compensated",
        "pairs keep what adds round away, until the block sends its sum",
        &["compensated"],
    ),
];

/// The lab.
pub struct Determinism;

impl Lab for Determinism {
    fn stem(&self) -> &'static str {
        "day30_determinism"
    }

    fn part(&self) -> u32 {
        1
    }

    fn question(&self) -> &'static str {
        "Does the same sum give the same bits twice, and what does it cost to see to it?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day30_determinism.cu"),
            ptx: &[(75, include_str!("../../../kernels/ptx/day30_determinism.sm75.ptx"))],
            claims: include_str!("../../../verification/claims/day30_determinism.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let places = |numbers: &[u64]| numbers.iter().map(|number| Coordinate::Number(*number)).collect();
        vec![
            Axis {
                name: "size",
                help: "Elements to add; again for several sizes",
                // 2^31 elements below one are what `fixed_point` has room for.
                places: Places::UpTo(1 << 30),
                defaults: places(&[4_099, 65_537, 1_000_003, STALLED]),
                simulator_defaults: places(&[1_003, 20_011]),
            },
            Axis {
                name: "runs",
                help: "Runs whose totals are compared; again for several numbers",
                places: Places::UpTo(100_000),
                defaults: places(&[20, 200]),
                simulator_defaults: places(&[20]),
            },
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            FigureEntry::spread("distinct_totals", Unit::Count, "different totals of the same sum"),
            FigureEntry::spread(
                "ulp_distance",
                Unit::Count,
                "floats from the reference to each total; negative below it",
            ),
            FigureEntry::spread(
                "ulp_spread",
                Unit::Count,
                "floats from the lowest to the highest total of a session",
            ),
            FigureEntry::spread(
                "reference_bits",
                Unit::Count,
                "the reference's bit pattern, read as an integer",
            ),
            FigureEntry::spread("error", Unit::One, "largest relative error of a session's runs"),
            FigureEntry::duration("time", "time of a sum, the total zeroed beforehand"),
            FigureEntry::exact("global_atomics", "global atomic operations a sum issues"),
        ]
    }

    fn simulated_figures(&self) -> &'static [&'static str] {
        &["distinct_totals", "ulp_spread"]
    }

    fn headline(&self) -> FigureRef {
        let at = [("cache".to_owned(), Coordinate::from("hot"))];
        FigureRef { figure: "time".to_owned(), variant: None, at: at.into() }
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; one element a thread in the first three; the others 4 elements a thread at least, at most {BLOCKS} \
             blocks; time on inputs whose partial sums are exact, result bit for bit, single launches, {0} not above {SMALL}; \
             totals on uniform [0, 1), each within (adds on an element's way) * 2^-24 of the sum in double, up to {SMALL} \
             two_pass and fixed_point bit for bit as on the host; runs * size at most {MOST_ADDS}; error over {ERROR_RUNS} \
             runs, {0} over {MOST_ERROR_ADDS} / size if those are fewer, also at {CURVE:?}; ones: 1 run",
            VARIANTS[0].name
        )
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(Exercise {
            starter: include_str!("../../../kernels/exercises/day30_determinism.cu"),
            solution: include_str!("../../../kernels/exercises/solutions/day30_determinism.cu"),
            hints: &[
                "The tree gives each block's sum the same bits. What is left open is the order in which the blocks add.",
                "Let no block add to the total: store each sum in a slot that depends on blockIdx.x alone.",
                "Count the blocks that have stored theirs; the one that counts last adds all slots, in order.",
                "A sum must be seen before its count is: __threadfence() between the two, and once more between the \
                 last count and the first slot read.",
            ],
            attempt: exercise::attempt,
        })
    }

    /// A case's axes say what it is: `size` alone a timed sum, with `runs` totals to compare, with `input` an error.
    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let (sizes, runs) = (selection.numbers("size"), selection.numbers("runs"));
        let case = |variant: Option<&Variant>, at: &[(&str, Coordinate)]| Case {
            variant: variant.copied(),
            at: at.iter().map(|(axis, place)| ((*axis).to_owned(), place.clone())).collect(),
        };
        let curve: &[u64] = if sizes.contains(&STALLED) { &CURVE } else { &[] };
        let mut cases = Vec::new();
        for variant in &selection.variants {
            let variant = Some(variant);
            cases.extend(sizes.iter().map(|n| case(variant, &[("size", (*n).into())])));
            for n in &sizes {
                let few = runs.iter().filter(|runs| n.saturating_mul(**runs) <= MOST_ADDS);
                cases.extend(few.map(|r| case(variant, &[("size", (*n).into()), ("runs", (*r).into())])));
            }
            for n in sizes.iter().chain(curve) {
                let inputs = ["uniform", "ones"];
                cases.extend(
                    inputs.map(|input| case(variant, &[("size", (*n).into()), ("input", input.into())])),
                );
            }
        }
        cases.extend(sizes.iter().map(|n| case(None, &[("size", (*n).into())])));
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let n = case.number("size");
        let Some(variant) = case.variant else {
            let bits = (uniform_sum(bench, n) as f32).to_bits();
            bench.spread("reference_bits", case, &[], Unit::Count, vec![f64::from(bits)]);
            return Ok(());
        };
        let sums = Sums::new(bench, &variant, n)?;
        if case.at.contains_key("runs") {
            return totals(bench, case, &sums);
        }
        if let Some(input) = case.at.get("input") {
            return error(bench, case, &sums, *input == Coordinate::from("ones"));
        }
        timed(bench, case, &sums)
    }
}

/// Times a sum whose result is known to the bit.
fn timed(bench: &mut Bench<'_>, case: &Case, sums: &Sums) -> Result<()> {
    let n = sums.n;
    let input = bench.input("exact", bench.largest_size * 4, |bench| {
        let n = bench.largest_size;
        bytes_of(n, exact(n, bench.seed).map(|value| value as f32))
    })?;
    let reference = bench.reference("exact", n, |seed| exact(n, seed).sum::<i64>() as f64) as f32;
    let check = |backend: &mut dyn Backend| {
        let total = sums.total(backend)?.value;
        // Zero has two patterns; every other value of a float has one.
        let right = total == reference;
        Ok(right.then_some(()).ok_or(format!("at size {n} the total is {total}, the reference {reference}")))
    };
    let work = Work { reset: sums.reset(), timed: sums.steps(input), check: &check };
    if !bench.passes(&sums.variant, &case.at, &work)? {
        return Ok(());
    }
    bench.result("total", case, Like::Bits, |backend| Ok(Values::U64(vec![sums.total(backend)?.bits])))?;
    bench.exact("global_atomics", case, &[], sums.global_atomics());
    if sums.variant.name == "global_atomic" && n > SMALL {
        return Ok(());
    }
    for cache in [Cache::Cold, Cache::Hot] {
        bench.duration("time", case, &[("cache", cache.place())], cache, &work)?;
    }
    Ok(())
}

/// The same sum again and again: how many totals, and how far from the reference.
fn totals(bench: &mut Bench<'_>, case: &Case, sums: &Sums) -> Result<()> {
    let runs = case.number("runs");
    if runs == 0 || bench.only_checks() {
        return Ok(());
    }
    let reference = uniform_sum(bench, sums.n);
    let (mut patterns, mut distances) = (BTreeSet::new(), Vec::new());
    for run in 0..runs {
        bench.backend.schedule(Some(run));
        let total = uniform_total(bench, sums)?;
        patterns.insert(total.bits);
        distances.push(ulps(total.value, reference as f32) as f64);
    }
    bench.backend.schedule(None);
    bench.spread("distinct_totals", case, &[], Unit::Count, vec![patterns.len() as f64]);
    let extremes =
        distances.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), d| (l.min(*d), h.max(*d)));
    bench.spread("ulp_spread", case, &[], Unit::Count, vec![extremes.1 - extremes.0]);
    if runs <= KEPT_RUNS {
        bench.spread("ulp_distance", case, &[], Unit::Count, distances);
    }
    Ok(())
}

/// The largest relative error of some runs.
fn error(bench: &mut Bench<'_>, case: &Case, sums: &Sums, ones: bool) -> Result<()> {
    let n = sums.n;
    let reference = if ones { n as f64 } else { uniform_sum(bench, n) };
    let affordable =
        if sums.variant.name == "global_atomic" { MOST_ERROR_ADDS / n.max(1) } else { ERROR_RUNS };
    // Ones are counted, and one run tells where the count stops. Where there is no time there is no need for more either.
    let once = ones || bench.only_checks() || !bench.backend.keeps_time();
    let runs = if once { 1 } else { affordable.clamp(1, ERROR_RUNS) };
    let mut largest = 0.0_f64;
    for _ in 0..runs {
        let total = if ones { ones_total(bench, sums)? } else { uniform_total(bench, sums)? };
        let off = (f64::from(total.value) - reference).abs();
        largest = largest.max(if reference == 0.0 { off } else { off / reference });
    }
    bench.result(if ones { "total_ones" } else { "total_uniform" }, case, sums.like(), |backend| {
        Ok(Values::F32(vec![sums.total(backend)?.value]))
    })?;
    bench.spread("error", case, &[], Unit::One, vec![largest]);
    Ok(())
}

/// The total of the random floats, checked.
fn uniform_total(bench: &mut Bench<'_>, sums: &Sums) -> Result<Total> {
    let input = bench.input("uniform", bench.largest_size * 4, |bench| {
        let n = bench.largest_size;
        bytes_of(n, host::uniform(n, bench.seed))
    })?;
    let n = sums.n;
    let reference = uniform_sum(bench, n);
    let expected = match sums.variant.name {
        _ if n > SMALL => None,
        "two_pass" => Some(bench.reference("two_pass", n, |seed| {
            let values: Vec<f32> = host::uniform(n, seed).collect();
            f64::from(host::two_pass(&values, sums.grid()).to_bits())
        })),
        // Below 2^20 elements of less than 2^32 units: a double holds it.
        "fixed_point" => Some(bench.reference("fixed_point", n, |seed| {
            host::uniform(n, seed).map(|value| host::units(value, FIXED_BITS)).sum::<i64>() as f64
        })),
        _ => None,
    };
    run(bench, sums, input, reference, expected)
}

/// The total of as many ones, checked.
fn ones_total(bench: &mut Bench<'_>, sums: &Sums) -> Result<Total> {
    let input = bench.input("ones", bench.largest_size * 4, |bench| {
        let n = bench.largest_size;
        bytes_of(n, (0..n).map(|_| 1.0))
    })?;
    run(bench, sums, input, sums.n as f64, None)
}

/// One sum of positive numbers. Refused where rounding can't explain it, or where it is not the `expected` bits.
fn run(bench: &mut Bench<'_>, sums: &Sums, input: Buffer, sum: f64, expected: Option<f64>) -> Result<Total> {
    (bench.alive)();
    if sums.variant.name == "fixed_point" && !host::fits(sum, FIXED_BITS) {
        return Err(usage(format!(
            "fixed_point has 64 bits in units of 2^-{FIXED_BITS}: no room for a sum of {sum}; choose a smaller --size"
        )));
    }
    bench.backend.run(&sums.reset())?;
    bench.backend.run(&sums.steps(input))?;
    let total = sums.total(bench.backend)?;
    bench.enter_check(&sums.variant, sums.verdict(&total, sum, expected));
    Ok(total)
}

/// The sum of the random floats in double.
fn uniform_sum(bench: &mut Bench<'_>, n: u64) -> f64 {
    bench.reference("uniform", n, |seed| host::sum(host::uniform(n, seed)))
}

/// How many floats apart `a` and `b` are; negative if `a` is the smaller.
fn ulps(a: f32, b: f32) -> i64 {
    let place = |x: f32| {
        let magnitude = i64::from(x.to_bits() & 0x7fff_ffff);
        if x.is_sign_negative() { -magnitude } else { magnitude }
    };
    place(a) - place(b)
}

/// What a sum has left in its accumulator.
struct Total {
    /// As it stands there.
    bits: u64,
    /// As a float.
    value: f32,
}

/// One variant at one size: its memory and its launches.
struct Sums {
    variant: Variant,
    n: u64,
    total: Buffer,
    partials: Buffer,
}

impl Sums {
    fn new(bench: &mut Bench<'_>, variant: &Variant, n: u64) -> Result<Sums> {
        let total = bench.scratch("total", 8)?;
        Ok(Sums { variant: *variant, n, total, partials: bench.scratch("partials", BLOCKS * 4)? })
    }

    /// Blocks of the launch that reads the input.
    fn grid(&self) -> u64 {
        match self.variant.name {
            "global_atomic" | "shared_privatised" | "block_tree" => self.n.div_ceil(u64::from(BLOCK)),
            _ => self.n.div_ceil(u64::from(BLOCK) * 4).clamp(1, BLOCKS),
        }
    }

    fn steps(&self, input: Buffer) -> Vec<Step> {
        let launch =
            |kernel: &str, grid, arguments| Step::Launch(Launch::new(kernel, grid, BLOCK, arguments));
        let (input, total) = (Argument::Buffer(input), Argument::Buffer(self.total));
        let (grid, n) = (u32::try_from(self.grid()).unwrap_or(u32::MAX), Argument::U64(self.n));
        if self.variant.name == "two_pass" {
            let partials = Argument::Buffer(self.partials);
            return vec![
                launch("two_pass_partials", grid, vec![input, partials, n]),
                launch("two_pass_total", 1, vec![partials, total, Argument::U32(grid)]),
            ];
        }
        vec![launch(self.variant.name, grid, vec![input, total, n])]
    }

    fn reset(&self) -> Vec<Step> {
        vec![Step::Zero(self.total)]
    }

    /// Threads that add to global memory.
    fn global_atomics(&self) -> u64 {
        match self.variant.name {
            "global_atomic" => self.n,
            "two_pass" => 0,
            _ => self.grid(),
        }
    }

    fn total(&self, backend: &mut dyn Backend) -> Result<Total> {
        let mut bytes = [0; 8];
        backend.read(self.total, &mut bytes)?;
        let bits = u64::from_le_bytes(bytes);
        let value = match self.variant.name {
            "fixed_point" => (bits as i64) as f32 / 2_f32.powi(FIXED_BITS),
            _ => f32::from_bits(bits as u32),
        };
        Ok(Total { bits, value })
    }

    /// Most adds, each of which rounds, between an element and the total.
    fn depth(&self) -> u64 {
        let share = self.n.div_ceil(self.grid().max(1) * u64::from(BLOCK));
        match self.variant.name {
            "global_atomic" => self.n,
            "shared_privatised" => u64::from(BLOCK) + self.grid(),
            "block_tree" => 8 + self.grid(),
            // The integers round nothing; their total is made a float.
            "fixed_point" => 1,
            // Two roundings are left of the block's, and a second-order rest.
            "compensated" => 3 + self.grid(),
            // A quad more than the others at most, and one of the last elements.
            _ => share + 5 + 8 + self.grid(),
        }
    }

    /// How alike two runs must be: each is within `depth` times 2^-24 of the sum, where the order is left open.
    fn like(&self) -> Like {
        match self.variant.name {
            "two_pass" | "fixed_point" => Like::Bits,
            _ => Like::Within(2.0 * self.depth() as f64 * 2_f64.powi(-24)),
        }
    }

    /// Positive numbers, each of which went through `depth` roundings at most, have a sum whose relative error is below
    /// `depth` times 2^-24, but for terms of second order (N. J. Higham, "The accuracy of floating point summation",
    /// SIAM J. Sci. Comput. 14(4), 1993). In `fixed_point` each is off by half a unit at first.
    fn verdict(&self, total: &Total, sum: f64, expected: Option<f64>) -> Result<(), String> {
        let n = self.n;
        let halves = if self.variant.name == "fixed_point" { n as f64 } else { 0.0 };
        let allowed =
            self.depth() as f64 * 2_f64.powi(-24) * sum * 1.001 + halves * 2_f64.powi(-FIXED_BITS - 1);
        let value = f64::from(total.value);
        if (value - sum).abs() > allowed {
            return Err(format!(
                "at size {n} the total is {value}, the sum {sum}; rounding explains {allowed:.3e} at most"
            ));
        }
        let bits = total.bits as f64;
        match expected {
            Some(expected) if bits != expected => {
                Err(format!("at size {n} the total's bits are {bits:.0}; the host has {expected:.0}"))
            }
            _ => Ok(()),
        }
    }
}
