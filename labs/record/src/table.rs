//! Tables of figures, as text cells: the terminal and the page print the same ones.

use std::collections::BTreeSet;

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

/// Most places that a terminal shows side by side.
const ACROSS: usize = 9;

impl Table {
    /// As a terminal shows it: the first column's names across the top if they are few, else down the side.
    pub fn for_terminal(&self) -> Table {
        if self.rows.len() > ACROSS { self.clone() } else { self.transposed() }
    }

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

/// Makes places on `axis` the columns of [`pivot`]: each figure is named by its place in its variant's stead, or by
/// both where there are several variants. Gives the new names in order.
pub fn by_place(figures: &mut Vec<Figure>, axis: &str) -> Vec<String> {
    figures.retain(|figure| figure.at.contains_key(axis));
    let several = figures.windows(2).any(|pair| pair[0].variant != pair[1].variant);
    let mut names = BTreeSet::new();
    for figure in figures {
        let Some(place) = figure.at.get(axis) else { continue };
        let variant = figure.variant.clone().unwrap_or_default();
        let mut name = format!("{axis} {}", coordinate(place));
        if several {
            name = format!("{variant}, {name}");
        }
        names.insert((variant, place.clone(), name.clone()));
        figure.variant = Some(name);
    }
    names.into_iter().map(|(.., name)| name).collect()
}

/// A place on an axis for people: numbers with commas.
pub fn coordinate(place: &Coordinate) -> String {
    match place {
        Coordinate::Number(number) => units::count(*number as f64),
        Coordinate::Text(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Samples, Unit};

    fn figure(variant: &str, size: u64, stride: u64, value: f64) -> Figure {
        Figure {
            name: "time".to_owned(),
            variant: Some(variant.to_owned()),
            at: At::from([("size".to_owned(), size.into()), ("stride".to_owned(), stride.into())]),
            unit: Unit::Count,
            kind: Kind::Exact,
            median: None,
            samples: vec![Samples::Numbers(vec![value])],
            set_aside: Vec::new(),
        }
    }

    #[test]
    fn places_become_columns_in_the_order_of_places() {
        let mut figures = vec![figure("a", 1, 128, 3.0), figure("a", 1, 32, 2.0), figure("a", 2, 32, 5.0)];
        let columns = by_place(&mut figures, "stride");
        assert_eq!(columns, ["stride 32", "stride 128"]);
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let table = pivot(&figures, "time", "size", &names, &At::new());
        assert_eq!(table.columns, ["size", "stride 32", "stride 128"]);
        assert_eq!(table.rows, [["1", "2", "3"], ["2", "5", EMPTY]]);
    }

    #[test]
    fn places_of_several_variants_are_named_with_them() {
        let mut figures = vec![figure("b", 1, 4, 1.0), figure("a", 1, 4, 2.0)];
        figures[0].at.remove("size");
        assert_eq!(by_place(&mut figures.clone(), "stride"), ["a, stride 4", "b, stride 4"]);
        assert_eq!(by_place(&mut figures, "size"), ["size 1"], "without a place there is no column");
        assert_eq!(figures.len(), 1);
    }

    #[test]
    fn a_terminal_has_many_places_down_its_side() {
        let table = |rows: usize| Table {
            columns: vec!["size".to_owned(), "a".to_owned()],
            rows: vec![vec!["1".to_owned(), "2".to_owned()]; rows],
        };
        assert_eq!(table(ACROSS).for_terminal().rows.len(), 1);
        assert_eq!(table(ACROSS + 1).for_terminal(), table(ACROSS + 1));
    }
}
