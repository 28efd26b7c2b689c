//! Measuring: warm-ups, samples until they settle, a check after every one.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;
use labs_record::figure::{At, Coordinate, Figure, Kind, SetAside, Unit};
use labs_record::manifest::FigureEntry;
use labs_record::record::{Check, Outcome};
use labs_record::rules::SAMPLES;
use labs_record::statistics::Summary;

use crate::backend::nvml::Throttled;
use crate::backend::{Backend, Buffer, Counts, Launched, Step};
use crate::lab::{Case, Variant};
use crate::results::Left;

mod entries;
mod host;

pub use host::{host_bytes, host_room, read_words, word_bytes};

/// What decides how samples are taken; part of every lab's protocol.
pub const MEASURING_RULES: &str = "\
    a delay of 20 us and 8 us a step keeps the GPU busy until the host has queued the timed stretch; CUDA events
    around it; 3 warm-ups, each checked; at least 10 samples, at least 10 ms of sampling or 100 samples, then until half
    the interquartile range is within 1 % of the median, 100 samples, or 0.4 s; at least 10 in any case;
    cold: twice the L2's size is zeroed before each sample; hot: the sample before has just run the same launch;
    targets are zeroed outside the timed stretch; the result is checked after every sample;
    batched: launches back to back in one timed stretch, a target each, as many as take 200 us, 4 to 64;
    samples during which the driver reports a slowdown (read every 10) are set aside and counted";

const WARM_UPS: usize = 3;
const MOST_SAMPLES: usize = 100;
const SETTLED: f64 = 0.01;
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(400);
/// Slowed-down samples set aside in one case before it is given up: it has the samples that were kept until then, or none.
const MOST_SET_ASIDE: u64 = 40;

/// How a run is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// The L2 holds nothing of the input.
    Cold,
    /// The input was just read.
    Hot,
}

impl Cache {
    /// The coordinate on the axis `cache`.
    pub fn place(self) -> Coordinate {
        Coordinate::from(match self {
            Cache::Cold => "cold",
            Cache::Hot => "hot",
        })
    }
}

/// Reads results back: an error if that fails, a message if they are wrong.
pub type Checker<'a> = &'a dyn Fn(&mut dyn Backend) -> Result<Result<(), String>>;

/// A figure of which every sample of a run gives a number.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its kind.
    pub kind: Kind,
}

impl Reading {
    /// Its declaration.
    pub fn entry(&self, means: &str) -> FigureEntry {
        FigureEntry::new(self.name, self.unit, self.kind, means)
    }
}

/// Reads a sample's numbers from the results, given the nanoseconds that the timed stretch took: an error if that fails,
/// a message if the results are wrong.
pub type Reader<'a> = &'a dyn Fn(&mut dyn Backend, f64) -> Result<Result<Vec<f64>, String>>;

/// The numbers of each sample, and what was set aside.
type Taken = (Vec<Vec<f64>>, Vec<SetAside>);

/// When there are samples enough.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// They have settled, by the measuring rules.
    Settled,
    /// There are as many as the rules ask for at least.
    Fewest,
}

/// Work to time, and how to tell whether it was done right.
pub struct Work<'a> {
    /// Before the timed stretch: reset the targets.
    pub reset: Vec<Step>,
    /// The timed stretch.
    pub timed: Vec<Step>,
    /// Whether it was.
    pub check: Checker<'a>,
}

/// What a session has found out, ready for a record.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Findings {
    /// Figures with this session's samples only.
    pub figures: Vec<Figure>,
    /// Checks by variant, and what a refusal said first.
    pub checks: Vec<(String, Check, Option<String>)>,
    /// What the simulator counted, by variant and place.
    #[serde(skip)]
    pub counts: Vec<(String, At, Counts)>,
    /// The launches behind those counts, one by one, in order.
    #[serde(skip)]
    pub launches: Vec<(String, At, Launched)>,
    /// What the cases left in memory, in order; only of a session that takes no times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Left>,
}

