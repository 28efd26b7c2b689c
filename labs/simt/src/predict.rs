//! What ptxas is predicted to make of each atomic.

use crate::code::{AtomicOp, Code, Op};
use crate::decode::{Module, Parts};

/// The prediction for one atomic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitePrediction {
    /// Index of the instruction in its kernel.
    pub instruction: u32,
    /// Source line by `.loc`, or the PTX line.
    pub line: u32,
    /// The instruction as the PTX spells it.
    pub text: String,
    /// What it does.
    pub op: AtomicOp,
    /// The warp's lanes are folded into one operation.
    pub folds: bool,
    /// A reply comes back: ATOM rather than RED.
    pub returns: bool,
}

/// Predictions for a kernel's atomics on `sm` (75, 80, 90), in its order. None when there is no such kernel.
pub fn predict(module: &Module, kernel: &str, sm: u32) -> Option<Vec<SitePrediction>> {
    module.code(kernel).map(|code| predict_code(code, &module.parts, sm))
}

pub(crate) fn predict_code(code: &Code, parts: &Parts, sm: u32) -> Vec<SitePrediction> {
    let _ = sm;
    let mut found = Vec::new();
    for (index, instr) in code.instrs.iter().enumerate() {
        if let Op::Atomic(atomic) = &instr.op {
            found.push(SitePrediction {
                instruction: index as u32,
                line: instr.line,
                text: parts.text(instr.ptx_line).to_owned(),
                op: atomic.op,
                folds: false,
                returns: !atomic.to.is_empty(),
            });
        }
    }
    found
}
