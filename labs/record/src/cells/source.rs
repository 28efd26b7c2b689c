//! What a document says of the same table, statement by statement, held against the evidence.

use serde::{Deserialize, Serialize};

use super::words::{Backend, CellVerdict, Old, Operation, Place, Scalar};
use super::{Cell, Cells};

/// A document's table: `verification/native_or_cas_source.yaml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceTable {
    /// The document.
    pub title: String,
    /// What it says.
    pub statements: Vec<Statement>,
}

/// One thing it says, of all combinations of what is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Where in the document.
    pub at: String,
    /// Of whose machine.
    pub backend: Backend,
    /// Of which columns of ours.
    pub targets: Vec<String>,
    /// Of which operations.
    pub operations: Vec<Operation>,
    /// On which types.
    pub types: Vec<Scalar>,
    /// At which places; both where it names none.
    #[serde(default = "both_places")]
    pub places: Vec<Place>,
    /// For which use of the old value; both where it names none.
    #[serde(default = "both_uses")]
    pub old: Vec<Old>,
    /// What it says.
    pub says: Says,
}

fn both_places() -> Vec<Place> {
    vec![Place::Global, Place::Shared]
}

fn both_uses() -> Vec<Old> {
    vec![Old::Unused, Old::Used]
}

/// A document's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Says {
    /// One instruction.
    Native,
    /// A compare-and-swap loop.
    Cas,
    /// Not to be had.
    Absent,
}

impl Says {
    /// The word of the page.
    pub fn word(self) -> &'static str {
        match self {
            Says::Native => "native",
            Says::Cas => "CAS loop",
            Says::Absent => "not available",
        }
    }

    fn agrees(self, found: CellVerdict) -> bool {
        match self {
            Says::Native => matches!(found, CellVerdict::Native | CellVerdict::Folded),
            Says::Cas => matches!(found, CellVerdict::CasLoop | CellVerdict::ExclusiveLoop),
            Says::Absent => found == CellVerdict::NotAvailable,
        }
    }
}

/// Where the evidence is another than the document's word: one answer and all places that gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contrast<'a> {
    /// What the document says.
    pub statement: &'a Statement,
    /// What was found.
    pub found: &'a Cell,
    /// Operation, type, place, use and target of each.
    pub places: Vec<(Operation, Scalar, Place, Old, &'a str)>,
}

impl SourceTable {
    /// How many cells the statements speak of, and in how many the evidence agrees.
    pub fn agreement(&self, cells: &Cells) -> (usize, usize) {
        let all: Vec<bool> = self
            .statements
            .iter()
            .flat_map(|statement| {
                statement.pairs(cells).map(|(_, cell)| statement.says.agrees(cell.answer.verdict))
            })
            .collect();
        (all.len(), all.iter().filter(|agrees| **agrees).count())
    }

    /// Every difference, equal answers to one statement together.
    pub fn contrasts<'a>(&'a self, cells: &'a Cells) -> Vec<Contrast<'a>> {
        let mut contrasts: Vec<Contrast<'a>> = Vec::new();
        for statement in &self.statements {
            let first = contrasts.len();
            for (place, found) in statement.pairs(cells) {
                if statement.says.agrees(found.answer.verdict) {
                    continue;
                }
                let alike = |known: &&mut Contrast<'_>| {
                    known.found.answer == found.answer && known.found.why == found.why
                };
                match contrasts[first..].iter_mut().find(alike) {
                    Some(known) => known.places.push(place),
                    None => contrasts.push(Contrast { statement, found, places: vec![place] }),
                }
            }
        }
        contrasts
    }

    /// Statements of cells that are not in the table.
    pub fn faults(&self, cells: &Cells) -> Vec<String> {
        let empty = self.statements.iter().filter(|statement| {
            statement.targets.iter().any(|target| {
                !cells.targets.iter().any(|known| known.name == *target && known.backend == statement.backend)
            }) || statement.pairs(cells).next().is_none()
        });
        empty
            .map(|statement| {
                format!("`{}` speaks of no cell, or of a target that is not there", statement.at)
            })
            .collect()
    }
}

impl Statement {
    fn pairs<'a>(
        &'a self,
        cells: &'a Cells,
    ) -> impl Iterator<Item = ((Operation, Scalar, Place, Old, &'a str), &'a Cell)> {
        self.operations.iter().flat_map(move |operation| {
            self.types.iter().flat_map(move |scalar| {
                self.places.iter().flat_map(move |place| {
                    self.old.iter().flat_map(move |old| {
                        self.targets.iter().filter_map(move |target| {
                            let cell = cells.cell(target, (*operation, *scalar, *place, *old))?;
                            Some(((*operation, *scalar, *place, *old, target.as_str()), cell))
                        })
                    })
                })
            })
        })
    }
}
