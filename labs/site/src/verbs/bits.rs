//! Bit patterns of floats that ought to be equal: a panel a variant, a row a run, a column a bit. Bits on which all runs
//! agree are grey, the others coloured; where there is nothing but grey, the runs gave one float. What is drawn is one
//! session of a record, since another session has another input.

use std::collections::BTreeSet;

use labs_record::figure::{At, Figure, Samples};
use labs_record::units;

use super::selection::known_figure;
use super::tables;
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};
use crate::tree::FiledRecord;

const BITS: u32 = 32;
/// Side of a bit's square.
const CELL: f64 = 5.0;
/// Between sign, exponent and fraction, and above the reference's row.
const GAP: f64 = 3.0;
const PANELS_A_ROW: usize = 4;
const PANEL_WIDTH: f64 = BITS as f64 * CELL + 2.0 * GAP;
const BETWEEN_PANELS: f64 = 28.0;
/// Room for a panel's name and count above its squares.
const HEAD: f64 = 38.0;
/// Rows up to which a panel can be read.
const MOST_RUNS: usize = 64;

/// One variant's floats, a bit pattern a run.
struct Panel {
    name: String,
    patterns: Vec<u32>,
    distances: Vec<i64>,
}

impl Panel {
    fn distinct(&self) -> usize {
        self.patterns.iter().collect::<BTreeSet<_>>().len()
    }

    /// The bits in which two of the patterns differ.
    fn noise(&self) -> u32 {
        self.patterns.iter().fold(0, |noise, pattern| noise | (pattern ^ self.patterns[0]))
    }

    fn count(&self) -> String {
        match (self.distinct(), self.patterns.len()) {
            (1, runs) => format!("1 total in {runs} runs"),
            (totals, runs) => format!("{totals} totals in {runs} runs"),
        }
    }
}

/// `bits(figure=.., reference=.., <axis>=..)`: `figure` holds each run's distance from the float whose pattern, as an
/// integer, is the figure `reference`, counted in floats.
pub(super) fn bits(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let (name, reference) = (arguments.need("figure")?, arguments.need("reference")?);
    let (caption, at) = (arguments.need("caption")?, arguments.axes()?);
    let entry = page.lab_entry(&lab)?;
    known_figure(entry, &name)?;
    known_figure(entry, &reference)?;
    let filed = match page.record(&lab) {
        Ok(filed) => filed,
        Err(why) => return Ok(missing_block(&why)),
    };
    let reference = float_pattern(first_session(
        filed
            .figures
            .iter()
            .find(|figure| {
                figure.name == reference
                    && figure.variant.is_none()
                    && figure.at.iter().all(|(axis, place)| at.get(axis) == Some(place))
            })
            .ok_or_else(|| format!("bits(): there is no figure `{reference}` at these places"))?,
    )?)?;
    let order: Vec<&str> = entry.variants.iter().map(|entry| entry.name.as_str()).collect();
    let panels = panels(filed, &name, &at, &order, reference)?;
    let title = html::with_code(&caption);
    let note = format!("one of {} sessions · {}", filed.record.sessions(), tables::note(page, filed, &at));
    let draft = if page.provenance(filed).draft { " draft" } else { "" };
    Ok(format!(
        "<figure class=\"chart{draft}\"><div class=\"chart-scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Bit patterns\">{svg}</div>\
         <figcaption><span>{title}</span><span class=\"note\">{note}</span></figcaption>\
         <details><summary>The same runs as a table</summary>{table}</details></figure>",
        svg = drawing(&panels, reference, &page.id("bits"), &caption),
        table = table(&title, &panels),
    ))
}

/// The variants that have the figure at these places, in the lab's order.
fn panels(
    filed: &FiledRecord,
    name: &str,
    at: &At,
    order: &[&str],
    reference: u32,
) -> Result<Vec<Panel>, String> {
    let mut panels = Vec::new();
    for variant in order {
        let found = filed.figures.iter().find(|figure| {
            figure.name == name && figure.variant.as_deref() == Some(variant) && figure.at == *at
        });
        let Some(figure) = found else { continue };
        let numbers = first_session(figure)?;
        if numbers.len() > MOST_RUNS {
            let runs = numbers.len();
            return Err(format!("bits(): {runs} runs are too many for a picture; {MOST_RUNS} are the most"));
        }
        let whole = numbers.iter().all(|number| number.fract() == 0.0 && number.abs() < 4e9);
        if !whole || numbers.is_empty() {
            return Err(format!("bits(): `{}` is no list of distances in floats", figure.describe()));
        }
        let distances: Vec<i64> = numbers.iter().map(|number| *number as i64).collect();
        let patterns =
            distances.iter().map(|distance| moved(reference, *distance)).collect::<Result<_, _>>()?;
        panels.push(Panel { name: (*variant).to_owned(), patterns, distances });
    }
    match panels.is_empty() {
        true => Err(format!("bits(): no variant has `{name}` at these places; name all its axes")),
        false => Ok(panels),
    }
}

