//! The named arguments of a verb. What a verb does not know is refused, with what it knows.

use labs_record::{At, Coordinate};
use tera::{Kwargs, Value};

/// Arguments not yet asked for, and the names that were.
pub struct Arguments {
    verb: &'static str,
    left: Vec<(String, Value)>,
    known: Vec<&'static str>,
}

impl Arguments {
    /// The arguments of one call.
    pub fn new(verb: &'static str, given: &Kwargs) -> Arguments {
        let mut left: Vec<(String, Value)> = given
            .iter()
            .map(|(key, value)| (key.as_str().unwrap_or_default().to_owned(), value.clone()))
            .collect();
        left.sort_by(|a, b| a.0.cmp(&b.0));
        Arguments { verb, left, known: Vec::new() }
    }

    fn take(&mut self, name: &'static str) -> Result<Option<Value>, String> {
        self.known.push(name);
        let Some(place) = self.left.iter().position(|(given, _)| given == name) else { return Ok(None) };
        let (_, value) = self.left.remove(place);
        if value.is_none() || value.is_undefined() {
            return Err(format!("{}(): `{name}` is null", self.verb));
        }
        Ok(Some(value))
    }

    /// A text that may be missing.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>, String> {
        let Some(value) = self.take(name)? else { return Ok(None) };
        match value.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(format!("{}(): `{name}` is `{value}`; it takes a text", self.verb)),
        }
    }

    /// A text that may not be missing.
    pub fn need(&mut self, name: &'static str) -> Result<String, String> {
        let verb = self.verb;
        self.text(name)?.ok_or_else(|| format!("{verb}() needs `{name}`"))
    }

    /// A value that may not be missing.
    pub fn value(&mut self, name: &'static str) -> Result<Value, String> {
        let verb = self.verb;
        self.take(name)?.ok_or_else(|| format!("{verb}() needs `{name}`"))
    }

    /// A list of texts that may be missing.
    pub fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, String> {
        let Some(value) = self.take(name)? else { return Ok(None) };
        let texts: Option<Vec<String>> = value
            .as_array()
            .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        match texts {
            Some(texts) if !texts.is_empty() => Ok(Some(texts)),
            _ => Err(format!("{}(): `{name}` is `{value}`; it takes a list of texts", self.verb)),
        }
    }

    /// All that is left, as places on axes.
    pub fn axes(&mut self) -> Result<At, String> {
        let mut at = At::new();
        for (axis, value) in self.left.drain(..) {
            let place = match (value.as_str(), value.as_u64()) {
                (Some(text), _) => Coordinate::Text(text.to_owned()),
                (None, Some(number)) => Coordinate::Number(number),
                _ => {
                    return Err(format!(
                        "{}(): `{axis}` is `{value}`; a place on an axis is a whole number or a text",
                        self.verb
                    ));
                }
            };
            at.insert(axis, place);
        }
        Ok(at)
    }

    /// Refuses what nobody asked for.
    pub fn finish(&self) -> Result<(), String> {
        match self.left.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!(
                "{}() takes no `{name}`; it takes {}",
                self.verb,
                if self.known.is_empty() { "nothing".to_owned() } else { self.known.join(", ") }
            )),
        }
    }
}
