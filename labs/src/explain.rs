//! `labs explain`: a kernel, its atomics in PTX and, where a disassembler is found, in SASS.

use std::path::Path;

use anyhow::Result;

use crate::failure::usage;
use crate::lab::{self, Lab, Variant};
use crate::toolchain::disassembly::{Disassembler, Function};
use crate::toolchain::nvrtc::{Header, Nvrtc, Program, Target};
use crate::toolchain::{Architecture, cache::Cache};
use crate::{cli::ExplainArgs, code};

/// The architecture that is shown: the reference GPU's.
const SHOWN: Architecture = Architecture(90);

/// Prints a lab's variants, or one of them.
///
/// # Errors
/// An unknown lab or variant; a kernel file that does not compile.
pub fn run(args: &ExplainArgs) -> Result<()> {
    let lab = lab::find(&args.lab).ok_or_else(|| {
        let known: Vec<&str> = lab::registry().iter().map(|lab| lab::names(lab.stem()).0).collect();
        usage(format!("no lab `{}`; there are {}", args.lab, known.join(", ")))
    })?;
    let chosen: Vec<&Variant> = match &args.variant {
        None => lab.variants().iter().collect(),
        Some(name) => vec![find_variant(lab, name)?],
    };
    let root = code::root();
    let source = code::text(root.as_deref(), lab)?;
    let ptx = lab.shipped().ptx.last().map_or("", |(_, text)| *text);
    let functions = match disassemble(root.as_deref(), lab, &source) {
        Ok(functions) => functions,
        Err(why) => {
            anstream::eprintln!("no SASS: {why:#}");
            Vec::new()
        }
    };
    anstream::println!("{}\n", lab.question());
    for variant in chosen {
        show(variant, &source, ptx, &functions);
    }
    Ok(())
}

fn find_variant<'a>(lab: &'a dyn Lab, name: &str) -> Result<&'a Variant> {
    lab.variants().iter().find(|variant| variant.name == name).ok_or_else(|| {
        let known: Vec<&str> = lab.variants().iter().map(|variant| variant.name).collect();
        usage(format!("{} has no variant `{name}`; there are {}", lab.stem(), known.join(", ")))
    })
}

fn show(variant: &Variant, source: &str, ptx: &str, functions: &[Function]) {
    anstream::println!("== {}: {}\n", variant.name, variant.idea);
    anstream::println!("{}\n", anchored(source, variant.name).trim_end());
    for kernel in variant.kernels {
        let atomics = ptx_atomics(ptx, kernel);
        anstream::println!("PTX of {kernel}: {}", if atomics.is_empty() { "no atomics" } else { "" });
        for line in atomics {
            anstream::println!("    {line}");
        }
        let Some(function) = functions.iter().find(|function| function.name == *kernel) else { continue };
        let evidence: Vec<_> = function.evidence().collect();
        anstream::println!(
            "SASS of {kernel} for {SHOWN}: {}",
            if evidence.is_empty() { "no atomics" } else { "" }
        );
        for instruction in evidence {
            let line =
                instruction.source.as_ref().map_or(String::new(), |source| format!("line {}", source.line));
            anstream::println!("    {:<10} {}", line, instruction.text);
        }
    }
    anstream::println!();
}

/// The lines between `// ANCHOR: name` and `// ANCHOR_END: name`, whatever their ends; empty if the anchor has no beginning.
fn anchored(source: &str, name: &str) -> String {
    let (begin, end) = (format!("// ANCHOR: {name}"), format!("// ANCHOR_END: {name}"));
    let from = source.lines().skip_while(|line| line.trim() != begin).skip(1);
    from.take_while(|line| line.trim() != end).map(|line| format!("{line}\n")).collect()
}

/// The lines of a kernel's PTX that are atomic operations, fences or warp operations.
fn ptx_atomics<'a>(ptx: &'a str, kernel: &str) -> Vec<&'a str> {
    let entry = format!(".entry {kernel}(");
    let Some(start) = ptx.find(&entry) else { return Vec::new() };
    let body = ptx[start..].split("\n}").next().unwrap_or_default();
    let shown = ["atom.", "red.", "fence", "membar", "shfl", "vote", "match", "redux", "bar.", "barrier"];
    let operation = |line: &&str| {
        let words = line.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
        shown.iter().any(|prefix| words.starts_with(prefix))
    };
    body.lines().filter(operation).map(str::trim).collect()
}

fn disassemble(root: Option<&Path>, lab: &dyn Lab, source: &str) -> Result<Vec<Function>> {
    let disassembler = Disassembler::find(root)?;
    let nvrtc = Nvrtc::find(root)?;
    let common = code::common(root)?;
    let headers = [Header { name: "common.cuh", source: &common }];
    let name = format!("kernels/{}.cu", lab.stem());
    let program = Program { name: &name, source, headers: &headers };
    let compiled = Cache::open().compile(&nvrtc, &program, Target::Cubin(SHOWN))?;
    disassembler.functions(&compiled.image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_cut_out() {
        let source = "a\n// ANCHOR: x\nb\nc\n// ANCHOR_END: x\nd\n";
        assert_eq!(anchored(source, "x"), "b\nc\n");
        assert_eq!(anchored(source, "y"), "");
        // As a checkout on Windows has them.
        assert_eq!(anchored(&source.replace('\n', "\r\n"), "x"), "b\nc\n");
    }

    #[test]
    fn every_variant_of_every_lab_has_an_anchor_and_ptx() {
        for lab in lab::registry() {
            for variant in lab.variants() {
                assert_ne!(
                    anchored(lab.shipped().source, variant.name),
                    "",
                    "{} {}",
                    lab.stem(),
                    variant.name
                );
                for kernel in variant.kernels {
                    let entry = format!(".entry {kernel}(");
                    let has = lab.shipped().ptx.iter().any(|(_, text)| text.contains(&entry));
                    assert!(has, "{}: no PTX holds {kernel}", lab.stem());
                }
            }
        }
    }

    #[test]
    fn atomics_of_one_kernel_only() {
        let ptx = ".visible .entry a(\n)\n{\n\tred.global.add.f32 [%rd1], %f1;\n@%p1 bra x;\n}\n.visible .entry b(\n)\n{\n\tret;\n}\n";
        assert_eq!(ptx_atomics(ptx, "a"), ["red.global.add.f32 [%rd1], %f1;"]);
        assert!(ptx_atomics(ptx, "b").is_empty());
    }
}
