//! Claims: typed statements about figures, with a sentence for each way they can turn out.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::figure::{At, Coordinate};

/// A lab's claims: `verification/claims/dayNN_name.yaml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// [`SCHEMA`](crate::SCHEMA).
    pub schema: u32,
    /// The lab's stem.
    pub lab: String,
    /// The claims, in the order in which the page makes them.
    pub claims: Vec<Claim>,
}

/// One statement that measuring can confirm or refute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Name within the lab: `tree_beats_global`.
    pub id: String,
    /// Which claims of the source documents it tests: `G8`. New claims have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The statement itself, as a neutral sentence without a verdict.
    pub statement: String,
    /// Must it hold on every GPU (a count that is exact, say)?
    #[serde(default)]
    pub law: bool,
    /// The least compute capability it speaks of, `9.0`; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_compute_capability: Option<String>,
    /// What is compared, and with which threshold.
    pub predicate: Predicate,
    /// Figures a wording may name in braces, besides `{value}`, `{low}`, `{high}`, `{threshold}` and `{reason}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub show: BTreeMap<String, Quantity>,
    /// The sentence the page prints.
    pub wording: Wording,
}

/// A sentence for each verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wording {
    /// It holds, and why.
    pub holds: String,
    /// It does not, and why, or that the model does not explain it.
    pub fails: String,
    /// The sessions do not separate the two sides.
    pub too_close: String,
    /// The GPU lacks what it speaks of.
    pub not_applicable: String,
    /// There is no figure for it.
    pub not_measured: String,
}

impl Wording {
    /// The sentence for a verdict, its braces not yet filled.
    pub fn of(&self, verdict: Verdict) -> &str {
        match verdict {
            Verdict::Holds => &self.holds,
            Verdict::Fails => &self.fails,
            Verdict::TooClose => &self.too_close,
            Verdict::NotApplicable => &self.not_applicable,
            Verdict::NotMeasured => &self.not_measured,
        }
    }

    /// All five, for checks.
    pub fn all(&self) -> [&str; 5] {
        [&self.holds, &self.fails, &self.too_close, &self.not_applicable, &self.not_measured]
    }
}

/// How a claim turned out on one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// True, by all sessions.
    Holds,
    /// False, by all sessions.
    Fails,
    /// The sessions' medians lie on both sides of the threshold.
    TooClose,
    /// The GPU lacks what the claim speaks of.
    NotApplicable,
    /// The record has no figure for it.
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "fails",
            Verdict::TooClose => "too close",
            Verdict::NotApplicable => "not applicable",
            Verdict::NotMeasured => "not measured",
        })
    }
}

/// A figure by name; `at` names as many axes as it takes to single one out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureRef {
    /// The figure's name.
    pub figure: String,
    /// The variant; none for a property of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Axes and places.
    #[serde(default, skip_serializing_if = "At::is_empty")]
    pub at: At,
}

/// A figure, or one over another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    /// A figure as it is.
    Figure(FigureRef),
    /// `ratio: {of: .., to: ..}`, the first divided by the second.
    Ratio {
        /// Numerator and denominator.
        ratio: RatioOf,
    },
}

/// The two sides of a ratio.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatioOf {
    /// Numerator.
    pub of: FigureRef,
    /// Denominator.
    pub to: FigureRef,
}

/// What is compared with what.
///
/// A numeric predicate compares an interval, spanned by the sessions' medians, with a threshold: the claim
/// holds if the whole interval is on the right side, fails if none of it is, and is too close otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Predicate {
    /// `of` takes at most 1/`at_least` of the time of `than`.
    Faster {
        /// The one said to be fast (a duration).
        of: FigureRef,
        /// The one it is held against.
        than: FigureRef,
        /// Least ratio of the times.
        at_least: f64,
        /// Must hold at every place of this axis that both were measured at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        each: Option<String>,
    },
    /// A quantity is at least a threshold.
    AtLeast {
        /// What.
        of: Quantity,
        /// The threshold, in the quantity's unit.
        threshold: f64,
        /// Must hold at every place of this axis.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        each: Option<String>,
    },
    /// A quantity is at most a threshold.
    AtMost {
        /// What.
        of: Quantity,
        /// The threshold, in the quantity's unit.
        threshold: f64,
        /// Must hold at every place of this axis.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        each: Option<String>,
    },
    /// Two figures differ by at most `percent` of the second.
    Within {
        /// The one.
        of: FigureRef,
        /// The other.
        to: FigureRef,
        /// Largest difference, percent.
        percent: f64,
        /// Must hold at every place of this axis that both were measured at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        each: Option<String>,
    },
    /// Along an axis, the largest is at most `percent` above the smallest.
    Flat {
        /// What.
        of: Quantity,
        /// Which axis.
        along: String,
        /// Only places from here on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// Only places up to here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
        /// Largest difference, percent.
        percent: f64,
    },
    /// Along an axis, every place is above the one before, and the last is at least `factor` times the first.
    Rises {
        /// What.
        of: Quantity,
        /// Which axis.
        along: String,
        /// Only places from here on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// Only places up to here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
        /// Least ratio of last to first.
        factor: f64,
    },
    /// Along an axis, the quantity grows as its `exponent`-th power: least squares on logarithms.
    Scales {
        /// What.
        of: Quantity,
        /// Which axis.
        along: String,
        /// Only places from here on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// Only places up to here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
        /// The expected exponent.
        exponent: f64,
        /// Largest difference of the fitted exponent from it.
        tolerance: f64,
    },
    /// Exact figures: every sample of `of` equals every sample of `to`, or `number`.
    Equal {
        /// What.
        of: FigureRef,
        /// Another figure ..
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<FigureRef>,
        /// .. or a number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<f64>,
        /// Must hold at every place of this axis.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        each: Option<String>,
    },
    /// An observation was made at least once.
    Observed {
        /// The observation.
        of: FigureRef,
    },
    /// An observation was never made, in at least `tries` informative tries.
    NeverObserved {
        /// The observation.
        of: FigureRef,
        /// Fewest tries that say anything.
        tries: u64,
    },
    /// Every part holds.
    All {
        /// The parts.
        parts: Vec<Predicate>,
    },
}

/// A claim's outcome on one GPU, and the numbers it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How it turned out.
    pub verdict: Verdict,
    /// What was compared with the threshold: the place that decided, if there were several.
    pub value: Option<f64>,
    /// The interval of that over the sessions' medians.
    pub interval: Option<(f64, f64)>,
    /// The threshold.
    pub threshold: Option<f64>,
    /// Where on the axis of `each` the deciding value stands.
    pub place: Option<Coordinate>,
    /// Why it is not applicable or not measured.
    pub reason: Option<String>,
}

impl Finding {
    /// A finding without numbers.
    pub(crate) fn without_numbers(verdict: Verdict, reason: impl Into<String>) -> Finding {
        Finding {
            verdict,
            value: None,
            interval: None,
            threshold: None,
            place: None,
            reason: Some(reason.into()),
        }
    }
}
