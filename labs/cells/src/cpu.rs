//! The host's processors: Rust's atomics by rustc, LLVM's by clang, for x86-64 and 64-bit ARM. What this machine can
//! run is run as well, under threads, by `cells_run.rs`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use labs_record::cells::{Backend, Cells, Old, Operation, Scalar, Spelling, Target};

use crate::reading::{Dialect, Listing, assembly};
use crate::{Column, Found, Key, Workshop, command, ir, name, run, version};

const CLANG: &str = "clang-19";
const RUSTC: &str = "rustc";

/// A processor as both compilers name it.
struct Processor {
    name: &'static str,
    dialect: Dialect,
    clang: &'static [&'static str],
    rustc: &'static [&'static str],
}

const PROCESSORS: [Processor; 3] = [
    Processor {
        name: "x86-64",
        dialect: Dialect::X86,
        clang: &["-target", "x86_64-linux-gnu"],
        rustc: &["--target", "x86_64-unknown-linux-gnu", "-C", "llvm-args=-x86-asm-syntax=att"],
    },
    Processor {
        name: "aarch64",
        dialect: Dialect::Aarch64,
        clang: &["-target", "aarch64-linux-gnu", "-mno-outline-atomics"],
        rustc: &["--target", "aarch64-unknown-linux-gnu", "-C", "target-feature=-outline-atomics"],
    },
    Processor {
        name: "aarch64+lse",
        dialect: Dialect::Aarch64,
        clang: &["-target", "aarch64-linux-gnu", "-march=armv8.1-a"],
        rustc: &["--target", "aarch64-unknown-linux-gnu", "-C", "target-feature=+lse"],
    },
];

/// A column for each processor and compiler.
///
/// # Errors
/// A compiler is missing or refuses the source; code holds no atomic instruction; a result is wrong under threads.
pub fn columns() -> Result<Vec<Column>> {
    let workshop = Workshop::open()?;
    workshop.write("cells.ll", &llvm_source())?;
    workshop.write("cells.rs", &rust_source())?;
    let ran = run_here(&workshop)?;
    let mut columns = Vec::new();
    for processor in &PROCESSORS {
        columns.push(by_clang(&workshop, processor)?);
        columns.push(by_rustc(&workshop, processor, &ran)?);
    }
    Ok(columns)
}

fn by_clang(workshop: &Workshop, processor: &Processor) -> Result<Column> {
    let mut options = processor.clang.to_vec();
    options.extend(["-O2", "-Wno-override-module"]);
    let mut arguments = options.clone();
    arguments.extend(["-S", "-x", "ir", "cells.ll", "-o", "cells.s"]);
    run(CLANG, &arguments, workshop.path())?;
    let target = Target {
        name: format!("{} clang", processor.name),
        backend: Backend::Cpu,
        compiler: version(CLANG)?,
        from: format!("LLVM IR, monotonic, {}", options.join(" ")),
        read_by: "the compiler's assembly".to_owned(),
        extent: "compiled".to_owned(),
    };
    let code = read(workshop, processor)?;
    let rows = Cells::wanted(Backend::Cpu).map(|key| {
        let listing = code.get(&name(key));
        let answer = listing.and_then(|listing| listing.answer(key.0));
        let answer = answer.with_context(|| format!("{}: `{}` holds no atomic", target.name, name(key)))?;
        Ok((key, Found::read(answer, ir::spelling(key.0))))
    });
    let rows: Result<BTreeMap<Key, Found>> = rows.collect();
    Ok((target, rows?))
}

fn by_rustc(workshop: &Workshop, processor: &Processor, ran: &str) -> Result<Column> {
    let mut options = processor.rustc.to_vec();
    options.extend(["-C", "opt-level=3"]);
    let mut arguments = options.clone();
    arguments.extend(["--crate-type", "lib", "--edition", "2024", "--emit", "asm", "-C", "panic=abort"]);
    arguments.extend(["cells.rs", "-o", "cells.s"]);
    run(RUSTC, &arguments, workshop.path())?;
    let extent = if processor.name == "x86-64" { ran } else { "compiled" };
    let target = Target {
        name: format!("{} rustc", processor.name),
        backend: Backend::Cpu,
        compiler: version(RUSTC)?,
        from: format!("core::sync::atomic, Relaxed, {}", options.join(" ")),
        read_by: "the compiler's assembly".to_owned(),
        extent: extent.to_owned(),
    };
    let code = read(workshop, processor)?;
    let rows = Cells::wanted(Backend::Cpu).map(|key| {
        let Some(spelled) = rust_spelling(key.0, key.1) else {
            return Ok((key, Found::absent("stable Rust has no such type")));
        };
        let answer = code.get(&name(key)).and_then(|listing| listing.answer(key.0));
        let answer = answer.with_context(|| format!("{}: `{}` holds no atomic", target.name, name(key)))?;
        Ok((key, Found::read(answer, spelled)))
    });
    let rows: Result<BTreeMap<Key, Found>> = rows.collect();
    Ok((target, rows?))
}

