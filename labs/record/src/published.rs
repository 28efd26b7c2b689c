//! Figures published elsewhere: `verification/published/`. They stand beside measured ones and never
//! in their place.

use serde::{Deserialize, Serialize};

use crate::figure::{At, Figure};
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
    /// The figures: a sample for each run the source gives a number of, the published number.
    pub figures: Vec<Figure>,
    /// Places on axes that the source is silent on, at which its figures are held against a record's: this course's
    /// choice, with its reason in the file, and never shown as the source's word.
    #[serde(default, skip_serializing_if = "At::is_empty")]
    pub compared_at: At,
    /// What the source lacks, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
}

impl Published {
    /// The figures as they are compared: at [`compared_at`](Published::compared_at) where the source names no place.
    pub fn compared(&self) -> Vec<Figure> {
        let placed = |figure: &Figure| {
            let mut at = self.compared_at.clone();
            at.extend(figure.at.clone());
            Figure { at, ..figure.clone() }
        };
        self.figures.iter().map(placed).collect()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_the_source_names_stays() {
        let text = "schema: 1\nlab: l\ngpu: {name: G, compute_capability: '7.5', sms: 1, l2_bytes: 1, memory_bytes: 1, ecc: null}\n\
            source: {title: t, publisher: p, date: d, method: m}\ncompared_at: {layout: sequential, size: 8}\n\
            figures:\n- {name: time, variant: v, at: {size: 4}, unit: ns, kind: duration, median: 1.0, samples: ['1']}\n";
        let published: Published = serde_yaml::from_str(text).unwrap();
        let wanted = At::from([("layout".to_owned(), "sequential".into()), ("size".to_owned(), 4.into())]);
        assert_eq!(published.compared()[0].at, wanted);
        assert_eq!(published.figures[0].at.len(), 1);
    }
}
