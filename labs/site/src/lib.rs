//! The book: figures, tables, charts and claims out of the records, set into pages by mdBook.
//!
//! [`tree`] reads a checkout, [`page`] renders one chapter's template with the [`verbs`], [`lint`] refuses what a
//! chapter must not say, [`book`] drives mdBook, [`links`] checks what it built. Nothing here knows that a GPU
//! exists: pages are made of files, on any machine.

pub mod arguments;
pub mod book;
pub mod editions;
pub mod glossary;
pub mod html;
pub mod kernel_text;
pub mod links;
pub mod lint;
pub mod page;
pub mod preprocessor;
pub mod quantity;
pub mod readme;
pub mod serve;
pub mod tree;
pub mod verbs;
