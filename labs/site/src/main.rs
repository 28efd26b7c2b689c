//! `site`: builds and serves the book.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use mdbook_preprocessor::Preprocessor;
use site::book::{Options, build};
use site::preprocessor::{Labs, speak};
use site::{readme, serve, tree};

/// Builds the book out of `verification/`, `kernels/` and `book/`. Needs no GPU.
#[derive(Parser)]
#[command(name = "site", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the book into book/book
    Build {
        /// Whose numbers fill the pages: a folder's name under verification/ [default: `gpu` in book.toml]
        #[arg(long, value_name = "SLUG")]
        gpu: Option<String>,
        /// Show figures that are not verified, marked
        #[arg(long)]
        draft: bool,
    },
    /// Serve the book on this machine, build it anew when a source changes, mark drafts
    Serve {
        /// Whose numbers fill the pages [default: `gpu` in book.toml]
        #[arg(long, value_name = "SLUG")]
        gpu: Option<String>,
        /// Port on 127.0.0.1
        #[arg(long, default_value_t = 3000)]
        port: u16,
    },
    /// Speak mdBook's preprocessor protocol on standard input and output
    Preprocess {
        #[command(subcommand)]
        question: Option<Question>,
    },
    /// Write the README's table of labs
    Readme {
        /// Only check that it is up to date
        #[arg(long)]
        check: bool,
    },
}

#[derive(Subcommand)]
enum Question {
    /// Exit 0 if a renderer is supported, 1 if not
    Supports {
        /// mdBook's name for it: html
        renderer: String,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Build { gpu, draft } => {
            let start = Instant::now();
            let built = build(&root()?, &Options { gpu, draft })?;
            if built.records == 0 {
                eprintln!("note: there is no record on {}; its chapters say so", built.gpu);
            }
            let seconds = start.elapsed().as_secs_f64();
            println!(
                "built {} for {} in {seconds:.2} s",
                built.folder.join("index.html").display(),
                built.gpu
            );
        }
        Command::Serve { gpu, port } => serve::serve(&root()?, gpu, port)?,
        Command::Preprocess { question: None } => speak(std::io::stdin().lock(), std::io::stdout().lock())?,
        Command::Preprocess { question: Some(Question::Supports { renderer }) } => {
            return Ok(if Labs.supports_renderer(&renderer)? {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
        Command::Readme { check } => {
            if !readme::update(&root()?, check)? && check {
                bail!("the table in README.md is not up to date; run `cargo site readme`");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn root() -> Result<PathBuf> {
    tree::find_root(&std::env::current_dir().context("cannot tell the current folder")?)
}
