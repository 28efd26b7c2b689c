//! A figure: one measured or counted quantity at one point of a lab's axes, with every raw sample.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::statistics::Summary;

/// What a number counts. The string is what records and CSV carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// 10^9 bytes a second.
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
    /// Events a second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// SM clock cycles.
    #[serde(rename = "cycles")]
    Cycles,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// A number of things, whole in every sample.
    #[serde(rename = "count")]
    Count,
    /// A pure number.
    #[serde(rename = "1")]
    One,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Nanoseconds => "ns",
            Unit::GigabytesPerSecond => "GB/s",
            Unit::PerSecond => "1/s",
            Unit::Cycles => "cycles",
            Unit::Bytes => "B",
            Unit::Count => "count",
            Unit::One => "1",
        })
    }
}

/// How a figure behaves from sample to sample, and so how it may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A time, a rate made from one, or a ratio of counts over a fixed time: the sessions' medians agree within
    /// [`AGREEMENT`](crate::statistics::AGREEMENT), else it is noisy and shown as a range.
    Duration,
    /// Every sample is the same number.
    Exact,
    /// Seen in k of n informative tries.
    Observation,
    /// A number that differs from run to run by nature (a rounding error, say): always shown as a range.
    Spread,
}

/// A position on one axis of a lab.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Coordinate {
    /// A size, a number of addresses, a stride in bytes.
    Number(u64),
    /// A named setting: `cold`, `random`.
    Text(String),
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Coordinate::Number(number) => write!(f, "{number}"),
            Coordinate::Text(text) => f.write_str(text),
        }
    }
}

impl From<u64> for Coordinate {
    fn from(number: u64) -> Self {
        Coordinate::Number(number)
    }
}

impl From<&str> for Coordinate {
    fn from(text: &str) -> Self {
        Coordinate::Text(text.to_owned())
    }
}

/// A point on a lab's axes, by axis name.
pub type At = BTreeMap<String, Coordinate>;

/// The samples of one session.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// One number a sample, in the figure's unit.
    Numbers(Vec<f64>),
    /// An observation's count.
    Tries {
        /// In how many tries it was seen.
        seen: u64,
        /// How many tries could have shown it.
        of: u64,
    },
}

/// Samples that were taken and not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetAside {
    /// Index of the session, over all sittings.
    pub session: usize,
    /// How many samples.
    pub count: u64,
    /// Why: `the SM clock fell below 95 % of the session's median`, say.
    pub reason: String,
}

/// One quantity at one point, with its raw samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Which quantity: `time`, `throughput`, `global_atomics`.
    pub name: String,
    /// Which variant it is about; none for a property of the machine (`launch_floor`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Where on the axes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: At,
    /// Unit of every sample.
    pub unit: Unit,
    /// How it behaves.
    pub kind: Kind,
    /// For people who read the file: recomputed by every check, and refused if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// Raw samples, session by session.
    #[serde(with = "text")]
    pub samples: Vec<Samples>,
    /// What was measured and left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<SetAside>,
}

impl Figure {
    /// Statistics over the samples; none if there is no number among them.
    pub fn summary(&self) -> Option<Summary> {
        let sessions: Vec<Vec<f64>> = self
            .samples
            .iter()
            .map(|samples| match samples {
                Samples::Numbers(numbers) => numbers.clone(),
                Samples::Tries { seen, of } if *of > 0 => vec![*seen as f64 / *of as f64],
                Samples::Tries { .. } => Vec::new(),
            })
            .collect();
        Summary::of(&sessions)
    }

    /// An observation's count over all sessions: seen, tries.
    pub fn tries(&self) -> Option<(u64, u64)> {
        let mut total = (0, 0);
        for samples in &self.samples {
            let Samples::Tries { seen, of } = samples else { return None };
            total = (total.0 + seen, total.1 + of);
        }
        Some(total)
    }

    /// `time of block_tree at cache=cold, size=4096`, for messages.
    pub fn describe(&self) -> String {
        describe(&self.name, self.variant.as_deref(), &self.at)
    }
}

/// Names a figure for a message.
pub(crate) fn describe(name: &str, variant: Option<&str>, at: &At) -> String {
    let mut text = name.to_owned();
    if let Some(variant) = variant {
        text += &format!(" of {variant}");
    }
    if !at.is_empty() {
        let places: Vec<String> = at.iter().map(|(axis, place)| format!("{axis}={place}")).collect();
        text += &format!(" at {}", places.join(", "));
    }
    text
}

/// Samples as one line of text a session, so that a record is read and compared line by line:
/// numbers apart by spaces, an observation as `seen/tries`.
mod text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::Samples;

    pub(super) fn serialize<S: Serializer>(sessions: &[Samples], serializer: S) -> Result<S::Ok, S::Error> {
        let lines: Vec<String> = sessions
            .iter()
            .map(|samples| match samples {
                Samples::Numbers(numbers) => {
                    numbers.iter().map(|number| short(*number)).collect::<Vec<_>>().join(" ")
                }
                Samples::Tries { seen, of } => format!("{seen}/{of}"),
            })
            .collect();
        lines.serialize(serializer)
    }

    /// The shortest text that reads back as the same number; tiny ones with an exponent.
    fn short(number: f64) -> String {
        if number != 0.0 && number.abs() < 1e-3 { format!("{number:e}") } else { number.to_string() }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Samples>, D::Error> {
        // A session of one sample may stand unquoted.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Line {
            Text(String),
            Number(f64),
        }
        Vec::<Line>::deserialize(deserializer)?
            .into_iter()
            .map(|line| match line {
                Line::Text(line) => parse(&line).map_err(D::Error::custom),
                Line::Number(number) if number.is_finite() => Ok(Samples::Numbers(vec![number])),
                Line::Number(number) => {
                    Err(D::Error::custom(format!("sample `{number}` is not a finite number")))
                }
            })
            .collect()
    }

    fn parse(line: &str) -> Result<Samples, String> {
        if let Some((seen, of)) = line.split_once('/') {
            let whole = |text: &str| {
                text.trim().parse::<u64>().map_err(|_| format!("`{line}` is not a count `seen/tries`"))
            };
            let (seen, of) = (whole(seen)?, whole(of)?);
            if seen > of {
                return Err(format!("`{line}`: seen more often than tried"));
            }
            return Ok(Samples::Tries { seen, of });
        }
        let numbers: Result<Vec<f64>, String> = line
            .split_whitespace()
            .map(|word| match word.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(number),
                _ => Err(format!("sample `{word}` is not a finite number")),
            })
            .collect();
        Ok(Samples::Numbers(numbers?))
    }
}
