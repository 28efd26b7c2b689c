//! NVIDIA's compiler and disassembler: found on this machine, driven, never required to exist.
//!
//! - [`nvrtc`]: CUDA C++ to PTX or to machine code (a cubin), with the compiler's own messages.
//! - [`cache`]: the same, keeping what was compiled under its hash.
//! - [`disassembly`]: machine code to instructions, and which of them touch atomics.
//! - [`ptx`]: the few lines of PTX text that the tools look at or change.
//! - [`cubin`]: what an ELF image of machine code holds, kernel by kernel.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use labs::toolchain::Architecture;
//! use labs::toolchain::cache::Cache;
//! use labs::toolchain::disassembly::Disassembler;
//! use labs::toolchain::nvrtc::{Nvrtc, Program, Target};
//!
//! let root = std::path::Path::new(".");
//! let nvrtc = Nvrtc::find(Some(root))?;
//! let program = Program { name: "kernels/day26_sum.cu", source: "..", headers: &[] };
//! let cubin = Cache::open().compile(&nvrtc, &program, Target::Cubin(Architecture(90)))?;
//! for function in Disassembler::find(Some(root))?.functions(&cubin.image)? {
//!     for instruction in function.evidence() {
//!         println!("{}: {}", function.name, instruction.text);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

use std::fmt;

pub mod cache;
pub mod cubin;
pub mod disassembly;
pub mod nvrtc;
mod places;
pub mod ptx;

pub use places::Missing;

/// The NVRTC that everything published is made by. `scripts/toolchain.txt` pins the same one.
pub const PINNED_NVRTC: &str = "12.9.86";

/// A GPU architecture as ten times the compute capability: 90 for 9.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Architecture(pub u32);

impl Architecture {
    /// The architecture of a GPU of this compute capability, such as (9, 0).
    pub fn of(major: u32, minor: u32) -> Self {
        Self(major * 10 + minor)
    }

    /// The number in `sm_90`, `sm90` or `90`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim_start_matches("sm").trim_start_matches('_');
        digits.parse().ok().map(Self)
    }

    /// The spelling in file names: `sm90`.
    pub fn stem(self) -> String {
        format!("sm{}", self.0)
    }
}

/// The compiler's spelling: `sm_90`.
impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pinned_compiler_is_the_one_that_the_script_installs() {
        let list = include_str!("../../../scripts/toolchain.txt");
        let wanted = format!("nvidia-cuda-nvrtc-cu12=={PINNED_NVRTC}");
        assert!(
            list.lines().any(|line| line.starts_with(&wanted)),
            "{wanted} is not in scripts/toolchain.txt"
        );
    }

    #[test]
    fn architectures_are_read_and_written() {
        assert_eq!(Architecture::parse("sm_90"), Some(Architecture(90)));
        assert_eq!(Architecture::parse("sm120"), Some(Architecture(120)));
        assert_eq!(Architecture::parse("sm_x"), None);
        assert_eq!(Architecture::of(8, 6).to_string(), "sm_86");
        assert_eq!(Architecture::of(7, 5).stem(), "sm75");
    }
}
