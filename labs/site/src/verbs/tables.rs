//! Tables of figures: measured, published elsewhere, and as the terminal prints them.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, presets};
use labs_record::At;
use labs_record::table::{Table, pivot};

use super::selection::{Selection, View, known_figure};
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};
use crate::tree::FiledRecord;

/// `table(figure=.., rows=.., <axis>=..)`: a row a place, a column a variant; or a place on the axis `columns=`.
pub(super) fn table(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let selection = Selection::read(arguments, "rows", "columns")?;
    known_figure(page.lab_entry(&lab)?, &selection.figure)?;
    let filed = match page.record(&lab) {
        Ok(filed) => filed,
        Err(why) => return Ok(missing_block(&why)),
    };
    let numbers = numbers(&measured(page, &lab, filed, &selection)?, &selection);
    Ok(figures_table(&title(page, &lab, &selection)?, &note(page, filed, &selection.at), &numbers))
}

/// What a selection takes from a record.
pub(super) fn measured<'a>(
    page: &Page,
    lab: &str,
    filed: &'a FiledRecord,
    selection: &Selection,
) -> Result<View<'a>, String> {
    let order: Vec<&str> = page.lab_entry(lab)?.variants.iter().map(|entry| entry.name.as_str()).collect();
    selection.view(&filed.figures, &order, &filed.record.absent)
}

/// The numbers of a view as a table.
pub(super) fn numbers(view: &View, selection: &Selection) -> Table {
    let columns: Vec<&str> = view.columns.iter().map(String::as_str).collect();
    pivot(&view.figures, &selection.figure, &selection.axis, &columns, &selection.at)
}

/// The caption, else what the manifest says the figure means.
pub(super) fn title(page: &Page, lab: &str, selection: &Selection) -> Result<String, String> {
    let means = || {
        let entry = page.lab_entry(lab).ok()?.figures.iter().find(|entry| entry.name == selection.figure)?;
        Some(entry.means.clone())
    };
    Ok(html::with_code(&selection.caption.clone().or_else(means).unwrap_or_else(|| selection.figure.clone())))
}

/// Where the numbers come from and under which conditions, under a caption.
pub(super) fn note(page: &Page, filed: &FiledRecord, at: &At) -> String {
    let provenance = page.provenance(filed);
    let mut parts: Vec<String> = conditions(at);
    parts.push(html::escape(&provenance.origin));
    if provenance.draft {
        parts.push("<strong class=\"draft-mark\">draft, not verified</strong>".to_owned());
    }
    parts.join(" · ")
}

fn conditions(at: &At) -> Vec<String> {
    at.iter()
        .map(|(axis, place)| html::escape(&format!("{axis}: {}", labs_record::table::coordinate(place))))
        .collect()
}

/// A table of figures as HTML: the head in code type, for it holds names.
pub(super) fn figures_table(caption: &str, note: &str, table: &Table) -> String {
    let columns: Vec<String> = table
        .columns
        .iter()
        .enumerate()
        .map(|(place, name)| match place {
            0 => html::escape(name),
            _ => format!("<code>{}</code>", breakable(name)),
        })
        .collect();
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|cell| html::escape(cell)).collect()).collect();
    html::table(caption, note, &columns, &rows)
}

/// A name that may be broken after an underscore, so that columns stay narrow.
pub(super) fn breakable(name: &str) -> String {
    html::escape(name).replace('_', "_<wbr>")
}

/// `published(gpu=.., figure=.., rows=..)`: figures from elsewhere, named as such.
pub(super) fn published(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = match arguments.text("lab")?.or_else(|| page.lab.clone()) {
        Some(lab) => lab,
        None => return Err("this page is no lab's chapter: name one with `lab=`".to_owned()),
    };
    let gpu = arguments.need("gpu")?;
    let selection = Selection::read(arguments, "rows", "columns")?;
    let found = page.tree.published_figures(&lab, &gpu)?;
    let entry = page.tree.manifest.labs.get(&lab);
    let order: Vec<&str> = entry
        .map_or_else(Vec::new, |entry| entry.variants.iter().map(|variant| variant.name.as_str()).collect());
    let with_derived =
        entry.map_or_else(|| found.figures.clone(), |entry| entry.with_derived(&found.figures));
    let view = selection.view(&with_derived, &order, &found.absent)?;
    let source = &found.source;
    let caption = selection.caption.clone().unwrap_or_else(|| format!("{}, as published", found.gpu.name));
    let mut note = conditions(&selection.at);
    note.push(html::escape(&format!("published, not measured here: {}", found.gpu.name)));
    note.push(html::escape(&format!("{} ({}, {})", source.title, source.publisher, source.date)));
    let table = figures_table(&html::with_code(&caption), &note.join(" · "), &numbers(&view, &selection));
    Ok(format!(
        "<div class=\"published\">{table}<details><summary>How the source measured</summary><p>{}</p></details></div>",
        html::escape(&source.method)
    ))
}

/// `output(figure=.., rows=..)`: the record's command and a table of it, as the terminal shows it.
pub(super) fn output(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let selection = Selection::read(arguments, "rows", "columns")?;
    let entry = page.lab_entry(&lab)?;
    known_figure(entry, &selection.figure)?;
    let filed = match page.record(&lab) {
        Ok(filed) => filed,
        Err(why) => return Ok(missing_block(&why)),
    };
    let table = numbers(&measured(page, &lab, filed, &selection)?, &selection).for_terminal();
    let places = selection.at.values().map(labs_record::table::coordinate);
    let title =
        std::iter::once(selection.figure.replace('_', " ")).chain(places).collect::<Vec<_>>().join(", ");
    let means =
        entry.figures.iter().find(|figure| figure.name == selection.figure).map(|figure| &figure.means);
    let short = lab.split('_').next().unwrap_or(&lab);
    let text =
        format!("$ cargo labs {short}\n{title}  ({})\n{}", means.map_or("", String::as_str), drawn(&table));
    let draft = if page.provenance(filed).draft { " draft" } else { "" };
    let note = note(page, filed, &At::new());
    Ok(format!(
        "<div class=\"output{draft}\">{}<p class=\"note\">Recorded: {note}</p></div>",
        html::code_block("text", &text)
    ))
}

/// A table as the program `labs` draws it on a wide terminal.
fn drawn(table: &Table) -> String {
    let style = presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none());
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(style).set_content_arrangement(ContentArrangement::Disabled);
    drawn.set_header(&table.columns).add_rows(&table.rows);
    for column in drawn.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    drawn.to_string()
}
