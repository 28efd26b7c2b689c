//! Charts: both axes logarithmic, as SVG within the page. Colours are the theme's, so that a chart follows light and
//! dark; every line has a marker and a name of its own, so that colour is never the only mark; the same numbers
//! stand in a table under it.

use std::sync::Arc;

use kuva::backend::svg::SvgBackend;
use kuva::plot::LinePlot;
use kuva::plot::scatter::{MarkerShape, ScatterPlot};
use kuva::render::layout::{Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;
use kuva::render::theme::Theme;
use labs_record::figure::{Coordinate, Figure, Unit};
use labs_record::units;

use super::selection::{Selection, known_figure};
use super::tables;
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};

const MARKERS: [MarkerShape; 8] = [
    MarkerShape::Circle,
    MarkerShape::Square,
    MarkerShape::Triangle,
    MarkerShape::Diamond,
    MarkerShape::TriangleDown,
    MarkerShape::Pentagon,
    MarkerShape::Star,
    MarkerShape::Hexagon,
];

/// One variant's line: its name and its points, all above zero.
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
}

/// A level line: its name and where it lies.
struct Level {
    name: String,
    value: f64,
}

/// The plot's frame in the SVG's own units.
struct Frame {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    fn around(series: &[Series]) -> Frame {
        let values = |pick: fn(&(f64, f64)) -> f64| {
            let all = series.iter().flat_map(|series| &series.points).map(pick);
            all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
        };
        let (x, y) = (values(|point| point.0), values(|point| point.1));
        let decade = |v: f64, round: fn(f64) -> f64| 10f64.powf(round(v.log10()));
        let (y_low, y_high) = (decade(y.0 * 0.95, f64::floor), decade(y.1 * 1.05, f64::ceil));
        Frame {
            width: 760.0,
            height: 440.0,
            left: 76.0,
            right: 152.0,
            top: 16.0,
            bottom: 52.0,
            x: (x.0 / 1.4, x.1 * 1.4),
            y: (y_low, y_high),
        }
    }

    fn pixel_y(&self, value: f64) -> f64 {
        let share = (value / self.y.0).log10() / (self.y.1 / self.y.0).log10();
        self.height - self.bottom - share * (self.height - self.top - self.bottom)
    }

    fn pixel_x(&self, value: f64) -> f64 {
        let share = (value / self.x.0).log10() / (self.x.1 / self.x.0).log10();
        self.left + share * (self.width - self.left - self.right)
    }
}

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
    if series.is_empty() {
        return Err(format!("chart(): no value of `{}` is above zero", selection.figure));
    }
    let title = tables::title(page, &lab, &selection)?;
    let note = tables::note(page, filed, &selection.at);
    let id = page.id(&format!("chart-{}", selection.figure));
    let svg = drawing(
        &series,
        &levels,
        &Words {
            id: &id,
            title: &selection.caption.clone().unwrap_or_else(|| selection.figure.clone()),
            axis: &selection.axis,
            figure: &selection.figure,
            unit,
        },
    );
    let draft = if page.provenance(filed).draft { " draft" } else { "" };
    Ok(format!(
        "<figure class=\"chart{draft}\"><div class=\"chart-scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\">{svg}</div>\
         <figcaption><span>{title}</span><span class=\"note\">both axes logarithmic · {note}</span></figcaption>\
         <details><summary>The same numbers as a table</summary>{table}</details></figure>",
        label = html::escape(&format!("Chart of {} along {}", selection.figure, selection.axis)),
        table = tables::figures_table(&title, "", &tables::numbers(&view, &selection)),
    ))
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
    let mut points: Vec<(f64, f64)> = figures
        .iter()
        .filter(|figure| figure.name == selection.figure && figure.variant.as_deref() == Some(variant))
        .filter(|figure| selection.at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place)))
        .filter_map(|figure| match figure.at.get(&selection.axis) {
            Some(Coordinate::Number(x)) => Some((*x as f64, figure.summary()?.median)),
            _ => None,
        })
        .filter(|(x, y)| *x > 0.0 && *y > 0.0 && y.is_finite())
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// What a drawing is called and what its axes carry.
struct Words<'a> {
    id: &'a str,
    title: &'a str,
    axis: &'a str,
    figure: &'a str,
    unit: Unit,
}

