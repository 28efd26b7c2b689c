//! What a lab prints: tables for people, JSON and CSV for programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, TableStyle, presets};
use labs_record::figure::{Figure, Samples, Unit};
use labs_record::manifest::LabEntry;
use labs_record::record::{Check, Outcome, Record};
use labs_record::table::{EMPTY, Table, by_place, coordinate, pivot};
use labs_record::{Claims, Evidence, units, wording};

use crate::cli::Format;
use crate::lab::{Lab, TableOf, Word};

/// Lines above, below and under the head.
const STYLE: TableStyle = presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none());

/// A table that fits the terminal; the first column is text, the others are numbers.
pub fn table(table: &Table) -> String {
    let mut drawn = drawing(&table.columns, &table.rows);
    for column in drawn.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    drawn.to_string()
}

/// A table whose cells are words.
pub fn words(columns: &[&str], rows: &[Vec<String>]) -> String {
    drawing(columns, rows).to_string()
}

fn drawing<T: ToString>(columns: &[T], rows: &[Vec<String>]) -> comfy_table::Table {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    drawn.set_header(columns.iter().map(ToString::to_string));
    drawn.add_rows(rows);
    drawn
}

/// A record's figures as tables for the terminal, name by name.
pub fn figures(record: &Record, lab: &dyn Lab, entry: &LabEntry) -> String {
    let names: Vec<&str> = entry.figures.iter().map(|declared| declared.name.as_str()).collect();
    named_figures(&entry.with_derived(&record.figures), &names, lab, entry)
}

/// The figures of these names as tables for the terminal.
pub fn named_figures(all: &[Figure], names: &[&str], lab: &dyn Lab, entry: &LabEntry) -> String {
    let mut text = String::new();
    for declared in entry.figures.iter().filter(|declared| names.contains(&declared.name.as_str())) {
        let named = all.iter().filter(|figure| figure.name == declared.name);
        let tables: BTreeSet<TableOf> = named.map(|figure| lab.table(&figure.at)).collect();
        for table in &tables {
            text += &section(all, lab, declared.name.as_str(), &declared.means, table);
        }
    }
    text
}

