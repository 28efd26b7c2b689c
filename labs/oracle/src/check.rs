//! The orders of an execution, and the axioms over them.

use crate::event::{Events, Kind};
use crate::execution::{self, Execution};
use crate::model::Axiom;
use crate::relation::{Relation, path};

/// A cycle: where it starts, and each event on the way round with how it is reached.
pub(crate) type Cycle = (usize, Vec<(&'static str, usize)>);

/// What follows from who reads from whom and how fences follow each other, whatever coherence order is.
pub(crate) struct Causes {
    /// One release pattern or `fence.sc` or barrier synchronizes with another (PTX ISA 8.9.4): by the first event of
    /// the one and the last of the other.
    sync: Relation,
    /// A write and a read, through atomics, each pair morally strong (8.9.2).
    observation: Relation,
    /// Base causality order (8.9.5).
    base: Relation,
    /// Causality order, between accesses to one location.
    cause: Relation,
}

/// An execution with one of its coherence orders.
pub(crate) struct Orders<'a> {
    causes: &'a Causes,
    /// Coherence order (8.9.6): relates writes to one location that are morally strong or causally ordered.
    pub(crate) co: Relation,
    /// From a read to the writes that overwrite what it read.
    fr: Relation,
}

impl Causes {
    pub(crate) fn of(events: &Events, execution: &Execution) -> Causes {
        let strong_rf = execution.rf.filter(|write, read| events.strong.has(write, read));
        let observation = strong_rf.union(&events.rmw).closure();
        let observation = observation.filter(|a, b| events.all[a].is_write() && events.all[b].is_read());
        let sync = synchronizes(events, &observation);
        let base = events.po.union(&sync).union(&execution.sc).union(&events.barrier).closure();
        let memory = base.filter(|a, b| events.same_location(a, b));
        let cause = memory.union(&observation.then(&memory));
        Causes { sync, observation, base, cause }
    }

    /// Every coherence order there may be: the axiom *Coherence* has not been asked yet.
    pub(crate) fn coherence_orders<'a>(&'a self, events: &Events, execution: &Execution) -> Vec<Orders<'a>> {
        let initial = |event: usize| events.all[event].thread.is_none();
        let write = |event: usize| events.all[event].is_write() && !initial(event);
        let related = |a: usize, b: usize| {
            let ordered = self.cause.has(a, b) || self.cause.has(b, a);
            write(a) && write(b) && events.same_location(a, b) && (ordered || events.strong.has(a, b))
        };
        let first = Relation::of(events.len(), |a, b| initial(a) && write(b) && events.same_location(a, b));
        let orders = execution::orientations(events.len(), related);
        orders.iter().map(|order| self.with(events, execution, order.union(&first).closure())).collect()
    }

    fn with(&self, events: &Events, execution: &Execution, co: Relation) -> Orders<'_> {
        let fr = Relation::of(events.len(), |read, write| {
            let overwritten = |from: usize| execution.rf.has(from, read) && co.has(from, write);
            // An atomic's own write is no overwriting.
            !events.rmw.has(read, write) && (0..events.len()).any(overwritten)
        });
        Orders { causes: self, co, fr }
    }

    /// The relations that base causality is made of.
    fn steps<'a>(
        &'a self,
        events: &'a Events,
        execution: &'a Execution,
    ) -> [(&'static str, &'a Relation); 4] {
        [("po", &events.po), ("sync", &self.sync), ("sc", &execution.sc), ("bar", &events.barrier)]
    }

    /// The way from a to b in causality order, step by step.
    fn causal_path(
        &self,
        events: &Events,
        execution: &Execution,
        a: usize,
        b: usize,
    ) -> Option<Vec<(&'static str, usize)>> {
        let steps = self.steps(events, execution);
        if self.base.has(a, b) {
            return path(&steps, a, b);
        }
        let read = self.observation.after(a).find(|read| self.base.has(*read, b))?;
        let mut way = path(&[("rf", &execution.rf), ("rmw", &events.rmw)], a, read)?;
        way.extend(path(&steps, read, b)?);
        Some(way)
    }
}

/// A release pattern and an acquire pattern that observes it (PTX ISA 8.8, 8.9.4).
fn synchronizes(events: &Events, observation: &Relation) -> Relation {
    let mut sync = Relation::empty(events.len());
    for (write, read) in observation.pairs() {
        for head in heads(events, write) {
            for tail in tails(events, read) {
                if events.strong.has(head, tail) {
                    sync.add(head, tail);
                }
            }
        }
    }
    sync
}

/// First operations of the release patterns that end in this write.
fn heads(events: &Events, write: usize) -> Vec<usize> {
    let all = &events.all;
    (0..events.len())
        .filter(|head| {
            let fence = matches!(all[*head].kind, Kind::Fence(_));
            let before = events.po.has(*head, write) && all[write].strong;
            let same = *head == write || (before && events.same_location(*head, write));
            all[*head].releases && if fence { before } else { same }
        })
        .collect()
}

