//! The map, twice, and what it shows: classes, distances, the bits that decide.

use anyhow::Result;
use labs_record::figure::{Coordinate, Unit};

use super::hot::{Cast, Lines, VISITS};
use super::map;
use super::survey::{self, Map, Stand, View};
use super::{FIRST_BIT, HOT, LINE, REACH, SAMPLED, sets};
use crate::backend::{Backend, Step};
use crate::lab::{Case, Variant};
use crate::measure::{Bench, Work};
use crate::results::{Like, Values};

/// Maps the lines, twice.
///
/// # Errors
/// Those of the backend; adds that were lost.
pub(super) fn mapped(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    let lines = case.number("lines");
    if !bench.takes_time() {
        return sets::checked(bench, case, lines);
    }
    let first = survey::mapped(bench, lines)?;
    let mut order: Vec<u32> = (0..lines as u32).collect();
    fastrand::Rng::with_seed(bench.seed).shuffle(&mut order);
    let again = survey::mapped_anew(bench, &order)?;
    let mut second = vec![None; lines as usize];
    for (line, class) in order.iter().zip(&again.classes) {
        second[*line as usize] = *class;
    }
    bench.enter_check(&HOT, Ok(()));
    if let Some(gap) = first.finder.gap {
        bench.spread("gap", case, &[], Unit::Cycles, vec![gap.below, gap.above]);
    }
    let mut counts = |name: &str, counts: Vec<u64>| {
        let numbers = counts.into_iter().map(|count| count as f64).collect();
        bench.spread(name, case, &[], Unit::Count, numbers);
    };
    let maps = [&first, &again];
    counts("groups", maps.map(|map| map.finder.representatives.len() as u64).to_vec());
    counts("classes", maps.map(|map| map.members().len() as u64).to_vec());
    counts("classes_a_group", maps.map(|map| map::classes_a_group(&map.classes)).concat());
    counts("class_size", map::sizes(&first.classes));
    counts("line_class", numbered(&first));
    let unplaced = first.classes.iter().chain(&second).filter(|class| class.is_none()).count() as u64;
    bench.observation("ambiguous", case, &[], unplaced, 2 * lines);
    let (agree, of) = map::agreement(&first.classes, &second);
    bench.observation("agreement", case, &[], agree, of);
    sets::pairs(bench, case, &first)?;
    sets::delays(bench, case, &first)?;
    bits(bench, case, first)
}

/// The class of each line, by the order of first lines, from 1; 0 for ambiguous.
fn numbered(map: &Map) -> Vec<u64> {
    let members = map.members();
    let number =
        |class: &u32| members.iter().position(|(known, _)| known == class).map_or(0, |place| place + 1);
    map.classes.iter().map(|class| class.as_ref().map_or(0, number) as u64).collect()
}

/// What flipping one bit of a line's address does to its class.
fn bits(bench: &mut Bench<'_>, case: &Case, mut map: Map) -> Result<()> {
    let classes = map.classes.clone();
    for bit in FIRST_BIT..REACH.trailing_zeros() {
        let flip = 1_u32 << (bit - FIRST_BIT);
        let inside = (flip as usize) < classes.len();
        let near: Vec<u32> =
            (0..classes.len() as u32).filter(|line| classes[*line as usize].is_some()).collect();
        let (mut kept, mut of) = (0, 0);
        let far: Vec<(u32, Option<u32>)> = match inside {
            true => near
                .iter()
                .map(|line| (line ^ flip, classes.get((line ^ flip) as usize).copied().flatten()))
                .collect(),
            false => {
                let step = (near.len() as u64 / SAMPLED).max(1) as usize;
                let sample: Vec<u32> = near.iter().step_by(step).map(|line| line ^ flip).collect();
                let placed = map.place(bench, &sample)?;
                sample.into_iter().zip(placed).collect()
            }
        };
        for (line, class) in far {
            let Some(class) = class else { continue };
            of += 1;
            kept += u64::from(classes[(line ^ flip) as usize] == Some(class));
        }
        let at = [("bit", Coordinate::Number(u64::from(bit)))];
        bench.observation("kept", case, &at, kept, of);
        if inside {
            let (together, all) = map::moved_together(&classes, bit - FIRST_BIT);
            bench.observation("moved_together", case, &at, together, all);
        }
    }
    Ok(())
}

/// Adds of one thread to all lines: how far each is, and from which SMs it looks so.
///
/// # Errors
/// Those of the backend, and of making a map.
pub(super) fn distances(bench: &mut Bench<'_>, case: &Case, variant: &Variant) -> Result<()> {
    let lines = case.number("lines");
    let visited: Vec<u32> = (0..lines.min(VISITS as u64 / 2) as u32).collect();
    let twice = [visited.clone(), visited].concat();
    let sms = survey::sms(bench)?;
    let memory = Lines::new(bench, lines * LINE)?;
    memory.assign(bench.backend, &Cast { readers: sms.into_iter().take(1).collect(), ..Cast::default() })?;
    memory.visit(bench.backend, &twice)?;
    let check = |backend: &mut dyn Backend| old_values(backend, memory, twice.len());
    let work =
        Work { reset: vec![Step::Zero(memory.words)], timed: memory.add_lines(twice.len()), check: &check };
    if !bench.passes(variant, &case.at, &work)? {
        return Ok(());
    }
    bench.result("old", case, Like::Bits, |backend| {
        Ok(Values::U32(memory.values(backend, twice.len() as u32)?))
    })?;
    if !bench.takes_time() {
        return Ok(());
    }
    let map = survey::mapped(bench, lines)?;
    if let Some(gap) = map.far {
        bench.spread("far_gap", case, &[], Unit::Cycles, vec![gap.below, gap.above]);
    }
    for (home, far) in [("near", 0), ("far", 1)] {
        let first =
            |(class, lines): (u32, Vec<u32>)| (class % 2 == far).then(|| lines.first().copied()).flatten();
        let trips: Vec<f64> =
            map.members().into_iter().filter_map(first).map(|line| map.trips[line as usize]).collect();
        if !trips.is_empty() {
            bench.spread("trip", case, &[("home", home.into())], Unit::Cycles, trips);
        }
    }
    let views = survey::views(bench)?;
    for (name, view) in [("alike", View::Alike), ("opposite", View::Opposite), ("neither", View::Neither)] {
        let seen = views.iter().filter(|(_, alike, of)| View::of(*alike, *of) == view).count() as u64;
        bench.observation("sms", case, &[("view", name.into())], seen, views.len() as u64);
    }
    for (name, stand) in
        [("own_gpc", Stand::OwnGpc), ("own_side", Stand::OwnSide), ("other_side", Stand::OtherSide)]
    {
        let companies = survey::companies(bench)?;
        let of = companies.iter().filter(|company| company.stand == stand);
        let waits: Vec<f64> = of.filter_map(|company| company.wait).collect();
        if !waits.is_empty() {
            bench.spread("hot_cluster", case, &[("heated_from", name.into())], Unit::Cycles, waits);
        }
    }
    Ok(())
}

/// The first add to a line finds nothing there, the second the first.
fn old_values(backend: &mut dyn Backend, memory: Lines, adds: usize) -> Result<Result<(), String>> {
    memory.places(backend)?;
    let found = memory.values(backend, adds as u32)?;
    let wrong = (0..adds).find(|place| found[*place] != u32::from(*place >= adds / 2));
    Ok(wrong.map_or(Ok(()), |place| {
        Err(format!("add {place} found {}, not {}", found[place], u32::from(place >= adds / 2)))
    }))
}
