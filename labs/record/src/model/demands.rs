//! What each variant asks of a GPU: its atomics by address, its reads, its blocks. Nothing here was measured.

use super::{Constants, Demand, median};
use crate::figure::{Coordinate, Figure};
use crate::record::Record;

/// The labs that are predicted.
pub(super) const LABS: [&str; 4] = ["day26_sum", "day28_cas_loop", "day29_histogram", "day35_filter"];

/// Threads a block in all of them.
const BLOCK: f64 = 256.0;
/// The counters of day29.
const BINS: f64 = 256.0;

/// The figures that are predicted: single launches, with an input that is not in the L2 where that was measured, and
/// updates.
pub(super) fn predicts(lab: &str, figure: &Figure) -> bool {
    let at = |axis: &str, place: &str| figure.at.get(axis) == Some(&Coordinate::from(place));
    match lab {
        "day26_sum" => figure.name == "time" && at("cache", "cold") && at("launches", "single"),
        "day28_cas_loop" => figure.name == "update_time" && at("words", "one"),
        "day29_histogram" => {
            let queued = ["global_atomic", "padded_bins"].map(Some).contains(&figure.variant.as_deref());
            figure.name == "time" && at("cache", if queued { "hot" } else { "cold" })
        }
        _ => figure.name == "time" && at("launches", "single"),
    }
}

/// A figure's demand; none where the model has nothing to say.
pub(super) fn of(record: &Record, figure: &Figure, constants: &Constants) -> Option<Demand> {
    let variant = figure.variant.as_deref()?;
    let size = number(figure, "size").unwrap_or(0.0);
    match record.lab.as_str() {
        "day26_sum" => sum(record, figure, variant, size, constants),
        "day28_cas_loop" => update(figure, variant, constants),
        "day29_histogram" => histogram(record, figure, variant, size, constants),
        _ => filter(record, figure, variant, size, constants),
    }
}

fn number(figure: &Figure, axis: &str) -> Option<f64> {
    match figure.at.get(axis)? {
        Coordinate::Number(number) => Some(*number as f64),
        Coordinate::Text(_) => None,
    }
}

/// A launch that reads `bytes`.
fn launch(bytes: f64, blocks: f64, queues: Vec<(&'static str, f64)>, leaves_out: &'static str) -> Demand {
    Demand { bytes, blocks, launch: true, dependent: false, queues, leaves_out }
}

/// day26: floats, one total. What is folded is folded on chip, a block's share at a time.
fn sum(record: &Record, figure: &Figure, variant: &str, n: f64, constants: &Constants) -> Option<Demand> {
    let at = [("size", figure.at.get("size")?.clone())];
    let adds = median(record, "global_atomics", Some(variant), &at)?;
    let mut queues = vec![("one address", adds * constants.add_f32_ns)];
    if variant == "shared_privatised" {
        queues.push(("one word of each block", n / constants.sms * constants.shared_f32_ns));
    }
    let blocks = match variant {
        "grid_stride" | "vectorised" | "two_pass" => adds,
        _ => (n / BLOCK).ceil(),
    };
    let leaves_out = match variant {
        "block_tree" | "warp_shuffle" => {
            "the steps of a block's fold, and that they take turns with its reads"
        }
        "two_pass" => "the second launch",
        "shared_privatised" => {
            "how many contend at a time: the constant's threads add without a pause, these once each"
        }
        _ => "",
    };
    Some(launch(4.0 * n, blocks, queues, leaves_out))
}

/// day28: integers on one word, as many updates in flight as threads; the time of one thread's update.
fn update(figure: &Figure, variant: &str, constants: &Constants) -> Option<Demand> {
    let dependent = match variant {
        "native_add" | "native_subtract" => false,
        "native_fetch_add" => true,
        _ => return None,
    };
    let queues = vec![("one address", number(figure, "contenders")? * constants.add_u32_ns)];
    let leaves_out = if dependent {
        "the loop around the add, which reads a clock"
    } else {
        "how often one thread can send an add"
    };
    Some(Demand { bytes: 0.0, blocks: 0.0, launch: false, dependent, queues, leaves_out })
}

/// day29: bytes, 256 counters. The busiest bin is a queue of its own; where bytes are spread, all of them share slices.
fn histogram(
    record: &Record,
    figure: &Figure,
    variant: &str,
    n: f64,
    constants: &Constants,
) -> Option<Demand> {
    let at = ["input", "size"].map(|axis| figure.at.get(axis).map(|place| (axis, place.clone())));
    let at: Vec<_> = at.into_iter().flatten().collect();
    let share = median(record, "busiest_share", None, &at)?;
    let busiest = ("the busiest bin", share * n * constants.add_u32_ns);
    let adds = median(record, "global_atomics", Some(variant), &at)?;
    let flush = ("the bins of all blocks", adds * constants.rows_ns);
    let own = ("the words of each block", n / constants.sms * constants.shared_u32_ns);
    let (queues, leaves_out) = match variant {
        "global_atomic" => {
            (vec![busiest, ("256 words", n * constants.packed_ns)], "skew short of the busiest bin")
        }
        "padded_bins" => {
            (vec![busiest, ("256 lines", n * constants.padded_ns)], "skew short of the busiest bin")
        }
        "block_private" | "wide_loads" => (
            vec![own, flush],
            "that adding 1 has an instruction of its own, `ATOMS.POPC.INC`, and that a block adds to many words",
        ),
        // Copies, runs and matches send fewer adds than bytes, and how many hangs on the input.
        _ => return None,
    };
    let blocks = (adds / BINS).min(n / BLOCK);
    Some(launch(n, blocks, queues, leaves_out))
}

/// day35: 64-bit integers, one counter. A warp's hits are one add where the compiler folds them.
fn filter(record: &Record, figure: &Figure, variant: &str, n: f64, constants: &Constants) -> Option<Demand> {
    let at: Vec<(&str, Coordinate)> = ["layout", "size", "threshold"]
        .into_iter()
        .filter_map(|axis| Some((axis, figure.at.get(axis)?.clone())))
        .collect();
    let adds = |variant: &str| median(record, "queued_adds", Some(variant), &at);
    let mut queues = vec![("one address", adds(variant)? * constants.add_u64_ns)];
    let an_sm = adds("agg")? / constants.sms;
    match variant {
        "smem" | "agg_smem" => queues.push(("one word of each block", an_sm * constants.shared_u64_ns)),
        "smem32" => queues.push(("one word of each block", an_sm * constants.shared_u32_ns)),
        _ => {}
    }
    let leaves_out = match variant {
        "smem" | "smem32" | "agg_smem" => "two barriers a block, and that a block's add waits for them",
        _ => "",
    };
    Some(launch(4.0 * n, (n / BLOCK).ceil(), queues, leaves_out))
}
