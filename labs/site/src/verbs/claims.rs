//! Claims: the sentence for the verdict, and behind it all that the verdict rests on.

use labs_record::claim::{Claim, Finding, Verdict};
use labs_record::table::coordinate;
use labs_record::wording;

use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};
use crate::tree::FiledRecord;

/// The claim of a lab by its id.
fn find<'a>(page: &'a Page, lab: &str, id: &str) -> Result<&'a Claim, String> {
    let claims = page.tree.claims.get(lab).map_or(&[][..], |claims| &claims.claims[..]);
    claims.iter().find(|claim| claim.id == id).ok_or_else(|| {
        let ids: Vec<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
        format!("verification/claims/{lab}.yaml has no claim `{id}`; it has: {}", ids.join(", "))
    })
}

/// `verdict(id=..)`: a claim's verdict on the chosen GPU, in a word, with the way to where the claim is made.
pub(super) fn verdict(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let id = arguments.need("id")?;
    let claim = find(page, &lab, &id)?;
    Ok(format!("{} {}", mark(page, &lab, claim), super::sources::chapter(page, &lab, &id)))
}

/// A claim's verdict on the chosen GPU.
pub(super) fn mark(page: &Page, lab: &str, claim: &Claim) -> String {
    match page.tree.record(lab, &page.edition.gpu) {
        None => badge(Verdict::NotMeasured, false),
        Some(filed) => badge(filed.evidence().judge(claim).verdict, page.provenance(filed).draft),
    }
}

/// `claim(id=..)`: one claim.
pub(super) fn claim(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let id = arguments.need("id")?;
    let claim = find(page, &lab, &id)?;
    let filed = match page.record(&lab) {
        Ok(filed) => filed,
        Err(_) => return without_record(page, claim),
    };
    let finding = filed.evidence().judge(claim);
    let sentence = wording::sentence(claim, &finding, &filed.evidence())?;
    let draft = page.provenance(filed).draft;
    Ok(format!(
        "<div class=\"claim {class}{draft_class}\" id=\"{id}\"><p>{sentence}</p><details><summary>{badge}<span class=\"how\">how this was decided</span></summary>{}</details></div>",
        html::terms(&grounds(page, claim, &finding, filed)),
        class = class(finding.verdict),
        draft_class = if draft { " draft" } else { "" },
        id = page.id(&format!("claim-{id}")),
        sentence = html::with_code(&sentence),
        badge = badge(finding.verdict, draft),
    ))
}

/// A claim on a GPU without a record: the sentence for what was not measured, and what would decide it.
fn without_record(page: &Page, claim: &Claim) -> Result<String, String> {
    let why = format!("there is no record on {}", page.edition.gpu);
    let sentence = wording::without_record(claim, &why)?;
    let terms = html::terms(&[
        ("Statement", html::with_code(&claim.statement)),
        ("Holds if", html::with_code(&wording::predicate(&claim.predicate))),
        ("Verdict", html::escape(&format!("not measured: {why}"))),
    ]);
    Ok(format!(
        "<div class=\"claim not-measured\" id=\"{id}\"><p>{}</p><details><summary>{}<span class=\"how\">what would decide it</span></summary>{terms}</details></div>",
        html::with_code(&sentence),
        badge(Verdict::NotMeasured, false),
        id = page.id(&format!("claim-{}", claim.id)),
    ))
}

/// Everything a verdict rests on.
fn grounds(
    page: &Page,
    claim: &Claim,
    finding: &Finding,
    filed: &FiledRecord,
) -> Vec<(&'static str, String)> {
    let mut terms = vec![
        ("Statement", html::with_code(&claim.statement)),
        ("Holds if", html::with_code(&wording::predicate(&claim.predicate))),
    ];
    if let Some(numbers) = wording::numbers(claim, finding, &filed.evidence()) {
        let place = match &finding.place {
            Some(place) => format!(" at {}, the place that decides", coordinate(place)),
            None => String::new(),
        };
        terms.push(("Threshold", html::escape(&numbers.threshold)));
        terms.push(("Measured", html::escape(&format!("{}{place}", numbers.value))));
        terms.push((
            "Over the sessions",
            html::escape(&format!("{} to {}", numbers.interval.0, numbers.interval.1)),
        ));
    }
    let draft = if page.provenance(filed).draft { ", in a draft record" } else { "" };
    let reason = finding.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    terms.push(("Verdict", html::escape(&format!("{}{reason}{draft}", finding.verdict))));
    if claim.law {
        terms.push(("Law", "must hold on every GPU".to_owned()));
    }
    if !claim.sources.is_empty() {
        terms.push(("Tests the sources’ claims", html::escape(&claim.sources.join(", "))));
    }
    terms.push(("Record", super::foot::record_link(page, filed)));
    terms
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "fails",
        Verdict::TooClose => "too-close",
        Verdict::NotApplicable => "not-applicable",
        Verdict::NotMeasured => "not-measured",
    }
}

/// The verdict as a sign and a word: colour is not the only mark.
pub(super) fn badge(verdict: Verdict, draft: bool) -> String {
    let sign = match verdict {
        Verdict::Holds => "✓",
        Verdict::Fails => "✗",
        Verdict::TooClose => "≈",
        Verdict::NotApplicable | Verdict::NotMeasured => "–",
    };
    let draft = if draft { " <span class=\"draft-mark\">draft</span>" } else { "" };
    format!(
        "<span class=\"verdict {}\"><span aria-hidden=\"true\">{sign}</span> {verdict}</span>{draft}",
        class(verdict)
    )
}

/// `claims()`: every claim of one lab or of all, with its verdict on the chosen GPU.
pub(super) fn claims(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = arguments.text("lab")?.or_else(|| page.lab.clone());
    if let Some(lab) = &lab {
        page.lab_entry(lab)?;
    }
    let chosen = page.tree.claims.values().filter(|claims| lab.as_ref().is_none_or(|lab| *lab == claims.lab));
    let mut rows = Vec::new();
    for claims in chosen {
        for claim in &claims.claims {
            rows.push(claim_row(page, &claims.lab, claim));
        }
    }
    if rows.is_empty() {
        return Ok(missing_block("no claims are written yet"));
    }
    let columns = ["lab", "claim", "measured", "threshold", "verdict"].map(str::to_owned);
    let caption = format!("Claims and their verdicts on {}", html::escape(&page.edition.gpu));
    Ok(format!("<div class=\"words\">{}</div>", html::table(&caption, "", &columns, &rows)))
}

fn claim_row(page: &Page, lab: &str, claim: &Claim) -> Vec<String> {
    let short = lab.split('_').next().unwrap_or(lab);
    let law = if claim.law { " <span class=\"note\">law</span>" } else { "" };
    let mut row = vec![
        html::escape(short),
        format!(
            "{}{law}<details><summary>holds if</summary>{}</details>",
            html::with_code(&claim.statement),
            html::with_code(&wording::predicate(&claim.predicate)),
        ),
    ];
    match page.tree.record(lab, &page.edition.gpu) {
        None => row.extend([String::new(), String::new(), badge(Verdict::NotMeasured, false)]),
        Some(filed) => {
            let finding = filed.evidence().judge(claim);
            let numbers = wording::numbers(claim, &finding, &filed.evidence());
            let (value, threshold) = numbers.map(|n| (n.value, n.threshold)).unwrap_or_default();
            row.extend([html::escape(&value), html::escape(&threshold)]);
            row.push(badge(finding.verdict, page.provenance(filed).draft));
        }
    }
    row
}
