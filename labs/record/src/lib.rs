//! Records, claims and verdicts: what the labs write and the site reads.
//!
//! A number's way through this crate: [`figure`] holds raw samples, [`statistics`] summarises them,
//! [`record`] says where they come from, [`rules`] whether they may be published, [`claim`] what is said
//! of them, [`judge`] whether that is so and [`wording`] how it is put. [`agreement`] holds the simulator against a GPU,
//! [`slices`] what the GPU's own counters say of its L2. [`store`] is the only reader and writer of the files.

pub mod agreement;
pub mod cells;
pub mod claim;
pub mod claim_check;
pub mod figure;
pub mod judge;
pub mod manifest;
pub mod model;
pub mod published;
pub mod record;
pub mod rules;
pub mod signing;
pub mod slices;
pub mod sources;
pub mod statistics;
pub mod store;
pub mod table;
pub mod units;
pub mod wording;

pub use claim::{Claim, Claims, Finding, Verdict};
pub use figure::{At, Coordinate, Figure, Kind, Samples, Unit};
pub use judge::Evidence;
pub use record::{Record, SCHEMA};
