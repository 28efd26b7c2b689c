//! NVIDIA's profiler ncu: what a GPU's counters say of single launches.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::backend::Counts;
use crate::failure::failed;
use crate::session::{self, Job};
use crate::{run, tools};

/// What the simulator predicts of a counter.
pub(super) type Prediction = fn(&Counts) -> Option<u64>;

/// The counters that are read. What arrives at the L2 (`lts__`) has no prediction: a warp's request is split by what a
/// slice can take, and counted once more where one slice forwards it to another.
pub(super) const COUNTERS: [(&str, Prediction); 7] = [
    ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", |counts| Some(counts.load_requests)),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", |counts| Some(counts.store_requests)),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", |counts| Some(counts.red_requests)),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", |counts| Some(counts.atom_requests)),
    ("smsp__inst_executed_op_global_red.sum", |counts| Some(counts.red_requests)),
    ("lts__t_requests_op_red.sum", |_| None),
    ("lts__t_requests_op_atom.sum", |_| None),
];

/// What a profiler saw of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its name and version.
    pub profiler: String,
    /// The launches it looked at, in order.
    pub launches: Vec<Profiled>,
}

/// A launch that ncu looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiled {
    /// The `__global__` function.
    pub kernel: String,
    /// Blocks, and threads a block; none where the log does not say.
    pub shape: Option<(u64, u64)>,
    /// What was counted, by the counter's name. A counter that ncu gives as not available is not here.
    pub counted: BTreeMap<String, u64>,
}

/// Runs a job that only checks under ncu, which reads these counters of the launches that are checked, one after the other. The GPU's
/// clocks are left alone, and nothing of the run's times is kept.
///
/// # Errors
/// A profiler that does not run, may not read the counters, or writes what can't be read.
pub fn profile(program: &Path, job: &Job, counters: &[&str]) -> Result<Seen> {
    let log = tempfile::NamedTempFile::new().context("no temporary file for ncu")?;
    let mut command = Command::new(program);
    command
        .env("LC_ALL", "C")
        .args(["--clock-control", "none", "--profile-from-start", "off"])
        .args(["--csv", "--print-units", "base", "--metrics", &counters.join(",")])
        .arg("--log-file")
        .arg(log.path())
        .arg(std::env::current_exe().context("cannot find this program's own file")?)
        .arg("worker");
    let bar = run::progress();
    let outcome = session::in_tool(&mut command, job, &mut |message| run::advance(&bar, message));
    bar.finish_and_clear();
    let bytes = std::fs::read(log.path()).context("cannot read ncu's log")?;
    let text = String::from_utf8_lossy(&bytes);
    // What ncu itself complains of explains more than how its child ended.
    outcome.map_err(|error| complaint(&text).map_or(error, failed))?;
    Ok(Seen { profiler: tools::version(program, "ncu"), launches: parse(&text)? })
}

/// The launches in a log of `ncu --csv`, whatever stands around its table.
///
/// # Errors
/// No table, no launch in it, a line that is cut, a value that is no count.
pub fn parse(log: &str) -> Result<Vec<Profiled>> {
    let said = |line: &&str| line.starts_with("==");
    let lines = log.lines().filter(|line| !said(line)).skip_while(|line| !line.starts_with("\"ID\","));
    let table: String = lines.flat_map(|line| [line, "\n"]).collect();
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let heads = reader.headers().context("ncu's table can't be read")?.clone();
    let mut launches: Vec<(String, Profiled)> = Vec::new();
    for line in reader.records() {
        let line = line.context("ncu's table is cut or mixed with something else")?;
        let cell =
            |head: &str| heads.iter().position(|known| known == head).and_then(|place| line.get(place));
        let need =
            |head: &str| cell(head).ok_or_else(|| failed(format!("ncu's table has no column `{head}`")));
        let (id, name, value) = (need("ID")?, need("Metric Name")?, need("Metric Value")?);
        let kernel = need("Kernel Name")?.split('(').next().unwrap_or_default().trim();
        if launches.last().is_none_or(|(known, _)| known != id) {
            let shape = cell("Grid Size").and_then(volume).zip(cell("Block Size").and_then(volume));
            let launch = Profiled { kernel: kernel.to_owned(), shape, counted: BTreeMap::new() };
            launches.push((id.to_owned(), launch));
        }
        let counted = count(value).ok_or_else(|| {
            failed(format!("ncu gives `{value}` for {name} of `{kernel}`, which is no count"))
        })?;
        if let (Some(counted), Some((_, launch))) = (counted, launches.last_mut()) {
            launch.counted.insert(name.to_owned(), counted);
        }
    }
    if launches.is_empty() {
        return Err(failed(complaint(log).unwrap_or_else(|| "ncu looked at no launch".to_owned())));
    }
    Ok(launches.into_iter().map(|(_, launch)| launch).collect())
}

/// ncu's own word on what went wrong.
fn complaint(log: &str) -> Option<String> {
    let line = log.lines().find_map(|line| line.strip_prefix("==ERROR=="))?;
    Some(format!("ncu: {}", line.trim()))
}

/// `2,048` or `256.000`; the inner none for a counter that is not available, the outer for what is no count.
fn count(text: &str) -> Option<Option<u64>> {
    let digits = text.replace(',', "");
    if digits.is_empty() || digits.ends_with("n/a") {
        return Some(None);
    }
    let (whole, part) = digits.split_once('.').unwrap_or((&digits, ""));
    let is_whole = part.bytes().all(|digit| digit == b'0');
    whole.parse().ok().filter(|_| is_whole).map(Some)
}

/// `(256, 1, 1)` is 256.
fn volume(text: &str) -> Option<u64> {
    let sides = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    sides
        .split(',')
        .map(|side| side.trim().parse::<u64>().ok())
        .try_fold(1, |all: u64, side| all.checked_mul(side?))
}
