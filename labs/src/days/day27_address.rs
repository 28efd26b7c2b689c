//! How many atomics a second does a GPU carry out when they go to few addresses, and when to many?

mod counters;
mod deal;
mod exercise;
mod sweeps;

use std::collections::BTreeMap;

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate, Unit};
use labs_record::manifest::FigureEntry;

use self::counters::Counters;
use self::deal::Mapping;
use crate::backend::{Backend, Step};
use crate::exercise::Exercise;
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, TableOf, Variant};
use crate::measure::{Bench, Cache, Work};
use crate::results::Like;

/// The variant whose address the compiler knows.
const UNIFORM: &str = "uniform_add";
/// Runs a session in which the maxima that changed memory are counted.
const COUNTED_RUNS: usize = 3;

const VARIANTS: [Variant; 6] = [
    Variant::new(UNIFORM, "adds to one word that the compiler knows, and folds", &[UNIFORM]),
    Variant::new("add_u32", "adds to counters whose place comes from memory", &["add_u32"]),
    Variant::new("max_u32", "keeps the larger value", &["max_u32", "max_u32_changed"]),
    Variant::new("exchange_u32", "swaps, and adds up what came back", &["exchange_u32"]),
    Variant::new("add_u64", "adds to counters of 8 bytes", &["add_u64"]),
    Variant::new("add_f32", "adds to floats", &["add_f32"]),
];

/// Bytes of a variant's counter.
fn width(variant: &str) -> u64 {
    if variant == "add_u64" { 8 } else { 4 }
}

/// The lab.
pub struct Address;

impl Lab for Address {
    fn stem(&self) -> &'static str {
        "day27_address"
    }

    fn part(&self) -> u32 {
        1
    }

    fn question(&self) -> &'static str {
        "How many atomics a second does a GPU carry out when they go to few addresses, and when to many?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day27_address.cu"),
            ptx: &[(75, include_str!("../../../kernels/ptx/day27_address.sm75.ptx"))],
            claims: include_str!("../../../verification/claims/day27_address.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let axis = |name, help, places, simulated: Vec<Coordinate>| Axis {
            name,
            help,
            places,
            defaults: Vec::new(),
            simulator_defaults: simulated,
        };
        let numbers = |numbers: &[u64]| numbers.iter().map(|n| Coordinate::Number(*n)).collect::<Vec<_>>();
        let sweeps = |names: &[&str]| names.iter().map(|name| Coordinate::from(*name)).collect::<Vec<_>>();
        vec![
            Axis {
                defaults: sweeps(&sweeps::NAMES),
                ..axis(
                    "sweep",
                    "Walk through the lab's space; again for several. The options below replace its own places",
                    Places::OneOf(&sweeps::NAMES),
                    sweeps(&["addresses", "operation"]),
                )
            },
            axis("addresses", "Counters", Places::UpTo(1 << 26), numbers(&[1, 32, 1024])),
            axis("stride", "Bytes from counter to counter", Places::UpTo(1 << 20), Vec::new()),
            axis("mapping", "Which lanes share a counter", Places::OneOf(&Mapping::NAMES), Vec::new()),
            axis("blocks", "Blocks of 256 threads", Places::UpTo(1 << 16), numbers(&[16])),
            axis("size", "Operations a launch", Places::UpTo(u32::MAX as u64), numbers(&[20_000])),
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            FigureEntry::rate("throughput", Unit::PerSecond, "time", 1, "operations a second, one a lane"),
            FigureEntry::duration("time", "time of a launch, the counters zeroed before"),
            FigureEntry::exact("longest_queue", "operations that the kernel asks of the busiest address"),
            FigureEntry::exact("sector_queue", "operations that the kernel asks of the busiest sector"),
            FigureEntry::spread(
                "operations_a_pass",
                Unit::One,
                "the model's: operations of a warp that a slice does together",
            ),
            FigureEntry::spread("changed", Unit::One, "share of the maxima that change memory"),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; operation i is thread i mod threads's; counter of thread t at first: warp_word t / 32, \
             contiguous t, random t dealt out anew over the grid, each modulo the number of counters; a round later \
             threads (warp_word: threads / 32) counters on; counters zeroed before each sample, so in the L2 where they \
             fit; add 1; max and exchange of i + 1; every counter checked after every sample; maxima that change \
             memory counted in {COUNTED_RUNS} runs a session; passes of a warp: by sector, the lanes on its busiest word; {}",
            sweeps::in_words()
        )
    }

    fn headline(&self) -> FigureRef {
        FigureRef { figure: "time".to_owned(), variant: None, at: At::new() }
    }

    fn simulated_figures(&self) -> &'static [&'static str] {
        &["longest_queue", "sector_queue", "operations_a_pass"]
    }

    fn table(&self, at: &At) -> TableOf {
        let Some(sweep) = sweeps::of(at) else { return TableOf::first_axis(self, at) };
        TableOf {
            rows: sweep.rows,
            columns: sweep.columns,
            shared: At::from([("sweep".to_owned(), sweep.name.into())]),
        }
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(exercise::EXERCISE)
    }

    fn sanitized(&self) -> BTreeMap<String, Vec<Coordinate>> {
        // The sweep that has every kernel.
        let sizes = [0, 255, 65_537].map(Coordinate::Number).to_vec();
        [("sweep".to_owned(), vec!["operation".into()]), ("size".to_owned(), sizes)].into()
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let chosen = |sweep: &&sweeps::Sweep| {
            selection.places.get("sweep").is_none_or(|names| names.contains(&sweep.name.into()))
        };
        sweeps::SWEEPS.iter().filter(chosen).flat_map(|sweep| sweep.cases(selection)).collect()
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let Some(variant) = case.variant else { return Ok(()) };
        let counters = Counters::new(bench, variant.name, case)?;
        let check = |backend: &mut dyn Backend| counters.check(backend);
        let work = Work {
            reset: vec![counters.zero()],
            timed: vec![Step::Launch(counters.launch())],
            check: &check,
        };
        if !bench.passes(&variant, &case.at, &work)? {
            return Ok(());
        }
        // Which exchange comes last is open.
        if variant.name != "exchange_u32" {
            bench.result("counters", case, Like::Bits, |backend| counters.values(backend))?;
        }
        bench.exact("longest_queue", case, &[], counters.longest_queue());
        bench.exact("sector_queue", case, &[], counters.sector_queue());
        bench.spread("operations_a_pass", case, &[], Unit::One, vec![counters.operations_a_pass()]);
        bench.duration("time", case, &[], Cache::Hot, &work)?;
        if variant.name == "max_u32" && !bench.only_checks() {
            let runs = (0..COUNTED_RUNS).map(|_| counters.changed(bench.backend)).collect::<Result<_>>()?;
            bench.spread("changed", case, &[], Unit::One, runs);
        }
        Ok(())
    }
}
