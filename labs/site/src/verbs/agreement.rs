//! The simulator held against the chosen GPU.

use labs_record::agreement::{Counters, Disagreement, LabAgreement, Subject, Tally, place};
use labs_record::units;

use super::foot::file_link;
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};
use crate::tree::FiledAgreement;

/// `agreement()`: how much was compared, how much agrees, and everything that does not.
pub(super) fn agreement(page: &Page, _: &mut Arguments) -> Result<String, String> {
    let gpu = &page.edition.gpu;
    let Some(filed) = page.tree.agreement(gpu).filter(|filed| !filed.agreement.labs.is_empty()) else {
        return Ok(missing_block(&format!("not measured: the simulator was not compared with {gpu}")));
    };
    let labs = &filed.agreement.labs;
    let rows: Vec<Vec<String>> = labs.iter().map(|lab| lab_row(page, filed, lab)).collect();
    let columns = ["lab", "date", "checks", "results", "differ", "counters", "differ"].map(str::to_owned);
    let name = html::escape(&filed.agreement.gpu.name);
    let note = format!("record: {}", file_link(page, &filed.path));
    let mut text = format!("<p>{}</p>", sentence(&name, labs));
    let caption = format!("The simulator and {name}");
    text += &format!("<div class=\"words\">{}</div>", html::table(&caption, &note, &columns, &rows));
    text += &disagreements(&name, labs);
    Ok(text + &remarks(labs))
}

fn number(n: usize) -> String {
    units::count(n as f64)
}

/// How much agrees over all labs.
fn sentence(gpu: &str, labs: &[LabAgreement]) -> String {
    let all = labs.iter().map(LabAgreement::tally).fold(Tally::default(), Tally::and);
    let differ = |n: usize| match n {
        0 => "none differs".to_owned(),
        1 => "1 differs".to_owned(),
        n => format!("{} differ", number(n)),
    };
    format!(
        "{} results on {gpu} were compared with the simulator's, and whether each of {} variants passed its check: {}. \
         {} counters were compared with predictions: {}.",
        number(all.results),
        number(all.checks),
        differ(all.results_differ),
        number(all.counters),
        differ(all.counters_differ)
    )
}

fn lab_row(page: &Page, filed: &FiledAgreement, lab: &LabAgreement) -> Vec<String> {
    let tally = lab.tally();
    let stale = lab.stale(&filed.agreement.gpu, &page.tree.manifest);
    let date = lab.started.split('T').next().unwrap_or_default();
    let mark = if stale.is_empty() {
        String::new()
    } else {
        format!(" <strong class=\"draft-mark\">stale: {}</strong>", html::escape(&stale.join("; ")))
    };
    let counters = match lab.counters {
        Counters::Read(_) => [number(tally.counters), number(tally.counters_differ)],
        Counters::Absent(_) => ["not read".to_owned(), labs_record::table::EMPTY.to_owned()],
    };
    let mut row = vec![
        format!("<code class=\"whole\">{}</code>", html::escape(&lab.lab)),
        format!("<span class=\"whole\">{}</span>{mark}", html::escape(date)),
        number(tally.checks),
        number(tally.results),
        number(tally.results_differ),
    ];
    row.extend(counters);
    row
}

/// A table of everything that differs.
fn disagreements(gpu: &str, labs: &[LabAgreement]) -> String {
    let of_lab =
        |lab: &LabAgreement| lab.disagreements().into_iter().map(|found| (lab.lab.clone(), found)).collect();
    let all: Vec<(String, Disagreement)> = labs.iter().flat_map(|lab| -> Vec<_> { of_lab(lab) }).collect();
    if all.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|(lab, found)| {
            let what = match found.subject {
                Subject::Check | Subject::Launch => html::escape(&found.name),
                Subject::Result => format!("result <code>{}</code>", html::escape(&found.name)),
                Subject::Counter => format!("<code>{}</code>", html::escape(&found.name)),
            };
            vec![
                format!("<code>{}</code>", html::escape(lab)),
                format!("<code>{}</code>", html::escape(&found.of)),
                html::escape(&place(&found.at)),
                what,
                html::escape(&found.values.simulator),
                html::escape(&found.values.hardware),
            ]
        })
        .collect();
    let columns = ["lab", "variant or kernel", "at", "what", "simulator", gpu].map(str::to_owned);
    let table = html::table("Where the two differ", "every disagreement, none left out", &columns, &rows);
    format!("<div class=\"words\">{table}</div>")
}

/// What was not compared, and why; which profiler counted.
fn remarks(labs: &[LabAgreement]) -> String {
    let mut items = Vec::new();
    for lab in labs {
        let name = format!("<code>{}</code>", html::escape(&lab.lab));
        items.extend(lab.absent.iter().map(|absent| {
            format!(
                "{name}: <code>{}</code> did not run: {}",
                html::escape(&absent.what),
                html::escape(&absent.why)
            )
        }));
        let without = lab.without_results();
        if !without.is_empty() {
            let names = html::escape(&without.join(", "));
            items.push(format!("{name}: checks alone were compared, no result: {names}"));
        }
        items.push(match &lab.counters {
            Counters::Read(profile) => {
                format!(
                    "{name}: counted by {}, driver {}",
                    html::escape(&profile.profiler),
                    html::escape(&lab.driver)
                )
            }
            Counters::Absent(why) => format!("{name}: no counters: {}", html::escape(why)),
        });
    }
    let items: Vec<String> = items.into_iter().map(|item| format!("<li>{item}</li>")).collect();
    format!(
        "<details><summary>What counted, and what was not compared</summary><ul>{}</ul></details>",
        items.concat()
    )
}
