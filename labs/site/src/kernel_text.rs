//! Parts of source files by mdBook's ANCHOR comments.

/// The lines between `ANCHOR: name` and `ANCHOR_END: name`, without other anchors' lines.
///
/// # Errors
/// There is no such anchor, with those there are; or it has no end.
pub fn anchor(source: &str, name: &str) -> Result<String, String> {
    let mut inside = false;
    let mut lines: Vec<&str> = Vec::new();
    let mut names = Vec::new();
    for line in source.lines() {
        if let Some(end) = marked(line, "ANCHOR_END:") {
            if end == name && inside {
                return Ok(lines.iter().map(|line| format!("{line}\n")).collect());
            }
        } else if let Some(start) = marked(line, "ANCHOR:") {
            names.push(start);
            inside |= start == name;
        } else if inside {
            lines.push(line);
        }
    }
    Err(match inside {
        true => format!("the anchor `{name}` has no `ANCHOR_END: {name}`"),
        false => format!("there is no anchor `{name}`; there are: {}", names.join(", ")),
    })
}

fn marked<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(mark)?;
    rest.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors() {
        let source =
            "// ANCHOR: a\none\n// ANCHOR: b\ntwo\n// ANCHOR_END: b\n// ANCHOR_END: a\n// ANCHOR: open\n";
        assert_eq!(anchor(source, "a").unwrap(), "one\ntwo\n");
        assert_eq!(anchor(source, "b").unwrap(), "two\n");
        assert!(anchor(source, "c").unwrap_err().contains("there are: a, b, open"));
        assert!(anchor(source, "open").unwrap_err().contains("no `ANCHOR_END: open`"));
    }
}
