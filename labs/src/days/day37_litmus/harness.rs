//! Playing a test: many instances a launch, a launch for each set of parameters and each manner of playing it.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::host::HostParts;
use super::place::Place;
use super::setting::{
    Drawn, Extent, GATE_WORDS, HOST_SPAN, MOST_PARTS, MOST_ROUNDS, Manner, SCRATCH_WORDS, SETTING_BYTES,
    SPAN, Setting,
};
use super::shapes::{Litmus, NAMES};
use super::variants::{PROBES, Version};
use super::{BLOCK, PATIENCE};
use crate::backend::{Argument, Buffer, Launch, Step};
use crate::lab::Variant;
use crate::measure::Bench;

/// Sets that a test is played with, of those drawn: the ones that are worth most.
pub(super) const CHOSEN: usize = 2;
/// Rounds that a set is probed for.
pub(super) const PROBED_ROUNDS: u32 = 2;
/// Teams with parts on the host, at most.
pub(super) const HOST_TEAMS: u32 = 4;
/// The GPU's patience with the host, in times that with itself, and the host's with the GPU: threads are woken in the
/// meantime, and a kernel starts.
const HOST_PATIENCE: u32 = 4;
const PATIENCE_OF_HOST: Duration = Duration::from_millis(20);

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) instances: u64,
    /// Instances in which every clause of the outcome but the last is met.
    pub(super) informative: u64,
    /// Those in which the last is met as well.
    pub(super) weak: u64,
    /// A part gave no answer, or a value that nobody wrote.
    pub(super) faulty: u64,
}

impl Tally {
    pub(super) fn and(self, other: Tally) -> Tally {
        Tally {
            instances: self.instances + other.instances,
            informative: self.informative + other.informative,
            weak: self.weak + other.weak,
            faulty: self.faulty + other.faulty,
        }
    }
}

/// Memory that a test is played in.
#[derive(Clone, Copy)]
struct Memory {
    /// All of it, in this order.
    whole: Buffer,
    words: Buffer,
    seen: Buffer,
    gates: Buffer,
}

impl Memory {
    fn bytes(extent: Extent) -> u64 {
        Memory::gates(extent) + Memory::teams(extent) * MOST_PARTS as u64 * u64::from(GATE_WORDS) * 4
    }

    fn teams(extent: Extent) -> u64 {
        u64::from(extent.testers.max(12).max(extent.host_teams))
    }

    fn seen(extent: Extent) -> u64 {
        u64::from(extent.span) * 12
    }

    fn gates(extent: Extent) -> u64 {
        Memory::seen(extent) + extent.answers() * 4
    }

    fn of(whole: Buffer, extent: Extent) -> Memory {
        Memory {
            whole,
            words: whole,
            seen: whole.at(Memory::seen(extent)),
            gates: whole.at(Memory::gates(extent)),
        }
    }
}

/// Memory of all launches, and the sets of parameters drawn for this session.
pub(super) struct Harness {
    pub(super) setting: Buffer,
    scratch: Buffer,
    totals: Buffer,
    finished: Buffer,
    memory: Memory,
    extent: Extent,
    pub(super) sets: Vec<Drawn>,
}

/// A test in a version, at a place.
#[derive(Clone, Copy)]
pub(super) struct Played<'a> {
    pub(super) litmus: &'a Litmus,
    pub(super) variant: &'a Variant,
    pub(super) place: Place,
}

