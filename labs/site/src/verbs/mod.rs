//! The verbs of the templates: functions that print figures, tables, charts and claims, and the filters that
//! print numbers.

mod agreement;
mod bits;
mod cells;
mod chart;
mod claims;
mod code;
mod figures;
mod foot;
mod lists;
mod map;
mod model;
mod outcomes;
mod selection;
mod slices;
mod sources;
mod tables;
mod verdicts;

use std::sync::Arc;

use tera::{Error, Kwargs, State, Tera, TeraResult, Value};

use crate::arguments::Arguments;
use crate::page::Page;
use crate::quantity::Form;

pub(crate) use lists::unverified;

/// A verb: from the page and the call's arguments to HTML, or to a handle.
type Verb = fn(&Page, &mut Arguments) -> Result<String, String>;

/// Verbs that print within a sentence, or give a handle.
const INLINE: [(&str, Verb); 6] = [
    ("figure", figures::figure),
    ("ratio", figures::ratio),
    ("gpu", figures::gpu),
    ("rule", figures::rule),
    ("lab", figures::lab),
    ("verdict", claims::verdict),
];

/// Verbs that print a block.
const BLOCKS: [(&str, Verb); 28] = [
    ("table", tables::table),
    ("published", tables::published),
    ("output", tables::output),
    ("chart", chart::chart),
    ("bits", bits::bits),
    ("line_map", map::line_map),
    ("outcomes", outcomes::outcomes),
    ("slices", slices::slices),
    ("claim", claims::claim),
    ("claims", claims::claims),
    ("verdicts", verdicts::verdicts),
    ("instructions", code::instructions),
    ("variant_diff", code::variant_diff),
    ("resources", code::resources),
    ("variants", code::variants),
    ("record_foot", foot::record_foot),
    ("labs", lists::labs),
    ("records", lists::records),
    ("agreement", agreement::agreement),
    ("model", model::model),
    ("cells", cells::cells),
    ("cells_short", cells::cells_short),
    ("cells_filter", cells::cells_filter),
    ("cell_targets", cells::cell_targets),
    ("cell_contrasts", cells::cell_contrasts),
    ("cell_prices", cells::cell_prices),
    ("sources", sources::sources),
    ("side_by_side", verdicts::side_by_side),
];

/// Names of the verbs that print a block, and so must stand alone.
pub fn blocks() -> impl Iterator<Item = &'static str> {
    BLOCKS.iter().map(|(name, _)| *name)
}

/// Every name a template may use, for errors.
pub fn names() -> String {
    let functions: Vec<&str> = INLINE.iter().chain(&BLOCKS).map(|(name, _)| *name).collect();
    let filters: Vec<&str> = Form::ALL.iter().map(|(name, _)| *name).collect();
    format!("functions: {}; filters: {}", functions.join(", "), filters.join(", "))
}

/// Gives a page's templates their verbs and filters.
pub fn register(tera: &mut Tera, page: &Arc<Page>) {
    for (name, verb) in INLINE.into_iter().chain(BLOCKS) {
        let page = page.clone();
        tera.register_function(name, move |given: Kwargs, _: &State| -> TeraResult<Value> {
            let mut arguments = Arguments::new(name, &given);
            let html = verb(&page, &mut arguments).map_err(Error::message)?;
            arguments.finish().map_err(Error::message)?;
            // A handle is not marked safe: printed bare, it is refused.
            Ok(match crate::quantity::place(&html) {
                Some(_) => Value::normal_string(&html),
                None => Value::safe_string(&html),
            })
        });
    }
    for (name, form) in Form::ALL {
        let page = page.clone();
        tera.register_filter(name, move |value: &Value, _: Kwargs, _: &State| -> TeraResult<Value> {
            let html = figures::print(&page, value, name, form).map_err(Error::message)?;
            Ok(Value::safe_string(&html))
        });
    }
    // Tera's own `safe` and `default` would let text and missing numbers through.
    for name in ["safe", "default"] {
        tera.register_filter(name, move |_: &Value, _: Kwargs, _: &State| -> TeraResult<Value> {
            Err(Error::message(format!("the filter `{name}` is not to be used on a page")))
        });
    }
}
