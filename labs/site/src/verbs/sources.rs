//! What the documents behind the course claim, and how each claim turned out.

use labs_record::claim::Verdict;
use labs_record::sources::{SourceClaim, Sources};

use super::claims::{badge, mark};
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};

/// `sources(document=..)`: every claim of one document, with its verdicts on the chosen GPU.
pub(super) fn sources(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let id = arguments.need("document")?;
    let Some(sources) = &page.tree.sources else {
        return Ok(missing_block("there is no verification/sources.yaml"));
    };
    let Some(document) = sources.documents.iter().find(|document| document.id == id) else {
        let ids: Vec<&str> = sources.documents.iter().map(|document| document.id.as_str()).collect();
        return Err(format!("there is no document `{id}`; there are {}", ids.join(", ")));
    };
    let rows: Vec<Vec<String>> = sources
        .claims
        .iter()
        .filter(|claim| claim.id.starts_with(&id))
        .map(|claim| {
            vec![
                format!(
                    "<span id=\"{}\">{}</span>",
                    page.id(&claim.id.to_lowercase()),
                    html::escape(&claim.id)
                ),
                html::with_code(&claim.claim),
                ends(page, sources, claim),
            ]
        })
        .collect();
    let columns = ["id", "what it claims, restated", "how it turned out"].map(str::to_owned);
    let caption = html::with_code(&format!("{}: {}", document.title, document.kind));
    let note = html::escape(&format!("verdicts on {}", page.edition.gpu));
    Ok(format!("<div class=\"words\">{}</div>", html::table(&caption, &note, &columns, &rows)))
}

/// The claims that test it with their verdicts, the checks outside the claims, and what can't be tested.
fn ends(page: &Page, sources: &Sources, source: &SourceClaim) -> String {
    let mut items = Vec::new();
    for (lab, claim) in sources.tested_by(&source.id, &page.tree.claims) {
        let badge = mark(page, lab, claim);
        items.push(format!(
            "{badge} {} <span class=\"note\">{}</span>",
            html::with_code(&claim.statement),
            chapter(page, lab, &claim.id)
        ));
    }
    for check in &source.checked {
        let page_link = check.page.as_ref().map_or(String::new(), |file| {
            format!("<a href=\"{}\">its page</a>, ", html::escape(&file.replace(".md", ".html")))
        });
        items.push(format!(
            "<span class=\"verdict\">checked</span> {} <span class=\"note\">{page_link}<code>{}</code> in <code>{}</code></span>",
            html::with_code(&check.found),
            html::escape(&check.name),
            html::escape(&check.by)
        ));
    }
    if let Some(why) = &source.not_tested {
        items.push(format!("<span class=\"verdict\">not tested</span> {}", html::with_code(why)));
    }
    if items.is_empty() {
        items.push(format!(
            "{} <span class=\"note\">no claim tests it yet; it belongs to {}</span>",
            badge(Verdict::NotMeasured, false),
            html::escape(&source.lab)
        ));
    }
    let items: Vec<String> = items.iter().map(|item| format!("<div>{item}</div>")).collect();
    items.concat()
}

/// A link to the claim on its chapter, where the chapter makes it.
pub(super) fn chapter(page: &Page, lab: &str, claim: &str) -> String {
    let (day, _) = lab.split_once('_').unwrap_or((lab, ""));
    let shown = format!("{}, <code>{}</code>", html::escape(day), html::escape(claim));
    match page.tree.makes(lab, claim) {
        true => format!("<a href=\"{lab}.html#{lab}-claim-{claim}\">{shown}</a>"),
        false => match page.tree.chapter(lab) {
            Some(_) => format!("<a href=\"{lab}.html\">{shown}</a>"),
            None => shown,
        },
    }
}
