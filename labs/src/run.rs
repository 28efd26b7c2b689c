//! `labs dayNN`: run one lab here, now.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use labs_record::manifest::Manifest;
use labs_record::record::{Check, Record};
use labs_record::rules::{self, Status};
use labs_record::{Coordinate, store};

use crate::cli::{BackendChoice, CheckChoice, Format, RunArgs};
use crate::draft::{self, Extras};
use crate::failure::{Failure, Kind, failed, usage};
use crate::lab::{self, Case, Lab, Word};
use crate::plot::{self, Plot};
use crate::session::{self, Job, Message, Report};
use crate::{code, print, records, simulate};

/// The GPU whose record stands in where there is none to measure on.
pub const REFERENCE_GPU: &str = "nvidia-h200";

/// Runs a lab and prints what it found.
///
/// # Errors
/// As the exit codes say; a wrong result is an error after everything was printed.
pub fn run(lab: &'static dyn Lab, args: &RunArgs, places: BTreeMap<String, Vec<Coordinate>>) -> Result<()> {
    let job = Job {
        lab: lab.stem().to_owned(),
        variants: args.variants.clone(),
        places,
        samples: args.samples.map(|samples| samples as usize),
        seed: args.seed,
        kernel: args.kernel.clone(),
        pinned: false,
        only_check: false,
    };
    // The name travels to the process that measures as text.
    if let Some(file) = args.kernel.as_ref().filter(|file| file.to_str().is_none()) {
        return Err(usage(format!("--kernel `{}`: its name is not UTF-8; rename it", file.display())));
    }
    for (option, file) in [("--out", &args.out), ("--plot", &args.plot)] {
        // An unwritable place is found out before the work, not after it.
        if let Some(file) = file {
            store::can_write(file).map_err(|error| usage(format!("{error}; choose another {option}")))?;
        }
    }
    let started = draft::now();
    let simulators = match (args.check, args.schedule) {
        (Some(_), _) => Some("--check races"),
        (None, Some(_)) => Some("--schedule"),
        (None, None) => None,
    };
    if let (Some(option), BackendChoice::Cuda) = (simulators, args.backend) {
        return Err(usage(format!("`{option}` is the simulator's; leave `--backend cuda` away")));
    }
    match (args.check, args.backend) {
        (Some(CheckChoice::Races), _) => simulate::races(lab, &job, args),
        (None, BackendChoice::Sim) => simulate::run(lab, &job, args),
        (None, _) if args.schedule.is_some() => simulate::run(lab, &job, args),
        (None, BackendChoice::Cuda) => show(lab, args, on_gpu(&job)?, &started),
        (None, BackendChoice::Auto) => {
            let mut at_work = false;
            match on_gpu_watched(&job, &mut |message| at_work |= matches!(message, Message::Case { .. })) {
                Ok(report) => show(lab, args, report, &started),
                // A session that began its first case has a GPU; what it lacks then, memory say, the simulator
                // lacks all the more. Everything before that is what the simulator is for.
                Err(error) => match error.downcast_ref::<Failure>() {
                    Some(failure) if failure.kind == Kind::Lacks && !at_work => {
                        anstream::eprintln!("the simulator runs, since {failure}");
                        simulate::run(lab, &job, args)
                    }
                    _ => Err(error),
                },
            }
        }
    }
}

/// Runs a job in a child process with a progress bar.
///
/// # Errors
/// As [`session::in_child`].
pub fn on_gpu(job: &Job) -> Result<Report> {
    on_gpu_watched(job, &mut |_| ())
}

fn on_gpu_watched(job: &Job, watch: &mut dyn FnMut(&Message)) -> Result<Report> {
    let bar = progress();
    let outcome = session::in_child(job, &mut |message| {
        advance(&bar, message);
        watch(message);
    });
    bar.finish_and_clear();
    outcome
}

/// Moves a progress bar on.
pub fn advance(bar: &ProgressBar, message: &Message) {
    if let Message::Case { index, of, name } = message {
        bar.set_length(*of as u64);
        bar.set_position(*index as u64);
        bar.set_message(name.clone());
    }
}

/// Prints results, or writes them to a file.
///
/// # Errors
/// The file can't be written.
pub fn deliver(out: Option<&Path>, text: &str) -> Result<()> {
    match out {
        Some(path) => Ok(store::write_text(path, text)?),
        None => {
            anstream::print!("{text}");
            Ok(())
        }
    }
}

