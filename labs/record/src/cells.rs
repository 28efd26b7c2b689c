//! Native or CAS: which atomic operation becomes which instructions, by type, place and use of the old value, for
//! every compiler target that was asked. `verification/native_or_cas.yaml`, made by `scripts/native-or-cas` from what
//! the compilers emit and not edited.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::record::{SCHEMA, sha256};

mod prices;
mod source;
mod words;

pub use prices::{Price, Prices};
pub use source::{Contrast, Says, SourceTable, Statement};
pub use words::{Backend, CellVerdict, Old, Operation, Place, Scalar, Spelling};

/// The whole table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cells {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Whom the table asks, in the order of its columns.
    pub targets: Vec<Target>,
    /// The rows of each backend.
    pub rows: Vec<Row>,
    /// SHA-256 over all the rest.
    #[serde(default)]
    pub digest: String,
}

/// A compiler and the machine it compiles for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `sm_90`, `gfx942 agent`, `x86-64 rustc`; unique in the table.
    pub name: String,
    /// Whose machine.
    pub backend: Backend,
    /// Compiler and version.
    pub compiler: String,
    /// What was compiled, and with which options.
    pub from: String,
    /// What read the result: a disassembler and its version, or the compiler's own assembly.
    pub read_by: String,
    /// How far the evidence goes: `compiled`, or `run under threads` with what was checked.
    pub extent: String,
}

/// One operation on one type of word at one place, on every target of a backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Of which targets.
    pub backend: Backend,
    /// What is done.
    pub operation: Operation,
    /// To what.
    #[serde(rename = "type")]
    pub scalar: Scalar,
    /// Where it lies.
    pub place: Place,
    /// Whether the old value is read.
    pub old: Old,
    /// The targets' answers, equal ones together.
    pub cells: Vec<Cell>,
}

/// What some targets make of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Which targets.
    pub targets: Vec<String>,
    /// What it is where each thread's address comes from memory.
    #[serde(flatten)]
    pub answer: Answer,
    /// What it is at one address that the compiler knows to be the same for all lanes, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uniform: Option<Answer>,
    /// How the source spells it.
    #[serde(default, skip_serializing_if = "Spelling::is_function")]
    pub spelled: Spelling,
    /// Capabilities and extensions that the code demands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Why it is not available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A verdict and what it was read from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Answer {
    /// What the operation became.
    pub verdict: CellVerdict,
    /// The instructions that decide it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instruction: String,
}

impl Cells {
    /// Its file, from the repository's root.
    pub const FILE: &str = "verification/native_or_cas.yaml";

    /// SHA-256 over everything but `digest` itself.
    pub fn compute_digest(&self) -> String {
        let bare = Cells { digest: String::new(), ..self.clone() };
        // Plain data has no way to fail here; an empty text would match no digest.
        sha256(serde_json::to_string(&bare).unwrap_or_default().as_bytes())
    }

    /// The rows that a backend must have: every defined operation, at each place, with and without the old value.
    pub fn wanted(backend: Backend) -> impl Iterator<Item = (Operation, Scalar, Place, Old)> {
        let places: &[Place] =
            if backend == Backend::Cpu { &[Place::Global] } else { &[Place::Global, Place::Shared] };
        Operation::ALL.into_iter().flat_map(move |operation| {
            Scalar::ALL.into_iter().filter(move |scalar| operation.is_defined_for(*scalar)).flat_map(
                move |scalar| {
                    places.iter().flat_map(move |place| {
                        [Old::Unused, Old::Used].map(move |old| (operation, scalar, *place, old))
                    })
                },
            )
        })
    }

    /// The cell of a target.
    pub fn cell(&self, target: &str, place: (Operation, Scalar, Place, Old)) -> Option<&Cell> {
        let backend = self.targets.iter().find(|known| known.name == target)?.backend;
        let row = self.rows.iter().find(|row| row.backend == backend && row.key() == place)?;
        row.cells.iter().find(|cell| cell.targets.iter().any(|name| name == target))
    }

