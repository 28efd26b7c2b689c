//! What a case leaves in memory, kept so that two runs of it can be compared with each other, and not only each with
//! the reference.

use anyhow::Result;
use labs_record::agreement::Difference;
use labs_record::figure::At;
use labs_record::record::sha256;
use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::lab::Case;
use crate::measure::Bench;

/// Values kept of a result that is compared bit for bit, to name the first that differs; its hash covers the rest.
const KEPT: usize = 256;

/// A result as it is read back.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// `unsigned int`
    U32(Vec<u32>),
    /// `unsigned long long`
    U64(Vec<u64>),
    /// `float`
    F32(Vec<f32>),
}

/// When two runs' results are the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Like {
    /// Bit for bit: integers, and floats whose sums are exact in any order.
    Bits,
    /// No value further from its counterpart than this part of the larger of the two: floats that are rounded in an order
    /// of their own. Say where the number comes from.
    Within(f64),
}

/// A result that a case left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Left {
    /// The case's variant.
    pub variant: String,
    /// The case's place.
    pub at: At,
    /// What it is: `total`.
    pub name: String,
    /// When another run's is the same.
    pub like: Like,
    /// How a value's bits are read.
    element: Element,
    /// How many values there are.
    count: usize,
    /// SHA-256 over their bits, eight bytes a value.
    digest: String,
    /// The bits of the first values, of all of them where they are compared with a tolerance.
    bits: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Element {
    U32,
    U64,
    F32,
}

impl Bench<'_> {
    /// Keeps a result of a case whose work has just run, for comparison with another run's. Call it after
    /// [`passes`](Bench::passes). What has no order of its own, say the elements of a compaction, is sorted by `read`.
    /// Nothing is read in a session that takes times.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn result(
        &mut self,
        name: &str,
        case: &Case,
        like: Like,
        read: impl FnOnce(&mut dyn Backend) -> Result<Values>,
    ) -> Result<()> {
        let Some(variant) = case.variant.filter(|_| !self.timing) else { return Ok(()) };
        let values = read(self.backend)?;
        self.findings.results.push(Left::new(variant.name, &case.at, name, like, &values));
        Ok(())
    }
}

impl Left {
    /// A result of a variant at a place.
    pub fn new(variant: &str, at: &At, name: &str, like: Like, values: &Values) -> Left {
        let (element, mut bits): (_, Vec<u64>) = match values {
            Values::U32(values) => (Element::U32, values.iter().map(|value| u64::from(*value)).collect()),
            Values::U64(values) => (Element::U64, values.clone()),
            Values::F32(values) => {
                (Element::F32, values.iter().map(|value| u64::from(value.to_bits())).collect())
            }
        };
        let bytes: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        let count = bits.len();
        if like == Like::Bits {
            bits.truncate(KEPT);
        }
        Left {
            variant: variant.to_owned(),
            at: at.clone(),
            name: name.to_owned(),
            like,
            element,
            count,
            digest: sha256(&bytes),
            bits,
        }
    }

    /// Whether the two are results of the same name, variant and place.
    pub fn is_counterpart_of(&self, other: &Left) -> bool {
        self.variant == other.variant && self.at == other.at && self.name == other.name
    }

    /// How a GPU's result differs from the simulator's; none if they are the same.
    pub fn difference(&self, simulated: &Left) -> Option<Difference> {
        let words = |hardware, simulator| Some(Difference { hardware, simulator });
        // Not the tolerance itself: a number may lose its last bit on its way from the child process.
        let kind = |left: &Left| (left.element, left.count, std::mem::discriminant(&left.like));
        if kind(self) != kind(simulated) {
            return words(self.shape(), simulated.shape());
        }
        let mut pairs = self.bits.iter().zip(&simulated.bits);
        if let Some(place) = pairs.position(|(a, b)| !simulated.same(*a, *b)) {
            return words(self.value(place), simulated.value(place));
        }
        if self.like == Like::Bits && self.digest != simulated.digest {
            let hash = |left: &Left| format!("past the first {KEPT} values, SHA-256 {}", left.digest);
            return words(hash(self), hash(simulated));
        }
        None
    }

    fn shape(&self) -> String {
        let like = match self.like {
            Like::Bits => "compared bit for bit".to_owned(),
            Like::Within(part) => format!("compared within {part:e}"),
        };
        format!("{} values of {:?}, {like}", self.count, self.element)
    }

    fn value(&self, place: usize) -> String {
        let bits = self.bits.get(place).copied().unwrap_or_default();
        let text = match self.element {
            Element::F32 => f32::from_bits(bits as u32).to_string(),
            Element::U32 | Element::U64 => bits.to_string(),
        };
        if self.count == 1 { text } else { format!("value {place} is {text}") }
    }

    fn same(&self, a: u64, b: u64) -> bool {
        let Like::Within(part) = self.like else { return a == b };
        let (x, y) = (self.number(a), self.number(b));
        // Infinities and NaNs are near nothing but themselves.
        a == b || (x.is_finite() && y.is_finite() && (x - y).abs() <= part * x.abs().max(y.abs()))
    }

    fn number(&self, bits: u64) -> f64 {
        match self.element {
            Element::F32 => f64::from(f32::from_bits(bits as u32)),
            Element::U32 | Element::U64 => bits as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(like: Like, values: Values) -> Left {
        Left::new("v", &At::new(), "total", like, &values)
    }

    fn floats(like: Like, values: &[f32]) -> Left {
        left(like, Values::F32(values.to_vec()))
    }

    #[test]
    fn bits_must_be_equal() {
        let one = floats(Like::Bits, &[1.0, 2.0]);
        assert_eq!(one.difference(&one), None);
        let other = one.difference(&floats(Like::Bits, &[1.0, 2.0_f32.next_up()])).unwrap();
        assert_eq!(
            (other.hardware.as_str(), other.simulator.as_str()),
            ("value 1 is 2", "value 1 is 2.0000002")
        );
        assert!(floats(Like::Bits, &[0.0]).difference(&floats(Like::Bits, &[-0.0])).is_some());
        let words = left(Like::Bits, Values::U32(vec![1]));
        assert!(words.difference(&left(Like::Bits, Values::U64(vec![1]))).is_some(), "another type");
        assert!(words.difference(&left(Like::Bits, Values::U32(vec![1, 1]))).is_some(), "another length");
    }

    #[test]
    fn a_difference_past_what_is_kept_shows_in_the_hash() {
        let values = |last: u32| left(Like::Bits, Values::U32((0..1_000).chain([last]).collect()));
        assert_eq!(values(7).difference(&values(7)), None);
        assert!(values(7).difference(&values(8)).unwrap().hardware.contains("past the first 256 values"));
    }

    #[test]
    fn a_tolerance_is_a_part_of_the_larger_value_and_reaches_every_value() {
        let like = Like::Within(0.01);
        assert_eq!(floats(like, &[100.0, -1.0]).difference(&floats(like, &[99.5, -1.009])), None);
        assert!(floats(like, &[100.0]).difference(&floats(like, &[98.0])).is_some());
        assert!(floats(like, &[100.0]).difference(&floats(like, &[f32::NAN])).is_some());
        assert_eq!(floats(like, &[f32::INFINITY]).difference(&floats(like, &[f32::INFINITY])), None);
        assert!(floats(like, &[f32::INFINITY]).difference(&floats(like, &[1.0])).is_some());
        let late = |last: f32| floats(like, &[vec![1.0; 1_000], vec![last]].concat());
        assert!(late(1.0).difference(&late(2.0)).is_some());
    }
}
