//! How does a scan read its input only once, when every element needs the sum of all before it?

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{Coordinate, Unit};
use labs_record::manifest::FigureEntry;
use labs_record::record::Outcome;

use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::baseline;
use crate::exercise::Exercise;
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, Simulated, Variant};
use crate::measure::{Bench, Cache, Work};
use crate::results::{Like, Values};

mod exercise;
mod scan;

use scan::{Form, Scan};

/// Threads a block of `separate_warp` and `held_in_shared`: 15 warps with elements, one that looks back.
const WIDE_BLOCK: u32 = 512;
/// Most elements: with their input and output, more than any GPU's memory.
const MOST: u64 = 1 << 36;
/// Where the chain is measured: above, its launches take too long to be repeated.
const CHAINED_MOST: u64 = 1 << 24;
/// Where runs are counted, right and wrong ones.
const COUNTED_SIZES: [u64; 3] = [65_536, 1 << 20, 1 << 24];
/// Runs counted at each.
const COUNTED_RUNS: u64 = 200;

const VARIANTS: [Variant; 10] = [
    Variant::new(
        "three_pass",
        "sums of the tiles, their scan, a second reading",
        &["tile_sums", "scan_sums", "scan_tiles"],
    ),
    Variant::new("chained_prefix", "a tile waits for the prefix of the one before it", &["chained_prefix"]),
    Variant::new(
        "released_flag",
        "a tile adds up published sums; flags are released and acquired",
        &["released_flag"],
    ),
    Variant::new("relaxed_flag", "wrong: the flag is atomic and orders nothing", &["relaxed_flag"])
        .undefined(),
    Variant::new("block_scope", "wrong: release and acquire within a block only", &["block_scope"])
        .undefined(),
    Variant::new("packed_word", "state and sum in one word of 64 bits, relaxed", &["packed_word"]),
    Variant::new("block_index", "wrong: the block's index instead of a ticket", &["block_index"]).undefined(),
    Variant::new("warp_window", "a warp looks at 32 tiles at once", &["warp_window"]),
    Variant::new(
        "separate_warp",
        "a warp without elements looks back while the others load; no reset",
        &["separate_warp"],
    )
    .block(WIDE_BLOCK),
    Variant::new(
        "held_in_shared",
        "the same with twice the elements a thread, most of them in shared memory",
        &["held_in_shared"],
    )
    .block(WIDE_BLOCK),
];

/// The lab.
pub struct Lookback;

impl Lab for Lookback {
    fn stem(&self) -> &'static str {
        "day40_lookback"
    }

    fn part(&self) -> u32 {
        4
    }

    fn question(&self) -> &'static str {
        "How does a scan read its input only once, when every element needs the sum of all before it?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day40_lookback.cu"),
            ptx: &[(75, include_str!("../../../kernels/ptx/day40_lookback.sm75.ptx"))],
            claims: include_str!("../../../verification/claims/day40_lookback.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let sizes = |sizes: &[u64]| sizes.iter().map(|size| Coordinate::Number(*size)).collect();
        vec![Axis {
            name: "size",
            help: "Elements of the input; again for several sizes",
            places: Places::UpTo(MOST),
            defaults: sizes(&[65_536, 1 << 20, 1 << 22, 1 << 24, 1 << 26]),
            simulator_defaults: sizes(&[20_000, 100_003]),
        }]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            FigureEntry::duration("time", "time of a scan, ticket and flags zeroed beforehand"),
            FigureEntry::rate(
                "bandwidth",
                Unit::GigabytesPerSecond,
                "time",
                8,
                "eight bytes an element over time: each read once and written once",
            ),
            FigureEntry::duration("copy_time", "time to copy the input to the output and do nothing else"),
            FigureEntry::rate(
                "copy_bandwidth",
                Unit::GigabytesPerSecond,
                "copy_time",
                8,
                "eight bytes an element over copy_time",
            ),
            FigureEntry::duration(
                "time_with_reset",
                "time of a scan, zeroing ticket and words included where it needs that",
            )
            .optional(),
            FigureEntry::observation("wrong_runs", "runs whose output is not the scan"),
            FigureEntry::observation("given_up_runs", "runs in which a wait was ended by the clock"),
            baseline::launch_floor(),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "random 32-bit values; block {BLOCK}, 16 elements a thread; separate_warp and held_in_shared: block \
             {WIDE_BLOCK}, 16 and 32 elements a thread of 480; after each sample every output is compared with the one \
             before it plus its input, the last with the host's sum, and the output is zeroed; waits end after {} ns, in \
             wrong variants {} ns; chained_prefix up to {CHAINED_MOST}; {COUNTED_RUNS} runs counted at \
             {COUNTED_SIZES:?}, before each of them flags, sums and prefixes zeroed, kept words made those of other input; \
             three_pass, separate_warp, held_in_shared and CUB need no reset",
            scan::PATIENCE_NS,
            scan::WRONG_PATIENCE_NS,
        )
    }

    fn simulated(&self) -> Simulated {
        Simulated::Results
    }

    fn headline(&self) -> FigureRef {
        let at = [("cache".to_owned(), Cache::Cold.place())].into();
        FigureRef { figure: "time".to_owned(), variant: None, at }
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(exercise::EXERCISE)
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let mut cases = selection.cases();
        let asked = |case: &Case| selection.numbers("size").iter().all(|size| *size == case.number("size"));
        // Whoever asks for one size gets the chain there, too.
        cases.retain(|case| {
            let chained = case.variant.is_some_and(|variant| variant.name == "chained_prefix");
            !chained || case.number("size") <= CHAINED_MOST || asked(case)
        });
        cases.extend(baseline::cases().into_iter().filter(|case| case.number("size") == 0));
        let copied = selection.numbers("size").into_iter().filter(|size| *size > 0);
        cases
            .extend(copied.map(|size| Case { variant: None, at: [("size".to_owned(), size.into())].into() }));
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let Some(variant) = case.variant else {
            return if case.number("size") == 0 {
                baseline::measure(bench, case, None)
            } else {
                copy(bench, case)
            };
        };
        let scan = Scan::new(bench, &variant, case)?;
        let first = Work {
            reset: scan.reset(),
            timed: scan.steps(),
            check: &|backend: &mut dyn Backend| scan.check(backend),
        };
        let passed = bench.passes(&variant, &case.at, &first)?;
        if passed {
            bench.result("prefixes", case, Like::Bits, |backend| Ok(Values::U32(scan.prefixes(backend)?)))?;
        }
        if !bench.backend.keeps_time() && variant.name == "block_index" {
            let outcome = scan.with_more_blocks_than_fit(bench.backend)?;
            bench.enter_check(&variant, outcome);
        }
        bench.backend.run(&scan.spoil())?;
        count_runs(bench, case, &variant, &scan)?;
        let check = |backend: &mut dyn Backend| {
            let outcome = scan.check(backend)?;
            backend.run(&scan.spoil())?;
            Ok(outcome)
        };
        let work = Work { check: &check, ..first };
        for cache in [Cache::Cold, Cache::Hot] {
            bench.duration("time", case, &[("cache", cache.place())], cache, &work)?;
        }
        with_reset(bench, case, &scan, &work)
    }
}

