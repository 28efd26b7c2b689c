//! What a lab is, and the labs there are.

use std::collections::BTreeMap;

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate};
use labs_record::manifest::{FigureEntry, LabEntry, VariantEntry};
use labs_record::record::{Outcome, sha256};

use crate::days;
use crate::exercise::Exercise;
use crate::measure::{Bench, MEASURING_RULES};

/// All labs, in reading order. A new lab is one line here.
pub fn registry() -> &'static [&'static dyn Lab] {
    &[
        &days::day26_sum::Sum,
        &days::day27_address::Address,
        &days::day28_cas_loop::CasLoop,
        &days::day29_histogram::Histogram,
        &days::day30_determinism::Determinism,
        &days::day31_placement::Placement,
        &days::day32_no_return::NoReturn,
        &days::day33_slice_map::SliceMap,
        &days::day23_shuffle::Shuffle,
        &days::day34_aggregation::Aggregation,
        &days::day35_filter::Filter,
        &days::day36_compaction::Compaction,
        &days::day14_barrier::Barrier,
        &days::day37_litmus::LitmusTests,
        &days::day38_order_cost::OrderCost,
        &days::day39_spin::Spin,
        &days::day40_lookback::Lookback,
    ]
}

/// The lab called `day26`, `day26_sum` or `sum`.
pub fn find(name: &str) -> Option<&'static dyn Lab> {
    registry().iter().copied().find(|lab| {
        let (day, idea) = names(lab.stem());
        name == lab.stem() || name == day || name == idea
    })
}

/// The two short names of a stem: `day26_sum` is `day26` and `sum`.
pub fn names(stem: &str) -> (&str, &str) {
    stem.split_once('_').unwrap_or((stem, stem))
}

/// One version of a lab's idea.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    /// What it does: `block_tree`. Its kernel has the same name where there is one only.
    pub name: &'static str,
    /// Correct, or wrong on purpose.
    pub declared: Outcome,
    /// What it does, in a line.
    pub idea: &'static str,
    /// The kernels it launches, in order.
    pub kernels: &'static [&'static str],
    /// Threads a block its kernels are launched with.
    pub block_threads: u32,
    /// Architecture it needs at least (90 for compute capability 9.0); 0 for any.
    pub needs: u32,
}

/// Threads a block where a lab does not say otherwise, as the kernels' sources have it.
pub const BLOCK: u32 = 256;

impl Variant {
    /// A correct one for every architecture, [`BLOCK`] threads a block.
    pub const fn new(name: &'static str, idea: &'static str, kernels: &'static [&'static str]) -> Variant {
        Variant { name, declared: Outcome::Correct, idea, kernels, block_threads: BLOCK, needs: 0 }
    }

    /// The same with blocks of `threads`.
    pub const fn block(self, threads: u32) -> Variant {
        Variant { block_threads: threads, ..self }
    }

    /// The same for this architecture and later ones.
    pub const fn needs(self, architecture: u32) -> Variant {
        Variant { needs: architecture, ..self }
    }

    /// The same, wrong on purpose: its check must refuse it.
    pub const fn wrong(self) -> Variant {
        Variant { declared: Outcome::Wrong, ..self }
    }

    /// The same, a race: wrong whatever comes out.
    pub const fn undefined(self) -> Variant {
        Variant { declared: Outcome::Undefined, ..self }
    }
}

/// An axis of a lab: an option of its command, and a coordinate of its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// `size`, which is also the option `--size`.
    pub name: &'static str,
    /// Help text of the option.
    pub help: &'static str,
    /// What it accepts.
    pub places: Places,
    /// Where it is measured on a GPU.
    pub defaults: Vec<Coordinate>,
    /// Where it is run on the simulator.
    pub simulator_defaults: Vec<Coordinate>,
}

/// What an axis accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Places {
    /// Whole numbers up to and including this one.
    UpTo(u64),
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// A named choice of places on one axis: `--mode NAME` stands for the axis's own option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// `sweep`
    pub name: &'static str,
    /// Help text.
    pub help: &'static str,
    /// The axis.
    pub axis: &'static str,
    /// Its places.
    pub places: &'static [u64],
}

