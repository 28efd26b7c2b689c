//! The whole program on a made-up course: what its pages show, and what it refuses.

mod course;
mod fixtures;
mod pages;
mod program;
mod refusals;
