//! Numbers and facts within a sentence.

use labs_record::record::Reading;
use labs_record::rules::{SAMPLES, SESSIONS};
use labs_record::statistics::AGREEMENT;
use labs_record::units;
use tera::Value;

use super::selection;
use crate::arguments::Arguments;
use crate::html;
use crate::page::Page;
use crate::quantity::{Form, Provenance, Quantity, show};
use crate::tree::FiledRecord;

/// `figure(name=.., variant=.., <axis>=..)`: a handle of one figure of the record; with `published=` of one published
/// elsewhere.
pub(super) fn figure(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let (name, variant) = (arguments.need("name")?, arguments.text("variant")?);
    let published = arguments.text("published")?;
    let at = arguments.axes()?;
    selection::known_figure(page.lab_entry(&lab)?, &name)?;
    if let Some(gpu) = published {
        let found = page.tree.published_figures(&lab, &gpu)?;
        let figures = page.lab_entry(&lab)?.with_derived(&found.compared());
        let figure = selection::single(&figures, &name, variant.as_deref(), &at)?.ok_or_else(|| {
            format!(
                "nothing of the kind is published; {}",
                selection::what_there_is(&figures, &name, variant.as_deref())
            )
        })?;
        let origin = format!("published, not measured here: {}, {}", found.gpu.name, found.source.title);
        let provenance = Provenance { origin, draft: false };
        return Ok(page.keep(Quantity::Figure(Box::new(figure.clone()), provenance)));
    }
    let quantity = match page.record(&lab) {
        Err(_) => Quantity::Missing(format!("not measured on {}", page.edition.gpu)),
        Ok(filed) => {
            let found = selection::one(page, filed, &name, variant.as_deref(), &at)?;
            match found {
                Ok(figure) => Quantity::Figure(Box::new(figure.clone()), page.provenance(filed)),
                Err(absent) => Quantity::Missing(absent),
            }
        }
    };
    Ok(page.keep(quantity))
}

/// `ratio(of=figure(..), to=figure(..))`: a handle of the first over the second.
pub(super) fn ratio(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let mut side = |name| {
        let value = arguments.value(name)?;
        page.kept(&value).ok_or_else(|| format!("ratio(): `{name}` is `{value}`; it takes a figure(..)"))
    };
    let (of, to) = (side("of")?, side("to")?);
    let quantity = match (of, to) {
        (Quantity::Missing(why), _) | (_, Quantity::Missing(why)) => Quantity::Missing(why),
        (Quantity::Figure(of, provenance), Quantity::Figure(to, _)) => {
            if of.unit != to.unit {
                return Err(format!(
                    "ratio(): `{}` is in {} and `{}` in {}",
                    of.describe(),
                    of.unit,
                    to.describe(),
                    to.unit
                ));
            }
            Quantity::Ratio(of, to, provenance)
        }
        _ => return Err("ratio() of a ratio is not printed".to_owned()),
    };
    Ok(page.keep(quantity))
}

/// A filter: the value as text in a form.
pub(super) fn print(page: &Page, value: &Value, filter: &str, form: Form) -> Result<String, String> {
    if let Some(quantity) = page.kept(value) {
        return show(&quantity, form);
    }
    if value.is_undefined() {
        return Err(format!("what `| {filter}` was given is not defined; there are {}", super::names()));
    }
    if value.is_none() {
        return Err(format!("`| {filter}` was given null"));
    }
    match value.as_f64().or_else(|| value.as_u64().map(|whole| whole as f64)) {
        Some(number) if !number.is_finite() => {
            Err(format!("`| {filter}` was given {number}, which is no number"))
        }
        Some(number) if form == Form::Count && number.fract() == 0.0 => Ok(units::count(number)),
        Some(number) => {
            Err(format!("`| {filter}` was given the bare number {number}; it takes figure(..) or ratio(..)"))
        }
        None => Err(format!("`| {filter}` was given `{value}`; it takes figure(..) or ratio(..)")),
    }
}

/// `gpu(fact=..)`: a fact of the chosen GPU, from the lab's record; on a page without a lab from any of its records.
pub(super) fn gpu(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let fact = arguments.need("fact")?;
    let lab = arguments.text("lab")?.or_else(|| page.lab.clone());
    let Some((_, read)) = FACTS.iter().find(|(name, _)| *name == fact) else {
        let names: Vec<&str> = FACTS.iter().map(|(name, _)| *name).collect();
        return Err(format!("gpu(): there is no fact `{fact}`; there are: {}", names.join(", ")));
    };
    let filed = match &lab {
        Some(lab) => page.tree.record(lab, &page.edition.gpu),
        None => page.tree.records.iter().find(|filed| filed.slug == page.edition.gpu),
    };
    Ok(match filed {
        Some(filed) => html::inline(&read(filed)),
        None if fact == "slug" => html::inline(&page.edition.gpu),
        None => {
            let why = format!("there is no record on {}", page.edition.gpu);
            format!("<span class=\"missing\">[{}]</span>", html::inline(&why))
        }
    })
}

