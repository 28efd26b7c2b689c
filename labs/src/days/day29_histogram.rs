//! How long does it take to count bytes into 256 bins, and do the bytes decide it?

use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{Coordinate, Unit};
use labs_record::manifest::FigureEntry;

use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::baseline;
use crate::exercise::{Exercise, Goal};
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, Variant};
use crate::measure::{Bench, Cache, Work, host_bytes};
use crate::results::{Like, Values};

/// Bins of a histogram of bytes.
const BINS: usize = 256;
/// Resident blocks an SM that these grids are made for: 8 × 256 threads fill an SM.
const BLOCKS_PER_SM: u64 = 8;
/// Threads a block of `lane_columns`, and its blocks an SM.
const COLUMNS_BLOCK: u32 = 1_024;
const COLUMNS_BLOCKS_PER_SM: u64 = 2;
/// Bytes of a line of the L2: how far apart `padded_bins` has its bins.
const LINE: u64 = 128;
/// Bytes left away at the front for one more check of each case, so that no input begins at a boundary only.
const SHIFT: u64 = 5;
/// The inputs, in order of falling contention by name: tables sort by it.
const INPUTS: [&str; 4] = ["one", "pair", "skewed", "uniform"];
/// Entries of the table from which an input's bytes are drawn.
const DRAWS: usize = 1 << 16;
/// Sizes of the exercise: less than a word, less than a block, a whole number of words, and odd ones.
const EXERCISE_SIZES: [u64; 6] = [1, 3, 255, 4_096, 4_099, 50_003];
/// Bytes a block of the exercise is given.
const EXERCISE_SHARE: u64 = 4_096;

const VARIANTS: [Variant; 8] = [
    Variant::new("global_atomic", "every byte is an add to its bin in global memory", &["global_atomic"]),
    Variant::new("padded_bins", "each bin has a 128-byte line of its own", &["padded_bins"]),
    Variant::new("block_private", "the block counts in shared memory first", &["block_private"]),
    Variant::new("warp_aggregated", "lanes with the same byte add once", &["warp_aggregated"]),
    Variant::new("wide_loads", "block_private with 16 bytes a load", &["wide_loads"]),
    Variant::new("warp_copies", "bins for each warp of the block", &["warp_copies"]),
    Variant::new("merged_runs", "a thread adds a run of equal bytes at once", &["merged_runs"]),
    Variant::new("lane_columns", "bins for each lane, all in its own bank", &["lane_columns"])
        .block(COLUMNS_BLOCK),
];

/// The lab.
pub struct Histogram;

