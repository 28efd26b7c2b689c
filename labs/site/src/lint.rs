//! What a chapter must not say, found before it is rendered: figures typed by hand, includes of what is not there,
//! and blocks in the middle of a sentence.

use std::fs;
use std::path::Path;

use regex::Regex;

use crate::kernel_text::anchor;
use crate::verbs;

/// Lints, their patterns compiled once.
pub struct Lint {
    fences: Regex,
    masked: Regex,
    typed: Regex,
    include: Regex,
    block: Regex,
}

impl Lint {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// A pattern is not one; that is a mistake in this file.
    pub fn new() -> Result<Lint, regex::Error> {
        let blocks: Vec<&str> = verbs::blocks().collect();
        Ok(Lint {
            fences: Regex::new(r"(?ms)^[ \t>]*```.*?^[ \t>]*```[ \t]*$|^[ \t>]*~~~.*?^[ \t>]*~~~[ \t]*$")?,
            masked: Regex::new(
                r"(?s)<%.*?%>|<\*.*?\*>|<#.*?#>|<!--.*?-->|<style.*?</style>|<[a-zA-Z/][^<>]*>|``.*?``|`[^`]*`|\]\([^)]*\)|\{\{#.*?\}\}",
            )?,
            // A number, then a unit of something measured. What follows the unit decides whether it is one.
            typed: Regex::new(
                r"(?x) \b\d[\d.,]*(?:\s|&nbsp;|\x{a0}|\x{202f})*
                  (?: (?: [nuµμm]s | (?:milli|micro|nano)?seconds? | [GTMk]B/s | [GTM]iB/s | [GMk]Hz | m?W | watts? | times | cycles
                        | percent | G/s | M/s | [GT]?FLOPS? ) \b
                    | [×%]
                    | (?-x: s\b) )
                | \b\d[\d.,]*x\b",
            )?,
            include: Regex::new(r"(\\?)\{\{\s*#(?:rustdoc_include|include|playground)\s+([^}\s]+)[^}]*\}\}")?,
            block: Regex::new(&format!(r"(?s)<%-?\s*({})\s*\(.*?%>", blocks.join("|")))?,
        })
    }

    /// Everything wrong with a chapter, each with file and line. `folder` is the chapter's own.
    pub fn check(&self, path: &str, source: &str, folder: &Path) -> Vec<String> {
        let mut found = self.typed_figures(source);
        found.extend(self.includes(source, folder));
        found.extend(self.blocks(source));
        found.sort();
        found.into_iter().map(|(line, text)| format!("{path}:{line}: {text}")).collect()
    }

    fn typed_figures(&self, source: &str) -> Vec<(usize, String)> {
        let prose = blank(source, &self.fences);
        let prose = blank(&prose, &self.masked);
        let typed = self.typed.find_iter(&prose).filter(|hit| {
            let behind = &prose[hit.end()..];
            let product =
                hit.as_str().ends_with('×') && behind.trim_start().starts_with(|c: char| c.is_ascii_digit());
            // `1980s` is a decade, not 1,980 seconds.
            let decade = hit.as_str().ends_with('s')
                && hit.as_str().trim_end_matches('s').ends_with(|c: char| c.is_ascii_digit());
            !product && !decade
        });
        typed
            .map(|hit| {
                let text = format!(
                    "the figure `{}` is typed; take it from the record with figure(), or from elsewhere with published() or a claim",
                    hit.as_str().trim()
                );
                (line_of(&prose, hit.start()), text)
            })
            .collect()
    }

    fn includes(&self, source: &str, folder: &Path) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for hit in self.include.captures_iter(source) {
            let (Some(whole), Some(target)) = (hit.get(0), hit.get(2)) else { continue };
            if hit.get(1).is_some_and(|escape| !escape.is_empty()) {
                continue;
            }
            if let Err(why) = include(target.as_str(), folder) {
                found.push((line_of(source, whole.start()), why));
            }
        }
        found
    }

    fn blocks(&self, source: &str) -> Vec<(usize, String)> {
        let source = blank(source, &self.fences);
        let mut found = Vec::new();
        for hit in self.block.captures_iter(&source) {
            let (Some(whole), Some(verb)) = (hit.get(0), hit.get(1)) else { continue };
            let before = source[..whole.start()].rsplit('\n').next().unwrap_or_default();
            let behind = source[whole.end()..].split('\n').next().unwrap_or_default();
            let alone = before.trim_start().trim_start_matches(['-', '*', '>', ' ']).is_empty()
                && behind.trim().is_empty();
            if !alone {
                let text = format!("{}() prints a block; give it a line of its own", verb.as_str());
                found.push((line_of(&source, whole.start()), text));
            }
        }
        found
    }
}

