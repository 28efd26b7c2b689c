//! The labs command.
fn main() {}
