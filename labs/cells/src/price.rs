//! What a cell costs on a GPU: updates a second at one address and at 1,024, by operands that keep changing memory.
//! Contended compare-and-swap loops take time that grows with the square of the contenders, so every thread works for a
//! window of clock cycles and what was done is counted.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use labs::backend::cuda::Cuda;
use labs::backend::{Argument, Backend, Buffer, Image, Launch, Step};
use labs::draft;
use labs::toolchain::nvrtc::{self, Nvrtc, Program};
use labs::toolchain::{Architecture, PINNED_NVRTC};
use labs_record::SCHEMA;
use labs_record::cells::{Old, Operation, Price, Prices, Scalar, Spelling};
use labs_record::record::Gpu;
use serde::{Deserialize, Serialize};

use crate::cuda;

/// What stands above the prices in their file.
pub const HEAD: &str = "# Made by `native-or-cas prices` from what a GPU did; not for editing.\n";

/// What one process measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    /// The GPU.
    pub gpu: Gpu,
    /// Its driver.
    pub driver: String,
    /// When it began, UTC.
    pub started: String,
    /// The prices, each with this session's samples only.
    pub prices: Vec<Price>,
}

/// How long every thread works, SM clock cycles.
const WINDOW_CYCLES: u64 = 1_000_000;

/// Launches that are counted, after one that is not.
const SAMPLES: usize = 5;

/// Addresses, and threads a block: with one address a warp an SM, since all contend; else eight.
const SPREADS: [(u32, u32); 2] = [(1, 32), (1_024, 256)];

/// Rows with a price: global memory; operations whose operand can go on changing the word.
pub fn rows() -> impl Iterator<Item = (Operation, Scalar, Old)> {
    Operation::ALL.into_iter().flat_map(|operation| {
        Scalar::ALL.into_iter().filter(move |scalar| operand(operation, *scalar).is_some()).flat_map(
            move |scalar| {
                let uses: &[Old] =
                    if operation == Operation::Cas { &[Old::Used] } else { &[Old::Unused, Old::Used] };
                uses.iter().map(move |old| (operation, scalar, *old))
            },
        )
    })
}

/// The operand, in the kernels' language; none where memory would stop changing: bits that are all set or all clear, a
/// minimum or maximum of 16-bit floats.
fn operand(operation: Operation, scalar: Scalar) -> Option<String> {
    let narrow = matches!(scalar, Scalar::F16 | Scalar::Bf16 | Scalar::F16x2);
    let (name, argument) = match operation {
        Operation::And | Operation::Or => return None,
        _ if !operation.is_defined_for(scalar) => return None,
        Operation::Min | Operation::Max if narrow => return None,
        Operation::Min => ("falling", "clock"),
        Operation::Max => ("rising", "clock"),
        _ if scalar.is_integer() => ("odd", "n + thread"),
        Operation::Mul if narrow => ("breath", "n"),
        Operation::Mul => ("growth", "n"),
        Operation::Exchange => ("other", "n + thread"),
        _ => ("step", "n"),
    };
    Some(format!("{name}<{scalar}>({argument})"))
}

/// The kernels, behind those of the table.
fn source() -> String {
    let mut text = cuda::prelude();
    text += include_str!("price.cu");
    for scalar in Scalar::ALL {
        // Writing to a string does not fail.
        let _ = writeln!(text, "FILL({scalar})");
    }
    for (operation, scalar, old) in rows() {
        let Some(expression) = operand(operation, scalar) else { continue };
        let how = if cuda::spelling(operation, scalar) == Spelling::Loop { "loop" } else { "call" };
        let _ = match (operation, old) {
            (Operation::Cas, _) => writeln!(text, "PRICE_CAS({scalar})"),
            (_, Old::Unused) => writeln!(text, "PRICE({how}, {operation}, {scalar}, {expression})"),
            (_, Old::Used) => Ok(()),
        };
    }
    text
}

/// Machine code of the kernels.
///
/// # Errors
/// NVRTC is missing, is not the pinned one, or refuses them.
pub fn code(root: &Path, architecture: Architecture) -> Result<Vec<u8>> {
    let nvrtc = Nvrtc::find(Some(root))?;
    ensure!(nvrtc.is_pinned(), "NVRTC {} is not the pinned {PINNED_NVRTC}", nvrtc.version());
    let source = source();
    let program = Program { name: "price.cu", source: &source, headers: &[] };
    Ok(nvrtc.compile(&program, nvrtc::Target::Cubin(architecture))?.image)
}

/// Measures in this process, on the machine's GPU.
///
/// # Errors
/// There is no GPU (exit code 3), or it fails.
pub fn session(image: Vec<u8>, seed: u64) -> Result<Session> {
    let mut backend = Cuda::open()?;
    let started = draft::now();
    let prices = measure(&mut backend, image, seed)?;
    let device = backend.device();
    Ok(Session { gpu: device.gpu.clone(), driver: device.driver.clone(), started, prices })
}