fn first_session(figure: &Figure) -> Result<&[f64], String> {
    match figure.samples.first() {
        Some(Samples::Numbers(numbers)) => Ok(numbers),
        _ => Err(format!("bits(): `{}` has no numbers", figure.describe())),
    }
}

/// The one sample of a reference, as the pattern of a positive float.
fn float_pattern(numbers: &[f64]) -> Result<u32, String> {
    match numbers {
        [number] if number.fract() == 0.0 && (0.0..f64::from(f32::INFINITY.to_bits())).contains(number) => {
            Ok(*number as u32)
        }
        _ => Err("bits(): the reference is not the pattern of one positive float".to_owned()),
    }
}

/// The pattern of the float that many floats above a positive one; distances below zero end at zero.
fn moved(reference: u32, distance: i64) -> Result<u32, String> {
    u32::try_from(i64::from(reference) + distance)
        .ok()
        .filter(|pattern| f32::from_bits(*pattern).is_finite() && f32::from_bits(*pattern).is_sign_positive())
        .ok_or_else(|| format!("bits(): {distance} floats from the reference there is no positive float"))
}

fn drawing(panels: &[Panel], reference: u32, id: &str, caption: &str) -> String {
    let runs = panels.iter().map(|panel| panel.patterns.len()).max().unwrap_or(0) as f64;
    let pitch = HEAD + (runs + 1.0) * CELL + GAP + 22.0;
    let rows = panels.len().div_ceil(PANELS_A_ROW) as f64;
    let columns = PANELS_A_ROW as f64;
    let (width, height) = (columns * PANEL_WIDTH + (columns - 1.0) * BETWEEN_PANELS, rows * pitch - 14.0);
    let mut svg = String::new();
    for (place, panel) in panels.iter().enumerate() {
        let x = (place % PANELS_A_ROW) as f64 * (PANEL_WIDTH + BETWEEN_PANELS);
        let y = (place / PANELS_A_ROW) as f64 * pitch;
        svg += &format!("<g transform=\"translate({x} {y})\">{}</g>", squares(panel, reference));
    }
    let totals: Vec<String> =
        panels.iter().map(|panel| format!("{}: {}", panel.name, panel.count())).collect();
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" fill=\"var(--chart-text)\" role=\"img\" aria-labelledby=\"{id}-title {id}-text\">\
         <title id=\"{id}-title\">{}</title><desc id=\"{id}-text\">{}</desc>{svg}</svg>",
        html::escape(caption),
        html::escape(&format!(
            "A panel a variant, a row a run, a square a bit that is one, from the sign at the left to the last bit at the \
             right; the lowest row is the reference. Coloured are the bits that differ among a variant's runs. {}.",
            totals.join("; ")
        )),
    )
}

/// One panel at the origin.
fn squares(panel: &Panel, reference: u32) -> String {
    let noise = panel.noise();
    let rows = panel.patterns.len() as f64;
    let (mut same, mut differing, mut below) = (String::new(), String::new(), String::new());
    for bit in 0..BITS {
        let column = BITS - 1 - bit;
        // Behind the sign, and behind the eight bits of the exponent.
        let gaps = f64::from(u8::from(column > 0) + u8::from(column > 8));
        let x = f64::from(column) * CELL + gaps * GAP;
        let one = |pattern: u32| pattern >> bit & 1 == 1;
        let square = |y: f64, height: f64| format!("M{x} {y}h{CELL}v{height}h-{CELL}z");
        if !one(noise) && one(panel.patterns[0]) {
            same += &square(HEAD, rows * CELL);
        }
        if one(noise) {
            let mut rows = panel.patterns.iter().enumerate().filter(|(_, pattern)| one(**pattern)).peekable();
            while let Some((first, _)) = rows.next() {
                let mut last = first;
                while rows.next_if(|(row, _)| *row == last + 1).is_some() {
                    last += 1;
                }
                differing += &square(HEAD + first as f64 * CELL, (last - first + 1) as f64 * CELL);
            }
        }
        if one(reference) {
            below += &square(HEAD + rows * CELL + GAP, CELL);
        }
    }
    format!(
        "<text class=\"line-name\" x=\"0\" y=\"13\">{}</text><text x=\"0\" y=\"30\" font-size=\"12\">{}</text>\
         <rect x=\"0\" y=\"{HEAD}\" width=\"{PANEL_WIDTH}\" height=\"{}\" fill=\"var(--chart-grid)\" opacity=\"0.45\"/>\
         <path fill=\"var(--chart-axis)\" d=\"{same}\"/><path fill=\"var(--series-2)\" d=\"{differing}\"/>\
         <path fill=\"var(--chart-text)\" d=\"{below}\"/>",
        html::escape(&panel.name),
        html::escape(&panel.count()),
        rows * CELL,
    )
}

