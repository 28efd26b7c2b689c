//! The labs.

pub mod sources;
pub mod toolchain;

/// The hash of the sources that this program was built from; [`sources::hash`] of a checkout gives the same or tells otherwise.
pub const BUILT_FROM: &str = env!("HOT_ADDRESSES_SOURCES");