impl Lab for Histogram {
    fn stem(&self) -> &'static str {
        "day29_histogram"
    }

    fn part(&self) -> u32 {
        1
    }

    fn question(&self) -> &'static str {
        "How long does it take to count bytes into 256 bins, and do the bytes decide it?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day29_histogram.cu"),
            ptx: &[(75, include_str!("../../../kernels/ptx/day29_histogram.sm75.ptx"))],
            claims: include_str!("../../../verification/claims/day29_histogram.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let sizes = |sizes: &[u64]| sizes.iter().map(|size| Coordinate::Number(*size)).collect();
        let inputs = || INPUTS.iter().map(|input| Coordinate::from(*input)).collect();
        vec![
            Axis {
                name: "size",
                help: "Bytes to count; again for several sizes",
                places: Places::UpTo(u64::from(u32::MAX)),
                defaults: sizes(&[65_539, 4_194_307, 67_109_475]),
                simulator_defaults: sizes(&[1_003, 65_539]),
            },
            Axis {
                name: "input",
                help: "How the bytes are distributed: all the same, two values, a few frequent ones, evenly; again for several",
                places: Places::OneOf(&INPUTS),
                defaults: inputs(),
                simulator_defaults: inputs(),
            },
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            FigureEntry::duration("time", "time of a histogram, the bins zeroed beforehand"),
            FigureEntry::rate("bandwidth", Unit::GigabytesPerSecond, "time", 1, "bytes counted over time"),
            FigureEntry::spread(
                "busiest_share",
                Unit::One,
                "share of the bytes that fall into the busiest bin",
            ),
            FigureEntry::exact("global_atomics", "global atomic operations a histogram issues"),
            FigureEntry::duration("time_with_reset", "time of a histogram, zeroing the bins included")
                .optional(),
            baseline::launch_floor(),
            FigureEntry::duration(
                "read_time",
                "time to read the bytes with 16-byte loads and do nothing else",
            ),
            FigureEntry::rate(
                "read_bandwidth",
                Unit::GigabytesPerSecond,
                "read_time",
                1,
                "bytes over read_time",
            ),
            FigureEntry::duration(
                "adds_time",
                "time of an add a byte in shared memory, no two lanes in one bank, and nothing read",
            ),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}, at most {BLOCKS_PER_SM} blocks an SM, a byte a thread up to warp_aggregated, 16 from \
             wide_loads on; lane_columns and adds_alone block {COLUMNS_BLOCK}, at most {COLUMNS_BLOCKS_PER_SM} blocks \
             an SM; bytes drawn independently from {DRAWS} entries: one value; two, equally often; the k-th most \
             frequent with (15/16)^k/16; all 256, equally often; all bins compared, and once more with the first {SHIFT} \
             bytes left away; global_atomic and padded_bins hot only; read with 8 blocks of 256 an SM, adds_alone \
             16 adds for each 16 bytes"
        )
    }

    fn headline(&self) -> FigureRef {
        FigureRef {
            figure: "time".to_owned(),
            variant: None,
            at: [("cache".to_owned(), Cache::Hot.place())].into(),
        }
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(Exercise {
            starter: include_str!("../../../kernels/exercises/day29_histogram.cu"),
            solution: include_str!("../../../kernels/exercises/solutions/day29_histogram.cu"),
            hints: &[
                "Which bytes does n / 4 leave out? Let the first n % 4 threads of the grid take one each.",
                "Give the block __shared__ u32 count[256], and let each of its 256 threads zero one.",
                "A thread may count in `count` only when all of it is zero, and add to `bins` only when all have counted.",
                "block_private in kernels/day29_histogram.cu has the frame, wide_loads the words.",
            ],
            attempt,
        })
    }

    fn sanitized(&self) -> BTreeMap<String, Vec<Coordinate>> {
        let sizes = [0, 255, 65_537].map(Coordinate::Number).to_vec();
        [("input".to_owned(), vec!["uniform".into(), "one".into()]), ("size".to_owned(), sizes)].into()
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let mut cases = selection.cases();
        let machine = |at| Case { variant: None, at };
        let first = selection.variants.first().copied();
        let points: Vec<_> =
            cases.iter().filter(|case| case.variant == first).map(|case| case.at.clone()).collect();
        cases.extend(points.into_iter().map(machine));
        let sizes = selection.numbers("size").into_iter();
        cases.extend(sizes.map(|size| machine([("size".to_owned(), size.into())].into())));
        cases.push(machine([("launches".to_owned(), "single".into())].into()));
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let Some(variant) = case.variant else { return measure_machine(bench, case) };
        let n = case.number("size");
        let name = input_of(case);
        let input = on_device(bench, name)?;
        let reference = reference(bench, name, n);
        let whole = Count::new(bench, &variant, name, input, n)?;
        let check = |backend: &mut dyn Backend| whole.check(backend, &reference);
        let work = Work { reset: whole.reset(), timed: whole.steps(), check: &check };
        if !bench.passes(&variant, &case.at, &work)? {
            return Ok(());
        }
        bench.result("bins", case, Like::Bits, |backend| whole.counts(backend))?;
        shifted(bench, &whole, &variant, &reference)?;
        bench.exact("global_atomics", case, &[], whole.global_atomics());
        if !matches!(variant.name, "global_atomic" | "padded_bins") {
            bench.duration("time", case, &[("cache", Cache::Cold.place())], Cache::Cold, &work)?;
        }
        bench.duration("time", case, &[("cache", Cache::Hot.place())], Cache::Hot, &work)?;
        if variant.name == "lane_columns" {
            with_reset(bench, case, &work)?;
        }
        Ok(())
    }
}

