//! Candidate executions: which write each read takes its value from, and how `fence.sc` operations follow each other.

use crate::event::{Events, Source};
use crate::program::{Atom, Cell, Outcome};
use crate::relation::Relation;

/// One candidate: the choices that run time makes.
pub(crate) struct Execution {
    /// Write and read of its value.
    pub(crate) rf: Relation,
    /// Morally strong pairs of `fence.sc` (PTX ISA 8.9.3).
    pub(crate) sc: Relation,
    /// What each read or write carries; none if it depends on itself.
    pub(crate) values: Vec<Option<u64>>,
}

/// Whether to go on.
pub(crate) enum Next {
    More,
    Enough,
}

/// Calls `visit` with every candidate whose reads `wanted` accepts.
pub(crate) fn each(
    events: &Events,
    wanted: impl Fn(&[Option<u64>]) -> bool,
    mut visit: impl FnMut(&Execution) -> Next,
) {
    let reads = events.select(|event| event.is_read());
    let writes: Vec<Vec<usize>> = reads
        .iter()
        .map(|read| {
            let mut from =
                events.select(|event| event.is_write() && event.location == events.all[*read].location);
            // An atomic does not read what it writes itself.
            from.retain(|write| !events.rmw.has(*read, *write));
            from
        })
        .collect();
    let sc = |event: usize| events.all[event].is_sc();
    let fences = orientations(events.len(), |a, b| sc(a) && sc(b) && events.strong.has(a, b));
    let mut choice = vec![0; reads.len()];
    loop {
        let mut rf = Relation::empty(events.len());
        for ((read, from), choice) in reads.iter().zip(&writes).zip(&choice) {
            rf.add(from[*choice], *read);
        }
        let values = values(events, &rf);
        if wanted(&values) {
            for sc in &fences {
                let execution = Execution { rf: rf.clone(), sc: sc.clone(), values: values.clone() };
                if let Next::Enough = visit(&execution) {
                    return;
                }
            }
        }
        // Count up, the first read fastest.
        let Some(place) = (0..choice.len()).find(|place| choice[*place] + 1 < writes[*place].len()) else {
            return;
        };
        choice[place] += 1;
        choice[..place].fill(0);
    }
}

/// Every acyclic way to put the pairs of a symmetric relation in an order.
pub(crate) fn orientations(events: usize, related: impl Fn(usize, usize) -> bool) -> Vec<Relation> {
    let pairs = (0..events).flat_map(|a| (a + 1..events).map(move |b| (a, b)));
    let pairs = pairs.filter(|(a, b)| related(*a, *b));
    let mut found = vec![Relation::empty(events)];
    for (a, b) in pairs {
        // Pair by pair, so that a cycle is left as soon as it closes.
        found = found
            .iter()
            .flat_map(|order| {
                [(a, b), (b, a)].map(|(first, second)| {
                    let mut order = order.clone();
                    order.add(first, second);
                    order
                })
            })
            .filter(|order| order.closure().loops().is_none())
            .collect();
    }
    found
}

/// What every read and write carries.
fn values(events: &Events, rf: &Relation) -> Vec<Option<u64>> {
    let mut values = vec![None; events.len()];
    // Each round settles at least one more, or none is left that can be.
    for _ in 0..events.len() {
        for (event, what) in events.all.iter().enumerate() {
            if what.is_write() {
                values[event] = match what.source {
                    Source::Constant(number) => Some(number),
                    Source::Read(read, plus) => values[read].map(|value: u64| value.wrapping_add(plus)),
                };
            }
        }
        for (write, read) in rf.pairs() {
            values[read] = values[write];
        }
    }
    values
}

impl Outcome {
    /// Whether registers can be as the outcome says. A value that depends on itself may be any.
    pub(crate) fn registers_fit(&self, events: &Events, values: &[Option<u64>]) -> bool {
        self.0.iter().any(|atoms| atoms.iter().all(|atom| register_fits(atom, events, values)))
    }

    /// As [`Outcome::registers_fit`], and each location ends with a write that nothing follows in coherence order.
    pub(crate) fn fits(&self, events: &Events, values: &[Option<u64>], co: &Relation) -> bool {
        let last = |write: &usize| co.after(*write).next().is_none();
        self.0.iter().any(|atoms| {
            let registers = atoms.iter().all(|atom| register_fits(atom, events, values));
            let locations = events.locations.iter().enumerate().all(|(place, name)| {
                let speak = |atom: &&Atom| matches!(&atom.cell, Cell::Location(of) if of == name);
                let atoms: Vec<&Atom> = atoms.iter().filter(speak).collect();
                let writes = events.select(|event| event.is_write() && event.location == Some(place));
                let good = |write: &usize| atoms.iter().all(|atom| fits(atom, values[*write]));
                atoms.is_empty() || writes.iter().filter(|write| last(write)).any(good)
            });
            registers && locations
        })
    }
}

fn register_fits(atom: &Atom, events: &Events, values: &[Option<u64>]) -> bool {
    match &atom.cell {
        Cell::Register(name) => events.registers.get(name).is_some_and(|read| fits(atom, values[*read])),
        Cell::Location(_) => true,
    }
}

fn fits(atom: &Atom, value: Option<u64>) -> bool {
    value.is_none_or(|value| (value == atom.value) == atom.equal)
}