/// The bench a lab measures at: the backend, inputs that stay on the device, and the session's findings.
pub struct Bench<'a> {
    /// Where kernels run.
    pub backend: &'a mut dyn Backend,
    /// Seed of all inputs.
    pub seed: u64,
    /// Samples the command line asks for, instead of the rules'.
    pub samples: Option<usize>,
    /// The largest `size` any case of this session has: inputs are made once, for it.
    pub largest_size: u64,
    /// Called between samples, so that the parent knows that the session is alive.
    pub alive: &'a mut dyn FnMut(),
    inputs: HashMap<&'static str, Buffer>,
    references: HashMap<(&'static str, u64), Rc<[f64]>>,
    pub(crate) findings: Findings,
    pub(crate) timing: bool,
    only_checks: bool,
}

impl<'a> Bench<'a> {
    /// A bench over a loaded backend.
    pub fn new(
        backend: &'a mut dyn Backend,
        seed: u64,
        largest_size: u64,
        alive: &'a mut dyn FnMut(),
    ) -> Bench<'a> {
        let timing = backend.keeps_time();
        Bench {
            backend,
            seed,
            samples: None,
            largest_size,
            alive,
            inputs: HashMap::new(),
            references: HashMap::new(),
            findings: Findings::default(),
            timing,
            only_checks: false,
        }
    }

    /// Whether times are taken: not on the simulator, and not under tools that slow the device down.
    pub fn takes_time(&self) -> bool {
        self.timing
    }

    /// Only check results, for tools that slow the device down or watch every access.
    pub fn only_check(&mut self) {
        self.timing = false;
        self.only_checks = true;
    }

    /// Whether results are all that is asked for: what repeats a run for another end than its check is left out.
    pub fn only_checks(&self) -> bool {
        self.only_checks
    }

    /// A buffer of `bytes` that stays for the session, filled by `make` when it is first asked for. Memory that is not
    /// there is found out before the work of making its content.
    pub fn input(
        &mut self,
        name: &'static str,
        bytes: u64,
        make: impl FnOnce(&mut Self) -> Result<Vec<u8>>,
    ) -> Result<Buffer> {
        if let Some(buffer) = self.inputs.get(name) {
            return Ok(*buffer);
        }
        let buffer = self.backend.allocate(bytes)?;
        let data = make(self)?;
        (self.alive)();
        self.backend.write(buffer, &data)?;
        (self.alive)();
        self.inputs.insert(name, buffer);
        Ok(buffer)
    }

    /// Device memory that stays for the session, undefined at first.
    pub fn scratch(&mut self, name: &'static str, bytes: u64) -> Result<Buffer> {
        match self.inputs.get(name) {
            Some(buffer) if buffer.bytes >= bytes => Ok(*buffer),
            _ => {
                let buffer = self.backend.allocate(bytes)?;
                self.inputs.insert(name, buffer);
                Ok(buffer)
            }
        }
    }

    /// Page-locked memory of the host that kernels reach; it stays for the session, undefined at first.
    pub fn host_scratch(&mut self, name: &'static str, bytes: u64) -> Result<Buffer> {
        match self.inputs.get(name) {
            Some(buffer) if buffer.bytes >= bytes => Ok(*buffer),
            _ => {
                let buffer = self.backend.allocate_host(bytes)?;
                self.inputs.insert(name, buffer);
                Ok(buffer)
            }
        }
    }

    /// A number worked out on the host that stays for the session: the reference `name` at this size.
    pub fn reference(&mut self, name: &'static str, size: u64, make: impl FnOnce(u64) -> f64) -> f64 {
        self.references(name, size, |seed| vec![make(seed)]).first().copied().unwrap_or(f64::NAN)
    }

    /// As [`Bench::reference`], for several numbers that one pass over an input gives.
    pub fn references(
        &mut self,
        name: &'static str,
        size: u64,
        make: impl FnOnce(u64) -> Vec<f64>,
    ) -> Rc<[f64]> {
        if let Some(known) = self.references.get(&(name, size)) {
            return known.clone();
        }
        let made: Rc<[f64]> = make(self.seed).into();
        (self.alive)();
        self.references.insert((name, size), made.clone());
        made
    }

    /// As [`Bench::references`], for numbers that measuring finds out.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn kept(
        &mut self,
        name: &'static str,
        size: u64,
        make: impl FnOnce(&mut Self) -> Result<Vec<f64>>,
    ) -> Result<Rc<[f64]>> {
        let known = self.references.contains_key(&(name, size));
        let made = if known { Vec::new() } else { make(self)? };
        Ok(self.references(name, size, |_| made))
    }

    /// Runs the work once and checks it. A wrong result is entered against the variant; then nothing of it is timed.
    pub fn passes(&mut self, variant: &Variant, at: &At, work: &Work<'_>) -> Result<bool> {
        (self.alive)();
        self.backend.counts();
        self.backend.run(&work.reset)?;
        self.backend.launched();
        let ran = match self.timing {
            true => self.backend.run(&work.timed),
            false => self.backend.run_marked(&work.timed),
        };
        // The simulator stops a kernel that does what nobody may; on a GPU such an error is the end of the session.
        if let (Err(error), true, false) =
            (&ran, variant.declared != Outcome::Correct, self.backend.keeps_time())
        {
            self.enter_check(variant, Err(format!("{error:#}")));
            return Ok(false);
        }
        ran?;
        let launched = self.backend.launched().into_iter();
        self.findings.launches.extend(launched.map(|one| (variant.name.to_owned(), at.clone(), one)));
        if let Some(counts) = self.backend.counts() {
            self.findings.counts.push((variant.name.to_owned(), at.clone(), counts));
        }
        let outcome = (work.check)(self.backend)?;
        let passed = outcome.is_ok();
        self.enter_check(variant, outcome);
        Ok(passed)
    }

    /// Enters a check's outcome; a refusal stays, whatever comes after.
    pub fn enter_check(&mut self, variant: &Variant, outcome: Result<(), String>) {
        let found = match outcome {
            Ok(()) => (Check::Passed, None),
            Err(message) => (Check::Refused, Some(message)),
        };
        match self.findings.checks.iter_mut().find(|(name, ..)| name == variant.name) {
            Some(entry) if entry.1 == Check::Passed => (entry.1, entry.2) = found,
            Some(_) => {}
            None => self.findings.checks.push((variant.name.to_owned(), found.0, found.1)),
        }
    }

    /// Times work that has passed its check, and enters the duration `name`. Enters nothing where time is not real,
    /// or for a variant that is wrong.
    pub fn duration(
        &mut self,
        name: &str,
        case: &Case,
        at: &[(&str, Coordinate)],
        cache: Cache,
        work: &Work<'_>,
    ) -> Result<()> {
        self.durations(name, case, at, cache, work, 1)
    }

    /// As [`Bench::duration`], for `launches` equal launches in the timed stretch: the time of one.
    pub fn durations(
        &mut self,
        name: &str,
        case: &Case,
        at: &[(&str, Coordinate)],
        cache: Cache,
        work: &Work<'_>,
        launches: u32,
    ) -> Result<()> {
        if !self.timing || case.variant.is_some_and(|variant| self.refused(&variant)) {
            return Ok(());
        }
        let mut before = work.reset.clone();
        if cache == Cache::Cold {
            before.splice(0..0, self.backend.flush()?);
        }
        // Hundredths of a nanosecond: below any clock's resolution, and short to read.
        let read = |backend: &mut dyn Backend, ns: f64| {
            let ns = (ns / f64::from(launches) * 100.0).round() / 100.0;
            Ok((work.check)(backend)?.map(|()| vec![ns]))
        };
        let Some((samples, set_aside)) = self.sample(case, &before, &work.timed, &read, Until::Settled)?
        else {
            return Ok(());
        };
        let mut figure = self.figure(name, case, at, Unit::Nanoseconds, Kind::Duration, samples.concat());
        figure.set_aside = set_aside;
        self.findings.figures.push(figure);
        Ok(())
    }

    /// Enters a figure for each of `readings` from runs that end by themselves after a fixed time, so that what they
    /// did is the result: the fewest samples the rules ask for, each checked by `read`, which gives a number a reading.
    /// Enters nothing where time is not real, or for a variant that is wrong.
    pub fn readings(
        &mut self,
        readings: &[Reading],
        case: &Case,
        reset: &[Step],
        timed: &[Step],
        read: Reader<'_>,
    ) -> Result<()> {
        if !self.timing || case.variant.is_some_and(|variant| self.refused(&variant)) {
            return Ok(());
        }
        let Some((samples, set_aside)) = self.sample(case, reset, timed, read, Until::Fewest)? else {
            return Ok(());
        };
        for (place, reading) in readings.iter().enumerate() {
            let numbers = samples.iter().filter_map(|sample| sample.get(place).copied()).collect();
            let mut figure = self.figure(reading.name, case, &[], reading.unit, reading.kind, numbers);
            figure.set_aside.clone_from(&set_aside);
            self.findings.figures.push(figure);
        }
        Ok(())
    }

    /// Samples until there are enough, or none if a check refuses.
    fn sample(
        &mut self,
        case: &Case,
        before: &[Step],
        timed: &[Step],
        read: Reader<'_>,
        until: Until,
    ) -> Result<Option<Taken>> {
        let mut samples = Vec::new();
        let mut unsure = Vec::new();
        let mut slowed: HashMap<String, u64> = HashMap::new();
        let began = Instant::now();
        for taken in 1.. {
            (self.alive)();
            let ns = self.backend.time(before, timed)?;
            let numbers = match read(self.backend, ns)? {
                Ok(numbers) => numbers,
                Err(message) => {
                    if let Some(variant) = case.variant {
                        self.enter_check(&variant, Err(message));
                    }
                    return Ok(None);
                }
            };
            if taken <= WARM_UPS {
                continue;
            }
            unsure.push(numbers);
            // The sensors tell of the time since they were last read, and reading them takes longer than a short sample.
            if unsure.len() < SAMPLES && !self.wanted(samples.len() + unsure.len()) {
                continue;
            }
            match self.backend.slowed() {
                Some(Throttled(why)) => {
                    *slowed.entry(why).or_default() += unsure.len() as u64;
                    unsure.clear();
                }
                None => samples.append(&mut unsure),
            }
            if slowed.values().sum::<u64>() >= MOST_SET_ASIDE || self.enough(&samples, began, until) {
                break;
            }
        }
        let set_aside = slowed.into_iter().map(|(reason, count)| SetAside { session: 0, count, reason });
        Ok(Some((samples, set_aside.collect())))
    }

    /// Whether the command line asked for this many samples.
    fn wanted(&self, samples: usize) -> bool {
        self.samples.is_some_and(|wanted| samples >= wanted)
    }

    fn enough(&self, samples: &[Vec<f64>], began: Instant, until: Until) -> bool {
        if self.samples.is_some() {
            return self.wanted(samples.len());
        }
        if samples.len() < SAMPLES {
            return false;
        }
        if until == Until::Fewest {
            return true;
        }
        let settled = || Summary::of(&[samples.concat()]).is_some_and(|s| s.relative_spread() <= SETTLED);
        let elapsed = began.elapsed();
        samples.len() >= MOST_SAMPLES || elapsed >= LONGEST || (elapsed >= SHORTEST && settled())
    }

    /// How many launches a batch takes for work of this length, by the measuring rules.
    pub fn batch(&self, name: &str, case: &Case) -> u32 {
        let wanted = |figure: &&Figure| {
            figure.name == name && figure.variant.as_deref() == case.variant.map(|v| v.name)
        };
        let same_place =
            |figure: &&Figure| case.at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place));
        let known = self.findings.figures.iter().rev().filter(wanted).find(same_place);
        let ns = known.and_then(Figure::summary).map_or(f64::INFINITY, |summary| summary.median);
        (200_000.0 / ns).ceil().clamp(4.0, 64.0) as u32
    }

    fn refused(&self, variant: &Variant) -> bool {
        variant.declared != Outcome::Correct
            || self
                .findings
                .checks
                .iter()
                .any(|(name, check, _)| name == variant.name && *check == Check::Refused)
    }

    /// Ends the session's measuring.
    pub fn finish(self) -> Findings {
        self.findings
    }
}
