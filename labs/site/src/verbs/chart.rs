//! The verb `chart`: a drawing of figures, and the same numbers as a table under it.

use labs_chart::{Level, Series, Words};
use labs_record::figure::{Coordinate, Figure, Unit};

use super::selection::{Selection, known_figure};
use super::tables;
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};

/// `chart(figure=.., along=.., <axis>=..)`: a line a variant, or a place on the axis `lines=`; `levels=` draws level
/// lines through single figures, `"name: axis=place .."` each.
pub(super) fn chart(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let levels = arguments.texts("levels")?.unwrap_or_default();
    let selection = Selection::read(arguments, "along", "lines")?;
    known_figure(page.lab_entry(&lab)?, &selection.figure)?;
    let filed = match page.record(&lab) {
        Ok(filed) => filed,
        Err(why) => return Ok(missing_block(&why)),
    };
    let view = tables::measured(page, &lab, filed, &selection)?;
    let levels: Vec<Level> =
        levels.iter().map(|text| level(text, &filed.figures, &selection)).collect::<Result<_, _>>()?;
    let unit =
        filed.figures.iter().find(|figure| figure.name == selection.figure).map_or(Unit::One, |f| f.unit);
    let series: Vec<Series> = view
        .columns
        .iter()
        .map(|name| Series { name: name.clone(), points: points(&view.figures, &selection, name) })
        .filter(|series| !series.points.is_empty())
        .collect();
    let title = tables::title(page, &lab, &selection)?;
    let note = tables::note(page, filed, &selection.at);
    let id = page.id(&format!("chart-{}", selection.figure));
    let words = Words {
        id: &id,
        title: selection.caption.as_ref().unwrap_or(&selection.figure),
        axis: &selection.axis,
        figure: &selection.figure,
        unit,
        numbers: "The numbers stand in the table under the chart.",
    };
    let svg = labs_chart::for_page(&series, &levels, &words)
        .ok_or_else(|| format!("chart(): no value of `{}` is above zero", selection.figure))?;
    let draft = if page.provenance(filed).draft { " draft" } else { "" };
    Ok(format!(
        "<figure class=\"chart{draft}\" {data}><div class=\"chart-scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\">{svg}</div>\
         <figcaption><span>{title}</span><span class=\"note\">both axes logarithmic · {note}</span></figcaption>\
         <details><summary>The same numbers as a table</summary>{table}</details></figure>",
        data = data(&lab, &selection, unit, &series),
        label = html::escape(&format!("Chart of {} along {}", selection.figure, selection.axis)),
        table = tables::figures_table(&title, "", &tables::numbers(&view, &selection)),
    ))
}

/// What the page's script needs to draw a reader's own points into the chart.
fn data(lab: &str, selection: &Selection, unit: Unit, series: &[Series]) -> String {
    let lines: Vec<serde_json::Value> =
        series.iter().map(|line| serde_json::json!({ "name": line.name, "points": line.points })).collect();
    let parts = [
        ("lab", lab.to_owned()),
        ("figure", selection.figure.clone()),
        ("axis", selection.axis.clone()),
        ("unit", unit.to_string()),
        ("at", serde_json::to_string(&selection.at).unwrap_or_default()),
        ("lines", serde_json::to_string(&lines).unwrap_or_default()),
        ("scale", labs_chart::scale(series)),
    ];
    let parts: Vec<String> =
        parts.iter().map(|(name, text)| format!("data-{name}=\"{}\"", html::escape(text))).collect();
    parts.join(" ")
}

/// A line through the figure that `text` names: `"one address: stride=128 addresses=1"`, on top of the chart's places.
fn level(text: &str, figures: &[Figure], selection: &Selection) -> Result<Level, String> {
    let wrong = |why: &str| Err(format!("chart(): the level `{text}` {why}"));
    let Some((name, places)) = text.split_once(':') else {
        return wrong("has no places; write `name: axis=place ..`");
    };
    let mut at = selection.at.clone();
    for word in places.split_whitespace() {
        let Some((axis, place)) = word.split_once('=') else { return wrong("has a word without `=`") };
        let place = place.parse().map_or_else(|_| Coordinate::from(place), Coordinate::Number);
        at.insert(axis.to_owned(), place);
    }
    let variant = selection.variants.as_ref().and_then(|variants| variants.first());
    let fits = |figure: &&Figure| {
        figure.name == selection.figure
            && variant.is_none_or(|variant| figure.variant.as_ref() == Some(variant))
            && at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place))
    };
    let found: Vec<f64> =
        figures.iter().filter(fits).filter_map(|figure| Some(figure.summary()?.median)).collect();
    match found[..] {
        [value] if value > 0.0 => Ok(Level { name: name.trim().to_owned(), value }),
        [_] => wrong("is not above zero"),
        _ => wrong(&format!("names {} figures and must name one", found.len())),
    }
}

fn points(figures: &[Figure], selection: &Selection, variant: &str) -> Vec<(f64, f64)> {
    let of_line = figures
        .iter()
        .filter(|figure| figure.name == selection.figure && figure.variant.as_deref() == Some(variant))
        .filter(|figure| selection.at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place)));
    labs_chart::points(of_line, &selection.axis)
}
