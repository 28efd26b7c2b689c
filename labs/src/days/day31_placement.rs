//! What does one atomic add cost, by the memory its target lives in and by its type?

mod adds;
mod exercise;
mod kinds;
mod trips;

use std::collections::BTreeMap;

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate, Unit};
use labs_record::manifest::FigureEntry;

use self::adds::Adds;
use self::kinds::{Memory, kind};
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::baseline;
use crate::exercise::Exercise;
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, TableOf, Variant};
use crate::measure::{Bench, Cache, Work};
use crate::results::{Like, Values};

/// Addresses at which throughput is measured.
const ADDRESSES: [u64; 3] = [1, 8, 1_024];
/// Words that a block's shared memory has room for, and threads of the largest block.
const MOST_WORDS: u64 = 1_024;
/// Resident blocks an SM.
const RESIDENT: [u64; 4] = [1, 2, 4, 8];
/// Blocks of 256 threads that do nothing, for what a block costs.
const EMPTY_BLOCKS: u64 = 1 << 16;

const VARIANTS: [Variant; 27] = [
    Variant::new(
        "global_u32",
        "device memory, 32-bit integer",
        &["global_u32", "global_u32_trip", "global_load_trip"],
    ),
    Variant::new("global_u64", "device memory, 64-bit integer", &["global_u64", "global_u64_trip"]),
    Variant::new("global_f32", "device memory, float", &["global_f32", "global_f32_trip"]),
    Variant::new("global_f64", "device memory, double", &["global_f64", "global_f64_trip"]),
    Variant::new("global_f16", "device memory, half", &["global_f16", "global_f16_trip"]),
    Variant::new("global_bf16", "device memory, bfloat16", &["global_bf16"]).needs(90),
    Variant::new("global_f16x2", "device memory, two halves", &["global_f16x2", "global_f16x2_trip"]),
    Variant::new("global_bf16x2", "device memory, two bfloat16", &["global_bf16x2"]).needs(90),
    Variant::new("global_float2", "device memory, two floats", &["global_float2", "global_float2_torn"])
        .needs(90),
    Variant::new("global_float4", "device memory, four floats", &["global_float4", "global_float4_torn"])
        .needs(90),
    Variant::new("shared_u32", "own shared memory, 32-bit integer", &["shared_u32", "shared_u32_trip"]),
    Variant::new("shared_u64", "own shared memory, 64-bit integer", &["shared_u64", "shared_u64_trip"]),
    Variant::new("shared_f32", "own shared memory, float", &["shared_f32", "shared_f32_trip"]),
    Variant::new("shared_f64", "own shared memory, double", &["shared_f64", "shared_f64_trip"]),
    Variant::new("shared_f16", "own shared memory, half", &["shared_f16", "shared_f16_trip"]),
    Variant::new("shared_bf16", "own shared memory, bfloat16", &["shared_bf16", "shared_bf16_trip"])
        .needs(90),
    Variant::new("shared_f16x2", "own shared memory, two halves", &["shared_f16x2", "shared_f16x2_trip"]),
    Variant::new(
        "shared_bf16x2",
        "own shared memory, two bfloat16",
        &["shared_bf16x2", "shared_bf16x2_trip"],
    )
    .needs(90),
    Variant::new(
        "cluster_u32",
        "another block's shared memory, 32-bit integer",
        &["cluster_u32", "cluster_u32_trip", PAIRS],
    )
    .needs(90),
    Variant::new(
        "cluster_u64",
        "another block's shared memory, 64-bit integer",
        &["cluster_u64", "cluster_u64_trip"],
    )
    .needs(90),
    Variant::new("cluster_f32", "another block's shared memory, float", &["cluster_f32", "cluster_f32_trip"])
        .needs(90),
    Variant::new(
        "cluster_f64",
        "another block's shared memory, double",
        &["cluster_f64", "cluster_f64_trip"],
    )
    .needs(90),
    Variant::new("host_u32", "the host's memory, 32-bit integer", &["host_u32", "host_u32_trip"]),
    Variant::new("host_u64", "the host's memory, 64-bit integer", &["host_u64"]),
    Variant::new("host_f32", "the host's memory, float", &["host_f32", "host_f32_trip"]),
    Variant::new("host_f64", "the host's memory, double", &["host_f64"]),
    Variant::new("host_f16x2", "the host's memory, two halves", &["host_f16x2"]),
];

