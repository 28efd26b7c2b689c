//! Lists over the whole course: its labs and its records.

use labs_record::rules::Status;

use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};

/// `labs()`: every lab with its chapter and its newest record.
pub(super) fn labs(page: &Page, _: &mut Arguments) -> Result<String, String> {
    let rows: Vec<Vec<String>> = page
        .tree
        .manifest
        .labs
        .iter()
        .map(|(stem, entry)| {
            let up = "../".repeat(page.path.matches('/').count());
            let chapter = match page.tree.chapter(stem) {
                Some(title) => format!("<a href=\"{up}{stem}.html\">{}</a>", html::with_code(&title)),
                None => "not yet written".to_owned(),
            };
            let record = page.tree.newest(stem).map_or("not yet measured".to_owned(), |filed| {
                let dates = filed.dates();
                let date = dates.last().copied().unwrap_or_default();
                html::escape(&format!("{}, {date}{}", filed.record.gpu.name, unverified(&filed.status)))
            });
            vec![chapter, html::with_code(&entry.question), record]
        })
        .collect();
    if rows.is_empty() {
        return Ok(missing_block("no lab is written yet"));
    }
    let columns = ["chapter", "question", "newest record"].map(str::to_owned);
    Ok(format!("<div class=\"words\">{}</div>", html::table("The labs", "", &columns, &rows)))
}

/// `, draft` behind a record that is not verified.
pub(crate) fn unverified(status: &Status) -> &'static str {
    match status {
        Status::Verified => "",
        Status::Draft(_) => ", draft",
        Status::Stale(_) => ", stale",
    }
}

/// `records()`: every record there is, with what it is worth.
pub(super) fn records(page: &Page, _: &mut Arguments) -> Result<String, String> {
    let rows: Vec<Vec<String>> = page
        .tree
        .records
        .iter()
        .map(|filed| {
            vec![
                format!("<code class=\"whole\">{}</code>", html::escape(&filed.record.lab)),
                html::escape(&filed.record.gpu.name),
                filed
                    .dates()
                    .iter()
                    .map(|date| format!("<span class=\"whole\">{}</span>", html::escape(date)))
                    .collect::<Vec<_>>()
                    .join(", "),
                filed.record.sittings.len().to_string(),
                filed.record.sessions().to_string(),
                html::escape(&filed.status.to_string()),
                super::foot::record_link(page, filed),
            ]
        })
        .collect();
    if rows.is_empty() {
        return Ok(missing_block("no record is kept yet"));
    }
    let columns = ["lab", "GPU", "dates", "sittings", "sessions", "status", "file"].map(str::to_owned);
    Ok(format!("<div class=\"words\">{}</div>", html::table("All records", "", &columns, &rows)))
}
