//! What a session finds out about its memory: groups, distances, classes, and from which SMs lines look alike.

use std::collections::BTreeMap;

use anyhow::Result;

use super::beside;
use super::hot::{CLUSTER, Cast, Lines, MOST, VISITS, adds_a_line};
use super::map::{self, Classes, Finder, Gap, Heat};
use super::{PAIR_ROUNDS, WINDOW};
use crate::failure::failed;
use crate::measure::Bench;

/// SMs that keep a line hot while a map is made.
pub(super) const HOT_SMS: usize = 8;
/// Lines whose distances are compared between SMs.
pub(super) const COMPARED: usize = 256;

/// Architecture from which there are clusters, and launches at most until the first SM is in one.
const CLUSTERS_FROM: u32 = 90;
const CLUSTERED: usize = 4;

/// A stretch of tests, whose adds are counted: none may be lost.
struct Tests<'a, 'b> {
    bench: &'a mut Bench<'b>,
    lines: Lines,
    sms: Vec<u32>,
    added: BTreeMap<u32, u32>,
}

impl Tests<'_, '_> {
    fn added(&mut self, line: u32) -> &mut u32 {
        self.added.entry(line).or_default()
    }

    /// The quicker of two loads from each line: the first may come from memory, and a run can be disturbed and take longer,
    /// never shorter.
    fn heat(&mut self, hot: u32, read: &[u32]) -> Result<Vec<f64>> {
        let mut quicker = Vec::new();
        for read in read.chunks(VISITS / 2) {
            quicker.extend(self.heat_a_launch(hot, read)?);
        }
        Ok(quicker)
    }

    fn heat_a_launch(&mut self, hot: u32, read: &[u32]) -> Result<Vec<f64>> {
        (self.bench.alive)();
        let (lines, twice) = (self.lines, [read, read].concat());
        let backend = &mut *self.bench.backend;
        lines.make_hot(backend, &[hot])?;
        lines.visit(backend, &twice)?;
        for line in read.iter().filter(|line| u64::from(**line) >= MOST) {
            lines.number(backend, *line)?;
        }
        backend.run(&lines.load_lines(twice.len()))?;
        let values = lines.values(backend, twice.len() as u32)?;
        if let Some((found, wanted)) = values.iter().zip(&twice).find(|(found, wanted)| found != wanted) {
            return Err(failed(format!("a load from line {wanted} brought {found}, not its number")));
        }
        let cycles = lines.cycles(backend, twice.len() as u32)?;
        let made = lines.made(backend)?;
        let added = self.added(hot);
        *added = added.wrapping_add(made);
        Ok((0..read.len()).map(|place| cycles[place].min(cycles[read.len() + place])).collect())
    }

    /// The quicker of two adds to each line by one thread of this SM.
    fn trips(&mut self, sm: u32, lines: &[u32]) -> Result<Vec<f64>> {
        let cast = Cast { readers: vec![sm], ..Cast::default() };
        self.lines.assign(self.bench.backend, &cast)?;
        let mut quicker = Vec::new();
        for visited in lines.chunks(VISITS / 2) {
            (self.bench.alive)();
            let twice = [visited, visited].concat();
            let (lines, backend) = (self.lines, &mut *self.bench.backend);
            lines.visit(backend, &twice)?;
            backend.run(&lines.add_lines(twice.len()))?;
            let cycles = lines.cycles(backend, twice.len() as u32)?;
            for (line, old) in twice.iter().zip(lines.values(backend, twice.len() as u32)?) {
                let added = self.added(*line);
                if old != *added {
                    return Err(failed(format!("an add to line {line} found {old} after {added} adds")));
                }
                *added += 1;
            }
            quicker.extend((0..visited.len()).map(|place| cycles[place].min(cycles[visited.len() + place])));
        }
        Ok(quicker)
    }

    fn all_there(&mut self) -> Result<()> {
        self.lines.places(self.bench.backend)?;
        for (line, wanted) in &self.added {
            let found = self.lines.adds(self.bench.backend, *line)?;
            if found != *wanted {
                return Err(failed(format!("line {line} holds {found} after {wanted} adds: adds were lost")));
            }
        }
        Ok(())
    }

    /// The first SM reads; some of the others, evenly apart, keep a line hot.
    fn cast(&self) -> Cast {
        let others = self.sms.get(1..).unwrap_or_default();
        let apart = (others.len() / HOT_SMS).max(1);
        let hot = others.iter().step_by(apart).take(HOT_SMS).copied().collect();
        Cast { hot, readers: self.sms.iter().take(1).copied().collect() }
    }