fn drawing(series: &[Series], levels: &[Level], words: &Words) -> String {
    let frame = Frame::around(series);
    let mut plots = Vec::new();
    for (place, line) in series.iter().enumerate() {
        let colour = format!("var(--series-{})", place % MARKERS.len() + 1);
        plots.push(Plot::Line(
            LinePlot::new().with_data(line.points.clone()).with_color(colour.clone()).with_stroke_width(2.0),
        ));
        plots.push(Plot::Scatter(
            ScatterPlot::new()
                .with_data(line.points.clone())
                .with_color(colour)
                .with_size(5.0)
                .with_marker(MARKERS[place % MARKERS.len()]),
        ));
    }
    let unit = words.unit;
    let layout = Layout::auto_from_plots(&plots)
        .with_log_scale()
        .with_width(frame.width)
        .with_height(frame.height)
        .with_theme(theme())
        .with_x_axis_min(frame.x.0)
        .with_x_axis_max(frame.x.1)
        .with_y_axis_min(frame.y.0)
        .with_y_axis_max(frame.y.1)
        .with_force_margins(frame.left, frame.right)
        .with_force_margins_y(frame.top, frame.bottom)
        .with_tick_size(13)
        .with_x_label(words.axis)
        .with_y_label(words.figure)
        .with_x_tick_format(TickFormat::Custom(Arc::new(units::count)))
        .with_y_tick_format(TickFormat::Custom(Arc::new(move |value| {
            units::without_idle_zeros(&units::quantity(value, unit).unwrap_or_default())
        })));
    let svg = SvgBackend::new().render_scene(&render_multiple(plots, layout));
    let marks = level_lines(levels, &frame) + &labels(series, &frame);
    accessible(&svg, &marks, &frame, words, series)
}

fn theme() -> Theme {
    Theme {
        background: "none".to_owned(),
        axis_color: "var(--chart-axis)".to_owned(),
        tick_color: "var(--chart-axis)".to_owned(),
        grid_color: "var(--chart-grid)".to_owned(),
        text_color: "var(--chart-text)".to_owned(),
        ..Theme::light()
    }
}

/// Level lines across the plot, their names at the left end above them.
fn level_lines(levels: &[Level], frame: &Frame) -> String {
    let (left, right) = (frame.left, frame.width - frame.right);
    let line = |level: &Level| {
        let y = frame.pixel_y(level.value);
        format!(
            "<path class=\"level\" d=\"M {left:.1} {y:.1} H {right:.1}\" fill=\"none\" stroke=\"var(--chart-text)\"/>\
             <text class=\"level-name\" x=\"{:.1}\" y=\"{:.1}\" fill=\"var(--chart-text)\">{}</text>",
            left + 8.0,
            y - 5.0,
            html::escape(&level.name),
        )
    };
    levels.iter().map(line).collect()
}

/// Each line's name at its right end, moved apart where lines end close together, and tied to them.
fn labels(series: &[Series], frame: &Frame) -> String {
    const APART: f64 = 17.0;
    let mut ends: Vec<(usize, f64, f64)> = series
        .iter()
        .enumerate()
        .filter_map(|(place, line)| {
            let (x, y) = *line.points.last()?;
            Some((place, frame.pixel_x(x), frame.pixel_y(y)))
        })
        .collect();
    ends.sort_by(|a, b| a.2.total_cmp(&b.2));
    let mut heights: Vec<f64> = ends.iter().map(|end| end.2).collect();
    for i in 1..heights.len() {
        heights[i] = heights[i].max(heights[i - 1] + APART);
    }
    // What was pushed below the frame is pushed back up.
    let floor = frame.height - frame.bottom;
    if let Some(last) = heights.last_mut() {
        *last = last.min(floor);
    }
    for i in (1..heights.len()).rev() {
        heights[i - 1] = heights[i - 1].min(heights[i] - APART);
    }
    let right = frame.width - frame.right + 12.0;
    let mut svg = String::new();
    for ((place, x, y), height) in ends.iter().zip(&heights) {
        let colour = place % MARKERS.len() + 1;
        svg += &format!(
            "<path class=\"leader\" d=\"M {:.1} {y:.1} L {right:.1} {height:.1}\" fill=\"none\" stroke=\"var(--series-{colour})\"/>\
             <text class=\"line-name\" x=\"{:.1}\" y=\"{:.1}\" fill=\"var(--series-{colour})\">{}</text>",
            x + 7.0,
            right + 4.0,
            height + 4.5,
            html::escape(&series[*place].name),
        );
    }
    svg
}

