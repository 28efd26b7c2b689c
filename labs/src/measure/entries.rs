//! What a case enters besides times: counts, numbers that differ by nature, tries.

use labs_record::figure::{Coordinate, Figure, Kind, Samples, Unit};

use super::Bench;
use crate::lab::Case;

impl Bench<'_> {
    /// Enters a count: the same in every sample.
    pub fn exact(&mut self, name: &str, case: &Case, at: &[(&str, Coordinate)], value: u64) {
        let figure = self.figure(name, case, at, Unit::Count, Kind::Exact, vec![value as f64]);
        self.findings.figures.push(figure);
    }

    /// Enters numbers that differ from run to run by nature.
    pub fn spread(
        &mut self,
        name: &str,
        case: &Case,
        at: &[(&str, Coordinate)],
        unit: Unit,
        values: Vec<f64>,
    ) {
        let figure = self.figure(name, case, at, unit, Kind::Spread, values);
        self.findings.figures.push(figure);
    }

    /// Enters how often something was seen in tries that could have shown it.
    pub fn observation(&mut self, name: &str, case: &Case, at: &[(&str, Coordinate)], seen: u64, of: u64) {
        let mut figure = self.figure(name, case, at, Unit::One, Kind::Observation, Vec::new());
        figure.samples = vec![Samples::Tries { seen, of }];
        self.findings.figures.push(figure);
    }

    pub(super) fn figure(
        &self,
        name: &str,
        case: &Case,
        at: &[(&str, Coordinate)],
        unit: Unit,
        kind: Kind,
        values: Vec<f64>,
    ) -> Figure {
        let mut place = case.at.clone();
        place.extend(at.iter().map(|(axis, place)| ((*axis).to_owned(), place.clone())));
        Figure {
            name: name.to_owned(),
            variant: case.variant.map(|variant| variant.name.to_owned()),
            at: place,
            unit,
            kind,
            median: None,
            samples: vec![Samples::Numbers(values)],
            set_aside: Vec::new(),
        }
    }
}
