//! Classes of lines, from nothing but the times of loads beside hot lines.

use std::collections::BTreeMap;

use anyhow::Result;

/// Keeps the first line hot and loads from the others: cycles of the quicker of two loads from each.
pub(super) type Heat<'a> = &'a mut dyn FnMut(u32, &[u32]) -> Result<Vec<f64>>;

/// Gives the time in which two hot lines are worked off, or one alone: nanoseconds.
pub(super) type Pair<'a> = &'a mut dyn FnMut(u32, Option<u32>) -> Result<f64>;

/// Lines that are all loaded from beside each other first, to find the gap.
const SURVEYED: usize = 48;
/// Loads that wait take at least this many times as long as those that do not; else times tell nothing.
const CONTRAST: f64 = 1.5;
/// Runs that say what a hot line takes alone, and with itself.
const RUNS_A_LOOK: usize = 5;
/// A delay of two hot lines above this part of what one costs itself is no noise.
const DELAYED: f64 = 0.15;

/// The class of each line, by the order in which classes were found; none for a line that is ambiguous.
pub(super) type Classes = Vec<Option<u32>>;

/// What a load beside a hot line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// It did not wait: another slice.
    Apart,
    /// Neither.
    Unsure,
    /// It waited: one slice.
    Together,
}

/// The gap between loads that do not wait and loads that do, in cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gap {
    /// The slowest that does not wait.
    pub(super) below: f64,
    /// The quickest that does.
    pub(super) above: f64,
}

impl Gap {
    /// Makes some lines hot in turn and loads from all of them; none where times tell nothing.
    ///
    /// # Errors
    /// Those of `heat`.
    pub(super) fn surveyed(lines: &[u32], heat: Heat<'_>) -> Result<Option<Gap>> {
        let chosen = &lines[..lines.len().min(SURVEYED)];
        let mut cycles = Vec::new();
        for line in chosen {
            cycles.extend(heat(*line, chosen)?);
        }
        Ok(Gap::widest(cycles))
    }

    /// The widest gap between one load and the next slower one, by their ratio.
    pub(super) fn widest(mut cycles: Vec<f64>) -> Option<Gap> {
        cycles.sort_by(f64::total_cmp);
        let gaps = cycles.windows(2).map(|pair| Gap { below: pair[0], above: pair[1] });
        let ratio = |gap: &Gap| gap.above / gap.below;
        gaps.filter(|gap| ratio(gap) >= CONTRAST).max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
    }

    /// Whatever falls into the middle third of the gap has neither waited nor not.
    pub(super) fn judge(self, cycles: f64) -> Sharing {
        let third = (self.above - self.below) / 3.0;
        match cycles {
            cycles if cycles <= self.below + third => Sharing::Apart,
            cycles if cycles >= self.above - third => Sharing::Together,
            _ => Sharing::Unsure,
        }
    }
}

/// Finds classes one line after the other, each class by its first line.
#[derive(Debug)]
pub(super) struct Finder {
    /// The first line of each class.
    pub(super) representatives: Vec<u32>,
    /// Between what waits and what does not.
    pub(super) gap: Option<Gap>,
}

impl Finder {
    /// One that knows no class yet; without a gap it places nothing.
    pub(super) fn new(gap: Option<Gap>) -> Finder {
        Finder { representatives: Vec::new(), gap }
    }

    /// One that knows the classes of a map already.
    pub(super) fn knowing(classes: &Classes, gap: Option<Gap>) -> Finder {
        let count = classes.iter().flatten().max().map_or(0, |most| most + 1);
        let first = |class| classes.iter().position(|known| *known == Some(class)).unwrap_or(0) as u32;
        Finder { representatives: (0..count).map(first).collect(), gap }
    }

    /// The class of a line: that of the one representative that waits beside it, a new one if none does; none if several do,
    /// or if one can't be told.
    ///
    /// # Errors
    /// Those of `heat`.
    pub(super) fn place(&mut self, line: u32, heat: Heat<'_>) -> Result<Option<u32>> {
        let Some(gap) = self.gap else { return Ok(None) };
        let cycles = match self.representatives.is_empty() {
            true => Vec::new(),
            false => heat(line, &self.representatives)?,
        };
        let said: Vec<Sharing> = cycles.into_iter().map(|cycles| gap.judge(cycles)).collect();
        if said.contains(&Sharing::Unsure) {
            return Ok(None);
        }
        let mut together = said.iter().enumerate().filter(|(_, sharing)| **sharing == Sharing::Together);
        match (together.next(), together.next()) {
            (Some((class, _)), None) => Ok(Some(class as u32)),
            (Some(_), Some(_)) => Ok(None),
            (None, _) => {
                self.representatives.push(line);
                Ok(Some(self.representatives.len() as u32 - 1))
            }
        }
    }
}

