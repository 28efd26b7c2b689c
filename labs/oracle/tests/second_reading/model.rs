//! The chapter *Memory Consistency Model* once more, sentence by sentence, by the slowest means: an operation is one
//! node (an atomic too, where the library makes it two events), a relation is a set of pairs, a definition that speaks
//! of itself is repeated until nothing is added, and coherence order is any partial order that the chapter permits.
//! It shares with the library the types of a program and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use labs_oracle::{FenceOrder, Instruction, Operand, Operation, Order, Place, Scope, Test};

use super::pairs::Pairs;
use super::run::{Fixed, Run};

/// What a reader may overlook. Each must show, or the programs compared do not reach that sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlooked {
    Nothing,
    /// 8.5: every scope is the whole system.
    Scopes,
    /// 8.8: a release or acquire operation, and a second operation on its location.
    LongerPatterns,
    /// 8.8: the read of a reduction forms no acquire pattern.
    Reductions,
    /// 8.9.2: through atomics.
    ThroughAtomics,
    /// 8.9.4: `fence.sc` in their order.
    FenceSc,
    /// 8.9.4: barriers.
    Barriers,
    /// 8.9.5: base causality order behind observation order.
    Observation,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    Constant(u64),
    /// The value that this operation has read, plus a number.
    Read(usize, u64),
}

struct Op {
    thread: Option<(usize, Place)>,
    location: Option<String>,
    reads: bool,
    value: Value,
    strong: bool,
    scope: Scope,
    acquires: bool,
    releases: bool,
    fence_sc: bool,
    reduction: bool,
    /// Of the cluster or not, its number, how many the thread met before.
    barrier: Option<(bool, u64, usize)>,
}

impl Op {
    fn writes(&self) -> bool {
        self.value != Value::None
    }

    fn is_fence(&self) -> bool {
        self.location.is_none() && self.barrier.is_none()
    }
}

/// What the registers and locations hold at the end.
pub(crate) type End = BTreeMap<String, u64>;

#[derive(Default)]
pub(crate) struct Verdicts {
    /// Ends of executions, permitted or not.
    pub(crate) possible: BTreeSet<End>,
    pub(crate) allowed: BTreeSet<End>,
    /// Whether an execution that is permitted has a data race.
    pub(crate) races: bool,
}

pub(crate) struct Reading {
    ops: Vec<Op>,
    registers: BTreeMap<String, usize>,
    locations: BTreeSet<String>,
    overlooked: Overlooked,
}

fn of_order(order: Order) -> (bool, bool, bool) {
    let acquires = matches!(order, Order::Acquire | Order::AcqRel);
    let releases = matches!(order, Order::Release | Order::AcqRel);
    (order != Order::Weak, acquires, releases)
}

impl Reading {
    pub(crate) fn of(test: &Test, overlooked: Overlooked) -> Reading {
        let mut reading =
            Reading { ops: Vec::new(), registers: BTreeMap::new(), locations: BTreeSet::new(), overlooked };
        for (number, thread) in test.threads.iter().enumerate() {
            for instruction in &thread.instructions {
                reading.add(number, thread.place, instruction);
            }
        }
        for name in reading.locations.clone() {
            let initial = test.initial.iter().find(|(location, _)| *location == name);
            reading.ops.push(Op {
                location: Some(name),
                value: Value::Constant(initial.map_or(0, |(_, value)| *value)),
                ..nothing(None)
            });
        }
        reading
    }

    fn add(&mut self, thread: usize, place: Place, instruction: &Instruction) {
        let here = self.ops.len();
        let mut op = nothing(Some((thread, place)));
        match instruction {
            Instruction::Load { order, scope, register, location } => {
                (op.strong, op.acquires, _) = of_order(*order);
                op.scope = if *order == Order::Volatile { Scope::Sys } else { *scope };
                op.reads = true;
                op.location = Some(location.clone());
                self.registers.insert(register.clone(), here);
            }
            Instruction::Store { order, scope, location, value } => {
                (op.strong, _, op.releases) = of_order(*order);
                op.scope = if *order == Order::Volatile { Scope::Sys } else { *scope };
                op.location = Some(location.clone());
                op.value = match value {
                    Operand::Constant(number) => Value::Constant(*number),
                    Operand::Register(name) => Value::Read(self.registers[name], 0),
                };
            }
            Instruction::Atomic { order, scope, operation, register, location, value } => {
                (op.strong, op.acquires, op.releases) = of_order(*order);
                op.scope = *scope;
                op.reads = true;
                op.reduction = register.is_none();
                op.location = Some(location.clone());
                op.value = match operation {
                    Operation::Add => Value::Read(here, *value),
                    Operation::Exchange => Value::Constant(*value),
                };
                if let Some(register) = register {
                    self.registers.insert(register.clone(), here);
                }
            }
            Instruction::Fence { order, scope } => {
                (op.strong, op.scope) = (true, *scope);
                op.acquires = *order != FenceOrder::Release;
                op.releases = *order != FenceOrder::Acquire;
                op.fence_sc = *order == FenceOrder::Sc;
            }
            Instruction::Barrier { cluster, id } => {
                let before = self.ops.iter().filter(|op| {
                    op.thread.is_some_and(|(other, _)| other == thread)
                        && op.barrier.is_some_and(|(of, number, _)| (of, number) == (*cluster, *id))
                });
                op.barrier = Some((*cluster, *id, before.count()));
            }
        }
        self.locations.extend(op.location.clone());
        self.ops.push(op);
    }