/// Reads a fact from a record.
type Fact = fn(&FiledRecord) -> String;

const FACTS: [(&str, Fact); 15] = [
    ("name", |filed| filed.record.gpu.name.clone()),
    ("slug", |filed| filed.slug.clone()),
    ("compute_capability", |filed| filed.record.gpu.compute_capability.clone()),
    ("sms", |filed| filed.record.gpu.sms.to_string()),
    ("l2", |filed| bytes(filed.record.gpu.l2_bytes)),
    ("memory", |filed| bytes(filed.record.gpu.memory_bytes)),
    ("ecc", |filed| {
        let word = filed.record.gpu.ecc.map(|on| if on { "on" } else { "off" });
        word.unwrap_or("not readable").to_owned()
    }),
    ("driver", drivers),
    ("compiler", |filed| format!("{} {}", filed.record.compiler.name, filed.record.compiler.version)),
    ("dates", |filed| filed.dates().join(", ")),
    ("sittings", |filed| filed.record.sittings.len().to_string()),
    ("sessions", |filed| filed.record.sessions().to_string()),
    ("sm_clock", |filed| reading(filed, "MHz", |session| &session.sm_clock_mhz)),
    ("memory_clock", |filed| reading(filed, "MHz", |session| &session.memory_clock_mhz)),
    ("power", |filed| reading(filed, "W", |session| &session.power_w)),
];

/// A size in bytes for people.
pub(super) fn bytes(bytes: u64) -> String {
    units::quantity(bytes as f64, labs_record::Unit::Bytes).unwrap_or_default()
}

/// The drivers of all sittings.
pub(super) fn drivers(filed: &FiledRecord) -> String {
    let mut drivers: Vec<&str> =
        filed.record.sittings.iter().map(|sitting| sitting.driver.as_str()).collect();
    drivers.sort_unstable();
    drivers.dedup();
    drivers.join(", ")
}

/// A sensor over all sessions: from its smallest to its largest value, or why it was not read.
pub(super) fn reading(
    filed: &FiledRecord,
    unit: &str,
    sensor: fn(&labs_record::record::Session) -> &Reading,
) -> String {
    let sessions = filed.record.sittings.iter().flat_map(|sitting| &sitting.sessions);
    let (mut seen, mut absent) = (Vec::new(), None);
    for session in sessions {
        match sensor(session) {
            Reading::Seen { min, max, .. } => seen.push((*min, *max)),
            Reading::Absent(why) => absent = Some(why.clone()),
        }
    }
    let low = seen.iter().map(|(min, _)| *min).fold(f64::INFINITY, f64::min);
    let high = seen.iter().map(|(_, max)| *max).fold(f64::NEG_INFINITY, f64::max);
    match (seen.is_empty(), absent) {
        (true, why) => why.unwrap_or_else(|| "not readable".to_owned()),
        (false, _) if low == high => format!("{} {unit}", units::count(low.round())),
        (false, _) => format!("{} to {} {unit}", units::count(low.round()), units::count(high.round())),
    }
}

/// `rule(name=..)`: a constant of the rules.
pub(super) fn rule(_: &Page, arguments: &mut Arguments) -> Result<String, String> {
    match arguments.need("name")?.as_str() {
        "sessions" => Ok(SESSIONS.to_string()),
        "samples" => Ok(SAMPLES.to_string()),
        "agreement" => Ok(format!("{}&#160;%", units::count((AGREEMENT * 100.0).round()))),
        other => Err(format!("rule(): there is no rule `{other}`; there are: sessions, samples, agreement")),
    }
}

/// `lab(fact=..)`: what the manifest says of a lab.
pub(super) fn lab(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let entry = page.lab_entry(&lab)?;
    match arguments.need("fact")?.as_str() {
        "question" => Ok(html::inline(&entry.question)),
        "part" => Ok(entry.part.to_string()),
        "variants" => Ok(entry.variants.len().to_string()),
        other => Err(format!("lab(): there is no fact `{other}`; there are: question, part, variants")),
    }
}
