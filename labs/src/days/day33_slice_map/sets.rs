//! Lines that are hot at once: bucket arrays, sets chosen by the map, pairs.

use anyhow::Result;
use labs_record::figure::{Coordinate, Unit};

use super::hot::{Lines, adds_a_line};
use super::map::{self, Classes};
use super::survey::{self, Map};
use super::{HOT, LINE, PAIR_ROUNDS, PLACED, REACH, SET_ROUNDS, WINDOW};
use crate::backend::{Backend, Buffer, Step};
use crate::lab::Case;
use crate::measure::{Bench, Cache, Work};
use crate::results::{Like, Values};

/// Lines of a set where there is no map to say how many classes there are.
const UNMAPPED: u32 = 40;

/// Lines that are hot at once, each with its share of the adds.
pub(super) struct Set {
    lines: Vec<u32>,
    rounds: u32,
    memory: Lines,
}

impl Set {
    fn new(bench: &mut Bench<'_>, memory: Lines, lines: Vec<u32>, rounds: u32) -> Result<Set> {
        memory.make_hot(bench.backend, &lines)?;
        Ok(Set { lines, rounds, memory })
    }

    fn steps(&self) -> [Vec<Step>; 2] {
        let last = self.lines.iter().max().copied().unwrap_or(0);
        let used = Buffer { bytes: (u64::from(last) + 1) * LINE, ..self.memory.words };
        [vec![Step::Zero(used)], vec![self.memory.heat(self.lines.len(), self.rounds)]]
    }

    /// Checks the set and keeps what its lines hold, to be compared with another run's.
    fn passes(&self, bench: &mut Bench<'_>, case: &Case) -> Result<bool> {
        let [reset, timed] = self.steps();
        let check = |backend: &mut dyn Backend| self.check(backend);
        if !bench.passes(&HOT, &case.at, &Work { reset, timed, check: &check })? {
            return Ok(false);
        }
        bench.result("lines", case, Like::Bits, |backend| {
            Ok(Values::U32(
                self.lines.iter().map(|line| self.memory.adds(backend, *line)).collect::<Result<_>>()?,
            ))
        })?;
        Ok(true)
    }

    fn time(&self, bench: &mut Bench<'_>, name: &str, case: &Case, at: &[(&str, Coordinate)]) -> Result<()> {
        let [reset, timed] = self.steps();
        let check = |backend: &mut dyn Backend| self.check(backend);
        bench.duration(name, case, at, Cache::Hot, &Work { reset, timed, check: &check })
    }

    /// Every line holds its share; a line that stands in the list twice holds both.
    fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        for line in &self.lines {
            let times = self.lines.iter().filter(|other| *other == line).count() as u32;
            let (found, wanted) = (self.memory.adds(backend, *line)?, times * adds_a_line(self.rounds));
            if found != wanted {
                return Ok(Err(format!("line {line} holds {found}, not {wanted}")));
            }
        }
        Ok(Ok(()))
    }
}

fn rounds(bench: &Bench<'_>) -> u32 {
    if bench.takes_time() { SET_ROUNDS } else { 1 }
}

/// A bucket array: so many lines, so far apart.
///
/// # Errors
/// An array that is none, or out of reach; those of the backend.
pub(super) fn buckets(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    let (count, stride) = (case.number("buckets"), case.number("stride"));
    if count == 0 || stride < LINE || !stride.is_multiple_of(LINE) {
        return Err(crate::failure::usage(format!(
            "{count} buckets {stride} bytes apart: a bucket is a line, so choose at least one, and a --stride that {LINE} divides"
        )));
    }
    let memory = Lines::new(bench, count.saturating_mul(stride))?;
    let lines: Vec<u32> = (0..count).map(|bucket| (bucket * stride / LINE) as u32).collect();
    // Of an array that is too long or reaches too far the classes are not looked up.
    let placed = bench.takes_time() && count <= PLACED && PLACED * stride <= REACH;
    let classes = if placed { Some(survey::strided(bench, stride, PLACED)?) } else { None };
    let rounds = rounds(bench);
    let set = Set::new(bench, memory, lines, rounds)?;
    if !set.passes(bench, case)? {
        return Ok(());
    }
    set.time(bench, "set_time", case, &[])?;
    if let Some(classes) = classes {
        let chosen: Classes = classes.into_iter().take(set.lines.len()).collect();
        let busiest = map::sizes(&chosen).into_iter().max().unwrap_or(0);
        bench.spread("busiest", case, &[], Unit::Count, vec![busiest as f64]);
    }
    Ok(())
}

/// Lines chosen by the map, or in spite of it.
///
/// # Errors
/// Those of the backend, and of making a map.
pub(super) fn chosen(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    let place = case.at.get("chosen").map(Coordinate::to_string).unwrap_or_default();
    // Under the profiler no times are taken, but the map is: what is counted are lines that it chose.
    let mapped = bench.backend.keeps_time() && (bench.takes_time() || place != "neighbours");
    let lines = match mapped {
        true => by_map(&survey::mapped(bench, WINDOW)?.members(), &place),
        false => (0..UNMAPPED).collect(),
    };
    let memory = Lines::new(bench, WINDOW * LINE)?;
    let rounds = rounds(bench);
    let set = Set::new(bench, memory, lines, rounds)?;
    if set.passes(bench, case)? {
        set.time(bench, "set_time", case, &[])?;
    }
    Ok(())
}

