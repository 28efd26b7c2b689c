//! Tests as text: a line a thread, its place first; then the locations that do not start as 0, and the outcome.
//!
//! ```text
//! cta 0: st.weak [x], 1; st.release.gpu [flag], 1
//! gpu 0 cluster 1 cta 1: ld.acquire.gpu r0, [flag]; ld.weak r1, [x]
//! host: st.relaxed.sys [flag], 2
//! initial x = 7
//! outcome r0 == 1 & r1 != 1 | x == 2
//! ```

use crate::error::Error;
use crate::program::{
    Atom, Cell, FenceOrder, Instruction, Operand, Operation, Order, Outcome, Place, Scope, Test, Thread,
};

impl Test {
    /// Reads a test; `//` starts a comment, blank lines mean nothing.
    ///
    /// # Errors
    /// The line that cannot be read, and why.
    pub fn parse(text: &str) -> Result<Test, Error> {
        let mut test = Test::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.split("//").next().unwrap_or_default().trim();
            if !line.is_empty() {
                read_line(&mut test, line).map_err(|why| Error(format!("line {}: {why}", number + 1)))?;
            }
        }
        if test.threads.is_empty() || test.outcome.0.is_empty() {
            return Err(Error("a test needs a thread and a line `outcome ..`".to_owned()));
        }
        Ok(test)
    }
}

fn read_line(test: &mut Test, line: &str) -> Result<(), String> {
    if let Some(outcome) = line.strip_prefix("outcome ") {
        if !test.outcome.0.is_empty() {
            return Err("a test has one line `outcome ..`; join alternatives by `|`".to_owned());
        }
        test.outcome = read_outcome(outcome)?;
    } else if let Some(initial) = line.strip_prefix("initial ") {
        for pair in initial.split(',') {
            let (location, value) =
                pair.split_once('=').ok_or_else(|| format!("`{pair}` is not `location = value`"))?;
            test.initial.push((name(location)?, number(value)?));
        }
    } else {
        let (at, code) =
            line.split_once(':').ok_or_else(|| format!("`{line}` is not `place: instruction; ..`"))?;
        let instructions = code.split(';').map(str::trim).filter(|code| !code.is_empty());
        test.threads.push(Thread {
            place: place(at)?,
            instructions: instructions.map(instruction).collect::<Result<_, _>>()?,
        });
    }
    Ok(())
}

fn place(text: &str) -> Result<Place, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words == ["host"] {
        return Ok(Place::Host);
    }
    let (mut gpu, mut cluster, mut cta) = (0, None, None);
    let wrong =
        || format!("`{text}` is no place; write `host`, or `gpu 0 cluster 0 cta 0`, the first two optional");
    for pair in words.chunks(2) {
        let [what, which] = pair else { return Err(wrong()) };
        let which: u8 = which.parse().map_err(|_| wrong())?;
        match *what {
            "gpu" => gpu = which,
            "cluster" => cluster = Some(which),
            "cta" => cta = Some(which),
            _ => return Err(wrong()),
        }
    }
    Ok(Place::Block { gpu, cluster, cta: cta.ok_or_else(wrong)? })
}

fn read_outcome(text: &str) -> Result<Outcome, String> {
    let alternatives = text.split('|').map(|parts| parts.split('&').map(atom).collect());
    Ok(Outcome(alternatives.collect::<Result<_, String>>()?))
}

fn atom(text: &str) -> Result<Atom, String> {
    let parts = text.split_once("==").map(|parts| (parts, true));
    let parts = parts.or_else(|| text.split_once("!=").map(|parts| (parts, false)));
    let ((cell, value), equal) = parts.ok_or_else(|| format!("`{text}` is not `r0 == 1` or `x != 1`"))?;
    let cell = name(cell)?;
    let register = is_register(&cell);
    let cell = if register { Cell::Register(cell) } else { Cell::Location(cell) };
    Ok(Atom { cell, equal, value: number(value)? })
}

/// `r` and a number.
fn is_register(name: &str) -> bool {
    name.strip_prefix('r').is_some_and(|rest| rest.parse::<u32>().is_ok())
}

fn name(text: &str) -> Result<String, String> {
    let text = text.trim();
    let good = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if good { Ok(text.to_owned()) } else { Err(format!("`{text}` is no name")) }
}

fn number(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("`{}` is no number", text.trim()))
}

fn location(text: &str) -> Result<String, String> {
    let inner = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let location = name(inner.ok_or_else(|| format!("`{text}` is no location; write `[x]`"))?)?;
    if is_register(&location) { Err(format!("`{location}` is a register's name")) } else { Ok(location) }
}

fn register(text: &str) -> Result<String, String> {
    let register = name(text)?;
    if is_register(&register) {
        Ok(register)
    } else {
        Err(format!("`{register}` is no register; write `r0`"))
    }
}

