//! Which figures a verb speaks of, and the errors for those that are not there.

use std::borrow::Cow;
use std::collections::BTreeSet;

use labs_record::figure::{At, Figure};
use labs_record::manifest::LabEntry;
use labs_record::record::Absent;
use labs_record::rules::Status;
use labs_record::table::by_place;

use crate::arguments::Arguments;
use crate::page::Page;
use crate::tree::FiledRecord;

/// One figure name along one axis, by variant.
pub(super) struct Selection {
    /// The figure's name.
    pub figure: String,
    /// The axis along which it goes.
    pub axis: String,
    /// The axis whose places are columns or lines in the variants' stead.
    pub by: Option<String>,
    /// The variants asked for; none for all that have it.
    pub variants: Option<Vec<String>>,
    /// What the page calls it; none for the figure's name.
    pub caption: Option<String>,
    /// Places on the other axes.
    pub at: At,
}

impl Selection {
    /// Reads the arguments `figure`, `variants`, `caption`, the axes under the names `axis` and `by`, and places.
    pub(super) fn read(
        arguments: &mut Arguments,
        axis: &'static str,
        by: &'static str,
    ) -> Result<Selection, String> {
        Ok(Selection {
            figure: arguments.need("figure")?,
            axis: arguments.need(axis)?,
            by: arguments.text(by)?,
            variants: arguments.texts("variants")?,
            caption: arguments.text("caption")?,
            at: arguments.axes()?,
        })
    }

    /// The figures with what their columns are called: variants, or places on the axis `by`.
    ///
    /// # Errors
    /// As [`Selection::columns`].
    pub(super) fn view<'a>(
        &self,
        figures: &'a [Figure],
        order: &[&str],
        absent: &[Absent],
    ) -> Result<View<'a>, String> {
        if self.by.is_none() {
            let columns = self.columns(figures, order, absent)?;
            return Ok(View { figures: Cow::Borrowed(figures), columns });
        }
        let asked = |figure: &&Figure| {
            let among = |names: &Vec<String>| names.iter().any(|name| figure.variant.as_ref() == Some(name));
            self.variants.as_ref().is_none_or(among)
        };
        let mut chosen: Vec<Figure> = self.chosen(figures).into_iter().filter(asked).cloned().collect();
        let columns = self.by.as_deref().map_or_else(Vec::new, |axis| by_place(&mut chosen, axis));
        if columns.is_empty() {
            return Err(self.nothing(figures));
        }
        self.one_a_cell(&chosen.iter().collect::<Vec<_>>())?;
        Ok(View { figures: Cow::Owned(chosen), columns })
    }

    fn chosen<'a>(&self, figures: &'a [Figure]) -> Vec<&'a Figure> {
        figures
            .iter()
            .filter(|figure| figure.name == self.figure && figure.at.contains_key(&self.axis))
            .filter(|figure| self.at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place)))
            .collect()
    }

    fn nothing(&self, figures: &[Figure]) -> String {
        let by = self.by.as_ref().map_or(String::new(), |axis| format!(" by `{axis}`"));
        format!(
            "there is no figure `{}` along `{}`{by}{}; {}",
            self.figure,
            self.axis,
            places_text(&self.at),
            what_there_is(figures, &self.figure, None)
        )
    }

    /// The columns: the variants asked for, else those that have the figure, in the order of `order`, then others.
    ///
    /// # Errors
    /// A variant without figures, no figure at all, or several figures in one cell.
    fn columns(&self, figures: &[Figure], order: &[&str], absent: &[Absent]) -> Result<Vec<String>, String> {
        let chosen = self.chosen(figures);
        if chosen.is_empty() {
            return Err(self.nothing(figures));
        }
        let mut present: Vec<&str> = chosen.iter().filter_map(|figure| figure.variant.as_deref()).collect();
        present
            .sort_by_key(|name| (order.iter().position(|known| known == name).unwrap_or(usize::MAX), *name));
        present.dedup();
        let columns: Vec<String> = match &self.variants {
            None => present.iter().map(|name| (*name).to_owned()).collect(),
            Some(asked) => asked.clone(),
        };
        for name in &columns {
            let excused = absent.iter().any(|absent| absent.what == *name) || order.contains(&name.as_str());
            if !present.contains(&name.as_str()) && !excused {
                return Err(format!(
                    "no variant `{name}` has `{}`; there are: {}",
                    self.figure,
                    present.join(", ")
                ));
            }
        }
        self.one_a_cell(&chosen)?;
        Ok(columns)
    }

    fn one_a_cell(&self, chosen: &[&Figure]) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for figure in chosen {
            let cell = (figure.variant.as_deref(), figure.at.get(&self.axis));
            if !seen.insert(cell) {
                return Err(format!(
                    "several figures fall on one place: `{}` is one; name more axes ({})",
                    figure.describe(),
                    figure.at.keys().cloned().collect::<Vec<_>>().join(", ")
                ));
            }
        }
        Ok(())
    }
}

