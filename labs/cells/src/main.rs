//! Makes `verification/native_or_cas.yaml`: what compilers make of every atomic operation. Run by
//! `scripts/native-or-cas`, which installs the compilers first.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand};
use labs::failure;
use labs::toolchain::Architecture;
use labs_cells::price;
use labs_record::cells::{Cells, Prices};
use labs_record::store;

/// Asks compilers what they make of every atomic operation.
#[derive(Parser)]
#[command(name = "native-or-cas")]
struct Arguments {
    #[command(subcommand)]
    command: Action,
    /// The repository's root
    #[arg(long, default_value = ".", global = true)]
    root: PathBuf,
}

#[derive(Subcommand)]
enum Action {
    /// Write verification/native_or_cas.yaml
    Build,
    /// Make the table anew and tell every cell that differs from the one that is there
    Check,
    /// Compile the kernels that measure prices, for one architecture
    PriceCode {
        /// Ten times the compute capability
        architecture: u32,
        /// Where to write the machine code
        out: PathBuf,
    },
    /// Measure prices on this machine's GPU, one session
    Price {
        /// What price-code wrote
        code: PathBuf,
        /// Where to write the session, as JSON
        out: PathBuf,
        /// Seed of the order
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Put sessions together into verification/native_or_cas_prices.yaml
    Prices {
        /// What price wrote
        #[arg(required = true)]
        sessions: Vec<PathBuf>,
    },
}

/// A difference ends with 1, a missing tool with 3.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where stderr is gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "native-or-cas: {error:#}");
            ExitCode::from(failure::kind_of(&error).exit_code())
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let path = arguments.root.join(Cells::FILE);
    match &arguments.command {
        Action::Build => build(&path, &make(&arguments.root)?),
        Action::Check => check(&path, &make(&arguments.root)?),
        Action::PriceCode { architecture, out } => {
            let image = price::code(&arguments.root, Architecture(*architecture))?;
            Ok(store::write_bytes(out, &image)?)
        }
        Action::Price { code, out, seed } => {
            let image = std::fs::read(code).with_context(|| format!("cannot read `{}`", code.display()))?;
            let session = price::session(image, *seed)?;
            Ok(store::write_text(out, &serde_json::to_string(&session)?)?)
        }
        Action::Prices { sessions } => {
            let prices = price::together(sessions)?;
            let path = arguments.root.join(Prices::FILE);
            let text = format!("{}{}", price::HEAD, store::to_text(&path, &prices)?);
            Ok(store::write_text(&path, &text)?)
        }
    }
}

fn make(root: &Path) -> Result<Cells> {
    let made = labs_cells::make(root)?;
    let faults = made.faults();
    if !faults.is_empty() {
        bail!("the table made is faulty: {}", faults.join("; "));
    }
    Ok(made)
}

fn build(path: &Path, made: &Cells) -> Result<()> {
    store::write_text(path, &format!("{}{}", labs_cells::HEAD, store::to_text(path, made)?))?;
    let (targets, rows) = (made.targets.len(), made.rows.len());
    writeln!(std::io::stdout(), "wrote {rows} rows on {targets} targets to {}", path.display())?;
    Ok(())
}

fn check(path: &Path, made: &Cells) -> Result<()> {
    let there: Cells = store::read(path, "table of operations")?;
    let differences = labs_cells::differences(&there, made);
    let mut out = std::io::stdout();
    for renewed in labs_cells::renewed(&there, made) {
        writeln!(out, "note: {renewed}")?;
    }
    for difference in &differences {
        writeln!(out, "{difference}")?;
    }
    if !differences.is_empty() {
        bail!("{} differences; run scripts/native-or-cas and commit what it writes", differences.len());
    }
    writeln!(out, "every cell is what the compilers make")?;
    Ok(())
}
