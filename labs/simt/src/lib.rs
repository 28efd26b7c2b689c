//! PTX on the CPU: parse it, run it warp by warp, count what it asks of memory.
//!
//! [`Module::parse`] reads PTX text; [`Machine`] holds device memory and runs
//! kernels on a described [`Gpu`]; a [`Report`] holds what was counted; an
//! [`event::Observer`] sees every access. No I/O and no threads of its own;
//! builds for `wasm32-unknown-unknown`.
//!
//! Clocks: `%clock64` counts the instructions a simulated SM has issued, plus
//! 500 for every round in which its warps waited for memory; `%globaltimer`
//! takes one cycle for a nanosecond. They move forward, no more: they are
//! order, not time.

mod code;
mod count;
mod decode;
mod error;
pub mod event;
mod float;
mod flow;
mod machine;
mod parse;
mod predict;
pub mod race;
mod scalar;
mod syntax;
mod token;
mod types;

pub use code::AtomicOp;
pub use count::{AddressCounts, Report, SiteCounts, SiteKind};
pub use decode::Module;
pub use error::{Error, ParseError, Place, Waiter};
pub use machine::{Gpu, Launch, Loaded, Machine, Options, Order, Reconvergence};
pub use predict::{Folding, SitePrediction, predict};
