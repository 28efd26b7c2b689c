//! Lines on the device: hot ones, adds and loads that are timed one by one, and who does what.

use anyhow::Result;

use super::{LINE, REACH};
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::failure::{failed, usage};
use crate::lab::BLOCK;
use crate::measure::Bench;

/// Warps that add to a line of `hot_lines`.
pub(super) const WARPS: u64 = 256;
/// Lines a launch at most.
pub(super) const MOST: u64 = 16_384;
/// Lines that one thread visits in a launch at most.
pub(super) const VISITS: usize = 1024;
/// Cycles that the hot SMs have to themselves first; fewer where no times are taken.
pub(super) const HEAD_START: u32 = 30_000;
const NO_HEAD_START: u32 = 100;
/// The word of a line that holds its number.
const NUMBER: u64 = 31;
/// Numbers that SMs may have: up to, not including, this one.
const SM_NUMBERS: usize = 4096;
/// Blocks a cluster: as many as every GPU with clusters takes.
pub(super) const CLUSTER: u32 = 8;
/// Roles, as the kernels know them.
const HEATS: u32 = 1;
const READS: u32 = 2;

/// Which SMs do what in a launch with a block an SM; the others do nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Cast {
    /// Those that keep a line hot.
    pub(super) hot: Vec<u32>,
    /// Those that add or load.
    pub(super) readers: Vec<u32>,
}

/// Memory whose lines get hot or are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    /// All of it.
    pub(super) words: Buffer,
    hot: Buffer,
    read: Buffer,
    role: Buffer,
    /// Each block's SM.
    sm: Buffer,
    stop: Buffer,
    adds: Buffer,
    /// What was read, a number a load or a thread.
    values: Buffer,
    cycles: Buffer,
    head_start: u32,
    sms: u32,
}

impl Lines {
    /// Room for `bytes`; where times are taken, the same room for every case, since only there a map of it is made.
    ///
    /// # Errors
    /// More than the lab's reach.
    pub(super) fn new(bench: &mut Bench<'_>, bytes: u64) -> Result<Lines> {
        if bytes > REACH {
            return Err(usage(format!(
                "{bytes} bytes are past this lab's {REACH}; choose fewer --buckets or --lines, or a smaller --stride"
            )));
        }
        match bench.takes_time() {
            true => Lines::whole(bench),
            false => Lines::room(bench, bytes.max(LINE), NO_HEAD_START),
        }
    }

    /// All the room that a map needs, and head starts long enough for times.
    ///
    /// # Errors
    /// Those of the backend.
    pub(super) fn whole(bench: &mut Bench<'_>) -> Result<Lines> {
        Lines::room(bench, REACH, HEAD_START)
    }

    fn room(bench: &mut Bench<'_>, bytes: u64, head_start: u32) -> Result<Lines> {
        let sms = bench.backend.device().gpu.sms;
        Ok(Lines {
            words: bench.scratch("words", bytes)?,
            hot: bench.scratch("hot", MOST * 4)?,
            read: bench.scratch("read", MOST * 4)?,
            role: bench.scratch("role", SM_NUMBERS as u64 * 4)?,
            sm: bench.scratch("sm", u64::from(sms) * 4)?,
            stop: bench.scratch("stop", 4)?,
            adds: bench.scratch("adds", u64::from(sms * BLOCK) * 4)?,
            values: bench.scratch("values", MOST * 4)?,
            cycles: bench.scratch("cycles", MOST * 4)?,
            head_start,
            sms,
        })
    }

    /// Zeroes everything and writes the numbers of the first lines.
    pub(super) fn prepare(&self, backend: &mut dyn Backend, lines: u64) -> Result<()> {
        backend.run(&[Step::Zero(self.words)])?;
        let mut bytes = vec![0; (lines * LINE) as usize];
        for (number, line) in bytes.chunks_exact_mut(LINE as usize).enumerate() {
            line[NUMBER as usize * 4..].copy_from_slice(&(number as u32).to_le_bytes());
        }
        backend.write(self.words, &bytes)
    }

    /// Writes a line's number, for lines past those that [`Lines::prepare`] numbers.
    pub(super) fn number(&self, backend: &mut dyn Backend, line: u32) -> Result<()> {
        backend.write(self.words.at(u64::from(line) * LINE + NUMBER * 4), &line.to_le_bytes())
    }

    /// Writes which lines the next launches make hot.
    pub(super) fn make_hot(&self, backend: &mut dyn Backend, lines: &[u32]) -> Result<()> {
        backend.write(self.hot, &bytes_of(lines))
    }

    /// Writes which lines the next launches visit.
    pub(super) fn visit(&self, backend: &mut dyn Backend, lines: &[u32]) -> Result<()> {
        backend.write(self.read, &bytes_of(lines))
    }

    /// Writes who does what in the next launches.
    ///
    /// # Errors
    /// An SM whose number is out of the ordinary.
    pub(super) fn assign(&self, backend: &mut dyn Backend, cast: &Cast) -> Result<()> {
        let mut roles = vec![0; SM_NUMBERS];
        let hot = cast.hot.iter().map(|sm| (sm, HEATS));
        for (sm, role) in hot.chain(cast.readers.iter().zip(READS..)) {
            let place = roles.get_mut(*sm as usize);
            *place.ok_or_else(|| failed(format!("SM {sm} has a number past {SM_NUMBERS}")))? = role;
        }
        backend.write(self.role, &bytes_of(&roles))
    }

