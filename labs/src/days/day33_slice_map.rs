//! Which lines of memory share an L2 slice, told by contention alone, and what does a hot one cost its neighbours?

mod beside;
mod exercise;
mod hot;
mod map;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate, Kind, Unit};
use labs_record::manifest::FigureEntry;
use labs_record::record::Outcome;

use self::hot::{Lines, adds_a_line};
use self::map::{Classes, Finder};
use crate::backend::{Backend, Buffer, Step};
use crate::exercise::Exercise;
use crate::lab::{Axis, Case, Lab, Places, Selection, Shipped, TableOf, Variant};
use crate::measure::{Bench, Cache, Work};
use crate::results::{Like, Values};

/// Threads a block, in every variant.
const BLOCK: u32 = 256;
/// Bytes of a line.
const LINE: u64 = 128;
/// The first bit of an address that tells lines apart.
const FIRST_BIT: u32 = LINE.trailing_zeros();
/// Memory that the lab looks at: address bits up to, not including, 28.
const REACH: u64 = 1 << 28;
/// Lines that are mapped: 256 KiB.
const WINDOW: u64 = 2048;
/// Lines of the map whose counterparts beyond it are placed, for each address bit past the map's.
const SAMPLED: u64 = 256;
/// Adds of a lane to each line of a bucket array.
const SET_ROUNDS: u32 = 4;

const fn variant(name: &'static str, idea: &'static str, kernels: &'static [&'static str]) -> Variant {
    Variant { name, declared: Outcome::Correct, idea, kernels, block_threads: BLOCK, needs: 0 }
}

const HOT: Variant = variant("hot_lines", "adds to all lines of a list at once", &["hot_lines"]);
const VARIANTS: [Variant; 3] = [
    HOT,
    variant("load_lines", "loads one after the other beside a hot line", &["load_lines"]),
    variant("load_stream", "many loads at once beside a hot line", &["load_stream"]),
];

/// The lab.
pub struct SliceMap;

