//! A record: everything one lab measured on one GPU, and under which conditions.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::figure::Figure;

/// Version of this schema. A record of another version is refused.
pub const SCHEMA: u32 = 1;

/// One lab on one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The lab's stem: `day26_sum`.
    pub lab: String,
    /// The command that made it.
    pub command: String,
    /// The GPU.
    pub gpu: Gpu,
    /// What made the machine code.
    pub compiler: Compiler,
    /// SHA-256 over the sources the program was built from.
    pub sources: String,
    /// SHA-256 over launch shapes, inputs and measuring rules.
    pub protocol: String,
    /// When and under which conditions; a later sitting is added, none is replaced.
    pub sittings: Vec<Sitting>,
    /// The variants that ran.
    pub variants: Vec<Variant>,
    /// Programs of others that were measured beside the variants, by the same rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Peer>,
    /// What is not here, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
    /// What was measured.
    pub figures: Vec<Figure>,
    /// SHA-256 over all the rest: a record edited by accident is refused.
    #[serde(default)]
    pub digest: String,
}

/// The GPU a record speaks of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// The driver's name for it: `NVIDIA H200`.
    pub name: String,
    /// Compute capability, `9.0`.
    pub compute_capability: String,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// L2 cache, bytes.
    pub l2_bytes: u64,
    /// Device memory, bytes.
    pub memory_bytes: u64,
    /// Whether memory errors are corrected; none where the driver does not say.
    pub ecc: Option<bool>,
}

impl Gpu {
    /// Whether the other is such a GPU too: alike in everything but the memory that a driver keeps for itself, which is
    /// not a hundredth of all.
    pub fn is_like(&self, other: &Gpu) -> bool {
        let same_memory = Gpu { memory_bytes: self.memory_bytes, ..other.clone() };
        *self == same_memory && self.memory_bytes.abs_diff(other.memory_bytes) <= self.memory_bytes / 100
    }

    /// The folder's name: the device name in lower case, every run of other characters a hyphen.
    pub fn slug(&self) -> String {
        slug(&self.name)
    }
}

/// A name as a folder's: lower-case letters, digits, single hyphens.
pub fn slug(name: &str) -> String {
    let words: Vec<String> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.join("-")
}

/// What made the machine code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compiler {
    /// `nvrtc`
    pub name: String,
    /// `12.9.86`
    pub version: String,
    /// Options, less the architecture.
    pub options: Vec<String>,
}

/// One visit to one machine: sessions one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sitting {
    /// When it began, UTC: `2026-11-30T18:02:11Z`.
    pub started: String,
    /// The driver's version: `580.159.04`.
    pub driver: String,
    /// SHA-256 over the sources of the program that made it, where another build than the record's first did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<String>,
    /// The sessions, each a process of its own.
    pub sessions: Vec<Session>,
}

/// One process that measured every case once, in an order of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Seed of the order of cases and of the inputs.
    pub seed: u64,
    /// How long it took, seconds.
    pub seconds: f64,
    /// SM clock, MHz.
    pub sm_clock_mhz: Reading,
    /// Memory clock, MHz.
    pub memory_clock_mhz: Reading,
    /// Board power, watts.
    pub power_w: Reading,
    /// Temperature, degrees Celsius.
    pub temperature_c: Reading,
}

/// A sensor over a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reading {
    /// What it showed.
    Seen {
        /// Smallest.
        min: f64,
        /// Middle.
        median: f64,
        /// Largest.
        max: f64,
    },
    /// Why there is no reading: `not readable: ..`.
    Absent(String),
}

/// What a variant is declared to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its result is right in every run.
    Correct,
    /// It is wrong on purpose, and the check must catch it.
    Wrong,
    /// It is wrong on purpose, and a GPU may give the right result all the same: a race, a mask that names absent
    /// lanes. The simulator's checkers must catch it; on a GPU nothing is demanded.
    Undefined,
}

/// What the check said of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Every sample passed.
    Passed,
    /// At least one sample was refused.
    Refused,
}

