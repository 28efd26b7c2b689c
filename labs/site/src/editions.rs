//! One edition of the book for each GPU with a record: the chosen GPU's at the root, the others' under `gpu/<slug>/`.
//! Plain links lead from each page to the same page of the others; a script remembers the choice.

use std::collections::BTreeMap;

use crate::html;
use crate::page::{Edition, Page};

/// The folder of the other editions.
pub const FOLDER: &str = "gpu";

/// GPUs that get an edition of their own beside the reference's. One whose record may not be published gets none.
pub fn others(gpus: &BTreeMap<String, String>, reference: &str) -> Vec<String> {
    gpus.keys().filter(|slug| *slug != reference).cloned().collect()
}

/// Links to the same page of the other editions; nothing where there is one edition only.
pub fn picker(page: &Page) -> String {
    let edition = &page.edition;
    let Some(reference) = &edition.reference else { return String::new() };
    let mut gpus = page.tree.gpus(edition.draft);
    // The reference's edition is there, with or without a record.
    gpus.entry(reference.clone()).or_insert_with(|| reference.clone());
    if gpus.len() < 2 {
        return String::new();
    }
    let file = page.path.replace(".md", ".html");
    let items = gpus.iter().map(|(slug, name)| {
        let name = html::escape(name);
        match *slug == edition.gpu {
            true => format!("<li><span aria-current=\"true\">{name}</span></li>"),
            false => format!(
                "<li><a data-gpu=\"{slug}\" href=\"{}{file}\">{name}</a></li>",
                way(edition, reference, slug, &page.path)
            ),
        }
    });
    format!(
        "<nav class=\"gpu-picker\" aria-label=\"GPU\" data-gpu=\"{}\"><span>Numbers of</span><ul>{}</ul></nav>\n\n",
        html::escape(&edition.gpu),
        items.collect::<String>()
    )
}

/// From a page's folder to the root of another edition.
fn way(edition: &Edition, reference: &str, slug: &str, path: &str) -> String {
    let up = "../".repeat(path.matches('/').count());
    let root = if edition.gpu == reference { String::new() } else { "../../".to_owned() };
    match slug == reference {
        true => format!("{up}{root}"),
        false => format!("{up}{root}{FOLDER}/{slug}/"),
    }
}
