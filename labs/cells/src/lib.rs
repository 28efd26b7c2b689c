//! Native or CAS: what compilers make of every atomic operation on every type. [`cuda`], [`amdgpu`], [`cpu`] and
//! [`spirv`] (with Metal behind it) write the source, run the compiler and hand its code to `reading`; nothing here
//! states an answer. The result is [`labs_record::cells::Cells`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use labs::failure::lacks;
use labs_record::SCHEMA;
use labs_record::cells::{
    Answer, Backend, Cell, CellVerdict, Cells, Old, Operation, Place, Row, Scalar, Spelling, Target,
};

pub mod amdgpu;
pub mod cpu;
pub mod cuda;
mod ir;
pub mod price;
mod reading;
pub mod spirv;

/// What stands above the table in its file.
pub const HEAD: &str = "# Made by scripts/native-or-cas from what compilers emit; not for editing.\n";

/// One row of a backend.
pub type Key = (Operation, Scalar, Place, Old);

/// A row's name in sources and assembly: `add_i32_global_unused`.
pub(crate) fn name((operation, scalar, place, old): Key) -> String {
    format!("{operation}_{scalar}_{place}_{old}")
}

/// What one target makes of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where each thread's address comes from memory.
    pub answer: Answer,
    /// At one address known to be the same for all; none where the target has no lanes to combine.
    pub uniform: Option<Answer>,
    /// How the source spells it.
    pub spelled: Spelling,
    /// Capabilities that the code demands.
    pub needs: Vec<String>,
    /// Why it is not available.
    pub why: Option<String>,
}

impl Found {
    /// An operation that there is none of.
    pub fn absent(why: impl Into<String>) -> Found {
        let answer = Answer { verdict: CellVerdict::NotAvailable, instruction: String::new() };
        Found { answer, uniform: None, spelled: Spelling::Function, needs: Vec::new(), why: Some(why.into()) }
    }

    /// An answer read from code.
    pub fn read(answer: Answer, spelled: Spelling) -> Found {
        Found { answer, uniform: None, spelled, needs: Vec::new(), why: None }
    }
}

/// A target and its answers.
pub type Column = (Target, BTreeMap<Key, Found>);

/// Makes the whole table, asking every compiler.
///
/// # Errors
/// A tool that is missing (exit code 3), one that fails, or code without any atomic instruction.
pub fn make(root: &Path) -> Result<Cells> {
    let mut columns = cuda::columns(root)?;
    columns.extend(amdgpu::columns()?);
    columns.extend(cpu::columns()?);
    columns.extend(spirv::columns(root)?);
    Ok(table(&columns))
}

/// The table of these columns.
pub fn table(columns: &[Column]) -> Cells {
    let mut rows = Vec::new();
    for backend in Backend::ALL {
        for key in Cells::wanted(backend) {
            let of_backend = columns.iter().filter(|(target, _)| target.backend == backend);
            let found = of_backend.filter_map(|(target, answers)| Some((&target.name, answers.get(&key)?)));
            let (operation, scalar, place, old) = key;
            rows.push(Row { backend, operation, scalar, place, old, cells: together(found) });
        }
    }
    let targets = columns.iter().map(|(target, _)| target.clone()).collect();
    let mut cells = Cells { schema: SCHEMA, targets, rows, digest: String::new() };
    cells.digest = cells.compute_digest();
    cells
}

/// Equal answers in one cell.
fn together<'a>(found: impl Iterator<Item = (&'a String, &'a Found)>) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for (target, found) in found {
        let uniform = found.uniform.clone().filter(|uniform| *uniform != found.answer);
        let cell = Cell {
            targets: vec![target.clone()],
            answer: found.answer.clone(),
            uniform,
            spelled: found.spelled,
            needs: found.needs.clone(),
            why: found.why.clone(),
        };
        let alike = |known: &&mut Cell| {
            Cell { targets: Vec::new(), ..(**known).clone() } == Cell { targets: Vec::new(), ..cell.clone() }
        };
        match cells.iter_mut().find(alike) {
            Some(known) => known.targets.push(target.clone()),
            None => cells.push(cell),
        }
    }
    cells
}

/// Every cell in which the table made differs from the one that is there; of the targets made alone.
pub fn differences(there: &Cells, made: &Cells) -> Vec<String> {
    let mut differences = Vec::new();
    for target in &made.targets {
        for key in Cells::wanted(target.backend) {
            let bare = |cells: &Cells| {
                cells.cell(&target.name, key).map(|cell| Cell { targets: Vec::new(), ..cell.clone() })
            };
            let (old, new) = (bare(there), bare(made));
            if old != new {
                let show = |cell: Option<Cell>| cell.map_or("nothing".to_owned(), |cell| describe(&cell));
                let (name, target) = (name(key), &target.name);
                differences.push(format!("{target}, {name}: {}; the table has {}", show(new), show(old)));
            }
        }
    }
    differences
}

/// Targets whose compiler, options or reader are not those that the table names; their cells may agree all the same.
pub fn renewed(there: &Cells, made: &Cells) -> Vec<String> {
    let known = |target: &Target| there.targets.iter().find(|known| known.name == target.name);
    let renewed = made.targets.iter().filter_map(|target| match known(target) {
        Some(known) if known == target => None,
        Some(known) => {
            Some(format!("{}: now {}, the table has {}", target.name, target.compiler, known.compiler))
        }
        None => Some(format!("{}: new", target.name)),
    });
    renewed.collect()
}

fn describe(cell: &Cell) -> String {
    let mut text = format!("{} {}", cell.answer.verdict, cell.answer.instruction);
    if let Some(uniform) = &cell.uniform {
        text += &format!("; uniform: {} {}", uniform.verdict, uniform.instruction);
    }
    if !cell.needs.is_empty() {
        text += &format!("; needs {}", cell.needs.join(", "));
    }
    text
}

/// Runs a program in `folder` and gives its standard output.
///
/// # Errors
/// It is missing (with what to install), or ends with an error, whose words follow.
pub(crate) fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<String> {
    let output = command(program, arguments, folder)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {} ended with {}: {}", arguments.join(" "), output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program that may refuse its input.
pub(crate) fn command(program: &str, arguments: &[&str], folder: &Path) -> Result<std::process::Output> {
    Command::new(program).args(arguments).current_dir(folder).stdin(Stdio::null()).output().map_err(|error| {
        lacks(format!("{program} does not run ({error}); scripts/native-or-cas installs what it needs"))
    })
}

/// The first line of what a program prints of its version.
pub(crate) fn version(program: &str) -> Result<String> {
    let text = run(program, &["--version"], Path::new("."))?;
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map(|line| line.trim().to_owned()).with_context(|| format!("{program} --version prints nothing"))
}

/// A folder for sources and what is made of them, gone when dropped.
pub(crate) struct Workshop(tempfile::TempDir);

impl Workshop {
    pub(crate) fn open() -> Result<Workshop> {
        Ok(Workshop(tempfile::tempdir().context("no temporary folder for the compilers")?))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {name}"))?;
        Ok(path)
    }
}