    /// What is wrong with the table. Empty if nothing is.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.schema != SCHEMA {
            faults.push(format!("its schema is {}, this program reads {SCHEMA}", self.schema));
        }
        if self.digest != self.compute_digest() {
            faults.push("its digest does not match its content: it was edited after it was made".to_owned());
        }
        let names: BTreeSet<&str> = self.targets.iter().map(|target| target.name.as_str()).collect();
        if names.len() != self.targets.len() {
            faults.push("two targets have one name".to_owned());
        }
        for target in &self.targets {
            let said = [&target.name, &target.compiler, &target.from, &target.read_by, &target.extent];
            if said.iter().any(|text| text.trim().is_empty()) {
                faults.push(format!("target `{}` lacks a compiler, a reader or an extent", target.name));
            }
        }
        for backend in Backend::ALL {
            faults.extend(self.faults_of(backend));
        }
        faults
    }

    fn faults_of(&self, backend: Backend) -> Vec<String> {
        let of_backend = self.targets.iter().filter(|target| target.backend == backend);
        let targets: Vec<&str> = of_backend.map(|target| target.name.as_str()).collect();
        if targets.is_empty() {
            return vec![format!("{backend} has no target; state at least one that is not available")];
        }
        let mut faults = Vec::new();
        let mut rows = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.backend == backend) {
            if rows.insert(row.key(), row).is_some() {
                faults.push(format!("{} stands there twice", row.describe()));
            }
        }
        for key in Cells::wanted(backend) {
            let Some(row) = rows.remove(&key) else {
                let (operation, scalar, place, old) = key;
                faults.push(format!("{backend}: {operation} {scalar} {place}, old value {old}, is missing"));
                continue;
            };
            let mut named: Vec<&str> =
                row.cells.iter().flat_map(|cell| &cell.targets).map(String::as_str).collect();
            named.sort_unstable();
            let mut wanted = targets.clone();
            wanted.sort_unstable();
            if named != wanted {
                faults.push(format!("{} does not answer for each target once", row.describe()));
            }
            faults.extend(
                row.cells
                    .iter()
                    .filter_map(|cell| cell.fault())
                    .map(|fault| format!("{}: {fault}", row.describe())),
            );
        }
        faults.extend(rows.values().map(|row| format!("{} is no row of the table", row.describe())));
        faults
    }
}

impl Row {
    /// What tells it from the other rows of its backend.
    pub fn key(&self) -> (Operation, Scalar, Place, Old) {
        (self.operation, self.scalar, self.place, self.old)
    }

    fn describe(&self) -> String {
        let Row { backend, operation, scalar, place, old, .. } = self;
        format!("{backend}: {operation} {scalar} {place}, old value {old}")
    }
}

impl Cell {
    fn fault(&self) -> Option<String> {
        let absent = self.answer.verdict == CellVerdict::NotAvailable;
        if absent != self.why.is_some() {
            return Some("what is not available needs a reason, and nothing else has one".to_owned());
        }
        if absent != self.answer.instruction.is_empty() {
            return Some("a verdict rests on an instruction, unless it is `not_available`".to_owned());
        }
        // A loop in the source can't come out as one instruction: then the reader would be wrong.
        let loops = [CellVerdict::CasLoop, CellVerdict::ExclusiveLoop];
        if self.spelled == Spelling::Loop && !loops.contains(&self.answer.verdict) {
            return Some(format!("a loop in the source is read as {}", self.answer.verdict));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Cells {
        let target = |backend: Backend| Target {
            name: format!("{backend} one"),
            backend,
            compiler: "c 1".to_owned(),
            from: "x".to_owned(),
            read_by: "d 1".to_owned(),
            extent: "compiled".to_owned(),
        };
        let row = |backend: Backend, (operation, scalar, place, old)| Row {
            backend,
            operation,
            scalar,
            place,
            old,
            cells: vec![Cell {
                targets: vec![format!("{backend} one")],
                answer: Answer { verdict: CellVerdict::Native, instruction: "RED".to_owned() },
                uniform: None,
                spelled: Spelling::Function,
                needs: vec![],
                why: None,
            }],
        };
        let rows = Backend::ALL
            .into_iter()
            .flat_map(|backend| Cells::wanted(backend).map(move |key| row(backend, key)).collect::<Vec<_>>());
        let targets = Backend::ALL.map(target).to_vec();
        let mut cells = Cells { schema: SCHEMA, targets, rows: rows.collect(), digest: String::new() };
        cells.digest = cells.compute_digest();
        cells
    }

    fn refused(change: impl FnOnce(&mut Cells)) -> Vec<String> {
        let mut cells = table();
        change(&mut cells);
        cells.digest = cells.compute_digest();
        cells.faults()
    }

    #[test]
    fn a_whole_table_passes_and_survives_the_file() {
        let cells = table();
        assert_eq!(cells.faults(), Vec::<String>::new());
        assert_eq!(cells.rows.len(), 4 * 300 + 150, "no operation on no type at no place is left out");
        let text = serde_yaml::to_string(&cells).unwrap();
        assert_eq!(serde_yaml::from_str::<Cells>(&text).unwrap(), cells);
    }

    #[test]
    fn what_is_broken_is_refused() {
        let mut edited = table();
        edited.rows[0].cells[0].answer.verdict = CellVerdict::CasLoop;
        assert!(edited.faults()[0].contains("edited"), "a cell typed by hand");
        assert!(refused(|t| drop(t.rows.remove(7)))[0].contains("is missing"));
        assert!(refused(|t| t.rows.push(t.rows[3].clone()))[0].contains("twice"));
        assert!(refused(|t| t.rows[0].cells[0].targets.clear())[0].contains("each target once"));
        assert!(refused(|t| t.rows[0].cells[0].answer.instruction.clear())[0].contains("rests on"));
        assert!(refused(|t| t.rows[0].cells[0].spelled = Spelling::Loop)[0].contains("read as native"));
        assert!(refused(|t| t.targets[0].compiler.clear())[0].contains("lacks a compiler"));
        assert!(
            refused(|t| t.targets.retain(|target| target.backend != Backend::Metal))
                .iter()
                .any(|fault| fault.contains("Metal has no target"))
        );
    }
}
