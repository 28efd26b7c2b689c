//! `--plot`: a lab's figure along an axis, drawn as the book draws it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use labs_chart::{Series, Words};
use labs_record::figure::{At, Figure, Kind, Samples, Unit};
use labs_record::{store, table};

use crate::failure::usage;
use crate::lab::{Lab, TableOf};
use crate::print;

/// What is drawn, and from which numbers.
pub struct Plot<'a> {
    /// The figures of a run, among others those to draw.
    pub figures: &'a [Figure],
    /// The name of those.
    pub name: &'a str,
    /// Places they share.
    pub at: &'a At,
    /// Where they come from: `NVIDIA H200`.
    pub origin: &'a str,
}

/// Draws a figure of a lab into a file: a line a variant, along the rows of its first table that numbers lead along.
///
/// # Errors
/// There is nothing above zero along such an axis (usage); the file can't be written.
pub fn write(path: &Path, lab: &dyn Lab, plot: &Plot<'_>) -> Result<()> {
    let shown = |figure: &&Figure| {
        figure.name == plot.name && plot.at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place))
    };
    let figures: Vec<Figure> = plot.figures.iter().filter(shown).cloned().collect();
    let tables: BTreeSet<TableOf> = figures.iter().map(|figure| lab.table(&figure.at)).collect();
    let drawn = tables.iter().find_map(|of| Some((of, drawing(lab, plot, of, &figures)?)));
    let Some((of, svg)) = drawn else {
        return Err(usage(format!(
            "--plot: no `{}` above zero along an axis of numbers; choose other places, or leave --plot away",
            plot.name
        )));
    };
    store::write_text(path, &svg)?;
    if tables.len() > 1 {
        let places: Vec<String> = of.shared.iter().map(|(axis, place)| format!("{axis} {place}")).collect();
        anstream::eprintln!("plotted: {}; the options choose other places", places.join(", "));
    }
    Ok(())
}

/// The drawing of one table, where its rows are numbers.
fn drawing(lab: &dyn Lab, plot: &Plot<'_>, of: &TableOf, figures: &[Figure]) -> Option<String> {
    let (figures, columns) = print::columns(figures, lab, plot.name, of);
    let series: Vec<Series> = columns
        .into_iter()
        .map(|name| {
            let line = figures.iter().filter(|figure| figure.variant.as_ref() == Some(&name));
            Series { points: labs_chart::points(line, of.rows), name }
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let places: String =
        of.shared.iter().map(|(axis, place)| format!(", {axis} {}", table::coordinate(place))).collect();
    let name = plot.name.replace('_', " ");
    let title = format!("{name} along {}{places}, {}", of.rows, plot.origin);
    let words = Words {
        id: "labs",
        title: &title,
        axis: of.rows,
        figure: &name,
        unit: figures.first().map_or(Unit::One, |figure| figure.unit),
        numbers: "The numbers are those that the lab prints.",
    };
    labs_chart::file(&series, &[], &words)
}

/// Counts of the simulator as figures, to be drawn as such.
pub fn count(name: &str, variant: &str, at: &At, value: u64) -> Figure {
    Figure {
        name: name.to_owned(),
        variant: Some(variant.to_owned()),
        at: at.clone(),
        unit: Unit::Count,
        kind: Kind::Exact,
        median: None,
        samples: vec![Samples::Numbers(vec![value as f64])],
        set_aside: Vec::new(),
    }
}