/// For each line, which others delay it when both are hot.
///
/// # Errors
/// Those of `pair`.
pub(super) fn partners(lines: &[u32], pair: Pair<'_>) -> Result<Vec<Vec<usize>>> {
    let mut partners = vec![Vec::new(); lines.len()];
    let Some(first) = lines.first() else { return Ok(partners) };
    let mut median_of = |other| -> Result<f64> {
        let times = (0..RUNS_A_LOOK).map(|_| pair(*first, other)).collect::<Result<Vec<f64>>>()?;
        Ok(median(times))
    };
    let (alone, itself) = (median_of(None)?, median_of(Some(*first))?);
    for (place, line) in lines.iter().enumerate() {
        for (other, beside) in lines[..place].iter().enumerate() {
            let mut look =
                || Ok::<f64, anyhow::Error>((pair(*line, Some(*beside))? - alone) / (itself - alone));
            // A run can be disturbed and take longer, never shorter: a delay is looked at twice more.
            let first = look()?;
            if first > DELAYED && median(vec![first, look()?, look()?]) > DELAYED {
                partners[place].push(other);
                partners[other].push(place);
            }
        }
    }
    Ok(partners)
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// How many lines each class has, in the order of classes.
pub(super) fn sizes(classes: &Classes) -> Vec<u64> {
    let mut sizes = BTreeMap::<u32, u64>::new();
    for class in classes.iter().flatten() {
        *sizes.entry(*class).or_default() += 1;
    }
    sizes.into_values().collect()
}

/// Lines on which two maps agree, of those that both placed. Names of classes mean nothing: a class of one map is a class
/// of the other if each is what most of the other's lines are in.
pub(super) fn agreement(one: &Classes, other: &Classes) -> (u64, u64) {
    let both: Vec<(u32, u32)> = one.iter().zip(other).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
    let there = counterparts(both.iter().copied());
    let back = counterparts(both.iter().map(|(a, b)| (*b, *a)));
    let agrees = |(a, b): &&(u32, u32)| there.get(a) == Some(b) && back.get(b) == Some(a);
    (both.iter().filter(agrees).count() as u64, both.len() as u64)
}

/// For each first number, the second that stands beside it most often.
fn counterparts(pairs: impl Iterator<Item = (u32, u32)>) -> BTreeMap<u32, u32> {
    let mut counts = BTreeMap::<u32, BTreeMap<u32, u64>>::new();
    for (a, b) in pairs {
        *counts.entry(a).or_default().entry(b).or_default() += 1;
    }
    let most = |seen: BTreeMap<u32, u64>| seen.into_iter().max_by_key(|(_, count)| *count).map(|(b, _)| b);
    counts.into_iter().filter_map(|(a, seen)| Some((a, most(seen)?))).collect()
}

/// Pairs of lines of one class that are still in one class when the same bit of both numbers is flipped, of all pairs whose
/// four lines were placed. A class is compared line by line with its first.
pub(super) fn moved_together(classes: &Classes, bit: u32) -> (u64, u64) {
    let class = |line: usize| classes.get(line).copied().flatten();
    let mut first = BTreeMap::<u32, usize>::new();
    let (mut together, mut all) = (0, 0);
    for line in 0..classes.len() {
        let Some(own) = class(line) else { continue };
        let known = *first.entry(own).or_insert(line);
        // A line and its own other half of the pair say nothing of the rest.
        if known == line || known == line ^ (1 << bit) {
            continue;
        }
        if let (Some(one), Some(other)) = (class(known ^ (1 << bit)), class(line ^ (1 << bit))) {
            all += 1;
            together += u64::from(one == other);
        }
    }
    (together, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: u32 = 512;

    /// Six slices, a hash of no great depth.
    fn slice(line: u32) -> u32 {
        ((line / 2) ^ (line / 16) ^ (line / 128)) % 6
    }

    /// Loads as a GPU gives them: 300 cycles and up to `noise` more, 1,300 where they wait.
    fn loads(noise: f64, seed: u64) -> impl FnMut(u32, &[u32]) -> Result<Vec<f64>> {
        let mut random = fastrand::Rng::with_seed(seed);
        move |hot, read| {
            let mut load =
                |line: &u32| if slice(*line) == slice(hot) { 1_300.0 } else { 300.0 } + random.f64() * noise;
            Ok(read.iter().map(&mut load).collect())
        }
    }

    fn map(lines: impl Iterator<Item = u32>, heat: Heat<'_>) -> (Classes, Finder) {
        let lines: Vec<u32> = lines.collect();
        let mut finder = Finder::new(Gap::surveyed(&lines, heat).unwrap());
        let mut classes = vec![None; LINES as usize];
        for line in lines {
            classes[line as usize] = finder.place(line, heat).unwrap();
        }
        (classes, finder)
    }

    fn slices() -> Classes {
        (0..LINES).map(|line| Some(slice(line))).collect()
    }

    #[test]
    fn classes_are_the_slices() {
        let mut heat = loads(100.0, 1);
        let (classes, finder) = map(0..LINES, &mut heat);
        assert_eq!(agreement(&classes, &slices()), (512, 512));
        assert_eq!(sizes(&classes).len(), 6);
        assert_eq!(sizes(&classes).iter().sum::<u64>(), 512);
        let (again, _) = map((0..LINES).rev(), &mut loads(100.0, 2));
        assert_ne!(classes, again, "other names");
        assert_eq!(agreement(&classes, &again), (512, 512));
        let mut finder = Finder::knowing(&classes, finder.gap);
        assert!((0..LINES).all(|line| finder.place(line, &mut heat).unwrap() == classes[line as usize]));
    }

    #[test]
    fn noise_as_large_as_the_wait_spoils_the_map_and_shows() {
        let (one, other) = (map(0..LINES, &mut loads(2e3, 1)).0, map(0..LINES, &mut loads(2e3, 2)).0);
        let (agree, placed) = agreement(&one, &other);
        assert!(agree < 512 * 9 / 10, "{agree} of {placed}");
    }

    #[test]
    fn where_no_load_waits_nothing_is_placed() {
        let mut flat = |_, read: &[u32]| Ok(vec![300.0; read.len()]);
        assert!(map(0..LINES, &mut flat).0.iter().all(Option::is_none));
    }

    #[test]
    fn the_widest_gap_counts_and_its_middle_says_nothing() {
        let gap = Gap::widest(vec![300.0, 400.0, 1_300.0, 310.0, 1_500.0]).unwrap();
        assert_eq!(gap, Gap { below: 400.0, above: 1_300.0 });
        let said = [300.0, 690.0, 850.0, 1_010.0, 9e3].map(|cycles| gap.judge(cycles));
        assert_eq!(
            said,
            [Sharing::Apart, Sharing::Apart, Sharing::Unsure, Sharing::Together, Sharing::Together]
        );
        assert_eq!(Gap::widest(vec![300.0, 400.0]), None, "no contrast");
        assert_eq!(Gap::widest(Vec::new()), None);
    }

    #[test]
    fn a_load_in_the_gap_and_a_line_of_two_classes_are_ambiguous() {
        let mut quiet = loads(0.0, 1);
        let mut odd = |hot: u32, read: &[u32]| {
            let mut cycles = quiet(hot, read)?;
            match hot {
                300 => cycles[0] = 800.0,
                301 => cycles[..2].fill(1_300.0),
                _ => {}
            }
            Ok(cycles)
        };
        let (classes, _) = map(0..LINES, &mut odd);
        let unplaced: Vec<usize> = (0..512).filter(|line| classes[*line].is_none()).collect();
        assert_eq!(unplaced, [300, 301]);
    }

    #[test]
    fn partners_delay_each_other_and_a_disturbance_makes_none() {
        let lines: Vec<u32> = (0..12).step_by(2).collect();
        let mut calls = 0;
        let mut pair = |line: u32, other: Option<u32>| {
            calls += 1;
            let disturbed = if calls % 17 == 0 { 10_000.0 } else { 0.0 };
            Ok(disturbed
                + match other.map(slice) {
                    Some(other) if other == slice(line) => 20_000.0,
                    Some(other) if other / 2 == slice(line) / 2 => 14_000.0,
                    _ => 10_000.0,
                })
        };
        let found = partners(&lines, &mut pair).unwrap();
        assert_eq!(found, [vec![1], vec![0], vec![3], vec![2], vec![5], vec![4]]);
    }

    #[test]
    fn maps_that_have_nothing_to_do_with_each_other_do_not_agree() {
        let one: Classes = (0..LINES).map(|line| Some(line % 8)).collect();
        let other: Classes = (0..LINES).map(|line| Some(line / 8 % 8)).collect();
        let (agree, placed) = agreement(&one, &other);
        assert_eq!(placed, 512);
        assert!(agree <= 64, "{agree}");
        // Two classes of one map that are one in the other: half of the lines have lost their class.
        let merged: Classes = one.iter().map(|class| class.map(|class| class / 2)).collect();
        assert_eq!(agreement(&one, &merged), (256, 512));
    }

    #[test]
    fn a_hash_of_exclusive_ors_moves_classes_as_a_whole_and_another_does_not() {
        let ors: Classes = (0..LINES).map(|line| Some((line ^ (line / 8) ^ (line / 64)) % 8)).collect();
        let sums: Classes = (0..LINES).map(|line| Some((line + line / 8 * 3) % 7)).collect();
        for bit in 0..9 {
            let (together, all) = moved_together(&ors, bit);
            assert!(together == all && all > 400, "bit {bit}: {together} of {all}");
        }
        let (together, all) = moved_together(&sums, 4);
        assert!(together < all * 9 / 10, "{together} of {all}");
    }
}
