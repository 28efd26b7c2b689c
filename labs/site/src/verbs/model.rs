//! The queue model, held against what was measured.

use std::collections::BTreeMap;

use labs_chart::{Series, Words};
use labs_record::figure::Unit;
use labs_record::model::{self, Prediction};
use labs_record::{Record, agreement, units};

use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};

/// `model()`: how many predictions hit, a chart of all, and a table a lab.
pub(super) fn model(page: &Page, _: &mut Arguments) -> Result<String, String> {
    let stems = page.tree.manifest.labs.keys();
    let records: BTreeMap<String, &Record> =
        stems.filter_map(|stem| Some((stem.clone(), &page.record(stem).ok()?.record))).collect();
    let all = match model::predictions(&records) {
        Ok(all) if !all.is_empty() => all,
        Ok(_) => {
            return Ok(missing_block("none of the labs that the model predicts was measured on this GPU"));
        }
        Err(why) => return Ok(missing_block(&why)),
    };
    let mut text = format!("<p>{}</p>", sentence(&all));
    text += &chart(page, &all)?;
    for lab in labs(&all) {
        text += &table(lab, &all);
        text += &misses(lab, &all);
    }
    Ok(text)
}

fn labs(all: &[Prediction]) -> Vec<&str> {
    let mut labs: Vec<&str> = all.iter().map(|one| one.lab.as_str()).collect();
    labs.dedup();
    labs
}

/// How often the model is right where it may be held to it.
fn sentence(all: &[Prediction]) -> String {
    let number = |n: usize| units::count(n as f64);
    let counted: Vec<&Prediction> = all.iter().filter(|one| one.counts()).collect();
    let hits = counted.iter().filter(|one| one.hits()).count();
    format!(
        "The model predicts {} figures. In {} of them a queue of atomics is at least half the time; {} of these are within {} of \
         what was measured.",
        number(all.len()),
        number(counted.len()),
        number(hits),
        units::percent(model::AIM).unwrap_or_default()
    )
}

fn chart(page: &Page, all: &[Prediction]) -> Result<String, String> {
    let of_lab = |lab: &str| {
        let mut points: Vec<(f64, f64)> =
            all.iter().filter(|one| one.lab == lab).map(|one| (one.measured_ns, one.predicted_ns)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { name: lab.to_owned(), points }
    };
    let mut series: Vec<Series> = labs(all).into_iter().map(of_lab).collect();
    let measured = || all.iter().map(|one| one.measured_ns);
    let ends = [measured().fold(f64::INFINITY, f64::min), measured().fold(0.0, f64::max)];
    series.push(Series { name: "as measured".to_owned(), points: ends.map(|end| (end, end)).into() });
    let id = page.id("chart-model");
    let title = "Predicted time along measured time";
    let words = Words {
        id: &id,
        title,
        axis: "measured, ns",
        figure: "predicted",
        unit: Unit::Nanoseconds,
        numbers: "The numbers stand in the tables under the chart.",
    };
    let svg = labs_chart::for_page(&series, &[], &words).ok_or("model(): no time is above zero")?;
    Ok(format!(
        "<figure class=\"chart\"><div class=\"chart-scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Chart of predicted along \
         measured time\">{svg}</div><figcaption><span>{title}</span><span class=\"note\">both axes logarithmic</span></figcaption>\
         </figure>"
    ))
}

fn table(lab: &str, all: &[Prediction]) -> String {
    let time = |ns: f64| units::quantity(ns, Unit::Nanoseconds).unwrap_or_default();
    let rows: Vec<Vec<String>> = all
        .iter()
        .filter(|one| one.lab == lab)
        .map(|one| {
            let within = match (one.counts(), one.hits()) {
                (false, _) => "not held to it",
                (true, true) => "yes",
                (true, false) => "no",
            };
            vec![
                format!("<code class=\"whole\">{}</code>", html::escape(&one.variant)),
                html::escape(&agreement::place(&one.at)),
                one.bound.to_owned(),
                time(one.predicted_ns),
                time(one.measured_ns),
                units::three_digits(one.ratio()),
                within.to_owned(),
            ]
        })
        .collect();
    let columns =
        ["variant", "at", "longest", "predicted", "measured", "ratio", "within the aim"].map(str::to_owned);
    let table = html::table(&format!("The model and {lab}"), "", &columns, &rows);
    format!("<div class=\"words\">{table}</div>")
}

/// The misses among those that count, and what the model leaves out of them.
fn misses(lab: &str, all: &[Prediction]) -> String {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in all.iter().filter(|one| one.lab == lab && one.counts() && !one.hits()) {
        let variants = reasons.entry(one.leaves_out).or_default();
        if !variants.contains(&one.variant.as_str()) {
            variants.push(&one.variant);
        }
    }
    let items = reasons.iter().map(|(reason, variants)| {
        let names: Vec<String> =
            variants.iter().map(|name| format!("<code>{}</code>", html::escape(name))).collect();
        let why = match *reason {
            "" => "the model does not explain it".to_owned(),
            reason => format!("the model leaves out {}", html::with_code(reason)),
        };
        format!("<li>{}: {why}.</li>", names.join(", "))
    });
    let items: String = items.collect();
    if items.is_empty() { items } else { format!("<p>Where it misses:</p><ul>{items}</ul>") }
}
