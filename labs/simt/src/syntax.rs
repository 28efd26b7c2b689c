//! What the parser hands over: functions, variables and instructions with
//! registers and labels resolved, opcodes and modifiers still words.

use crate::types::{Space, Ty};

/// A parsed module.
#[derive(Debug, Default)]
pub(crate) struct Text {
    pub(crate) target: String,
    pub(crate) functions: Vec<Function>,
    pub(crate) variables: Vec<Variable>,
}

/// A `.func` or `.entry`.
#[derive(Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) entry: bool,
    /// Declared only (`.extern .func`, or a prototype).
    pub(crate) external: bool,
    /// Indices into `variables`.
    pub(crate) returns: Vec<u32>,
    /// Indices into `variables`.
    pub(crate) params: Vec<u32>,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) max_threads: Option<u32>,
    /// Types of the registers by number.
    pub(crate) registers: Vec<Ty>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) labels: u32,
    pub(crate) body: Vec<Statement>,
    pub(crate) line: u32,
}

/// A variable in a state space.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) align: u32,
    /// Bytes; 0 for `extern .shared x[]`.
    pub(crate) size: u64,
    pub(crate) init: Vec<u8>,
}

#[derive(Debug)]
pub(crate) enum Statement {
    Label(u32),
    Instruction(Instruction),
}

/// One instruction as written.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    /// Register and whether it is negated.
    pub(crate) guard: Option<(u32, bool)>,
    pub(crate) opcode: String,
    /// Without dots, in order; a `::` stays inside.
    pub(crate) modifiers: Vec<String>,
    pub(crate) operands: Vec<Operand>,
    /// By `.loc`, else the PTX line.
    pub(crate) line: u32,
    pub(crate) ptx_line: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Register(u32),
    /// `%tid.x` without the percent sign.
    Special(String),
    Integer(u64),
    /// Bits of a single.
    Single(u32),
    /// Bits of a double.
    Double(u64),
    /// A variable of the function, and bytes past its start.
    Variable(u32, i64),
    /// A variable of the module or a function's name, and bytes past its start.
    Symbol(String, i64),
    Label(u32),
    Vector(Vec<Operand>),
    Address(Box<Operand>, i64),
    /// `d|p`
    Pair(Box<Operand>, Box<Operand>),
    Not(Box<Operand>),
    /// `_`
    Sink,
    /// `(a, b)` of a call
    List(Vec<Operand>),
}
