//! `kernels/manifest.yaml`: what the labs of this checkout are. It is generated (`scripts/kernels`), and is how
//! the site and the checks know a lab without linking the program that runs it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::figure::{Coordinate, Figure, Kind, Samples, Unit};
use crate::record::{Compiler, Outcome};

/// Machine code by kernel: the `__global__` function's name, SHA-256 of its `.text` section.
pub type KernelHashes = BTreeMap<String, String>;

/// All labs and all machine code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`](crate::SCHEMA).
    pub schema: u32,
    /// The pinned compiler.
    pub compiler: Compiler,
    /// The labs by stem, `day26_sum`.
    pub labs: BTreeMap<String, LabEntry>,
    /// Machine code by kernel file's stem (`day26_sum`, `baseline`) and architecture (`sm_90`).
    pub code: BTreeMap<String, BTreeMap<String, KernelHashes>>,
}

/// A lab as its module declares it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabEntry {
    /// Part of the course, 1 to 4.
    pub part: u32,
    /// Its question, one sentence.
    pub question: String,
    /// SHA-256 over launch shapes, inputs and measuring rules.
    pub protocol: String,
    /// Its variants in teaching order.
    pub variants: Vec<VariantEntry>,
    /// The figures it makes.
    pub figures: Vec<FigureEntry>,
}

/// A variant as its lab declares it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantEntry {
    /// `block_tree`
    pub name: String,
    /// What it is declared to be.
    pub declared: Outcome,
    /// What it does, in a line.
    pub idea: String,
    /// The kernels it launches, in order.
    pub kernels: Vec<String>,
}

/// A figure as its lab declares it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureEntry {
    /// `time`
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// How it behaves.
    pub kind: Kind,
    /// What it is, in a line.
    pub means: String,
    /// May be missing without a reason (a peer's, where no peer could be built).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Not measured but computed from another figure, never stored in a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<Rate>,
}

/// A rate made from a time: `per_size` × the place on the axis `size`, over the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// The duration it is made from, in nanoseconds.
    pub from: String,
    /// Bytes (or events) one unit of `size` stands for.
    pub per_size: u64,
}

impl FigureEntry {
    /// A figure that every record has.
    pub fn new(name: &str, unit: Unit, kind: Kind, means: &str) -> FigureEntry {
        let (name, means) = (name.to_owned(), means.to_owned());
        FigureEntry { name, unit, kind, means, optional: false, derived: None }
    }

    /// A time.
    pub fn duration(name: &str, means: &str) -> FigureEntry {
        FigureEntry::new(name, Unit::Nanoseconds, Kind::Duration, means)
    }

    /// A count, the same in every sample.
    pub fn exact(name: &str, means: &str) -> FigureEntry {
        FigureEntry::new(name, Unit::Count, Kind::Exact, means)
    }

    /// A number that differs from run to run by nature.
    pub fn spread(name: &str, unit: Unit, means: &str) -> FigureEntry {
        FigureEntry::new(name, unit, Kind::Spread, means)
    }

    /// In how many tries something was seen.
    pub fn observation(name: &str, means: &str) -> FigureEntry {
        FigureEntry::new(name, Unit::One, Kind::Observation, means)
    }

    /// A rate: `per_size` × the place on the axis `size`, over the duration `from`.
    pub fn rate(name: &str, unit: Unit, from: &str, per_size: u64, means: &str) -> FigureEntry {
        let derived = Some(Rate { from: from.to_owned(), per_size });
        FigureEntry { derived, ..FigureEntry::new(name, unit, Kind::Duration, means) }
    }

    /// The same, but it may be missing without a reason.
    pub fn optional(self) -> FigureEntry {
        FigureEntry { optional: true, ..self }
    }
}

impl LabEntry {
    /// The figures of a record with the derived ones added, sample by sample.
    pub fn with_derived(&self, measured: &[Figure]) -> Vec<Figure> {
        let mut all = measured.to_vec();
        for entry in &self.figures {
            let Some(rate) = &entry.derived else { continue };
            let sources = measured.iter().filter(|figure| figure.name == rate.from);
            all.extend(sources.filter_map(|figure| rate.of(figure, entry)));
        }
        all
    }
}

impl Rate {
    fn of(&self, time: &Figure, entry: &FigureEntry) -> Option<Figure> {
        let Some(Coordinate::Number(size)) = time.at.get("size") else { return None };
        let amount = (self.per_size * size) as f64;
        // Bytes a nanosecond are 10^9 bytes a second.
        let scale = if entry.unit == Unit::GigabytesPerSecond { 1.0 } else { 1e9 };
        let samples = time
            .samples
            .iter()
            .map(|samples| match samples {
                Samples::Numbers(ns) => Samples::Numbers(
                    ns.iter().filter(|ns| **ns > 0.0).map(|ns| amount / ns * scale).collect(),
                ),
                tries @ Samples::Tries { .. } => tries.clone(),
            })
            .collect();
        let mut figure =
            Figure { name: entry.name.clone(), unit: entry.unit, samples, median: None, ..time.clone() };
        figure.median = figure.summary().map(|summary| summary.median);
        Some(figure)
    }
}
