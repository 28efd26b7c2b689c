//! A litmus test: threads, their places, their instructions, and the outcome asked about.

use std::fmt;

/// The set of threads that a strong operation may interact with (PTX ISA 8.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The thread's block.
    Cta,
    /// Its cluster of blocks.
    Cluster,
    /// Its GPU.
    Gpu,
    /// All GPUs and the host.
    Sys,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Scope::Cta => "cta",
            Scope::Cluster => "cluster",
            Scope::Gpu => "gpu",
            Scope::Sys => "sys",
        })
    }
}

/// Where a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A thread of the host program.
    Host,
    /// A thread of a block. Threads of one warp have no place of their own: the model knows no warps.
    Block {
        /// Which GPU.
        gpu: u8,
        /// Which cluster of it; none for a block that is a cluster of its own.
        cluster: Option<u8>,
        /// Which block of it.
        cta: u8,
    },
}

impl Place {
    /// Whether the scope of an operation of a thread here includes a thread there.
    pub(crate) fn reaches(self, scope: Scope, there: Place) -> bool {
        let (
            Place::Block { gpu, cluster, cta },
            Place::Block { gpu: other_gpu, cluster: other_cluster, cta: other_cta },
        ) = (self, there)
        else {
            return self == there || scope == Scope::Sys;
        };
        let same_block = gpu == other_gpu && cta == other_cta;
        match scope {
            Scope::Cta => same_block,
            Scope::Cluster => {
                same_block || (gpu == other_gpu && cluster.is_some() && cluster == other_cluster)
            }
            Scope::Gpu => gpu == other_gpu,
            Scope::Sys => true,
        }
    }
}

/// What orders a load, store or atomic besides its own location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// `.weak`, a plain access: no strong operation at all.
    Weak,
    /// `.volatile`: as relaxed at system scope (PTX ISA 8.4.2).
    Volatile,
    /// `.relaxed`: strong, orders nothing else.
    Relaxed,
    /// `.acquire`: later operations come after.
    Acquire,
    /// `.release`: earlier operations come before.
    Release,
    /// `.acq_rel`, of an atomic: both.
    AcqRel,
}

/// What a fence does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceOrder {
    /// `fence.acquire`
    Acquire,
    /// `fence.release`
    Release,
    /// `fence.acq_rel`
    AcqRel,
    /// `fence.sc`, which is what `membar` is as well.
    Sc,
}

/// What an atomic does with the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Adds.
    Add,
    /// Replaces it.
    Exchange,
}

/// What a store stores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A number.
    Constant(u64),
    /// What the thread loaded before; a data dependency.
    Register(String),
}

/// One instruction. Locations and registers are names; a register belongs to the whole test.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// `ld.acquire.gpu r0, [x]`
    Load {
        /// Its order.
        order: Order,
        /// Its scope; that of a weak load means nothing.
        scope: Scope,
        /// Where the value goes.
        register: String,
        /// What is read.
        location: String,
    },
    /// `st.release.gpu [x], 1`
    Store {
        /// Its order.
        order: Order,
        /// Its scope; that of a weak store means nothing.
        scope: Scope,
        /// What is written.
        location: String,
        /// The value.
        value: Operand,
    },
    /// `atom.acq_rel.gpu.add r0, [x], 1`, or `red` where no register is named.
    Atomic {
        /// Its order.
        order: Order,
        /// Its scope.
        scope: Scope,
        /// What it does.
        operation: Operation,
        /// Where the old value goes; none for `red`.
        register: Option<String>,
        /// What is changed.
        location: String,
        /// The operand.
        value: u64,
    },
    /// `fence.sc.gpu`
    Fence {
        /// What it does.
        order: FenceOrder,
        /// Its scope.
        scope: Scope,
    },
    /// `bar.sync 0`, or `barrier.cluster`. A thread's n-th one meets the n-th of every other thread of the block (or
    /// cluster) that names the same barrier.
    Barrier {
        /// Of the cluster instead of the block.
        cluster: bool,
        /// Which of the block's barriers.
        id: u64,
    },
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Where it runs.
    pub place: Place,
    /// What it does, in program order.
    pub instructions: Vec<Instruction>,
}

