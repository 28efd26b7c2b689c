//! Parsed text into [`Code`]: operands to slots, modifiers to meaning.
//! Whatever is not understood is an error here, never a guess at run time.

mod arithmetic;
mod asynchronous;
mod call;
mod lower;
mod memory;
mod modifiers;
mod moves;
mod operand;
mod sync;

use std::sync::Arc;

use crate::code::Code;
use crate::error::ParseError;
use crate::parse::parse;
use crate::syntax::{Text, Variable};

/// A PTX module, decoded: kernels and variables. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) parts: Arc<Parts>,
}

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) target: String,
    pub(crate) kernels: Vec<Arc<Code>>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) lines: Vec<String>,
}

impl Module {
    /// Reads PTX text (7.x to 9.x as NVRTC and nvcc write it).
    ///
    /// # Errors
    /// The first line that is not PTX, or an instruction or form that this
    /// simulator does not execute, with its text.
    pub fn parse(source: &str) -> Result<Module, ParseError> {
        let text = parse(source)?;
        let lines: Vec<String> = source.split('\n').map(str::to_owned).collect();
        let kernels = text
            .functions
            .iter()
            .filter(|f| f.entry && !f.external)
            .map(|f| lower::lower(&text, f, &lines).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        // A function that no kernel calls must be readable, too.
        for function in text.functions.iter().filter(|f| !f.entry && !f.external) {
            lower::lower(&text, function, &lines)?;
        }
        let Text { target, variables, .. } = text;
        Ok(Module { parts: Arc::new(Parts { target, kernels, variables, lines }) })
    }

    /// The architecture that the text names, such as `sm_75`.
    pub fn target(&self) -> &str {
        &self.parts.target
    }

    /// Names of the kernels, in the text's order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.parts.kernels.iter().map(|k| k.name.as_str())
    }

    /// Offset and size in bytes of each parameter of a kernel.
    pub fn parameters(&self, kernel: &str) -> Option<&[(u32, u32)]> {
        self.parts.kernels.iter().find(|k| k.name == kernel).map(|k| k.params.as_slice())
    }

    /// Opcodes with their modifiers as the text has them, once each, sorted.
    pub fn forms(source: &str) -> Result<Vec<String>, ParseError> {
        let text = parse(source)?;
        let mut forms: Vec<String> = text.functions.iter().flat_map(lower::forms).collect();
        forms.sort();
        forms.dedup();
        Ok(forms)
    }

    pub(crate) fn code(&self, kernel: &str) -> Option<&Arc<Code>> {
        self.parts.kernels.iter().find(|k| k.name == kernel)
    }
}

impl Parts {
    /// A line of the PTX text, from 1, without its indent and comments.
    pub(crate) fn text(&self, line: u32) -> &str {
        let line = self.lines.get(line.saturating_sub(1) as usize).map_or("", String::as_str);
        line.split("//").next().unwrap_or(line).trim()
    }
}