/// How often a publication goes wrong, and how often a wait has no end. Right ones are counted by the same rule: without
/// a wrong one that shows, their zero would say nothing.
fn count_runs(bench: &mut Bench<'_>, case: &Case, variant: &Variant, scan: &Scan) -> Result<()> {
    let counted = variant.declared == Outcome::Undefined
        || matches!(variant.name, "released_flag" | "packed_word" | "separate_warp" | "held_in_shared");
    let timed = bench.backend.keeps_time() && !bench.only_checks();
    if !counted || !timed || !COUNTED_SIZES.contains(&case.number("size")) {
        return Ok(());
    }
    let (mut wrong, mut given_up) = (0, 0);
    for _ in 0..COUNTED_RUNS {
        (bench.alive)();
        bench.backend.run(&scan.other_words())?;
        bench.backend.run(&scan.reset())?;
        bench.backend.run(&scan.steps())?;
        let faults = scan.faults(bench.backend)?;
        wrong += u64::from(faults.differing > 0);
        given_up += u64::from(faults.given_up > 0);
        bench.backend.run(&scan.spoil())?;
    }
    bench.observation("wrong_runs", case, &[], wrong, COUNTED_RUNS);
    bench.observation("given_up_runs", case, &[], given_up, COUNTED_RUNS);
    Ok(())
}

/// The peer's rule: whatever it takes to begin anew is inside.
fn with_reset(bench: &mut Bench<'_>, case: &Case, scan: &Scan, work: &Work<'_>) -> Result<()> {
    let mut timed = match scan.form {
        Form::ThreePass | Form::WordsByLaunch => Vec::new(),
        Form::Words if case.variant.is_some_and(|variant| variant.name == "warp_window") => scan.zeroed(),
        Form::Words | Form::Flags => return Ok(()),
    };
    timed.extend(work.timed.iter().cloned());
    let work = Work { reset: work.reset.clone(), timed, check: work.check };
    for cache in [Cache::Cold, Cache::Hot] {
        bench.duration("time_with_reset", case, &[("cache", cache.place())], cache, &work)?;
    }
    Ok(())
}

/// What any scan must transfer, and nothing else.
fn copy(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    let n = case.number("size");
    let (input, out) = scan::input_and_output(bench)?;
    let arguments = vec![Argument::Buffer(input), Argument::Buffer(out), Argument::U64(n)];
    let launch = Launch::new("copy", scan::tiles(n, scan::COPY_TILE), BLOCK, arguments);
    let spoil = Step::Zero(Buffer { bytes: n * 4, ..out });
    let check = |backend: &mut dyn Backend| {
        let ends = [0, n - 1].map(|element| element * 4);
        let mut pairs = Vec::new();
        for place in ends {
            let [mut from, mut to] = [[0; 4]; 2];
            backend.read(input.at(place), &mut from)?;
            backend.read(out.at(place), &mut to)?;
            pairs.push((from, to));
        }
        backend.run(std::slice::from_ref(&spoil))?;
        let whole = pairs.iter().all(|(from, to)| from == to);
        Ok(if whole { Ok(()) } else { Err(format!("the copy of {n} elements differs from them")) })
    };
    let work = Work { reset: Vec::new(), timed: vec![Step::Launch(launch)], check: &check };
    for cache in [Cache::Cold, Cache::Hot] {
        bench.duration("copy_time", case, &[("cache", cache.place())], cache, &work)?;
    }
    Ok(())
}
