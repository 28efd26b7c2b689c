//! The tests: which parts each has, and the outcome that no interleaving of them gives.

use labs_oracle::{Atom, Cell, Instruction, Operand, Outcome, Scope, Test, Thread};

use super::place::Place;
use super::variants::{Order, Version};

/// What a part does. The numbers are the kernel file's; bits: its first access reads, its second does, it has a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Write = 0,
    WriteWrite = 4,
    ReadWrite = 5,
    WriteRead = 6,
    ReadRead = 7,
}

impl Shape {
    pub(super) fn reads_first(self) -> bool {
        self as u32 & 1 != 0
    }

    pub(super) fn reads_last(self) -> bool {
        self as u32 & 2 != 0
    }

    pub(super) fn has_second(self) -> bool {
        self as u32 & 4 != 0
    }
}

/// One part: its accesses in order, a location each and the value of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) shape: Shape,
    pub(super) first: u32,
    pub(super) second: u32,
    pub(super) first_value: u32,
    pub(super) second_value: u32,
}

/// What a clause of the outcome looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Part, and which of its two accesses.
    Read(u32, u32),
    /// The last value of a location.
    Last(u32),
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Litmus {
    pub(super) name: &'static str,
    pub(super) parts: Vec<Part>,
    /// The outcome. An instance in which all but the last are met is informative: the last decides.
    pub(super) clauses: Vec<(Source, u32)>,
}

/// The names on the axis `test`.
pub(super) const NAMES: [&str; 12] =
    ["MP", "SB", "LB", "S", "R", "2+2W", "CoRR", "CoWW", "WRC", "IRIW", "RWC", "ISA2"];

/// Locations, by name.
const X: u32 = 0;
const Y: u32 = 1;
const Z: u32 = 2;
const LOCATIONS: [&str; 3] = ["x", "y", "z"];

fn write(at: u32, value: u32) -> Part {
    Part { shape: Shape::Write, first: at, second: at, first_value: value, second_value: 0 }
}

fn writes(first: (u32, u32), second: (u32, u32)) -> Part {
    Part {
        shape: Shape::WriteWrite,
        first: first.0,
        second: second.0,
        first_value: first.1,
        second_value: second.1,
    }
}

fn reads(first: u32, second: u32) -> Part {
    Part { shape: Shape::ReadRead, first, second, first_value: 0, second_value: 0 }
}

fn write_read(written: (u32, u32), read: u32) -> Part {
    Part { shape: Shape::WriteRead, first: written.0, second: read, first_value: written.1, second_value: 0 }
}

fn read_write(read: u32, written: (u32, u32)) -> Part {
    Part { shape: Shape::ReadWrite, first: read, second: written.0, first_value: 0, second_value: written.1 }
}

impl Litmus {
    /// The test of this name.
    pub(super) fn named(name: &str) -> Option<Litmus> {
        use Source::{Last, Read};
        let name = NAMES.into_iter().find(|known| *known == name)?;
        let (parts, clauses) = match name {
            "MP" => (vec![writes((X, 1), (Y, 1)), reads(Y, X)], vec![(Read(1, 0), 1), (Read(1, 1), 0)]),
            "SB" => {
                (vec![write_read((X, 1), Y), write_read((Y, 1), X)], vec![(Read(0, 1), 0), (Read(1, 1), 0)])
            }
            "LB" => {
                (vec![read_write(X, (Y, 1)), read_write(Y, (X, 1))], vec![(Read(0, 0), 1), (Read(1, 0), 1)])
            }
            "S" => (vec![writes((X, 2), (Y, 1)), read_write(Y, (X, 1))], vec![(Read(1, 0), 1), (Last(X), 2)]),
            "R" => (vec![writes((X, 1), (Y, 1)), write_read((Y, 2), X)], vec![(Last(Y), 2), (Read(1, 1), 0)]),
            "2+2W" => {
                (vec![writes((X, 1), (Y, 2)), writes((Y, 1), (X, 2))], vec![(Last(X), 1), (Last(Y), 1)])
            }
            "CoRR" => (vec![write(X, 1), reads(X, X)], vec![(Read(1, 0), 1), (Read(1, 1), 0)]),
            "CoWW" => (vec![writes((X, 1), (X, 2))], vec![(Last(X), 1)]),
            "WRC" => (
                vec![write(X, 1), read_write(X, (Y, 1)), reads(Y, X)],
                vec![(Read(1, 0), 1), (Read(2, 0), 1), (Read(2, 1), 0)],
            ),
            "IRIW" => (
                vec![write(X, 1), write(Y, 1), reads(X, Y), reads(Y, X)],
                vec![(Read(2, 0), 1), (Read(3, 0), 1), (Read(2, 1), 0), (Read(3, 1), 0)],
            ),
            "RWC" => (
                vec![write(X, 1), reads(X, Y), write_read((Y, 1), X)],
                vec![(Read(1, 0), 1), (Read(1, 1), 0), (Read(2, 1), 0)],
            ),
            _ => (
                vec![writes((X, 1), (Y, 1)), read_write(Y, (Z, 1)), reads(Z, X)],
                vec![(Read(1, 0), 1), (Read(2, 0), 1), (Read(2, 1), 0)],
            ),
        };
        Some(Litmus { name, parts, clauses })
    }

