//! One page on its way from template to Markdown.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use labs_record::manifest::LabEntry;
use labs_record::rules::Status;
use tera::{Context, Delimiters, ErrorKind, Kwargs, State, Tera, Value};

use crate::arguments::Arguments;
use crate::html;
use crate::quantity::{self, Provenance, Quantity};
use crate::tree::{FiledRecord, Tree};
use crate::verbs;

/// Which GPU's numbers fill the pages, and whether drafts may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edition {
    /// The GPU's slug.
    pub gpu: String,
    /// Show unverified figures, marked.
    pub draft: bool,
    /// Folder of the built book that holds copies of the records; none if they are not copied.
    pub records: Option<String>,
    /// The GPU whose edition stands at the book's root, where other GPUs' editions stand beside it.
    pub reference: Option<String>,
}

/// What the verbs of one page see.
pub struct Page {
    /// All there is to show.
    pub tree: Arc<Tree>,
    /// For which GPU.
    pub edition: Edition,
    /// `day26_sum.md`
    pub path: String,
    /// The page's own lab: the one whose stem is the file's.
    pub lab: Option<String>,
    quantities: Mutex<Vec<Quantity>>,
    ids: Mutex<BTreeSet<String>>,
}

/// What a verb says when the chosen GPU has no record: the place is kept, no other number fills it.
pub type OrMissing<T> = Result<T, String>;

impl Page {
    /// The page at `path`, from the book's source folder on.
    pub fn new(tree: Arc<Tree>, edition: Edition, path: &str) -> Page {
        let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md");
        let lab = tree.manifest.labs.contains_key(stem).then(|| stem.to_owned());
        Page {
            tree,
            edition,
            path: path.to_owned(),
            lab,
            quantities: Mutex::default(),
            ids: Mutex::default(),
        }
    }

    /// Renders a template into Markdown.
    ///
    /// # Errors
    /// With file, line and column: whatever the template asks for in vain.
    pub fn render(self: &Arc<Page>, source: &str) -> Result<String, String> {
        let mut tera = Tera::new();
        let refused = |error: tera::Error| describe(&error, &self.path, source);
        tera.set_delimiters(Delimiters {
            block_start: "<*".into(),
            block_end: "*>".into(),
            variable_start: "<%".into(),
            variable_end: "%>".into(),
            comment_start: "<#".into(),
            comment_end: "#>".into(),
        })
        .map_err(refused)?;
        tera.set_escape_fn(|text, output| output.write_all(html::inline(text).as_bytes()));
        tera.autoescape_on([".md"]);
        verbs::register(&mut tera, self);
        tera.register_filter(PRINTED, |value: &Value, _: Kwargs, _: &State| printable(value));
        tera.add_raw_template(&self.path, &through_filter(source)).map_err(refused)?;
        let text = tera.render(&self.path, &Context::new()).map_err(refused)?;
        match quantity::escaped_its_filter(&text) {
            true => Err(format!("{}: a figure is printed without a filter; add `| quantity`", self.path)),
            false => Ok(text),
        }
    }

    /// The lab a call speaks of: its argument `lab`, else the page's own.
    pub fn lab_name(&self, arguments: &mut Arguments) -> Result<String, String> {
        let known = || self.tree.manifest.labs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        match arguments.text("lab")?.or_else(|| self.lab.clone()) {
            Some(lab) if self.tree.manifest.labs.contains_key(&lab) => Ok(lab),
            Some(lab) => Err(format!("there is no lab `{lab}`; there are: {}", known())),
            None => {
                Err(format!("this page is no lab's chapter: name one with `lab=`; there are: {}", known()))
            }
        }
    }

    /// A lab of the manifest.
    pub fn lab_entry(&self, lab: &str) -> Result<&LabEntry, String> {
        self.tree.manifest.labs.get(lab).ok_or_else(|| format!("there is no lab `{lab}`"))
    }

    /// The chosen GPU's record of a lab; else what to say in its place.
    pub fn record(&self, lab: &str) -> OrMissing<&FiledRecord> {
        self.tree
            .record(lab, &self.edition.gpu)
            .ok_or_else(|| format!("not measured: there is no record of {lab} on {}", self.edition.gpu))
    }

    /// Where a record's numbers come from.
    pub fn provenance(&self, filed: &FiledRecord) -> Provenance {
        let count = |n: usize, thing: &str| format!("{n} {thing}{}", if n == 1 { "" } else { "s" });
        Provenance {
            origin: format!(
                "{}, {} in {}",
                filed.record.gpu.name,
                count(filed.record.sessions(), "session"),
                count(filed.record.sittings.len(), "sitting"),
            ),
            draft: filed.status != Status::Verified,
        }
    }

    /// Keeps a quantity and gives its handle.
    pub fn keep(&self, quantity: Quantity) -> String {
        let mut kept = self.quantities.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(quantity);
        quantity::handle(kept.len() - 1)
    }

