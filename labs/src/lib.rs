//! The labs.