impl Harness {
    pub(super) fn new(bench: &mut Bench<'_>, place: Place) -> Result<Harness> {
        let sms = bench.backend.device().gpu.sms;
        let measured = bench.takes_time();
        let small =
            Extent { testers: 12, host_teams: 1, stressers: 0, rounds: 2, span: 1 << 14, patience: PATIENCE };
        let extent = match (measured, place.has_host()) {
            (false, _) => small,
            (true, false) => Extent {
                testers: 2 * sms,
                host_teams: 0,
                stressers: sms / 2,
                rounds: MOST_ROUNDS,
                span: SPAN,
                patience: PATIENCE,
            },
            (true, true) => Extent {
                testers: 0,
                host_teams: host_teams(),
                stressers: sms / 2,
                rounds: MOST_ROUNDS,
                span: HOST_SPAN,
                patience: HOST_PATIENCE * PATIENCE,
            },
        };
        let bytes = Memory::bytes(extent);
        let whole = match place.has_host() {
            true => bench.host_scratch("host_memory", bytes)?,
            false => bench.scratch("memory", bytes)?,
        };
        Ok(Harness {
            setting: bench.scratch("setting", SETTING_BYTES)?,
            scratch: bench.scratch("scratch", u64::from(SCRATCH_WORDS) * 4)?,
            totals: bench.scratch("totals", 12)?,
            finished: bench.scratch("finished", 4)?,
            memory: Memory::of(whole, extent),
            extent,
            sets: if measured { Drawn::sets(bench.seed).to_vec() } else { vec![Drawn::still()] },
        })
    }

    /// The numbers of the sets with which a test is played at a place by all versions that this probe stands for: those
    /// worth most to the probe, best first. Found by trying, once a session.
    pub(super) fn chosen(
        &self,
        bench: &mut Bench<'_>,
        litmus: &Litmus,
        place: Place,
        probe: &Variant,
    ) -> Result<Rc<[f64]>> {
        let number =
            |all: &[&str], name: &str| all.iter().position(|known| *known == name).unwrap_or_default();
        let test = number(&NAMES, litmus.name) * Place::ALL.len() + place.number() as usize;
        let key = test * PROBES.len() + number(&PROBES, probe.name);
        bench.kept("chosen", key as u64, |bench| {
            let mut sets = Vec::new();
            for (number, drawn) in self.sets.iter().enumerate() {
                let worth = self.worth(bench, Played { litmus, variant: probe, place }, *drawn)?;
                sets.push((std::cmp::Reverse(worth), number));
            }
            sets.sort_unstable();
            Ok(sets.iter().take(CHOSEN).map(|(_, number)| *number as f64).collect())
        })
    }

    /// What a set is worth to a version of a test: in how many instances in a million the mutant is seen or how many tries
    /// are informative, whichever is less. Without the one a zero is blind, without the other it is empty.
    fn worth(&self, bench: &mut Bench<'_>, played: Played<'_>, drawn: Drawn) -> Result<u64> {
        let mutant = played.litmus.mutant();
        let extent = Extent { rounds: PROBED_ROUNDS, ..self.extent };
        let (mut worth, mut instances) = (0, 0);
        for pauses in [false, true] {
            let manner = Manner { looks: true, pauses };
            let setting = Setting::new(played.litmus, played.place, drawn, manner, extent);
            let test = self.launch(bench, played, &setting)?;
            let setting = Setting::new(&mutant, played.place, drawn, manner, extent);
            let exchanged = self.launch(bench, Played { litmus: &mutant, ..played }, &setting)?;
            worth += test.informative.min(exchanged.weak);
            instances += test.instances;
        }
        Ok(worth * 1_000_000 / instances.max(1))
    }

    /// Every one of these sets in every manner: what was counted, a launch each.
    pub(super) fn play(
        &self,
        bench: &mut Bench<'_>,
        played: Played<'_>,
        sets: &[f64],
    ) -> Result<Vec<(Manner, Tally)>> {
        let mut all = Vec::new();
        for drawn in sets.iter().filter_map(|number| self.sets.get(*number as usize)) {
            (bench.alive)();
            for manner in Manner::ALL {
                let setting = self.setting(played.litmus, played.place, *drawn, manner);
                all.push((manner, self.launch(bench, played, &setting)?));
            }
        }
        Ok(all)
    }

