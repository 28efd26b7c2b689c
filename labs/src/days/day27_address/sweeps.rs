//! The walks through the lab's space that are measured: each varies one thing or two and holds the rest.

use std::collections::BTreeMap;
#[cfg(test)]
use std::collections::BTreeSet;

use labs_record::figure::{At, Coordinate};

use super::deal::Mapping;
use super::{BLOCK, UNIFORM, VARIANTS, width};
use crate::lab::{Case, Selection, Variant};

/// Operations an address in a sweep over addresses: a queue that one address works off in about half a millisecond.
const SHARE: u64 = 1 << 18;
/// Operations a launch at most: long enough for all of a large GPU's L2 to be busy for some 100 microseconds.
const MOST: u64 = 1 << 26;
/// Operations a thread in a sweep over blocks, where every thread has the same to do.
const ROUNDS: u64 = 256;
/// Bytes from the first counter to the last at most: twice what the L2 of a large GPU holds.
const REACH: u64 = 1 << 27;
/// Blocks that fill the largest GPU about once. A power of two, so that counters get equal shares.
const FULL: u64 = 1024;

/// A walk through the space; places in lists, the first list varied.
#[derive(Debug)]
pub(super) struct Sweep {
    /// Its name on the axis `sweep`.
    pub(super) name: &'static str,
    /// Counters; empty for one a block.
    addresses: &'static [u64],
    /// Bytes from counter to counter.
    strides: &'static [u64],
    mappings: &'static [&'static str],
    blocks: &'static [u64],
    variants: &'static [&'static str],
    /// The axes that are rows and columns of its table; variants are columns where no axis is.
    pub(super) rows: &'static str,
    /// See `rows`.
    pub(super) columns: Option<&'static str>,
}

/// The sweeps in the order of the page.
pub(super) const SWEEPS: [Sweep; 7] = [
    Sweep {
        name: "addresses",
        addresses: &[
            1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, 16_384, 65_536, 131_072, 262_144, 524_288,
            1_048_576,
        ],
        strides: &[4, 32, 128, 4096],
        columns: Some("stride"),
        ..PLAIN
    },
    Sweep {
        name: "stride",
        addresses: &[2, 4, 8, 32, 256, 1024],
        strides: &[4, 8, 16, 32, 64, 128, 256, 4096],
        rows: "stride",
        columns: Some("addresses"),
        ..PLAIN
    },
    Sweep {
        name: "mapping",
        addresses: &[1, 8, 32, 256, 4096, 65_536, 1_048_576],
        strides: &[4],
        mappings: &Mapping::NAMES,
        columns: Some("mapping"),
        ..PLAIN
    },
    Sweep { name: "grid", blocks: &[1, 2, 4, 8, 16, 32, 64, 128], rows: "blocks", ..PLAIN },
    Sweep {
        name: "spread",
        addresses: &[],
        strides: &[4096],
        blocks: &[1, 2, 4, 8, 16, 32, 64, 128],
        rows: "blocks",
        ..PLAIN
    },
    Sweep {
        name: "many",
        addresses: &[65_536],
        blocks: &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
        rows: "blocks",
        ..PLAIN
    },
    Sweep {
        name: "operation",
        addresses: &[1, 32, 1024, 16_384, 262_144],
        variants: &["uniform_add", "add_u32", "max_u32", "exchange_u32", "add_u64", "add_f32"],
        ..PLAIN
    },
];

/// One address, a full grid, 128-byte lines: where the sweeps meet.
const PLAIN: Sweep = Sweep {
    name: "",
    addresses: &[1],
    strides: &[128],
    mappings: &["random"],
    blocks: &[FULL],
    variants: &["add_u32"],
    rows: "addresses",
    columns: None,
};

/// Names on the axis `sweep`.
pub(super) const NAMES: [&str; 7] = ["addresses", "stride", "mapping", "grid", "spread", "many", "operation"];

