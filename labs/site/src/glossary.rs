//! The glossary's terms, linked from their first use on every page. Which words stand for a term is the term's heading,
//! in singular and plural, unless a comment under the heading says otherwise: `<!-- words: warp, warps -->`; with no
//! word in it, nothing is linked by itself.

use regex::Regex;

/// The page that the links lead to.
pub const PAGE: &str = "glossary.md";

/// A term of the glossary.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    /// The heading's id in the built page.
    id: String,
    /// Finds the words that stand for it; none if no word does.
    words: Option<String>,
}

/// All terms, and what a link must not stand in.
#[derive(Debug)]
pub struct Glossary {
    terms: Vec<(String, Regex)>,
    masked: Regex,
}

impl Glossary {
    /// Reads the glossary's source.
    ///
    /// # Errors
    /// A pattern is not one; that is a mistake in this file.
    pub fn read(source: &str) -> Result<Glossary, regex::Error> {
        let mut terms = Vec::new();
        let mut lines = source.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(heading) = line.strip_prefix("### ") else { continue };
            let comment = lines.by_ref().find(|line| !line.trim().is_empty());
            let term = term(heading.trim(), comment.unwrap_or_default());
            if let Some(words) = term.words {
                terms.push((term.id, Regex::new(&words)?));
            }
        }
        // A term of two words goes first: its words are not those of a shorter one.
        terms.sort_by_key(|(id, _)| std::cmp::Reverse(id.len()));
        Ok(Glossary {
            terms,
            // Code, templates, headings, quotations, links, HTML with what a link can't stand in.
            masked: Regex::new(
                r"(?ms)^[ \t>]*```.*?^[ \t>]*```[ \t]*$|^#.*?$|^[ \t]*>.*?$|<%.*?%>|<\*.*?\*>|<#.*?#>|<!--.*?-->|<summary.*?</summary>|<figure.*?</figure>|<svg.*?</svg>|<a .*?</a>|<[a-zA-Z/][^<>]*>|``.*?``|`[^`\n]*`|!?\[[^\]]*\]\([^)]*\)|\{\{#.*?\}\}|https?://\S+",
            )?,
        })
    }

    /// A page's source with the first use of each term linked. `up` leads from the page's folder to the glossary's.
    pub fn link(&self, source: &str, up: &str) -> String {
        let prose = self.masked.replace_all(source, |hit: &regex::Captures<'_>| {
            hit[0].bytes().map(|byte| if byte == b'\n' { '\n' } else { '\u{1}' }).collect::<String>()
        });
        let mut links: Vec<(std::ops::Range<usize>, &str)> = Vec::new();
        for (id, words) in &self.terms {
            let free = |hit: &regex::Match<'_>| {
                links.iter().all(|(range, _)| range.end <= hit.start() || hit.end() <= range.start)
            };
            let Some(first) = words.find_iter(&prose).find(free) else { continue };
            let linked = source.find(&format!("{PAGE}#{id})"));
            if linked.is_none_or(|place| place > first.end()) {
                links.push((first.range(), id));
            }
        }
        links.sort_by_key(|(range, _)| range.start);
        let mut text = source.to_owned();
        for (range, id) in links.into_iter().rev() {
            let word = &source[range.clone()];
            text.replace_range(range.clone(), &format!("[{word}]({up}{PAGE}#{id})"));
        }
        text
    }
}

fn term(heading: &str, comment: &str) -> Term {
    let listed = comment.trim().strip_prefix("<!-- words:").and_then(|rest| rest.strip_suffix("-->"));
    let words: Vec<String> = match listed {
        Some(listed) => {
            listed.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
        }
        None => heading.split(", ").flat_map(|word| [word.to_owned(), format!("{word}s")]).collect(),
    };
    let patterns: Vec<String> = words.iter().map(|word| pattern(word)).collect();
    let words = (!patterns.is_empty()).then(|| format!(r"(?:\b|^)(?:{})\b", patterns.join("|")));
    Term { id: id(heading), words }
}

/// A word with a small or a capital letter first; one of capitals as it is.
fn pattern(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().unwrap_or_default();
    let rest = letters.as_str();
    if rest.chars().any(char::is_uppercase)
        || rest.is_empty()
        || rest.starts_with(|c: char| c.is_ascii_digit())
    {
        return regex::escape(word);
    }
    format!("(?:{}|{}){}", first.to_uppercase(), first.to_lowercase(), regex::escape(rest))
}

/// A heading's id as mdBook makes it.
fn id(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "# Glossary\n\n### Warp\n\n32 threads.\n\n### Atomic contention\n\nA queue.\n\n### Atomic\n\nAn update.\n\n### Line\n<!-- words: -->\n\n128 bytes.\n\n### RED, REDG\n\nA reduction.\n\n### Privatised\n<!-- words: privatised, privatises -->\n\nOf its own.\n\n### L2\n\nA cache.\n";

    fn linked(page: &str) -> String {
        Glossary::read(SOURCE).unwrap().link(page, "")
    }

    #[test]
    fn the_first_use_is_linked_and_no_other() {
        assert_eq!(linked("Warps wait. A warp waits.\n"), "[Warps](glossary.md#warp) wait. A warp waits.\n");
        assert_eq!(
            linked("atomic contention in the L2"),
            "[atomic contention](glossary.md#atomic-contention) in the [L2](glossary.md#l2)"
        );
        assert_eq!(
            linked("Atomic contention: an atomic waits."),
            "[Atomic contention](glossary.md#atomic-contention): an [atomic](glossary.md#atomic) waits."
        );
        assert_eq!(linked("It privatises."), "It [privatises](glossary.md#privatised).");
        assert_eq!(linked("one line"), "one line", "the comment leaves the word out");
        assert_eq!(linked("warped l2 L20 unwarp"), "warped l2 L20 unwarp");
    }

    #[test]
    fn what_is_linked_by_hand_stays() {
        let page = "A [warp](glossary.md#warp) and a warp.";
        assert_eq!(linked(page), page);
        // By hand, but only later: the first use is linked, too.
        assert_eq!(
            linked("A warp, a [warp](glossary.md#warp)."),
            "A [warp](glossary.md#warp), a [warp](glossary.md#warp)."
        );
    }

    #[test]
    fn code_headings_templates_and_links_are_left_alone() {
        for page in [
            "```cuda\nwarp\n```\n",
            "# A warp\n",
            "> A warp\n",
            "`warp`",
            "<% claim(id=\"warp\") %>",
            "[the warp](day23_shuffle.md)",
            "<summary>The warp</summary>",
            "<figure>\nwarp\n</figure>",
            "<span title=\"warp\">",
            "{{#include warp.svg}}",
        ] {
            assert_eq!(linked(page), page);
        }
    }

    #[test]
    fn ids_are_mdbooks() {
        assert_eq!(id("RED, REDG"), "red-redg");
        assert_eq!(id("Compare-and-swap loop"), "compare-and-swap-loop");
    }
}
