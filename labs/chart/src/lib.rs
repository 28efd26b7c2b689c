//! Charts: both axes logarithmic, as SVG, for the book's pages and as files of their own. Colours are roles that the
//! page's theme fills, so that a chart follows light and dark; every line has a marker and a name of its own, so that
//! colour is never the only mark.

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

/// The roles' colours in a file: those of the book's light themes.
const COLOURS: [(&str, &str); 11] = [
    ("series-1", "#0b5fa5"),
    ("series-2", "#a83c00"),
    ("series-3", "#00684f"),
    ("series-4", "#83318a"),
    ("series-5", "#6b5200"),
    ("series-6", "#9c1a4b"),
    ("series-7", "#3c4aa8"),
    ("series-8", "#4d4d4d"),
    ("chart-axis", "#8a8a8a"),
    ("chart-grid", "#e4e4e4"),
    ("chart-text", "#4d4d4d"),
];

/// What the book's style sheet says of a chart's parts.
const STYLE: &str = ".line-name{font-size:13px;font-weight:600}.leader{stroke-width:1;opacity:.55}\
    .level{stroke-width:1;stroke-dasharray:5 4;opacity:.6}.level-name{font-size:12px;font-style:italic}";
const FONT: &str = "font-family:system-ui,sans-serif";

/// One line: its name and its points, all above zero, from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// `block_tree`
    pub name: String,
    /// Place on the axis, and value.
    pub points: Vec<(f64, f64)>,
}

/// A level line: its name and where it lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Stands above it.
    pub name: String,
    /// Above zero.
    pub value: f64,
}

/// What a drawing is called and what its axes carry.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// Begins the drawing's own ids: unique on its page.
    pub id: &'a str,
    /// For whoever can't see it.
    pub title: &'a str,
    /// Name of the axis from left to right.
    pub axis: &'a str,
    /// Name of what is drawn.
    pub figure: &'a str,
    /// Its unit.
    pub unit: Unit,
    /// Where the numbers themselves stand, a sentence.
    pub numbers: &'a str,
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

/// The medians of figures along a numeric axis, from left to right; what logarithms can't show is left out.
pub fn points<'a>(figures: impl IntoIterator<Item = &'a Figure>, axis: &str) -> Vec<(f64, f64)> {
    let point = |figure: &Figure| match figure.at.get(axis) {
        Some(Coordinate::Number(x)) => Some((*x as f64, figure.summary()?.median)),
        _ => None,
    };
    let mut points: Vec<(f64, f64)> = figures.into_iter().filter_map(point).collect();
    points.retain(|(x, y)| *x > 0.0 && *y > 0.0 && y.is_finite());
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// Where a drawing of these lines puts a value, as JSON: the frame's width, height and margins in the SVG's own units,
/// and the values at its ends. Both axes are logarithmic. For who draws more points into it.
pub fn scale(series: &[Series]) -> String {
    let Frame { width, height, left, right, top, bottom, x, y } = Frame::around(series);
    format!(
        "{{\"width\":{width},\"height\":{height},\"left\":{left},\"right\":{right},\"top\":{top},\"bottom\":{bottom},\"x\":[{},{}],\"y\":[{},{}]}}",
        x.0, x.1, y.0, y.1
    )
}

/// An SVG element that can stand in a page of Markdown. Its colours are the page's: `--series-1` to `--series-8`,
/// `--chart-axis`, `--chart-grid`, `--chart-text`. None if there is no point to draw.
pub fn for_page(series: &[Series], levels: &[Level], words: &Words<'_>) -> Option<String> {
    series.iter().any(|line| !line.points.is_empty()).then(|| drawing(series, levels, words))
}

/// An SVG file of the same, on white, the title above it.
pub fn file(series: &[Series], levels: &[Level], words: &Words<'_>) -> Option<String> {
    const ABOVE: f64 = 28.0;
    let mut svg = for_page(series, levels, words)?;
    for (role, colour) in COLOURS {
        svg = svg.replace(&format!("var(--{role})"), colour);
    }
    let frame = Frame::around(series);
    let whole = format!("viewBox=\"0 0 {} {}\"", frame.width, frame.height);
    let taller = format!("viewBox=\"0 -{ABOVE} {} {}\"", frame.width, frame.height + ABOVE);
    svg = svg.replacen(&whole, &taller, 1);
    let head = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" style=\"{FONT}\"");
    let svg = svg.replacen("<svg", &head, 1);
    let (before, body) = svg.split_once("</desc>")?;
    Some(format!(
        "{before}</desc><style>{STYLE}</style><rect y=\"-{ABOVE}\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\
         <text x=\"{left}\" y=\"-6\" font-size=\"14\" font-weight=\"600\">{}</text>{body}\n",
        escape(words.title),
        left = frame.left,
    ))
}