/// The sweep that a figure belongs to.
pub(super) fn of(at: &At) -> Option<&'static Sweep> {
    let place = at.get("sweep")?;
    SWEEPS.iter().find(|sweep| *place == Coordinate::from(sweep.name))
}

/// All sweeps in words and numbers, for the protocol.
pub(super) fn in_words() -> String {
    format!(
        "{SHARE} operations an address (32 times as many where a warp's are folded) up to {MOST} a launch, over \
         blocks {ROUNDS} a thread; counters within {REACH} bytes; {SWEEPS:?}"
    )
}

impl Sweep {
    /// The cases of this sweep. Places and variants that were asked for take the place of the sweep's own.
    pub(super) fn cases(&self, selection: &Selection) -> Vec<Case> {
        let asked_for = |axis: &str| selection.places.get(axis).filter(|places| !places.is_empty()).cloned();
        let numbers = |own: &[u64]| own.iter().map(|n| Coordinate::Number(*n)).collect::<Vec<_>>();
        let texts = |own: &[&str]| own.iter().map(|text| Coordinate::from(*text)).collect::<Vec<_>>();
        let mut places = BTreeMap::from([
            ("sweep", texts(&[self.name])),
            ("addresses", asked_for("addresses").unwrap_or_else(|| numbers(self.addresses))),
            ("stride", asked_for("stride").unwrap_or_else(|| numbers(self.strides))),
            ("mapping", asked_for("mapping").unwrap_or_else(|| texts(self.mappings))),
            ("blocks", asked_for("blocks").unwrap_or_else(|| numbers(self.blocks))),
        ]);
        places.retain(|_, places| !places.is_empty());
        let all = selection.variants.len() == VARIANTS.len();
        let own = |variant: &&Variant| !all || self.variants.contains(&variant.name);
        let variants = selection.variants.iter().filter(own).copied().collect();
        let mut cases = Selection { variants, places }.cases();
        for case in &mut cases {
            let blocks = case.number("blocks");
            case.at.entry("addresses".to_owned()).or_insert(blocks.into());
        }
        let asked = |axis: &str| asked_for(axis).is_some();
        cases.retain(|case| {
            runs(case)
                && (fits(case) || asked("stride"))
                && (is_near(case) || asked("stride") || asked("addresses"))
        });
        let sized = |case: Case| {
            let sizes = asked_for("size").unwrap_or_else(|| vec![self.size(&case).into()]);
            sizes.into_iter().map(move |size| {
                let mut case = case.clone();
                case.at.insert("size".to_owned(), size);
                case
            })
        };
        cases.into_iter().flat_map(sized).collect()
    }

    /// Operations of a launch.
    fn size(&self, case: &Case) -> u64 {
        if self.rows == "blocks" {
            return case.number("blocks").saturating_mul(u64::from(BLOCK) * ROUNDS).min(MOST);
        }
        let folded = case.variant.is_some_and(|variant| variant.name == UNIFORM);
        let share = if folded { 32 * SHARE } else { SHARE };
        case.number("addresses").saturating_mul(share).clamp(SHARE, MOST)
    }
}

/// The plain counter is a single word.
fn runs(case: &Case) -> bool {
    case.variant.is_some_and(|variant| variant.name != UNIFORM || case.number("addresses") == 1)
}

/// Whether counters are no closer than they are wide. A stride that was asked for is refused where they are.
fn fits(case: &Case) -> bool {
    case.variant.is_some_and(|variant| case.number("stride").is_multiple_of(width(variant.name)))
}