/// What an outcome speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A register at the end.
    Register(String),
    /// A location at the end, as a reader would find it to whom everything is visible.
    Location(String),
}

/// `r0 == 1`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// What.
    pub cell: Cell,
    /// Equal, or not.
    pub equal: bool,
    /// To what.
    pub value: u64,
}

/// An outcome: a disjunction of conjunctions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome(pub Vec<Vec<Atom>>);

/// A litmus test. All locations start as 0 unless `initial` says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Test {
    /// Its threads.
    pub threads: Vec<Thread>,
    /// Locations that do not start as 0.
    pub initial: Vec<(String, u64)>,
    /// The outcome asked about.
    pub outcome: Outcome,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Order::Weak => "weak",
            Order::Volatile => "volatile",
            Order::Relaxed => "relaxed",
            Order::Acquire => "acquire",
            Order::Release => "release",
            Order::AcqRel => "acq_rel",
        })
    }
}

impl fmt::Display for FenceOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FenceOrder::Acquire => "acquire",
            FenceOrder::Release => "release",
            FenceOrder::AcqRel => "acq_rel",
            FenceOrder::Sc => "sc",
        })
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Constant(number) => write!(f, "{number}"),
            Operand::Register(name) => f.write_str(name),
        }
    }
}

/// As PTX writes it, types and state spaces left out.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = |order: Order, scope: Scope| match order {
            Order::Weak | Order::Volatile => order.to_string(),
            _ => format!("{order}.{scope}"),
        };
        match self {
            Instruction::Load { order, scope, register, location } => {
                write!(f, "ld.{} {register}, [{location}]", access(*order, *scope))
            }
            Instruction::Store { order, scope, location, value } => {
                write!(f, "st.{} [{location}], {value}", access(*order, *scope))
            }
            Instruction::Atomic { order, scope, operation, register, location, value } => {
                let operation = match operation {
                    Operation::Add => "add",
                    Operation::Exchange => "exch",
                };
                match register {
                    Some(register) => {
                        write!(f, "atom.{order}.{scope}.{operation} {register}, [{location}], {value}")
                    }
                    None => write!(f, "red.{order}.{scope}.{operation} [{location}], {value}"),
                }
            }
            Instruction::Fence { order, scope } => write!(f, "fence.{order}.{scope}"),
            Instruction::Barrier { cluster: true, .. } => f.write_str("barrier.cluster"),
            Instruction::Barrier { cluster: false, id } => write!(f, "bar.sync {id}"),
        }
    }
}

/// As the text form writes it.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Host => f.write_str("host"),
            Place::Block { gpu, cluster, cta } => {
                if *gpu > 0 {
                    write!(f, "gpu {gpu} ")?;
                }
                if let Some(cluster) = cluster {
                    write!(f, "cluster {cluster} ")?;
                }
                write!(f, "cta {cta}")
            }
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, atoms) in self.0.iter().enumerate() {
            let parts: Vec<String> = atoms.iter().map(ToString::to_string).collect();
            write!(f, "{}{}", if number == 0 { "" } else { " | " }, parts.join(" & "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Cell::Register(name) | Cell::Location(name)) = &self.cell;
        write!(f, "{name} {} {}", if self.equal { "==" } else { "!=" }, self.value)
    }
}

/// As [`Test::parse`] reads it.
impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for thread in &self.threads {
            let code: Vec<String> = thread.instructions.iter().map(ToString::to_string).collect();
            writeln!(f, "{}: {}", thread.place, code.join("; "))?;
        }
        for (location, value) in &self.initial {
            writeln!(f, "initial {location} = {value}")?;
        }
        write!(f, "outcome {}", self.outcome)
    }
}
