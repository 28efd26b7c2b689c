//! What the memory model says of a case, before anything runs.

use anyhow::{Context as _, Result, anyhow};
use labs_oracle::{Model, Race, Test, Verdict};

use crate::lab::{Case, Word};

use super::place::Place;
use super::shapes::Litmus;
use super::variants::Version;

/// A case, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) litmus: Litmus,
    pub(super) version: Version,
    pub(super) place: Place,
}

/// Where a case is.
pub(super) fn test_and_place(case: &Case) -> Result<(Litmus, Place)> {
    let word = |axis: &str| case.at.get(axis).map(ToString::to_string).unwrap_or_default();
    let litmus = Litmus::named(&word("test")).with_context(|| format!("no test `{}`", word("test")))?;
    let place = Place::named(&word("place")).with_context(|| format!("no place `{}`", word("place")))?;
    Ok((litmus, place))
}

impl Cell {
    pub(super) fn of(case: &Case) -> Result<Cell> {
        let (litmus, place) = test_and_place(case)?;
        let version = Version::of(case.variant.as_ref().context("a litmus case has a variant")?);
        Ok(Cell { litmus, version, place })
    }

    pub(super) fn question(&self) -> Test {
        self.litmus.question(self.version, self.place)
    }

    pub(super) fn verdict(&self) -> Result<Verdict> {
        Model::ptx().judge(&self.question()).map_err(|error| anyhow!("{error}"))
    }

    fn race(&self) -> Result<Option<Race>> {
        Model::ptx().race(&self.question()).map_err(|error| anyhow!("{error}"))
    }

    /// What a person is told.
    pub(super) fn word(&self, case: &Case) -> Result<Word> {
        let (verdict, race) = (self.verdict()?, self.race()?);
        let word = match (&verdict, &race) {
            (Verdict::Allowed(_), None) => "allowed",
            (Verdict::Allowed(_), Some(_)) => "allowed, race",
            (Verdict::Forbidden(_), None) => "forbidden",
            (Verdict::Forbidden(_), Some(_)) => "forbidden, race",
        };
        Ok(Word {
            variant: case.variant.map(|variant| variant.name.to_owned()).unwrap_or_default(),
            at: case.at.clone(),
            word: word.to_owned(),
            reason: self.reason(&verdict, race.as_ref()),
        })
    }

    fn reason(&self, verdict: &Verdict, race: Option<&Race>) -> String {
        let mut lines = vec![format!("{}:", self.litmus.name)];
        lines.extend(self.question().to_string().lines().map(|line| format!("    {line}")));
        match verdict {
            Verdict::Allowed(witness) => {
                lines.push("The model allows the outcome, by an execution in which".to_owned());
                lines.extend(
                    witness.reads.iter().map(|(read, write)| format!("    {read} reads from: {write}")),
                );
            }
            Verdict::Forbidden(refutations) => {
                let number = refutations.len();
                lines.push(match number {
                    1 => "The model forbids the outcome.".to_owned(),
                    _ => format!("The model forbids the outcome in {number} ways, of which one is told:"),
                });
                lines.extend(refutations.first().map(ToString::to_string));
            }
        }
        lines.extend(race.map(|race| format!("Data race: {} and {}.", race.first, race.second)));
        lines.join("\n")
    }
}