/// One line of every near class, two of each, one of every class, or as many neighbours as there are classes.
fn by_map(members: &[(u32, Vec<u32>)], place: &str) -> Vec<u32> {
    let near = members.iter().filter(|(class, _)| class % 2 == 0);
    let mut lines: Vec<u32> = match place {
        "near_once" => near.filter_map(|(_, lines)| lines.first().copied()).collect(),
        "near_twice" => near.flat_map(|(_, lines)| lines.iter().take(2).copied()).collect(),
        "every_class" => members.iter().filter_map(|(_, lines)| lines.first().copied()).collect(),
        _ => (0..members.len() as u32).collect(),
    };
    // Where nothing could be placed a single line stands for all.
    if lines.is_empty() {
        lines.push(0);
    }
    lines
}

/// What a pair's time is made of: a line alone, with itself, with one of its class, of its group's other class, of another
/// group.
///
/// # Errors
/// Those of the backend.
pub(super) fn pairs(bench: &mut Bench<'_>, case: &Case, found: &Map) -> Result<()> {
    let members = found.members();
    let Some((class, lines)) = members.first() else { return Ok(()) };
    let line = lines[0];
    let of = |wanted: &dyn Fn(u32) -> bool| {
        members.iter().find(|(class, _)| wanted(*class)).and_then(|(_, lines)| lines.last().copied())
    };
    let mut kinds = vec![("alone", vec![line]), ("itself", vec![line, line])];
    kinds.extend(lines.last().filter(|last| **last != line).map(|last| ("together", vec![line, *last])));
    kinds.extend(of(&|other| other == class ^ 1).map(|other| ("partner", vec![line, other])));
    kinds.extend(of(&|other| other / 2 != class / 2).map(|other| ("apart", vec![line, other])));
    for (kind, lines) in kinds {
        let memory = Lines::new(bench, LINE)?;
        let set = Set::new(bench, memory, lines, PAIR_ROUNDS)?;
        set.time(bench, "pair_time", case, &[("pair", kind.into())])?;
    }
    Ok(())
}

/// By how much two hot lines delay each other, over all groups: of one class, of a group's two classes, of two groups.
///
/// # Errors
/// Those of the backend; adds that were lost.
pub(super) fn delays(bench: &mut Bench<'_>, case: &Case, found: &Map) -> Result<()> {
    for (kind, pairs) in pairs_of(&found.members()) {
        if !pairs.is_empty() {
            let delays = survey::delays(bench, &pairs)?;
            // A launch's time has three digits at best.
            let delays = delays.into_iter().map(|delay| (delay * 1e3).round() / 1e3).collect();
            bench.spread("delay", case, &[("pair", kind.into())], Unit::One, delays);
        }
    }
    Ok(())
}

/// Pairs of lines: first and last of each class; first of each near class with first and with last of the far one; first of
/// each class with first of the next group's at that distance.
fn pairs_of(members: &[(u32, Vec<u32>)]) -> [(&'static str, Vec<[u32; 2]>); 3] {
    let of =
        |class: u32| members.iter().find(|(known, _)| *known == class).map(|(_, lines)| lines.as_slice());
    let mut pairs = [("together", Vec::new()), ("partner", Vec::new()), ("apart", Vec::new())];
    for (class, lines) in members {
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else { continue };
        if first != last {
            pairs[0].1.push([*first, *last]);
        }
        if let (0, Some([other, rest @ ..])) = (class % 2, of(class ^ 1)) {
            pairs[1].1.extend([Some(other), rest.last()].into_iter().flatten().map(|other| [*first, *other]));
        }
        if let Some([other, ..]) = of(class + 2) {
            pairs[2].1.push([*first, *other]);
        }
    }
    pairs
}

/// Where no times are: all lines hot at once, and every add there.
///
/// # Errors
/// Those of the backend.
pub(super) fn checked(bench: &mut Bench<'_>, case: &Case, lines: u64) -> Result<()> {
    let memory = Lines::new(bench, lines * LINE)?;
    let set = Set::new(bench, memory, (0..lines as u32).collect(), PAIR_ROUNDS)?;
    set.passes(bench, case)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_chosen_by_the_map() {
        let members = map::members(&(0..24).map(|line| Some(line / 2 % 4)).collect());
        assert_eq!(by_map(&members, "near_once"), [0, 4]);
        assert_eq!(by_map(&members, "every_class"), [0, 2, 4, 6]);
        assert_eq!(by_map(&members, "near_twice"), [0, 1, 4, 5]);
        assert_eq!(by_map(&members, "neighbours"), [0, 1, 2, 3]);
        assert_eq!(by_map(&[], "every_class"), [0]);
    }

    #[test]
    fn pairs_are_of_one_class_of_one_group_and_of_two() {
        let members = map::members(&(0..24).map(|line| Some(line / 2 % 4)).collect());
        let [together, partner, apart] = pairs_of(&members);
        assert_eq!(together, ("together", vec![[0, 17], [2, 19], [4, 21], [6, 23]]));
        assert_eq!(partner, ("partner", vec![[0, 2], [0, 19], [4, 6], [4, 23]]));
        assert_eq!(apart, ("apart", vec![[0, 4], [2, 6]]));
        let alone = pairs_of(&[(0, vec![7])]);
        assert!(alone.iter().all(|(_, pairs)| pairs.is_empty()));
    }
}
