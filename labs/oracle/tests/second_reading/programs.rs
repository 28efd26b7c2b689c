//! Small random programs: either any instructions at all, or a well-known shape with random orders, scopes and fences.

use fastrand::Rng;
use labs_oracle::{FenceOrder, Instruction, Operand, Operation, Order, Outcome, Place, Scope, Test, Thread};

/// Threads and their accesses: `W` or `R` or an atomic `A`, and a location. One a location written twice at most.
const SHAPES: [&[&str]; 17] = [
    &["Wx Wy", "Ry Rx"],
    &["Wx Ry", "Wy Rx"],
    &["Rx Wy", "Ry Wx"],
    &["Wx Wy", "Ry Wx"],
    &["Wx Wy", "Wy Rx"],
    &["Wx Wy", "Wy Wx"],
    &["Wx", "Rx Rx"],
    &["Wx", "Rx Wy", "Ry Rx"],
    &["Wx", "Wy", "Rx Ry", "Ry Rx"],
    &["Wx", "Rx Ry", "Wy Rx"],
    &["Wx Wy", "Ry Wx", "Rx Rx"],
    &["Wx Wy", "Ay", "Ry Rx"],
    &["Wx Wy", "Ay Ay", "Ry Rx"],
    &["Ax", "Ax", "Rx"],
    &["Wx Wx", "Ax", "Rx"],
    &["Wx Wy Wy", "Ry Ry Rx"],
    &["Ax Ay", "Ay Ax"],
];

const PLACES: [Place; 7] = [
    block(0, Some(0), 0),
    block(0, Some(0), 0),
    block(0, Some(0), 1),
    block(0, Some(1), 2),
    block(0, None, 3),
    block(1, Some(0), 0),
    Place::Host,
];

const fn block(gpu: u8, cluster: Option<u8>, cta: u8) -> Place {
    Place::Block { gpu, cluster, cta }
}

struct Making<'a> {
    random: &'a mut Rng,
    /// How often an access is strong, of ten.
    strong: u8,
    /// The scope most operations of this program have.
    scope: Scope,
    registers: u64,
    stored: u64,
}

/// A program and no outcome.
pub(crate) fn program(random: &mut Rng) -> Test {
    let strong = *one_of(random, &[5, 9, 10]);
    let scope = *one_of(random, &[Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys]);
    let mut making = Making { random, strong, scope, registers: 0, stored: 0 };
    let threads = if making.random.u8(..10) < 7 { making.shape() } else { making.anything() };
    Test { threads, initial: Vec::new(), outcome: Outcome(Vec::new()) }
}

fn one_of<'a, T>(random: &mut Rng, all: &'a [T]) -> &'a T {
    &all[random.usize(..all.len())]
}

impl Making<'_> {
    fn shape(&mut self) -> Vec<Thread> {
        let shape = *one_of(self.random, &SHAPES);
        let barrier = self.random.u8(..12) == 0;
        let places = self.places(shape.len(), barrier);
        let threads = shape.iter().zip(places).map(|(accesses, place)| {
            let accesses: Vec<&str> = accesses.split(' ').collect();
            let mut instructions = Vec::new();
            for (number, access) in accesses.iter().enumerate() {
                if number > 0 && self.random.u8(..10) < 6 {
                    instructions.push(self.fence());
                }
                instructions.push(self.access(&access[..1], &access[1..], &instructions));
                if barrier && number == 0 {
                    instructions.push(Instruction::Barrier { cluster: self.scope != Scope::Cta, id: 0 });
                }
            }
            Thread { place, instructions }
        });
        threads.collect()
    }

    fn anything(&mut self) -> Vec<Thread> {
        let threads = self.random.usize(2..=3);
        let places = self.places(threads, false);
        let (mut left, mut all) = (6, Vec::new());
        for place in places {
            let mut instructions = Vec::new();
            for _ in 0..self.random.usize(1..=4) {
                let kind = *one_of(self.random, &["W", "W", "R", "R", "R", "A", "F"]);
                if kind == "F" {
                    instructions.push(self.fence());
                } else if left > 0 && (kind == "R" || self.stored < 4) {
                    left -= 1;
                    let location = *one_of(self.random, &["x", "x", "y"]);
                    instructions.push(self.access(kind, location, &instructions));
                }
            }
            all.push(Thread { place, instructions });
        }
        all
    }

    /// Threads close to each other more often than not.
    fn places(&mut self, threads: usize, together: bool) -> Vec<Place> {
        let first = self.random.usize(..PLACES.len());
        let near = self.random.bool();
        (0..threads)
            .map(|_| match (together, near) {
                (true, _) => PLACES[self.random.usize(..3)],
                (_, true) => PLACES[(first + self.random.usize(..2)) % PLACES.len()],
                _ => PLACES[self.random.usize(..PLACES.len())],
            })
            .collect()
    }

    fn scope(&mut self) -> Scope {
        match self.random.u8(..10) {
            0..7 => self.scope,
            _ => *one_of(self.random, &[Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys]),
        }
    }

    fn fence(&mut self) -> Instruction {
        let orders =
            [FenceOrder::Acquire, FenceOrder::Release, FenceOrder::AcqRel, FenceOrder::Sc, FenceOrder::Sc];
        Instruction::Fence { order: *one_of(self.random, &orders), scope: self.scope() }
    }

    /// `.weak` or `.volatile` now and then, else one of the orders given.
    fn order(&mut self, strong: &[Order]) -> Order {
        match self.random.u8(..10) {
            throw if throw >= self.strong => Order::Weak,
            0 => Order::Volatile,
            _ => *one_of(self.random, strong),
        }
    }

    fn access(&mut self, kind: &str, location: &str, before: &[Instruction]) -> Instruction {
        let location = location.to_owned();
        let register = format!("r{}", self.registers);
        match kind {
            "R" => {
                self.registers += 1;
                let order = self.order(&[Order::Relaxed, Order::Acquire]);
                let scope = if order == Order::Volatile { Scope::Sys } else { self.scope() };
                Instruction::Load { order, scope, register, location }
            }
            "W" => {
                let order = self.order(&[Order::Relaxed, Order::Release]);
                let scope = if order == Order::Volatile { Scope::Sys } else { self.scope() };
                let loaded = before.iter().find_map(|before| match before {
                    Instruction::Load { register, .. } => Some(register.clone()),
                    _ => None,
                });
                let value = match loaded {
                    Some(register) if self.random.u8(..4) == 0 => Operand::Register(register),
                    _ => Operand::Constant(self.stored + 1),
                };
                self.stored += 1;
                Instruction::Store { order, scope, location, value }
            }
            _ => self.atomic(register, location),
        }
    }

    fn atomic(&mut self, register: String, location: String) -> Instruction {
        self.stored += 1;
        let reduction = self.random.u8(..3) == 0;
        let orders: &[Order] = match reduction {
            true => &[Order::Relaxed, Order::Release],
            false => &[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel],
        };
        let exchange = !reduction && self.random.u8(..3) == 0;
        let (operation, value) = match exchange {
            true => (Operation::Exchange, self.stored),
            false => (Operation::Add, 10),
        };
        let register = (!reduction).then_some(register);
        self.registers += u64::from(!reduction);
        let order = *one_of(self.random, orders);
        Instruction::Atomic { order, scope: self.scope(), operation, register, location, value }
    }
}
