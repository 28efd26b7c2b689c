//! Classes of lines, from nothing but the times of loads beside hot lines and of adds that wait for nobody.
//!
//! A *group* are lines whose loads wait beside each other. A *class* are the lines of one group that are all near the reading
//! SM, or all far from it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

/// Keeps the first line hot and loads from the others: cycles of the quicker of two loads from each.
pub(super) type Heat<'a> = &'a mut dyn FnMut(u32, &[u32]) -> Result<Vec<f64>>;

/// Lines that are all loaded from beside each other first, to find the gap.
const SURVEYED: usize = 48;
/// Loads that wait take at least this many times as long as those that do not; else times tell nothing.
const WAITS: f64 = 1.5;
/// Adds to far lines take at least this many times as long as those to near ones; else all lines are near.
const FAR: f64 = 1.15;
/// Two kinds of waits are at least this many times apart.
const LONGER: f64 = 1.15;

/// The group or the class of each line; none for a line that is ambiguous. Group g has the classes 2 g, near, and 2 g + 1, far.
pub(super) type Classes = Vec<Option<u32>>;

/// What a load beside a hot line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// It did not wait: another group.
    Apart,
    /// Neither.
    Unsure,
    /// It waited: one group.
    Together,
}

/// The gap between what takes few cycles and what takes many: loads that do not wait and loads that do, adds to near lines
/// and to far ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gap {
    /// The slowest below it.
    pub(super) below: f64,
    /// The quickest above it.
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
        Ok(Gap::widest(cycles, WAITS))
    }

    /// The gap between adds to near lines and to far ones; none where all are alike.
    pub(super) fn of_distances(cycles: &[f64]) -> Option<Gap> {
        Gap::widest(cycles.to_vec(), FAR)
    }

    /// The gap between two kinds of waits: where to cut so that, by their logarithms, the two parts' means differ most for
    /// their sizes, which is Otsu's rule. One wait far out does not hide two kinds. None if the means are all but equal.
    pub(super) fn of_kinds(mut cycles: Vec<f64>) -> Option<Gap> {
        cycles.sort_by(f64::total_cmp);
        let mean = |part: &[f64]| part.iter().map(|cycles| cycles.ln()).sum::<f64>() / part.len() as f64;
        let cuts = (1..cycles.len()).map(|cut| {
            let (low, high) = cycles.split_at(cut);
            let apart = mean(high) - mean(low);
            (cut, apart, (low.len() * high.len()) as f64 * apart * apart)
        });
        let (cut, apart, _) = cuts.max_by(|a, b| a.2.total_cmp(&b.2))?;
        (apart >= LONGER.ln()).then(|| Gap { below: cycles[cut - 1], above: cycles[cut] })
    }

    /// The widest gap between one number and the next larger one, by their ratio, which is at least `contrast`.
    fn widest(mut cycles: Vec<f64>, contrast: f64) -> Option<Gap> {
        cycles.sort_by(f64::total_cmp);
        let gaps = cycles.windows(2).map(|pair| Gap { below: pair[0], above: pair[1] });
        let ratio = |gap: &Gap| gap.above / gap.below;
        gaps.filter(|gap| ratio(gap) >= contrast).max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
    }

    /// Whether an add goes far; none in the middle third of the gap.
    pub(super) fn is_far(self, cycles: f64) -> Option<bool> {
        match self.judge(cycles) {
            Sharing::Apart => Some(false),
            Sharing::Unsure => None,
            Sharing::Together => Some(true),
        }
    }

    /// Whatever falls into the middle third of the gap is neither.
    pub(super) fn judge(self, cycles: f64) -> Sharing {
        let third = (self.above - self.below) / 3.0;
        match cycles {
            cycles if cycles <= self.below + third => Sharing::Apart,
            cycles if cycles >= self.above - third => Sharing::Together,
            _ => Sharing::Unsure,
        }
    }
}

/// Finds groups one line after the other, each group by its first line.
#[derive(Debug)]
pub(super) struct Finder {
    /// The first line of each group.
    pub(super) representatives: Vec<u32>,
    /// Between what waits and what does not.
    pub(super) gap: Option<Gap>,
}

impl Finder {
    /// One that knows no group yet; without a gap it places nothing.
    pub(super) fn new(gap: Option<Gap>) -> Finder {
        Finder { representatives: Vec::new(), gap }
    }

    /// The group of a line: that of the one representative that waits beside it, a new one if none does; none if several do,
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
            (Some((group, _)), None) => Ok(Some(group as u32)),
            (Some(_), Some(_)) => Ok(None),
            (None, _) => {
                self.representatives.push(line);
                Ok(Some(self.representatives.len() as u32 - 1))
            }
        }
    }
}

