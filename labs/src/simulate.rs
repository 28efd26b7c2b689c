//! A lab on the simulator: results, counts, races; never a time of its own.

use anyhow::Result;
use labs_record::figure::{At, Coordinate, Figure, Unit};
use labs_record::record::{Check, Outcome, Record};
use labs_record::table::{self, EMPTY, Table};
use labs_record::units;
use labs_simt::race::Report as Races;
use labs_simt::{Options, Order};
use serde::Serialize;

use crate::backend::Counts;
use crate::backend::sim::Sim;
use crate::cli::{Format, RunArgs, ScheduleChoice};
use crate::failure::{failed, usage};
use crate::lab::{self, Lab, Simulated, Variant};
use crate::plot::{self, Plot};
use crate::session::{self, Job, Report};
use crate::{code, print, run};

/// Schedules under which races are looked for: in order, four shuffles, and one that starves a block.
const RACE_SCHEDULES: [(Order, u64); 6] = [
    (Order::Fair, 0),
    (Order::Shuffled, 1),
    (Order::Shuffled, 2),
    (Order::Shuffled, 3),
    (Order::Shuffled, 4),
    (Order::Adversarial, 0),
];

/// Runs a job on the simulator and prints results and counts.
///
/// # Errors
/// A lab that the simulator can say nothing of (kind `Lacks`, after the recorded table); a wrong result, after everything
/// was printed.
pub fn run(lab: &'static dyn Lab, job: &Job, args: &RunArgs) -> Result<()> {
    if lab.simulated() == Simulated::Nothing {
        let words = lab.derived(&session::cases(lab, job))?;
        if !words.is_empty() {
            let text = print::derived(lab, &words, args.format)?;
            return run::deliver(args.out.as_deref(), &text);
        }
        run::recorded(lab);
        return Err(crate::failure::lacks(format!(
            "{} needs a GPU: the simulator has no times; the table above, if there is one, was recorded",
            lab.stem()
        )));
    }
    let order = match args.schedule {
        None | Some(ScheduleChoice::Fair) => Order::Fair,
        Some(ScheduleChoice::Shuffled) => Order::Shuffled,
        Some(ScheduleChoice::Adversarial) => Order::Adversarial,
    };
    let mut report = session(lab, job, Options { seed: job.seed, order, ..Options::default() })?;
    catch_undefined(lab, job, &mut report)?;
    if !report.warnings.is_empty() {
        anstream::eprintln!("{}", report.warnings.trim_end());
    }
    let outcome = Outcomes::of(lab, &report);
    let text = match args.format {
        Format::Table => tables(lab, &report, &outcome),
        Format::Json => serde_json::to_string_pretty(&outcome)? + "\n",
        Format::Csv => csv(&outcome)?,
    };
    run::deliver(args.out.as_deref(), &text)?;
    if let Some(file) = &args.plot {
        let queue = |line: &CountLine| {
            plot::count("longest_queue", &line.variant, &line.at, line.counts.global_queue)
        };
        let figures: Vec<Figure> = outcome.counts.iter().map(queue).collect();
        let plot =
            Plot { figures: &figures, name: "longest_queue", at: &At::new(), origin: &report.gpu.name };
        plot::write(file, lab, &plot)?;
    }
    outcome.as_declared()
}

fn session(lab: &dyn Lab, job: &Job, options: Options) -> Result<Report> {
    let mut sim = Sim::new(options, false);
    let code = code::for_simulator(lab, job.kernel.as_deref(), 90)?;
    let bar = run::progress();
    let report = session::run(job, lab, &mut sim, code, true, &mut |message| run::advance(&bar, &message));
    bar.finish_and_clear();
    report
}

/// What a simulated run says, as programs read it.
#[derive(Debug, Serialize)]
struct Outcomes {
    lab: String,
    backend: &'static str,
    kernels: String,
    checks: Vec<CheckLine>,
    counts: Vec<CountLine>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    figures: Vec<Figure>,
}