/// The SVG with a view box, a title and a description, ids of its own, and no blank line.
fn accessible(svg: &str, marks: &str, frame: &Frame, words: &Words, series: &[Series]) -> String {
    let body = svg.split_once('>').map_or("", |(_, body)| body);
    let body = body.trim_end().trim_end_matches("</svg>");
    let body: String = body.lines().map(str::trim).collect();
    let body = without_comments(&body).replace("kuva-clip-", &format!("{}-clip-", words.id));
    let names: Vec<&str> = series.iter().map(|line| line.name.as_str()).collect();
    let description = format!(
        "{} along {}, both axes logarithmic, one line each for {}. The numbers stand in the table under the chart.",
        words.figure,
        words.axis,
        names.join(", ")
    );
    format!(
        "<svg viewBox=\"0 0 {} {}\" fill=\"var(--chart-text)\" role=\"img\" aria-labelledby=\"{id}-title {id}-text\">\
         <title id=\"{id}-title\">{}</title><desc id=\"{id}-text\">{}</desc>{body}{marks}</svg>",
        frame.width,
        frame.height,
        html::escape(words.title),
        html::escape(&description),
        id = words.id,
    )
}

fn without_comments(svg: &str) -> String {
    let mut text = String::new();
    let mut rest = svg;
    while let Some((before, after)) = rest.split_once("<!--") {
        text += before;
        rest = after.split_once("-->").map_or("", |(_, behind)| behind);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.to_owned(), points: points.to_vec() }
    }

    #[test]
    fn a_drawing_can_stand_in_markdown_and_be_read_aloud() {
        let series =
            [line("a<b", &[(4096.0, 17e3), (65536.0, 2e5)]), line("c", &[(4096.0, 4e3), (65536.0, 2e5)])];
        let words =
            Words { id: "p-chart", title: "T & U", axis: "size", figure: "time", unit: Unit::Nanoseconds };
        let levels = [Level { name: "a level < b".to_owned(), value: 1e5 }];
        let svg = drawing(&series, &levels, &words);
        assert!(!svg.contains('\n') && !svg.contains("kuva") && !svg.contains("<!--"), "{svg}");
        assert!(svg.contains("viewBox=") && svg.contains("T &amp; U") && svg.contains("a&lt;b"));
        assert!(svg.contains("id=\"p-chart-clip-0\"") && svg.contains("url(#p-chart-clip-0)"));
        assert!(svg.contains(">10 µs<") && svg.contains(">10,000<"), "{svg}");
        assert!(svg.contains("class=\"level\"") && svg.contains("a level &lt; b"), "{svg}");
        assert!(svg.contains("<circle") && svg.contains("var(--series-2)"));
    }

    #[test]
    fn names_do_not_overlap() {
        let series: Vec<Series> = (0..7).map(|i| line(&format!("v{i}"), &[(1e3, 1e4), (1e6, 1e3)])).collect();
        let frame = Frame::around(&series);
        let svg = labels(&series, &frame);
        let mut heights: Vec<f64> = svg
            .split("<text ")
            .skip(1)
            .map(|text| text.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
            .collect();
        heights.sort_by(f64::total_cmp);
        assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= 16.9), "{heights:?}");
        assert!(heights.iter().all(|y| *y > 0.0 && *y < frame.height));
    }
}