/// Which lines are far; none for one in the middle third. Without a gap between distances all lines are near.
pub(super) fn far(cycles: &[f64], gap: Option<Gap>) -> Vec<Option<bool>> {
    cycles.iter().map(|cycles| gap.map_or(Some(false), |gap| gap.is_far(*cycles))).collect()
}

/// Classes from groups and distances: a line without either has none.
pub(super) fn classes(groups: &Classes, cycles: &[f64], gap: Option<Gap>) -> Classes {
    let class = |(group, far): (&Option<u32>, Option<bool>)| Some((*group)? * 2 + u32::from(far?));
    groups.iter().zip(far(cycles, gap)).map(class).collect()
}

/// How many classes each group has, in the order of groups.
pub(super) fn classes_a_group(classes: &Classes) -> Vec<u64> {
    let mut groups = BTreeMap::<u32, BTreeSet<u32>>::new();
    for class in classes.iter().flatten() {
        groups.entry(class / 2).or_default().insert(*class);
    }
    groups.into_values().map(|classes| classes.len() as u64).collect()
}

/// Lines of each class in order, the classes in the order of their first lines.
pub(super) fn members(classes: &Classes) -> Vec<(u32, Vec<u32>)> {
    let mut members: Vec<(u32, Vec<u32>)> = Vec::new();
    for (line, class) in classes.iter().enumerate() {
        let Some(class) = class else { continue };
        match members.iter_mut().find(|(known, _)| known == class) {
            Some((_, lines)) => lines.push(line as u32),
            None => members.push((*class, vec![line as u32])),
        }
    }
    members
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
        let (classes, mut finder) = map(0..LINES, &mut heat);
        assert_eq!(agreement(&classes, &slices()), (512, 512));
        assert_eq!(sizes(&classes).len(), 6);
        assert_eq!(sizes(&classes).iter().sum::<u64>(), 512);
        let (again, _) = map((0..LINES).rev(), &mut loads(100.0, 2));
        assert_ne!(classes, again, "other names");
        assert_eq!(agreement(&classes, &again), (512, 512));
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
        let gap = Gap::widest(vec![300.0, 400.0, 1_300.0, 310.0, 1_500.0], WAITS).unwrap();
        assert_eq!(gap, Gap { below: 400.0, above: 1_300.0 });
        let said = [300.0, 690.0, 850.0, 1_010.0, 9e3].map(|cycles| gap.judge(cycles));
        assert_eq!(
            said,
            [Sharing::Apart, Sharing::Apart, Sharing::Unsure, Sharing::Together, Sharing::Together]
        );
        assert_eq!(Gap::widest(vec![300.0, 400.0], WAITS), None, "no contrast");
        assert_eq!(Gap::widest(Vec::new(), WAITS), None);
    }

    #[test]
    fn two_kinds_of_waits_are_told_apart_and_one_far_out_does_not_hide_them() {
        let waits = |few: usize| [vec![370.0; 50], vec![590.0; few], vec![2_000.0]].concat();
        assert_eq!(Gap::of_kinds(waits(15)), Some(Gap { below: 370.0, above: 590.0 }));
        // Three kinds: the cut that explains most.
        let three = [vec![350.0; 33], vec![410.0; 16], vec![600.0; 16]].concat();
        assert_eq!(Gap::of_kinds(three), Some(Gap { below: 410.0, above: 600.0 }));
        assert_eq!(Gap::of_kinds(vec![370.0, 380.0, 400.0]), None);
        assert_eq!(Gap::of_kinds(vec![370.0]), None);
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
    fn a_class_is_a_group_at_one_distance() {
        let groups = vec![Some(0), Some(1), Some(0), None, Some(1), Some(1)];
        let cycles = [310.0, 500.0, 490.0, 300.0, 330.0, 420.0];
        let gap = Gap::of_distances(&[310.0, 500.0, 490.0, 300.0, 330.0]).unwrap();
        assert_eq!(gap, Gap { below: 330.0, above: 490.0 });
        let found = classes(&groups, &cycles, Some(gap));
        assert_eq!(
            found,
            [Some(0), Some(3), Some(1), None, Some(2), None],
            "420 cycles are neither near nor far"
        );
        assert_eq!(classes_a_group(&found), [2, 2]);
        assert_eq!(members(&found), [(0, vec![0]), (3, vec![1]), (1, vec![2]), (2, vec![4])]);
        let near = classes(&groups, &cycles, None);
        assert_eq!(near, [Some(0), Some(2), Some(0), None, Some(2), Some(2)], "without a gap all are near");
        assert_eq!(classes_a_group(&near), [1, 1]);
        assert_eq!(Gap::of_distances(&[300.0, 310.0, 330.0]), None);
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
