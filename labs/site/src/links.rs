//! The built pages, read back: every link within the book leads somewhere, and no two elements share an id.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use scraper::{Html, Selector};

use crate::tree::relative;

/// What one page offers and asks for.
struct Read {
    ids: BTreeSet<String>,
    twice: Vec<String>,
    links: Vec<String>,
}

/// Every broken link and every doubled id of the pages in `folder`.
///
/// # Errors
/// A file can't be read.
pub fn check(folder: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    for path in files(folder)? {
        if path.extension().is_some_and(|extension| extension == "html") {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
            pages.insert(path, read(&text)?);
        }
    }
    let mut faults = Vec::new();
    for (path, page) in &pages {
        let name = relative(folder, path);
        faults.extend(page.twice.iter().map(|id| format!("{name}: two elements have the id `{id}`")));
        // The page of a missing address is shown at any depth: its links are relative to the site's root.
        for link in &page.links {
            if let Err(why) = follow(link, path, folder, &pages) {
                faults.push(format!("{name}: the link `{link}` is broken: {why}"));
            }
        }
    }
    Ok(faults)
}

fn follow(link: &str, from: &Path, folder: &Path, pages: &BTreeMap<PathBuf, Read>) -> Result<(), String> {
    let outside = ["http://", "https://", "mailto:", "data:", "//"];
    if outside.iter().any(|scheme| link.starts_with(scheme)) {
        return Ok(());
    }
    let (path, fragment) = match link.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment)),
        None => (link, None),
    };
    let path = path.split('?').next().unwrap_or_default();
    let mut target = match path.strip_prefix('/') {
        _ if path.is_empty() => from.to_owned(),
        Some(from_root) => folder.join(from_root),
        None => from.parent().unwrap_or(folder).join(path),
    };
    if target.is_dir() {
        target = target.join("index.html");
    }
    let target = normal(&target);
    if !target.is_file() {
        return Err("there is no such file".to_owned());
    }
    match (fragment, pages.get(&target)) {
        (Some(id), Some(page)) if !id.is_empty() && !page.ids.contains(&decoded(id)) => {
            Err(format!("nothing there has the id `{id}`"))
        }
        _ => Ok(()),
    }
}

/// The path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                whole.pop();
            }
            std::path::Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}

/// `%C3%A4` as `ä`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        match (first, behind.get(..2).and_then(hex)) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn read(text: &str) -> Result<Read> {
    let html = Html::parse_document(text);
    let mut page = Read { ids: BTreeSet::new(), twice: Vec::new(), links: Vec::new() };
    for element in html.select(&selector("[id]")?) {
        let id = element.attr("id").unwrap_or_default().to_owned();
        if !page.ids.insert(id.clone()) {
            page.twice.push(id);
        }
    }
    for (query, attribute) in [("a[href]", "href"), ("link[href]", "href"), ("[src]", "src")] {
        let selector = selector(query)?;
        let found = html.select(&selector).filter_map(|element| element.attr(attribute));
        page.links.extend(found.map(str::to_owned));
    }
    Ok(page)
}

fn selector(query: &str) -> Result<Selector> {
    Selector::parse(query).map_err(|error| anyhow::anyhow!("`{query}` is no selector: {error}"))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(pages: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in pages {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        check(folder.path()).unwrap()
    }

    #[test]
    fn good_links_pass() {
        let a = "<a href='sub/b.html#x%20y'>b</a><a href='#top'>t</a><p id='top'></p><a href='https://example.org/q'></a><img src='i.png'>";
        let b = "<h2 id='x y'></h2><a href='../a.html'>a</a><a href='../a.html#top'></a>";
        assert_eq!(faults(&[("a.html", a), ("sub/b.html", b), ("i.png", "")]), Vec::<String>::new());
    }

    #[test]
    fn broken_ones_are_named() {
        let a = "<a href='c.html'></a><a href='#none'></a><img src='i.png'><p id='p'></p><p id='p'></p>";
        let found = faults(&[("a.html", a)]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].contains("two elements have the id `p`"));
        assert!(found[1].contains("`c.html` is broken: there is no such file"));
        assert!(found[2].contains("nothing there has the id `none`"));
        assert!(found[3].contains("`i.png`"));
    }
}
