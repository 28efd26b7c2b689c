//! What the documents behind the course claim, and the end that each claim finds: `verification/sources.yaml`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Claims};

/// All documents and all that they claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    /// [`SCHEMA`](crate::SCHEMA).
    pub schema: u32,
    /// The documents.
    pub documents: Vec<Document>,
    /// Their claims, restated.
    pub claims: Vec<SourceClaim>,
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The letter its claims' ids begin with.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What kind of document it is.
    pub kind: String,
}

/// A claim of a document. Claims of the course name its id under `sources`; the rest of its end stands here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceClaim {
    /// `E1`
    pub id: String,
    /// Where it is tested: labs, or the name of a page.
    pub lab: String,
    /// What it says, restated.
    pub claim: String,
    /// Checks that are no claims: of instructions, of counts, of a whole table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<Check>,
    /// Why it, or a part of it, can't be tested here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_tested: Option<String>,
}

/// A check outside the claims files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The file that makes it, from the repository's root.
    pub by: String,
    /// A word of that file by which the check is found: a test's name, say.
    pub name: String,
    /// A page of the book that shows the outcome, where there is one: `native_or_cas.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// What it found, in a sentence without a measured number.
    pub found: String,
}

impl Sources {
    /// The claims of the course that test an id, each with its lab's stem.
    pub fn tested_by<'a>(&self, id: &str, claims: &'a BTreeMap<String, Claims>) -> Vec<(&'a str, &'a Claim)> {
        claims
            .values()
            .flat_map(|file| file.claims.iter().map(|claim| (file.lab.as_str(), claim)))
            .filter(|(_, claim)| claim.sources.iter().any(|source| source == id))
            .collect()
    }

    /// What is wrong: an id twice, an id of no document, a claim of the course that names an unknown id.
    pub fn faults(&self, claims: &BTreeMap<String, Claims>) -> Vec<String> {
        let mut faults = Vec::new();
        let mut known = BTreeSet::new();
        for claim in &self.claims {
            if !known.insert(claim.id.as_str()) {
                faults.push(format!("`{}` stands there twice", claim.id));
            }
            if !self.documents.iter().any(|document| claim.id.starts_with(&document.id)) {
                faults.push(format!("`{}` is of no document", claim.id));
            }
        }
        for (lab, claim) in
            claims.values().flat_map(|file| file.claims.iter().map(|claim| (&file.lab, claim)))
        {
            for source in claim.sources.iter().filter(|source| !known.contains(source.as_str())) {
                faults.push(format!("{lab}: claim `{}` tests `{source}`, which is in no document", claim.id));
            }
        }
        faults
    }
}