/// An option that chooses variants by a part of what they are: `--scope cta`.
#[derive(Clone, Copy, Debug)]
pub struct Facet {
    /// `scope`, which is the option `--scope`.
    pub name: &'static str,
    /// Help text.
    pub help: &'static str,
    /// What it accepts.
    pub words: &'static [&'static str],
    /// Whether a word fits a variant of this name.
    pub fits: fn(&str, &str) -> bool,
}

/// What is known of a case without running it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Word {
    /// The case's variant.
    pub variant: String,
    /// The case's place.
    pub at: At,
    /// In a word: `forbidden`.
    pub word: String,
    /// Why, in lines.
    pub reason: String,
}

/// The kernel file, the PTX and the claims that ship inside the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Text of `kernels/<stem>.cu`.
    pub source: &'static str,
    /// PTX by the architecture it needs at least, oldest first.
    pub ptx: &'static [(u32, &'static str)],
    /// Text of `verification/claims/<stem>.yaml`.
    pub claims: &'static str,
}

/// What the simulator can say of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulated {
    /// Results and counts.
    Counts,
    /// Results only.
    Results,
    /// Nothing: the recorded table is shown instead.
    Nothing,
}

/// The table in which a figure is printed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableOf {
    /// The axis of its rows.
    pub rows: &'static str,
    /// The axis of its columns; none for a column a variant.
    pub columns: Option<&'static str>,
    /// Places that all its figures share.
    pub shared: At,
}

impl TableOf {
    /// A row a place on the lab's first axis, a table for each place on the others.
    pub fn first_axis(lab: &(impl Lab + ?Sized), at: &At) -> TableOf {
        let rows = lab.axes().first().map_or("size", |axis| axis.name);
        let others = at.iter().filter(|(axis, _)| *axis != rows);
        TableOf { rows, columns: None, shared: others.map(|(axis, at)| (axis.clone(), at.clone())).collect() }
    }
}

/// One thing to measure: a variant at a place on the lab's axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Which variant; none for a property of the machine.
    pub variant: Option<Variant>,
    /// Where.
    pub at: At,
}

impl Case {
    /// The place on a numeric axis; 0 where the case has none, which no lab declares.
    pub fn number(&self, axis: &str) -> u64 {
        match self.at.get(axis) {
            Some(Coordinate::Number(number)) => *number,
            _ => 0,
        }
    }

    /// `block_tree at size=4096`
    pub fn describe(&self) -> String {
        let places: Vec<String> = self.at.iter().map(|(axis, place)| format!("{axis}={place}")).collect();
        let what = self.variant.map_or("the machine", |variant| variant.name);
        if places.is_empty() { what.to_owned() } else { format!("{what} at {}", places.join(", ")) }
    }
}

/// A choice of variants and places: the defaults, or what the command line says.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Variants, in teaching order.
    pub variants: Vec<Variant>,
    /// Places by axis.
    pub places: BTreeMap<&'static str, Vec<Coordinate>>,
}

impl Selection {
    /// Every variant at every place, in order of the axes; what most labs measure.
    pub fn cases(&self) -> Vec<Case> {
        let mut points = vec![At::new()];
        for (axis, places) in &self.places {
            points = points
                .iter()
                .flat_map(|point| places.iter().map(move |place| with(point, axis, place)))
                .collect();
        }
        self.variants
            .iter()
            .flat_map(|variant| points.iter().map(|at| Case { variant: Some(*variant), at: at.clone() }))
            .collect()
    }

    /// The numbers on an axis.
    pub fn numbers(&self, axis: &str) -> Vec<u64> {
        let places = self.places.get(axis).map(Vec::as_slice).unwrap_or_default();
        let number = |place: &Coordinate| match place {
            Coordinate::Number(number) => Some(*number),
            Coordinate::Text(_) => None,
        };
        places.iter().filter_map(number).collect()
    }
}

fn with(point: &At, axis: &str, place: &Coordinate) -> At {
    let mut point = point.clone();
    point.insert(axis.to_owned(), place.clone());
    point
}

