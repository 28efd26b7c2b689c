//! The step between the chapters and mdBook: templates are rendered, and what must not be published is refused.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use labs_record::rules::Status;
use mdbook_preprocessor::book::{Book, BookItem, Chapter};
use mdbook_preprocessor::config::Config;
use mdbook_preprocessor::{Preprocessor, PreprocessorContext, parse_input};
use serde::Deserialize;

use crate::editions;
use crate::glossary::{self, Glossary};
use crate::lint::Lint;
use crate::page::{Edition, Page};
use crate::tree::Tree;

/// `[preprocessor.labs]` of book.toml.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Whose numbers fill the pages.
    gpu: String,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    records: Option<String>,
    #[serde(default)]
    reference: Option<String>,
    // mdBook's own keys.
    #[serde(default, rename = "command")]
    _command: Option<String>,
    #[serde(default, rename = "before")]
    _before: Vec<String>,
    #[serde(default, rename = "after")]
    _after: Vec<String>,
    #[serde(default, rename = "renderers")]
    _renderers: Vec<String>,
}

/// Which edition of the book its settings ask for.
///
/// # Errors
/// The table is missing, lacks `gpu`, or has an unknown key.
pub fn edition(config: &Config) -> Result<Edition> {
    let settings: Option<Settings> =
        config.get("preprocessor.labs").context("book.toml, [preprocessor.labs]")?;
    let Some(settings) = settings else {
        bail!("book.toml has no [preprocessor.labs]; it takes at least `gpu = \"nvidia-h200\"`")
    };
    let Settings { gpu, draft, records, reference, .. } = settings;
    Ok(Edition { gpu, draft, records, reference })
}

/// The preprocessor `labs`.
pub struct Labs;

impl Preprocessor for Labs {
    fn name(&self) -> &str {
        "labs"
    }

    fn run(&self, context: &PreprocessorContext, mut book: Book) -> Result<Book> {
        let edition = edition(&context.config)?;
        let folder = std::fs::canonicalize(&context.root)
            .with_context(|| format!("cannot find the book's folder `{}`", context.root.display()))?;
        let root = folder.parent().context("the book's folder has no parent: it must lie in the checkout")?;
        let tree = Arc::new(Tree::load(root)?);
        let refused = tree.unpublishable(&edition.gpu);
        if !edition.draft && !refused.is_empty() {
            bail!("{}", refused.join("\n"));
        }
        let lint = Lint::new()?;
        let source = folder.join(&context.config.book.src);
        let terms = std::fs::read_to_string(source.join(glossary::PAGE)).unwrap_or_default();
        let glossary = Glossary::read(&terms)?;
        let mut faults = Vec::new();
        for_each_chapter(&mut book.items, &mut |chapter| {
            faults.extend(set(chapter, &tree, &edition, &lint, &glossary, &source));
        });
        if !faults.is_empty() {
            bail!("{}", faults.join("\n"));
        }
        Ok(book)
    }

    fn supports_renderer(&self, renderer: &str) -> Result<bool> {
        Ok(renderer == "html")
    }
}

fn for_each_chapter(items: &mut [BookItem], each: &mut impl FnMut(&mut Chapter)) {
    for item in items {
        if let BookItem::Chapter(chapter) = item {
            each(chapter);
            for_each_chapter(&mut chapter.sub_items, each);
        }
    }
}

/// Renders one chapter in place; what is wrong with it comes back.
fn set(
    chapter: &mut Chapter,
    tree: &Arc<Tree>,
    edition: &Edition,
    lint: &Lint,
    glossary: &Glossary,
    source: &Path,
) -> Vec<String> {
    let Some(path) = &chapter.source_path else { return Vec::new() };
    let folder = source.join(path.parent().unwrap_or(Path::new("")));
    let path = path.to_string_lossy().replace('\\', "/");
    let shown = format!("book/src/{path}");
    let mut faults = lint.check(&shown, &chapter.content, &folder);
    let page = Arc::new(Page::new(tree.clone(), edition.clone(), &path));
    // Before the templates are rendered: what they print is HTML, in which a link of Markdown is none.
    let linked = match path == glossary::PAGE {
        true => chapter.content.clone(),
        false => glossary.link(&chapter.content, &"../".repeat(path.matches('/').count())),
    };
    match page.render(&linked) {
        Ok(text) => {
            let top = format!("{}{}", editions::picker(&page), banner(&page));
            chapter.content = format!("{top}{}", as_cpp(&text));
        }
        Err(error) => faults.push(format!("book/src/{error}")),
    }
    faults
}

/// A line at the top of a chapter whose record is missing or not verified.
fn banner(page: &Page) -> String {
    let Some(lab) = &page.lab else { return String::new() };
    let note =
        |class: &str, html: String| format!("<div class=\"{class}\" role=\"note\"><p>{html}</p></div>\n\n");
    match page.tree.record(lab, &page.edition.gpu).map(|filed| &filed.status) {
        Some(Status::Verified) => String::new(),
        Some(status) => {
            let why = crate::html::escape(&status.to_string());
            note(
                "draft-banner",
                format!("<strong>Draft.</strong> The figures of this page are not verified: {why}"),
            )
        }
        None => {
            let gpu = crate::html::escape(&page.edition.gpu);
            note(
                "no-record",
                format!(
                    "<strong>Not measured.</strong> There is no record of this lab on {gpu}, and no other GPU’s numbers stand in for it."
                ),
            )
        }
    }
}

/// mdBook's highlighter knows C++ and not CUDA.
fn as_cpp(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line.trim_start().strip_prefix("```cuda") {
            Some(rest) => format!("{}```cpp{rest}", &line[..line.len() - line.trim_start().len()]),
            None => line.to_owned(),
        })
        .collect();
    lines.join("\n") + "\n"
}

/// One round of mdBook's preprocessor protocol: a context and a book as JSON in, the book as JSON out.
///
/// # Errors
/// The input is not that, or the book can't be set.
pub fn speak(input: impl Read, output: impl Write) -> Result<()> {
    let (context, book) =
        parse_input(input).context("standard input is not what mdBook sends a preprocessor")?;
    let book = Labs.run(&context, book)?;
    serde_json::to_writer(output, &book).context("cannot write the book to standard output")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_is_highlighted_as_cpp() {
        assert_eq!(as_cpp("a\n  ```cuda\nx\n```\n"), "a\n  ```cpp\nx\n```\n");
    }

    #[test]
    fn settings_with_unknown_keys_are_refused() {
        let edition_of = |text: &str| edition(&text.parse::<Config>().unwrap());
        assert_eq!(edition_of("[preprocessor.labs]\ngpu = \"a\"\nbefore = [\"links\"]").unwrap().gpu, "a");
        assert!(
            format!("{:#}", edition_of("[preprocessor.labs]\ngpu = \"a\"\ngpus = 1").unwrap_err())
                .contains("gpus")
        );
        assert!(edition_of("[book]").unwrap_err().to_string().contains("preprocessor.labs"));
    }
}
