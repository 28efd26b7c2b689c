//! Text as HTML. Whatever a record, a claim or a manifest says passes through here before it is on a page.

pub use labs_chart::escape;

/// Text within a sentence of Markdown: neither HTML nor Markdown sees anything in it.
pub fn inline(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in escape(text).chars() {
        match c {
            '*' | '_' | '`' | '[' | ']' | '\\' | '|' | '~' | '$' | '!' => {
                html.push_str(&format!("&#{};", u32::from(c)));
            }
            c => html.push(c),
        }
    }
    html
}

/// Text in which backticks mark code, and nothing else is marked.
pub fn with_code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let last = parts.len() - 1;
    let mut html = String::new();
    for (place, part) in parts.iter().enumerate() {
        match place % 2 {
            1 if place < last => html += &format!("<code>{}</code>", escape(part)),
            1 => html += &format!("`{}", escape(part)),
            _ => html += &escape(part),
        }
    }
    html
}

/// A block of code, highlighted as `language`. Its line ends are entities: a blank line would end the HTML block.
pub fn code_block(language: &str, text: &str) -> String {
    let lines: Vec<String> = text.lines().map(escape).collect();
    format!("<pre><code class=\"language-{language}\">{}&#10;</code></pre>", lines.join("&#10;"))
}

/// A list of terms and what is to be said of each; the latter is HTML.
pub fn terms(terms: &[(&str, String)]) -> String {
    let items: Vec<String> = terms
        .iter()
        .map(|(term, html)| format!("<div><dt>{}</dt><dd>{html}</dd></div>", escape(term)))
        .collect();
    format!("<dl>{}</dl>", items.concat())
}

/// A table of HTML cells under a caption. It scrolls sideways by itself where the page is narrow.
pub fn table(caption: &str, note: &str, columns: &[String], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = columns.iter().map(|cell| format!("<th scope=\"col\">{cell}</th>")).collect();
    let body: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells: Vec<String> = row
                .iter()
                .enumerate()
                .map(|(place, cell)| match place {
                    0 => format!("<th scope=\"row\">{cell}</th>"),
                    _ => format!("<td>{cell}</td>"),
                })
                .collect();
            format!("<tr>{}</tr>", cells.concat())
        })
        .collect();
    let note = if note.is_empty() { String::new() } else { format!("<span class=\"note\">{note}</span>") };
    format!(
        "<div class=\"lab-table\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\"><table><caption><span>{caption}</span>{note}</caption>\
         <thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
        head.concat(),
        body.concat(),
        label = plain(caption),
    )
}

/// HTML without its tags, for an attribute.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for c in html.chars() {
        match c {
            '<' => in_tag = true,
            '>' => in_tag = false,
            c if !in_tag => text.push(c),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(escape("<b a='1'>\n\n&"), "&lt;b a=&#39;1&#39;&gt;  &amp;");
        assert_eq!(inline("*a* [b](c) <d>"), "&#42;a&#42; &#91;b&#93;(c) &lt;d&gt;");
        assert_eq!(with_code("a `b<` c"), "a <code>b&lt;</code> c");
        assert_eq!(with_code("a `b"), "a `b");
        assert_eq!(
            code_block("text", "a\n\n<b>"),
            "<pre><code class=\"language-text\">a&#10;&#10;&lt;b&gt;&#10;</code></pre>"
        );
        assert_eq!(escape("{{#include x}}"), "&#123;&#123;#include x&#125;&#125;");
        assert_eq!(plain("<code>a</code> b"), "a b");
    }
}