/// Whether counters reach no further than what is of interest.
fn is_near(case: &Case) -> bool {
    case.number("addresses").saturating_mul(case.number("stride")) <= REACH
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Selection {
        Selection { variants: VARIANTS.to_vec(), places: BTreeMap::new() }
    }

    fn numbers(places: &[u64]) -> Vec<Coordinate> {
        places.iter().map(|place| Coordinate::Number(*place)).collect()
    }

    #[test]
    fn the_names_are_those_of_the_sweeps() {
        assert_eq!(SWEEPS.each_ref().map(|sweep| sweep.name), NAMES);
    }

    #[test]
    fn no_two_cases_of_a_sweep_are_one_place() {
        for sweep in &SWEEPS {
            let cases = sweep.cases(&all());
            let places: BTreeSet<_> =
                cases.iter().map(|case| (case.at.clone(), case.variant.unwrap().name)).collect();
            assert_eq!(places.len(), cases.len(), "{}", sweep.name);
            assert!(cases.len() >= 7, "{}", sweep.name);
        }
    }

    #[test]
    fn a_counter_a_block_is_as_many_as_blocks() {
        let spread = SWEEPS.iter().find(|sweep| sweep.name == "spread").unwrap();
        assert!(spread.cases(&all()).iter().all(|case| case.at["addresses"] == case.at["blocks"]));
    }

    #[test]
    fn what_is_asked_for_takes_the_place_of_the_sweeps_own() {
        let mut selection = all();
        selection.places.insert("addresses", numbers(&[3]));
        selection.places.insert("size", numbers(&[5]));
        selection.variants.retain(|variant| variant.name == "add_f32" || variant.name == UNIFORM);
        let cases = SWEEPS[0].cases(&selection);
        assert_eq!(cases.len(), 4, "four strides");
        for case in cases {
            assert_eq!((case.variant.unwrap().name, case.number("addresses")), ("add_f32", 3));
            assert_eq!((case.number("size"), case.number("blocks")), (5, FULL));
        }
    }

    #[test]
    fn wide_counters_pass_over_strides_that_they_do_not_fit_unless_asked_for() {
        let mut selection = all();
        selection.variants.retain(|variant| variant.name == "add_u64");
        let strides = |selection: &Selection| -> BTreeSet<u64> {
            SWEEPS[0].cases(selection).iter().map(|case| case.number("stride")).collect()
        };
        assert_eq!(strides(&selection), [32, 128, 4096].into());
        selection.places.insert("stride", numbers(&[4]));
        assert_eq!(strides(&selection), [4].into());
    }

    #[test]
    fn the_plain_counter_runs_where_there_is_one_address() {
        let cases = SWEEPS.iter().flat_map(|sweep| sweep.cases(&all()));
        let places: Vec<u64> = cases
            .filter(|case| case.variant.unwrap().name == UNIFORM)
            .map(|case| case.number("addresses"))
            .collect();
        assert_eq!(places, [1]);
    }

    #[test]
    fn sizes_follow_from_the_rest() {
        let size = |sweep: &str, addresses: u64, blocks: u64, variant: &str| {
            let of = SWEEPS.iter().find(|of| of.name == sweep).unwrap();
            let here = |case: &&Case| {
                (case.number("addresses"), case.number("blocks")) == (addresses, blocks)
                    && case.variant.unwrap().name == variant
            };
            of.cases(&all()).iter().find(here).unwrap().number("size")
        };
        assert_eq!(size("addresses", 1, FULL, "add_u32"), 1 << 18);
        assert_eq!(size("addresses", 32, FULL, "add_u32"), 1 << 23);
        assert_eq!(size("addresses", 65_536, FULL, "add_u32"), 1 << 26);
        assert_eq!(size("operation", 1, FULL, UNIFORM), 1 << 23);
        assert_eq!(size("grid", 1, 2, "add_u32"), 2 << 16);
        assert_eq!(size("many", 65_536, FULL, "add_u32"), 1 << 26);
    }

    #[test]
    fn own_counters_stay_within_reach_and_others_may_leave_it() {
        let mut selection = all();
        let furthest = |selection: &Selection| {
            let cases = SWEEPS[0].cases(selection);
            cases.iter().map(|case| case.number("addresses") * case.number("stride")).max().unwrap()
        };
        assert_eq!(furthest(&selection), REACH);
        selection.places.insert("addresses", numbers(&[1 << 20]));
        assert_eq!(furthest(&selection), 32 * REACH);
    }
}
