//! What the PTX memory model says of a small concurrent program: may it end like this, or not, and why not?
//!
//! A [`Test`] is a handful of threads, each with a place in the machine and a few PTX instructions, and an outcome.
//! [`Model::judge`] goes through every candidate execution (which write each read takes its value from, in which
//! order writes to one location follow each other, in which order `fence.sc` operations do), keeps those that give the
//! outcome, and asks of each whether an axiom of the model forbids it. One that none forbids makes the outcome
//! allowed; if every candidate is refuted, the verdict carries the cycle that refutes each.
//!
//! The model is that of the PTX ISA's chapter *Memory Consistency Model* (read at versions 9.1 and 9.4: sections 8.4 to
//! 8.11), which goes back to Lustig, Sahasrabuddhe and Giroux, *A Formal Analysis of the NVIDIA PTX Memory Consistency
//! Model*, ASPLOS 2019; the scope `.cluster` came with PTX 7.8. Names here are the chapter's.
//!
//! Left out: proxies and aliases (all accesses are generic, one address a location), accesses that overlap in part,
//! vectors, `atom.cas` (whether it writes depends on what it reads), branches (so no control dependencies), and state
//! spaces. The chapter defines causality order for memory operations only, yet its axiom *Fence-SC* speaks of fences in
//! causality order; as Lustig et al. do, fences are held to base causality order here.
//!
//! As in their Alloy form of the model an atomic is two events, its read and its write. The chapter's axiom *Causality*,
//! taken of the whole atomic, forbids more: that an atomic reads, from a write that is not morally strong to it, what
//! follows causally from its own result. `tests/model.rs` has the case. A verdict *forbidden* holds by both readings.
//!
//! A test is judged by going through all its candidates, whose number grows with the factorial of the writes to one
//! location and of the `fence.sc`: a dozen instructions take milliseconds, twice as many may take for ever.
//!
//! ```
//! use labs_oracle::{Model, Test};
//!
//! let test = Test::parse(
//!     "cta 0: st.weak [x], 1; st.release.cta [flag], 1
//!      cta 1: ld.acquire.cta r0, [flag]; ld.weak r1, [x]
//!      outcome r0 == 1 & r1 == 0",
//! )?;
//! assert!(Model::ptx().judge(&test)?.is_allowed(), "block scope does not reach another block");
//! # Ok::<(), labs_oracle::Error>(())
//! ```

mod check;
mod error;
mod event;
mod execution;
mod model;
mod program;
mod relation;
mod text;

pub use error::Error;
pub use model::{Axiom, Model, Race, Refutation, Step, Verdict, Witness};
pub use program::{
    Atom, Cell, FenceOrder, Instruction, Operand, Operation, Order, Outcome, Place, Scope, Test, Thread,
};
