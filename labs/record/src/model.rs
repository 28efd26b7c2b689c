//! The queue model: what a launch asks of a GPU, and how long the busiest queue of it takes.
//!
//! A launch lasts the launch floor, one round trip, and the longest of what goes on at the same time: each queue of
//! atomics, the reading of the input, the coming and going of blocks. A queue is requests times what one of them
//! occupies. The [`Constants`] come from day27 and day31 alone; what is predicted is day26, day28, day29 and day35, and
//! nothing is fitted on them.

use std::collections::BTreeMap;

use crate::figure::{At, Coordinate, Figure};
use crate::record::Record;

mod constants;
mod demands;

pub use constants::Constants;

/// The labs whose records the constants are taken from.
pub const MEASURED_BY: [&str; 2] = ["day27_address", "day31_placement"];

/// A prediction is held to be right within this part of what was measured.
pub const AIM: f64 = 0.25;

/// The aim is for predictions of which the queue is at least this part.
pub const QUEUED: f64 = 0.5;

/// What one launch, or one update of a run of fixed duration, asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Input read, bytes.
    pub bytes: f64,
    /// Blocks that come and go.
    pub blocks: f64,
    /// Whether it is a launch of its own, with its floor and round trip; else an update within one.
    pub launch: bool,
    /// Whether each update waits for the old value of the one before.
    pub dependent: bool,
    /// Its queues of atomics: what they wait for, and how long the busiest of its kind takes, ns.
    pub queues: Vec<(&'static str, f64)>,
    /// What the model knowingly leaves out of this one, for a reader who wonders about a miss.
    pub leaves_out: &'static str,
}

/// What the model says of one figure, and what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The lab's stem.
    pub lab: String,
    /// The variant.
    pub variant: String,
    /// The figure's place.
    pub at: At,
    /// What takes longest.
    pub bound: &'static str,
    /// Time by the model, ns.
    pub predicted_ns: f64,
    /// Median of what was measured, ns.
    pub measured_ns: f64,
    /// The part of the prediction that is the longest queue of atomics.
    pub queued: f64,
    /// What the model knowingly leaves out of this one.
    pub leaves_out: &'static str,
}

impl Prediction {
    /// Predicted over measured.
    pub fn ratio(&self) -> f64 {
        self.predicted_ns / self.measured_ns
    }

    /// Whether the aim is for this one: the queue is at least half the time.
    pub fn counts(&self) -> bool {
        self.queued >= QUEUED
    }

    /// Whether it is within the aim.
    pub fn hits(&self) -> bool {
        (self.predicted_ns - self.measured_ns).abs() <= AIM * self.measured_ns
    }
}

/// Every prediction for which there is a measured figure, lab by lab in reading order.
///
/// # Errors
/// Which constant is missing, and whose record should hold it.
pub fn predictions(records: &BTreeMap<String, &Record>) -> Result<Vec<Prediction>, String> {
    let constants = Constants::from_records(records)?;
    let mut all = Vec::new();
    for lab in demands::LABS {
        let Some(record) = records.get(lab) else { continue };
        for figure in record.figures.iter().filter(|figure| demands::predicts(lab, figure)) {
            let Some(demand) = demands::of(record, figure, &constants) else { continue };
            let Some(measured) = figure.summary().map(|summary| summary.median) else { continue };
            all.push(prediction(record, figure, &demand, &constants, measured));
        }
    }
    Ok(all)
}

fn prediction(
    record: &Record,
    figure: &Figure,
    demand: &Demand,
    constants: &Constants,
    measured_ns: f64,
) -> Prediction {
    let longest = |all: &[(&'static str, f64)]| {
        all.iter().copied().fold(("nothing", 0.0), |most, one| if one.1 > most.1 { one } else { most })
    };
    let queue = longest(&demand.queues);
    let machine = [
        ("reading", demand.bytes * constants.read_ns_a_byte),
        ("blocks", demand.blocks * constants.block_ns),
        ("round trip", if demand.dependent { constants.round_trip_ns } else { 0.0 }),
    ];
    let (bound, ns) = longest(&[&[queue], &machine[..]].concat());
    let fixed = if demand.launch { constants.launch_floor_ns + constants.round_trip_ns } else { 0.0 };
    Prediction {
        lab: record.lab.clone(),
        variant: figure.variant.clone().unwrap_or_default(),
        at: figure.at.clone(),
        bound,
        predicted_ns: fixed + ns,
        measured_ns,
        queued: queue.1 / (fixed + ns),
        leaves_out: demand.leaves_out,
    }
}

/// The median of the one figure of this name, variant and place; more places than are named may not be left open.
fn median(record: &Record, name: &str, variant: Option<&str>, at: &[(&str, Coordinate)]) -> Option<f64> {
    let mut here = record.figures.iter().filter(|figure| {
        figure.name == name
            && figure.variant.as_deref() == variant
            && at.iter().all(|(axis, place)| figure.at.get(*axis) == Some(place))
    });
    let figure = here.next()?;
    if here.next().is_some() {
        return None;
    }
    figure.summary().map(|summary| summary.median)
}