fn drawing(series: &[Series], levels: &[Level], words: &Words<'_>) -> String {
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
            escape(&level.name),
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
            escape(&series[*place].name),
        );
    }
    svg
}

/// The SVG with a view box, a title and a description, ids of its own, and no blank line.
fn accessible(svg: &str, marks: &str, frame: &Frame, words: &Words<'_>, series: &[Series]) -> String {
    let body = svg.split_once('>').map_or("", |(_, body)| body);
    let body = body.trim_end().trim_end_matches("</svg>");
    let body: String = body.lines().map(str::trim).collect();
    let body = without_comments(&body).replace("kuva-clip-", &format!("{}-clip-", words.id));
    let names: Vec<&str> = series.iter().map(|line| line.name.as_str()).collect();
    let description = format!(
        "{} along {}, both axes logarithmic, one line each for {}. {}",
        words.figure,
        words.axis,
        names.join(", "),
        words.numbers
    );
    format!(
        "<svg viewBox=\"0 0 {} {}\" fill=\"var(--chart-text)\" role=\"img\" aria-labelledby=\"{id}-title {id}-text\">\
         <title id=\"{id}-title\">{}</title><desc id=\"{id}-text\">{}</desc>{body}{marks}</svg>",
        frame.width,
        frame.height,
        escape(words.title),
        escape(&description),
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

/// Text between tags or in a quoted attribute, of HTML and of SVG.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // mdBook would look for `{{#include ..}}`.
            '{' => escaped.push_str("&#123;"),
            '}' => escaped.push_str("&#125;"),
            // A blank line would end an HTML block in Markdown.
            '\n' | '\r' => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
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
        let words = Words {
            id: "p-chart",
            title: "T & U",
            axis: "size",
            figure: "time",
            unit: Unit::Nanoseconds,
            numbers: "",
        };
        let levels = [Level { name: "a level < b".to_owned(), value: 1e5 }];
        let svg = drawing(&series, &levels, &words);
        assert!(!svg.contains('\n') && !svg.contains("kuva") && !svg.contains("<!--"), "{svg}");
        assert!(svg.contains("viewBox=") && svg.contains("T &amp; U") && svg.contains("a&lt;b"));
        let clip = svg.split_once("id=\"p-chart-clip-").unwrap().1.split_once('"').unwrap().0;
        assert!(svg.contains(&format!("url(#p-chart-clip-{clip})")), "{svg}");
        assert!(svg.contains(">10 µs<") && svg.contains(">10,000<"), "{svg}");
        assert!(svg.contains("class=\"level\"") && svg.contains("a level &lt; b"), "{svg}");
        assert!(svg.contains("<circle") && svg.contains("var(--series-2)"));
    }

    #[test]
    fn a_file_stands_alone() {
        let series = [line("a<b", &[(4096.0, 17e3), (65536.0, 2e5)])];
        let words = Words {
            id: "f",
            title: "T & U",
            axis: "size",
            figure: "time",
            unit: Unit::Nanoseconds,
            numbers: "",
        };
        let levels = [Level { name: "level".to_owned(), value: 1e5 }];
        let svg = file(&series, &levels, &words).unwrap();
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.ends_with("</svg>\n"));
        assert!(!svg.contains("var(--"), "a colour without its page: {svg}");
        assert!(svg.contains("viewBox=\"0 -28 ") && svg.contains(">T &amp; U</text>"), "{svg}");
        assert_eq!(file(&[line("empty", &[])], &levels, &words), None);
    }

    #[test]
    fn files_have_the_books_colours() {
        let css = include_str!("../../../book/theme/labs.css");
        for (role, colour) in COLOURS {
            assert!(
                css.contains(&format!("--{role}: {colour};")),
                "labs.css has another {role} than {colour}"
            );
        }
    }

    #[test]
    fn points_are_sorted_and_above_zero() {
        let figure = |size: u64, value: f64| Figure {
            name: "time".to_owned(),
            variant: None,
            at: [("size".to_owned(), size.into())].into(),
            unit: Unit::Nanoseconds,
            kind: labs_record::Kind::Duration,
            median: None,
            samples: vec![labs_record::Samples::Numbers(vec![value])],
            set_aside: Vec::new(),
        };
        let figures = [figure(8, 2.0), figure(2, 1.0), figure(0, 1.0), figure(4, 0.0)];
        assert_eq!(points(&figures, "size"), [(2.0, 1.0), (8.0, 2.0)]);
        assert_eq!(points(&figures, "stride"), []);
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