/// The same histogram without the first bytes: nothing in it begins at a boundary.
fn shifted(bench: &mut Bench<'_>, whole: &Count, variant: &Variant, reference: &[f64]) -> Result<()> {
    let shift = SHIFT.min(whole.n);
    let mut left_away = vec![0; shift as usize];
    bench.backend.read(whole.bytes, &mut left_away)?;
    let mut reference = reference.to_vec();
    for byte in left_away {
        reference[usize::from(byte)] -= 1.0;
    }
    let rest = Count { bytes: whole.bytes.at(shift), n: whole.n - shift, ..whole.clone() };
    bench.backend.run(&rest.reset())?;
    bench.backend.run(&rest.steps())?;
    // What it asked for belongs to no case.
    bench.backend.counts();
    let outcome = rest.check(bench.backend, &reference)?;
    bench.enter_check(variant, outcome);
    Ok(())
}

/// The peer's rule: whatever it takes to have fresh bins is inside.
fn with_reset(bench: &mut Bench<'_>, case: &Case, work: &Work<'_>) -> Result<()> {
    let timed = work.reset.iter().chain(&work.timed).cloned().collect();
    let work = Work { reset: work.reset.clone(), timed, check: work.check };
    for cache in [Cache::Cold, Cache::Hot] {
        bench.duration("time_with_reset", case, &[("cache", cache.place())], cache, &work)?;
    }
    Ok(())
}

/// What the variants are held against: the input's busiest bin, reading alone, adding alone, an empty launch.
fn measure_machine(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    let n = case.number("size");
    if case.at.contains_key("launches") {
        return baseline::measure(bench, case, None);
    }
    if case.at.contains_key("input") {
        let counts = reference(bench, input_of(case), n);
        let busiest = counts.iter().copied().fold(0.0, f64::max);
        bench.spread("busiest_share", case, &[], Unit::One, vec![busiest / (n as f64).max(1.0)]);
        return Ok(());
    }
    // Any bytes do that are finite as floats.
    let input = on_device(bench, "one")?;
    for cache in [Cache::Cold, Cache::Hot] {
        baseline::read(bench, case, &[("cache", cache.place())], input, n, cache)?;
    }
    let quads = n / 16;
    let sms = u64::from(bench.backend.device().gpu.sms);
    let blocks = quads.div_ceil(u64::from(COLUMNS_BLOCK)).min(sms * COLUMNS_BLOCKS_PER_SM) as u32;
    let bins = bench.scratch("bins", BINS as u64 * LINE)?;
    let arguments = vec![Argument::Buffer(bins), Argument::U64(quads)];
    let check = |backend: &mut dyn Backend| {
        let added: f64 = read_bins(backend, bins, 1)?.iter().sum();
        Ok(if added == (16 * quads) as f64 {
            Ok(())
        } else {
            Err(format!("{added} adds arrived of {}", 16 * quads))
        })
    };
    let reset = vec![Step::Zero(Buffer { bytes: BINS as u64 * 4, ..bins })];
    let timed = vec![Step::Launch(Launch::new("adds_alone", blocks, COLUMNS_BLOCK, arguments))];
    bench.duration("adds_time", case, &[], Cache::Hot, &Work { reset, timed, check: &check })
}

/// A variant at work on some bytes.
#[derive(Clone)]
struct Count {
    variant: &'static str,
    input: &'static str,
    bytes: Buffer,
    n: u64,
    sms: u64,
    bins: Buffer,
}

