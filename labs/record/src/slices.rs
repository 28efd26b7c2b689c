//! A GPU's own counters of its L2 slices while variants run: how the atomics of one launch fell on the slices.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::figure::At;
use crate::manifest::Manifest;
use crate::record::{Compiler, Gpu, SCHEMA, sha256};

/// Cycles in which a slice's atomic unit took input: the busiest slice, the idlest, all together.
const INPUT: [&str; 3] = [
    "lts__d_atomic_input_cycles_active.max",
    "lts__d_atomic_input_cycles_active.min",
    "lts__d_atomic_input_cycles_active.sum",
];
/// Cycles that passed: of one slice, of all together.
const ELAPSED: [&str; 2] = ["lts__cycles_elapsed.max", "lts__cycles_elapsed.sum"];
/// Requests for atomics at a slice: without and with a reply, all slices together.
const ARRIVED: [&str; 2] = ["lts__t_requests_op_red.sum", "lts__t_requests_op_atom.sum"];
/// The same at the busiest slice.
const ARRIVED_BUSIEST: [&str; 2] = ["lts__t_requests_op_red.max", "lts__t_requests_op_atom.max"];
/// Warps' requests for atomics as the SMs send them.
const SENT: [&str; 2] =
    ["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"];
/// Instructions without a reply that warps executed.
const EXECUTED: &str = "smsp__inst_executed_op_global_red.sum";

/// All counters that are read, by ncu's names.
pub fn counters() -> impl Iterator<Item = &'static str> {
    INPUT.into_iter().chain(ELAPSED).chain(ARRIVED).chain(ARRIVED_BUSIEST).chain(SENT).chain([EXECUTED])
}

/// What was counted on one GPU: `verification/slices/<gpu>.yaml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slices {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The GPU.
    pub gpu: Gpu,
    /// When, UTC: `2026-11-30T18:02:11Z`.
    pub started: String,
    /// The driver's version.
    pub driver: String,
    /// The profiler and its version.
    pub profiler: String,
    /// What made the machine code.
    pub compiler: Compiler,
    /// SHA-256 over the sources the program was built from.
    pub sources: String,
    /// Launches, lab by lab.
    pub launches: Vec<CountedLaunch>,
    /// SHA-256 over all the rest: a file edited by accident is refused.
    #[serde(default)]
    pub digest: String,
}

/// One launch under the profiler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedLaunch {
    /// The lab's stem: `day26_sum`.
    pub lab: String,
    /// The variant.
    pub variant: String,
    /// Its kernel.
    pub kernel: String,
    /// SHA-256 of the kernel's machine code.
    pub machine_code: String,
    /// SHA-256 over launch shapes and inputs, as in the lab's record.
    pub protocol: String,
    /// Where on the lab's axes.
    pub at: At,
    /// Blocks, and threads a block.
    pub shape: (u64, u64),
    /// What was counted, by the counter's name.
    pub counters: BTreeMap<String, u64>,
}

/// How a launch's atomics fell on the slices, in cycles with input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// The busiest slice.
    pub busiest: u64,
    /// The idlest.
    pub idlest: u64,
    /// All together.
    pub all: u64,
}

impl Input {
    /// How many slices as busy as the busiest would have done it; none where none had input.
    pub fn slices_worth(self) -> Option<f64> {
        (self.busiest > 0).then(|| self.all as f64 / self.busiest as f64)
    }
}

