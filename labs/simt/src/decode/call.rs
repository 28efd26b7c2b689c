//! Calls: the callee's body in the caller's place.

use super::lower::{Frame, Home, Lowering};
use crate::code::{Cond, NONE, Op};
use crate::syntax::Operand;
use crate::types::Space;

impl Lowering<'_> {
    /// `call (ret), name, (args)`: the callee's body with its parameters copied in and results out.
    pub(super) fn call(&mut self, ops: &[Operand], guard: Option<Cond>) -> Result<(), String> {
        let mut rest = ops;
        let mut returns: &[Operand] = &[];
        if let [Operand::List(list), tail @ ..] = rest {
            (returns, rest) = (list, tail);
        }
        let [Operand::Symbol(name, _), rest @ ..] = rest else {
            return Err("only direct calls are supported".to_owned());
        };
        let args: &[Operand] = match rest {
            [Operand::List(list), ..] => list,
            _ => &[],
        };
        let text = self.text;
        let Some(callee) = text.functions.iter().find(|f| f.name == *name && !f.external) else {
            let reason = format!("the kernel called '{name}', which is not in the module");
            self.push(Op::Trap(reason.into()), guard, true);
            return Ok(());
        };
        let from = args.iter().map(|a| self.local_of(a)).collect::<Result<Vec<_>, _>>()?;
        let to = returns.iter().map(|a| self.local_of(a)).collect::<Result<Vec<_>, _>>()?;
        if from.len() != callee.params.len() || to.len() != callee.returns.len() {
            return Err(format!("'{name}' is called with a wrong number of parameters"));
        }
        let end = self.labels.len() as u32;
        let after = end + 1;
        self.labels.extend([NONE, NONE]);
        match guard {
            Some(cond) => self.push(
                Op::Branch { target: after, meet: NONE },
                Some(Cond { negated: !cond.negated, ..cond }),
                true,
            ),
            None => self.push(Op::Nothing, None, true),
        }
        self.enter(callee, end)?;
        let home = |frame: Option<&Frame<'_>>, index: u32| {
            frame.and_then(|f| f.homes.get(index as usize)).map_or(0, |h| h.offset)
        };
        let size = |index: u32| callee.variables.get(index as usize).map_or(0, |v| v.size as u32);
        for (&source, &param) in from.iter().zip(&callee.params) {
            let target = home(self.frames.last(), param);
            self.push(Op::CopyLocal { to: target, from: source, bytes: size(param) }, None, false);
        }
        self.body(callee)?;
        self.mark(end);
        for (&target, &result) in to.iter().zip(&callee.returns) {
            let source = home(self.frames.last(), result);
            self.push(Op::CopyLocal { to: target, from: source, bytes: size(result) }, None, false);
        }
        self.frames.pop();
        self.push(Op::Nothing, None, false);
        self.mark(after);
        Ok(())
    }

    pub(super) fn mark(&mut self, label: u32) {
        let here = self.code.instrs.len() as u32;
        if let Some(place) = self.labels.get_mut(label as usize) {
            *place = here;
        }
    }

    pub(super) fn local_of(&self, operand: &Operand) -> Result<u32, String> {
        match operand {
            Operand::Variable(index, 0) => match self.home(*index) {
                Some(Home { space: Space::Local, offset }) => Ok(offset),
                _ => Err("a call's operands must be .param variables".to_owned()),
            },
            _ => Err("a call's operands must be .param variables".to_owned()),
        }
    }
}
