//! Loads beside a hot line: from lines of its class, of its group's other class, and of other groups.

use anyhow::Result;
use labs_record::figure::{Coordinate, Kind, Unit};

use super::hot::{Cast, Lines};
use super::map::median;
use super::survey::{self, Stand};
use super::{BLOCK, LINE, WINDOW};
use crate::backend::{Backend, Step};
use crate::lab::{Case, Variant};
use crate::measure::{Bench, Reading, Work};
use crate::results::{Like, Values};

/// Lines that are read: as many as every class of a window has.
pub(super) const READ: usize = 8;
/// How often one thread reads each.
pub(super) const LAPS: usize = 4;
/// SMs that read a stream, and the lines that each of their warps reads.
pub(super) const READERS: usize = 8;
pub(super) const STREAM: u32 = 256;
/// In less than this time no hot SM has given up: two thirds of the 2^28 cycles that the kernel allows, at 3 GHz.
const STILL_HOT_NS: f64 = 60e6;

/// What is read beside what, by whom.
pub(super) struct Beside {
    stream: bool,
    cast: Cast,
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
                "the launch took {ns} ns, and the hot SMs may have given up before its end"
            )));
        }
        Ok(Ok(vec![beside.median_cycles(backend)?]))
    };
    bench.readings(&[reading], case, &work.reset, &work.timed, &read)
}

/// A line to make hot, of the first group that has lines enough at that distance, and lines to read: of its class, of its
/// group's other class, or of the next group's class at the same distance. None where there is no such class.
pub(super) fn choose(members: &[(u32, Vec<u32>)], far: bool, slice: &str) -> Option<(u32, Vec<u32>)> {
    let full = |class: u32| {
        let (_, lines) = members.iter().find(|(known, _)| *known == class)?;
        (lines.len() > READ).then_some(lines)
    };
    let mut here = members.iter().map(|(class, _)| *class).filter(|class| (class % 2 == 1) == far);
    let hot = here.find(|class| full(*class).is_some())?;
    let read = match slice {
        "same" => full(hot)?,
        "partner" => full(hot ^ 1)?,
        _ => here.find_map(full)?,
    };
    Some((*full(hot)?.last()?, read.iter().take(READ).copied().collect()))
}

/// Who reads and who keeps the line hot: readers are the first SM and others by turns of its GPC and of its side;
/// hot SMs stand as asked for, or by turns in every way as long as there are. None where there are too few.
fn cast(
    first: u32,
    stands: &[(u32, Stand)],
    readers: usize,
    hot: usize,
    heated_from: Option<Stand>,
) -> Option<Cast> {
    let of = |wanted: Stand| {
        stands.iter().filter(move |(_, stand)| *stand == wanted).map(|(sm, _)| *sm).collect::<Vec<u32>>()
    };
    let [gpc, own, other] = [Stand::OwnGpc, Stand::OwnSide, Stand::OtherSide].map(of);
    let readers = [vec![first], by_turns(&[&gpc, &own]).into_iter().take(readers - 1).collect()].concat();
    let left = |sms: Vec<u32>| sms.into_iter().filter(|sm| !readers.contains(sm)).collect::<Vec<u32>>();
    let [gpc, own, other] = [gpc, own, other].map(left);
    let hot_ones = match heated_from {
        Some(Stand::OwnGpc) => gpc,
        Some(Stand::OwnSide) => own,
        Some(Stand::OtherSide) => other,
        None => by_turns(&[&gpc, &own, &other]),
    };
    Some(Cast { hot: hot_ones.get(..hot)?.to_vec(), readers })
}

/// The first of each list, then the second of each, and so on.
fn by_turns(lists: &[&[u32]]) -> Vec<u32> {
    let longest = lists.iter().map(|list| list.len()).max().unwrap_or(0);
    (0..longest).flat_map(|place| lists.iter().filter_map(move |list| list.get(place).copied())).collect()
}

impl Beside {
    fn new(bench: &mut Bench<'_>, case: &Case, variant: &Variant) -> Result<Option<Beside>> {
        let stream = variant.name == "load_stream";
        let word = |axis: &str| match case.at.get(axis) {
            Some(Coordinate::Text(word)) => word.clone(),
            _ => String::new(),
        };
        let heated_from = match word("heated_from").as_str() {
            "own_gpc" => Some(Stand::OwnGpc),
            "own_side" => Some(Stand::OwnSide),
            "other_side" => Some(Stand::OtherSide),
            _ => None,
        };
        let sms = survey::sms(bench)?;
        let Some((first, others)) = sms.split_first() else { return Ok(None) };
        // Under the profiler no times are taken, but sides are: what is counted depends on who adds.
        let mapped = bench.backend.keeps_time() && (bench.takes_time() || heated_from.is_some());
        let (chosen, stands) = match mapped {
            true => {
                let members = survey::mapped(bench, WINDOW)?.members();
                let companies = survey::companies(bench)?;
                let stands = companies
                    .into_iter()
                    .flat_map(|company| company.sms.into_iter().map(move |sm| (sm, company.stand)))
                    .collect();
                (choose(&members, word("home") == "far", &word("slice")), stands)
            }
            // Without a map any lines and any SMs do for a check.
            false => {
                let stands: Vec<(u32, Stand)> = others.iter().map(|sm| (*sm, Stand::OwnSide)).collect();
                (Some((READ as u32, (0..READ as u32).collect())), stands)
            }
        };
        let (readers, hot) = (if stream { READERS } else { 1 }, usize::try_from(case.number("hot_sms"))?);
        let cast = cast(*first, &stands, readers, hot, heated_from);
        let Some(((hot_line, read), cast)) = chosen.zip(cast) else { return Ok(None) };
        let lines = Lines::new(bench, (READ as u64 + 1) * LINE)?;
        Ok(Some(Beside { stream, cast, hot_line, read, lines }))
    }

