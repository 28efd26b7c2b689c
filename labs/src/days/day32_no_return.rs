//! What does the old value of an add cost, and who decides whether it is sent?

mod exercise;
mod words;

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate, Unit};
use labs_record::manifest::FigureEntry;

use self::words::{Target, Words};
use crate::backend::{Backend, Step};
use crate::exercise::Exercise;
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, TableOf, Variant};
use crate::measure::{Bench, Cache, Work};
use crate::results::{Like, Values};

/// Adds that a cluster's barrier can count in one phase, by a safe margin: 4 bytes each, below 2^20 bytes.
const CLUSTER_ADDS: u64 = 1 << 17;

const VARIANTS: [Variant; 16] = [
    Variant::new("add_unused", "`atomicAdd`, nobody takes the result", &["add_unused"]),
    Variant::new("add_shown", "the result is shown to an empty asm statement", &["add_shown"]),
    Variant::new("add_kept", "the result is compared and never read", &["add_kept"]),
    Variant::new("add_used", "the results are added up", &["add_used"]),
    Variant::new("ref_unused", "`cuda::atomic_ref`, nobody takes the result", &["ref_unused"]),
    Variant::new("ref_used", "`cuda::atomic_ref`, the results are added up", &["ref_used"]),
    Variant::new("builtin_unused", "`__nv_atomic_add`, which returns nothing", &["builtin_unused"]),
    Variant::new("builtin_used", "`__nv_atomic_fetch_add`, the results are added up", &["builtin_used"]),
    Variant::new("ptx_red", "PTX `red` on a global address", &["ptx_red"]),
    Variant::new(
        "ptx_atom_unused",
        "PTX `atom` on a global address, nobody takes the result",
        &["ptx_atom_unused"],
    ),
    Variant::new("ptx_atom_generic", "the same on a generic address", &["ptx_atom_generic"]),
    Variant::new(
        "cluster_unused",
        "another block's shared memory, nobody takes the result",
        &["cluster_unused"],
    )
    .needs(90),
    Variant::new(
        "cluster_used",
        "another block's shared memory, the results are added up",
        &["cluster_used"],
    )
    .needs(90),
    Variant::new("cluster_async", "`red.async`: a barrier there counts the bytes", &["cluster_async"])
        .needs(90),
    Variant::new("bulk_line", "one request adds 32 words of shared memory to 32 words", &["bulk_line"])
        .needs(90),
    Variant::new("bulk_page", "one request adds 1,024 words", &["bulk_page"]).needs(90),
];

/// How a variant's kernel is launched and what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// An add a thread and round, in global memory.
    Plain,
    /// The second block of each cluster of two adds to the shared memory of the first.
    Cluster,
    /// A request a warp and round.
    BulkLine,
    /// A request a block and round.
    BulkPage,
}

fn shape(variant: &str) -> Shape {
    match variant {
        "bulk_line" => Shape::BulkLine,
        "bulk_page" => Shape::BulkPage,
        name if name.starts_with("cluster") => Shape::Cluster,
        _ => Shape::Plain,
    }
}

/// Whether a variant's threads add up what comes back.
fn sums(variant: &str) -> bool {
    variant.ends_with("_used")
}

/// The targets a variant is measured at.
fn targets(variant: &str) -> &'static [Target] {
    match shape(variant) {
        Shape::Plain if ["add_unused", "add_used", "ptx_red"].contains(&variant) => &Target::ALL,
        Shape::Plain => &[Target::Word, Target::Lines, Target::Scattered],
        Shape::Cluster => &[Target::Word, Target::Lines],
        Shape::BulkLine => &[Target::Line, Target::Lines],
        Shape::BulkPage => &[Target::Lines],
    }
}

/// Adds of a launch that takes some 100 microseconds and more.
fn size(variant: &str, target: Target) -> u64 {
    match (shape(variant), target) {
        (Shape::Cluster, Target::Word) => 1 << 22,
        (Shape::Cluster, _) => 1 << 23,
        (_, Target::Word) => 1 << 18,
        (_, Target::Line) => 1 << 21,
        (_, Target::Lines) => 1 << 26,
        (_, Target::Scattered) => 1 << 24,
    }
}

/// The lab.
pub struct NoReturn;