    /// A launch that adds to the hot lines.
    pub(super) fn heat(&self, lines: usize, rounds: u32) -> Step {
        let warps = lines as u64 * WARPS;
        let blocks = u32::try_from(warps.div_ceil(u64::from(BLOCK / 32))).unwrap_or(u32::MAX);
        let arguments = vec![
            Argument::Buffer(self.words),
            Argument::Buffer(self.hot),
            Argument::U32(lines as u32),
            Argument::U32(rounds),
        ];
        Step::Launch(Launch::new("hot_lines", blocks, BLOCK, arguments))
    }

    /// A launch in which one thread adds to the lines to visit.
    pub(super) fn add_lines(&self, visits: usize) -> Vec<Step> {
        let buffer = Argument::Buffer;
        let arguments = vec![
            buffer(self.words),
            buffer(self.role),
            buffer(self.sm),
            buffer(self.read),
            Argument::U32(visits as u32),
            buffer(self.values),
            buffer(self.cycles),
        ];
        let launch = Launch::new("add_lines", self.sms, BLOCK, arguments);
        vec![Step::Zero(self.values), Step::Launch(launch)]
    }

    /// A launch in which one thread loads the lines to visit beside one that is hot.
    pub(super) fn load_lines(&self, visits: usize) -> Vec<Step> {
        self.beside("load_lines", visits, &[])
    }

    /// A launch in which `readers` blocks load `loads` of the lines to visit a warp, beside one that is hot.
    pub(super) fn load_stream(&self, visits: usize, loads: u32, readers: u32) -> Vec<Step> {
        self.beside("load_stream", visits, &[Argument::U32(loads), Argument::U32(readers)])
    }

    fn beside(&self, kernel: &str, visits: usize, more: &[Argument]) -> Vec<Step> {
        let buffer = Argument::Buffer;
        let mut all = vec![buffer(self.words), buffer(self.hot), Argument::U32(1)];
        all.extend([self.role, self.sm, self.stop, self.adds, self.read].map(buffer));
        all.extend([Argument::U32(visits as u32), Argument::U32(self.head_start)]);
        all.extend_from_slice(more);
        all.extend([buffer(self.values), buffer(self.cycles)]);
        // What an earlier launch read can't pass for what this one did.
        let mut steps = [self.stop, self.values, self.adds].map(Step::Zero).to_vec();
        steps.push(Step::Launch(Launch::new(kernel, self.sms, BLOCK, all)));
        steps
    }

    /// The SM of each block of the last launch that had one an SM.
    ///
    /// # Errors
    /// Two blocks on one SM: who does what is then another than was meant.
    pub(super) fn places(&self, backend: &mut dyn Backend) -> Result<Vec<u32>> {
        let mut places = numbers(backend, self.sm, self.sms)?;
        places.sort_unstable();
        match places.windows(2).find(|two| two[0] == two[1]) {
            Some(two) => Err(failed(format!(
                "SM {} had two blocks of a launch that should have one on each: is the GPU busy otherwise?",
                two[0]
            ))),
            None => Ok(places),
        }
    }

    /// The SMs of each cluster of a launch in clusters.
    pub(super) fn clusters(&self, backend: &mut dyn Backend) -> Result<Vec<Vec<u32>>> {
        let grid = self.sms / CLUSTER * CLUSTER;
        let mut steps = self.add_lines(0);
        for step in &mut steps {
            if let Step::Launch(launch) = step {
                (launch.grid, launch.cluster) = (grid, CLUSTER);
            }
        }
        backend.run(&steps)?;
        let places = numbers(backend, self.sm, grid)?;
        Ok(places.chunks(CLUSTER as usize).map(<[u32]>::to_vec).collect())
    }

    /// What the last launch read, and in how many cycles.
    pub(super) fn values(&self, backend: &mut dyn Backend, count: u32) -> Result<Vec<u32>> {
        numbers(backend, self.values, count)
    }

    /// See [`Lines::values`].
    pub(super) fn cycles(&self, backend: &mut dyn Backend, count: u32) -> Result<Vec<f64>> {
        Ok(numbers(backend, self.cycles, count)?.into_iter().map(f64::from).collect())
    }

    /// The adds that the last launch's hot SMs made.
    pub(super) fn made(&self, backend: &mut dyn Backend) -> Result<u32> {
        Ok(numbers(backend, self.adds, self.sms * BLOCK)?.into_iter().fold(0, u32::wrapping_add))
    }

    /// A line's word that gets hot.
    pub(super) fn hot_word(&self, line: u32) -> Buffer {
        Buffer { bytes: 4, ..self.words.at(u64::from(line) * LINE) }
    }

    /// The adds that a line has seen.
    pub(super) fn adds(&self, backend: &mut dyn Backend, line: u32) -> Result<u32> {
        Ok(numbers(backend, self.hot_word(line), 1)?.first().copied().unwrap_or_default())
    }
}

/// Adds to a line of a launch over different lines.
pub(super) fn adds_a_line(rounds: u32) -> u32 {
    WARPS as u32 * 32 * rounds
}

pub(super) fn bytes_of(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn numbers(backend: &mut dyn Backend, buffer: Buffer, count: u32) -> Result<Vec<u32>> {
    let mut bytes = vec![0; count as usize * 4];
    backend.read(buffer, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect())
}
