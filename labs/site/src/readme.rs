//! The README's table of labs, made between two markers.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use labs_record::store;

use crate::tree::Tree;
use crate::verbs::unverified;

const BEGIN: &str = "<!-- labs: made by `cargo site readme`, not for editing -->";
const END: &str = "<!-- labs end -->";

/// Writes the table; with `check` only compares. Gives whether it was up to date.
///
/// # Errors
/// The README can't be read or written, or lacks its markers.
pub fn update(root: &Path, check: bool) -> Result<bool> {
    let path = root.join("README.md");
    let old = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let new = with_table(&old, &table(&Tree::load(root)?))?;
    let same = old == new;
    if !same && !check {
        store::write_text(&path, &new)?;
    }
    Ok(same)
}

fn with_table(readme: &str, table: &str) -> Result<String> {
    let parts = readme.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, behind)) = parts else {
        bail!("README.md lacks the lines `{BEGIN}` and `{END}`, between which the table stands");
    };
    Ok(format!("{before}{BEGIN}\n{table}{END}{behind}"))
}

fn table(tree: &Tree) -> String {
    let mut text = "| chapter | lab | kernel | newest record |\n|---|---|---|---|\n".to_owned();
    for stem in tree.manifest.labs.keys() {
        let chapter = match tree.chapter(stem) {
            Some(title) => format!("[{}](book/src/{stem}.md)", cell(&title)),
            None => "not yet written".to_owned(),
        };
        let record = tree.newest(stem).map_or("not yet measured".to_owned(), |filed| {
            let date = filed.dates().last().copied().unwrap_or_default().to_owned();
            let name = cell(&filed.record.gpu.name);
            format!("[{name}, {date}{}]({})", unverified(&filed.status), filed.path)
        });
        let short = stem.split('_').next().unwrap_or(stem);
        text +=
            &format!("| {chapter} | `cargo labs {short}` | [{stem}.cu](kernels/{stem}.cu) | {record} |\n");
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['[', ']', '<', '>'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let readme = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        assert_eq!(with_table(&readme, "new\n").unwrap(), format!("a\n{BEGIN}\nnew\n{END}\nb\n"));
        assert!(with_table("a", "new").is_err());
    }
}