fn table(title: &str, panels: &[Panel]) -> String {
    let columns =
        ["variant", "runs", "different totals", "lowest", "highest", "bits that differ"].map(str::to_owned);
    let rows: Vec<Vec<String>> = panels
        .iter()
        .map(|panel| {
            let number = |number: i64| units::count(number as f64);
            let extreme = |distance: Option<&i64>| distance.map_or(String::new(), |d| number(*d));
            vec![
                format!("<code>{}</code>", tables::breakable(&panel.name)),
                number(panel.patterns.len() as i64),
                number(panel.distinct() as i64),
                extreme(panel.distances.iter().min()),
                extreme(panel.distances.iter().max()),
                panel.noise().count_ones().to_string(),
            ]
        })
        .collect();
    html::table(title, "lowest, highest: floats from the reference", &columns, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(distances: &[i64]) -> Panel {
        let reference = 1.5_f32.to_bits();
        let patterns = distances.iter().map(|distance| moved(reference, *distance).unwrap()).collect();
        Panel { name: "a<b".to_owned(), patterns, distances: distances.to_vec() }
    }

    #[test]
    fn distances_are_counted_in_floats() {
        let one = 1.0_f32.to_bits();
        assert_eq!(f32::from_bits(moved(one, 1).unwrap()), 1.0 + f32::EPSILON);
        assert_eq!(f32::from_bits(moved(one, -1).unwrap()), 1.0 - f32::EPSILON / 2.0);
        assert_eq!(moved(one, -i64::from(one)), Ok(0));
        assert!(moved(one, -i64::from(one) - 1).is_err(), "below zero");
        assert!(moved(f32::MAX.to_bits(), 1).is_err(), "past the largest float");
        assert_eq!(float_pattern(&[f64::from(one)]), Ok(one));
        for wrong in [&[][..], &[0.5], &[-1.0], &[1.0, 2.0], &[4e9]] {
            assert!(float_pattern(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn only_bits_that_differ_are_coloured() {
        let agreeing = squares(&panel(&[3, 3, 3]), 1.5_f32.to_bits());
        assert!(agreeing.contains("1 total in 3 runs"), "{agreeing}");
        assert!(agreeing.contains("<path fill=\"var(--series-2)\" d=\"\"/>"), "{agreeing}");
        // The last bit is one in the second and third of three runs: a square of two rows in the last column.
        let differing = squares(&panel(&[0, 1, 1]), 1.5_f32.to_bits());
        let x = 31.0 * CELL + 2.0 * GAP;
        let square = format!("<path fill=\"var(--series-2)\" d=\"M{x} {}h5v10h-5z\"/>", HEAD + CELL);
        assert!(differing.contains(&square), "{differing}");
        assert!(differing.contains("2 totals in 3 runs"), "{differing}");
    }

    #[test]
    fn a_drawing_can_stand_in_markdown_and_be_read_aloud() {
        let panels: Vec<Panel> = (0..5).map(|_| panel(&[0, -2, 7])).collect();
        let svg = drawing(&panels, 1.5_f32.to_bits(), "p-bits", "T & U");
        assert!(
            !svg.contains('\n') && svg.contains("T &amp; U") && svg.contains("a&lt;b: 3 totals in 3 runs")
        );
        assert!(svg.contains("role=\"img\"") && svg.contains("aria-labelledby=\"p-bits-title p-bits-text\""));
        let table = table("T", &panels);
        assert!(table.contains("<td>−2</td><td>7</td>"), "{table}");
    }
}
