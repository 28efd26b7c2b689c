//! Declarations: registers, variables, functions.

use super::operand::{double, integer, single};
use super::scope::Scopes;
use super::{Parser, REGISTERS_MAX, shown};
use crate::error::ParseError;
use crate::syntax::{Function, Variable};
use crate::token::Kind;
use crate::types::{Space, Ty};

/// Largest variable: what a test of the parser may allocate without harm.
const VARIABLE_BYTES_MAX: u64 = 1 << 30;

impl Parser<'_> {
    /// `.reg .b32 %r<8>, %x;`
    pub(super) fn registers(
        &mut self,
        function: &mut Function,
        scopes: &mut Scopes,
    ) -> Result<(), ParseError> {
        self.at += 1;
        let ty = self.ty()?;
        loop {
            let name = self.word("a register")?;
            let first = function.registers.len() as u32;
            let mut count = 1;
            if self.eat('<') {
                count = self.number("how many registers")? as usize;
                self.expect('>')?;
                scopes.add_range(name, first, count.min(REGISTERS_MAX) as u32);
            } else {
                scopes.add_register(name, first);
            }
            if count > REGISTERS_MAX || function.registers.len() + count > REGISTERS_MAX {
                return self.fail(format!("more than {REGISTERS_MAX} registers"));
            }
            function.registers.extend(std::iter::repeat_n(ty, count));
            if !self.eat(',') {
                return self.expect(';');
            }
        }
    }

    fn ty(&mut self) -> Result<Ty, ParseError> {
        let line = self.ptx_line();
        let word = self.word("a type")?;
        match word.strip_prefix('.').and_then(Ty::from_name) {
            Some(ty) => Ok(ty),
            None => self.fail_at(line, format!("unknown type '{word}'")),
        }
    }

    /// `.shared .align 4 .b8 name[16] = {..};` or a parameter without the semicolon.
    pub(super) fn variable(&mut self) -> Result<Variable, ParseError> {
        let variable = self.declaration()?;
        self.expect(';')?;
        Ok(variable)
    }

    fn declaration(&mut self) -> Result<Variable, ParseError> {
        let line = self.ptx_line();
        let space = match self.word("a state space")? {
            ".global" => Space::Global,
            ".const" => Space::Const,
            ".shared" => Space::Shared,
            ".local" => Space::Local,
            ".param" => Space::Param,
            other => return self.fail_at(line, format!("unknown state space '{other}'")),
        };
        let mut align = 0;
        let mut lanes = 1;
        let ty = loop {
            match self.peek() {
                Kind::Word(".align") => {
                    self.at += 1;
                    align = self.number("an alignment")? as u32;
                    if !align.is_power_of_two() || align > 1 << 16 {
                        return self.fail(format!("alignment {align} is no power of two up to 65536"));
                    }
                }
                Kind::Word(".v2") => (self.at, lanes) = (self.at + 1, 2),
                Kind::Word(".v4") => (self.at, lanes) = (self.at + 1, 4),
                Kind::Word(".ptr") => self.at += 1,
                Kind::Word(".global" | ".const" | ".shared" | ".local") => self.at += 1,
                Kind::Word(".attribute") => return self.fail("variables with attributes are not supported"),
                _ => break self.ty()?,
            }
        };
        // `.param .u64 .ptr .global .align 4 name`
        while let Kind::Word(".ptr" | ".global" | ".const" | ".shared" | ".local" | ".align") = self.peek() {
            if self.word("")? == ".align" {
                self.number("an alignment")?;
            }
        }
        let name = self.word("a name")?.to_owned();
        let element = u64::from(ty.bytes()) * lanes;
        let mut size = element;
        while self.eat('[') {
            let count = if self.peek() == Kind::Mark(']') { 0 } else { self.number("a length")? };
            size = size.saturating_mul(count);
            self.expect(']')?;
        }
        if size > VARIABLE_BYTES_MAX {
            return self
                .fail(format!("'{name}' takes {size} bytes; {VARIABLE_BYTES_MAX} is the most supported"));
        }
        let mut init = Vec::new();
        if self.eat('=') {
            self.initial(ty, &mut init, 0)?;
            if init.len() as u64 > size {
                return self.fail(format!("'{name}' has {size} bytes, but its initial value {}", init.len()));
            }
        }
        Ok(Variable { name, space, align: align.max(element as u32), size, init })
    }

    fn initial(&mut self, ty: Ty, bytes: &mut Vec<u8>, depth: u32) -> Result<(), ParseError> {
        if depth > 8 {
            return self.fail("an initial value nested too deeply");
        }
        if self.eat('{') {
            while !self.eat('}') {
                self.initial(ty, bytes, depth + 1)?;
                if !self.eat(',') && self.peek() != Kind::Mark('}') {
                    return self.fail(format!("expected ',' or '}}', found {}", shown(self.peek())));
                }
            }
            return Ok(());
        }
        let negative = self.eat('-');
        let line = self.ptx_line();
        let word = self.word("an initial value")?;
        let bits = match ty {
            Ty::F32 => single(word).map(u64::from).map(|b| b ^ u64::from(negative) << 31),
            Ty::F64 => double(word).map(|b| b ^ u64::from(negative) << 63),
            _ => integer(word).map(|v| if negative { v.wrapping_neg() } else { v }),
        };
        let Some(bits) = bits else {
            return self.fail_at(line, format!("'{word}' as an initial value is not supported"));
        };
        bytes.extend(bits.to_le_bytes().iter().take(ty.bytes() as usize));
        Ok(())
    }

    /// `.func (.param ..) name (.param .., ..) directives { .. }` or `.entry name (..) ..`
    pub(super) fn function(&mut self) -> Result<(), ParseError> {
        let line = self.ptx_line();
        let entry = self.word("")? == ".entry";
        let mut function = Function { entry, line, ..Function::default() };
        if self.peek() == Kind::Mark('(') {
            function.returns = self.parameters(&mut function)?;
        }
        function.name = self.word("a function's name")?.to_owned();
        if self.peek() == Kind::Mark('(') {
            function.params = self.parameters(&mut function)?;
        }
        loop {
            match self.peek() {
                Kind::Mark('{') => break,
                Kind::Mark(';') | Kind::End => {
                    function.external = true;
                    break;
                }
                Kind::Word(".loc") => self.location()?,
                Kind::Word(word) => self.performance(word, &mut function)?,
                other => return self.fail(format!("expected a function's body, found {}", shown(other))),
            }
        }
        if function.external {
            self.eat(';');
        } else {
            self.line = None;
            self.body(&mut function)?;
            self.line = None;
        }
        self.text.functions.retain(|f| !(f.external && f.name == function.name));
        if function.external && self.text.functions.iter().any(|f| f.name == function.name) {
            return Ok(());
        }
        self.text.functions.push(function);
        Ok(())
    }

    fn parameters(&mut self, function: &mut Function) -> Result<Vec<u32>, ParseError> {
        let mut found = Vec::new();
        self.expect('(')?;
        while !self.eat(')') {
            if self.peek() == Kind::Word(".reg") {
                return self.fail("parameters in registers are not supported");
            }
            found.push(function.variables.len() as u32);
            let variable = self.declaration()?;
            function.variables.push(variable);
            if !self.eat(',') && self.peek() != Kind::Mark(')') {
                return self.fail(format!("expected ',' or ')', found {}", shown(self.peek())));
            }
        }
        Ok(found)
    }

    fn performance(&mut self, word: &str, function: &mut Function) -> Result<(), ParseError> {
        match word {
            ".noreturn" | ".explicitcluster" => self.at += 1,
            ".maxntid" | ".reqntid" => {
                self.at += 1;
                let [x, y, z] = self.sizes()?;
                function.max_threads = Some(x.saturating_mul(y).saturating_mul(z));
            }
            ".reqnctapercluster" => {
                self.at += 1;
                function.cluster = Some(self.sizes()?);
            }
            ".minnctapersm" | ".maxnctapersm" | ".maxnreg" | ".maxclusterrank" => {
                self.at += 1;
                self.number("a number")?;
            }
            ".pragma" => self.skip_to_semicolon(),
            _ => return self.fail(format!("unknown directive '{word}'")),
        }
        Ok(())
    }

    fn sizes(&mut self) -> Result<[u32; 3], ParseError> {
        let mut sizes = [1; 3];
        for (index, size) in sizes.iter_mut().enumerate() {
            if index > 0 && !self.eat(',') {
                break;
            }
            *size = self.number("a size")? as u32;
        }
        Ok(sizes)
    }
}