/// A lab: one idea, its variants, and how each is launched and checked.
pub trait Lab: Sync {
    /// `day26_sum`: the name of its kernel file, module, chapter, claims and record.
    fn stem(&self) -> &'static str;

    /// Part of the course, 1 to 4.
    fn part(&self) -> u32;

    /// Its question, one sentence.
    fn question(&self) -> &'static str;

    /// The kernels inside the program.
    fn shipped(&self) -> Shipped;

    /// Its variants in teaching order.
    fn variants(&self) -> &'static [Variant];

    /// Its axes.
    fn axes(&self) -> Vec<Axis>;

    /// Its modes, if it has any: choices of places that have a name.
    fn modes(&self) -> &'static [Mode] {
        &[]
    }

    /// Options that choose variants by a part of what they are, if it has any.
    fn facets(&self) -> &'static [Facet] {
        &[]
    }

    /// The figures it makes.
    fn figures(&self) -> Vec<FigureEntry>;

    /// Launch shapes and inputs in words and numbers. Whoever changes what is measured changes this text, and so
    /// makes every record of the lab stale.
    fn protocol(&self) -> String;

    /// What the simulator can say of it.
    fn simulated(&self) -> Simulated {
        Simulated::Counts
    }

    /// Figures that the simulator gives as well, results and no times: they stand under its counts.
    fn simulated_figures(&self) -> &'static [&'static str] {
        &[]
    }

    /// What the lab can say of cases without running them: a model's verdicts. They are printed beside what was measured,
    /// and where there is no GPU, in its stead.
    ///
    /// # Errors
    /// A case that the lab does not know.
    fn derived(&self, _cases: &[Case]) -> Result<Vec<Word>> {
        Ok(Vec::new())
    }

    /// The figure that stands for the lab: whose recorded value the simulator's table shows beside its counts.
    fn headline(&self) -> FigureRef {
        let at = [("cache", "hot"), ("launches", "single")];
        FigureRef {
            figure: "time".to_owned(),
            variant: None,
            at: at.map(|(axis, place)| (axis.to_owned(), place.into())).into(),
        }
    }

    /// The table in which the terminal shows a figure at this place.
    fn table(&self, at: &At) -> TableOf {
        TableOf::first_axis(self, at)
    }

    /// Why compute-sanitizer cannot judge a variant; none where it can, which is nearly everywhere.
    fn unsanitized(&self, _variant: &str) -> Option<&'static str> {
        None
    }

    /// Its exercise, if it has one.
    fn exercise(&self) -> Option<Exercise> {
        None
    }

    /// Where compute-sanitizer looks, which slows a launch down a hundredfold: every kernel, at sizes of nothing, one short
    /// of a block, and one past many blocks. An axis that is not here has its defaults.
    fn sanitized(&self) -> BTreeMap<String, Vec<Coordinate>> {
        [("size".to_owned(), [0, 255, 65_537].map(Coordinate::Number).to_vec())].into()
    }

    /// What to measure.
    fn cases(&self, selection: &Selection) -> Vec<Case> {
        selection.cases()
    }

    /// Measures one case: makes inputs, launches, has every result checked.
    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()>;
}

/// What the manifest says of a lab.
pub fn entry(lab: &dyn Lab) -> LabEntry {
    let variants = lab.variants().iter().map(|variant| VariantEntry {
        name: variant.name.to_owned(),
        declared: variant.declared,
        idea: variant.idea.to_owned(),
        kernels: variant.kernels.iter().map(|kernel| (*kernel).to_owned()).collect(),
    });
    LabEntry {
        part: lab.part(),
        question: lab.question().to_owned(),
        protocol: protocol_hash(lab),
        variants: variants.collect(),
        figures: lab.figures(),
    }
}

/// SHA-256 over everything that decides what the lab's figures mean.
pub fn protocol_hash(lab: &dyn Lab) -> String {
    let axes =
        lab.axes().iter().map(|axis| format!("{}: {:?}\n", axis.name, axis.defaults)).collect::<String>();
    sha256(format!("{MEASURING_RULES}\n{}\n{axes}", lab.protocol()).as_bytes())
}
