//! What does it cost to give every kept element a slot of its own?

use std::cell::{Cell, RefCell};

use anyhow::{Context as _, Result};
use labs_record::claim::FigureRef;
use labs_record::figure::Coordinate;
use labs_record::manifest::FigureEntry;

use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::baseline;
use crate::exercise::{Exercise, Goal};
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, Variant};
use crate::measure::{self, Bench, Cache, Work, read_words, word_bytes};
use crate::results::{Like, Values};

mod slots;
mod values;

use slots::{Checker, Wanted, bytes_of};
use values::{Kept, NOTHING, kept, values};

/// Elements a block of `per_block_vectorised` and `ordered_scan`.
const TILE: u64 = 4096;
/// What part of the elements is kept: the words of `--rate`.
const RATES: [&str; 4] = ["1/32", "1/8", "1/2", "7/8"];
/// Those that are measured.
const MEASURED_RATES: [&str; 2] = ["1/8", "1/2"];
/// One in so many kept elements finds `bounded_queue` full.
const REFUSED: u64 = 4;
/// Most elements: what the values can tell apart, and a counter of 32 bits can count.
const MOST: u64 = 1 << 31;
/// Sizes of the exercise: one element, a warp less one, a block less one, several blocks and a rest.
const EXERCISE_SIZES: [u64; 5] = [1, 31, 255, 1_000, 20_001];

const VARIANTS: [Variant; 8] = [
    Variant::new("per_element", "a kept element adds 1; the old value is its slot", &["per_element"]),
    Variant::new("reread_counter", "adds 1, then looks at the counter for its slot", &["reread_counter"])
        .wrong(),
    Variant::new(
        "per_element_unfolded",
        "the same at an address that the compiler can't see through",
        &["per_element_unfolded"],
    ),
    Variant::new("per_warp", "one lane takes the tickets of its warp", &["per_warp"]),
    Variant::new("per_block", "one thread takes the tickets of its block", &["per_block"]),
    Variant::new(
        "per_block_vectorised",
        "16-byte loads, 16 elements a thread, one add a block",
        &["per_block_vectorised"],
    ),
    Variant::new(
        "ordered_scan",
        "counts, their scan, a second reading: the input's order, no atomics",
        &["ordered_counts", "ordered_offsets", "ordered_scatter"],
    ),
    Variant::new(
        "bounded_queue",
        "one add a block; what finds the queue full is counted",
        &["bounded_queue"],
    ),
];

/// The lab.
pub struct Compaction;

