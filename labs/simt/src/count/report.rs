//! The counts of a launch as its caller sees them.

use super::AddressCounts;
use crate::code::AtomicOp;
use crate::predict::SitePrediction;

/// What an instruction that touches memory or waits is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiteKind {
    /// `ld`
    Load,
    /// `st`
    Store,
    /// `atom` or `red`
    Atomic(AtomicOp),
    /// `bar`, `barrier`, `barrier.cluster`
    Barrier,
    /// `shfl`, `vote`, `match`, `redux`, `bar.warp`
    Collective,
    /// `fence`, `membar`
    Fence,
}

/// Counts of one instruction.
#[derive(Clone, Debug)]
pub struct SiteCounts {
    /// Index of the instruction in its kernel.
    pub instruction: u32,
    /// Source line by `.loc`, or the PTX line.
    pub line: u32,
    /// PTX line.
    pub ptx_line: u32,
    /// The instruction as the PTX spells it.
    pub text: String,
    /// What it is.
    pub kind: SiteKind,
    /// Times a warp (or the lanes of it that had not diverged) executed it.
    pub executions: u64,
    /// Lanes active in those.
    pub lanes: u64,
    /// Warp-level requests to global memory.
    pub global_requests: u64,
    /// Lanes in them.
    pub global_lanes: u64,
    /// Warp-level requests to shared memory, another block's included.
    pub shared_requests: u64,
    /// Lanes in them.
    pub shared_lanes: u64,
    /// Distinct 32-byte sectors of each global request, summed.
    pub sectors: u64,
    /// Distinct 128-byte lines of each global request, summed.
    pub lines: u64,
    /// Compare-and-swaps that found another value.
    pub failed: u64,
    /// Atomics: operations on global memory after the predicted folding.
    pub global_after_folding: u64,
    /// Atomics: operations on shared memory after the predicted folding.
    pub shared_after_folding: u64,
    /// Atomics: how those on global memory spread.
    pub global_addresses: AddressCounts,
    /// Atomics: how those on shared memory spread, within their blocks.
    pub shared_addresses: AddressCounts,
    /// Atomics: what ptxas is predicted to make of it.
    pub prediction: Option<SitePrediction>,
}

/// Everything that was counted in a launch.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The kernel.
    pub kernel: String,
    /// Instructions by warps.
    pub warp_instructions: u64,
    /// Instructions by lanes: predicated-off lanes are not counted.
    pub lane_instructions: u64,
    /// Blocks run.
    pub blocks: u64,
    /// Block-wide and named barriers that opened; a cluster's count once for the cluster.
    pub barriers: u64,
    /// Instructions that touch memory or wait, in the kernel's order.
    pub sites: Vec<SiteCounts>,
    /// All atomics on global memory together.
    pub global_atomics: AddressCounts,
    /// All atomics on shared memory together, within their blocks.
    pub shared_atomics: AddressCounts,
}

impl Report {
    fn sum(&self, kind: impl Fn(&SiteCounts) -> bool, value: impl Fn(&SiteCounts) -> u64) -> u64 {
        self.sites.iter().filter(|s| kind(s)).map(value).sum()
    }

    /// Lanes' atomics on global memory, as the PTX asks for them.
    pub fn global_atomics_asked(&self) -> u64 {
        self.sum(is_atomic, |s| s.global_lanes)
    }

    /// Atomics on global memory after the predicted folding.
    pub fn global_atomics_after_folding(&self) -> u64 {
        self.sum(is_atomic, |s| s.global_after_folding)
    }

    /// Lanes' atomics on shared memory, as the PTX asks for them.
    pub fn shared_atomics_asked(&self) -> u64 {
        self.sum(is_atomic, |s| s.shared_lanes)
    }

    /// Atomics on shared memory after the predicted folding.
    pub fn shared_atomics_after_folding(&self) -> u64 {
        self.sum(is_atomic, |s| s.shared_after_folding)
    }

    /// Warp-level global loads, as ncu counts them (`..op_ld`).
    pub fn global_load_requests(&self) -> u64 {
        self.sum(|s| s.kind == SiteKind::Load, |s| s.global_requests)
    }

    /// Warp-level global stores (`..op_st`).
    pub fn global_store_requests(&self) -> u64 {
        self.sum(|s| s.kind == SiteKind::Store, |s| s.global_requests)
    }

    /// Sectors of all global loads.
    pub fn global_load_sectors(&self) -> u64 {
        self.sum(|s| s.kind == SiteKind::Load, |s| s.sectors)
    }

    /// Sectors of all global stores.
    pub fn global_store_sectors(&self) -> u64 {
        self.sum(|s| s.kind == SiteKind::Store, |s| s.sectors)
    }

    /// Warp-level global atomics predicted to be RED: no reply is sent. A bulk reduction is none: it takes another way.
    pub fn global_red_requests(&self) -> u64 {
        let is_red = |s: &SiteCounts| s.prediction.as_ref().is_some_and(|p| p.machine == "RED");
        self.sum(|s| is_atomic(s) && is_red(s), |s| s.global_requests)
    }

    /// Warp-level global atomics predicted to be ATOM: a reply comes back.
    pub fn global_atom_requests(&self) -> u64 {
        self.sum(|s| is_atomic(s) && s.prediction.as_ref().is_none_or(|p| p.returns), |s| s.global_requests)
    }
}

fn is_atomic(site: &SiteCounts) -> bool {
    matches!(site.kind, SiteKind::Atomic(_))
}