fn instruction(text: &str) -> Result<Instruction, String> {
    let (code, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let operands: Vec<&str> = operands.split(',').map(str::trim).filter(|text| !text.is_empty()).collect();
    let words: Vec<&str> = code.split('.').collect();
    let unknown = || format!("`{text}` is no instruction this model knows");
    match (words.as_slice(), operands.as_slice()) {
        (["ld", modifiers @ ..], [to, from]) => {
            let (order, scope) = access(modifiers).ok_or_else(unknown)?;
            if matches!(order, Order::Release | Order::AcqRel) {
                return Err(format!("`{text}`: a load cannot release"));
            }
            Ok(Instruction::Load { order, scope, register: register(to)?, location: location(from)? })
        }
        (["st", modifiers @ ..], [to, value]) => {
            let (order, scope) = access(modifiers).ok_or_else(unknown)?;
            if matches!(order, Order::Acquire | Order::AcqRel) {
                return Err(format!("`{text}`: a store cannot acquire"));
            }
            let value = match register(value) {
                Ok(register) => Operand::Register(register),
                Err(_) => Operand::Constant(number(value)?),
            };
            Ok(Instruction::Store { order, scope, location: location(to)?, value })
        }
        (["atom", modifiers @ ..], [to, at, value]) => atomic(modifiers, Some(to), at, value, unknown),
        (["red", modifiers @ ..], [at, value]) => atomic(modifiers, None, at, value, unknown),
        (["fence", order, scope], []) => Ok(Instruction::Fence {
            order: fence(order).ok_or_else(unknown)?,
            scope: scope_of(scope).ok_or_else(unknown)?,
        }),
        (["bar", "sync"], [id]) => Ok(Instruction::Barrier { cluster: false, id: number(id)? }),
        (["barrier", "cluster"], []) => Ok(Instruction::Barrier { cluster: true, id: 0 }),
        _ => Err(unknown()),
    }
}

fn atomic(
    modifiers: &[&str],
    to: Option<&str>,
    at: &str,
    value: &str,
    unknown: impl Fn() -> String,
) -> Result<Instruction, String> {
    let Some((operation, modifiers)) = modifiers.split_last() else { return Err(unknown()) };
    let operation = match *operation {
        "add" => Operation::Add,
        "exch" if to.is_some() => Operation::Exchange,
        _ => return Err(unknown()),
    };
    let (order, scope) = access(modifiers).ok_or_else(&unknown)?;
    if matches!(order, Order::Weak | Order::Volatile) {
        return Err(unknown());
    }
    let register = to.map(register).transpose()?;
    Ok(Instruction::Atomic {
        order,
        scope,
        operation,
        register,
        location: location(at)?,
        value: number(value)?,
    })
}

/// The order and scope of a load, store or atomic; those of a weak or volatile one carry no scope.
fn access(modifiers: &[&str]) -> Option<(Order, Scope)> {
    match modifiers {
        [] | ["weak"] => Some((Order::Weak, Scope::Cta)),
        ["volatile"] => Some((Order::Volatile, Scope::Sys)),
        [order, scope] => {
            let order = match *order {
                "relaxed" => Order::Relaxed,
                "acquire" => Order::Acquire,
                "release" => Order::Release,
                "acq_rel" => Order::AcqRel,
                _ => return None,
            };
            Some((order, scope_of(scope)?))
        }
        _ => None,
    }
}

fn fence(word: &str) -> Option<FenceOrder> {
    match word {
        "acquire" => Some(FenceOrder::Acquire),
        "release" => Some(FenceOrder::Release),
        "acq_rel" => Some(FenceOrder::AcqRel),
        "sc" => Some(FenceOrder::Sc),
        _ => None,
    }
}

fn scope_of(word: &str) -> Option<Scope> {
    [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys].into_iter().find(|scope| scope.to_string() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_reads_back_as_it_is_written() {
        for text in [
            "ld.weak r0, [x]",
            "ld.volatile r0, [x]",
            "ld.acquire.cluster r0, [x]",
            "st.weak [x], 1",
            "st.release.sys [x], r3",
            "atom.acq_rel.gpu.add r0, [x], 1",
            "atom.relaxed.cta.exch r0, [x], 4",
            "red.relaxed.gpu.add [x], 1",
            "fence.sc.cta",
            "fence.release.gpu",
            "bar.sync 3",
            "barrier.cluster",
        ] {
            assert_eq!(instruction(text).map(|instruction| instruction.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_ptx_does_not_have_is_refused() {
        for text in [
            "ld.release.gpu r0, [x]",
            "st.acquire.gpu [x], 1",
            "ld.relaxed r0, [x]",
            "ld.relaxed.warp r0, [x]",
            "ld.weak r0, x",
            "ld.weak a, [x]",
            "st.weak [r0], 1",
            "atom.relaxed.gpu.cas r0, [x], 1",
            "red.relaxed.gpu.exch [x], 1",
            "fence.sc",
            "nop",
        ] {
            assert!(instruction(text).is_err(), "{text}");
        }
        for text in [
            "cta 0: st.weak [x], 1",
            "outcome x == 1",
            "cta: ld.weak r0, [x]\noutcome r0 == 1",
            "cta 0: ld.weak r0, [x]\noutcome r0 == 1\noutcome r0 == 0",
        ] {
            assert!(Test::parse(text).is_err(), "{text}");
        }
        let error = Test::parse("cta 0: st.weak [x], 1\ncta 1: hop").expect_err("no such instruction");
        assert!(error.to_string().starts_with("line 2: `hop`"), "{error}");
    }
}
