//! Numbers on their way to a page. A chapter holds a quantity only as a handle: no template can read the number
//! in it, compare it or print it bare; a filter that knows its unit turns it into text.

use labs_record::figure::{Figure, Kind, Unit};
use labs_record::statistics::AGREEMENT;
use labs_record::{table, units};

use crate::html;

/// Stands at both ends of a handle; it is in no text that people write.
const MARK: char = '\u{E000}';

/// What a handle stands for.
#[derive(Clone, Debug)]
pub enum Quantity {
    /// A figure.
    Figure(Box<Figure>, Provenance),
    /// One figure over another.
    Ratio(Box<Figure>, Box<Figure>, Provenance),
    /// There is none, and why.
    Missing(String),
}

/// Where a quantity comes from, as the page shows it.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// `NVIDIA H200, 3 sessions in 1 sitting`
    pub origin: String,
    /// Its record is not verified.
    pub draft: bool,
}

/// How a number is to be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In the figure's own unit; as a range where sessions disagree.
    Quantity,
    /// From the lowest session to the highest.
    Range,
    /// A ratio: `79.1×`.
    Times,
    /// A ratio: `39.2 %`.
    Percent,
    /// A whole number with commas.
    Count,
}

impl Form {
    /// All, under their filters' names.
    pub const ALL: [(&'static str, Form); 5] = [
        ("quantity", Form::Quantity),
        ("range", Form::Range),
        ("times", Form::Times),
        ("percent", Form::Percent),
        ("count", Form::Count),
    ];
}

/// The handle of the quantity at a place of the page's list.
pub fn handle(place: usize) -> String {
    format!("{MARK}{place}{MARK}")
}

/// The place a handle stands for; none if the text is not a handle, whole and alone.
pub fn place(text: &str) -> Option<usize> {
    text.strip_prefix(MARK)?.strip_suffix(MARK)?.parse().ok()
}

/// Whether a handle, or what is left of one, is in the text.
pub fn escaped_its_filter(text: &str) -> bool {
    text.contains(MARK)
}

/// The quantity as HTML within a sentence.
///
/// # Errors
/// The form does not fit the quantity, or the number is none.
pub fn show(quantity: &Quantity, form: Form) -> Result<String, String> {
    let (text, provenance) = match quantity {
        Quantity::Missing(why) => {
            return Ok(format!("<span class=\"missing\">[{}]</span>", html::inline(why)));
        }
        Quantity::Figure(figure, provenance) => (show_figure(figure, form)?, provenance),
        Quantity::Ratio(of, to, provenance) => (show_ratio(of, to, form)?, provenance),
    };
    // A line never breaks between a number and its unit.
    let text = html::inline(&text).replace(" to ", "\u{1}").replace(' ', "&#160;").replace('\u{1}', " to ");
    let (class, mark) = match provenance.draft {
        true => (" draft", "<sup class=\"draft-mark\">draft</sup>"),
        false => ("", ""),
    };
    Ok(format!(
        "<span class=\"measured{class}\" title=\"{}\">{text}{mark}</span>",
        html::inline(&provenance.origin)
    ))
}

fn show_figure(figure: &Figure, form: Form) -> Result<String, String> {
    let name = figure.describe();
    let number = || {
        let summary = figure.summary().ok_or_else(|| format!("`{name}` has no samples"))?;
        match summary.median.is_finite() {
            true => Ok(summary),
            false => Err(format!("`{name}` is {}, which is no number", summary.median)),
        }
    };
    let in_unit =
        |value| units::quantity(value, figure.unit).ok_or_else(|| format!("`{name}` is not a number"));
    match form {
        Form::Quantity => {
            if figure.kind != Kind::Observation {
                number()?;
            }
            Ok(table::cell(figure))
        }
        Form::Range => {
            let summary = number()?;
            let (low, high) = match figure.kind {
                Kind::Spread => summary.extremes,
                _ => summary.session_range(),
            };
            Ok(range(in_unit(low)?, in_unit(high)?))
        }
        Form::Count if figure.unit == Unit::Count => {
            number()?;
            Ok(table::cell(figure))
        }
        Form::Percent if figure.unit == Unit::One => {
            let value = number()?.median;
            units::percent(value).ok_or_else(|| format!("`{name}` is not a number"))
        }
        Form::Count | Form::Percent | Form::Times => Err(format!(
            "`{name}` is in {}, which this filter does not print; use `| quantity`, or make a ratio of it",
            figure.unit
        )),
    }
}

fn show_ratio(of: &Figure, to: &Figure, form: Form) -> Result<String, String> {
    let name = format!("{} over {}", of.describe(), to.describe());
    let summaries = (of.summary(), to.summary());
    let (Some(above), Some(below)) = summaries else {
        return Err(format!("`{name}`: a side has no samples"));
    };
    let print: fn(f64) -> Option<String> = match form {
        Form::Times => units::times,
        Form::Percent => units::percent,
        _ => return Err(format!("`{name}` is a ratio; print it with `| times` or `| percent`")),
    };
    let show = |value: f64| print(value).ok_or_else(|| format!("`{name}` is {value}, which is no number"));
    let (low, high) = (
        above.session_range().0 / below.session_range().1,
        above.session_range().1 / below.session_range().0,
    );
    if high > low * (1.0 + AGREEMENT) {
        return Ok(range(show(low)?, show(high)?));
    }
    show(above.median / below.median)
}

fn range(low: String, high: String) -> String {
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use labs_record::{At, Samples};

    fn figure(kind: Kind, unit: Unit, sessions: &[f64]) -> Box<Figure> {
        Box::new(Figure {
            name: "f".to_owned(),
            variant: None,
            at: At::new(),
            unit,
            kind,
            median: None,
            samples: sessions.iter().map(|value| Samples::Numbers(vec![*value])).collect(),
            set_aside: Vec::new(),
        })
    }

    fn source(draft: bool) -> Provenance {
        Provenance { origin: "G".to_owned(), draft }
    }

    fn said(figure: Box<Figure>, form: Form) -> Result<String, String> {
        let html = show(&Quantity::Figure(figure, source(false)), form)?;
        Ok(html.split_once('>').map_or(String::new(), |(_, text)| text.replace("</span>", "")))
    }

    #[test]
    fn sessions_that_disagree_are_shown_as_a_range() {
        let time = |sessions: &[f64]| figure(Kind::Duration, Unit::Nanoseconds, sessions);
        assert_eq!(said(time(&[1e3, 1.01e3]), Form::Quantity).unwrap(), "1.00&#160;µs");
        assert_eq!(said(time(&[1e3, 1.2e3]), Form::Quantity).unwrap(), "1.00&#160;µs to 1.20&#160;µs");
        assert_eq!(said(time(&[1e3, 1.01e3]), Form::Range).unwrap(), "1.00&#160;µs to 1.01&#160;µs");
        let ratio = Quantity::Ratio(time(&[1e3, 1.2e3]), time(&[1e2, 1e2]), source(false));
        assert!(show(&ratio, Form::Times).unwrap().contains("10.0× to 12.0×"));
        assert!(show(&ratio, Form::Percent).unwrap().contains("1,000&#160;% to 1,200&#160;%"));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let nothing = figure(Kind::Duration, Unit::Nanoseconds, &[]);
        assert!(said(nothing, Form::Quantity).unwrap_err().contains("no samples"));
        let nan = figure(Kind::Duration, Unit::Nanoseconds, &[f64::NAN]);
        assert!(said(nan, Form::Quantity).unwrap_err().contains("NaN"));
        let endless = figure(Kind::Spread, Unit::One, &[f64::INFINITY]);
        assert!(said(endless, Form::Range).unwrap_err().contains("no number"));
    }

    #[test]
    fn drafts_are_marked() {
        let one = Quantity::Figure(figure(Kind::Exact, Unit::Count, &[3.0]), source(true));
        assert!(show(&one, Form::Count).unwrap().contains("class=\"measured draft\""));
        assert!(show(&one, Form::Count).unwrap().contains(">draft</sup>"));
    }

    #[test]
    fn handles() {
        assert_eq!(place(&handle(7)), Some(7));
        assert_eq!(place("7"), None);
        assert_eq!(place(&format!("{} ", handle(7))), None);
        assert!(escaped_its_filter(&format!("a{}", handle(7))));
    }
}
