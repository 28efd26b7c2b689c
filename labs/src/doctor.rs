//! `labs doctor`: what this machine has, what each missing thing costs, and the line that installs it.

use anyhow::Result;

use crate::backend::Backend as _;
use crate::backend::cuda::Cuda;
use crate::backend::nvml::Sensors;
use crate::toolchain::PINNED_NVRTC;
use crate::toolchain::disassembly::Disassembler;
use crate::toolchain::nvrtc::Nvrtc;
use crate::{code, print, tools};

/// Prints one row a thing: found, or what its absence costs.
pub fn run() -> Result<()> {
    let root = code::root();
    let mut rows = Vec::new();
    let mut row = |thing: &str, found: Result<String, String>, cost: &str| {
        let (state, note) = match found {
            Ok(what) => (what, String::new()),
            Err(why) => (format!("missing: {why}"), cost.to_owned()),
        };
        rows.push(vec![thing.to_owned(), state, note]);
    };
    row("GPU and driver", gpu(), "labs run on the simulator: counts, no times");
    row("NVRTC", nvrtc(root.as_deref()), "edited .cu kernels can't be compiled; the shipped PTX runs");
    row(
        "disassembler",
        disassembler(root.as_deref()),
        "`labs explain` shows PTX only; `labs verify` makes drafts",
    );
    row("NVML", sensors(), "records say `not readable` for clocks and power");
    let tool = |name: &str, package: &str| {
        tools::find(name).map(|path| path.display().to_string()).ok_or(format!("install {package}"))
    };
    row(
        "compute-sanitizer",
        tool("compute-sanitizer", "the CUDA toolkit"),
        "records say that it did not run",
    );
    row("nvcc", tool("nvcc", "the CUDA toolkit"), "no peer (CUB) is measured by scripts/verify-on-gpu");
    row("ncu", tool("ncu", "Nsight Compute"), "`labs agree` compares results, and no counters");
    anstream::println!("{}", print::words(&["", "found", "without it"], &rows));
    match root {
        Some(root) => anstream::println!("checkout: {}", root.display()),
        None => anstream::println!("no checkout here or above: the kernels inside this program are used"),
    }
    Ok(())
}

fn gpu() -> Result<String, String> {
    let cuda = Cuda::open().map_err(|error| format!("{error:#}"))?;
    let device = cuda.device();
    Ok(format!(
        "{}, compute capability {}, driver {}",
        device.gpu.name, device.gpu.compute_capability, device.driver
    ))
}

fn nvrtc(root: Option<&std::path::Path>) -> Result<String, String> {
    let nvrtc = Nvrtc::find(root).map_err(|missing| missing.to_string())?;
    let pinned = if nvrtc.is_pinned() { "the pinned one" } else { "not the pinned one" };
    Ok(format!("{} ({pinned}, {PINNED_NVRTC}), {}", nvrtc.version(), nvrtc.path().display()))
}

fn disassembler(root: Option<&std::path::Path>) -> Result<String, String> {
    let found = Disassembler::find(root).map_err(|missing| missing.to_string())?;
    let version = found.version().map_err(|error| format!("{error:#}"))?;
    Ok(format!("{version}, {}", found.path().display()))
}

fn sensors() -> Result<String, String> {
    match Sensors::open().driver_and_ecc() {
        (Some(_), _) => Ok("readable".to_owned()),
        (None, _) => Err("it comes with the NVIDIA driver".to_owned()),
    }
}
