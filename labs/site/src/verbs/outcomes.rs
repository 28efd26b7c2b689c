//! What a litmus matrix shows at a glance: a row a test, a column a version, a mark a cell. What is allowed and what is
//! forbidden is told by the record itself: it has a mutant for what is forbidden, and for nothing else.

use labs_record::figure::{Coordinate, Figure};
use labs_record::units;

use super::selection::known_figure;
use super::tables;
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};

/// The figures that a cell is made of.
const SEEN: &str = "weak";
const MUTANT: &str = "mutant";

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// Allowed, and seen.
    Seen,
    /// Allowed, and not seen.
    Unseen,
    /// Forbidden, and not seen.
    Forbidden,
    /// Not one try would have told.
    Nothing,
}

impl Mark {
    const ALL: [Mark; 4] = [Mark::Seen, Mark::Unseen, Mark::Forbidden, Mark::Nothing];

    fn of(seen: u64, tries: u64, forbidden: bool) -> Mark {
        match (seen, tries, forbidden) {
            (1.., _, _) => Mark::Seen,
            (0, 0, _) => Mark::Nothing,
            (0, _, true) => Mark::Forbidden,
            (0, _, false) => Mark::Unseen,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Mark::Seen => "●",
            Mark::Unseen => "○",
            Mark::Forbidden => "×",
            Mark::Nothing => "?",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Mark::Seen => "seen",
            Mark::Unseen => "unseen",
            Mark::Forbidden => "forbidden",
            Mark::Nothing => "nothing",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Mark::Seen => "allowed and seen",
            Mark::Unseen => "allowed, not seen",
            Mark::Forbidden => "forbidden, not seen",
            Mark::Nothing => "no try counts",
        }
    }
}

/// `outcomes(rows=.., caption=.., <axis>=..)`: the marks, what they mean, and folded the counts behind them.
pub(super) fn outcomes(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let (rows, caption) = (arguments.need("rows")?, arguments.need("caption")?);
    let at = arguments.axes()?;
    let entry = page.lab_entry(&lab)?;
    for figure in [SEEN, MUTANT] {
        known_figure(entry, figure)?;
    }
    let filed = match page.record(&lab) {
        Ok(filed) => filed,
        Err(why) => return Ok(missing_block(&why)),
    };
    let here = |figure: &&Figure| at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place));
    let figures: Vec<&Figure> = filed.figures.iter().filter(here).collect();
    let order: Vec<&str> = entry.variants.iter().map(|entry| entry.name.as_str()).collect();
    let grid = Grid::new(&figures, &order, &rows);
    if grid.places.is_empty() {
        return Err(format!("outcomes(): the record has no `{SEEN}` along `{rows}` at these places"));
    }
    let title = html::with_code(&caption);
    let note = tables::note(page, filed, &at);
    let heads = |name: fn(&str) -> String| -> Vec<String> {
        std::iter::once(html::escape(&rows))
            .chain(grid.variants.iter().map(|variant| name(variant)))
            .collect()
    };
    Ok(format!(
        "<div class=\"outcomes\">{}<p class=\"note\" aria-hidden=\"true\">{}</p></div>\
         <details><summary>The counts</summary>{}</details>",
        html::table(&title, &note, &heads(upright), &grid.cells(mark)),
        legend(),
        html::table(&title, &note, &heads(flat), &grid.cells(count)),
    ))
}

/// The figures of one place, by test and version.
struct Grid<'a> {
    figures: &'a [&'a Figure],
    rows: &'a str,
    places: Vec<&'a Coordinate>,
    variants: Vec<&'a str>,
}