fn section(all: &[Figure], lab: &dyn Lab, name: &str, means: &str, of: &TableOf) -> String {
    let places: Vec<String> = of.shared.values().map(coordinate).collect();
    let title = std::iter::once(name.replace('_', " ")).chain(places).collect::<Vec<_>>().join(", ");
    let (chosen, columns) = columns(all, lab, name, of);
    if columns.is_empty() {
        let cells: Vec<String> = chosen.iter().map(labs_record::table::cell).collect();
        return format!("{title}: {}  ({means})\n\n", cells.join(", "));
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let drawn = table(&pivot(&chosen, name, of.rows, &columns, &of.shared).for_terminal());
    format!("{title}  ({means})\n{drawn}\n\n")
}

/// The figures of one table, named by its columns, and the columns in order: variants, peers, or places.
pub(crate) fn columns(all: &[Figure], lab: &dyn Lab, name: &str, of: &TableOf) -> (Vec<Figure>, Vec<String>) {
    let here = |figure: &&Figure| {
        figure.name == name && of.shared.iter().all(|(axis, place)| figure.at.get(axis) == Some(place))
    };
    let mut chosen: Vec<Figure> = all.iter().filter(here).cloned().collect();
    let mut columns = match of.columns {
        Some(axis) => by_place(&mut chosen, axis),
        None => lab.variants().iter().map(|variant| variant.name.to_owned()).collect(),
    };
    let has = |column: &String| chosen.iter().any(|figure| figure.variant.as_ref() == Some(column));
    columns.retain(has);
    for peer in chosen.iter().filter_map(|figure| figure.variant.as_ref()) {
        if !columns.contains(peer) {
            columns.push(peer.clone());
        }
    }
    (chosen, columns)
}

/// What a lab says of cases without running them: a table for each of its figures' tables, and of a case that stands
/// alone the reason too.
///
/// # Errors
/// None that a lab can cause.
pub fn derived(lab: &dyn Lab, said: &[Word], format: Format) -> Result<String> {
    match format {
        Format::Json => return Ok(serde_json::to_string_pretty(said)? + "\n"),
        Format::Csv => return derived_csv(lab, said),
        Format::Table => {}
    }
    let mut text = String::new();
    let tables: BTreeSet<TableOf> = said.iter().map(|word| lab.table(&word.at)).collect();
    for of in &tables {
        let here = |word: &&Word| lab.table(&word.at) == *of;
        let place = |word: &Word| word.at.get(of.rows).map(ToString::to_string).unwrap_or_default();
        let mut columns: Vec<String> = Vec::new();
        for word in said.iter().filter(here) {
            if !columns.contains(&place(word)) {
                columns.push(place(word));
            }
        }
        let rows = lab.variants().iter().filter_map(|variant| {
            let of_it: Vec<&Word> =
                said.iter().filter(here).filter(|word| word.variant == variant.name).collect();
            let cell = |column: &String| {
                let word = of_it.iter().find(|word| place(word) == *column);
                word.map_or(EMPTY.to_owned(), |word| word.word.clone())
            };
            let cells = || std::iter::once(variant.name.to_owned()).chain(columns.iter().map(cell)).collect();
            (!of_it.is_empty()).then(cells)
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let shared: Vec<String> = of.shared.values().map(coordinate).collect();
        let head: Vec<&str> = std::iter::once("").chain(columns.iter().map(String::as_str)).collect();
        let _ = writeln!(text, "{}  (what the model says)\n{}\n", shared.join(", "), words(&head, &rows));
    }
    if let [only] = said {
        let _ = writeln!(text, "{}\n", only.reason);
    }
    Ok(text)
}

fn derived_csv(lab: &dyn Lab, said: &[Word]) -> Result<String> {
    let axes = lab.axes();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = axes.iter().map(|axis| axis.name);
    writer.write_record(["lab", "variant"].into_iter().chain(names).chain(["word"]))?;
    for word in said {
        let places =
            axes.iter().map(|axis| word.at.get(axis.name).map(ToString::to_string).unwrap_or_default());
        let lead = [lab.stem().to_owned(), word.variant.clone()];
        writer.write_record(lead.into_iter().chain(places).chain([word.word.clone()]))?;
    }
    let bytes = writer.into_inner().context("cannot finish the CSV")?;
    String::from_utf8(bytes).context("the CSV is not UTF-8")
}

/// What each kernel takes of an SM.
pub fn resources(record: &Record) -> String {
    let rows: Vec<Vec<String>> = record
        .variants
        .iter()
        .flat_map(|variant| &variant.kernels)
        .map(|kernel| {
            let bytes = |bytes: u32| units::quantity(f64::from(bytes), Unit::Bytes).unwrap_or_default();
            vec![
                kernel.name.clone(),
                kernel.registers.to_string(),
                bytes(kernel.shared_bytes),
                bytes(kernel.local_bytes),
                kernel.blocks_per_sm.to_string(),
                units::percent(kernel.occupancy).unwrap_or_default(),
            ]
        })
        .collect();
    let heads =
        ["kernel", "registers a thread", "shared a block", "local a thread", "blocks an SM", "occupancy"];
    let columns = heads.map(str::to_owned).to_vec();
    format!("what a kernel takes of an SM\n{}\n\n", table(&Table { columns, rows }))
}

/// The claims and how they turned out here.
pub fn claims(claims: &Claims, record: &Record, entry: &LabEntry) -> Result<String> {
    let figures = entry.with_derived(&record.figures);
    let evidence = Evidence { gpu: &record.gpu, figures: &figures, absent: &record.absent };
    let mut rows = Vec::new();
    for claim in &claims.claims {
        let finding = evidence.judge(claim);
        let sentence = wording::sentence(claim, &finding, &evidence).map_err(anyhow::Error::msg)?;
        rows.push(vec![claim.id.clone(), finding.verdict.to_string(), sentence]);
    }
    Ok(words(&["claim", "verdict (draft)", "in this run"], &rows))
}

/// What the checks said, where it is not what the variants declare, or where a wrong variant was caught.
pub fn checks(record: &Record, refusals: &[(String, String)]) -> String {
    let mut text = String::new();
    for variant in &record.variants {
        let reason = refusals.iter().find(|(name, _)| *name == variant.name).map_or("", |(_, reason)| reason);
        let line = match (variant.declared, variant.check) {
            (Outcome::Correct, Check::Passed) => continue,
            (Outcome::Correct, Check::Refused) => format!("WRONG RESULT: {}: {reason}", variant.name),
            (Outcome::Undefined, Check::Passed) => {
                format!("{} is wrong on purpose; here its results came out right", variant.name)
            }
            (Outcome::Undefined, Check::Refused) => {
                format!("{} is wrong on purpose, and it showed: {reason}", variant.name)
            }
            (Outcome::Wrong, Check::Refused) => {
                format!("{} is wrong on purpose, and was caught: {reason}", variant.name)
            }
            (Outcome::Wrong, Check::Passed) => {
                format!("NOT CAUGHT: {} is wrong on purpose, and its check passed", variant.name)
            }
        };
        let _ = writeln!(text, "{line}");
    }
    text
}

/// What was measured and not kept, and why.
pub fn set_aside(record: &Record) -> String {
    let mut counts: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for aside in record.figures.iter().flat_map(|figure| &figure.set_aside) {
        let (figures, samples) = counts.entry(&aside.reason).or_default();
        *figures += 1;
        *samples += aside.count;
    }
    let line = |(reason, (figures, samples)): (&&str, &(usize, u64))| {
        format!("set aside: {samples} samples of {figures} figures: {reason}\n")
    };
    counts.iter().map(line).collect()
}

/// Whether every variant's outcome is the one it declares.
pub fn as_declared(record: &Record) -> bool {
    record.variants.iter().all(|variant| {
        matches!(
            (variant.declared, variant.check),
            (Outcome::Correct, Check::Passed) | (Outcome::Wrong, Check::Refused) | (Outcome::Undefined, _)
        )
    })
}

/// One line a figure and session: lab, gpu, figure, variant, axes, unit, session, statistics, samples.
pub fn csv(record: &Record, entry: &LabEntry) -> Result<String> {
    let figures = entry.with_derived(&record.figures);
    let axes: BTreeSet<&str> =
        figures.iter().flat_map(|figure| figure.at.keys().map(String::as_str)).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let head = ["lab", "gpu", "figure", "variant"];
    writer.write_record(
        head.into_iter().chain(axes.iter().copied()).chain(["unit", "session", "median", "samples"]),
    )?;
    for figure in &figures {
        for (session, samples) in figure.samples.iter().enumerate() {
            let mut row = vec![record.lab.clone(), record.gpu.name.clone(), figure.name.clone()];
            row.push(figure.variant.clone().unwrap_or_default());
            row.extend(
                axes.iter().map(|axis| figure.at.get(*axis).map(ToString::to_string).unwrap_or_default()),
            );
            let (median, text) = match samples {
                Samples::Numbers(numbers) => (
                    labs_record::statistics::median(numbers).map(|m| m.to_string()).unwrap_or_default(),
                    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
                ),
                Samples::Tries { seen, of } => (String::new(), format!("{seen}/{of}")),
            };
            row.extend([figure.unit.to_string(), session.to_string(), median, text]);
            writer.write_record(&row)?;
        }
    }
    let bytes = writer.into_inner().context("cannot finish the CSV")?;
    String::from_utf8(bytes).context("the CSV is not UTF-8")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use labs_record::figure::SetAside;
    use labs_record::store;

    use super::*;

    #[test]
    fn what_was_set_aside_is_told_by_its_reason() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let path = checkout.join("verification/nvidia-h200/day26_sum.yaml");
        let mut record = store::read_record(&path).unwrap();
        record.figures.iter_mut().for_each(|figure| figure.set_aside.clear());
        assert_eq!(set_aside(&record), "");
        for figure in &mut record.figures[..2] {
            figure.set_aside = vec![SetAside { session: 0, count: 40, reason: "too hot".to_owned() }];
        }
        assert_eq!(set_aside(&record), "set aside: 80 samples of 2 figures: too hot\n");
    }
}