    /// Places lines in groups, each hot in its turn.
    fn groups(&mut self, finder: &mut Finder, lines: &[u32]) -> Result<Classes> {
        let cast = self.cast();
        self.lines.assign(self.bench.backend, &cast)?;
        let heat: Heat<'_> = &mut |hot, read| self.heat(hot, read);
        lines.iter().map(|line| finder.place(*line, heat)).collect()
    }

    /// The quickest of three times in which two hot lines are worked off, or one: a run can be disturbed and take longer,
    /// never shorter.
    fn pair(&mut self, pair: &[u32]) -> Result<f64> {
        let mut quickest = f64::INFINITY;
        self.lines.make_hot(self.bench.backend, pair)?;
        for _ in 0..3 {
            (self.bench.alive)();
            for line in pair {
                let added = self.added(*line);
                *added = added.wrapping_add(adds_a_line(PAIR_ROUNDS));
            }
            let heat = [self.lines.heat(pair.len(), PAIR_ROUNDS)];
            quickest = quickest.min(self.bench.backend.time(&[], &heat)?);
        }
        Ok(quickest)
    }

    fn gap(&mut self, lines: &[u32]) -> Result<Option<Gap>> {
        let cast = self.cast();
        self.lines.assign(self.bench.backend, &cast)?;
        Gap::surveyed(lines, &mut |hot, read| self.heat(hot, read))
    }

    /// How far lines are from the reading SM.
    fn distances(&mut self, lines: &[u32]) -> Result<Vec<f64>> {
        match self.sms.first().copied() {
            Some(first) => self.trips(first, lines),
            None => Ok(Vec::new()),
        }
    }
}

/// Tests lines as `work` asks for, and sees to it that every add of every test arrived.
fn tests<'a, 'b, T>(
    bench: &'a mut Bench<'b>,
    work: impl FnOnce(&mut Tests<'a, 'b>) -> Result<T>,
) -> Result<T> {
    let sms = sms(bench)?;
    let lines = Lines::whole(bench)?;
    lines.prepare(bench.backend, MOST)?;
    let mut tests = Tests { bench, lines, sms, added: BTreeMap::new() };
    let done = work(&mut tests)?;
    tests.all_there()?;
    Ok(done)
}

/// The numbers of the GPU's SMs, in order; the first is the one that reads. Found out once a session.
///
/// # Errors
/// Those of the backend; two blocks on one SM.
pub(super) fn sms(bench: &mut Bench<'_>) -> Result<Vec<u32>> {
    let known = bench.kept("sms", 0, |bench| {
        let lines = Lines::new(bench, 0)?;
        lines.assign(bench.backend, &Cast::default())?;
        bench.backend.run(&lines.add_lines(0))?;
        Ok(lines.places(bench.backend)?.into_iter().map(f64::from).collect())
    })?;
    Ok(known.iter().map(|sm| *sm as u32).collect())
}

/// Lines in classes, and what it takes to place more.
#[derive(Debug)]
pub(super) struct Map {
    /// The class of each line.
    pub(super) classes: Classes,
    /// Cycles of an add to each line.
    pub(super) trips: Vec<f64>,
    /// Knows the groups.
    pub(super) finder: Finder,
    /// Between near and far.
    pub(super) far: Option<Gap>,
}

/// A map made anew: gaps first, then every line.
///
/// # Errors
/// Those of the backend; adds that were lost.
pub(super) fn mapped_anew(bench: &mut Bench<'_>, lines: &[u32]) -> Result<Map> {
    tests(bench, |tests| {
        let mut finder = Finder::new(tests.gap(lines)?);
        let groups = tests.groups(&mut finder, lines)?;
        let trips = tests.distances(lines)?;
        let far = Gap::of_distances(&trips);
        Ok(Map { classes: map::classes(&groups, &trips, far), trips, finder, far })
    })
}

/// A map of the first `lines` lines, made once a session.
///
/// # Errors
/// As [`mapped_anew`].
pub(super) fn mapped(bench: &mut Bench<'_>, lines: u64) -> Result<Map> {
    let known = bench.kept("map", lines, |bench| {
        let all: Vec<u32> = (0..lines as u32).collect();
        let map = mapped_anew(bench, &all)?;
        let gaps = [map.finder.gap, map.far].map(|gap| gap.map_or([0.0, 0.0], |gap| [gap.below, gap.above]));
        let representatives = map.finder.representatives.iter().map(|line| f64::from(*line)).collect();
        Ok([gaps.concat(), map.trips, numbered(&map.classes), representatives].concat())
    })?;
    let (gaps, rest) = known.split_at(4);
    let (trips, rest) = rest.split_at(lines as usize);
    let (classes, representatives) = rest.split_at(lines as usize);
    let gap = |at: usize| (gaps[at + 1] > 0.0).then_some(Gap { below: gaps[at], above: gaps[at + 1] });
    let representatives = representatives.iter().map(|line| *line as u32).collect();
    Ok(Map {
        classes: named(classes),
        trips: trips.to_vec(),
        finder: Finder { representatives, gap: gap(0) },
        far: gap(2),
    })
}