    /// How many locations it has.
    pub(super) fn locations(&self) -> u32 {
        self.parts.iter().map(|part| part.first.max(part.second) + 1).max().unwrap_or(1)
    }

    /// The mutant: the last part makes its two accesses the other way round. Interleavings then give the outcome, so a
    /// harness that never sees it would not see the test's own either.
    pub(super) fn mutant(&self) -> Litmus {
        let mut mutant = self.clone();
        let last = mutant.parts.len() as u32 - 1;
        if let Some(part) = mutant.parts.last_mut() {
            *part = Part {
                shape: match part.shape {
                    Shape::WriteRead => Shape::ReadWrite,
                    Shape::ReadWrite => Shape::WriteRead,
                    same => same,
                },
                first: part.second,
                second: part.first,
                first_value: part.second_value,
                second_value: part.first_value,
            };
        }
        for (source, _) in &mut mutant.clauses {
            if let Source::Read(part, access) = source
                && *part == last
            {
                *access = 1 - *access;
            }
        }
        mutant
    }

    /// What the model is asked: the test in this version, its parts at this place.
    pub(super) fn question(&self, version: Version, place: Place) -> Test {
        let part = |(number, part): (usize, &Part)| {
            let between = version.between();
            let mut instructions = Vec::new();
            let number = number as u32;
            let load = |access: u32, at: u32| {
                let (order, scope) = version.load();
                let register = register(number, access);
                Instruction::Load { order, scope, register, location: location(at) }
            };
            let store = |at: u32, value: u32| {
                let (order, scope) = version.store();
                Instruction::Store {
                    order,
                    scope,
                    location: location(at),
                    value: Operand::Constant(u64::from(value)),
                }
            };
            instructions.push(if part.shape.reads_first() {
                load(0, part.first)
            } else {
                store(part.first, part.first_value)
            });
            if part.shape.has_second() {
                instructions.extend(between);
                let last = if part.shape.reads_last() {
                    load(1, part.second)
                } else {
                    store(part.second, part.second_value)
                };
                instructions.push(last);
            }
            Thread { place: place.of_part(number), instructions }
        };
        let atom = |(source, value): &(Source, u32)| Atom {
            cell: match source {
                Source::Read(part, access) => Cell::Register(register(*part, *access)),
                Source::Last(at) => Cell::Location(location(*at)),
            },
            equal: true,
            value: u64::from(*value),
        };
        Test {
            threads: self.parts.iter().enumerate().map(part).collect(),
            initial: Vec::new(),
            outcome: Outcome(vec![self.clauses.iter().map(atom).collect()]),
        }
    }
}

fn register(part: u32, access: u32) -> String {
    format!("r{}", 2 * part + access)
}

fn location(at: u32) -> String {
    LOCATIONS[at as usize % LOCATIONS.len()].to_owned()
}

impl Version {
    /// Order and scope of its loads.
    fn load(self) -> (labs_oracle::Order, Scope) {
        self.access(labs_oracle::Order::Acquire)
    }

    /// Order and scope of its stores.
    fn store(self) -> (labs_oracle::Order, Scope) {
        self.access(labs_oracle::Order::Release)
    }

    fn access(self, stronger: labs_oracle::Order) -> (labs_oracle::Order, Scope) {
        let order = match self.order {
            Order::Plain => labs_oracle::Order::Weak,
            Order::Volatile => labs_oracle::Order::Volatile,
            Order::RelAcq => stronger,
            Order::Relaxed | Order::FenceAcqRel | Order::FenceSc => labs_oracle::Order::Relaxed,
        };
        (order, self.scope)
    }

    /// What stands between two accesses.
    fn between(self) -> Option<Instruction> {
        let order = match self.order {
            Order::FenceAcqRel => labs_oracle::FenceOrder::AcqRel,
            Order::FenceSc => labs_oracle::FenceOrder::Sc,
            _ => return None,
        };
        Some(Instruction::Fence { order, scope: self.scope })
    }
}

#[cfg(test)]
mod tests {
    use labs_oracle::Model;

    use super::super::variants::VARIANTS;
    use super::*;

    fn allowed(litmus: &Litmus, variant: &str, place: Place) -> bool {
        let version = Version::of(VARIANTS.iter().find(|known| known.name == variant).unwrap());
        Model::ptx().judge(&litmus.question(version, place)).unwrap().is_allowed()
    }

    /// Under sequentially consistent fences that reach everybody no test has its outcome, and every mutant does.
    #[test]
    fn outcomes_are_weak_and_mutants_are_not() {
        for name in NAMES {
            let litmus = Litmus::named(name).unwrap();
            assert!(!allowed(&litmus, "fence_sc_sys", Place::OtherBlock), "{name}");
            assert!(allowed(&litmus.mutant(), "fence_sc_sys", Place::OtherBlock), "{name}");
            assert_eq!(litmus.mutant().mutant(), litmus);
            assert!(litmus.parts.len() <= 4 && litmus.clauses.len() <= 4);
        }
        assert_eq!(Litmus::named("mp"), None);
    }

    #[test]
    fn all_but_coherence_is_allowed_without_order() {
        for name in NAMES {
            let weak = allowed(&Litmus::named(name).unwrap(), "relaxed_gpu", Place::OtherBlock);
            assert_eq!(weak, !name.starts_with("Co"), "{name}");
        }
    }
}