impl<'a> Grid<'a> {
    fn new(figures: &'a [&'a Figure], order: &[&'a str], rows: &'a str) -> Grid<'a> {
        let seen = || figures.iter().filter(|figure| figure.name == SEEN);
        let mut places: Vec<&Coordinate> = seen().filter_map(|figure| figure.at.get(rows)).collect();
        places.sort();
        places.dedup();
        let has = |variant: &&&str| seen().any(|figure| figure.variant.as_deref() == Some(**variant));
        Grid { figures, rows, places, variants: order.iter().filter(has).copied().collect() }
    }

    fn find(&self, name: &str, variant: &str, place: &Coordinate) -> Option<&Figure> {
        self.figures.iter().copied().find(|figure| {
            figure.name == name
                && figure.variant.as_deref() == Some(variant)
                && figure.at.get(self.rows) == Some(place)
        })
    }

    /// A row a test: its name, and what `cell` makes of each version's count and of whether there is a mutant.
    fn cells(&self, cell: fn(&Figure, bool) -> String) -> Vec<Vec<String>> {
        let row = |place: &&Coordinate| {
            let cells = self.variants.iter().map(|variant| {
                let forbidden = self.find(MUTANT, variant, place).is_some();
                self.find(SEEN, variant, place).map_or_else(String::new, |figure| cell(figure, forbidden))
            });
            std::iter::once(html::escape(&labs_record::table::coordinate(place))).chain(cells).collect()
        };
        self.places.iter().map(row).collect()
    }
}

fn count(figure: &Figure, _forbidden: bool) -> String {
    html::escape(&labs_record::table::cell(figure))
}

fn mark(figure: &Figure, forbidden: bool) -> String {
    figure.tries().map_or_else(String::new, |(seen, tries)| drawn(seen, tries, forbidden))
}

fn flat(variant: &str) -> String {
    format!("<code>{}</code>", tables::breakable(variant))
}

/// A name set upright, so that many columns fit.
fn upright(variant: &str) -> String {
    format!("<code class=\"upright\">{}</code>", html::escape(variant))
}

/// A mark, with its meaning and count for those who point at it or hear it.
fn drawn(seen: u64, tries: u64, forbidden: bool) -> String {
    let mark = Mark::of(seen, tries, forbidden);
    let words =
        format!("{}: {} of {} tries", mark.words(), units::count(seen as f64), units::count(tries as f64));
    // By powers of ten, from one in ten million to all.
    let share = match mark {
        Mark::Seen => ((seen as f64 / tries as f64).log10() / 7.0 + 1.0).clamp(0.1, 1.0),
        _ => 0.0,
    };
    format!(
        "<span class=\"outcome {}\" style=\"--share:{:.0}%\" role=\"img\" aria-label=\"{words}\" title=\"{words}\">{}</span>",
        mark.class(),
        share * 100.0,
        mark.sign()
    )
}

fn legend() -> String {
    let one = |mark: Mark| {
        let share = if mark == Mark::Seen { 60 } else { 0 };
        format!(
            "<span class=\"outcome {}\" style=\"--share:{share}%\">{}</span> {}",
            mark.class(),
            mark.sign(),
            mark.words()
        )
    };
    let all: Vec<String> = Mark::ALL.into_iter().map(one).collect();
    format!("{}. The darker, the more often.", all.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_what_was_seen_and_what_it_means() {
        assert_eq!(Mark::of(1, 9, false), Mark::Seen);
        assert_eq!(Mark::of(0, 9, false), Mark::Unseen);
        assert_eq!(Mark::of(0, 9, true), Mark::Forbidden);
        assert_eq!(Mark::of(0, 0, true), Mark::Nothing);
        assert_eq!(Mark::of(0, 0, false), Mark::Nothing);
        // What is forbidden and seen is a contradiction, and must not look like a zero.
        assert_eq!(Mark::of(1, 9, true), Mark::Seen);
    }

    #[test]
    fn a_cell_tells_its_count_to_those_who_do_not_see_it() {
        let often = drawn(2_000_000, 4_000_000, false);
        assert!(often.contains("aria-label=\"allowed and seen: 2,000,000 of 4,000,000 tries\""), "{often}");
        assert!(often.contains("--share:96%"), "{often}");
        assert!(drawn(1, 10_000_000, false).contains("--share:10%"));
        assert!(drawn(0, 5, true).contains("forbidden, not seen: 0 of 5 tries"));
    }
}
