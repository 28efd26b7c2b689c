//! Which of a warp's atomic adds does the compiler fold into one, and which must you fold yourself?

mod bins;
mod counter;
mod exercise;

use std::collections::BTreeMap;

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate, Unit};
use labs_record::manifest::FigureEntry;

use self::bins::{Bins, TABLES};
use self::counter::Counter;
use crate::backend::{Backend, Step};
use crate::baseline;
use crate::exercise::Exercise;
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, TableOf, Variant};
use crate::measure::{Bench, Cache, Work};
use crate::results::{Like, Values};

const WARP: u64 = 32;
/// Threads that are measured on one counter: a queue of 131,072 adds where warps are folded.
const SIZE: u64 = 1 << 22;
/// Most threads.
const MOST: u64 = 1 << 22;
/// The largest element.
const LARGEST: u32 = 3;
// A float counts that far without rounding, so a sum is the same in any order.
const _: () = assert!(MOST * LARGEST as u64 <= 1 << 24);

const VARIANTS: [Variant; 21] = [
    Variant::new("one", "adds 1 to one counter", &["one"]),
    Variant::new(
        "one_loaded",
        "the counter's place is loaded, the same word by all threads",
        &["one_loaded"],
    ),
    Variant::new("one_unfolded", "it is loaded by each lane from a word of its own", &["one_unfolded"]),
    Variant::new("value", "adds an element of 32 bits", &["value"]),
    Variant::new(
        "value_unfolded",
        "the same at an address that the compiler can't see through",
        &["value_unfolded"],
    ),
    Variant::new("wide_one", "adds one number of 64 bits", &["wide_one"]),
    Variant::new("wide_value", "adds an element of 64 bits", &["wide_value"]),
    Variant::new("float_value", "adds a float", &["float_value"]),
    Variant::new("two_addresses", "the lane picks one of two counters", &["two_addresses"]),
    Variant::new("two_branches", "the lane picks one of two instructions", &["two_branches"]),
    Variant::new("divergent", "adds 1 for an odd element", &["divergent"]),
    Variant::new(
        "divergent_unfolded",
        "the same at an address that the compiler can't see through",
        &["divergent_unfolded"],
    ),
    Variant::new("ballot", "by hand: a vote, and one lane adds the number of votes", &["ballot"]),
    Variant::new("redux", "by hand: REDUX, and one lane adds the sum", &["redux"]).needs(80),
    Variant::new("wide_by_hand", "by hand: 64 bits, by shuffles", &["wide_by_hand"]),
    Variant::new("float_by_hand", "by hand: floats, by shuffles", &["float_by_hand"]),
    Variant::new("plain_bins", "adds 1 to a bin in global memory", &["plain_bins"]),
    Variant::new("match_bins", "lanes of one bin find each other; one adds their number", &["match_bins"]),
    Variant::new("shared_bins", "adds 1 to a bin in shared memory", &["shared_bins"]),
    Variant::new("shared_step", "the 1 is an argument", &["shared_step"]),
    Variant::new(
        "shared_match",
        "lanes of one bin find each other; one adds in shared memory",
        &["shared_match"],
    ),
];

/// The lab.
pub struct Aggregation;

