//! PTX on the CPU: parse it, run it warp by warp, count what it asks of memory.
//!
//! No I/O and no threads of its own; builds for `wasm32-unknown-unknown`.

pub mod event;
