//! Lines on the device: hot ones, and loads from others beside them.

use std::collections::BTreeMap;

use anyhow::Result;

use super::map::{Classes, Finder, Gap, Heat, Pair};
use super::{BLOCK, LINE, REACH, WINDOW};
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::failure::{failed, usage};
use crate::measure::Bench;

/// Warps that add to a line of `hot_lines`.
pub(super) const WARPS: u64 = 256;
/// Adds of a lane to each of a pair of lines.
pub(super) const PAIR_ROUNDS: u32 = 2;
/// Lines a launch at most.
pub(super) const MOST: u64 = 16_384;
/// Blocks that keep a line hot while a map is made.
pub(super) const HOT_BLOCKS: u32 = 8;
/// The most that do in any case.
pub(super) const MOST_HOT_BLOCKS: u32 = 128;
/// Cycles that the hot blocks have to themselves first; fewer where no times are taken.
pub(super) const HEAD_START: u32 = 30_000;
const NO_HEAD_START: u32 = 100;
/// The word of a line that holds its number.
const NUMBER: u64 = 31;

/// Memory whose lines get hot or are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    /// All of it.
    pub(super) words: Buffer,
    hot: Buffer,
    read: Buffer,
    stop: Buffer,
    adds: Buffer,
    /// What was read, a number a load or a thread.
    values: Buffer,
    cycles: Buffer,
    head_start: u32,
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
        let timed = bench.takes_time();
        Ok(Lines {
            words: bench.scratch("words", if timed { REACH } else { bytes.max(LINE) })?,
            hot: bench.scratch("hot", MOST * 4)?,
            read: bench.scratch("read", MOST * 4)?,
            stop: bench.scratch("stop", 4)?,
            adds: bench.scratch("adds", u64::from(MOST_HOT_BLOCKS * BLOCK) * 4)?,
            values: bench.scratch("values", MOST * 4)?,
            cycles: bench.scratch("cycles", MOST * 4)?,
            head_start: if timed { HEAD_START } else { NO_HEAD_START },
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

    /// Writes which lines the next launches make hot.
    pub(super) fn make_hot(&self, backend: &mut dyn Backend, lines: &[u32]) -> Result<()> {
        backend.write(self.hot, &bytes_of(lines))
    }

    /// Writes which lines the next launches read.
    pub(super) fn read(&self, backend: &mut dyn Backend, lines: &[u32]) -> Result<()> {
        backend.write(self.read, &bytes_of(lines))
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

    /// A launch in which one thread reads lines beside one that is hot.
    pub(super) fn load_lines(&self, hot_blocks: u32, reads: usize) -> Vec<Step> {
        let arguments = [Argument::U32(reads as u32), Argument::U32(self.head_start)];
        self.beside("load_lines", hot_blocks, 1, &arguments)
    }

    /// A launch in which `blocks` read `loads` lines a warp beside one that is hot.
    pub(super) fn load_stream(&self, hot_blocks: u32, blocks: u32, reads: usize, loads: u32) -> Vec<Step> {
        let arguments = [Argument::U32(reads as u32), Argument::U32(loads), Argument::U32(self.head_start)];
        self.beside("load_stream", hot_blocks, blocks, &arguments)
    }

    fn beside(&self, kernel: &str, hot_blocks: u32, readers: u32, arguments: &[Argument]) -> Vec<Step> {
        let buffer = Argument::Buffer;
        let mut all = vec![buffer(self.words), buffer(self.hot), Argument::U32(1), Argument::U32(hot_blocks)];
        all.extend([buffer(self.stop), buffer(self.adds), buffer(self.read)]);
        all.extend(arguments);
        all.extend([buffer(self.values), buffer(self.cycles)]);
        // What an earlier launch read can't pass for what this one did.
        let clean = [Step::Zero(self.stop), Step::Zero(self.values), Step::Zero(self.adds)];
        let mut steps = clean.to_vec();
        steps.push(Step::Launch(Launch::new(kernel, hot_blocks + readers, BLOCK, all)));
        steps
    }

    /// What the last launch read, and in how many cycles.
    pub(super) fn values(&self, backend: &mut dyn Backend, count: u32) -> Result<Vec<u32>> {
        numbers(backend, self.values, count)
    }

    /// See [`Lines::values`].
    pub(super) fn cycles(&self, backend: &mut dyn Backend, count: u32) -> Result<Vec<f64>> {
        Ok(numbers(backend, self.cycles, count)?.into_iter().map(f64::from).collect())
    }

    /// The adds that the last launch's hot blocks made.
    pub(super) fn made(&self, backend: &mut dyn Backend, hot_blocks: u32) -> Result<u32> {
        Ok(numbers(backend, self.adds, hot_blocks * BLOCK)?.into_iter().fold(0, u32::wrapping_add))
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

/// A stretch of tests, whose adds are counted: none may be lost.
struct Tests<'a, 'b> {
    bench: &'a mut Bench<'b>,
    lines: Lines,
    added: BTreeMap<u32, u32>,
}

impl Tests<'_, '_> {
    fn add(&mut self, line: u32, adds: u32) {
        let added = self.added.entry(line).or_default();
        *added = added.wrapping_add(adds);
    }

    fn pair(&mut self, line: u32, other: Option<u32>) -> Result<f64> {
        (self.bench.alive)();
        let pair: Vec<u32> = std::iter::once(line).chain(other).collect();
        for line in &pair {
            self.add(*line, adds_a_line(PAIR_ROUNDS));
        }
        self.lines.make_hot(self.bench.backend, &pair)?;
        self.bench.backend.time(&[], &[self.lines.heat(pair.len(), PAIR_ROUNDS)])
    }

    /// The quicker of two loads from each line: the first may come from memory, and a run can be disturbed and take longer,
    /// never shorter.
    fn heat(&mut self, hot: u32, read: &[u32]) -> Result<Vec<f64>> {
        (self.bench.alive)();
        let (lines, twice) = (self.lines, [read, read].concat());
        let backend = &mut *self.bench.backend;
        lines.make_hot(backend, &[hot])?;
        lines.read(backend, &twice)?;
        // Lines past the prepared ones have no number yet.
        for line in read.iter().filter(|line| u64::from(**line) >= MOST) {
            backend.write(lines.words.at(u64::from(*line) * LINE + NUMBER * 4), &line.to_le_bytes())?;
        }
        backend.run(&lines.load_lines(HOT_BLOCKS, twice.len()))?;
        let values = lines.values(backend, twice.len() as u32)?;
        if let Some((found, wanted)) = values.iter().zip(&twice).find(|(found, wanted)| found != wanted) {
            return Err(failed(format!("a load from line {wanted} brought {found}, not its number")));
        }
        let cycles = lines.cycles(backend, twice.len() as u32)?;
        let made = lines.made(backend, HOT_BLOCKS)?;
        self.add(hot, made);
        Ok((0..read.len()).map(|place| cycles[place].min(cycles[read.len() + place])).collect())
    }

    fn all_there(&mut self) -> Result<()> {
        for (line, wanted) in &self.added {
            let found = self.lines.adds(self.bench.backend, *line)?;
            if found != *wanted {
                return Err(failed(format!("line {line} holds {found} after {wanted} adds: adds were lost")));
            }
        }
        Ok(())
    }
}

/// Tests lines as `work` asks for, and sees to it that every add of every test arrived.
fn tests<'a, 'b, T>(
    bench: &'a mut Bench<'b>,
    work: impl FnOnce(&mut Tests<'a, 'b>) -> Result<T>,
) -> Result<T> {
    let lines = Lines::new(bench, LINE)?;
    lines.prepare(bench.backend, MOST)?;
    let mut tests = Tests { bench, lines, added: BTreeMap::new() };
    let done = work(&mut tests)?;
    tests.all_there()?;
    Ok(done)
}

/// Places lines one after the other, each hot in its turn.
///
/// # Errors
/// Those of the backend; adds that were lost.
pub(super) fn place(bench: &mut Bench<'_>, finder: &mut Finder, lines: &[u32]) -> Result<Classes> {
    tests(bench, |tests| {
        let heat: Heat<'_> = &mut |hot, read| tests.heat(hot, read);
        lines.iter().map(|line| finder.place(*line, heat)).collect()
    })
}

/// A map made anew: the gap first, then every line.
///
/// # Errors
/// As [`place`].
pub(super) fn mapped_anew(bench: &mut Bench<'_>, lines: &[u32]) -> Result<(Classes, Option<Gap>)> {
    let gap = tests(bench, |tests| Gap::surveyed(lines, &mut |hot, read| tests.heat(hot, read)))?;
    Ok((place(bench, &mut Finder::new(gap), lines)?, gap))
}

/// A map of the first `lines` lines, made once a session, and the finder that knows its classes.
///
/// # Errors
/// As [`place`].
pub(super) fn map(bench: &mut Bench<'_>, lines: u64) -> Result<(Classes, Finder)> {
    let known = bench.kept("map", lines, |bench| {
        let all: Vec<u32> = (0..lines as u32).collect();
        let (classes, gap) = mapped_anew(bench, &all)?;
        let [below, above] = gap.map_or([0.0, 0.0], |gap| [gap.below, gap.above]);
        Ok([vec![below, above], numbered(&classes)].concat())
    })?;
    let (gap, classes) = known.split_at(2);
    let gap = (gap[1] > 0.0).then_some(Gap { below: gap[0], above: gap[1] });
    let classes = named(classes);
    let finder = Finder::knowing(&classes, gap);
    Ok((classes, finder))
}

/// The classes of the first `buckets` lines at a stride, by the map's names, made once a session.
///
/// # Errors
/// As [`place`].
pub(super) fn strided(bench: &mut Bench<'_>, stride: u64, buckets: u64) -> Result<Classes> {
    let (map, mut finder) = map(bench, WINDOW)?;
    let known = bench.kept("strided", stride, |bench| {
        let lines: Vec<u32> = (0..buckets).map(|bucket| (bucket * stride / LINE) as u32).collect();
        let inside: Option<Classes> = lines.iter().map(|line| map.get(*line as usize).copied()).collect();
        Ok(numbered(&match inside {
            Some(inside) => inside,
            None => place(bench, &mut finder, &lines)?,
        }))
    })?;
    Ok(named(&known))
}

/// For each class, which others delay it when a line of either is hot, made once a session.
///
/// # Errors
/// As [`place`].
pub(super) fn partners(bench: &mut Bench<'_>, lines: u64) -> Result<Vec<Vec<usize>>> {
    let (_, finder) = map(bench, lines)?;
    let known = bench.kept("partners", lines, |bench| {
        let pair_of = |tests: &mut Tests<'_, '_>| {
            let pair: Pair<'_> = &mut |line, other| tests.pair(line, other);
            super::map::partners(&finder.representatives, pair)
        };
        let partners = tests(bench, pair_of)?;
        // Pairs of numbers: the class and one that delays it.
        let pairs = partners
            .iter()
            .enumerate()
            .flat_map(|(class, others)| others.iter().flat_map(move |other| [class as f64, *other as f64]));
        Ok(pairs.collect())
    })?;
    let mut partners = vec![Vec::new(); finder.representatives.len()];
    for [class, other] in known.as_chunks().0 {
        partners[*class as usize].push(*other as usize);
    }
    Ok(partners)
}

/// Classes as numbers that a session keeps.
fn numbered(classes: &Classes) -> Vec<f64> {
    classes.iter().map(|class| class.map_or(-1.0, f64::from)).collect()
}

fn named(numbers: &[f64]) -> Classes {
    numbers.iter().map(|class| (*class >= 0.0).then_some(*class as u32)).collect()
}