impl Lab for Compaction {
    fn stem(&self) -> &'static str {
        "day36_compaction"
    }

    fn part(&self) -> u32 {
        3
    }

    fn question(&self) -> &'static str {
        "What does it cost to give every kept element a slot of its own?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day36_compaction.cu"),
            ptx: &[(75, include_str!("../../../kernels/ptx/day36_compaction.sm75.ptx"))],
            claims: include_str!("../../../verification/claims/day36_compaction.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let sizes = |sizes: &[u64]| sizes.iter().map(|size| Coordinate::Number(*size)).collect();
        let rates = || MEASURED_RATES.map(Coordinate::from).to_vec();
        vec![
            Axis {
                name: "size",
                help: "Elements of the input; again for several sizes",
                places: Places::UpTo(MOST),
                defaults: sizes(&[65_536, 262_144, 1_048_576, 4_194_304, 16_777_216]),
                simulator_defaults: sizes(&[4_096, 65_536]),
            },
            Axis {
                name: "rate",
                help: "Part of the elements that is kept; again for several",
                places: Places::OneOf(&RATES),
                defaults: rates(),
                simulator_defaults: rates(),
            },
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            FigureEntry::duration("time", "time of a compaction, the counter zeroed beforehand"),
            FigureEntry::duration(
                "scatter_time",
                "time of ordered_scan's last launch alone: all slots are known, none is reserved",
            ),
            FigureEntry::exact("global_atomics", "global atomic operations that the source asks for"),
            FigureEntry::exact("kept", "kept elements that the check finds in a slot"),
            FigureEntry::exact("overflowed", "elements that the queue reports to have found no slot"),
            FigureEntry::duration(
                "time_with_reset",
                "time of a compaction, zeroing the counter included where it needs that",
            )
            .optional(),
            baseline::launch_floor(),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; an element a thread, in per_block_vectorised and ordered_scan {TILE} elements a block; \
             unique values, every {} the same 128 rows of 32 in another order, kept below a limit; the queue holds all \
             but one in {REFUSED} of what is kept; the first result looked at on the host, every one on the device, \
             which empties the slots between two samples; ordered_scan and CUB need no zeroed counter; scatter_time finds \
             the offsets of the run before",
            values::WINDOW
        )
    }

    fn headline(&self) -> FigureRef {
        let at = [("cache".to_owned(), Cache::Hot.place())].into();
        FigureRef { figure: "time".to_owned(), variant: None, at }
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(Exercise {
            starter: include_str!("../../../kernels/exercises/day36_compaction.cu"),
            solution: include_str!("../../../kernels/exercises/solutions/day36_compaction.cu"),
            hints: &[
                "The slot is what atomicAdd returns. What the counter holds later belongs to others.",
                "__ballot_sync(full_warp, keeps) gives every lane a bit a lane; all 32 lanes must get there.",
                "One lane adds __popc(ballot); __shfl_sync hands the old value to the others.",
                "A lane's place among them is the number of set bits below its own.",
                "per_warp and per_block in kernels/day36_compaction.cu are two ways to do it.",
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
        let compaction = Compactions::new(bench, &variant, case)?;
        let (found, slots) = (Cell::new(0), RefCell::new(Vec::new()));
        let check = |backend: &mut dyn Backend| compaction.check(backend, &found);
        let thorough = |backend: &mut dyn Backend| {
            let (left, on_host) = compaction.checker.on_host(backend, compaction.wanted())?;
            slots.replace(left);
            // This empties the slots, also where they are wrong.
            let on_device = compaction.check(backend, &found)?;
            Ok(on_host.map_or(on_device, |fault| Err(compaction.told(&fault))))
        };
        let first = Work { reset: compaction.reset(), timed: compaction.steps(), check: &thorough };
        if !bench.passes(&variant, &case.at, &first)? {
            return Ok(());
        }
        bench.result("slots", case, Like::Bits, |_| Ok(compaction.comparable(slots.take())))?;
        bench.exact("global_atomics", case, &[], compaction.global_atomics());
        bench.exact("kept", case, &[], found.get());
        if variant.name == "bounded_queue" {
            let offered = compaction.offered(bench.backend)?;
            bench.exact("overflowed", case, &[], offered.saturating_sub(compaction.capacity()));
        }
        let work = Work { check: &check, ..first };
        for cache in [Cache::Cold, Cache::Hot] {
            bench.duration("time", case, &[("cache", cache.place())], cache, &work)?;
        }
        compaction.scatter(bench, case, &check)?;
        compaction.with_reset(bench, case, &work)
    }
}

/// One variant at one size and rate: its memory and its launches.
struct Compactions {
    variant: &'static str,
    n: u64,
    limit: u32,
    kept: Kept,
    input: Buffer,
    counter: Buffer,
    lane_places: Buffer,
    tile_counts: Buffer,
    checker: Checker,
}

impl Compactions {
    fn new(bench: &mut Bench<'_>, variant: &Variant, case: &Case) -> Result<Compactions> {
        let (n, most, seed) = (case.number("size"), bench.largest_size, bench.seed);
        let rate = rate(case).context("the rate is none of this lab's")?;
        let limit = limit(rate).context("the rate is no fraction")?;
        let input = bench.input("values", most * 4, |_| bytes_of(&values(most, seed)?))?;
        let all_kept = Kept::count(most, seed, limit).elements;
        // What a shorter input keeps is the beginning of it.
        let reference = bench.input(rate, all_kept * 4, |_| bytes_of(&kept(&values(most, seed)?, limit)?))?;
        let out = bench.input("out", most * 4, |_| word_bytes(most, std::iter::repeat(NOTHING)))?;
        let counted = bench.references(rate, n, |seed| Kept::count(n, seed, limit).numbers());
        let kept = Kept::from_numbers(&counted);
        Ok(Compactions {
            variant: variant.name,
            n,
            limit,
            kept,
            input,
            counter: bench.scratch("counter", 8)?,
            lane_places: bench.input("lane_places", 128, |_| Ok(vec![0; 128]))?,
            tile_counts: bench.scratch("tile_counts", most.div_ceil(TILE) * 4)?,
            checker: Checker::new(bench, n, kept.elements, out, reference)?,
        })
    }

    fn reset(&self) -> Vec<Step> {
        vec![Step::Zero(self.counter)]
    }

    fn steps(&self) -> Vec<Step> {
        let [input, out, counter, lane_places, tile_counts] =
            [self.input, self.checker.out, self.counter, self.lane_places, self.tile_counts]
                .map(Argument::Buffer);
        let (n, limit) = (Argument::U64(self.n), Argument::U32(self.limit));
        let grid = |elements: u64| u32::try_from(self.n.div_ceil(elements)).unwrap_or(u32::MAX);
        let launch =
            |kernel: &str, grid, arguments| Step::Launch(Launch::new(kernel, grid, BLOCK, arguments));
        let (blocks, tiles) = (grid(u64::from(BLOCK)), grid(TILE));
        match self.variant {
            "per_element_unfolded" => {
                vec![launch(self.variant, blocks, vec![input, out, counter, lane_places, n, limit])]
            }
            "per_block_vectorised" => {
                vec![launch(self.variant, tiles, vec![input, out, counter, n, limit])]
            }
            "ordered_scan" => vec![
                launch("ordered_counts", tiles, vec![input, tile_counts, n, limit]),
                launch("ordered_offsets", 1, vec![tile_counts, counter, Argument::U32(tiles)]),
                launch("ordered_scatter", tiles, vec![input, out, tile_counts, n, limit]),
            ],
            "bounded_queue" => {
                let capacity = Argument::U64(self.capacity());
                vec![launch(self.variant, blocks, vec![input, out, counter, n, limit, capacity])]
            }
            _ => vec![launch(self.variant, blocks, vec![input, out, counter, n, limit])],
        }
    }

    /// One add for every group of neighbours that keeps anything.
    fn global_atomics(&self) -> u64 {
        match self.variant {
            "per_warp" => self.kept.warps,
            "per_block" | "bounded_queue" => self.kept.blocks,
            "per_block_vectorised" => self.kept.tiles,
            "ordered_scan" => 0,
            _ => self.kept.elements,
        }
    }

    /// Slots there are.
    fn capacity(&self) -> u64 {
        let refused = if self.variant == "bounded_queue" { self.kept.elements / REFUSED } else { 0 };
        self.kept.elements - refused
    }

    fn wanted(&self) -> Wanted {
        Wanted { stored: self.capacity(), ordered: self.variant == "ordered_scan" }
    }

    /// What any two right runs leave alike: the slots in order where the variant keeps it, else sorted; of the queue, which
    /// refuses whoever comes late, how many slots are filled.
    fn comparable(&self, mut slots: Vec<u32>) -> Values {
        if self.variant == "bounded_queue" {
            return Values::U64(vec![slots.iter().filter(|slot| **slot != NOTHING).count() as u64]);
        }
        if !self.wanted().ordered {
            slots.sort_unstable();
        }
        Values::U32(slots)
    }

    /// Tickets that were taken, by the counter.
    fn offered(&self, backend: &mut dyn Backend) -> Result<u64> {
        let mut bytes = [0; 8];
        backend.read(self.counter, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The counter and every slot; leaves in `found` how many elements have one.
    fn check(&self, backend: &mut dyn Backend, found: &Cell<u64>) -> Result<Result<(), String>> {
        let (offered, kept) = (self.offered(backend)?, self.kept.elements);
        let slots = self.checker.on_device(backend, self.wanted())?;
        if offered != kept {
            return Ok(Err(self.told(&format!("the counter is {offered}, and {kept} elements are kept"))));
        }
        Ok(match slots {
            Ok(elements) => {
                found.set(elements);
                Ok(())
            }
            Err(fault) => Err(self.told(&fault)),
        })
    }

    fn told(&self, fault: &str) -> String {
        format!("at size {} {fault}", self.n)
    }

    /// What is left of a compaction when nothing is reserved: the slots are those that the check has just seen filled.
    fn scatter(&self, bench: &mut Bench<'_>, case: &Case, check: measure::Checker<'_>) -> Result<()> {
        if self.variant != "ordered_scan" {
            return Ok(());
        }
        let timed = self.steps().split_off(2);
        let work = Work { reset: Vec::new(), timed, check };
        for cache in [Cache::Cold, Cache::Hot] {
            bench.duration("scatter_time", case, &[("cache", cache.place())], cache, &work)?;
        }
        Ok(())
    }

    /// The peer's rule: whatever it takes to have a fresh counter is inside.
    fn with_reset(&self, bench: &mut Bench<'_>, case: &Case, work: &Work<'_>) -> Result<()> {
        let mut timed = match self.variant {
            "per_block_vectorised" => self.reset(),
            "ordered_scan" => Vec::new(),
            _ => return Ok(()),
        };
        timed.extend(work.timed.iter().cloned());
        let work = Work { reset: work.reset.clone(), timed, check: work.check };
        for cache in [Cache::Cold, Cache::Hot] {
            bench.duration("time_with_reset", case, &[("cache", cache.place())], cache, &work)?;
        }
        Ok(())
    }
}

/// The case's rate, one of [`RATES`].
fn rate(case: &Case) -> Option<&'static str> {
    let Some(Coordinate::Text(wanted)) = case.at.get("rate") else { return None };
    RATES.into_iter().find(|rate| rate == wanted)
}

/// The value below which this part of all values lies.
fn limit(rate: &str) -> Option<u32> {
    let (part, whole) = rate.split_once('/')?;
    let (part, whole): (u64, u64) = (part.parse().ok()?, whole.parse().ok()?);
    u32::try_from((part << 32) / whole).ok()
}

/// The exercise: every slot right at each size, and at most one global atomic a warp.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    const SEED: u64 = 36;
    const LIMIT: u32 = 1 << 31;
    let counter = backend.allocate(4)?;
    let mut goals = Vec::new();
    for n in EXERCISE_SIZES {
        let elements = values(n, SEED)?;
        let reference = kept(&elements, LIMIT)?;
        let slots = reference.len() as u64;
        // Both end where they must: what is read or written past them shows.
        let (input, out) = (backend.allocate(n * 4)?, backend.allocate(slots * 4)?);
        backend.write(input, &bytes_of(&elements)?)?;
        backend.write(out, &word_bytes(slots, std::iter::repeat(NOTHING))?)?;
        let blocks = u32::try_from(n.div_ceil(u64::from(BLOCK)))?;
        let arguments = [input, out, counter]
            .map(Argument::Buffer)
            .into_iter()
            .chain([Argument::U64(n), Argument::U32(LIMIT)]);
        backend.counts();
        let launch = Launch::new("exercise", blocks, BLOCK, arguments.collect());
        if let Err(error) = backend.run(&[Step::Zero(counter), Step::Launch(launch)]) {
            goals.push(Goal { line: format!("size {n}: {error:#}"), reached: false });
            continue;
        }
        let counted = backend.counts().map_or(0, |counts| counts.global_atomics);
        let count = u64::from(read_words(backend, counter, 1)?.first().copied().unwrap_or(0));
        let wanted = Wanted { stored: slots, ordered: false };
        let fault = slots::fault(&read_words(backend, out, slots)?, &reference, wanted)?;
        let found = fault.as_deref().unwrap_or("every kept element has a slot of its own");
        goals.push(Goal {
            line: format!("size {n}: the counter is {count}, {slots} elements are kept; {found}"),
            reached: fault.is_none() && count == slots,
        });
        let warps = n.div_ceil(32);
        goals.push(Goal {
            line: format!("size {n}: {counted} global atomics, at most {warps} wanted, one a warp"),
            reached: counted <= warps,
        });
    }
    Ok(goals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rate_has_a_limit() {
        assert_eq!(RATES.map(limit), [Some(1 << 27), Some(1 << 29), Some(1 << 31), Some(0xe000_0000)]);
        assert_eq!(limit("1/1"), None, "no element may reach the limit of all");
        assert!(MEASURED_RATES.iter().all(|rate| RATES.contains(rate)));
    }
}