impl Count {
    fn new(
        bench: &mut Bench<'_>,
        variant: &Variant,
        input: &'static str,
        bytes: Buffer,
        n: u64,
    ) -> Result<Count> {
        Ok(Count {
            variant: variant.name,
            input,
            bytes,
            n,
            sms: u64::from(bench.backend.device().gpu.sms),
            bins: bench.scratch("bins", BINS as u64 * LINE)?,
        })
    }

    /// Words from a bin to the next.
    fn apart(&self) -> u64 {
        if self.variant == "padded_bins" { LINE / 4 } else { 1 }
    }

    /// Threads a block, the bytes that make a thread worth having, and blocks an SM at most.
    fn shape(&self) -> (u32, u64, u64) {
        match self.variant {
            "lane_columns" => (COLUMNS_BLOCK, 16, COLUMNS_BLOCKS_PER_SM),
            "wide_loads" | "warp_copies" | "merged_runs" => (BLOCK, 16, BLOCKS_PER_SM),
            _ => (BLOCK, 1, BLOCKS_PER_SM),
        }
    }

    fn grid(&self) -> u32 {
        let (block, share, per_sm) = self.shape();
        self.n.div_ceil(u64::from(block) * share).min(self.sms * per_sm) as u32
    }

    fn reset(&self) -> Vec<Step> {
        vec![Step::Zero(Buffer { bytes: BINS as u64 * self.apart() * 4, ..self.bins })]
    }

    fn steps(&self) -> Vec<Step> {
        let arguments =
            vec![Argument::Buffer(self.bytes), Argument::Buffer(self.bins), Argument::U64(self.n)];
        vec![Step::Launch(Launch::new(self.variant, self.grid(), self.shape().0, arguments))]
    }

    /// One a byte, or one a bin and block.
    fn global_atomics(&self) -> u64 {
        match self.variant {
            "global_atomic" | "padded_bins" => self.n,
            _ => u64::from(self.grid()) * BINS as u64,
        }
    }

    fn counts(&self, backend: &mut dyn Backend) -> Result<Values> {
        let bins = read_bins(backend, self.bins, self.apart())?;
        Ok(Values::U64(bins.into_iter().map(|count| count as u64).collect()))
    }

    /// Every bin holds what the reference counted.
    fn check(&self, backend: &mut dyn Backend, reference: &[f64]) -> Result<Result<(), String>> {
        let found = read_bins(backend, self.bins, self.apart())?;
        let wrong = found.iter().zip(reference).position(|(found, wanted)| found != wanted);
        Ok(wrong.map_or(Ok(()), |bin| {
            let Count { n, input, .. } = self;
            Err(format!(
                "at size {n}, input {input}, bin {bin} holds {}, the reference {}",
                found[bin], reference[bin]
            ))
        }))
    }
}

/// The bins, `apart` words from one to the next.
fn read_bins(backend: &mut dyn Backend, bins: Buffer, apart: u64) -> Result<Vec<f64>> {
    let mut bytes = vec![0; BINS * apart as usize * 4];
    backend.read(bins, &mut bytes)?;
    let words = bytes.chunks_exact(4).step_by(apart as usize);
    Ok(words.map(|word| f64::from(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))).collect())
}

fn input_of(case: &Case) -> &'static str {
    let named = |input: &&&str| case.at.get("input") == Some(&Coordinate::from(**input));
    INPUTS.iter().find(named).copied().unwrap_or(INPUTS[0])
}

fn on_device(bench: &mut Bench<'_>, input: &'static str) -> Result<Buffer> {
    let n = bench.largest_size;
    bench.input(input, n, |bench| bytes(input, n, bench.seed))
}

fn reference(bench: &mut Bench<'_>, input: &'static str, n: u64) -> Rc<[f64]> {
    bench.references(input, n, |seed| histogram(draws(input, seed).take(n as usize)))
}

/// Counts below 2^53, exact as floats.
fn histogram(bytes: impl Iterator<Item = u8>) -> Vec<f64> {
    let mut bins = [0_u64; BINS];
    for byte in bytes {
        bins[usize::from(byte)] += 1;
    }
    bins.map(|count| count as f64).to_vec()
}

