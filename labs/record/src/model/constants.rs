//! The model's constants, each from a figure of day27 or day31.

use std::collections::BTreeMap;

use super::{MEASURED_BY, median};
use crate::figure::Coordinate;
use crate::record::{Reading, Record};

/// What one of each thing occupies, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    /// A launch that does nothing.
    pub launch_floor_ns: f64,
    /// From an SM to the L2 and back: the middle of one dependent add over lines and SMs.
    pub round_trip_ns: f64,
    /// A byte read by the whole GPU.
    pub read_ns_a_byte: f64,
    /// A block of 256 threads that comes and goes, of the whole GPU.
    pub block_ns: f64,
    /// A lane's add on one address in global memory, by type.
    pub add_u32_ns: f64,
    /// As above, 64-bit integers.
    pub add_u64_ns: f64,
    /// As above, floats.
    pub add_f32_ns: f64,
    /// A lane's add when the lanes are spread at random over 256 words side by side.
    pub packed_ns: f64,
    /// As above, each word in a line of its own.
    pub padded_ns: f64,
    /// A lane's add when neighbouring lanes add to neighbouring ones of 256 words.
    pub rows_ns: f64,
    /// A lane's add on one word of its block's shared memory, of one SM that is full of blocks of 256 threads.
    pub shared_u32_ns: f64,
    /// As above, 64-bit integers.
    pub shared_u64_ns: f64,
    /// As above, floats.
    pub shared_f32_ns: f64,
    /// SMs.
    pub sms: f64,
}

impl Constants {
    /// Reads them out of the two labs' records.
    ///
    /// # Errors
    /// Which is missing.
    pub fn from_records(records: &BTreeMap<String, &Record>) -> Result<Constants, String> {
        let record = |lab: &str| {
            records
                .get(lab)
                .copied()
                .ok_or_else(|| format!("the model needs a record of {lab}, and there is none"))
        };
        let [day27, day31] = [record(MEASURED_BY[0])?, record(MEASURED_BY[1])?];
        let launch_floor_ns = of(day31, "launch_floor", None, &[("launches", "single".into())])?;
        let add = |variant: &str, sweep: &str, addresses: u64, stride: u64, mapping: &str| {
            let at = [
                ("sweep", Coordinate::from(sweep)),
                ("addresses", addresses.into()),
                ("stride", stride.into()),
                ("mapping", mapping.into()),
            ];
            an_operation(day27, "time", variant, &at, launch_floor_ns)
        };
        let shared = |variant: &str| {
            an_operation(day31, "sm_time", variant, &[("resident", 8.into())], launch_floor_ns)
        };
        let (read_bytes, blocks) = (4.0 * f64::from(1 << 26), f64::from(1 << 16));
        let read = of(day31, "read_time", None, &[("cache", "cold".into()), ("size", (1 << 26).into())])?;
        let turnover = of(day31, "turnover_time", None, &[("blocks", (1 << 16).into())])?;
        Ok(Constants {
            launch_floor_ns,
            round_trip_ns: round_trip(day31)?,
            read_ns_a_byte: (read - launch_floor_ns) / read_bytes,
            block_ns: (turnover - launch_floor_ns) / blocks,
            add_u32_ns: add("add_u32", "operation", 1, 128, "random")?,
            add_u64_ns: add("add_u64", "operation", 1, 128, "random")?,
            add_f32_ns: add("add_f32", "operation", 1, 128, "random")?,
            packed_ns: add("add_u32", "mapping", 256, 4, "random")?,
            padded_ns: add("add_u32", "addresses", 256, 128, "random")?,
            rows_ns: add("add_u32", "mapping", 256, 4, "contiguous")?,
            shared_u32_ns: shared("shared_u32")?,
            shared_u64_ns: shared("shared_u64")?,
            shared_f32_ns: shared("shared_f32")?,
            sms: f64::from(day31.gpu.sms),
        })
    }
}

fn of(record: &Record, name: &str, variant: Option<&str>, at: &[(&str, Coordinate)]) -> Result<f64, String> {
    median(record, name, variant, at).ok_or_else(|| {
        format!("the model needs `{name}` of {}, and its record has no single one", record.lab)
    })
}

/// What one operation of a launch occupies: the launch's time past the floor over its `size`.
fn an_operation(
    record: &Record,
    name: &str,
    variant: &str,
    at: &[(&str, Coordinate)],
    floor: f64,
) -> Result<f64, String> {
    let time = of(record, name, Some(variant), at)?;
    let here = |figure: &&crate::Figure| {
        figure.name == name
            && figure.variant.as_deref() == Some(variant)
            && at.iter().all(|(axis, place)| figure.at.get(*axis) == Some(place))
    };
    match record.figures.iter().find(here).and_then(|figure| figure.at.get("size")) {
        Some(Coordinate::Number(size)) if *size > 0 => Ok((time - floor).max(0.0) / *size as f64),
        _ => Err(format!("the model needs the size of `{name}` of {variant} in {}", record.lab)),
    }
}

/// Cycles of a dependent add over the SM clock of the sessions that measured it.
fn round_trip(day31: &Record) -> Result<f64, String> {
    let cycles = of(day31, "round_trip", Some("global_u32"), &[])?;
    let sessions = day31.sittings.iter().flat_map(|sitting| &sitting.sessions);
    let clocks: Vec<f64> = sessions
        .filter_map(|session| match session.sm_clock_mhz {
            Reading::Seen { median, .. } => Some(median),
            Reading::Absent(_) => None,
        })
        .collect();
    let clock = crate::statistics::median(&clocks)
        .ok_or("the model needs the SM clock, and the sensors of day31's sessions gave none")?;
    Ok(cycles / clock * 1000.0)
}
