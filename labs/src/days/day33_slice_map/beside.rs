//! Loads beside a hot line: from lines of its slice, of its partner, and of another.

use anyhow::Result;
use labs_record::figure::{Coordinate, Kind, Unit};

use super::hot::{self, Lines};
use super::map::{Classes, median};
use super::{BLOCK, LINE, WINDOW};
use crate::backend::{Backend, Step};
use crate::failure::usage;
use crate::lab::{Case, Variant};
use crate::measure::{Bench, Reading, Work};
use crate::results::{Like, Values};

/// Lines that are read: as many as every class of a window has.
pub(super) const READ: usize = 8;
/// How often one thread reads each.
pub(super) const LAPS: usize = 4;
/// Blocks that read a stream, and the lines that each of their warps reads.
pub(super) const READERS: u32 = 8;
pub(super) const STREAM: u32 = 64;
/// In less than this time no hot block has given up: two thirds of the 2^28 cycles that the kernel allows, at 3 GHz. A
/// stream of loads beside a hot line of their own slice takes a good part of it.
const STILL_HOT_NS: f64 = 60e6;

/// What is read beside what.
pub(super) struct Beside {
    stream: bool,
    hot_blocks: u32,
    hot_line: u32,
    read: Vec<u32>,
    lines: Lines,
}

/// Measures one case of the two kernels that load.
///
/// # Errors
/// Those of the backend, and of making a map.
pub(super) fn measure(bench: &mut Bench<'_>, case: &Case, variant: &Variant) -> Result<()> {
    let Some(beside) = Beside::new(bench, case, variant)? else { return Ok(()) };
    beside.prepare(bench.backend)?;
    let check = |backend: &mut dyn Backend| beside.check(backend);
    let reset = vec![Step::Zero(beside.lines.hot_word(beside.hot_line))];
    let work = Work { reset, timed: beside.steps(), check: &check };
    if !bench.passes(variant, &case.at, &work)? {
        return Ok(());
    }
    bench.result("loaded", case, Like::Bits, |backend| {
        Ok(Values::U32(beside.lines.values(backend, beside.wanted().len() as u32)?))
    })?;
    let name = if beside.stream { "stream_cycles" } else { "load_cycles" };
    let reading = Reading { name, unit: Unit::Cycles, kind: Kind::Duration };
    let read = |backend: &mut dyn Backend, ns: f64| {
        if let Err(message) = beside.check(backend)? {
            return Ok(Err(message));
        }
        if ns > STILL_HOT_NS {
            return Ok(Err(format!(
                "the launch took {ns} ns, and the hot blocks may have given up before its end"
            )));
        }
        Ok(Ok(vec![beside.median_cycles(backend)?]))
    };
    bench.readings(&[reading], case, &work.reset, &work.timed, &read)
}

/// A line to make hot, of the first class with lines enough, and lines to read: of that class, of its partner, or of a class
/// that is neither. None where there is no such class.
fn choose(classes: &Classes, partners: &[Vec<usize>], slice: &str) -> Option<(u32, Vec<u32>)> {
    let of = |class: usize| -> Vec<u32> {
        (0..classes.len() as u32).filter(|line| classes[*line as usize] == Some(class as u32)).collect()
    };
    let full = |class: &usize| of(*class).len() > READ;
    let hot = (0..partners.len()).find(full)?;
    let delayed = &partners[hot];
    let read = match slice {
        "same" => Some(hot),
        "partner" => delayed.iter().copied().find(full),
        _ => (0..partners.len()).filter(full).find(|class| *class != hot && !delayed.contains(class)),
    };
    Some((*of(hot).last()?, of(read?).into_iter().take(READ).collect()))
}

