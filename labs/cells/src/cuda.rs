//! CUDA C++ by the pinned NVRTC, its machine code by NVIDIA's disassembler.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};
use labs::toolchain::disassembly::Disassembler;
use labs::toolchain::nvrtc::{self, Nvrtc, Program};
use labs::toolchain::{Architecture, PINNED_NVRTC};
use labs_record::cells::{Answer, Backend, Cells, Operation, Place, Scalar, Spelling, Target};

use crate::{Column, Found, Key, name, reading};

/// Turing to Blackwell, as the manifest of the labs' kernels has them.
const ARCHITECTURES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

const KERNELS: &str = include_str!("cells.cu");

/// Kernels whose answer is known beforehand: a loop by hand, and a compare-and-swap without one.
const CONTROLS: [&str; 2] = ["control_loop", "control_once"];

/// Whether CUDA C++ has a function for it, on the type or on bits as wide.
pub fn spelling(operation: Operation, scalar: Scalar) -> Spelling {
    let has = match operation {
        Operation::Mul => false,
        Operation::Min | Operation::Max => scalar.is_integer(),
        // The narrowest exchange has 32 bits; a compare-and-swap of 16 bits there is.
        Operation::Exchange => scalar.bits() >= 32,
        _ => true,
    };
    if has { Spelling::Function } else { Spelling::Loop }
}

/// What CUDA C++ offers, function by function.
pub(crate) fn prelude() -> String {
    KERNELS.to_owned()
}

/// The kernels of all rows, as one file.
fn source() -> String {
    let mut text = prelude();
    for operation in Operation::ALL {
        for scalar in Scalar::ALL.into_iter().filter(|scalar| operation.is_defined_for(*scalar)) {
            let how = if spelling(operation, scalar) == Spelling::Loop { "loop" } else { "call" };
            text += &format!("CELLS({how}, {operation}, {scalar})\n");
        }
    }
    text
}

/// A column for each architecture.
///
/// # Errors
/// A tool is missing, is not the pinned one, or refuses the kernels; a kernel holds no atomic instruction.
pub fn columns(root: &Path) -> Result<Vec<Column>> {
    let found = thread::scope(|scope| {
        let jobs: Vec<_> = ARCHITECTURES
            .map(|number| scope.spawn(move || column(root, Architecture(number))))
            .into_iter()
            .collect();
        jobs.into_iter()
            .map(|job| job.join().map_err(|_| anyhow!("a compilation panicked")))
            .collect::<Vec<_>>()
    });
    found.into_iter().map(|column| column?).collect()
}

/// The column of one architecture.
///
/// # Errors
/// As [`columns`].
pub fn column(root: &Path, architecture: Architecture) -> Result<Column> {
    let nvrtc = Nvrtc::find(Some(root))?;
    if !nvrtc.is_pinned() {
        bail!("NVRTC {} is not the pinned {PINNED_NVRTC}; run scripts/kernels --install", nvrtc.version());
    }
    let disassembler = Disassembler::find(Some(root))?;
    let source = source();
    let program = Program { name: "cells.cu", source: &source, headers: &[] };
    let image = nvrtc
        .compile(&program, nvrtc::Target::Cubin(architecture))
        .with_context(|| format!("the cells for {architecture}"))?
        .image;
    let code: BTreeMap<String, _> = disassembler
        .functions(&image)?
        .into_iter()
        .map(|function| {
            let place = if function.name.contains("_shared_") { Place::Shared } else { Place::Global };
            (function.name.clone(), reading::sass(&function, place))
        })
        .collect();
    let answer = |kernel: String, operation: Operation| -> Result<Answer> {
        let read = code.get(&kernel).and_then(|listing| listing.answer(operation));
        read.with_context(|| format!("`{kernel}` for {architecture} holds no atomic instruction"))
    };
    for (kernel, operation) in CONTROLS.iter().zip([Operation::Add, Operation::Cas]) {
        let verdict = answer((*kernel).to_owned(), operation)?.verdict;
        let wanted = if *kernel == "control_loop" { "CAS loop" } else { "native" };
        if verdict.to_string() != wanted {
            bail!("the reader takes `{kernel}` for {architecture} for {verdict}; it is {wanted}");
        }
    }
    let mut answers: BTreeMap<Key, Found> = BTreeMap::new();
    for key in Cells::wanted(Backend::Cuda) {
        let spelled = spelling(key.0, key.1);
        let uniform = Some(answer(format!("{}_uniform", name(key)), key.0)?);
        let loaded = answer(format!("{}_loaded", name(key)), key.0)?;
        answers.insert(key, Found { uniform, ..Found::read(loaded, spelled) });
    }
    let target = Target {
        name: architecture.to_string(),
        backend: Backend::Cuda,
        compiler: format!("NVRTC {}", nvrtc.version()),
        from: format!("CUDA C++, relaxed at device scope, {}", nvrtc::OPTIONS.join(" ")),
        read_by: format!("nvdisasm {}", disassembler.version()?),
        extent: "compiled".to_owned(),
    };
    Ok((target, answers))
}
