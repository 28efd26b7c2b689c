//! Tokens into [`Text`]: directives, declarations, scopes, instructions.

mod declare;
mod operand;
mod scope;

use std::collections::HashMap;

use crate::error::ParseError;
use crate::syntax::{Function, Instruction, Statement, Text};
use crate::token::{Kind, Token, tokens};
use scope::Scopes;

/// Most registers a function may declare; more is not a kernel but an accident.
const REGISTERS_MAX: usize = 1 << 16;
/// Deepest nesting of `{ }`.
const DEPTH_MAX: usize = 64;

/// A file, line and column of the compiler's line table.
type Location = (u32, u32, u32);

pub(crate) struct Parser<'a> {
    lines: Vec<&'a str>,
    tokens: Vec<Token<'a>>,
    at: usize,
    text: Text,
    /// Where the code at a location was inlined to.
    inlined: HashMap<Location, Location>,
    /// File number of the kernel's own file: the first that a `.loc` names.
    main_file: Option<u32>,
    /// Line that the next instruction belongs to.
    line: Option<u32>,
}

/// Parses a whole module.
pub(crate) fn parse(source: &str) -> Result<Text, ParseError> {
    let mut parser = Parser {
        lines: source.split('\n').collect(),
        tokens: tokens(source),
        at: 0,
        text: Text::default(),
        inlined: HashMap::new(),
        main_file: None,
        line: None,
    };
    parser.module()?;
    Ok(parser.text)
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Kind<'a> {
        self.tokens.get(self.at).map_or(Kind::End, |t| t.kind)
    }

    fn next(&mut self) -> Kind<'a> {
        let kind = self.peek();
        self.at += 1;
        kind
    }

    fn ptx_line(&self) -> u32 {
        let last = self.tokens.last().map_or(1, |t| t.line);
        self.tokens.get(self.at).map_or(last, |t| t.line)
    }

    fn fail<T>(&self, reason: impl Into<String>) -> Result<T, ParseError> {
        self.fail_at(self.ptx_line(), reason)
    }

    fn fail_at<T>(&self, line: u32, reason: impl Into<String>) -> Result<T, ParseError> {
        let text = self.lines.get(line.saturating_sub(1) as usize).copied().unwrap_or_default();
        Err(ParseError { line, text: text.to_owned(), reason: reason.into() })
    }

    fn eat(&mut self, mark: char) -> bool {
        let found = self.peek() == Kind::Mark(mark);
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, mark: char) -> Result<(), ParseError> {
        if self.eat(mark) {
            return Ok(());
        }
        self.fail(format!("expected '{mark}', found {}", shown(self.peek())))
    }

    fn word(&mut self, what: &str) -> Result<&'a str, ParseError> {
        match self.peek() {
            Kind::Word(word) => {
                self.at += 1;
                Ok(word)
            }
            other => self.fail(format!("expected {what}, found {}", shown(other))),
        }
    }

    fn number(&mut self, what: &str) -> Result<u64, ParseError> {
        let line = self.ptx_line();
        let word = self.word(what)?;
        match operand::integer(word) {
            Some(value) => Ok(value),
            None => self.fail_at(line, format!("expected {what}, found '{word}'")),
        }
    }

    fn module(&mut self) -> Result<(), ParseError> {
        loop {
            match self.peek() {
                Kind::End => return Ok(()),
                Kind::Word(word) => self.directive(word)?,
                Kind::Mark(';') => self.at += 1,
                other => return self.fail(format!("expected a directive, found {}", shown(other))),
            }
        }
    }

    fn directive(&mut self, word: &str) -> Result<(), ParseError> {
        match word {
            ".version" | ".address_size" => {
                self.at += 1;
                let line = self.ptx_line();
                let value = self.word("a value")?;
                if word == ".address_size" && value != "64" {
                    return self.fail_at(line, "only 64-bit addresses are supported");
                }
            }
            ".target" => {
                self.at += 1;
                self.text.target = self.word("a target")?.to_owned();
                while self.eat(',') {
                    self.word("a target option")?;
                }
            }
            ".file" => self.skip_file(),
            ".section" => self.skip_section()?,
            ".loc" => self.location()?,
            ".visible" | ".extern" | ".weak" | ".common" => self.at += 1,
            ".entry" | ".func" => self.function()?,
            ".global" | ".const" | ".shared" => {
                let variable = self.variable()?;
                self.text.variables.push(variable);
            }
            ".pragma" | ".noreturn" | ".alias" => self.skip_to_semicolon(),
            _ => return self.fail(format!("unknown directive '{word}'")),
        }
        Ok(())
    }

    fn skip_to_semicolon(&mut self) {
        while !matches!(self.next(), Kind::Mark(';') | Kind::End) {}
    }

    /// `.file 1 "name"` and, optionally, `, time, size`.
    fn skip_file(&mut self) {
        self.at += 2;
        if matches!(self.peek(), Kind::Text(_)) {
            self.at += 1;
        }
        while self.eat(',') {
            self.at += 1;
        }
    }

    /// `.section .debug_str { .. }`: debug information says nothing that `.loc` does not.
    fn skip_section(&mut self) -> Result<(), ParseError> {
        self.at += 1;
        self.word("a section's name")?;
        self.expect('{')?;
        loop {
            match self.next() {
                Kind::Mark('}') => return Ok(()),
                Kind::End => return self.fail("a section that does not end"),
                _ => {}
            }
        }
    }

    /// `.loc file line column[, function_name label[+n], inlined_at file line column]`
    fn location(&mut self) -> Result<(), ParseError> {
        self.at += 1;
        let here = self.triple()?;
        while self.eat(',') {
            match self.word("function_name or inlined_at")? {
                "function_name" => {
                    self.word("a label")?;
                    if self.eat('+') {
                        self.number("an offset")?;
                    }
                }
                "inlined_at" => {
                    let outer = self.triple()?;
                    self.inlined.insert(here, outer);
                }
                other => return self.fail(format!("unknown part of .loc: '{other}'")),
            }
        }
        let main = *self.main_file.get_or_insert(here.0);
        // A chain longer than this is a loop in a broken table.
        let mut at = here;
        for _ in 0..64 {
            if at.0 == main {
                self.line = Some(at.1);
                break;
            }
            match self.inlined.get(&at) {
                Some(&outer) => at = outer,
                None => break,
            }
        }
        Ok(())
    }

    fn triple(&mut self) -> Result<Location, ParseError> {
        let mut part = || self.number("a number in .loc").map(|n| n as u32);
        Ok((part()?, part()?, part()?))
    }

    fn body(&mut self, function: &mut Function) -> Result<(), ParseError> {
        let mut scopes = Scopes::of(function);
        self.expect('{')?;
        scopes.open(&self.labels_ahead(), function);
        while scopes.depth() > 1 {
            match self.peek() {
                Kind::Mark('{') => {
                    if scopes.depth() > DEPTH_MAX {
                        return self.fail("blocks nested too deeply");
                    }
                    self.at += 1;
                    scopes.open(&self.labels_ahead(), function);
                }
                Kind::Mark('}') => {
                    self.at += 1;
                    scopes.close();
                }
                Kind::Mark(';') => self.at += 1,
                Kind::Mark('@') => self.instruction(function, &scopes)?,
                Kind::Word(word) => self.statement(word, function, &mut scopes)?,
                other => return self.fail(format!("expected an instruction, found {}", shown(other))),
            }
        }
        Ok(())
    }

    /// Labels of the block that begins here, inner blocks apart: a branch may come before its label.
    fn labels_ahead(&self) -> Vec<&'a str> {
        let mut labels = Vec::new();
        let mut depth = 0;
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        for (index, token) in rest.iter().enumerate() {
            match token.kind {
                Kind::Mark('{') => depth += 1,
                Kind::Mark('}') if depth == 0 => break,
                Kind::Mark('}') => depth -= 1,
                Kind::Word(word)
                    if depth == 0 && rest.get(index + 1).map(|t| t.kind) == Some(Kind::Mark(':')) =>
                {
                    labels.push(word);
                }
                _ => {}
            }
        }
        labels
    }

    fn statement(
        &mut self,
        word: &'a str,
        function: &mut Function,
        scopes: &mut Scopes,
    ) -> Result<(), ParseError> {
        if self.tokens.get(self.at + 1).map(|t| t.kind) == Some(Kind::Mark(':')) {
            self.at += 2;
            return match scopes.label(word) {
                Some(label) => {
                    function.body.push(Statement::Label(label));
                    Ok(())
                }
                None => self.fail(format!("label '{word}' is out of place")),
            };
        }
        match word {
            ".reg" => self.registers(function, scopes),
            ".loc" => self.location(),
            ".file" => {
                self.skip_file();
                Ok(())
            }
            ".pragma" => {
                self.skip_to_semicolon();
                Ok(())
            }
            ".shared" | ".local" | ".param" => {
                let variable = self.variable()?;
                scopes.declare(variable, function);
                Ok(())
            }
            _ if word.starts_with('.') => self.fail(format!("unknown directive '{word}'")),
            _ => self.instruction(function, scopes),
        }
    }

    fn instruction(&mut self, function: &mut Function, scopes: &Scopes) -> Result<(), ParseError> {
        let ptx_line = self.ptx_line();
        let guard = self.guard(scopes)?;
        let word = self.word("an opcode")?;
        let mut parts = word.split('.');
        let opcode = parts.next().unwrap_or_default().to_owned();
        let modifiers = parts.map(str::to_owned).collect();
        let operands = self.operands(scopes)?;
        let line = self.line.unwrap_or(ptx_line);
        function.body.push(Statement::Instruction(Instruction {
            guard,
            opcode,
            modifiers,
            operands,
            line,
            ptx_line,
        }));
        Ok(())
    }

    fn guard(&mut self, scopes: &Scopes) -> Result<Option<(u32, bool)>, ParseError> {
        if !self.eat('@') {
            return Ok(None);
        }
        let negated = self.eat('!');
        let name = self.word("a predicate")?;
        match scopes.register(name) {
            Some(register) => Ok(Some((register, negated))),
            None => self.fail(format!("unknown predicate '{name}'")),
        }
    }
}

/// A token as messages show it.
fn shown(kind: Kind<'_>) -> String {
    match kind {
        Kind::Word(word) => format!("'{word}'"),
        Kind::Text(text) => format!("\"{text}\""),
        Kind::Mark(mark) => format!("'{mark}'"),
        Kind::End => "the end of the text".to_owned(),
    }
}

#[cfg(test)]
mod tests;