impl Beside {
    fn new(bench: &mut Bench<'_>, case: &Case, variant: &Variant) -> Result<Option<Beside>> {
        let hot_blocks = u32::try_from(case.number("hot_blocks"))?;
        if hot_blocks > hot::MOST_HOT_BLOCKS {
            return Err(usage(format!("{hot_blocks} hot blocks are more than {}", hot::MOST_HOT_BLOCKS)));
        }
        let slice = match case.at.get("slice") {
            Some(Coordinate::Text(slice)) => slice.as_str(),
            _ => "other",
        };
        let chosen = match bench.takes_time() {
            true => {
                let (classes, _) = hot::map(bench, WINDOW)?;
                choose(&classes, &hot::partners(bench, WINDOW)?, slice)
            }
            // Where no times are, there is no map; any lines do for a check.
            false => Some((READ as u32, (0..READ as u32).collect())),
        };
        let Some((hot_line, read)) = chosen else { return Ok(None) };
        let lines = Lines::new(bench, (READ as u64 + 1) * LINE)?;
        Ok(Some(Beside { stream: variant.name == "load_stream", hot_blocks, hot_line, read, lines }))
    }

    /// Lines in the order in which one thread reads them.
    fn laps(&self) -> Vec<u32> {
        self.read.repeat(LAPS)
    }

    fn prepare(&self, backend: &mut dyn Backend) -> Result<()> {
        let last = self.read.iter().max().copied().unwrap_or(0);
        self.lines.prepare(backend, u64::from(last) + 1)?;
        self.lines.make_hot(backend, &[self.hot_line])?;
        self.lines.read(backend, &if self.stream { self.read.clone() } else { self.laps() })
    }

    fn steps(&self) -> Vec<Step> {
        match self.stream {
            true => self.lines.load_stream(self.hot_blocks, READERS, self.read.len(), STREAM),
            false => self.lines.load_lines(self.hot_blocks, self.laps().len()),
        }
    }

    /// Every load brought what it should, and every add is in the hot line.
    fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        let made = self.lines.made(backend, self.hot_blocks)?;
        let found = self.lines.adds(backend, self.hot_line)?;
        if found != made {
            return Ok(Err(format!("the hot line holds {found} after {made} adds")));
        }
        let wanted = self.wanted();
        let values = self.lines.values(backend, wanted.len() as u32)?;
        let wrong = values.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
        Ok(wrong.map_or(Ok(()), |place| {
            let what = if self.stream { "thread" } else { "load" };
            Err(format!("{what} {place} brought {}, not {}", values[place], wanted[place]))
        }))
    }

    /// What the loads must bring: the lines' numbers, or each thread's sum, of which one lane of a warp reads numbers and
    /// the others zeros.
    fn wanted(&self) -> Vec<u32> {
        if !self.stream {
            return self.laps();
        }
        let sum = |thread: usize| match thread % 32 {
            31 => (0..STREAM as usize).map(|i| self.read[(thread / 32 + i) % self.read.len()]).sum(),
            _ => 0,
        };
        (0..(READERS * BLOCK) as usize).map(sum).collect()
    }

    /// The median over one thread's loads, or over the blocks of the stream.
    fn median_cycles(&self, backend: &mut dyn Backend) -> Result<f64> {
        let count = if self.stream { READERS } else { self.laps().len() as u32 };
        Ok(median(self.lines.cycles(backend, count)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_of_the_class_that_was_asked_for() {
        let classes: Classes = (0..80).map(|line| Some(line / 2 % 4)).collect();
        let partners = [vec![2], vec![3], vec![0], vec![1]];
        for (slice, wanted) in [("same", 0), ("partner", 2), ("other", 1)] {
            let (hot, read) = choose(&classes, &partners, slice).unwrap();
            assert_eq!(classes[hot as usize], Some(0));
            assert!(read.len() == READ && !read.contains(&hot));
            assert!(read.iter().all(|line| classes[*line as usize] == Some(wanted)), "{slice}");
        }
    }

    #[test]
    fn where_there_is_no_such_class_nothing_is_chosen() {
        let classes: Classes = (0..80).map(|line| Some(line / 2 % 4)).collect();
        assert!(choose(&classes, &[vec![], vec![], vec![], vec![]], "partner").is_none());
        assert!(choose(&vec![Some(0); 64], &[vec![]], "other").is_none());
        assert!(choose(&vec![None; 64], &[], "same").is_none());
        let thin: Classes = (0..64).map(|line| Some(line / READ as u32)).collect();
        assert!(choose(&thin, &vec![vec![]; 8], "same").is_none());
    }
}