/// Sessions of one GPU as one table.
///
/// # Errors
/// A file can't be read, sessions of different GPUs or kernels, too few sessions.
pub fn together(files: &[PathBuf]) -> Result<Prices> {
    let mut sessions = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let session: Session = serde_json::from_str(&text)
            .with_context(|| format!("`{}` is no session of prices", file.display()))?;
        sessions.push(session);
    }
    let first = sessions.first().context("there is no session")?;
    let mut prices = Prices {
        schema: SCHEMA,
        gpu: first.gpu.clone(),
        driver: first.driver.clone(),
        compiler: format!("NVRTC {PINNED_NVRTC}"),
        method: format!(
            "every thread updates its word for {WINDOW_CYCLES} SM clock cycles with operands that change it, one \
             clock reading an update; updates done over the time of the launch, which includes the last ones' ending"
        ),
        sessions: sessions.iter().map(|session| session.started.clone()).collect(),
        prices: first.prices.clone(),
        digest: String::new(),
    };
    for session in &sessions[1..] {
        ensure!(session.gpu == first.gpu, "{} and {} are two GPUs", session.gpu.name, first.gpu.name);
        ensure!(session.prices.len() == prices.prices.len(), "the sessions priced different rows");
        for (price, more) in prices.prices.iter_mut().zip(&session.prices) {
            ensure!(price.key() == more.key(), "the sessions priced different rows");
            price.per_second.extend(more.per_second.iter().cloned());
        }
    }
    prices.digest = prices.compute_digest();
    let faults = prices.faults();
    ensure!(faults.is_empty(), "{}", faults.join("; "));
    Ok(prices)
}

/// Memory of one session.
struct Words {
    words: Buffer,
    at: Buffer,
    done: Buffer,
    out: Buffer,
    threads_most: u32,
}

/// Measures every row in an order of its own.
///
/// # Errors
/// The GPU fails, or a thread did nothing in its window.
fn measure(backend: &mut dyn Backend, image: Vec<u8>, seed: u64) -> Result<Vec<Price>> {
    backend.load(&Image::Cubin(image))?;
    let sms = backend.device().gpu.sms;
    let threads_most = sms * 256;
    let words = Words {
        words: backend.allocate(8 * 1_024)?,
        at: backend.allocate(4 * u64::from(threads_most))?,
        done: backend.allocate(4 * u64::from(threads_most))?,
        out: backend.allocate(8 * u64::from(threads_most))?,
        threads_most,
    };
    let mut cases: Vec<_> = rows().flat_map(|row| SPREADS.map(|spread| (row, spread))).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut cases);
    let mut prices = Vec::new();
    for ((operation, scalar, old), (addresses, block)) in cases {
        let kernel = format!("price_{operation}_{scalar}_{old}");
        let per_second = rate(backend, &words, &kernel, scalar, addresses, block)
            .with_context(|| format!("{kernel} at {addresses} addresses"))?;
        let threads = sms * block;
        prices.push(Price { operation, scalar, old, addresses, threads, per_second: vec![per_second] });
    }
    prices.sort_by_key(Price::key);
    Ok(prices)
}

/// Updates a second, sample by sample.
fn rate(
    backend: &mut dyn Backend,
    words: &Words,
    kernel: &str,
    scalar: Scalar,
    addresses: u32,
    block: u32,
) -> Result<Vec<f64>> {
    let grid = backend.device().gpu.sms;
    // Neighbouring lanes go to neighbouring words.
    let at: Vec<u8> = (0..words.threads_most).flat_map(|thread| (thread % addresses).to_le_bytes()).collect();
    backend.write(words.at, &at)?;
    // Above every operand that falls, below every one that rises.
    let value = if kernel.starts_with("price_min") { 2e9 } else { 3.0 };
    let fill = vec![Argument::Buffer(words.words), Argument::F32(value)];
    let fill = Step::Launch(Launch::new(&format!("fill_{scalar}"), 4, 256, fill));
    let arguments = vec![
        Argument::Buffer(words.words),
        Argument::Buffer(words.at),
        Argument::U64(WINDOW_CYCLES),
        Argument::Buffer(words.done),
        Argument::Buffer(words.out),
    ];
    let launch = [Step::Launch(Launch::new(kernel, grid, block, arguments))];
    let mut rates = Vec::new();
    for sample in 0..=SAMPLES {
        let nanoseconds = backend.time(std::slice::from_ref(&fill), &launch)?;
        let mut done = vec![0; 4 * (grid * block) as usize];
        backend.read(words.done, &mut done)?;
        let counts = done.chunks_exact(4).map(|bytes| bytes.try_into().map_or(0, u32::from_le_bytes));
        let counts: Vec<u32> = counts.collect();
        ensure!(counts.iter().all(|count| *count > 0), "a thread did nothing in its window");
        let total: f64 = counts.iter().map(|count| f64::from(*count)).sum();
        if sample > 0 {
            rates.push((total / nanoseconds * 1e9).round());
        }
    }
    Ok(rates)
}