impl Lab for NoReturn {
    fn stem(&self) -> &'static str {
        "day32_no_return"
    }

    fn part(&self) -> u32 {
        2
    }

    fn question(&self) -> &'static str {
        "What does the old value of an add cost, and who decides whether it is sent?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day32_no_return.cu"),
            ptx: &[
                (75, include_str!("../../../kernels/ptx/day32_no_return.sm75.ptx")),
                (90, include_str!("../../../kernels/ptx/day32_no_return.sm90.ptx")),
            ],
            claims: include_str!("../../../verification/claims/day32_no_return.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let names = || Target::NAMES.iter().map(|name| Coordinate::from(*name)).collect::<Vec<_>>();
        vec![
            Axis {
                name: "target",
                help: "Where a warp's adds go; again for several",
                places: Places::OneOf(&Target::NAMES),
                defaults: names(),
                simulator_defaults: names(),
            },
            Axis {
                name: "size",
                help: "Adds a launch, in place of the lab's own",
                places: Places::UpTo(u64::from(u32::MAX)),
                defaults: Vec::new(),
                simulator_defaults: vec![Coordinate::Number(20_001)],
            },
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            FigureEntry::rate("throughput", Unit::PerSecond, "time", 1, "adds a second, one a word"),
            FigureEntry::duration("time", "time of a launch, the words zeroed before"),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; add i is thread i mod threads's; {}; grid as many blocks as adds fill, 1,024 at most; clusters of \
             two blocks, 64 of them and as many as keep {CLUSTER_ADDS} adds a cluster, words in the shared memory of the \
             first, adds by the second; bulk_page a request of 1,024 words a block and round; adds a launch {:?}; words \
             zeroed before each sample, every word compared after it, and the sum of the old values where they are added up",
            Target::in_words(),
            VARIANTS.map(|variant| targets(variant.name)
                .iter()
                .map(|target| (variant.name, target.name(), size(variant.name, *target)))
                .collect::<Vec<_>>())
        )
    }

    fn headline(&self) -> FigureRef {
        FigureRef { figure: "time".to_owned(), variant: None, at: At::new() }
    }

    fn table(&self, _at: &At) -> TableOf {
        TableOf { rows: "target", columns: None, shared: At::new() }
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(exercise::EXERCISE)
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let sizes = selection.numbers("size");
        let chosen = |target: &Target| {
            selection.places.get("target").is_none_or(|names| names.contains(&target.name().into()))
        };
        let mut cases = Vec::new();
        for variant in &selection.variants {
            for target in targets(variant.name).iter().filter(|target| chosen(target)) {
                let own = [size(variant.name, *target)];
                for size in if sizes.is_empty() { &own[..] } else { &sizes[..] } {
                    let at = At::from([
                        ("target".to_owned(), target.name().into()),
                        ("size".to_owned(), Coordinate::Number(*size)),
                    ]);
                    cases.push(Case { variant: Some(*variant), at });
                }
            }
        }
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let Some(variant) = case.variant else { return Ok(()) };
        let words = Words::new(bench, variant.name, case)?;
        let check = |backend: &mut dyn Backend| words.check(backend);
        let work =
            Work { reset: vec![words.zero()], timed: vec![Step::Launch(words.launch())], check: &check };
        if !bench.passes(&variant, &case.at, &work)? {
            return Ok(());
        }
        bench.result("words", case, Like::Bits, |backend| Ok(Values::U32(words.found(backend)?)))?;
        bench.duration("time", case, &[], Cache::Hot, &work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_never_gets_more_adds_than_its_barrier_counts() {
        for size in [0, 1, 1 << 20, (1 << 20) + 1, 1 << 22, u64::from(u32::MAX)] {
            let clusters = words::clusters(size);
            let most = size.div_ceil(clusters * u64::from(BLOCK)) * u64::from(BLOCK);
            assert!(most * 4 < 1 << 20, "{size}: {clusters} clusters, {most} adds");
        }
    }

    #[test]
    fn every_variant_is_measured_contended_and_spread_where_it_can_be() {
        for variant in VARIANTS {
            let targets = targets(variant.name);
            assert!(targets.contains(&Target::Lines), "{}", variant.name);
            let contended = targets.iter().any(|target| matches!(target, Target::Word | Target::Line));
            assert!(contended || variant.name == "bulk_page", "{}", variant.name);
        }
    }
}
