//! The book.
fn main() {}