impl Lab for Aggregation {
    fn stem(&self) -> &'static str {
        "day34_aggregation"
    }

    fn part(&self) -> u32 {
        3
    }

    fn question(&self) -> &'static str {
        "Which of a warp's atomic adds does the compiler fold into one, and which must you fold yourself?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day34_aggregation.cu"),
            ptx: &[
                (75, include_str!("../../../kernels/ptx/day34_aggregation.sm75.ptx")),
                (80, include_str!("../../../kernels/ptx/day34_aggregation.sm80.ptx")),
            ],
            claims: include_str!("../../../verification/claims/day34_aggregation.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let numbers = |numbers: &[u64]| numbers.iter().map(|number| Coordinate::Number(*number)).collect();
        let tables = || TABLES.map(Coordinate::from).to_vec();
        vec![
            Axis {
                name: "distinct",
                help: "Bins that the lanes of a warp name, for the variants with bins; again for several",
                places: Places::UpTo(WARP),
                defaults: numbers(&[1, 2, 4, 8, 16, 32]),
                simulator_defaults: numbers(&[1, 8, 32]),
            },
            Axis {
                name: "table",
                help: "Whose the bins are: all warps', one warp's, or a block's in shared memory",
                places: Places::OneOf(&TABLES),
                defaults: tables(),
                simulator_defaults: tables(),
            },
            Axis {
                name: "size",
                help: "Threads; again for several sizes",
                places: Places::UpTo(MOST),
                defaults: Vec::new(),
                simulator_defaults: numbers(&[20_000]),
            },
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            FigureEntry::duration("time", "time of an add a thread, the counter zeroed beforehand"),
            FigureEntry::rate("threads_per_second", Unit::PerSecond, "time", 1, "threads over time"),
            FigureEntry::exact("asked_adds", "adds that the source asks for, one a lane"),
            FigureEntry::exact(
                "sent_adds",
                "those that are sent once a warp's are folded, by the machine code and the input",
            ),
            FigureEntry::duration(
                "bins_time",
                "time in which every thread visits its bins, the tables zeroed beforehand",
            ),
            FigureEntry::exact("longest_queue", "adds on the busiest word once a warp's are folded"),
            baseline::launch_floor(),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; one counter: {SIZE} threads, {}; bins: {}; hot, single launches",
            counter::IN_WORDS,
            bins::in_words()
        )
    }

    fn headline(&self) -> FigureRef {
        FigureRef { figure: "time".to_owned(), variant: None, at: At::new() }
    }

    fn table(&self, at: &At) -> TableOf {
        if !at.contains_key("distinct") {
            return TableOf { rows: "size", columns: None, shared: At::new() };
        }
        TableOf::first_axis(self, at)
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(exercise::EXERCISE)
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let sizes = |own: u64| match selection.places.get("size") {
            Some(named) if !named.is_empty() => named.clone(),
            _ => vec![Coordinate::Number(own)],
        };
        let mut cases = Vec::new();
        for variant in &selection.variants {
            let variants = vec![*variant];
            let own = bins::tables_of(variant.name);
            let places = if own.is_empty() {
                BTreeMap::from([("size", sizes(SIZE))])
            } else {
                let mut places = selection.places.clone();
                places.insert("size", sizes(bins::THREADS));
                if let Some(tables) = places.get_mut("table") {
                    tables.retain(|table| own.iter().any(|own| *table == Coordinate::from(*own)));
                }
                places
            };
            cases.extend(Selection { variants, places }.cases());
        }
        cases.extend(baseline::cases().into_iter().filter(|case| case.number("size") == 0));
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        match case.variant {
            None => baseline::measure(bench, case, None),
            Some(variant) if bins::tables_of(variant.name).is_empty() => one_counter(bench, case, &variant),
            Some(variant) => several_bins(bench, case, &variant),
        }
    }
}

fn one_counter(bench: &mut Bench<'_>, case: &Case, variant: &Variant) -> Result<()> {
    let counter = Counter::new(bench, variant.name, case.number("size"))?;
    let check = |backend: &mut dyn Backend| counter.check(backend);
    let work = Work {
        reset: vec![Step::Zero(counter.buffer())],
        timed: vec![Step::Launch(counter.launch()?)],
        check: &check,
    };
    if !bench.passes(variant, &case.at, &work)? {
        return Ok(());
    }
    bench.result("counter", case, Like::Bits, |backend| Ok(Values::U32(counter.words(backend)?)))?;
    let adds = counter.adds();
    bench.exact("asked_adds", case, &[], adds.asked);
    bench.exact("sent_adds", case, &[], adds.sent);
    bench.exact("longest_queue", case, &[], adds.queue);
    bench.duration("time", case, &[], Cache::Hot, &work)
}

fn several_bins(bench: &mut Bench<'_>, case: &Case, variant: &Variant) -> Result<()> {
    let bins = Bins::new(bench, variant.name, case)?;
    let check = |backend: &mut dyn Backend| bins.check(backend);
    let work = Work {
        reset: vec![Step::Zero(bins.buffer())],
        timed: vec![Step::Launch(bins.launch()?)],
        check: &check,
    };
    if !bench.passes(variant, &case.at, &work)? {
        return Ok(());
    }
    bench.result("bins", case, Like::Bits, |backend| Ok(Values::U32(bins.words(backend)?)))?;
    // Without a clock a thread makes fewer rounds: those counts belong to no record.
    bench.exact("asked_adds", case, &[], bins.asked());
    bench.exact("longest_queue", case, &[], bins.longest_queue());
    bench.duration("bins_time", case, &[], Cache::Hot, &work)
}