    /// Lines in the order in which one thread reads them.
    fn laps(&self) -> Vec<u32> {
        self.read.repeat(LAPS)
    }

    fn prepare(&self, backend: &mut dyn Backend) -> Result<()> {
        let last = self.read.iter().max().copied().unwrap_or(0);
        self.lines.prepare(backend, u64::from(last) + 1)?;
        self.lines.assign(backend, &self.cast)?;
        self.lines.make_hot(backend, &[self.hot_line])?;
        self.lines.visit(backend, &if self.stream { self.read.clone() } else { self.laps() })
    }

    fn steps(&self) -> Vec<Step> {
        match self.stream {
            true => self.lines.load_stream(self.read.len(), STREAM, READERS as u32),
            false => self.lines.load_lines(self.laps().len()),
        }
    }

    /// Every load brought what it should, and every add is in the hot line.
    fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        self.lines.places(backend)?;
        let made = self.lines.made(backend)?;
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
        (0..READERS * BLOCK as usize).map(sum).collect()
    }

    /// The median over one thread's loads, or over the blocks of the stream.
    fn median_cycles(&self, backend: &mut dyn Backend) -> Result<f64> {
        let count = if self.stream { READERS } else { self.laps().len() };
        Ok(median(self.lines.cycles(backend, count as u32)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::map;
    use super::*;

    /// Two groups of two classes, ten lines each.
    fn members() -> Vec<(u32, Vec<u32>)> {
        map::members(&(0..80).map(|line| Some(line / 2 % 4)).collect())
    }

    #[test]
    fn what_is_read_is_of_the_class_that_was_asked_for() {
        let class = |line: u32| line / 2 % 4;
        for (far, slice, hot_of, read_of) in [
            (false, "same", 0, 0),
            (false, "partner", 0, 1),
            (false, "other", 0, 2),
            (true, "same", 1, 1),
            (true, "partner", 1, 0),
            (true, "other", 1, 3),
        ] {
            let (hot, read) = choose(&members(), far, slice).unwrap();
            assert_eq!(class(hot), hot_of, "{far} {slice}");
            assert!(read.len() == READ && !read.contains(&hot));
            assert!(read.iter().all(|line| class(*line) == read_of), "{far} {slice}");
        }
    }

    #[test]
    fn where_there_is_no_such_class_nothing_is_chosen() {
        let near = map::members(&(0..80).map(|line| Some(line / 2 % 4 * 2)).collect());
        assert!(choose(&near, true, "same").is_none());
        assert!(choose(&near, false, "partner").is_none());
        assert!(choose(&near, false, "other").is_some());
        assert!(choose(&map::members(&vec![Some(0); 64]), false, "other").is_none());
        assert!(choose(&[], false, "same").is_none());
        let thin = map::members(&(0..64).map(|line| Some(line / READ as u32)).collect());
        assert!(choose(&thin, false, "same").is_none());
    }

    #[test]
    fn hot_sms_stand_as_asked_for_and_readers_are_not_among_them() {
        // 0 reads; 1 to 3 are of its GPC, 4 to 7 of its side, 8 to 11 on the other.
        let stand = |sm| match sm {
            1..=3 => Stand::OwnGpc,
            4..=7 => Stand::OwnSide,
            _ => Stand::OtherSide,
        };
        let stands: Vec<(u32, Stand)> = (1..12).map(|sm| (sm, stand(sm))).collect();
        let hot = |hot, from| cast(0, &stands, 1, hot, from).map(|cast| cast.hot);
        assert_eq!(hot(3, Some(Stand::OwnGpc)).unwrap(), [1, 2, 3]);
        assert_eq!(hot(4, Some(Stand::OwnGpc)), None, "there are three");
        assert_eq!(hot(2, Some(Stand::OwnSide)).unwrap(), [4, 5]);
        assert_eq!(hot(2, Some(Stand::OtherSide)).unwrap(), [8, 9]);
        assert_eq!(hot(5, None).unwrap(), [1, 4, 8, 2, 5]);
        assert_eq!(hot(11, None).unwrap().len(), 11);
        assert_eq!(hot(12, None), None, "one too many");
        let stream = cast(0, &stands, 4, 3, None).unwrap();
        assert_eq!(stream.readers, [0, 1, 4, 2]);
        assert_eq!(stream.hot, [3, 5, 8]);
        let alike: Vec<(u32, Stand)> = (1..12).map(|sm| (sm, Stand::OwnSide)).collect();
        assert_eq!(cast(0, &alike, 8, 4, None).unwrap().hot, [8, 9, 10, 11]);
        assert!(cast(0, &alike, 8, 1, Some(Stand::OtherSide)).is_none());
    }
}
