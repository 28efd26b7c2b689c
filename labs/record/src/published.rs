//! Figures published elsewhere: `verification/published/`. They stand beside measured ones and never
//! in their place.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::record::{Absent, Gpu};

/// Figures for one lab that someone else measured and published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// [`SCHEMA`](crate::SCHEMA).
    pub schema: u32,
    /// The lab's stem.
    pub lab: String,
    /// The GPU as far as the source tells; the rest as published by its vendor.
    pub gpu: Gpu,
    /// Where the figures stand.
    pub source: Source,
    /// The figures: one sample each, the published number.
    pub figures: Vec<Figure>,
    /// What the source lacks, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
}

/// Where published figures come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Title of the document.
    pub title: String,
    /// Who published it, or `not stated`.
    pub publisher: String,
    /// When the figures were taken or published, or `not stated`.
    pub date: String,
    /// What the source says of its way of measuring.
    pub method: String,
}