#[derive(Debug, Serialize)]
struct CheckLine {
    variant: String,
    declared: Outcome,
    check: Check,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct CountLine {
    variant: String,
    at: At,
    #[serde(flatten)]
    counts: Counts,
}

impl Outcomes {
    fn of(lab: &dyn Lab, report: &Report) -> Outcomes {
        let declared = |name: &str| lab.variants().iter().find(|v| v.name == name).map(|v| v.declared);
        let check = |(name, check, reason): &(String, Check, Option<String>)| {
            Some(CheckLine {
                variant: name.clone(),
                declared: declared(name)?,
                check: *check,
                reason: reason.clone(),
            })
        };
        let count = |(variant, at, counts): &(String, At, Counts)| CountLine {
            variant: variant.clone(),
            at: at.clone(),
            counts: *counts,
        };
        let answered = |figure: &&Figure| lab.simulated_figures().contains(&figure.name.as_str());
        Outcomes {
            lab: lab.stem().to_owned(),
            backend: "simulator",
            kernels: report.origin.clone(),
            checks: report.findings.checks.iter().filter_map(check).collect(),
            counts: report.findings.counts.iter().map(count).collect(),
            figures: report.findings.figures.iter().filter(answered).cloned().collect(),
        }
    }

    /// An error for the first variant whose outcome is not the one it declares.
    fn as_declared(&self) -> Result<()> {
        for line in &self.checks {
            match (line.declared, line.check) {
                (Outcome::Correct, Check::Refused) => {
                    let reason = line.reason.clone().unwrap_or_default();
                    return Err(failed(format!("{}: {reason}", line.variant)));
                }
                (Outcome::Wrong | Outcome::Undefined, Check::Passed) => {
                    return Err(failed(format!(
                        "{} is wrong on purpose, and its check passed",
                        line.variant
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn tables(lab: &dyn Lab, report: &Report, outcome: &Outcomes) -> String {
    let recorded = recorded_figures(lab);
    let gpu = recorded.as_ref().map(|(record, _)| record.gpu.name.clone());
    let mut text = format!("{}\n{}, {}\n\n", lab.question(), report.gpu.name, report.origin);
    let axis = lab.axes().first().map_or("size", |axis| axis.name);
    let mut groups: Vec<At> = Vec::new();
    for line in &outcome.counts {
        if !groups.contains(&line.at) {
            groups.push(line.at.clone());
        }
    }
    groups.sort();
    for at in &groups {
        let title: Vec<String> =
            at.iter().map(|(axis, place)| format!("{axis} {}", table::coordinate(place))).collect();
        let lines: Vec<&CountLine> = outcome.counts.iter().filter(|line| line.at == *at).collect();
        // A column of zeros tells nothing of this lab.
        let counted = |column: &&Column| outcome.counts.iter().any(|line| (column.1)(&line.counts) > 0);
        let columns: Vec<&Column> = COLUMNS.iter().filter(counted).collect();
        let times = recorded.as_ref().map(|(_, times)| times.as_slice());
        let rows = lines.iter().map(|line| row(line, times, axis, &columns)).collect();
        let time = gpu.as_ref().map_or("recorded time".to_owned(), |gpu| format!("recorded on {gpu}"));
        let heads = [""].into_iter().chain(columns.iter().map(|(head, _)| *head)).chain([time.as_str()]);
        text += &format!(
            "{}\n{}\n\n",
            title.join(", "),
            print::table(&Table { columns: heads.map(str::to_owned).collect(), rows })
        );
    }
    text += &print::named_figures(&outcome.figures, lab.simulated_figures(), lab, &lab::entry(lab));
    text += &checks(outcome);
    text += &closing(outcome, recorded.as_ref(), groups.last());
    text
}

/// A column of counts: its head, and where it stands in the counts.
type Column = (&'static str, fn(&Counts) -> u64);

const COLUMNS: [Column; 7] = [
    ("asked", |counts| counts.global_atomics),
    ("failed swaps", |counts| counts.failed_swaps),
    ("after folding", |counts| counts.global_after_folding),
    ("longest queue", |counts| counts.global_queue),
    ("in shared memory", |counts| counts.shared_atomics),
    ("longest queue there", |counts| counts.shared_queue),
    ("instructions", |counts| counts.lane_instructions),
];

fn row(line: &CountLine, recorded: Option<&[Figure]>, axis: &str, columns: &[&Column]) -> Vec<String> {
    let time = recorded
        .and_then(|times| time_of(times, &line.variant, &line.at, axis))
        .map_or(EMPTY.to_owned(), table::cell);
    let counts = columns.iter().map(|(_, count)| units::count(count(&line.counts) as f64));
    std::iter::once(line.variant.clone()).chain(counts).chain([time]).collect()
}

fn checks(outcome: &Outcomes) -> String {
    let mut text = String::new();
    for line in &outcome.checks {
        let reason = line.reason.as_deref().unwrap_or_default();
        text += &match (line.declared, line.check) {
            (Outcome::Correct, Check::Passed) => continue,
            (Outcome::Correct, Check::Refused) => format!("WRONG RESULT: {}: {reason}\n", line.variant),
            (Outcome::Wrong | Outcome::Undefined, Check::Refused) => {
                format!("{} is wrong on purpose, and was caught: {reason}\n", line.variant)
            }
            (Outcome::Wrong | Outcome::Undefined, Check::Passed) => {
                format!("NOT CAUGHT: {} is wrong on purpose\n", line.variant)
            }
        };
    }
    if text.is_empty() { "Every result equals the reference.\n".to_owned() } else { text }
}

/// The ratio of queues beside the ratio of recorded times, between the variants with the longest and the shortest queue.
fn closing(outcome: &Outcomes, recorded: Option<&(Record, Vec<Figure>)>, largest: Option<&At>) -> String {
    let Some(at) = largest else { return String::new() };
    let here = || outcome.counts.iter().filter(|line| line.at == *at && line.counts.global_queue > 0);
    let (Some(most), Some(least)) = (
        here().max_by_key(|line| line.counts.global_queue),
        here().min_by_key(|line| line.counts.global_queue),
    ) else {
        return String::new();
    };
    if most.counts.global_queue == least.counts.global_queue {
        return String::new();
    }
    let queues = most.counts.global_queue as f64 / least.counts.global_queue as f64;
    let mut text = format!(
        "Largest size: the longest queue of {} is {} that of {}",
        most.variant,
        units::times(queues).unwrap_or_default(),
        least.variant
    );
    let axis = "size";
    let time = |times: &[Figure], variant: &str| {
        let figure = time_of(times, variant, at, axis).filter(|figure| figure.unit == Unit::Nanoseconds);
        Some(figure?.summary()?.median)
    };
    let times = recorded.and_then(|(record, times)| {
        let ratio = time(times, &most.variant)? / time(times, &least.variant)?;
        Some((record, units::times(ratio)?))
    });
    text += &match times {
        Some((record, ratio)) => {
            format!("; its time recorded on {} is {ratio} that of {}.\n", record.gpu.name, least.variant)
        }
        None => "; no times were recorded at this size.\n".to_owned(),
    };
    text
}

/// The reference GPU's record of this lab and its headline figures.
fn recorded_figures(lab: &dyn Lab) -> Option<(Record, Vec<Figure>)> {
    let record = run::reference_record(lab)?;
    let wanted = lab.headline();
    let headline = |figure: &&Figure| {
        figure.name == wanted.figure
            && wanted.at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place))
    };
    let figures = record.figures.iter().filter(headline).cloned().collect();
    Some((record, figures))
}

fn time_of<'a>(times: &'a [Figure], variant: &str, at: &At, axis: &str) -> Option<&'a Figure> {
    times.iter().find(|figure| {
        figure.variant.as_deref() == Some(variant)
            && figure.at.get(axis) == at.get(axis)
            && at.iter().all(|(axis, place)| figure.at.get(axis).is_none_or(|known| known == place))
    })
}

fn csv(outcome: &Outcomes) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "lab",
        "variant",
        "at",
        "asked",
        "after_folding",
        "longest_queue",
        "shared",
        "shared_queue",
    ])?;
    for line in &outcome.counts {
        let at: Vec<String> = line.at.iter().map(|(axis, place)| format!("{axis}={place}")).collect();
        let c = line.counts;
        let counts =
            [c.global_atomics, c.global_after_folding, c.global_queue, c.shared_atomics, c.shared_queue];
        let counts = counts.iter().map(u64::to_string);
        writer.write_record(
            [outcome.lab.clone(), line.variant.clone(), at.join(" ")].into_iter().chain(counts),
        )?;
    }
    Ok(String::from_utf8_lossy(&writer.into_inner()?).into_owned())
}

/// `--check races`: every chosen variant under several schedules.
///
/// # Errors
/// A correct variant that races; a wrong one that is caught by no race and by no result.
pub fn races(lab: &'static dyn Lab, job: &Job, args: &RunArgs) -> Result<()> {
    let chosen =
        |variant: &&Variant| job.variants.is_empty() || job.variants.iter().any(|name| name == variant.name);
    let mut surprise = None;
    let mut text = String::new();
    for variant in lab.variants().iter().filter(chosen) {
        let (races, caught) = watch(lab, job, variant)?;
        let found = races.races.len();
        let word = match found {
            0 => format!("no race in {} schedules", RACE_SCHEDULES.len()),
            1 => "1 race".to_owned(),
            n => format!("{n} races"),
        };
        let mut told = format!("{}: {word}\n", variant.name);
        match &caught {
            _ if found > 0 => told += &format!("{races}\n"),
            Some(why) => told += &format!("its result is wrong: {why}\n"),
            None => {}
        }
        match args.out {
            Some(_) => text += &told,
            // Looking takes a while: each variant is told as soon as it is known.
            None => run::deliver(None, &told)?,
        }
        match variant.declared {
            Outcome::Correct if found > 0 => {
                surprise = Some(format!("{} is declared correct, and races", variant.name))
            }
            Outcome::Correct if caught.is_some() => {
                surprise =
                    Some(format!("{} gives a wrong result; leave --check away to see it", variant.name));
            }
            Outcome::Wrong | Outcome::Undefined if found == 0 && caught.is_none() => {
                surprise = Some(format!(
                    "{} is wrong on purpose, and neither a race nor a result shows it",
                    variant.name
                ));
            }
            _ => {}
        }
    }
    if args.out.is_some() {
        run::deliver(args.out.as_deref(), &text)?;
    }
    surprise.map_or(Ok(()), |what| Err(failed(what)))
}

/// Variants that may come out right all the same are watched for races.
///
/// # Errors
/// As [`races`].
pub fn catch_undefined(lab: &'static dyn Lab, job: &Job, report: &mut Report) -> Result<()> {
    for (name, check, reason) in &mut report.findings.checks {
        let Some(variant) = lab.variants().iter().find(|variant| variant.name == name) else { continue };
        if variant.declared != Outcome::Undefined || *check == Check::Refused {
            continue;
        }
        let (races, caught) = watch(lab, job, variant)?;
        let race = races.races.first().map(ToString::to_string);
        if let Some(why) = race.or(caught) {
            (*check, *reason) = (Check::Refused, Some(why));
        }
    }
    Ok(())
}

/// The job at one place of each axis, for checkers that take long: what it names, else the simulator's first default.
fn at_smallest(lab: &dyn Lab, job: &Job) -> Job {
    let mut job = job.clone();
    for axis in lab.axes() {
        let smallest: Vec<Coordinate> = axis.simulator_defaults.into_iter().take(1).collect();
        job.places.entry(axis.name.to_owned()).or_insert(smallest);
    }
    job
}

/// Races of one variant over all schedules, and what its check said of the first result that it refused; at the places
/// that the job names, else at the smallest.
///
/// # Errors
/// What the session reports.
pub fn watch(lab: &'static dyn Lab, job: &Job, variant: &Variant) -> Result<(Races, Option<String>)> {
    let job = Job { variants: vec![variant.name.to_owned()], only_check: true, ..at_smallest(lab, job) };
    let code = code::for_simulator(lab, job.kernel.as_deref(), 90)?;
    let mut all: Option<Races> = None;
    let mut caught = None;
    for (order, seed) in RACE_SCHEDULES {
        let mut sim = Sim::new(Options { seed, order, ..Options::default() }, true);
        let report = session::run(&job, lab, &mut sim, code.clone(), true, &mut |_| {})?;
        let refused = report.findings.checks.iter().find(|(_, check, _)| *check == Check::Refused);
        caught = caught.or(refused.map(|(_, _, reason)| reason.clone().unwrap_or_default()));
        let found = sim.races().unwrap_or_default();
        match &mut all {
            Some(all) => all.merge(found),
            None => all = Some(found),
        }
    }
    let races = all.ok_or_else(|| usage("no schedule to look for races under"))?;
    Ok((races, caught))
}
