//! A map of memory: a square a line, coloured by the class that contention put it in. What is drawn is one session of a
//! record, since another session has other memory, and its classes other names.

use std::collections::BTreeMap;

use labs_record::figure::Samples;
use labs_record::units;

use super::selection::known_figure;
use super::tables;
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};

/// Lines a row.
const COLUMNS: usize = 64;
/// Bytes of a line.
const LINE: usize = 128;
/// Side of a square, and of what is left of it for the colour.
const CELL: f64 = 11.0;
const FILLED: f64 = 10.0;
/// Room for a row's name.
const MARGIN: f64 = 64.0;
/// Lines up to which a map can be read.
const MOST: usize = 4096;
/// Degrees between the colours of one class and the next: the golden angle, so that neighbours in number differ.
const TURN: f64 = 137.508;

/// `line_map(figure=.., caption=.., <axis>=..)`: `figure` holds the class of each line in order, from 1; 0 is none.
pub(super) fn line_map(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let (name, caption) = (arguments.need("figure")?, arguments.need("caption")?);
    let at = arguments.axes()?;
    known_figure(page.lab_entry(&lab)?, &name)?;
    let filed = match page.record(&lab) {
        Ok(filed) => filed,
        Err(why) => return Ok(missing_block(&why)),
    };
    let found: Vec<_> = filed
        .figures
        .iter()
        .filter(|figure| {
            figure.name == name && at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place))
        })
        .collect();
    let [figure] = found.as_slice() else {
        return Err(format!(
            "line_map(): {} figures `{name}` are at these places; name all axes",
            found.len()
        ));
    };
    let classes = match figure.samples.first() {
        Some(Samples::Numbers(numbers)) => classes(numbers)?,
        _ => return Err(format!("line_map(): `{name}` has no numbers")),
    };
    let title = html::with_code(&caption);
    let note = format!("one of {} sessions · {}", filed.record.sessions(), tables::note(page, filed, &at));
    let draft = if page.provenance(filed).draft { " draft" } else { "" };
    Ok(format!(
        "<figure class=\"chart{draft}\"><div class=\"chart-scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Map of lines\">{svg}</div>\
         <figcaption><span>{title}</span><span class=\"note\">{note}</span></figcaption>\
         <details><summary>The same lines as a table</summary>{table}</details></figure>",
        svg = drawing(&classes, &page.id("lines"), &caption),
        table = table(&title, &classes),
    ))
}

/// The class of each line; none for 0.
fn classes(numbers: &[f64]) -> Result<Vec<Option<u32>>, String> {
    if numbers.is_empty() || numbers.len() > MOST {
        return Err(format!("line_map(): {} lines are no map; 1 to {MOST} are", numbers.len()));
    }
    let class = |number: &f64| match number {
        number if number.fract() != 0.0 || !(0.0..=f64::from(u16::MAX)).contains(number) => {
            Err(format!("line_map(): {number} is no class"))
        }
        number => Ok((*number > 0.0).then_some(*number as u32)),
    };
    numbers.iter().map(class).collect()
}

/// The lines of each class; 0 has those of none.
fn members(classes: &[Option<u32>]) -> BTreeMap<u32, Vec<usize>> {
    let mut members = BTreeMap::<u32, Vec<usize>>::new();
    for (line, class) in classes.iter().enumerate() {
        members.entry(class.unwrap_or(0)).or_default().push(line);
    }
    members
}

fn drawing(classes: &[Option<u32>], id: &str, caption: &str) -> String {
    let rows = classes.len().div_ceil(COLUMNS);
    let (width, height) = (MARGIN + COLUMNS as f64 * CELL, rows as f64 * CELL + 2.0);
    let members = members(classes);
    let place = |line: usize| (MARGIN + (line % COLUMNS) as f64 * CELL, (line / COLUMNS) as f64 * CELL);
    let mut svg = String::new();
    for (class, lines) in &members {
        let square = |line: &usize| {
            let (x, y) = place(*line);
            format!("M{x} {y}h{FILLED}v{FILLED}h-{FILLED}z")
        };
        let path: String = lines.iter().map(square).collect();
        let fill = match class {
            0 => "none\" stroke=\"var(--chart-axis)".to_owned(),
            class => format!("hsl({:.0} 60% 60%)", (f64::from(*class) * TURN) % 360.0),
        };
        svg += &format!("<path fill=\"{fill}\" d=\"{path}\"/>");
    }
    let first = members.get(&1).map(Vec::as_slice).unwrap_or_default();
    for line in first {
        let (x, y) = place(*line);
        let middle = FILLED / 2.0;
        svg += &format!("<circle cx=\"{}\" cy=\"{}\" r=\"3\" fill=\"#000\"/>", x + middle, y + middle);
    }
    for row in 0..rows {
        let y = row as f64 * CELL + FILLED - 1.5;
        let kib = (row * COLUMNS * LINE) as f64 / 1024.0;
        svg += &format!(
            "<text x=\"{}\" y=\"{y}\" font-size=\"10\" text-anchor=\"end\">{kib} KiB</text>",
            MARGIN - 6.0
        );
    }
    let found = members.keys().filter(|class| **class > 0).count();
    let marked: Vec<String> = first.iter().map(usize::to_string).collect();
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" fill=\"var(--chart-text)\" role=\"img\" aria-labelledby=\"{id}-title {id}-text\">\
         <title id=\"{id}-title\">{}</title><desc id=\"{id}-text\">{}</desc>{svg}</svg>",
        html::escape(caption),
        html::escape(&format!(
            "A square a line of {LINE} bytes, {COLUMNS} a row; {} lines in {found} classes, a colour a class, an empty square where \
             there is none. A dot marks the lines of the first line's class: {}.",
            units::count(classes.len() as f64),
            marked.join(", ")
        )),
    )
}

fn table(title: &str, classes: &[Option<u32>]) -> String {
    let rows: Vec<Vec<String>> = members(classes)
        .into_iter()
        .map(|(class, lines)| {
            let name = if class == 0 { "ambiguous".to_owned() } else { class.to_string() };
            let numbers: Vec<String> = lines.iter().map(usize::to_string).collect();
            vec![name, lines.len().to_string(), numbers.join(" ")]
        })
        .collect();
    let columns = ["class", "lines", "which"].map(str::to_owned);
    format!("<div class=\"words\">{}</div>", html::table(title, "lines are numbered from 0", &columns, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_a_colour_and_the_first_is_marked() {
        let svg = drawing(&classes(&[1.0, 1.0, 2.0, 0.0, 1.0]).unwrap(), "id", "a <b>");
        assert_eq!(svg.matches("<path").count(), 3, "{svg}");
        assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
        assert!(svg.contains("5 lines in 2 classes") && svg.contains("class: 0, 1, 4."), "{svg}");
        assert!(svg.contains("a &lt;b&gt;") && !svg.contains("\n\n"));
        assert!(svg.contains("stroke"), "what has no class is an empty square");
    }

    #[test]
    fn what_is_no_class_is_refused() {
        for wrong in [&[][..], &[0.5], &[-1.0], &[1e9]] {
            assert!(classes(wrong).is_err(), "{wrong:?}");
        }
        assert!(classes(&vec![1.0; MOST + 1]).is_err());
    }

    #[test]
    fn the_table_names_every_line() {
        let table = table("t", &classes(&[1.0, 2.0, 0.0, 1.0]).unwrap());
        assert!(table.contains("<th scope=\"row\">1</th><td>2</td><td>0 3</td>"), "{table}");
        assert!(table.contains("ambiguous</th><td>1</td><td>2</td>"), "{table}");
    }
}