/// Checks `path`, `path:anchor` and `path:from:to` as mdBook reads them.
fn include(target: &str, folder: &Path) -> Result<(), String> {
    let mut parts = target.split(':');
    let file = parts.next().unwrap_or_default();
    let text =
        fs::read_to_string(folder.join(file)).map_err(|why| format!("cannot include `{file}`: {why}"))?;
    let Some(part) = parts.next() else { return Ok(()) };
    let lines = text.lines().count();
    let numbers: Vec<&str> = std::iter::once(part).chain(parts).filter(|part| !part.is_empty()).collect();
    if numbers.iter().all(|number| number.parse::<usize>().is_ok()) {
        return match numbers.iter().filter_map(|number| number.parse::<usize>().ok()).find(|n| *n > lines) {
            Some(line) => Err(format!("cannot include line {line} of `{file}`: it has {lines}")),
            None => Ok(()),
        };
    }
    anchor(&text, part).map(|_| ()).map_err(|why| format!("cannot include from `{file}`: {why}"))
}

/// The text with every match turned to spaces, line for line and byte for byte.
fn blank(text: &str, pattern: &Regex) -> String {
    let spaces = |hit: &regex::Captures| {
        hit[0].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect::<String>()
    };
    pattern.replace_all(text, spaces).into_owned()
}

fn line_of(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(source: &str) -> Vec<String> {
        Lint::new().unwrap().check("c.md", source, Path::new("."))
    }

    #[test]
    fn typed_figures_are_refused() {
        for typed in [
            "17.5 µs",
            "17.5µs",
            "3 ns",
            "12 ms",
            "4.3 TB/s",
            "300 GB/s",
            "79×",
            "79 ×",
            "79x",
            "79 times",
            "1.98 GHz",
            "700 W",
            "5 %",
            "39.2 percent",
            "3 s",
            "3 seconds",
            "100 cycles",
            "17&nbsp;µs",
            "1,024 ms",
        ] {
            let found = said(&format!("# Head\n\nIt takes {typed} here.\n"));
            assert_eq!(found.len(), 1, "{typed}: {found:?}");
            assert!(found[0].starts_with("c.md:3: the figure `"), "{found:?}");
        }
    }

    #[test]
    fn facts_of_the_code_are_not_figures() {
        for fine in [
            "256 threads",
            "a 4 × 4 tile",
            "the 1980s",
            "32 lanes",
            "4,096 elements",
            "16-byte loads",
            "sm_90",
            "2^24",
            "60 MiB",
            "`17.5 µs`",
            "<% figure(x=\"3 ms\") | quantity %>",
            "<# 3 ms #>",
            "<!-- 3 ms -->",
            "<rect width=\"3 ms\"/>",
            "[a](b?3ms)",
            "four times",
            "int x = 4;",
        ] {
            assert_eq!(said(fine), Vec::<String>::new(), "{fine}");
        }
        assert_eq!(said("```text\n3 ms\n```\n"), Vec::<String>::new());
        assert_eq!(said("```text\n3 ms\n```\n\n4 ms\n").len(), 1);
    }

    #[test]
    fn includes_must_exist() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let check = |source: &str| Lint::new().unwrap().check("c.md", source, folder);
        assert!(
            check("{{#include Cargo.toml}}\n{{#include Cargo.toml:1:3}}\n\\{{#include nowhere}}").is_empty()
        );
        assert!(check("\n{{#include nowhere.cu}}")[0].starts_with("c.md:2: cannot include `nowhere.cu`"));
        assert!(check("{{#include Cargo.toml:nothing}}")[0].contains("no anchor `nothing`"));
        assert!(check("{{#include Cargo.toml:1:99999}}")[0].contains("line 99999"));
    }

    #[test]
    fn blocks_stand_alone() {
        assert!(
            said(
                "<% claim(id=\"a\") %>\n\n- <% claim(id=\"a\") %>\n> <% table(figure=\"a\",\n  rows=\"b\") %>"
            )
            .is_empty()
        );
        assert!(said("So <% claim(id=\"a\") %>")[0].contains("claim() prints a block"));
        assert_eq!(said("<% claim(id=\"a\") %> so").len(), 1);
        assert!(said("So <% figure(name=\"a\") %> it is").is_empty());
    }
}