/// Figures, and the columns of a table or lines of a chart over them.
pub(super) struct View<'a> {
    /// Named by column where a figure has its variant.
    pub(super) figures: Cow<'a, [Figure]>,
    /// In order.
    pub(super) columns: Vec<String>,
}

/// Refuses a figure's name that the lab does not know.
pub(super) fn known_figure(lab: &LabEntry, name: &str) -> Result<(), String> {
    if lab.figures.iter().any(|entry| entry.name == name) {
        return Ok(());
    }
    let names: Vec<&str> = lab.figures.iter().map(|entry| entry.name.as_str()).collect();
    Err(format!("the lab makes no figure `{name}`; it makes: {}", names.join(", ")))
}

/// The one figure that a name, a variant and places single out, if there is one.
///
/// # Errors
/// Several fit.
pub(super) fn single<'a>(
    figures: &'a [Figure],
    name: &str,
    variant: Option<&str>,
    at: &At,
) -> Result<Option<&'a Figure>, String> {
    let fits = |figure: &&Figure| {
        figure.name == name
            && figure.variant.as_deref() == variant
            && at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place))
    };
    let found: Vec<&Figure> = figures.iter().filter(fits).collect();
    match found.as_slice() {
        [] => Ok(None),
        [figure] => Ok(Some(figure)),
        [first, ..] => {
            Err(format!("{} figures fit; `{}` is one: name more axes", found.len(), first.describe()))
        }
    }
}

/// The one figure of a record that a name, a variant and places single out; the inner error says why the record
/// has none, for the page to show.
///
/// # Errors
/// None or several fit, and the record gives no reason.
pub(super) fn one<'a>(
    page: &Page,
    filed: &'a FiledRecord,
    name: &str,
    variant: Option<&str>,
    at: &At,
) -> Result<Result<&'a Figure, String>, String> {
    if let Some(figure) = single(&filed.figures, name, variant, at)? {
        return Ok(Ok(figure));
    }
    let absent = filed
        .record
        .absent
        .iter()
        .find(|absent| absent.what == name || Some(absent.what.as_str()) == variant);
    if let Some(absent) = absent {
        return Ok(Err(format!("not measured: {}", absent.why)));
    }
    let what =
        format!("`{name}`{}{}", variant.map_or(String::new(), |v| format!(" of `{v}`")), places_text(at));
    if page.edition.draft && filed.status != Status::Verified {
        return Ok(Err(format!("not measured: the draft has no {what}")));
    }
    Err(format!("the record has no figure {what}; {}", what_there_is(&filed.figures, name, variant)))
}

fn places_text(at: &At) -> String {
    let places: Vec<String> = at.iter().map(|(axis, place)| format!("{axis}={place}")).collect();
    if places.is_empty() { String::new() } else { format!(" at {}", places.join(", ")) }
}

/// The nearest things that exist: the variants of the figure, or its axes with their places.
pub(super) fn what_there_is(figures: &[Figure], name: &str, variant: Option<&str>) -> String {
    let named: Vec<&Figure> = figures.iter().filter(|figure| figure.name == name).collect();
    if named.is_empty() {
        let names: BTreeSet<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        return format!("there are: {}", Vec::from_iter(names).join(", "));
    }
    let same: Vec<&&Figure> =
        named.iter().filter(|figure| variant.is_none() || figure.variant.as_deref() == variant).collect();
    if same.is_empty() {
        let variants: BTreeSet<&str> = named.iter().filter_map(|figure| figure.variant.as_deref()).collect();
        return match variants.is_empty() {
            true => "it takes no variant".to_owned(),
            false => format!("its variants are: {}", Vec::from_iter(variants).join(", ")),
        };
    }
    let mut axes: Vec<String> = Vec::new();
    let names: BTreeSet<&String> = same.iter().flat_map(|figure| figure.at.keys()).collect();
    for axis in names {
        let places: BTreeSet<String> =
            same.iter().filter_map(|figure| figure.at.get(axis)).map(ToString::to_string).collect();
        axes.push(format!("{axis}={}", Vec::from_iter(places).join("|")));
    }
    format!("its places are: {}", axes.join(", "))
}
