//! Operands: registers, literals, addresses, vectors.

use super::scope::Scopes;
use super::{Parser, shown};
use crate::error::ParseError;
use crate::syntax::Operand;
use crate::token::Kind;

/// Most operands an instruction may list.
const OPERANDS_MAX: usize = 64;

/// An integer literal, `u64` bits.
pub(super) fn integer(word: &str) -> Option<u64> {
    let word = word.strip_suffix('U').unwrap_or(word);
    if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    if let Some(binary) = word.strip_prefix("0b").or_else(|| word.strip_prefix("0B")) {
        return u64::from_str_radix(binary, 2).ok();
    }
    if word.len() > 1 && word.starts_with('0') && word.bytes().all(|b| b.is_ascii_digit()) {
        return u64::from_str_radix(word, 8).ok();
    }
    word.parse().ok()
}

/// A single's bits: `0f3F800000`, or a decimal.
pub(super) fn single(word: &str) -> Option<u32> {
    match word.strip_prefix("0f").or_else(|| word.strip_prefix("0F")) {
        Some(hex) if hex.len() == 8 => u32::from_str_radix(hex, 16).ok(),
        _ if starts_like_a_number(word) => word.parse::<f32>().ok().map(f32::to_bits),
        _ => None,
    }
}

/// A double's bits: `0d3FF0000000000000`, or a decimal.
pub(super) fn double(word: &str) -> Option<u64> {
    match word.strip_prefix("0d").or_else(|| word.strip_prefix("0D")) {
        Some(hex) if hex.len() == 16 => u64::from_str_radix(hex, 16).ok(),
        _ if starts_like_a_number(word) => word.parse::<f64>().ok().map(f64::to_bits),
        _ => None,
    }
}

fn starts_like_a_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Special registers that an operand may name.
const SPECIALS: [&str; 8] =
    ["tid", "ntid", "ctaid", "nctaid", "cluster_ctaid", "cluster_nctaid", "clusterid", "nclusterid"];
const SPECIALS_SCALAR: [&str; 20] = [
    "laneid",
    "warpid",
    "nwarpid",
    "smid",
    "nsmid",
    "gridid",
    "lanemask_eq",
    "lanemask_lt",
    "lanemask_le",
    "lanemask_gt",
    "lanemask_ge",
    "clock",
    "clock_hi",
    "clock64",
    "globaltimer",
    "globaltimer_lo",
    "globaltimer_hi",
    "cluster_ctarank",
    "cluster_nctarank",
    "dynamic_smem_size",
];

fn special(name: &str) -> Option<&str> {
    let name = name.strip_prefix('%')?;
    let known = match name.split_once('.') {
        Some((base, axis)) => SPECIALS.contains(&base) && matches!(axis, "x" | "y" | "z"),
        None => SPECIALS_SCALAR.contains(&name) || name == "is_explicit_cluster" || name == "total_smem_size",
    };
    known.then_some(name)
}