    /// A launch of this extent.
    pub(super) fn setting(&self, litmus: &Litmus, place: Place, drawn: Drawn, manner: Manner) -> Setting {
        Setting::new(litmus, place, drawn, manner, self.extent)
    }

    /// One launch, counted.
    fn launch(&self, bench: &mut Bench<'_>, played: Played<'_>, setting: &Setting) -> Result<Tally> {
        bench.backend.write(self.setting, &setting.bytes())?;
        let (play, count) = (self.launched(played, setting), self.counted(setting));
        let mut steps = self.zeroed(played.litmus, setting);
        if played.place.has_host() {
            bench.backend.run(&steps)?;
            let host = self.host_parts(played, setting);
            bench.backend.run_beside(&[play], self.memory.whole, &mut |memory| host.play(memory))?;
            bench.backend.run(&[count])?;
        } else {
            steps.extend([play, count]);
            bench.backend.run(&steps)?;
        }
        self.totals(bench, setting)
    }

    /// What the last launch counted.
    pub(super) fn totals(&self, bench: &mut Bench<'_>, setting: &Setting) -> Result<Tally> {
        let mut bytes = [0; 12];
        bench.backend.read(self.totals, &mut bytes)?;
        let [informative, weak, faulty] = [0, 4, 8].map(|at| {
            let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
            u64::from(u32::from_le_bytes(four.unwrap_or_default()))
        });
        Ok(Tally { instances: u64::from(setting.instances), informative, weak, faulty })
    }

    pub(super) fn zeroed(&self, litmus: &Litmus, setting: &Setting) -> Vec<Step> {
        let location = |at: u32| Buffer {
            bytes: u64::from(setting.used) * 4,
            ..self.memory.words.at(u64::from(at) * u64::from(setting.span) * 4)
        };
        let answers = u64::from(setting.instances) * litmus.parts.len() as u64 * 4;
        let mut steps: Vec<Step> = (0..litmus.locations()).map(|at| Step::Zero(location(at))).collect();
        steps.extend([
            Step::Zero(Buffer { bytes: answers, ..self.memory.seen }),
            Step::Zero(self.memory.gates),
            Step::Zero(self.finished),
            Step::Zero(self.totals),
        ]);
        steps
    }

    fn launched(&self, played: Played<'_>, setting: &Setting) -> Step {
        let Memory { words, seen, gates, .. } = self.memory;
        let arguments = [self.setting, words, seen, gates, self.scratch, self.finished].map(Argument::Buffer);
        Step::Launch(Launch {
            cluster: setting.cluster,
            ..Launch::new(played.variant.kernels[0], setting.grid, BLOCK, arguments.to_vec())
        })
    }

    pub(super) fn counted(&self, setting: &Setting) -> Step {
        let arguments =
            [self.setting, self.memory.words, self.memory.seen, self.totals].map(Argument::Buffer);
        Step::Launch(Launch::new(
            "count",
            setting.instances.div_ceil(BLOCK).min(1_024),
            BLOCK,
            arguments.to_vec(),
        ))
    }

    fn host_parts<'a>(&self, played: Played<'a>, setting: &'a Setting) -> HostParts<'a> {
        let word = |offset: u64| usize::try_from(offset / 4).unwrap_or(usize::MAX);
        HostParts {
            litmus: played.litmus,
            order: Version::of(played.variant).order,
            setting,
            parts: played.place.on_host(played.litmus.parts.len() as u32),
            seen: word(Memory::seen(self.extent)),
            gates: word(Memory::gates(self.extent)),
            patience: PATIENCE_OF_HOST,
        }
    }
}

/// Teams for which this machine has threads that run at the same time: one at least.
fn host_teams() -> u32 {
    let threads =
        thread::available_parallelism().map_or(1, |threads| u32::try_from(threads.get()).unwrap_or(1));
    (threads.saturating_sub(1) / (MOST_PARTS as u32 - 1)).clamp(1, HOST_TEAMS)
}