impl Lab for SliceMap {
    fn stem(&self) -> &'static str {
        "day33_slice_map"
    }

    fn part(&self) -> u32 {
        2
    }

    fn question(&self) -> &'static str {
        "Which lines of memory share a slice of the L2, told by contention alone, and what does a hot line cost the others?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day33_slice_map.cu"),
            ptx: &[(75, include_str!("../../../kernels/ptx/day33_slice_map.sm75.ptx"))],
            claims: include_str!("../../../verification/claims/day33_slice_map.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let numbers = |numbers: &[u64]| numbers.iter().map(|n| Coordinate::Number(*n)).collect::<Vec<_>>();
        let axis = |name, help, most, defaults: &[u64], simulated: &[u64]| Axis {
            name,
            help,
            places: Places::UpTo(most),
            defaults: numbers(defaults),
            simulator_defaults: numbers(simulated),
        };
        let words = |name, help, words: &'static [&'static str]| {
            let places: Vec<Coordinate> = words.iter().map(|word| Coordinate::from(*word)).collect();
            Axis {
                name,
                help,
                places: Places::OneOf(words),
                defaults: places.clone(),
                simulator_defaults: places,
            }
        };
        vec![
            axis("lines", "Neighbouring lines to map", hot::MOST, &[WINDOW], &[40]),
            axis("buckets", "Lines of a bucket array, all hot at once", hot::MOST, &[32, 96, 128], &[8]),
            axis("stride", "Bytes from bucket to bucket", REACH, &STRIDES, &[128, 4096]),
            axis("hot_blocks", "Blocks that keep a line hot beside loads", 128, &[0, 8, 32, 128], &[0, 4]),
            words(
                "slice",
                "Where loads go: the hot line's slice, its partner, or neither",
                &["same", "partner", "other"],
            ),
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        use Kind::{Duration, Observation, Spread};
        let figure = |name: &str, unit, kind, means: &str| FigureEntry {
            name: name.to_owned(),
            unit,
            kind,
            means: means.to_owned(),
            optional: false,
            derived: None,
        };
        vec![
            figure(
                "gap",
                Unit::Cycles,
                Spread,
                "loads of the first lines: the slowest that did not wait, the quickest that did",
            ),
            figure("pair_time", Unit::Nanoseconds, Duration, "time in which two hot lines are worked off"),
            figure("classes", Unit::Count, Spread, "classes of lines that take turns, in each of two maps"),
            figure("class_size", Unit::Count, Spread, "lines a class of the first map"),
            figure(
                "partners",
                Unit::Count,
                Spread,
                "for each class, how many others delay it without sharing its slice",
            ),
            figure("line_class", Unit::Count, Spread, "the class of each line in order, 0 for ambiguous"),
            figure("ambiguous", Unit::One, Observation, "lines of both maps that could not be placed"),
            figure("agreement", Unit::One, Observation, "lines in the same class of both maps"),
            figure(
                "kept",
                Unit::One,
                Observation,
                "lines that keep their class when an address bit is flipped",
            ),
            figure(
                "moved_together",
                Unit::One,
                Observation,
                "lines of one class that share one still when a bit of both is flipped",
            ),
            figure(
                "set_time",
                Unit::Nanoseconds,
                Duration,
                "time in which all buckets of an array are worked off",
            ),
            figure(
                "even_time",
                Unit::Nanoseconds,
                Duration,
                "time in which one line of each class is worked off, as many adds a line as in an array",
            ),
            figure("busiest", Unit::Count, Spread, "buckets in the array's busiest class, by the map"),
            figure(
                "load_cycles",
                Unit::Cycles,
                Duration,
                "one load, from its start until its value is there",
            ),
            figure("stream_cycles", Unit::Cycles, Duration, "a block's share of a stream of loads"),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; line {LINE} bytes; {REACH} bytes allocated anew in each session; to place a line {} blocks keep it hot, \
             {} cycles ahead of one thread that loads from every representative twice, the quicker counts; first 48 lines are \
             loaded from beside each other: the widest gap between those loads, by ratio, has a lower third that is apart, an \
             upper that is together, and a middle that is ambiguous, as is a line of several classes; second map in random order \
             with a gap of its own; bits past the map by {SAMPLED} lines; classes of the first {PLACED} buckets of an array; two \
             hot lines: {} warps a line, {} adds a lane, {SET_ROUNDS} for buckets; partners: a line of each class, delayed by more \
             than 0.15 of what a line costs itself, median of three; every add counted; loads beside: {} lines {} times, stream \
             {} blocks and {} lines a warp",
            hot::HOT_BLOCKS,
            hot::HEAD_START,
            hot::WARPS,
            hot::PAIR_ROUNDS,
            beside::READ,
            beside::LAPS,
            beside::READERS,
            beside::STREAM
        )
    }

    fn simulated(&self) -> crate::lab::Simulated {
        crate::lab::Simulated::Results
    }

    fn sanitized(&self) -> BTreeMap<String, Vec<Coordinate>> {
        let numbers = [("lines", 40), ("buckets", 8), ("stride", 4096), ("hot_blocks", 2)];
        let words = [("slice".to_owned(), vec!["same".into()])];
        numbers
            .map(|(axis, place)| (axis.to_owned(), vec![Coordinate::Number(place)]))
            .into_iter()
            .chain(words)
            .collect()
    }

    fn headline(&self) -> FigureRef {
        FigureRef { figure: "set_time".to_owned(), variant: None, at: At::new() }
    }

    fn table(&self, at: &At) -> TableOf {
        let without = |rows: &str, columns: &str| {
            let rest = at.iter().filter(|(axis, _)| *axis != rows && *axis != columns);
            rest.map(|(axis, place)| (axis.clone(), place.clone())).collect()
        };
        for (rows, columns) in
            [("stride", "buckets"), ("hot_blocks", "slice"), ("bit", "bit"), ("pair", "pair")]
        {
            if at.contains_key(rows) {
                let shared = without(rows, columns);
                return TableOf { rows, columns: (rows != columns).then_some(columns), shared };
            }
        }
        TableOf::first_axis(self, at)
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(exercise::EXERCISE)
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let walk = |axes: &[&'static str], chosen: fn(&str) -> bool| {
            let variants = selection.variants.iter().filter(|v| chosen(v.name)).copied().collect();
            let places = selection.places.iter().filter(|(axis, _)| axes.contains(axis));
            let places = places.map(|(axis, places)| (*axis, places.clone())).collect();
            Selection { variants, places }.cases()
        };
        let hot = |name: &str| name == HOT.name;
        let mut cases = walk(&["lines"], hot);
        cases.extend(walk(&["buckets", "stride"], hot));
        cases.extend(walk(&["hot_blocks", "slice"], |name| name != HOT.name));
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        match case.variant {
            Some(variant) if variant.name != HOT.name => beside::measure(bench, case, &variant),
            Some(_) if case.at.contains_key("lines") => mapped(bench, case),
            Some(_) => buckets(bench, case),
            None => Ok(()),
        }
    }
}

/// Strides of bucket arrays: powers of two, and some that are none.
const STRIDES: [u64; 14] = [
    128,
    256,
    512,
    1_024,
    2_048,
    4_096,
    8_192,
    16_384,
    65_536,
    262_144,
    524_288,
    1_048_576,
    3 * LINE,
    96 * LINE,
];
/// Buckets whose classes are looked up, of an array of any length.
const PLACED: u64 = 128;