fn bytes(input: &str, n: u64, seed: u64) -> Result<Vec<u8>> {
    let mut bytes = host_bytes(n)?;
    for (byte, drawn) in bytes.iter_mut().zip(draws(input, seed)) {
        *byte = drawn;
    }
    Ok(bytes)
}

/// The bytes of an input, drawn independently of each other, without end.
fn draws(input: &str, seed: u64) -> impl Iterator<Item = u8> {
    let table = table(input);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut four = 0;
    (0_usize..).map(move |i| {
        four = if i % 4 == 0 { random.u64(..) } else { four >> 16 };
        table[four as usize % DRAWS]
    })
}

/// Each value as many times as it is to be frequent.
fn table(input: &str) -> Vec<u8> {
    let value = |draw: usize| match input {
        "uniform" => draw / (DRAWS / BINS),
        "pair" => draw / (DRAWS / 2),
        "skewed" => {
            let below = 1.0 - draw as f64 / DRAWS as f64;
            (below.ln() / (15.0_f64 / 16.0).ln()) as usize
        }
        _ => 0,
    };
    // Times an odd number, so that no two frequent values are neighbours.
    (0..DRAWS).map(|draw| (value(draw).min(BINS - 1) * 97 + 65) as u8).collect()
}

/// The exercise: every bin right at each size, and at most 256 global adds a block.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    const SEED: u64 = 29;
    let bins = backend.allocate(BINS as u64 * 4)?;
    let mut goals = Vec::new();
    for (n, input) in EXERCISE_SIZES.into_iter().zip(INPUTS.into_iter().rev().cycle()) {
        // The input ends where the size does: what is read past it shows.
        let data = bytes(input, n, SEED)?;
        let buffer = backend.allocate(n)?;
        backend.write(buffer, &data)?;
        let blocks = n.div_ceil(EXERCISE_SHARE);
        let arguments = vec![Argument::Buffer(buffer), Argument::Buffer(bins), Argument::U64(n)];
        backend.counts();
        let steps =
            [Step::Zero(bins), Step::Launch(Launch::new("exercise", blocks as u32, BLOCK, arguments))];
        if let Err(error) = backend.run(&steps) {
            goals.push(Goal { line: format!("size {n}: {error:#}"), reached: false });
            continue;
        }
        let counted = backend.counts().map_or(0, |counts| counts.global_atomics);
        let (found, wanted) = (read_bins(backend, bins, 1)?, histogram(data.iter().copied()));
        let wrong = (0..BINS).find(|bin| found[*bin] != wanted[*bin]);
        goals.push(Goal {
            line: match wrong {
                Some(bin) => {
                    format!("size {n}: bin {bin} holds {}, the reference {}", found[bin], wanted[bin])
                }
                None => format!("size {n}: all {BINS} bins are right"),
            },
            reached: wrong.is_none(),
        });
        let most = blocks * BINS as u64;
        goals.push(Goal {
            line: format!("size {n}: {counted} global adds, at most {most} wanted, 256 a block"),
            reached: counted <= most,
        });
    }
    Ok(goals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_bins_have_the_shares_that_the_inputs_are_named_for() {
        let n = 1_usize << 20;
        for (input, share) in [("one", 1.0), ("pair", 0.5), ("skewed", 1.0 / 16.0), ("uniform", 1.0 / 256.0)]
        {
            let counts = histogram(draws(input, 7).take(n));
            let busiest = counts.iter().copied().fold(0.0, f64::max) / n as f64;
            assert!((busiest / share - 1.0).abs() < 0.07, "{input}: {busiest} against {share}");
            assert_eq!(counts.iter().sum::<f64>(), n as f64);
        }
    }

    #[test]
    fn a_shorter_input_is_the_beginning_of_a_longer_one() {
        for input in INPUTS {
            assert_eq!(bytes(input, 1_003, 3).unwrap(), bytes(input, 4_099, 3).unwrap()[..1_003]);
        }
    }
}
