//! A test's events and what is fixed between them, whatever happens at run time.

use std::collections::HashMap;

use crate::error::Error;
use crate::program::{FenceOrder, Instruction, Operand, Operation, Order, Place, Scope, Test};
use crate::relation::{MOST, Relation};

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Fence(FenceOrder),
    Barrier,
}

/// Where a write's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Constant(u64),
    /// What this event has read, plus a number.
    Read(usize, u64),
}

/// One event: an atomic is two, its read and its write.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// Its thread; none for the write that initialises a location.
    pub(crate) thread: Option<usize>,
    pub(crate) kind: Kind,
    /// Index of the location; none for fences and barriers.
    pub(crate) location: Option<usize>,
    pub(crate) strong: bool,
    pub(crate) scope: Scope,
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
    /// The read of a `red`, which forms no acquire pattern.
    pub(crate) of_reduction: bool,
    /// Of a write.
    pub(crate) source: Source,
    /// For people: `T0 st.weak [x], 1`.
    pub(crate) text: String,
}

impl Event {
    pub(crate) fn is_read(&self) -> bool {
        self.kind == Kind::Read
    }

    pub(crate) fn is_write(&self) -> bool {
        self.kind == Kind::Write
    }

    pub(crate) fn is_sc(&self) -> bool {
        self.kind == Kind::Fence(FenceOrder::Sc)
    }
}

/// All of a test that does not change from execution to execution.
pub(crate) struct Events {
    pub(crate) all: Vec<Event>,
    pub(crate) locations: Vec<String>,
    /// The last event that wrote each register.
    pub(crate) registers: HashMap<String, usize>,
    /// Program order (PTX ISA 8.9.1).
    pub(crate) po: Relation,
    /// Morally strong pairs (8.7).
    pub(crate) strong: Relation,
    /// The read of an atomic and its write.
    pub(crate) rmw: Relation,
    /// A write and the read whose value it depends on.
    pub(crate) dependency: Relation,
    /// Barrier arrivals and the waits they release.
    pub(crate) barrier: Relation,
}

impl Events {
    pub(crate) fn of(test: &Test) -> Result<Events, Error> {
        one_cluster_a_block(test)?;
        let mut making = Making::default();
        for (thread, code) in test.threads.iter().enumerate() {
            for instruction in &code.instructions {
                making.add(thread, instruction)?;
            }
        }
        making.initialise(test)?;
        if making.all.len() > MOST {
            return Err(Error(format!("{} events; at most {MOST} can be checked", making.all.len())));
        }
        Ok(making.relate(test))
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn same_location(&self, a: usize, b: usize) -> bool {
        self.all[a].location.is_some() && self.all[a].location == self.all[b].location
    }

    /// Events that satisfy a condition, in order.
    pub(crate) fn select(&self, wanted: impl Fn(&Event) -> bool) -> Vec<usize> {
        (0..self.len()).filter(|event| wanted(&self.all[*event])).collect()
    }
}

#[derive(Default)]
struct Making {
    all: Vec<Event>,
    locations: Vec<String>,
    registers: HashMap<String, usize>,
    rmw: Vec<(usize, usize)>,
    /// Barrier events: thread, of the cluster, which, and how many the thread met before.
    barriers: Vec<(usize, usize, bool, u64, usize)>,
}

impl Making {
    fn location(&mut self, name: &str) -> usize {
        self.locations.iter().position(|known| known == name).unwrap_or_else(|| {
            self.locations.push(name.to_owned());
            self.locations.len() - 1
        })
    }

    fn add(&mut self, thread: usize, instruction: &Instruction) -> Result<(), Error> {
        let text = format!("T{thread} {instruction}");
        let event = |kind, location, order: Order, scope, source| Event {
            thread: Some(thread),
            kind,
            location,
            strong: order != Order::Weak,
            scope: if order == Order::Volatile { Scope::Sys } else { scope },
            acquires: kind == Kind::Read && matches!(order, Order::Acquire | Order::AcqRel),
            releases: kind == Kind::Write && matches!(order, Order::Release | Order::AcqRel),
            of_reduction: false,
            source,
            text: text.clone(),
        };
        let nothing = Source::Constant(0);
        match instruction {
            Instruction::Load { order, scope, register, location } => {
                let location = self.location(location);
                self.load_into(thread, register)?;
                self.all.push(event(Kind::Read, Some(location), *order, *scope, nothing));
            }
            Instruction::Store { order, scope, location, value } => {
                let location = self.location(location);
                let source = match value {
                    Operand::Constant(number) => Source::Constant(*number),
                    Operand::Register(register) => Source::Read(self.loaded(thread, register, &text)?, 0),
                };
                self.all.push(event(Kind::Write, Some(location), *order, *scope, source));
            }
            Instruction::Atomic { order, scope, operation, register, location, value } => {
                let location = self.location(location);
                let read = self.all.len();
                if let Some(register) = register {
                    self.load_into(thread, register)?;
                }
                let old = event(Kind::Read, Some(location), *order, *scope, nothing);
                self.all.push(Event { of_reduction: register.is_none(), ..old });
                let source = match operation {
                    Operation::Add => Source::Read(read, *value),
                    Operation::Exchange => Source::Constant(*value),
                };
                self.all.push(event(Kind::Write, Some(location), *order, *scope, source));
                self.rmw.push((read, read + 1));
            }
            Instruction::Fence { order, scope } => {
                let fence = event(Kind::Fence(*order), None, Order::Relaxed, *scope, nothing);
                self.all.push(Event {
                    acquires: *order != FenceOrder::Release,
                    releases: *order != FenceOrder::Acquire,
                    ..fence
                });
            }
            Instruction::Barrier { cluster, id } => {
                let met = self
                    .barriers
                    .iter()
                    .filter(|(_, by, of, which, _)| *by == thread && of == cluster && which == id);
                let entry = (self.all.len(), thread, *cluster, *id, met.count());
                self.barriers.push(entry);
                self.all.push(event(Kind::Barrier, None, Order::Weak, Scope::Cta, nothing));
            }
        }
        Ok(())
    }

