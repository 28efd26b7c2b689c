//! Tables of figures, as text cells: the terminal and the page print the same ones.

use crate::figure::{At, Coordinate, Figure, Kind};
use crate::units;

/// A table: a head and rows of cells. The first column names the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Head, first column included.
    pub columns: Vec<String>,
    /// Rows, each as long as the head.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Rows become columns: for a terminal, where many variants are too wide.
    pub fn transposed(&self) -> Table {
        let column = |place: usize| self.rows.iter().map(move |row| row[place].clone());
        let head = |place: usize| self.columns[place].clone();
        let whole = |place: usize| std::iter::once(head(place)).chain(column(place)).collect::<Vec<String>>();
        let rows = (1..self.columns.len()).map(whole).collect();
        Table { columns: whole(0), rows }
    }
}

/// What stands in a cell without a figure.
pub const EMPTY: &str = "–";

/// A figure for people: its median; where sessions disagree or runs differ by nature, the range;
/// an observation as `k of n`, and `0 of n (under 3/n)`, the bound of the rule of three.
pub fn cell(figure: &Figure) -> String {
    if figure.kind == Kind::Observation {
        return match figure.tries() {
            Some((0, of)) if of > 0 => {
                format!("0 of {} (under {})", units::count(of as f64), units::three_digits(3.0 / of as f64))
            }
            Some((seen, of)) => format!("{} of {}", units::count(seen as f64), units::count(of as f64)),
            None => EMPTY.to_owned(),
        };
    }
    let Some(summary) = figure.summary() else { return EMPTY.to_owned() };
    let show = |value| units::quantity(value, figure.unit).unwrap_or_else(|| EMPTY.to_owned());
    let range = match figure.kind {
        Kind::Spread => Some(summary.extremes),
        Kind::Duration if summary.noisy() => Some(summary.session_range()),
        _ => None,
    };
    match range {
        Some((low, high)) if show(low) != show(high) => format!("{} to {}", show(low), show(high)),
        _ => show(summary.median),
    }
}

/// One figure name as a table: a row a place on `axis`, a column a variant, at fixed places on the other axes.
pub fn pivot(figures: &[Figure], name: &str, axis: &str, variants: &[&str], at: &At) -> Table {
    let chosen: Vec<&Figure> = figures
        .iter()
        .filter(|figure| figure.name == name)
        .filter(|figure| at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place)))
        .collect();
    let mut places: Vec<&Coordinate> = chosen.iter().filter_map(|figure| figure.at.get(axis)).collect();
    places.sort();
    places.dedup();
    let find = |place: &Coordinate, variant: &str| {
        chosen
            .iter()
            .find(|figure| figure.variant.as_deref() == Some(variant) && figure.at.get(axis) == Some(place))
    };
    let rows = places.iter().map(|place| {
        let cells = variants.iter().map(|v| find(place, v).map_or(EMPTY.to_owned(), |figure| cell(figure)));
        std::iter::once(coordinate(place)).chain(cells).collect()
    });
    let columns = std::iter::once(axis).chain(variants.iter().copied()).map(str::to_owned).collect();
    Table { columns, rows: rows.collect() }
}

/// A place on an axis for people: numbers with commas.
pub fn coordinate(place: &Coordinate) -> String {
    match place {
        Coordinate::Number(number) => units::count(*number as f64),
        Coordinate::Text(text) => text.clone(),
    }
}