/// Lines that are hot at once, each with its share of the adds.
struct Set {
    lines: Vec<u32>,
    rounds: u32,
    memory: Lines,
}

impl Set {
    fn steps(&self) -> [Vec<Step>; 2] {
        let last = self.lines.iter().max().copied().unwrap_or(0);
        let used = Buffer { bytes: (u64::from(last) + 1) * LINE, ..self.memory.words };
        [vec![Step::Zero(used)], vec![self.memory.heat(self.lines.len(), self.rounds)]]
    }

    /// Keeps what the lines hold, to be compared with another run's.
    fn keep(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        bench.result("lines", case, Like::Bits, |backend| {
            Ok(Values::U32(
                self.lines.iter().map(|line| self.memory.adds(backend, *line)).collect::<Result<_>>()?,
            ))
        })
    }

    /// Every line holds its share; a line that stands in the list twice holds both.
    fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        for line in &self.lines {
            let times = self.lines.iter().filter(|other| *other == line).count() as u32;
            let (found, wanted) = (self.memory.adds(backend, *line)?, times * adds_a_line(self.rounds));
            if found != wanted {
                return Ok(Err(format!("line {line} holds {found}, not {wanted}")));
            }
        }
        Ok(Ok(()))
    }
}

/// A bucket array: so many lines, so far apart.
fn buckets(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    let (count, stride) = (case.number("buckets"), case.number("stride"));
    if count == 0 || stride < LINE || !stride.is_multiple_of(LINE) {
        return Err(crate::failure::usage(format!(
            "{count} buckets {stride} bytes apart: a bucket is a line, so choose at least one, and a --stride that {LINE} divides"
        )));
    }
    let memory = Lines::new(bench, count.saturating_mul(stride))?;
    let lines: Vec<u32> = (0..count).map(|bucket| (bucket * stride / LINE) as u32).collect();
    // Of an array that is too long or reaches too far the classes are not looked up.
    let placed = bench.takes_time() && count <= PLACED && PLACED * stride <= REACH;
    let classes = if placed { Some(hot::strided(bench, stride, PLACED)?) } else { None };
    memory.make_hot(bench.backend, &lines)?;
    let rounds = if bench.takes_time() { SET_ROUNDS } else { 1 };
    let set = Set { lines, rounds, memory };
    let [reset, timed] = set.steps();
    let check = |backend: &mut dyn Backend| set.check(backend);
    let work = Work { reset, timed, check: &check };
    if !bench.passes(&HOT, &case.at, &work)? {
        return Ok(());
    }
    set.keep(bench, case)?;
    bench.duration("set_time", case, &[], Cache::Hot, &work)?;
    if let Some(classes) = classes {
        let chosen: Classes = classes.into_iter().take(set.lines.len()).collect();
        let busiest = map::sizes(&chosen).into_iter().max().unwrap_or(0);
        bench.spread("busiest", case, &[], Unit::Count, vec![busiest as f64]);
    }
    Ok(())
}

/// The map, twice, and what it shows.
fn mapped(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    let lines = case.number("lines");
    if !bench.takes_time() {
        let memory = Lines::new(bench, lines * LINE)?;
        let all: Vec<u32> = (0..lines as u32).collect();
        return checked(bench, case, memory, &all);
    }
    let (first, finder) = hot::map(bench, lines)?;
    let mut order: Vec<u32> = (0..lines as u32).collect();
    fastrand::Rng::with_seed(bench.seed).shuffle(&mut order);
    let mut second = vec![None; lines as usize];
    for (line, class) in order.iter().zip(hot::mapped_anew(bench, &order)?.0) {
        second[*line as usize] = class;
    }
    bench.enter_check(&HOT, Ok(()));
    if let Some(gap) = finder.gap {
        bench.spread("gap", case, &[], Unit::Cycles, vec![gap.below, gap.above]);
    }
    let mut counts = |name: &str, counts: Vec<u64>| {
        let numbers = counts.into_iter().map(|count| count as f64).collect();
        bench.spread(name, case, &[], Unit::Count, numbers);
    };
    counts("classes", [&first, &second].map(|map| map::sizes(map).len() as u64).to_vec());
    counts("class_size", map::sizes(&first));
    counts("line_class", first.iter().map(|class| class.map_or(0, |class| u64::from(class) + 1)).collect());
    let unplaced = first.iter().chain(&second).filter(|class| class.is_none()).count() as u64;
    bench.observation("ambiguous", case, &[], unplaced, 2 * lines);
    let (agree, of) = map::agreement(&first, &second);
    bench.observation("agreement", case, &[], agree, of);
    let partners = hot::partners(bench, lines)?.into_iter().map(|others| others.len() as f64).collect();
    bench.spread("partners", case, &[], Unit::Count, partners);
    bits(bench, case, &first, finder)?;
    pairs(bench, case, &first)?;
    one_a_class(bench, case, &first)
}