impl Parser<'_> {
    /// Everything up to the semicolon.
    pub(super) fn operands(&mut self, scopes: &Scopes) -> Result<Vec<Operand>, ParseError> {
        let mut found = Vec::new();
        if self.eat(';') {
            return Ok(found);
        }
        loop {
            let mut operand = self.operand(scopes, 0)?;
            if self.eat('|') {
                operand = Operand::Pair(Box::new(operand), Box::new(self.operand(scopes, 0)?));
            }
            found.push(operand);
            if self.eat(';') {
                return Ok(found);
            }
            self.expect(',')?;
            if found.len() > OPERANDS_MAX {
                return self.fail("too many operands");
            }
        }
    }

    fn operand(&mut self, scopes: &Scopes, depth: u32) -> Result<Operand, ParseError> {
        if depth > 4 {
            return self.fail("operands nested too deeply");
        }
        match self.peek() {
            Kind::Mark('{') => Ok(Operand::Vector(self.list('{', '}', scopes, depth)?)),
            Kind::Mark('(') => Ok(Operand::List(self.list('(', ')', scopes, depth)?)),
            Kind::Mark('[') => self.address(scopes, depth),
            Kind::Mark('!') => {
                self.at += 1;
                Ok(Operand::Not(Box::new(self.operand(scopes, depth + 1)?)))
            }
            Kind::Mark('-' | '+') => Ok(match self.signed()? {
                Literal::Integer(value) => Operand::Integer(value),
                Literal::Single(bits) => Operand::Single(bits),
                Literal::Double(bits) => Operand::Double(bits),
            }),
            Kind::Word(_) => self.named(scopes),
            other => self.fail(format!("expected an operand, found {}", shown(other))),
        }
    }

    fn list(
        &mut self,
        open: char,
        close: char,
        scopes: &Scopes,
        depth: u32,
    ) -> Result<Vec<Operand>, ParseError> {
        let mut found = Vec::new();
        self.expect(open)?;
        while !self.eat(close) {
            found.push(self.operand(scopes, depth + 1)?);
            if !self.eat(',') && self.peek() != Kind::Mark(close) {
                return self.fail(format!("expected ',' or '{close}', found {}", shown(self.peek())));
            }
            if found.len() > OPERANDS_MAX {
                return self.fail("too many operands");
            }
        }
        Ok(found)
    }

    fn address(&mut self, scopes: &Scopes, depth: u32) -> Result<Operand, ParseError> {
        self.expect('[')?;
        let base = self.operand(scopes, depth + 1)?;
        let mut offset = 0_i64;
        while matches!(self.peek(), Kind::Mark('+' | '-')) {
            match self.signed()? {
                Literal::Integer(value) => offset = offset.wrapping_add(value as i64),
                _ => return self.fail("a float is no offset"),
            }
        }
        self.expect(']')?;
        Ok(Operand::Address(Box::new(base), offset))
    }

    fn named(&mut self, scopes: &Scopes) -> Result<Operand, ParseError> {
        let line = self.ptx_line();
        let word = self.word("an operand")?;
        if word == "_" {
            return Ok(Operand::Sink);
        }
        if let Some(register) = scopes.register(word) {
            return Ok(Operand::Register(register));
        }
        if let Some(name) = special(word) {
            return Ok(Operand::Special(name.to_owned()));
        }
        if word == "WARP_SZ" {
            return Ok(Operand::Integer(32));
        }
        if let Some(literal) = literal(word) {
            return Ok(match literal {
                Literal::Integer(value) => Operand::Integer(value),
                Literal::Single(bits) => Operand::Single(bits),
                Literal::Double(bits) => Operand::Double(bits),
            });
        }
        if let Some(label) = scopes.label(word) {
            return Ok(Operand::Label(label));
        }
        if word.starts_with('%') || starts_like_a_number(word) || word.starts_with('.') {
            return self.fail_at(line, format!("unknown register '{word}'"));
        }
        let mut offset = 0_i64;
        // `name+4` outside brackets; inside, the address adds it up itself.
        if matches!(self.peek(), Kind::Mark('+'))
            && !matches!(self.tokens.get(self.at + 2).map(|t| t.kind), Some(Kind::Mark(']')))
            && let Literal::Integer(value) = self.signed()?
        {
            offset = value as i64;
        }
        Ok(match scopes.variable(word) {
            Some(variable) => Operand::Variable(variable, offset),
            None => Operand::Symbol(word.to_owned(), offset),
        })
    }

    fn signed(&mut self) -> Result<Literal, ParseError> {
        let mut negative = false;
        while let Kind::Mark(mark @ ('+' | '-')) = self.peek() {
            negative ^= mark == '-';
            self.at += 1;
        }
        let line = self.ptx_line();
        let word = self.word("a number")?;
        let Some(found) = literal(word) else {
            return self.fail_at(line, format!("expected a number, found '{word}'"));
        };
        Ok(match found {
            Literal::Integer(value) if negative => Literal::Integer(value.wrapping_neg()),
            Literal::Single(bits) if negative => Literal::Single(bits ^ 1 << 31),
            Literal::Double(bits) if negative => Literal::Double(bits ^ 1 << 63),
            found => found,
        })
    }
}

enum Literal {
    Integer(u64),
    Single(u32),
    Double(u64),
}

fn literal(word: &str) -> Option<Literal> {
    if !starts_like_a_number(word) {
        return None;
    }
    if let Some(value) = integer(word) {
        return Some(Literal::Integer(value));
    }
    if word.starts_with("0f") || word.starts_with("0F") {
        return single(word).map(Literal::Single);
    }
    double(word).map(Literal::Double)
}
