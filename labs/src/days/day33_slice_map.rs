//! Which lines of memory share an L2 slice, told by contention and distance alone, and what does a hot one cost others?

mod beside;
mod exercise;
mod hot;
mod map;
mod mapping;
mod sets;
mod survey;

use std::collections::BTreeMap;

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate, Kind, Unit};
use labs_record::manifest::FigureEntry;

use crate::exercise::Exercise;
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, TableOf, Variant};
use crate::measure::Bench;

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
/// Adds of a lane to each line of a set.
const SET_ROUNDS: u32 = 4;
/// Adds of a lane to each of a pair of lines.
const PAIR_ROUNDS: u32 = 2;

const HOT: Variant = Variant::new("hot_lines", "adds to all lines of a list at once", &["hot_lines"]);
const ADDS: Variant = Variant::new("add_lines", "adds one after the other, and nobody else", &["add_lines"]);
const VARIANTS: [Variant; 4] = [
    HOT,
    ADDS,
    Variant::new("load_lines", "loads one after the other beside a hot line", &["load_lines"]),
    Variant::new("load_stream", "many loads at once beside a hot line", &["load_stream"]),
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
        "Which lines of memory share a slice of the L2, told by contention and distance alone, and what does a hot line cost the others?"
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
        let words = |name, help, words: &'static [&'static str], simulated: &[&'static str]| {
            let all = |words: &[&'static str]| words.iter().map(|word| Coordinate::from(*word)).collect();
            Axis {
                name,
                help,
                places: Places::OneOf(words),
                defaults: all(words),
                simulator_defaults: all(simulated),
            }
        };
        vec![
            axis("lines", "Neighbouring lines to map", hot::MOST, &[WINDOW], &[40]),
            axis("buckets", "Lines of a bucket array, all hot at once", hot::MOST, &[32, 96, 128], &[8]),
            axis("stride", "Bytes from bucket to bucket", REACH, &STRIDES, &[128, 4096]),
            words(
                "chosen",
                "Lines hot at once: one or two of every near class, one of every class, or as many neighbours",
                &["near_once", "near_twice", "every_class", "neighbours"],
                &["neighbours"],
            ),
            axis("hot_sms", "SMs that keep a line hot beside loads", 4096, &HOT_SMS, &[0, 4]),
            words(
                "heated_from",
                "SMs that keep the line hot: everywhere, in the reader's GPC, else on its side, on the other side",
                &["everywhere", "own_gpc", "own_side", "other_side"],
                &["everywhere"],
            ),
            words(
                "home",
                "Whether the hot line is near the SM that reads, or far from it",
                &["near", "far"],
                &["near"],
            ),
            words(
                "slice",
                "Where loads go: to the hot line's class, to the other class of its group, or to another group",
                &["same", "partner", "other"],
                &["same"],
            ),
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            FigureEntry::spread(
                "gap",
                Unit::Cycles,
                "loads of the first lines: the slowest that did not wait, the quickest that did",
            ),
            FigureEntry::spread(
                "far_gap",
                Unit::Cycles,
                "adds of one SM: the slowest to a near line, the quickest to a far one",
            ),
            FigureEntry::spread(
                "trip",
                Unit::Cycles,
                "one add and its reply, to the first line of each class",
            ),
            FigureEntry::spread(
                "hot_cluster",
                Unit::Cycles,
                "one load while the SMs of one cluster keep a line of its class hot, for each cluster that stands so",
            )
            .optional(),
            FigureEntry::observation(
                "sms",
                "SMs to which the same lines are near as to the first, or the others",
            ),
            FigureEntry::duration("pair_time", "time in which two hot lines are worked off"),
            FigureEntry::spread(
                "delay",
                Unit::One,
                "what two hot lines take more than one alone, as a part of what a line takes with itself, over all groups",
            ),
            FigureEntry::spread(
                "groups",
                Unit::Count,
                "groups of lines whose loads wait, in each of two maps",
            ),
            FigureEntry::spread("classes", Unit::Count, "classes: groups by distance, in each of two maps"),
            FigureEntry::spread("classes_a_group", Unit::Count, "classes of each group of both maps"),
            FigureEntry::spread("class_size", Unit::Count, "lines a class of the first map"),
            FigureEntry::spread(
                "line_class",
                Unit::Count,
                "the class of each line in order, 0 for ambiguous",
            ),
            FigureEntry::observation("ambiguous", "lines of both maps that could not be placed"),
            FigureEntry::observation("agreement", "lines in the same class of both maps"),
            FigureEntry::observation("kept", "lines that keep their class when an address bit is flipped"),
            FigureEntry::observation(
                "moved_together",
                "lines of one class that share one still when a bit of both is flipped",
            ),
            FigureEntry::duration("set_time", "time in which all lines of a set are worked off"),
            FigureEntry::spread("busiest", Unit::Count, "buckets in the array's busiest class, by the map"),
            FigureEntry::new(
                "load_cycles",
                Unit::Cycles,
                Kind::Duration,
                "one load, from its start until its value is there",
            ),
            FigureEntry::new(
                "stream_cycles",
                Unit::Cycles,
                Kind::Duration,
                "a block's share of a stream of loads",
            ),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; line {LINE} bytes; {REACH} bytes allocated anew in each session; all but hot_lines with a block an SM, \
             the SM of the smallest number reads; to place a line {} other SMs, evenly apart, keep it hot, {} cycles ahead of one \
             thread that loads from every representative twice, the quicker counts; first 48 lines are loaded from beside each \
             other: the widest gap between those loads, by ratio, has a lower third that is apart, an upper that is together, and \
             a middle that is ambiguous, as is a line of several groups; near and far by the widest gap between two adds' quicker \
             to each line; second map in random order with gaps of its own; bits past the map by {SAMPLED} lines; classes of the \
             first {PLACED} buckets of an array; hot lines: {} warps a line, {PAIR_ROUNDS} adds a lane, {SET_ROUNDS} for sets; views \
             by {} lines; every add counted; loads beside: {} lines {} times, stream {} SMs and {} lines a warp, the SM that reads first and \
             others of its GPC and its side by turns; of its GPC are the SMs of its cluster of 8 and of any other on its side that \
             alone makes near loads wait beyond the gap of two kinds; hot SMs everywhere by turns, or standing one way; delays of two hot lines \
             by the quickest of three",
            survey::HOT_SMS,
            hot::HEAD_START,
            hot::WARPS,
            survey::COMPARED,
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
        let numbers = [("lines", 40), ("buckets", 8), ("stride", 4096), ("hot_sms", 2)]
            .map(|(axis, place)| (axis.to_owned(), vec![Coordinate::Number(place)]));
        let words =
            [("chosen", "neighbours"), ("heated_from", "everywhere"), ("home", "near"), ("slice", "same")]
                .map(|(axis, place)| (axis.to_owned(), vec![Coordinate::from(place)]));
        numbers.into_iter().chain(words).collect()
    }

    fn headline(&self) -> FigureRef {
        FigureRef { figure: "set_time".to_owned(), variant: None, at: At::new() }
    }

    fn table(&self, at: &At) -> TableOf {
        let without = |rows: &str, columns: &str| {
            let rest = at.iter().filter(|(axis, _)| *axis != rows && *axis != columns);
            rest.map(|(axis, place)| (axis.clone(), place.clone())).collect()
        };
        for (rows, columns) in [
            ("stride", "buckets"),
            ("hot_sms", "slice"),
            ("bit", "bit"),
            ("pair", "pair"),
            ("chosen", "chosen"),
        ] {
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
        let mut cases = walk(&["lines"], |name| name == HOT.name || name == ADDS.name);
        cases.extend(walk(&["buckets", "stride"], hot));
        cases.extend(walk(&["chosen"], hot));
        cases.extend(walk(&["hot_sms", "heated_from", "home", "slice"], |name| name == "load_lines"));
        cases.extend(walk(&["hot_sms", "home", "slice"], |name| name == "load_stream"));
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        match case.variant {
            Some(variant) if variant.name == ADDS.name => mapping::distances(bench, case, &variant),
            Some(variant) if variant.name != HOT.name => beside::measure(bench, case, &variant),
            Some(_) if case.at.contains_key("lines") => mapping::mapped(bench, case),
            Some(_) if case.at.contains_key("chosen") => sets::chosen(bench, case),
            Some(_) => sets::buckets(bench, case),
            None => Ok(()),
        }
    }
}

/// SMs that keep a line hot beside loads.
const HOT_SMS: [u64; 6] = [0, 1, 4, 12, 48, 96];
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