    /// The next event loads into a register; another thread may not have done so.
    fn load_into(&mut self, thread: usize, register: &str) -> Result<(), Error> {
        let read = self.all.len();
        match self.registers.insert(register.to_owned(), read).and_then(|before| self.all[before].thread) {
            Some(other) if other != thread => {
                Err(Error(format!("T{other} and T{thread} both load {register}; give one another register")))
            }
            _ => Ok(()),
        }
    }

    fn loaded(&self, thread: usize, register: &str, text: &str) -> Result<usize, Error> {
        let read = self.registers.get(register).filter(|read| self.all[**read].thread == Some(thread));
        read.copied()
            .ok_or_else(|| Error(format!("`{text}`: {register} holds nothing this thread has loaded")))
    }

    fn initialise(&mut self, test: &Test) -> Result<(), Error> {
        for (location, _) in &test.initial {
            if !self.locations.contains(location) {
                return Err(Error(format!("`initial {location}`: no thread uses it")));
            }
        }
        for (place, location) in self.locations.iter().enumerate() {
            let value = test.initial.iter().find(|(name, _)| name == location).map_or(0, |(_, value)| *value);
            self.all.push(Event {
                thread: None,
                kind: Kind::Write,
                location: Some(place),
                strong: false,
                scope: Scope::Sys,
                acquires: false,
                releases: false,
                of_reduction: false,
                source: Source::Constant(value),
                text: format!("initially {location} = {value}"),
            });
        }
        Ok(())
    }

    fn relate(self, test: &Test) -> Events {
        let all = self.all;
        let events = all.len();
        let po =
            Relation::of(events, |a, b| a < b && all[a].thread.is_some() && all[a].thread == all[b].thread);
        let place = |event: &Event| event.thread.map(|thread| test.threads[thread].place);
        let reaches = |from: &Event, to: &Event| match (place(from), place(to)) {
            (Some(here), Some(there)) => from.strong && here.reaches(from.scope, there),
            _ => false,
        };
        let overlap =
            |a: &Event, b: &Event| a.location.is_none() || b.location.is_none() || a.location == b.location;
        let strong = Relation::of(events, |a, b| {
            let related = po.has(a, b) || po.has(b, a);
            let mutual = || reaches(&all[a], &all[b]) && reaches(&all[b], &all[a]);
            let barrier = all[a].kind == Kind::Barrier || all[b].kind == Kind::Barrier;
            a != b && !barrier && overlap(&all[a], &all[b]) && (related || mutual())
        });
        let mut rmw = Relation::empty(events);
        self.rmw.iter().for_each(|(read, write)| rmw.add(*read, *write));
        let copies = Relation::of(events, |a, b| matches!(all[b].source, Source::Read(read, _) if read == a));
        let dependency = copies.union(&rmw);
        let barrier = barriers(events, &self.barriers, test);
        Events {
            all,
            locations: self.locations,
            registers: self.registers,
            po,
            strong,
            rmw,
            dependency,
            barrier,
        }
    }
}

/// Blocks are counted over the GPU, not within a cluster, so that one number in two clusters is a mistake.
fn one_cluster_a_block(test: &Test) -> Result<(), Error> {
    let places = || test.threads.iter().map(|thread| thread.place);
    let two = |(here, there): &(Place, Place)| here.reaches(Scope::Cta, *there) && here != there;
    match places().flat_map(|here| places().map(move |there| (here, there))).find(two) {
        None => Ok(()),
        Some((here, there)) => {
            Err(Error(format!("`{here}` and `{there}`: a block is in one cluster; give one another number")))
        }
    }
}

/// The n-th barrier of a thread with the n-th of others, the same barrier of the same block or cluster.
fn barriers(events: usize, met: &[(usize, usize, bool, u64, usize)], test: &Test) -> Relation {
    let mut relation = Relation::empty(events);
    for (event, thread, cluster, id, nth) in met {
        for (other_event, other, other_cluster, other_id, other_nth) in met {
            let place: Place = test.threads[*thread].place;
            let scope = if *cluster { Scope::Cluster } else { Scope::Cta };
            let together = place.reaches(scope, test.threads[*other].place);
            if thread != other && cluster == other_cluster && id == other_id && nth == other_nth && together {
                relation.add(*event, *other_event);
            }
        }
    }
    relation
}
