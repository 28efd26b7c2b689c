//! What the operations of the table cost on one GPU.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::words::{Old, Operation, Scalar};
use crate::record::{Gpu, SCHEMA, sha256};
use crate::rules::SESSIONS;

/// What updates cost on one GPU: `verification/native_or_cas_prices.yaml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The GPU.
    pub gpu: Gpu,
    /// Its driver.
    pub driver: String,
    /// What compiled the kernels.
    pub compiler: String,
    /// How it was measured.
    pub method: String,
    /// When each session began, UTC.
    pub sessions: Vec<String>,
    /// The prices, in the order of the table.
    pub prices: Vec<Price>,
    /// SHA-256 over all the rest.
    #[serde(default)]
    pub digest: String,
}

/// Updates a second of one operation in global memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// What is done.
    pub operation: Operation,
    /// To what.
    #[serde(rename = "type")]
    pub scalar: Scalar,
    /// Whether the old value is read.
    pub old: Old,
    /// Over how many neighbouring words the threads are dealt.
    pub addresses: u32,
    /// How many threads.
    pub threads: u32,
    /// Samples, session by session.
    pub per_second: Vec<Vec<f64>>,
}

impl Price {
    /// What tells it from the others.
    pub fn key(&self) -> (Operation, Scalar, Old, u32) {
        (self.operation, self.scalar, self.old, self.addresses)
    }
}

impl Prices {
    /// Its file, from the repository's root.
    pub const FILE: &str = "verification/native_or_cas_prices.yaml";

    /// SHA-256 over everything but `digest` itself.
    pub fn compute_digest(&self) -> String {
        let bare = Prices { digest: String::new(), ..self.clone() };
        sha256(serde_json::to_string(&bare).unwrap_or_default().as_bytes())
    }

    /// What is wrong with it. Empty if nothing is.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.schema != SCHEMA {
            faults.push(format!("its schema is {}, this program reads {SCHEMA}", self.schema));
        }
        if self.digest != self.compute_digest() {
            faults.push("its digest does not match its content: it was edited after it was made".to_owned());
        }
        if self.sessions.len() < SESSIONS {
            faults.push(format!("{} sessions of {SESSIONS}", self.sessions.len()));
        }
        let mut seen = BTreeSet::new();
        for price in &self.prices {
            let (operation, scalar, old, addresses) = price.key();
            let name = format!("{operation} {scalar}, old value {old}, at {addresses} addresses");
            if !seen.insert(price.key()) {
                faults.push(format!("{name} stands there twice"));
            }
            let whole = price.per_second.len() == self.sessions.len()
                && price.per_second.iter().all(|samples| !samples.is_empty())
                && price.per_second.iter().flatten().all(|rate| rate.is_finite() && *rate > 0.0);
            if !whole {
                faults.push(format!("{name} lacks samples in some session"));
            }
        }
        faults
    }
}