/// Variants measured at 8 and 1,024 addresses as well, besides those in device memory.
const SPREAD: [&str; 6] = ["shared_u32", "shared_f32", "cluster_u32", "cluster_f32", "host_u32", "host_f32"];
/// Variants measured by resident blocks.
const BY_RESIDENT: [&str; 3] = ["shared_u32", "shared_u64", "shared_f32"];

/// Two halves in another block's shared memory: right in PTX, wrong in the pinned assembler's machine code. It is no
/// variant, since a kernel is wrong for everybody or for nobody; how often its sum is wrong is a figure of this variant.
const PAIRS: &str = "cluster_f16x2";
const PAIRS_OF: &str = "cluster_u32";
/// Launches of it a session.
const PAIRS_RUNS: u64 = 10;

/// The lab.
pub struct Placement;

impl Lab for Placement {
    fn stem(&self) -> &'static str {
        "day31_placement"
    }

    fn part(&self) -> u32 {
        2
    }

    fn question(&self) -> &'static str {
        "What does one atomic add cost, by the memory its target lives in and by its type?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day31_placement.cu"),
            ptx: &[
                (75, include_str!("../../../kernels/ptx/day31_placement.sm75.ptx")),
                (90, include_str!("../../../kernels/ptx/day31_placement.sm90.ptx")),
            ],
            claims: include_str!("../../../verification/claims/day31_placement.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let numbers = |numbers: &[u64]| numbers.iter().map(|n| Coordinate::Number(*n)).collect::<Vec<_>>();
        let axis = |name, help, places, defaults: &[u64], simulated: &[u64]| Axis {
            name,
            help,
            places: Places::UpTo(places),
            defaults: numbers(defaults),
            simulator_defaults: numbers(simulated),
        };
        vec![
            axis("addresses", "Words that all threads share", MOST_WORDS, &ADDRESSES, &ADDRESSES),
            axis("resident", "Blocks an SM, for shared memory by resident blocks", 8, &RESIDENT, &[1, 2]),
            axis("size", "Adds a launch, in place of the lab's own", u64::from(u32::MAX), &[], &[5_001]),
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        let mut figures = vec![
            FigureEntry::rate("throughput", Unit::PerSecond, "time", 1, "adds a second of one launch"),
            FigureEntry::duration("time", "time of a launch, the words zeroed before"),
            FigureEntry::rate(
                "sm_throughput",
                Unit::PerSecond,
                "sm_time",
                1,
                "adds a second of one SM, every SM with so many blocks",
            ),
            FigureEntry::duration("sm_time", "time of a launch on every SM; its size is one SM's adds"),
            FigureEntry::spread("busiest_sm", Unit::Count, "blocks that the busiest SM was given"),
            FigureEntry::spread(
                "round_trip",
                Unit::Cycles,
                "one dependent add: for each line, the median over all SMs",
            ),
            FigureEntry::spread(
                "round_trip_by_sm",
                Unit::Cycles,
                "one dependent add: for each SM, the median over all lines",
            ),
            FigureEntry::spread(
                "round_trip_pairs",
                Unit::Cycles,
                "one dependent add, from each SM to each line",
            ),
            FigureEntry::spread(
                "load_round_trip",
                Unit::Cycles,
                "one dependent load answered by the L2: for each line, the median over all SMs",
            ),
            FigureEntry::observation("torn", "old values of a vector add whose parts differ").optional(),
            FigureEntry::observation(
                "wrong_pairs",
                "sums of two halves in another block's shared memory that come out wrong",
            )
            .optional(),
            FigureEntry::duration("turnover_time", "time of 65,536 blocks of 256 threads that do nothing"),
        ];
        figures.extend(baseline::figures());
        figures
    }

    fn protocol(&self) -> String {
        format!(
            "blocks of {BLOCK} threads, of as many as words where a block has more; device and host memory: a word a line, as \
             many blocks as words or as adds fill, 256 threads a word dealt at random; shared and cluster: words side by side, \
             one block that adds; every fourth thread of a word begins down, so 16-bit sums stay exact; step 1, vectors \
             (1, -1), (1, 2), (1, 2, 3, 4); cases {}; resident: SMs times so many blocks, one word a block; {}; turnover: \
             {EMPTY_BLOCKS} empty blocks; every word compared after every sample; host memory by cuMemHostAlloc with DEVICEMAP",
            adds::in_words(),
            trips::in_words(),
        )
    }

    fn headline(&self) -> FigureRef {
        FigureRef { figure: "time".to_owned(), variant: None, at: At::new() }
    }

    fn table(&self, at: &At) -> TableOf {
        let rows = ["addresses", "resident", "lines", "blocks", "launches"]
            .into_iter()
            .find(|axis| at.contains_key(*axis));
        TableOf { rows: rows.unwrap_or("size"), columns: None, shared: At::new() }
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(exercise::EXERCISE)
    }

    fn sanitized(&self) -> BTreeMap<String, Vec<Coordinate>> {
        // The loops of compare-and-swap and the adds of the host's memory take far longer than the rest.
        let numbers = |numbers: &[u64]| numbers.iter().map(|n| Coordinate::Number(*n)).collect();
        [("addresses".to_owned(), numbers(&[1, 8])), ("size".to_owned(), numbers(&[0, 255, 4_097]))].into()
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let sizes = selection.numbers("size");
        let mut cases = Vec::new();
        for variant in &selection.variants {
            let (memory, ty) = kind(variant.name);
            let spread = memory == Memory::Device || SPREAD.contains(&variant.name);
            let mut at_each = |axis: &str, place: u64, own: u64| {
                let own = [own];
                for size in if sizes.is_empty() { &own[..] } else { &sizes[..] } {
                    let at = At::from([(axis.to_owned(), place.into()), ("size".to_owned(), (*size).into())]);
                    cases.push(Case { variant: Some(*variant), at });
                }
            };
            for addresses in selection.numbers("addresses") {
                if spread || addresses == 1 || !ADDRESSES.contains(&addresses) {
                    at_each("addresses", addresses, adds::size(memory, ty, addresses));
                }
            }
            if BY_RESIDENT.contains(&variant.name) {
                for resident in selection.numbers("resident").into_iter().filter(|blocks| *blocks > 0) {
                    at_each("resident", resident, resident * adds::size(memory, ty, 1));
                }
            }
        }
        // Properties of the machine, unless one variant was asked for.
        if selection.variants.len() > 1 && sizes.is_empty() {
            cases.extend(baseline::cases());
            cases.push(Case { variant: None, at: At::from([("blocks".to_owned(), EMPTY_BLOCKS.into())]) });
        }
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let Some(variant) = case.variant else { return machine(bench, case) };
        // The same kernel in more blocks: what it does to memory is looked at once.
        if bench.only_checks() && case.at.contains_key("resident") {
            return Ok(());
        }
        let adds = Adds::new(bench, variant.name, case)?;
        let check = |backend: &mut dyn Backend| adds.check(backend);
        let work = Work { reset: adds.reset(), timed: vec![Step::Launch(adds.launch())], check: &check };
        if !bench.passes(&variant, &case.at, &work)? {
            return Ok(());
        }
        bench.result("words", case, Like::Bits, |backend| Ok(Values::U32(adds.found(backend)?)))?;
        if case.at.contains_key("resident") {
            let busiest = adds.busiest_sm(bench.backend)?;
            bench.spread("busiest_sm", case, &[], Unit::Count, vec![busiest as f64]);
            return bench.duration("sm_time", case, &[], Cache::Hot, &work);
        }
        bench.duration("time", case, &[], Cache::Hot, &work)?;
        // Where time is not real one lane's add follows the other's, and nothing is ever half done.
        if case.number("addresses") != 1 || !bench.takes_time() {
            return Ok(());
        }
        if variant.kernels.iter().any(|kernel| kernel.ends_with("_torn")) {
            let (seen, of) = adds.torn(bench)?;
            bench.observation("torn", &one_word(case), &[], seen, of);
        }
        if variant.name == PAIRS_OF {
            wrong_pairs(bench, case)?;
        }
        trips::measure(bench, &variant)
    }

    fn unsanitized(&self, variant: &str) -> Option<&'static str> {
        (kind(variant).0 == Memory::Host).then_some(
            "it refuses system-scope atomics in host memory where the host has no atomics of its own for the GPU",
        )
    }
}