/// What flipping one bit of a line's address does to its class.
fn bits(bench: &mut Bench<'_>, case: &Case, classes: &Classes, mut finder: Finder) -> Result<()> {
    for bit in FIRST_BIT..REACH.trailing_zeros() {
        let flip = 1_u32 << (bit - FIRST_BIT);
        let inside = (flip as usize) < classes.len();
        let near: Vec<u32> =
            (0..classes.len() as u32).filter(|line| classes[*line as usize].is_some()).collect();
        let (mut kept, mut of) = (0, 0);
        let far: Vec<(u32, Option<u32>)> = match inside {
            true => near
                .iter()
                .map(|line| (line ^ flip, classes.get((line ^ flip) as usize).copied().flatten()))
                .collect(),
            false => {
                let step = (near.len() as u64 / SAMPLED).max(1) as usize;
                let sample: Vec<u32> = near.iter().step_by(step).map(|line| line ^ flip).collect();
                let placed = hot::place(bench, &mut finder, &sample)?;
                sample.into_iter().zip(placed).collect()
            }
        };
        for (line, class) in far {
            let Some(class) = class else { continue };
            of += 1;
            kept += u64::from(classes[(line ^ flip) as usize] == Some(class));
        }
        let at = [("bit", Coordinate::Number(u64::from(bit)))];
        bench.observation("kept", case, &at, kept, of);
        if inside {
            let (together, all) = map::moved_together(classes, bit - FIRST_BIT);
            bench.observation("moved_together", case, &at, together, all);
        }
    }
    Ok(())
}

/// What a pair's time is made of: a line alone, with itself, with one of its class, with one of another.
fn pairs(bench: &mut Bench<'_>, case: &Case, classes: &Classes) -> Result<()> {
    let far = |line: &usize| *line > 1;
    let own = (0..classes.len()).filter(far).find(|line| classes[*line] == classes[0]);
    let other =
        (0..classes.len()).filter(far).find(|line| classes[*line].is_some() && classes[*line] != classes[0]);
    let mut kinds = vec![("alone", vec![0]), ("itself", vec![0, 0])];
    kinds.extend(own.map(|line| ("together", vec![0, line as u32])));
    kinds.extend(other.map(|line| ("apart", vec![0, line as u32])));
    for (kind, lines) in kinds {
        let memory = Lines::new(bench, LINE)?;
        memory.make_hot(bench.backend, &lines)?;
        let set = Set { lines, rounds: hot::PAIR_ROUNDS, memory };
        let [reset, timed] = set.steps();
        let check = |backend: &mut dyn Backend| set.check(backend);
        let work = Work { reset, timed, check: &check };
        bench.duration("pair_time", case, &[("pair", kind.into())], Cache::Hot, &work)?;
    }
    Ok(())
}

/// The first line of every class hot at once: as many as there are slices, none with two.
fn one_a_class(bench: &mut Bench<'_>, case: &Case, classes: &Classes) -> Result<()> {
    let mut seen = BTreeSet::new();
    let first = |line: &u32| classes[*line as usize].is_some_and(|class| seen.insert(class));
    let lines: Vec<u32> = (0..classes.len() as u32).filter(first).collect();
    if lines.is_empty() {
        return Ok(());
    }
    let memory = Lines::new(bench, LINE)?;
    memory.make_hot(bench.backend, &lines)?;
    let set = Set { lines, rounds: SET_ROUNDS, memory };
    let [reset, timed] = set.steps();
    let check = |backend: &mut dyn Backend| set.check(backend);
    bench.duration("even_time", case, &[], Cache::Hot, &Work { reset, timed, check: &check })
}

/// Where no times are: all lines hot at once, and every add there.
fn checked(bench: &mut Bench<'_>, case: &Case, memory: Lines, lines: &[u32]) -> Result<()> {
    memory.make_hot(bench.backend, lines)?;
    let set = Set { lines: lines.to_vec(), rounds: hot::PAIR_ROUNDS, memory };
    let [reset, timed] = set.steps();
    let check = |backend: &mut dyn Backend| set.check(backend);
    bench.passes(&HOT, &case.at, &Work { reset, timed, check: &check })?;
    set.keep(bench, case)
}