impl Map {
    /// Places lines by the groups and the gaps of this map.
    ///
    /// # Errors
    /// As [`mapped_anew`].
    pub(super) fn place(&mut self, bench: &mut Bench<'_>, lines: &[u32]) -> Result<Classes> {
        tests(bench, |tests| {
            let groups = tests.groups(&mut self.finder, lines)?;
            Ok(map::classes(&groups, &tests.distances(lines)?, self.far))
        })
    }

    /// The lines of each class, classes in the order of their first lines.
    pub(super) fn members(&self) -> Vec<(u32, Vec<u32>)> {
        map::members(&self.classes)
    }
}

/// The classes of the first `buckets` lines at a stride, by the map's names, made once a session.
///
/// # Errors
/// As [`mapped_anew`].
pub(super) fn strided(bench: &mut Bench<'_>, stride: u64, buckets: u64) -> Result<Classes> {
    let mut map = mapped(bench, WINDOW)?;
    let known = bench.kept("strided", stride, |bench| {
        let lines: Vec<u32> = (0..buckets).map(|bucket| (bucket * stride / super::LINE) as u32).collect();
        let inside: Option<Classes> =
            lines.iter().map(|line| map.classes.get(*line as usize).copied()).collect();
        Ok(numbered(&match inside {
            Some(inside) => inside,
            None => map.place(bench, &lines)?,
        }))
    })?;
    Ok(named(&known))
}

/// For each SM in order, on how many of the lines that both can tell it agrees with the first on what is near, and their
/// number; made once a session.
///
/// # Errors
/// As [`mapped_anew`].
pub(super) fn views(bench: &mut Bench<'_>) -> Result<Vec<(u32, u64, u64)>> {
    let sms = sms(bench)?;
    let known = bench.kept("views", 0, |bench| {
        let lines: Vec<u32> = (0..COMPARED as u32).collect();
        tests(bench, |tests| {
            let mut first = Vec::new();
            let mut views = Vec::new();
            for sm in sms.iter().copied() {
                let trips = tests.trips(sm, &lines)?;
                let seen = map::far(&trips, Gap::of_distances(&trips));
                if first.is_empty() {
                    first.clone_from(&seen);
                }
                let both = seen.iter().zip(&first).filter_map(|(one, other)| Some((*one)? == (*other)?));
                let (alike, of) = both.fold((0, 0), |(alike, of), same| (alike + u64::from(same), of + 1));
                views.extend([alike, of].map(|count| count as f64));
            }
            Ok(views)
        })
    })?;
    Ok(sms
        .into_iter()
        .zip(known.as_chunks().0)
        .map(|(sm, [alike, of])| (sm, *alike as u64, *of as u64))
        .collect())
}

/// By how much each pair of different lines delays its first when both are hot, as a part of what a line costs itself.
///
/// # Errors
/// As [`mapped_anew`].
pub(super) fn delays(bench: &mut Bench<'_>, pairs: &[[u32; 2]]) -> Result<Vec<f64>> {
    tests(bench, |tests| {
        let Some([first, _]) = pairs.first().copied() else { return Ok(Vec::new()) };
        // The first launch over lines that were not touched for long takes longer.
        tests.pair(&[first])?;
        let (alone, itself) = (tests.pair(&[first])?, tests.pair(&[first, first])?);
        pairs.iter().map(|pair| Ok((tests.pair(pair)? - alone) / (itself - alone))).collect()
    })
}

/// From where an SM sees the L2, compared with the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// What is near to one is near to the other.
    Alike,
    /// What is near to one is far from the other.
    Opposite,
    /// Neither.
    Neither,
}

impl View {
    /// By lines seen alike: 99 of 100 of them, or at most one of 100.
    pub(super) fn of(alike: u64, of: u64) -> View {
        match alike {
            _ if of == 0 => View::Neither,
            alike if alike * 100 >= of * 99 => View::Alike,
            alike if alike * 100 <= of => View::Opposite,
            _ => View::Neither,
        }
    }
}

/// Where an SM stands to the one that reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    /// In its cluster, and so in its GPC; or in another cluster that makes it wait as long.
    OwnGpc,
    /// Elsewhere on its side.
    OwnSide,
    /// On the other side, or on none.
    OtherSide,
}

/// SMs that stand one way and ran one cluster, and what the reader waits when they alone keep a line hot.
#[derive(Clone, Debug)]
pub(super) struct Company {
    /// Where they stand.
    pub(super) stand: Stand,
    /// The SMs, the reader not among them.
    pub(super) sms: Vec<u32>,
    /// Cycles of a load from a near line of the hot line's class; none where it was not measured.
    pub(super) wait: Option<f64>,
}

