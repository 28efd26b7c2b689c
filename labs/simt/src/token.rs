//! PTX text into tokens.

/// One token; words keep their dots (`ld.global.u32`, `%tid.x`, `shared::cluster`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    Word(&'a str),
    Text(&'a str),
    Mark(char),
    End,
}

/// A token and the line it stands on, from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) line: u32,
}

/// Splits `text`; the last token is [`Kind::End`]. Never fails: what is no
/// word and no string becomes a mark, which the parser refuses where it does not fit.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::with_capacity(text.len() / 6);
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1);
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        if byte == b'\n' {
            line += 1;
            at += 1;
        } else if byte.is_ascii_whitespace() || byte == 0 {
            at += 1;
        } else if rest.starts_with(b"//") {
            at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            let length = rest.windows(2).skip(2).position(|w| w == b"*/").map_or(rest.len(), |p| p + 4);
            line += newlines(rest.get(..length).unwrap_or_default());
            at += length;
        } else if byte == b'"' {
            let length = rest.iter().skip(1).position(|&b| b == b'"').map_or(rest.len(), |p| p + 2);
            let inner = text.get(at + 1..(at + length).saturating_sub(1)).unwrap_or("");
            found.push(Token { kind: Kind::Text(inner), line });
            line += newlines(rest.get(..length).unwrap_or_default());
            at += length;
        } else {
            let length = word_length(rest);
            if length > 0 {
                found.push(Token { kind: Kind::Word(text.get(at..at + length).unwrap_or("")), line });
                at += length;
            } else {
                let mark = text.get(at..).and_then(|t| t.chars().next()).unwrap_or('\u{fffd}');
                found.push(Token { kind: Kind::Mark(mark), line });
                at += mark.len_utf8();
            }
        }
    }
    found.push(Token { kind: Kind::End, line });
    found
}

fn newlines(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&b| b == b'\n').count() as u32
}

/// How many bytes of `bytes` are one word. `::` belongs to a word, a single `:` ends it.
fn word_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.') {
            at += 1;
        } else if byte == b':' && next == b':' && at > 0 {
            at += 2;
        } else if matches!(byte, b'-' | b'+')
            && decimal_exponent(bytes.get(..at).unwrap_or_default())
            && next.is_ascii_digit()
        {
            at += 1;
        } else {
            break;
        }
    }
    at
}

/// Whether `word` is a decimal literal that ends in its exponent's `e`.
fn decimal_exponent(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_digit)
        && word.contains(&b'.')
        && matches!(word.last(), Some(b'e' | b'E'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        tokens(text)
            .iter()
            .map(|t| match t.kind {
                Kind::Word(w) => w.to_owned(),
                Kind::Text(s) => format!("{s:?}"),
                Kind::Mark(c) => c.to_string(),
                Kind::End => "end".to_owned(),
            })
            .collect()
    }

    #[test]
    fn words_keep_their_dots_and_labels_lose_their_colon() {
        assert_eq!(
            words("$L_1: @!%p1 ld.shared::cluster.u32 %r1, [%rd2+-4]; // x"),
            [
                "$L_1",
                ":",
                "@",
                "!",
                "%p1",
                "ld.shared::cluster.u32",
                "%r1",
                ",",
                "[",
                "%rd2",
                "+",
                "-",
                "4",
                "]",
                ";",
                "end"
            ]
        );
    }

    #[test]
    fn lines_are_counted_through_comments_and_strings() {
        let found = tokens("a /* \n\n */ b \"x\ny\" c");
        let lines: Vec<u32> = found.iter().map(|t| t.line).collect();
        assert_eq!(lines, [1, 3, 3, 4, 4]);
    }

    #[test]
    fn unclosed_comments_and_strings_end_the_text() {
        assert_eq!(words("a /* b"), ["a", "end"]);
        assert_eq!(words("a \"b"), ["a", "\"\"", "end"]);
    }
}