/// A progress bar on standard error, if that is a terminal.
pub fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn show(lab: &'static dyn Lab, args: &RunArgs, report: Report, started: &str) -> Result<()> {
    let origin = report.origin.clone();
    if !report.warnings.is_empty() {
        anstream::eprintln!("{}", report.warnings.trim_end());
    }
    let refusals = refusals(&report);
    let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let extras = Extras { command: format!("labs {command}"), ..Extras::default() };
    let record = draft::record(lab, started, vec![report], extras).context("the session gave no report")?;
    let text = match args.format {
        Format::Table => tables(lab, &record, &refusals, &origin)?,
        Format::Json => serde_json::to_string_pretty(&record)? + "\n",
        Format::Csv => print::csv(&record, &lab::entry(lab))?,
    };
    deliver(args.out.as_deref(), &text)?;
    if let Some(file) = &args.plot {
        let figures = lab::entry(lab).with_derived(&record.figures);
        let of = lab.headline();
        let plot = Plot { figures: &figures, name: &of.figure, at: &of.at, origin: &record.gpu.name };
        plot::write(file, lab, &plot)?;
    }
    if print::as_declared(&record) {
        return Ok(());
    }
    let (name, reason) = refusals.first().cloned().unwrap_or_default();
    Err(failed(format!("{name}: {reason}")))
}

fn refusals(report: &Report) -> Vec<(String, String)> {
    let checks = report.findings.checks.iter();
    checks
        .filter(|(_, check, _)| *check == Check::Refused)
        .map(|(name, _, reason)| (name.clone(), reason.clone().unwrap_or_default()))
        .collect()
}

fn tables(lab: &dyn Lab, record: &Record, refusals: &[(String, String)], origin: &str) -> Result<String> {
    let entry = lab::entry(lab);
    let driver = record.sittings.first().map_or("", |sitting| sitting.driver.as_str());
    let mut text = format!("{}\n{}, driver {driver}, {origin}\n\n", lab.question(), record.gpu.name);
    text += &print::figures(record, lab, &entry);
    text += &print::derived(lab, &derived(lab, record)?, Format::Table)?;
    text += &print::resources(record);
    text += &print::checks(record, refusals);
    text += &print::set_aside(record);
    let claims = store::parse(lab.shipped().claims, "claims file inside this program")?;
    text += &print::claims(&claims, record, &entry)?;
    text.push('\n');
    Ok(text)
}

/// What the lab says of the cases that were measured.
fn derived(lab: &dyn Lab, record: &Record) -> Result<Vec<Word>> {
    let mut cases: Vec<Case> = Vec::new();
    for figure in &record.figures {
        let variant = lab.variants().iter().find(|v| Some(v.name) == figure.variant.as_deref()).copied();
        let mut at = figure.at.clone();
        at.retain(|axis, _| lab.axes().iter().any(|known| known.name == axis));
        let case = Case { variant, at };
        if variant.is_some() && !cases.contains(&case) {
            cases.push(case);
        }
    }
    lab.derived(&cases)
}

/// The reference GPU's record of a lab, if this is a checkout that has one which may be shown: one that is stale, a draft or
/// broken is left out and told.
pub fn reference_record(lab: &dyn Lab) -> Option<Record> {
    let root = code::root()?;
    let place = format!("verification/{REFERENCE_GPU}/{}.yaml", lab.stem());
    let path = root.join(&place);
    if !path.is_file() {
        return None;
    }
    let judged =
        || -> Result<(Record, Manifest)> { Ok((store::read_record(&path)?, records::manifest(&root)?)) };
    let why = match judged() {
        Err(error) => format!("{error:#}"),
        Ok((record, manifest)) => {
            match (rules::faults(&record, &manifest).first(), rules::status(&record, &manifest)) {
                (Some(fault), _) => fault.clone(),
                (None, Status::Verified) => return Some(record),
                // Every kernel may be a reason of its own: the first will do.
                (None, Status::Draft(why)) => format!("draft: {}", why.first().map_or("", String::as_str)),
                (None, Status::Stale(why)) => format!("stale: {}", why.first().map_or("", String::as_str)),
            }
        }
    };
    anstream::eprintln!("no recorded times: `{place}` is left out: {why}");
    None
}

/// Prints the reference GPU's recorded table, marked as recorded.
pub fn recorded(lab: &dyn Lab) {
    let Some(record) = reference_record(lab) else { return };
    let date = record.sittings.last().map_or("", |sitting| sitting.started.as_str());
    anstream::println!("RECORDED on {}, {date}; not measured here\n", record.gpu.name);
    anstream::print!("{}", print::figures(&record, lab, &lab::entry(lab)));
}