/// Last operations of the acquire patterns that begin with this read.
fn tails(events: &Events, read: usize) -> Vec<usize> {
    let all = &events.all;
    if all[read].of_reduction {
        return Vec::new();
    }
    (0..events.len())
        .filter(|tail| {
            let fence = matches!(all[*tail].kind, Kind::Fence(_));
            let after = events.po.has(read, *tail) && all[read].strong;
            let same = *tail == read || (after && events.same_location(read, *tail));
            let acquires = all[*tail].acquires && !all[*tail].of_reduction;
            acquires && if fence { after } else { same }
        })
        .collect()
}

/// The cycle by which an execution violates an axiom.
pub(crate) fn cycle(
    axiom: Axiom,
    events: &Events,
    execution: &Execution,
    orders: &Orders<'_>,
) -> Option<Cycle> {
    match axiom {
        Axiom::NoThinAir => around(&[("rf", &execution.rf), ("dep", &events.dependency)]),
        Axiom::ScPerLocation => {
            let strong = |relation: &Relation| relation.filter(|a, b| events.strong.has(a, b));
            let po = events.po.filter(|a, b| events.same_location(a, b));
            let [rf, co, fr] = [&execution.rf, &orders.co, &orders.fr].map(strong);
            around(&[("po", &po), ("rf", &rf), ("co", &co), ("fr", &fr)])
        }
        Axiom::Coherence => coherence(events, execution, orders),
        Axiom::FenceSc => fence_sc(events, execution, orders),
        Axiom::Atomicity => atomicity(events, orders),
        Axiom::Causality => {
            let mut communication = [("fr", &orders.fr), ("rf", &execution.rf)]
                .into_iter()
                .flat_map(|(name, relation)| relation.pairs().map(move |(a, b)| (name, a, b)));
            let (name, a, b) = communication.find(|(_, a, b)| orders.causes.cause.has(*b, *a))?;
            let mut way = vec![(name, b)];
            way.extend(orders.causes.causal_path(events, execution, b, a)?);
            Some((a, way))
        }
    }
}

/// A cycle in the union of relations.
fn around(relations: &[(&'static str, &Relation)]) -> Option<Cycle> {
    let (first, rest) = relations.split_first()?;
    let union = rest.iter().fold(first.1.clone(), |union, (_, relation)| union.union(relation));
    let start = union.closure().loops()?;
    Some((start, path(relations, start, start)?))
}

/// Two writes that causality puts in one order and coherence in the other.
fn coherence(events: &Events, execution: &Execution, orders: &Orders<'_>) -> Option<Cycle> {
    let writes = |a: usize, b: usize| events.all[a].is_write() && events.all[b].is_write();
    let mut caused = orders.causes.cause.pairs();
    let (from, to) = caused.find(|(a, b)| writes(*a, *b) && orders.co.has(*b, *a))?;
    let mut way = orders.causes.causal_path(events, execution, from, to)?;
    way.push(("co", from));
    Some((from, way))
}

fn fence_sc(events: &Events, execution: &Execution, orders: &Orders<'_>) -> Option<Cycle> {
    let (first, second) =
        execution.sc.pairs().find(|(first, second)| orders.causes.base.has(*second, *first))?;
    let mut way = vec![("sc", second)];
    way.extend(path(&orders.causes.steps(events, execution), second, first)?);
    Some((first, way))
}

fn atomicity(events: &Events, orders: &Orders<'_>) -> Option<Cycle> {
    events.rmw.pairs().find_map(|(read, write)| {
        let between = (0..events.len()).find(|other| {
            let strong = events.strong.has(read, *other) && events.strong.has(*other, write);
            strong && orders.fr.has(read, *other) && orders.co.has(*other, write)
        })?;
        Some((read, vec![("fr", between), ("co", write), ("atom", read)]))
    })
}

/// Two conflicting accesses that are not morally strong, and of which neither comes causally before the other.
pub(crate) fn race(events: &Events, causes: &Causes) -> Option<(usize, usize)> {
    let threads = |a: usize, b: usize| events.all[a].thread.is_some() && events.all[b].thread.is_some();
    (0..events.len()).flat_map(|a| (a + 1..events.len()).map(move |b| (a, b))).find(|(a, b)| {
        let conflict =
            events.same_location(*a, *b) && (events.all[*a].is_write() || events.all[*b].is_write());
        let ordered = causes.cause.has(*a, *b) || causes.cause.has(*b, *a);
        threads(*a, *b) && conflict && !ordered && !events.strong.has(*a, *b)
    })
}