    /// The quantity behind a template's value.
    pub fn kept(&self, value: &Value) -> Option<Quantity> {
        let place = quantity::place(value.as_str()?)?;
        self.quantities.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned()
    }

    /// An id that no other element of the book has: the page's stem, the wish, and a number if that is taken.
    pub fn id(&self, wish: &str) -> String {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let stem = self.path.trim_end_matches(".md").replace(['/', '.'], "-");
        let base = format!("{stem}-{wish}");
        let mut id = base.clone();
        let mut number = 2;
        while !ids.insert(id.clone()) {
            id = format!("{base}-{number}");
            number += 1;
        }
        id
    }
}

/// `path:line:column: message` out of Tera's report, which reads `error: message`, then `--> path:line:column`.
fn placed(report: &str, path: &str) -> Option<String> {
    let (message, rest) = report.trim_start_matches("error: ").split_once("-->")?;
    let place = rest.split_whitespace().next()?;
    place.strip_prefix(path)?.strip_prefix(':')?;
    Some(format!("{place}: {}", message.trim()))
}

/// A block in place of what the chosen GPU has no numbers for.
pub fn missing_block(why: &str) -> String {
    format!("<div class=\"missing\" role=\"note\"><p>{}</p></div>", html::escape(why))
}

/// The filter that every `<% .. %>` ends in.
const PRINTED: &str = "printed";

/// Ends every `<% .. %>` in the filter `printed`, so that what must not be printed is refused with its place. The
/// columns of errors stay what they are in the source.
fn through_filter(source: &str) -> String {
    let mut text = String::new();
    let mut rest = source;
    while let Some((before, after)) = rest.split_once("<%") {
        let Some((inside, behind)) = after.split_once("%>") else { break };
        let (left, inside) = inside.strip_prefix('-').map_or(("", inside), |inside| ("-", inside));
        let (inside, right) = inside.strip_suffix('-').map_or((inside, ""), |inside| (inside, "-"));
        let inside = inside.strip_prefix(' ').unwrap_or(inside);
        text += &format!("{before}<%{left}({inside})|{PRINTED} {right}%>");
        rest = behind;
    }
    text + rest
}

/// What may be printed: the HTML of verbs and filters, and texts. Numbers, nulls and handles are refused, for no
/// unit stands beside them.
fn printable(value: &Value) -> tera::TeraResult<Value> {
    let refuse = |why: String| Err(tera::Error::message(why));
    match value.as_str() {
        Some(text) if quantity::escaped_its_filter(text) => {
            refuse("a figure is printed without a filter; add `| quantity`".to_owned())
        }
        Some(text) if text.trim().is_empty() => refuse("an empty text is printed".to_owned()),
        Some(text) if !value.is_safe() && text.parse::<f64>().is_ok() => {
            refuse(format!("the number `{text}` is printed bare; numbers come from figure() with a filter"))
        }
        Some(_) => Ok(value.clone()),
        None if value.is_undefined() => {
            refuse(format!("what is printed is not defined; there are {}", verbs::names()))
        }
        None if value.is_none() => refuse("null is printed".to_owned()),
        None => refuse(format!("`{value}` is printed bare; numbers come from figure() with a filter")),
    }
}

/// A template's error with file, line and column, and what Tera keeps apart: causes, and the names there are.
fn describe(error: &tera::Error, path: &str, source: &str) -> String {
    let mut text = match error.kind() {
        ErrorKind::SyntaxError(report) | ErrorKind::RenderingError(report) => {
            let span = report.span();
            let line = source.lines().nth(span.start_line.saturating_sub(1)).unwrap_or_default();
            let place = format!("{path}:{}:{}", span.start_line, span.start_col + 1);
            format!("{place}: {}{}", report.message(), expression(line, span.start_col))
        }
        // The place of an unknown function or filter is in the report alone.
        _ => match placed(&error.to_string(), path) {
            Some(text) => text,
            None => format!("{path}: {error}"),
        },
    };
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text += &format!(": {inner_text}");
        }
        cause = inner.source();
    }
    if text.contains("Unknown f") {
        text += &format!("; there are {}", verbs::names());
    }
    text
}

/// ` in <% .. %>`, the expression around a column; nothing if it is not within the line.
fn expression(line: &str, column: usize) -> String {
    let around = || {
        let start = line.get(..column)?.rfind("<%")?;
        let end = start + line.get(start..)?.find("%>")? + 2;
        line.get(start..end)
    };
    around().map_or(String::new(), |text| format!(" in `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_passes_the_filter_in_its_place() {
        assert_eq!(
            through_filter("a <% b ~ c %> d\n<%- e | f -%>"),
            "a <%(b ~ c )|printed %> d\n<%-(e | f )|printed -%>"
        );
        assert_eq!(through_filter("a <% b"), "a <% b");
    }
}
