//! The model and its verdicts.

use std::collections::HashSet;
use std::fmt;

use crate::check::{self, Causes, Orders};
use crate::error::Error;
use crate::event::Events;
use crate::execution::{self, Execution, Next};
use crate::program::{Cell, Test};

/// An axiom (PTX ISA 8.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axiom {
    /// Writes to one location follow each other as causality has it.
    Coherence,
    /// The order of `fence.sc` operations does not contradict causality.
    FenceSc,
    /// Nothing comes between an atomic's read and its write.
    Atomicity,
    /// No value comes from nowhere.
    NoThinAir,
    /// On one location, morally strong operations appear in one order that agrees with program order.
    ScPerLocation,
    /// A read sees what comes causally before it, and nothing that comes after it.
    Causality,
}

impl Axiom {
    /// All six, in the order in which they are asked.
    pub const ALL: [Axiom; 6] = [
        Axiom::NoThinAir,
        Axiom::Atomicity,
        Axiom::FenceSc,
        Axiom::Coherence,
        Axiom::Causality,
        Axiom::ScPerLocation,
    ];
}

impl fmt::Display for Axiom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Axiom::Coherence => "Coherence",
            Axiom::FenceSc => "Fence-SC",
            Axiom::Atomicity => "Atomicity",
            Axiom::NoThinAir => "No-Thin-Air",
            Axiom::ScPerLocation => "SC-per-Location",
            Axiom::Causality => "Causality",
        })
    }
}

/// One step of a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// How the event before is related to this one: `po`, `sync`, `rf`, `co`, `fr`, `sc`, ..
    pub relation: &'static str,
    /// The event: `T1 ld.weak r1, [x]`.
    pub event: String,
}

/// Why a candidate execution cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refutation {
    /// The axiom it violates.
    pub axiom: Axiom,
    /// The event at which the cycle starts and ends.
    pub start: String,
    /// The way round.
    pub cycle: Vec<Step>,
}

impl fmt::Display for Refutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} forbids:\n            {}", self.axiom, self.start)?;
        for step in &self.cycle {
            write!(f, "\n    {:>6}  {}", step.relation, step.event)?;
        }
        Ok(())
    }
}

/// An execution that no axiom forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Which write each read takes its value from: the read, the write.
    pub reads: Vec<(String, String)>,
}

/// What the model says of an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An execution with this outcome violates no axiom.
    Allowed(Witness),
    /// Each of them does. No refutation at all: no execution gives these values.
    Forbidden(Vec<Refutation>),
}

impl Verdict {
    /// Whether the outcome may happen.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Verdict::Allowed(_))
    }
}

/// Two conflicting operations that neither causality nor scope orders (PTX ISA 8.7.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The one ..
    pub first: String,
    /// .. and the other.
    pub second: String,
}

/// The axioms that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    axioms: Vec<Axiom>,
}

impl Model {
    /// The PTX memory model.
    pub fn ptx() -> Model {
        Model { axioms: Axiom::ALL.to_vec() }
    }

    /// The model less an axiom: what that one is for.
    #[must_use]
    pub fn without(mut self, axiom: Axiom) -> Model {
        self.axioms.retain(|kept| *kept != axiom);
        self
    }

    /// Whether the test may have its outcome.
    ///
    /// # Errors
    /// A test of too many events, or one that speaks of a register or location it does not have.
    pub fn judge(&self, test: &Test) -> Result<Verdict, Error> {
        let events = Events::of(test)?;
        known(test, &events)?;
        let outcome = &test.outcome;
        let mut verdict = None;
        let mut refutations = Vec::new();
        let mut seen = HashSet::new();
        let registers = |values: &[Option<u64>]| outcome.registers_fit(&events, values);
        execution::each(&events, registers, |execution| {
            let causes = Causes::of(&events, execution);
            for orders in causes.coherence_orders(&events, execution) {
                if !outcome.fits(&events, &execution.values, &orders.co) {
                    continue;
                }
                let Some(refutation) = self.refute(&events, execution, &orders) else {
                    verdict = Some(Verdict::Allowed(witness(&events, execution)));
                    return Next::Enough;
                };
                if seen.insert(refutation.clone()) {
                    refutations.push(refutation);
                }
            }
            Next::More
        });
        Ok(verdict.unwrap_or(Verdict::Forbidden(refutations)))
    }

    /// A data race in some execution the model allows, whatever its outcome.
    ///
    /// # Errors
    /// As [`Model::judge`].
    pub fn race(&self, test: &Test) -> Result<Option<Race>, Error> {
        let events = Events::of(test)?;
        let mut race = None;
        let any = |_: &[Option<u64>]| true;
        execution::each(&events, any, |execution| {
            let causes = Causes::of(&events, execution);
            let orders = causes.coherence_orders(&events, execution);
            if orders.iter().any(|orders| self.refute(&events, execution, orders).is_none()) {
                race = check::race(&events, &causes);
            }
            if race.is_some() { Next::Enough } else { Next::More }
        });
        let text = |event: usize| events.all[event].text.clone();
        Ok(race.map(|(first, second)| Race { first: text(first), second: text(second) }))
    }

    fn refute(&self, events: &Events, execution: &Execution, orders: &Orders<'_>) -> Option<Refutation> {
        self.axioms.iter().find_map(|axiom| {
            let (start, cycle) = check::cycle(*axiom, events, execution, orders)?;
            let text = |event: usize| events.all[event].text.clone();
            let cycle = cycle.into_iter().map(|(relation, event)| Step { relation, event: text(event) });
            Some(Refutation { axiom: *axiom, start: text(start), cycle: cycle.collect() })
        })
    }
}

fn witness(events: &Events, execution: &Execution) -> Witness {
    let mut pairs: Vec<(usize, usize)> = execution.rf.pairs().map(|(write, read)| (read, write)).collect();
    pairs.sort_unstable();
    let text = |event: usize| events.all[event].text.clone();
    Witness { reads: pairs.into_iter().map(|(read, write)| (text(read), text(write))).collect() }
}

/// The outcome speaks only of what is there.
fn known(test: &Test, events: &Events) -> Result<(), Error> {
    for atom in test.outcome.0.iter().flatten() {
        let (name, known) = match &atom.cell {
            Cell::Register(name) => (name, events.registers.contains_key(name)),
            Cell::Location(name) => (name, events.locations.contains(name)),
        };
        if !known {
            return Err(Error(format!("the outcome speaks of `{name}`, which no thread uses")));
        }
    }
    Ok(())
}