/// How often the sum of two halves in another block's shared memory is wrong.
fn wrong_pairs(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    let adds = Adds::new(bench, PAIRS, case)?;
    let mut wrong = 0;
    for _ in 0..PAIRS_RUNS {
        bench.backend.run(&[adds.reset(), vec![Step::Launch(adds.launch())]].concat())?;
        wrong += u64::from(adds.check(bench.backend)?.is_err());
    }
    bench.observation("wrong_pairs", &one_word(case), &[], wrong, PAIRS_RUNS);
    Ok(())
}

/// The case without its size, which says nothing of what is not its own launch.
fn one_word(case: &Case) -> Case {
    Case { at: At::from([("addresses".to_owned(), 1_u64.into())]), ..case.clone() }
}

/// The launch floor, reading, and blocks that do nothing.
fn machine(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    if case.at.contains_key("blocks") {
        let nothing_to_check = |_: &mut dyn Backend| Ok(Ok(()));
        let empty = Launch::new("empty", EMPTY_BLOCKS as u32, BLOCK, Vec::<Argument>::new());
        let work = Work { reset: Vec::new(), timed: vec![Step::Launch(empty)], check: &nothing_to_check };
        return bench.duration("turnover_time", case, &[], Cache::Hot, &work);
    }
    let reads = case.number("size") > 0;
    let input = if reads && bench.takes_time() { Some(zeros(bench)?) } else { None };
    if reads && input.is_none() {
        return Ok(());
    }
    baseline::measure(bench, case, input)
}