impl CountedLaunch {
    fn counted(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    fn together(&self, names: [&str; 2]) -> Option<u64> {
        Some(self.counted(names[0])? + self.counted(names[1])?)
    }

    /// How its atomics fell on the slices.
    pub fn input(&self) -> Option<Input> {
        let [busiest, idlest, all] = INPUT.map(|name| self.counted(name));
        Some(Input { busiest: busiest?, idlest: idlest?, all: all? })
    }

    /// How many slices there are: all their cycles over those of one.
    pub fn slices(&self) -> Option<u64> {
        let [one, all] = ELAPSED.map(|name| self.counted(name));
        let (one, all) = (one?, all?);
        (one > 0).then(|| (all as f64 / one as f64).round() as u64)
    }

    /// Requests for atomics that the SMs sent, one a warp and instruction at least.
    pub fn sent(&self) -> Option<u64> {
        self.together(SENT)
    }

    /// Requests for atomics at the slices; one that a slice forwards to another counts at both.
    pub fn arrived(&self) -> Option<u64> {
        self.together(ARRIVED)
    }

    /// The same at the slice that has most.
    pub fn arrived_at_busiest(&self) -> Option<u64> {
        let [red, atom] = ARRIVED_BUSIEST.map(|name| self.counted(name));
        Some(red?.max(atom?))
    }
}

impl Slices {
    /// How many slices the GPU has, if all launches say the same.
    pub fn count(&self) -> Option<u64> {
        let mut counts: Vec<u64> = self.launches.iter().map(CountedLaunch::slices).collect::<Option<_>>()?;
        counts.dedup();
        match counts.as_slice() {
            [count] => Some(*count),
            _ => None,
        }
    }

    /// SHA-256 over everything but `digest` itself.
    pub fn compute_digest(&self) -> String {
        let mut bare = self.clone();
        bare.digest = String::new();
        // Serialising plain data to a string has no way to fail; an empty text would match no digest.
        sha256(serde_json::to_string(&bare).unwrap_or_default().as_bytes())
    }

    /// Fills in the digest.
    pub fn seal(&mut self) {
        self.digest = self.compute_digest();
    }

    /// What is wrong with the file in itself: it was edited, cut, or speaks of what is not there. Empty if nothing is.
    pub fn faults(&self, manifest: &Manifest) -> Vec<String> {
        let mut faults = Vec::new();
        if self.digest != self.compute_digest() {
            faults.push("its digest does not match its content: it was edited after it was made".to_owned());
        }
        if self.schema != SCHEMA {
            faults.push(format!("its schema is {}, this program reads {SCHEMA}", self.schema));
        }
        if self.compiler != manifest.compiler {
            faults.push(format!(
                "compiled by {} {}, not the pinned {} {} with its options",
                self.compiler.name, self.compiler.version, manifest.compiler.name, manifest.compiler.version
            ));
        }
        if self.count().is_none() {
            faults.push("its launches do not tell one number of slices".to_owned());
        }
        for launch in &self.launches {
            let name = format!("{} `{}`", launch.lab, launch.variant);
            let known = manifest.labs.get(&launch.lab).and_then(|lab| {
                lab.variants.iter().find(|v| v.name == launch.variant && v.kernels.contains(&launch.kernel))
            });
            if known.is_none() {
                faults.push(format!("{name}: there is no such variant with a kernel `{}`", launch.kernel));
            }
            match launch.input() {
                None => faults.push(format!("{name}: the atomic units' input was not counted")),
                Some(Input { busiest, idlest, all }) if busiest > all || idlest > busiest => {
                    faults.push(format!(
                        "{name}: of {all} cycles in all the busiest slice has {busiest}, the idlest {idlest}"
                    ));
                }
                Some(_) => {}
            }
        }
        faults
    }

    /// What has changed since: empty if the counters are of the kernels as they are.
    pub fn stale(&self, manifest: &Manifest) -> Vec<String> {
        let architecture = format!("sm_{}", self.gpu.compute_capability.replace('.', ""));
        let mut stale = Vec::new();
        for launch in &self.launches {
            let name = format!("{} `{}`", launch.lab, launch.variant);
            if manifest.labs.get(&launch.lab).is_none_or(|lab| lab.protocol != launch.protocol) {
                stale.push(format!("{name}: the lab now runs by another protocol"));
            }
            // An architecture the manifest does not list is the maintainer's own: nothing to compare with.
            let code = manifest.code.get(&launch.lab).and_then(|code| code.get(&architecture));
            if code.is_some_and(|code| code.get(&launch.kernel) != Some(&launch.machine_code)) {
                stale.push(format!("{name}: kernel `{}` now has other machine code", launch.kernel));
            }
        }
        stale.dedup();
        stale
    }
}
