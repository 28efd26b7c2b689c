//! The whole program on a made-up course: what its pages show, and what it refuses.

// A test that cannot go on stops with the line: that is what unwrap does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agreement;
mod course;
mod fixtures;
mod pages;
mod program;
mod refusals;
mod slices;