/// Zeros to read, more than an L2 holds.
fn zeros(bench: &mut Bench<'_>) -> Result<Buffer> {
    let buffer = bench.scratch("zeros", baseline::READ_SIZE * 4)?;
    bench.backend.run(&[Step::Zero(buffer)])?;
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::kinds::Type;
    use super::*;

    #[test]
    fn every_variant_is_a_memory_and_a_type() {
        for variant in VARIANTS {
            let (memory, ty) = kind(variant.name);
            assert_eq!(variant.name, format!("{}_{}", memory.name(), ty.name()));
            assert_eq!(variant.kernels[0], variant.name);
        }
    }

    #[test]
    fn sizes_end_on_an_odd_round_so_that_something_is_left() {
        for variant in VARIANTS {
            let (memory, ty) = kind(variant.name);
            for addresses in ADDRESSES {
                let size = adds::size(memory, ty, addresses);
                let threads = adds::threads(memory, addresses, size);
                assert_eq!(size % threads, 0, "{} {addresses}", variant.name);
                assert_eq!(size / threads % 2, 1, "{} {addresses}: {} rounds", variant.name, size / threads);
            }
        }
    }

    #[test]
    fn types_that_no_gpu_before_9_0_has_are_declared_so() {
        for variant in VARIANTS {
            let (memory, ty) = kind(variant.name);
            let new = memory == Memory::Cluster
                || matches!(ty, Type::Bf16 | Type::Bf16x2 | Type::Float2 | Type::Float4);
            assert_eq!(variant.needs, if new { 90 } else { 0 }, "{}", variant.name);
        }
    }
}