    pub(crate) fn overlaps(&self, a: usize, b: usize) -> bool {
        self.ops[a].location.is_some() && self.ops[a].location == self.ops[b].location
    }

    pub(crate) fn program_order(&self, a: usize, b: usize) -> bool {
        let threads = self.ops[a].thread.zip(self.ops[b].thread);
        a < b && threads.is_some_and(|((a, _), (b, _))| a == b)
    }

    /// 8.5: the scope of `a` includes the thread of `b`.
    fn includes(&self, a: usize, b: usize) -> bool {
        let Some(((_, from), (_, to))) = self.ops[a].thread.zip(self.ops[b].thread) else { return false };
        if self.overlooked == Overlooked::Scopes {
            return true;
        }
        within(self.ops[a].scope, from, to)
    }

    /// 8.7
    pub(crate) fn morally_strong(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.ops[a], &self.ops[b]);
        if a == b || x.barrier.is_some() || y.barrier.is_some() {
            return false;
        }
        let memory = x.location.is_some() && y.location.is_some();
        let ordered = self.program_order(a, b) || self.program_order(b, a);
        let both = x.strong && y.strong && self.includes(a, b) && self.includes(b, a);
        (ordered || both) && (!memory || self.overlaps(a, b))
    }

    /// What the model says of the program.
    pub(crate) fn verdicts(&self) -> Verdicts {
        let mut verdicts = Verdicts::default();
        let reads: Vec<usize> = (0..self.ops.len()).filter(|op| self.ops[*op].reads).collect();
        let (fixed, fence_orders, coherence_orders) =
            (Fixed::of(self), self.fence_orders(), self.coherence_orders());
        self.each_read(&reads, &mut BTreeMap::new(), &mut |from| {
            let Some(values) = self.values(from) else { return };
            for sc in &fence_orders {
                let run = Run::of(self, &fixed, from, *sc);
                for co in &coherence_orders {
                    let ends = self.ends_of(&values, *co);
                    if run.permits(*co) {
                        verdicts.allowed.extend(ends.iter().cloned());
                        verdicts.races |= run.races();
                    }
                    verdicts.possible.extend(ends);
                }
            }
        });
        verdicts
    }

    fn each_read(
        &self,
        reads: &[usize],
        from: &mut BTreeMap<usize, usize>,
        visit: &mut dyn FnMut(&BTreeMap<usize, usize>),
    ) {
        let Some((first, rest)) = reads.split_first() else { return visit(from) };
        for write in (0..self.ops.len()).filter(|op| self.ops[*op].writes() && self.overlaps(*first, *op)) {
            if write != *first {
                from.insert(*first, write);
                self.each_read(rest, from, visit);
            }
        }
        from.remove(first);
    }

    /// What every read finds; none where a value hangs on itself, which *No-Thin-Air* forbids. An atomic's write hangs
    /// on its read, whatever it writes (as in the model's Alloy form).
    fn values(&self, from: &BTreeMap<usize, usize>) -> Option<BTreeMap<usize, u64>> {
        let mut found = BTreeMap::new();
        while found.len() < from.len() {
            let before = found.len();
            for (read, write) in from {
                let writer = &self.ops[*write];
                let old = found.get(write).copied();
                let value = match writer.value {
                    _ if writer.reads && old.is_none() => None,
                    Value::Constant(number) => Some(number),
                    Value::Read(source, plus) => found.get(&source).map(|value| value + plus),
                    Value::None => None,
                };
                if let Some(value) = value {
                    found.insert(*read, value);
                }
            }
            if found.len() == before {
                return None;
            }
        }
        Some(found)
    }

    fn ends_of(&self, values: &BTreeMap<usize, u64>, co: Pairs) -> Vec<End> {
        let registers = self.registers.iter().map(|(name, read)| (name.clone(), values[read])).collect();
        let mut ends: Vec<End> = vec![registers];
        for location in &self.locations {
            let last = (0..self.ops.len()).filter(|op| {
                let op_is_here = self.ops[*op].writes() && self.ops[*op].location.as_ref() == Some(location);
                op_is_here && !(0..self.len()).any(|after| co.contains((*op, after)))
            });
            let last: BTreeSet<u64> = last
                .map(|write| match self.ops[write].value {
                    Value::Constant(number) => number,
                    Value::Read(read, plus) => values[&read] + plus,
                    Value::None => 0,
                })
                .collect();
            let with = |end: &End, value: u64| {
                let mut end = end.clone();
                end.insert(location.clone(), value);
                end
            };
            ends = ends.iter().flat_map(|end| last.iter().map(move |value| with(end, *value))).collect();
        }
        ends
    }

    /// 8.9.3: every acyclic order of the pairs of morally strong `fence.sc`.
    fn fence_orders(&self) -> Vec<Pairs> {
        let sc: Vec<usize> = (0..self.ops.len()).filter(|op| self.ops[*op].fence_sc).collect();
        let mut orders = vec![Pairs::default()];
        for (number, a) in sc.iter().enumerate() {
            for b in sc[number + 1..].iter().filter(|b| self.morally_strong(*a, **b)) {
                orders =
                    orders.iter().flat_map(|order| [order.with((*a, *b)), order.with((*b, *a))]).collect();
            }
        }
        orders.retain(|order| order.is_acyclic());
        orders
    }

    /// 8.9.6: every transitive partial order over the writes of each location; the initial one is the first.
    fn coherence_orders(&self) -> Vec<Pairs> {
        let mut orders = vec![Pairs::default()];
        for location in &self.locations {
            let here =
                |op: &usize| self.ops[*op].writes() && self.ops[*op].location.as_ref() == Some(location);
            let writes: Vec<usize> = (0..self.ops.len()).filter(here).collect();
            let (initial, others) = writes.split_last().expect("an initial write");
            let first: Pairs = others.iter().map(|other| (*initial, *other)).collect();
            let mut here = vec![first];
            for (number, a) in others.iter().enumerate() {
                for b in &others[number + 1..] {
                    let three = |order: &Pairs| [*order, order.with((*a, *b)), order.with((*b, *a))];
                    here = here.iter().flat_map(three).collect();
                }
            }
            here.retain(|order| order.is_transitive());
            orders = orders.iter().flat_map(|order| here.iter().map(move |more| *order | *more)).collect();
        }
        orders
    }

    pub(crate) fn len(&self) -> usize {
        self.ops.len()
    }

    pub(crate) fn overlooks(&self, what: Overlooked) -> bool {
        self.overlooked == what
    }

    pub(crate) fn pairs(&self, holds: impl Fn(usize, usize) -> bool) -> Pairs {
        (0..self.len())
            .flat_map(|a| (0..self.len()).map(move |b| (a, b)))
            .filter(|(a, b)| holds(*a, *b))
            .collect()
    }

    pub(crate) fn write(&self, op: usize) -> bool {
        self.ops[op].writes()
    }

    /// Of no thread: an initial write.
    pub(crate) fn initial(&self, op: usize) -> bool {
        self.ops[op].thread.is_none()
    }

    pub(crate) fn atomic(&self, op: usize) -> bool {
        self.ops[op].writes() && self.ops[op].reads
    }

    /// 8.9.4: barriers of one block or cluster that meet.
    pub(crate) fn meets(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.ops[a], &self.ops[b]);
        let scope = if x.barrier.is_some_and(|(cluster, ..)| cluster) { Scope::Cluster } else { Scope::Cta };
        let together = x.thread.zip(y.thread).is_some_and(|((_, from), (_, to))| within(scope, from, to));
        a != b && x.barrier.is_some() && x.barrier == y.barrier && together
    }

    /// 8.8: the first operation of a release pattern, and a write of it.
    pub(crate) fn releases(&self, first: usize, write: usize) -> bool {
        let (x, y) = (&self.ops[first], &self.ops[write]);
        let behind = self.program_order(first, write) && y.strong && y.writes();
        let by_fence = x.releases && x.is_fence() && behind;
        let longer = behind && self.overlaps(first, write) && !self.overlooks(Overlooked::LongerPatterns);
        by_fence || (x.releases && x.writes() && (first == write || longer))
    }

    /// 8.8: a read of an acquire pattern, and its last operation.
    pub(crate) fn acquires(&self, read: usize, last: usize) -> bool {
        let (x, y) = (&self.ops[read], &self.ops[last]);
        if !x.reads || (x.reduction && !self.overlooks(Overlooked::Reductions)) {
            return false;
        }
        let before = self.program_order(read, last) && x.strong;
        let by_fence = y.acquires && y.is_fence() && before;
        let longer = before && self.overlaps(read, last) && !self.overlooks(Overlooked::LongerPatterns);
        by_fence || (y.acquires && y.reads && (read == last || longer))
    }
}

fn nothing(thread: Option<(usize, Place)>) -> Op {
    Op {
        thread,
        location: None,
        reads: false,
        value: Value::None,
        strong: false,
        scope: Scope::Sys,
        acquires: false,
        releases: false,
        fence_sc: false,
        reduction: false,
        barrier: None,
    }
}

/// Whether a scope around the thread at `from` holds the one at `to`.
fn within(scope: Scope, from: Place, to: Place) -> bool {
    let Place::Block { gpu, cluster, cta } = from else { return scope == Scope::Sys || to == Place::Host };
    let Place::Block { gpu: gpu_there, cluster: cluster_there, cta: cta_there } = to else {
        return scope == Scope::Sys;
    };
    match scope {
        Scope::Cta => (gpu, cta) == (gpu_there, cta_there),
        Scope::Cluster if cluster.is_none() => (gpu, cta) == (gpu_there, cta_there),
        Scope::Cluster => (gpu, cluster) == (gpu_there, cluster_there),
        Scope::Gpu => gpu == gpu_there,
        Scope::Sys => true,
    }
}
