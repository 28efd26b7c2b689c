//! `labs exercise`: is the learner's kernel right, and does it reach the goal? Told by results and counts, never by time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context as _, Result};
use labs_simt::{Options, Order, Reconvergence};
use notify_debouncer_mini::{new_debouncer, notify::RecursiveMode};

use crate::backend::Backend;
use crate::backend::sim::Sim;
use crate::cli::ExerciseArgs;
use crate::code;
use crate::failure::{failed, lacks, usage};
use crate::lab::{self, Lab};

/// A lab's exercise.
#[derive(Clone, Copy)]
pub struct Exercise {
    /// Text of the starter, as it ships.
    pub starter: &'static str,
    /// Text of the solution.
    pub solution: &'static str,
    /// Hints, the first the smallest.
    pub hints: &'static [&'static str],
    /// Runs the kernel `exercise` on a loaded backend that counts.
    pub attempt: fn(&mut dyn Backend) -> Result<Vec<Goal>>,
}

/// One thing the exercise asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// What was asked and what was found, as one line.
    pub line: String,
    /// Whether it is reached.
    pub reached: bool,
}

/// Instructions of all lanes after which a launch is taken for one that never ends: ten times what any exercise takes.
const BUDGET: u64 = 50_000_000;

/// Schedules an exercise is run under, with their seeds, and whether accesses are watched for races. In the last one
/// lanes that leave a loop wait for those still in it, as before Volta: who holds a lock may wait for who wants it.
const SCHEDULES: [(Order, u64, bool, Reconvergence); 4] = [
    (Order::Fair, 0, false, Reconvergence::Independent),
    (Order::Shuffled, 1, false, Reconvergence::Independent),
    (Order::Shuffled, 2, true, Reconvergence::Independent),
    (Order::Fair, 0, false, Reconvergence::Stack),
];

/// Runs `labs exercise ..`.
///
/// # Errors
/// A goal that is not reached (exit code 1), no compiler (3), no such exercise (2).
pub fn run(args: &ExerciseArgs) -> Result<()> {
    let (lab, exercise) = find(&args.lab)?;
    if args.solution {
        anstream::print!("{}", exercise.solution);
        return Ok(());
    }
    if args.hint {
        for (number, hint) in exercise.hints.iter().enumerate() {
            anstream::println!("{}. {hint}", number + 1);
        }
        return Ok(());
    }
    let file = place(lab)?;
    if args.watch { watch(&file, &exercise) } else { check(&file, &exercise) }
}

fn find(name: &str) -> Result<(&'static dyn Lab, Exercise)> {
    let with = || lab::registry().iter().filter(|lab| lab.exercise().is_some());
    let lab = lab::find(name).filter(|lab| lab.exercise().is_some());
    let found = lab.and_then(|lab| Some((lab, lab.exercise()?)));
    found.ok_or_else(|| {
        let known: Vec<&str> = with().map(|lab| lab::names(lab.stem()).0).collect();
        usage(format!("no exercise `{name}`; there are {}", known.join(", ")))
    })
}

fn place(lab: &dyn Lab) -> Result<PathBuf> {
    let root = code::root_for("labs exercise")?;
    Ok(root.join(format!("kernels/exercises/{}.cu", lab.stem())))
}

fn check(file: &Path, exercise: &Exercise) -> Result<()> {
    let goals = attempt(file, exercise)?;
    let missed = goals.iter().filter(|goal| !goal.reached).count();
    for goal in &goals {
        anstream::println!("{} {}", if goal.reached { "reached:" } else { "MISSED: " }, goal.line);
    }
    match missed {
        0 => {
            anstream::println!("Solved.");
            Ok(())
        }
        _ => Err(failed(format!(
            "{missed} of {} goals missed; edit {}, or ask for --hint",
            goals.len(),
            file.display()
        ))),
    }
}

/// Compiles a file and runs it under an ordered and a shuffled schedule, then looks for data races.
///
/// # Errors
/// No compiler, a file that does not compile, a kernel that the simulator stops.
pub fn attempt(file: &Path, exercise: &Exercise) -> Result<Vec<Goal>> {
    if !file.is_file() {
        return Err(lacks(format!(
            "`{}` is not there; `git checkout` it, or start from the text of the chapter",
            file.display()
        )));
    }
    let code = code::edited_ptx(file)?;
    let mut goals = Vec::new();
    for (order, seed, watch_races, reconvergence) in SCHEDULES {
        let mut sim = Sim::new(Options { order, seed, budget: BUDGET, reconvergence }, watch_races);
        for image in &code.images {
            sim.load(image)?;
        }
        let found = match (exercise.attempt)(&mut sim) {
            Ok(found) => found,
            Err(error) => vec![Goal { line: format!("{error:#}"), reached: false }],
        };
        // What only a later schedule shows is added; what it confirms is not said twice.
        let first = goals.is_empty();
        for goal in found.into_iter().chain(race(&mut sim)) {
            if (first || !goal.reached) && !goals.contains(&goal) {
                goals.push(under(reconvergence, goal));
            }
        }
    }
    Ok(goals)
}

/// Says by which rule lanes met, where it is not the one of the GPUs of this course.
fn under(reconvergence: Reconvergence, goal: Goal) -> Goal {
    match reconvergence {
        Reconvergence::Independent => goal,
        Reconvergence::Stack => {
            Goal { line: format!("where lanes wait for each other, as before Volta: {}", goal.line), ..goal }
        }
    }
}

/// A race makes a result a matter of luck, also where every schedule of the simulator was lucky.
fn race(sim: &mut Sim) -> Option<Goal> {
    let races = sim.races()?;
    let first = races.races.first()?;
    Some(Goal { line: format!("no data race is wanted; {first}"), reached: false })
}

fn watch(file: &Path, exercise: &Exercise) -> Result<()> {
    let (sender, changes) = channel();
    let mut debouncer =
        new_debouncer(Duration::from_millis(200), sender).context("cannot watch files here")?;
    // Editors replace files: the folder is watched, not the file.
    let folder = file.parent().unwrap_or(Path::new("."));
    debouncer.watcher().watch(folder, RecursiveMode::NonRecursive).context("cannot watch the folder")?;
    let mut seen = None;
    loop {
        let text = fs::read(file).ok();
        if text != seen {
            seen = text;
            if let Err(error) = check(file, exercise) {
                anstream::println!("{error:#}");
            }
            anstream::println!("watching {}; stop with Ctrl+C\n", file.display());
        }
        if changes.recv().is_err() {
            return Ok(());
        }
    }
}
