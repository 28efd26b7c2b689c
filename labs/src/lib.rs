//! The labs: kernels that show what atomics cost, run on this machine.
//!
//! A number's way through this crate: [`lab`] says what there is to measure, [`code`] finds the kernels,
//! [`session`] runs them on a [`backend`] in a process of its own, [`measure`] takes and checks the samples.

pub mod agree;
pub mod backend;
pub mod baseline;
pub mod cli;
pub mod code;
pub mod days;
pub mod doctor;
pub mod draft;
pub mod exercise;
pub mod explain;
pub mod failure;
pub mod lab;
pub mod measure;
pub mod model;
pub mod plot;
pub mod print;
pub mod records;
pub mod results;
pub mod run;
pub mod session;
pub mod simulate;
pub mod slices;
pub mod sources;
pub mod toolchain;
pub mod tools;
pub mod verify;

/// The hash of the sources that this program was built from; [`sources::hash`] of a checkout gives the same or tells otherwise.
pub const BUILT_FROM: &str = env!("HOT_ADDRESSES_SOURCES");