/// A variant that ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name: `block_tree`.
    pub name: String,
    /// What it is declared to be.
    pub declared: Outcome,
    /// What its check said.
    pub check: Check,
    /// compute-sanitizer's word on it.
    pub sanitizer: Sanitizer,
    /// The kernels it launches.
    pub kernels: Vec<Kernel>,
}

/// compute-sanitizer's word on a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", content = "detail", rename_all = "snake_case")]
pub enum Sanitizer {
    /// Ran and found nothing: which tools, which version.
    Clean(String),
    /// Ran and found something: the first line of it.
    Found(String),
    /// Did not run, and why.
    Absent(String),
}

/// A program of others, measured by the same rules. Its figures carry its name as their variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// `cub_device_reduce`
    pub name: String,
    /// What it is and which version: `CUB 3.0.2 DeviceReduce::Sum, nvcc 13.0.88`.
    pub version: String,
    /// What the check said of its results.
    pub check: Check,
}

/// A kernel's machine code and what it takes of an SM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// The `__global__` function.
    pub name: String,
    /// SHA-256 of its machine code.
    pub machine_code: String,
    /// Its atomic and ordering instructions as the disassembler names them, in program order.
    pub instructions: Vec<Instruction>,
    /// Registers a thread.
    pub registers: u32,
    /// Static shared memory a block, bytes.
    pub shared_bytes: u32,
    /// Local memory a thread, bytes: spills and indexed arrays.
    pub local_bytes: u32,
    /// Threads a block it is launched with.
    pub block_threads: u32,
    /// Blocks of it that fit an SM at once.
    pub blocks_per_sm: u32,
    /// Resident threads over the SM's most, 0 to 1.
    pub occupancy: f64,
}

/// One instruction of the disassembly that bears on contention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instruction {
    /// `RED.E.ADD.F32.FTZ.RN.STRONG.GPU`
    pub opcode: String,
    /// Line of the kernel file, where the code carries lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Something a record does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// A variant's or a figure's name.
    pub what: String,
    /// Why.
    pub why: String,
}

impl Record {
    /// SHA-256 over everything but `digest` itself.
    pub fn compute_digest(&self) -> String {
        let mut bare = self.clone();
        bare.digest = String::new();
        // Serialising plain data to a string has no way to fail; an empty text would match no digest.
        let text = serde_json::to_string(&bare).unwrap_or_default();
        sha256(text.as_bytes())
    }

    /// How many sessions it rests on, over all sittings.
    pub fn sessions(&self) -> usize {
        self.sittings.iter().map(|sitting| sitting.sessions.len()).sum()
    }

    /// Fills in what is derived: every figure's median, then the digest.
    pub fn seal(&mut self) {
        for figure in &mut self.figures {
            figure.median = figure.summary().map(|summary| summary.median);
        }
        self.digest = self.compute_digest();
    }

    /// The variant of this name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }
}

/// SHA-256 as lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        assert_eq!(slug("NVIDIA H200"), "nvidia-h200");
        assert_eq!(slug("NVIDIA GeForce RTX 5090"), "nvidia-geforce-rtx-5090");
        assert_eq!(slug("Tesla T4"), "tesla-t4");
        assert_eq!(slug("../x"), "x");
    }

    #[test]
    fn a_gpu_is_like_another_whose_driver_keeps_a_little_more_memory() {
        let gpu = Gpu {
            name: "NVIDIA H200".to_owned(),
            compute_capability: "9.0".to_owned(),
            sms: 132,
            l2_bytes: 60 << 20,
            memory_bytes: 150_109_880_320,
            ecc: Some(true),
        };
        let with = |change: fn(&mut Gpu)| {
            let mut other = gpu.clone();
            change(&mut other);
            other
        };
        assert!(gpu.is_like(&gpu));
        assert!(gpu.is_like(&with(|other| other.memory_bytes -= 512 << 20)));
        for change in [
            (|other| other.memory_bytes /= 2) as fn(&mut Gpu),
            |other| other.sms = 66,
            |other| other.ecc = Some(false),
            |other| other.name.push_str(" NVL"),
        ] {
            assert!(!gpu.is_like(&with(change)));
        }
    }

    #[test]
    fn sha256_of_nothing() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
