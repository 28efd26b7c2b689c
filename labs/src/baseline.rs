//! What a lab's times are held against: the launch floor and the read roofline, measured in the same session.

use anyhow::Result;
use labs_record::figure::{Coordinate, Unit};
use labs_record::manifest::FigureEntry;

use crate::backend::{Argument, Buffer, Launch, Step};
use crate::lab::{Case, Shipped};
use crate::measure::{Bench, Cache, Work};

/// The baseline's kernels.
pub const SHIPPED: Shipped = Shipped {
    source: include_str!("../../kernels/baseline.cu"),
    ptx: &[(75, include_str!("../../kernels/ptx/baseline.sm75.ptx"))],
    claims: "",
};

/// Name of its kernel file.
pub const STEM: &str = "baseline";

/// The size at which reading is measured: four times and more what an L2 holds.
pub const READ_SIZE: u64 = 1 << 26;

/// Launches in a batch of empty kernels.
const EMPTY_BATCH: u32 = 64;

/// The figures' declarations, for a lab that measures them.
pub fn figures() -> Vec<FigureEntry> {
    vec![
        launch_floor(),
        FigureEntry::duration("read_time", "time to read the input with 16-byte loads and do nothing else"),
        FigureEntry::rate(
            "read_bandwidth",
            Unit::GigabytesPerSecond,
            "read_time",
            4,
            "four bytes an element over read_time",
        ),
    ]
}

/// The first of them alone.
pub fn launch_floor() -> FigureEntry {
    FigureEntry::duration("launch_floor", "time of a kernel that does nothing")
}

/// The cases of these figures.
pub fn cases() -> Vec<Case> {
    let case = |at: &[(&str, Coordinate)]| Case {
        variant: None,
        at: at.iter().map(|(axis, place)| ((*axis).to_owned(), place.clone())).collect(),
    };
    vec![
        case(&[("launches", "single".into())]),
        case(&[("launches", "batched".into())]),
        case(&[("cache", "cold".into()), ("size", READ_SIZE.into())]),
    ]
}

/// Measures one of [`cases`]; `input` holds [`READ_SIZE`] floats if the case reads.
pub fn measure(bench: &mut Bench<'_>, case: &Case, input: Option<Buffer>) -> Result<()> {
    let nothing_to_check = |_: &mut dyn crate::backend::Backend| Ok(Ok(()));
    if let Some(input) = input {
        return read(bench, case, &[], input, READ_SIZE * 4, Cache::Cold);
    }
    let empty = Launch::new("empty", 1, 32, Vec::new());
    let batched = case.at.get("launches") == Some(&Coordinate::from("batched"));
    let launches = if batched { EMPTY_BATCH } else { 1 };
    let timed = vec![Step::Launch(empty); launches as usize];
    let work = Work { reset: Vec::new(), timed, check: &nothing_to_check };
    bench.durations("launch_floor", case, &[], Cache::Hot, &work, launches)
}

/// Measures `read_time` of the first `bytes` of `input`, which are finite as floats.
pub fn read(
    bench: &mut Bench<'_>,
    case: &Case,
    at: &[(&str, Coordinate)],
    input: Buffer,
    bytes: u64,
    cache: Cache,
) -> Result<()> {
    let nothing_to_check = |_: &mut dyn crate::backend::Backend| Ok(Ok(()));
    let unused = bench.scratch("baseline_out", 4)?;
    let arguments = vec![Argument::Buffer(input), Argument::Buffer(unused), Argument::U64(bytes / 16)];
    let grid = bench.backend.device().gpu.sms * 8;
    let launch = Launch::new("read_only", grid, 256, arguments);
    let work = Work { reset: Vec::new(), timed: vec![Step::Launch(launch)], check: &nothing_to_check };
    bench.duration("read_time", case, at, cache, &work)
}
