//! Claims on several GPUs side by side: those with a record, and those of which others have published figures.

use labs_record::claim::{Claim, Verdict};
use labs_record::figure::Figure;
use labs_record::record::{Absent, Gpu};
use labs_record::table::coordinate;
use labs_record::{Evidence, wording};

use super::claims::badge;
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};

/// A GPU and what is known of a lab on it.
struct Witness<'a> {
    gpu: &'a Gpu,
    figures: Vec<Figure>,
    absent: &'a [Absent],
    published: bool,
    draft: bool,
}

/// `verdicts(claims=[..], caption=..)`: a row a claim, a column a GPU.
pub(super) fn verdicts(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let asked = arguments.texts("claims")?;
    let caption = arguments.text("caption")?.unwrap_or_else(|| "Verdicts by GPU".to_owned());
    let claims = chosen(page, &lab, asked)?;
    let witnesses = witnesses(page, &lab)?;
    if witnesses.is_empty() {
        return Ok(missing_block(&format!("not measured: there is no record of {lab} on any GPU")));
    }
    let mut columns = vec!["claim".to_owned()];
    columns.extend(witnesses.iter().map(heading));
    let rows: Vec<Vec<String>> = claims.iter().map(|claim| row(claim, &witnesses)).collect();
    Ok(format!("<div class=\"words\">{}</div>", html::table(&html::with_code(&caption), "", &columns, &rows)))
}

/// `side_by_side()`: every claim of every lab, a table a lab, a column a GPU of which something is known.
pub(super) fn side_by_side(page: &Page, _: &mut Arguments) -> Result<String, String> {
    let mut tables = Vec::new();
    for (lab, claims) in &page.tree.claims {
        let Ok(entry) = page.lab_entry(lab) else { continue };
        let witnesses = witnesses(page, lab)?;
        let title = page.tree.chapter(lab).unwrap_or_else(|| lab.clone());
        let link = match page.tree.chapter(lab) {
            Some(_) => format!("<a href=\"{lab}.html\">{}</a>", html::escape(&title)),
            None => html::escape(&title),
        };
        let mut columns = vec!["claim".to_owned()];
        columns.extend(witnesses.iter().map(heading));
        columns.push("is".to_owned());
        let rows: Vec<Vec<String>> = claims
            .claims
            .iter()
            .map(|claim| {
                let mut cells = row(claim, &witnesses);
                cells.push(standing(claim, &witnesses).to_owned());
                cells
            })
            .collect();
        let note = html::escape(&entry.question);
        tables.push(format!("<div class=\"words\">{}</div>", html::table(&link, &note, &columns, &rows)));
    }
    match tables.is_empty() {
        true => Ok(missing_block("no claims are written yet")),
        false => Ok(tables.concat()),
    }
}

fn heading(witness: &Witness<'_>) -> String {
    let note = if witness.published { " <span class=\"note\">published</span>" } else { "" };
    format!("{}{note}", html::escape(&witness.gpu.name))
}

/// What is known of how far a claim carries.
fn standing(claim: &Claim, witnesses: &[Witness<'_>]) -> &'static str {
    let mut said: Vec<Verdict> = witnesses
        .iter()
        .map(|witness| {
            Evidence { gpu: witness.gpu, figures: &witness.figures, absent: witness.absent }
                .judge(claim)
                .verdict
        })
        .filter(|verdict| matches!(verdict, Verdict::Holds | Verdict::Fails | Verdict::TooClose))
        .collect();
    let known = said.len();
    said.sort();
    said.dedup();
    match (claim.law, known, said.len()) {
        (true, ..) => "a law: it follows from the code",
        (_, 0, _) => "not known of any GPU",
        (_, 1, _) => "known of one GPU",
        (_, _, 1) => "alike on all that are known",
        _ => "an accident of the GPU: they differ",
    }
}

fn chosen<'a>(page: &'a Page, lab: &str, asked: Option<Vec<String>>) -> Result<Vec<&'a Claim>, String> {
    let all = page.tree.claims.get(lab).map_or(&[][..], |claims| &claims.claims[..]);
    let Some(asked) = asked else { return Ok(all.iter().collect()) };
    let find = |id: &String| {
        all.iter().find(|claim| claim.id == *id).ok_or_else(|| {
            let ids: Vec<&str> = all.iter().map(|claim| claim.id.as_str()).collect();
            format!("verification/claims/{lab}.yaml has no claim `{id}`; it has: {}", ids.join(", "))
        })
    };
    asked.iter().map(find).collect()
}

fn witnesses<'a>(page: &'a Page, lab: &str) -> Result<Vec<Witness<'a>>, String> {
    let entry = page.lab_entry(lab)?;
    let measured = page.tree.records.iter().filter(|filed| filed.record.lab == lab).map(|filed| Witness {
        gpu: &filed.record.gpu,
        figures: filed.figures.clone(),
        absent: &filed.record.absent,
        published: false,
        draft: page.provenance(filed).draft,
    });
    // Of another GPU a draft is no more to be published than of the chosen one.
    let measured = measured.filter(|witness| page.edition.draft || !witness.draft);
    let published = page.tree.published.iter().filter(|(_, found)| found.lab == lab);
    let published = published.map(|(_, found)| Witness {
        gpu: &found.gpu,
        figures: entry.with_derived(&found.compared()),
        absent: &found.absent,
        published: true,
        draft: false,
    });
    Ok(measured.chain(published).collect())
}

fn row(claim: &Claim, witnesses: &[Witness<'_>]) -> Vec<String> {
    let cells = witnesses.iter().map(|witness| {
        let evidence = Evidence { gpu: witness.gpu, figures: &witness.figures, absent: witness.absent };
        let finding = evidence.judge(claim);
        let badge = badge(finding.verdict, witness.draft);
        let numbers = wording::numbers(claim, &finding, &evidence);
        let value = match (numbers, finding.verdict) {
            (Some(numbers), Verdict::TooClose) => format!("{} to {}", numbers.interval.0, numbers.interval.1),
            (Some(numbers), _) => numbers.value,
            (None, _) => return badge,
        };
        let place = finding.place.as_ref().map(|place| format!(" at {}", coordinate(place)));
        format!("{badge} {}", html::escape(&format!("{value}{}", place.unwrap_or_default())))
    });
    std::iter::once(html::with_code(&claim.statement)).chain(cells).collect()
}