/// Who stands where, cluster by cluster; an SM that is in none is left out. Where there are no clusters, one company a side.
///
/// # Errors
/// As [`mapped_anew`].
pub(super) fn companies(bench: &mut Bench<'_>) -> Result<Vec<Company>> {
    let views: BTreeMap<u32, View> =
        views(bench)?.into_iter().map(|(sm, alike, of)| (sm, View::of(alike, of))).collect();
    let first = sms(bench)?.first().copied();
    let members = mapped(bench, WINDOW)?.members();
    let chosen = beside::choose(&members, false, "same");
    let clusters = clusters(bench)?;
    let (Some(first), Some((hot, read)), false) = (first, chosen, clusters.is_empty()) else {
        return Ok(by_side(&views, first));
    };
    let waits = bench.kept("waits", 0, |bench| {
        tests(bench, |tests| {
            let mut waits = Vec::new();
            for cluster in &clusters {
                let others = cluster.iter().copied().filter(|sm| *sm != first).collect();
                let cast = Cast { hot: others, readers: vec![first] };
                tests.lines.assign(tests.bench.backend, &cast)?;
                waits.push(map::median(tests.heat(hot, &read)?));
            }
            Ok(waits)
        })
    })?;
    let own = |cluster: &Vec<u32>| cluster.iter().all(|sm| views.get(sm) == Some(&View::Alike));
    let pairs = || clusters.iter().zip(waits.iter().copied());
    let gap = Gap::of_kinds(pairs().filter(|(cluster, _)| own(cluster)).map(|(_, wait)| wait).collect());
    let stand = |cluster: &Vec<u32>, wait: f64| match own(cluster) {
        true if cluster.contains(&first) || gap.is_some_and(|gap| wait >= gap.above) => Stand::OwnGpc,
        true => Stand::OwnSide,
        false => Stand::OtherSide,
    };
    let company = |(cluster, wait): (&Vec<u32>, f64)| Company {
        stand: stand(cluster, wait),
        sms: cluster.iter().copied().filter(|sm| *sm != first).collect(),
        wait: Some(wait),
    };
    Ok(pairs().map(company).collect())
}

fn by_side(views: &BTreeMap<u32, View>, first: Option<u32>) -> Vec<Company> {
    let company = |stand, alike| {
        let of = |(sm, view): (&u32, &View)| {
            ((*view == View::Alike) == alike && Some(*sm) != first).then_some(*sm)
        };
        Company { stand, sms: views.iter().filter_map(of).collect(), wait: None }
    };
    vec![company(Stand::OwnSide, true), company(Stand::OtherSide, false)]
}

/// The SMs of each cluster of one launch, which has the first SM in it if one of several does; none where there are no
/// clusters. Found out once a session.
///
/// # Errors
/// Those of the backend.
fn clusters(bench: &mut Bench<'_>) -> Result<Vec<Vec<u32>>> {
    if bench.backend.device().architecture < CLUSTERS_FROM {
        return Ok(Vec::new());
    }
    let first = sms(bench)?.first().copied();
    let known = bench.kept("clusters", 0, |bench| {
        let lines = Lines::whole(bench)?;
        lines.assign(bench.backend, &Cast::default())?;
        let mut clusters = lines.clusters(bench.backend)?;
        for _ in 1..CLUSTERED {
            if clusters.iter().flatten().any(|sm| Some(*sm) == first) {
                break;
            }
            clusters = lines.clusters(bench.backend)?;
        }
        Ok(clusters.into_iter().flatten().map(f64::from).collect())
    })?;
    let sms: Vec<u32> = known.iter().map(|sm| *sm as u32).collect();
    Ok(sms.chunks(CLUSTER as usize).map(<[u32]>::to_vec).collect())
}

/// Classes as numbers that a session keeps.
fn numbered(classes: &Classes) -> Vec<f64> {
    classes.iter().map(|class| class.map_or(-1.0, f64::from)).collect()
}

fn named(numbers: &[f64]) -> Classes {
    numbers.iter().map(|class| (*class >= 0.0).then_some(*class as u32)).collect()
}

#[cfg(test)]
mod tests_of_views {
    use super::*;

    #[test]
    fn an_sm_sees_lines_as_the_first_does_or_the_other_way_or_neither() {
        let views = [(256, 256), (254, 256), (2, 256), (0, 256), (128, 256), (0, 0)];
        assert_eq!(
            views.map(|(alike, of)| View::of(alike, of)),
            [View::Alike, View::Alike, View::Opposite, View::Opposite, View::Neither, View::Neither]
        );
    }
}
