//! What can go wrong, said so that a learner finds the line.

use std::fmt;

/// PTX text that this simulator cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// The line itself.
    pub text: String,
    /// What about it.
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX line {}: {}\n    {}", self.line, self.reason, self.text.trim())
    }
}

impl std::error::Error for ParseError {}

/// Where in a kernel, and in which thread, something went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Kernel name.
    pub kernel: String,
    /// The instruction as the PTX spells it.
    pub instruction: String,
    /// Source line by `.loc`, or the PTX line where there is none.
    pub line: u32,
    /// PTX line.
    pub ptx_line: u32,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(
            f,
            "kernel {}, source line {} (PTX line {}), block ({bx},{by},{bz}), thread ({tx},{ty},{tz}): {}",
            self.kernel, self.line, self.ptx_line, self.instruction
        )
    }
}

/// Lanes that will not go on, and what they wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// Where the first of them stands.
    pub place: Place,
    /// Lanes of the warp that stand there, as a mask.
    pub lanes: u32,
    /// What it waits for.
    pub waits_for: String,
}

/// A launch that did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// An access outside every allocation, or misaligned, or to freed memory.
    Memory {
        /// Who and where.
        place: Box<Place>,
        /// The address, in the instruction's state space.
        address: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The kernel executed `trap`, or called what is not there.
    Trap {
        /// Who and where.
        place: Box<Place>,
        /// Why.
        reason: String,
    },
    /// A `.sync` instruction whose mask cannot be met, or a misused barrier.
    Sync {
        /// Who and where.
        place: Box<Place>,
        /// What is wrong.
        reason: String,
    },
    /// Nothing can move any more.
    Deadlock {
        /// Who waits, the first few.
        waiters: Vec<Waiter>,
        /// How many groups of lanes wait in all.
        total: usize,
        /// Blocks that found no room on an SM and have not started.
        not_started: usize,
    },
    /// The launch ran longer than its budget.
    Budget {
        /// Lane-instructions allowed.
        limit: u64,
        /// Who was still running, the first few.
        waiters: Vec<Waiter>,
    },
    /// The launch or a call is impossible as asked.
    Usage(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Memory { place, address, reason } => {
                write!(f, "address {address:#x}: {reason}\n  at {place}")
            }
            Error::Trap { place, reason } | Error::Sync { place, reason } => {
                write!(f, "{reason}\n  at {place}")
            }
            Error::Deadlock { waiters, total, not_started } => {
                write!(f, "deadlock: {total} groups of threads wait and nothing can move")?;
                if *not_started > 0 {
                    write!(f, "; {not_started} blocks have not started, as no SM has room for them")?;
                }
                write_waiters(f, waiters)
            }
            Error::Budget { limit, waiters } => {
                write!(
                    f,
                    "still running after {limit} lane-instructions (raise the budget if that is right)"
                )?;
                write_waiters(f, waiters)
            }
            Error::Usage(reason) => f.write_str(reason),
        }
    }
}

fn write_waiters(f: &mut fmt::Formatter<'_>, waiters: &[Waiter]) -> fmt::Result {
    for waiter in waiters {
        write!(
            f,
            "\n  {} lanes ({:#010x}) {}\n    at {}",
            waiter.lanes.count_ones(),
            waiter.lanes,
            waiter.waits_for,
            waiter.place
        )?;
    }
    Ok(())
}

impl std::error::Error for Error {}
