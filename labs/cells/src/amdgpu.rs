//! AMD's GPUs by LLVM: its intermediate language in, its assembly out. Agent and system scope, since that changes the
//! answer, and the attribute by which a program allows float atomics whose rounding of subnormals differs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use labs_record::cells::{Backend, Cells, Old, Operation, Place, Scalar, Target};

use crate::reading::{Dialect, assembly};
use crate::{Column, Found, Key, Workshop, ir, name, run, version};

/// Debian's LLVM that knows all five.
const CLANG: &str = "clang-19";

const PROCESSORS: [&str; 5] = ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100"];

/// How atomics are asked for: column name, scope and order, function attribute.
const WAYS: [(&str, &str, &str); 3] = [
    ("agent", "syncscope(\"agent\") monotonic", ""),
    ("agent, unsafe-fp-atomics", "syncscope(\"agent\") monotonic", "\"amdgpu-unsafe-fp-atomics\"=\"true\""),
    ("system", "monotonic", ""),
];

/// A column for each processor and way.
///
/// # Errors
/// clang is missing or refuses the source; a kernel holds no atomic instruction.
pub fn columns() -> Result<Vec<Column>> {
    let compiler = version(CLANG)?;
    let workshop = Workshop::open()?;
    let mut columns = Vec::new();
    for processor in PROCESSORS {
        for (way, order, attribute) in WAYS {
            workshop.write("cells.ll", &source(order, attribute))?;
            let cpu = format!("-mcpu={processor}");
            let options = ["-target", "amdgcn-amd-amdhsa", &cpu, "-nogpulib", "-O2", "-Wno-override-module"];
            let mut arguments = options.to_vec();
            arguments.extend(["-S", "-x", "ir", "cells.ll", "-o", "cells.s"]);
            run(CLANG, &arguments, workshop.path())?;
            let text =
                std::fs::read_to_string(workshop.path().join("cells.s")).context("clang left no assembly")?;
            let target = Target {
                name: format!("{processor} {way}"),
                backend: Backend::Amdgpu,
                compiler: compiler.clone(),
                from: format!(
                    "LLVM IR, {order}{}{attribute}, {}",
                    if attribute.is_empty() { "" } else { ", " },
                    options.join(" ")
                ),
                read_by: "the compiler's assembly".to_owned(),
                extent: "compiled".to_owned(),
            };
            columns.push((target, answers(&text).with_context(|| format!("{processor} {way}"))?));
        }
    }
    Ok(columns)
}

fn answers(text: &str) -> Result<BTreeMap<Key, Found>> {
    let code = assembly(Dialect::Amdgpu, text);
    let answer = |kernel: String, operation| {
        let read = code.get(&kernel).and_then(|listing| listing.answer(operation));
        read.with_context(|| format!("`{kernel}` holds no atomic instruction"))
    };
    let rows = Cells::wanted(Backend::Amdgpu).map(|key| {
        let loaded = answer(format!("{}_loaded", name(key)), key.0)?;
        let uniform = Some(answer(format!("{}_uniform", name(key)), key.0)?);
        Ok((key, Found { uniform, ..Found::read(loaded, ir::spelling(key.0)) }))
    });
    rows.collect()
}

/// Two kernels a row: each lane's address from memory, and one address for all.
fn source(order: &str, attribute: &str) -> String {
    let mut text = "declare i32 @llvm.amdgcn.workitem.id.x()\n".to_owned();
    for kind in Scalar::ALL {
        // Writing to a string does not fail.
        let _ =
            writeln!(text, "@tile_{kind} = internal addrspace(3) global [256 x {}] undef", ir::scalar(kind));
    }
    for key in Cells::wanted(Backend::Amdgpu) {
        text += &kernel(key, "loaded", order, attribute);
        text += &kernel(key, "uniform", order, attribute);
    }
    text
}

fn kernel(key: Key, address: &str, order: &str, attribute: &str) -> String {
    let (operation, kind, place, old): (Operation, Scalar, Place, Old) = key;
    let word = ir::scalar(kind);
    let (base, pointer) = match place {
        Place::Global => ("%p".to_owned(), "ptr addrspace(1)"),
        Place::Shared => (format!("@tile_{kind}"), "ptr addrspace(3)"),
    };
    let offset = if address == "loaded" { "%k" } else { "0" };
    let body = ir::apply(operation, kind, pointer, order);
    let keep = match old {
        Old::Unused => String::new(),
        Old::Used => format!(
            "  %o = getelementptr {word}, ptr addrspace(1) %out, i32 %l\n  store {word} %old, ptr addrspace(1) %o\n"
        ),
    };
    format!(
        "define amdgpu_kernel void @{}_{address}(ptr addrspace(1) %p, ptr addrspace(1) %at, ptr addrspace(1) %in, ptr addrspace(1) %out) {attribute} {{\nentry:\n  \
         %l = call i32 @llvm.amdgcn.workitem.id.x()\n  %i = getelementptr i32, ptr addrspace(1) %at, i32 %l\n  \
         %k = load i32, ptr addrspace(1) %i\n  %vp = getelementptr {word}, ptr addrspace(1) %in, i32 %l\n  \
         %v = load {word}, ptr addrspace(1) %vp\n  %a = getelementptr {word}, {pointer} {base}, i32 {offset}\n\
         {body}{keep}  ret void\n}}\n",
        name(key)
    )
}