fn read(workshop: &Workshop, processor: &Processor) -> Result<BTreeMap<String, Listing>> {
    let text = std::fs::read_to_string(workshop.path().join("cells.s")).context("no assembly was left")?;
    Ok(assembly(processor.dialect, &text))
}

fn llvm_source() -> String {
    let mut text = String::new();
    for key in Cells::wanted(Backend::Cpu) {
        let (operation, kind, _, old) = key;
        let (word, body) = (ir::scalar(kind), ir::apply(operation, kind, "ptr", "monotonic"));
        let (result, value) =
            if old == Old::Used { (word, format!("{word} %old")) } else { ("void", "void".to_owned()) };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "define {result} @{}(ptr %a, {word} %v) {{\nentry:\n{body}  ret {value}\n}}",
            name(key)
        );
    }
    text
}

/// How Rust spells it; none where it has no such type.
fn rust_spelling(operation: Operation, kind: Scalar) -> Option<Spelling> {
    match kind {
        Scalar::F16 | Scalar::Bf16 | Scalar::F16x2 => None,
        Scalar::F32 | Scalar::F64 => Some(match operation {
            Operation::Exchange | Operation::Cas => Spelling::Function,
            _ => Spelling::Loop,
        }),
        _ if operation == Operation::Mul => Some(Spelling::Loop),
        _ => Some(Spelling::Function),
    }
}

/// The functions of all rows in Rust, on atomics of bits for floats.
fn rust_source() -> String {
    let mut text = "#![no_std]\nuse core::sync::atomic::{*, Ordering::Relaxed};\n".to_owned();
    for key in Cells::wanted(Backend::Cpu) {
        if let Some(spelled) = rust_spelling(key.0, key.1) {
            text += &rust_function(key, spelled);
        }
    }
    text
}

fn rust_function(key: Key, spelled: Spelling) -> String {
    let (operation, kind, _, old) = key;
    let float = !kind.is_integer();
    let (from, to) = if float { (format!("{kind}::from_bits"), ".to_bits()") } else { (String::new(), "") };
    let word = match (kind.bits(), kind.is_signed()) {
        (32, true) => "AtomicI32",
        (32, false) => "AtomicU32",
        (_, true) => "AtomicI64",
        (_, false) => "AtomicU64",
    };
    let body = match (spelled, operation) {
        (_, Operation::Exchange) => format!("a.swap(v{to}, Relaxed)"),
        (_, Operation::Cas) => {
            format!("match a.compare_exchange(v{to}, v{to} ^ 1, Relaxed, Relaxed) {{ Ok(x) | Err(x) => x }}")
        }
        (Spelling::Function, _) => format!("a.fetch_{operation}(v, Relaxed)"),
        _ => {
            let new = match operation {
                Operation::Add => "x + v",
                Operation::Sub => "x - v",
                Operation::Mul if float => "x * v",
                Operation::Mul => "x.wrapping_mul(v)",
                Operation::Min => "if v < x { v } else { x }",
                _ => "if v > x { v } else { x }",
            };
            format!(
                "{{ let mut seen = a.load(Relaxed); loop {{ let x = {from}(seen); let y = {new}; \
                 match a.compare_exchange_weak(seen, y{to}, Relaxed, Relaxed) {{ Ok(x) => break x, Err(x) => seen = x }} }} }}"
            )
        }
    };
    let (result, body) = match old {
        Old::Used => (format!(" -> {kind}"), format!("{from}({body})")),
        Old::Unused => (String::new(), format!("{body};")),
    };
    format!("#[unsafe(no_mangle)]\npub fn {}(a: &{word}, v: {kind}){result} {{ {body} }}\n", name(key))
}

/// Runs the Rust functions on this machine, from several threads, and checks what is left in the word.
fn run_here(workshop: &Workshop) -> Result<String> {
    let main = format!("{}\n{}", rust_source().replace("#![no_std]\n", ""), include_str!("cells_run.rs"));
    workshop.write("run.rs", &main)?;
    let arguments = ["--edition", "2024", "-C", "opt-level=3", "run.rs", "-o", "cells-run"];
    run(RUSTC, &arguments, workshop.path())?;
    let program = workshop.path().join("cells-run");
    let output = command(&program.to_string_lossy(), &[], workshop.path())?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        anyhow::bail!("under threads: {said} {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(said)
}
