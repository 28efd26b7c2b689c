//! The simulator held against a GPU: results of the same variants on the same input, and predicted requests to memory
//! beside the GPU's own counters.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::figure::At;
use crate::manifest::{KernelHashes, Manifest};
use crate::record::{Absent, Check, Compiler, Gpu, Outcome, SCHEMA, sha256};
use crate::table;

/// Everything that was compared on one GPU: `verification/agreement/<gpu>.yaml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The GPU.
    pub gpu: Gpu,
    /// The labs, in order of stem.
    pub labs: Vec<LabAgreement>,
    /// SHA-256 over all the rest: a file edited by accident is refused.
    #[serde(default)]
    pub digest: String,
}

/// One lab, compared in one go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabAgreement {
    /// The lab's stem: `day26_sum`.
    pub lab: String,
    /// When, UTC: `2026-11-30T18:02:11Z`.
    pub started: String,
    /// The driver's version.
    pub driver: String,
    /// What made the GPU's machine code.
    pub compiler: Compiler,
    /// SHA-256 over the sources the program was built from, the simulator's included.
    pub sources: String,
    /// SHA-256 over launch shapes and inputs, as in the lab's record.
    pub protocol: String,
    /// SHA-256 of each kernel's machine code.
    pub machine_code: KernelHashes,
    /// Seed of the inputs, the same on both sides.
    pub seed: u64,
    /// The variants that ran.
    pub variants: Vec<VariantAgreement>,
    /// Variants that did not run, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
    /// What the GPU's counters said.
    pub counters: Counters,
}

/// A variant on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantAgreement {
    /// Its name: `block_tree`.
    pub name: String,
    /// What it is declared to be.
    pub declared: Outcome,
    /// What its check said on the GPU; none if it did not get that far.
    pub hardware: Option<Check>,
    /// What its check said on the simulator.
    pub simulator: Option<Check>,
    /// Where the two differ: what the side that refused said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Its results, one by one; none of a variant that is not meant to be right, whose results no run has to repeat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ResultAgreement>,
}

/// A result on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultAgreement {
    /// What it is: `total`.
    pub name: String,
    /// Where on the lab's axes.
    pub at: At,
    /// How far two values may be apart, as a part of the larger; none where they must be equal bit for bit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// How the two differ; none if they agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<Difference>,
}

/// What each side has where they differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// The GPU.
    pub hardware: String,
    /// The simulator.
    pub simulator: String,
}

/// What the GPU's counters said of a lab's kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", content = "detail", rename_all = "snake_case")]
pub enum Counters {
    /// They were read.
    Read(Profile),
    /// They were not, and why.
    Absent(String),
}

/// Counters of one run under a profiler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The profiler and its version.
    pub profiler: String,
    /// Kernel by kernel.
    pub kernels: Vec<KernelAgreement>,
    /// Launches that only one side made, or made otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmatched: Vec<Unmatched>,
}

/// A kernel's counters beside what was predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelAgreement {
    /// The `__global__` function.
    pub kernel: String,
    /// The variant that launched it.
    pub variant: String,
    /// Where on the lab's axes.
    pub at: At,
    /// How many launches the numbers are added up over.
    pub launches: u64,
    /// The counters.
    pub counters: Vec<Counter>,
}

/// One counter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counter {
    /// The profiler's name for it.
    pub name: String,
    /// What the simulator predicts; none for a counter that it has no prediction for.
    pub predicted: Option<u64>,
    /// What the GPU counted; none where the profiler could not say.
    pub counted: Option<u64>,
}

/// A launch that has no counterpart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unmatched {
    /// The kernel.
    pub kernel: String,
    /// What each side launched.
    pub launched: Difference,
}

/// Something on which the GPU and the simulator do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// What kind of thing.
    pub subject: Subject,
    /// The variant; the kernel where no variant is known.
    pub of: String,
    /// Where on the lab's axes.
    pub at: At,
    /// The result, the counter.
    pub name: String,
    /// What each side says.
    pub values: Difference,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.at.is_empty() { String::new() } else { format!(" at {}", place(&self.at)) };
        let values = &self.values;
        write!(
            f,
            "{} of `{}`{place}: simulator {}, GPU {}",
            self.name, self.of, values.simulator, values.hardware
        )
    }
}

/// A place on a lab's axes, for people: `size 4,096, cache hot`.
pub fn place(at: &At) -> String {
    let axes = at.iter().map(|(axis, place)| format!("{axis} {}", table::coordinate(place)));
    axes.collect::<Vec<_>>().join(", ")
}

/// What two sides can disagree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Whether a variant's results are right.
    Check,
    /// A result.
    Result,
    /// A counter: the prediction is off, the results are not.
    Counter,
    /// Which kernels were launched, and in which shape.
    Launch,
}

/// How much was compared, and how much of it differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Variants whose checks were compared.
    pub checks: usize,
    /// Results that were compared.
    pub results: usize,
    /// Results and checks that differ.
    pub results_differ: usize,
    /// Counters that were compared with a prediction.
    pub counters: usize,
    /// Counters and launches that differ.
    pub counters_differ: usize,
}

impl Tally {
    /// Both together.
    pub fn and(self, other: Tally) -> Tally {
        Tally {
            checks: self.checks + other.checks,
            results: self.results + other.results,
            results_differ: self.results_differ + other.results_differ,
            counters: self.counters + other.counters,
            counters_differ: self.counters_differ + other.counters_differ,
        }
    }
}

impl Agreement {
    /// A file about this GPU that compares nothing yet.
    pub fn new(gpu: Gpu) -> Agreement {
        Agreement { schema: SCHEMA, gpu, labs: Vec::new(), digest: String::new() }
    }

    /// Puts a lab in, in place of what was there of it, and seals the file.
    pub fn put(&mut self, lab: LabAgreement) {
        self.labs.retain(|known| known.lab != lab.lab);
        self.labs.push(lab);
        self.labs.sort_by(|a, b| a.lab.cmp(&b.lab));
        self.seal();
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
        for lab in &self.labs {
            faults.extend(lab.faults(manifest).into_iter().map(|fault| format!("{}: {fault}", lab.lab)));
        }
        faults
    }
}

impl LabAgreement {
    fn faults(&self, manifest: &Manifest) -> Vec<String> {
        let Some(entry) = manifest.labs.get(&self.lab) else {
            return vec!["there is no such lab".to_owned()];
        };
        let mut faults = Vec::new();
        if self.compiler != manifest.compiler {
            faults.push(format!(
                "compiled by {} {}, not the pinned {} {} with its options",
                self.compiler.name, self.compiler.version, manifest.compiler.name, manifest.compiler.version
            ));
        }
        for variant in &entry.variants {
            let ran = self.variants.iter().any(|ran| ran.name == variant.name);
            if !ran && !self.absent.iter().any(|absent| absent.what == variant.name) {
                faults.push(format!("variant `{}` is missing without a reason", variant.name));
            }
        }
        for variant in &self.variants {
            if !entry.variants.iter().any(|known| known.name == variant.name) {
                faults.push(format!("the lab has no variant `{}`", variant.name));
            }
        }
        faults
    }

    /// What has changed since: empty if the comparison is of the kernels as they are.
    pub fn stale(&self, gpu: &Gpu, manifest: &Manifest) -> Vec<String> {
        let mut stale = Vec::new();
        if manifest.labs.get(&self.lab).is_none_or(|lab| lab.protocol != self.protocol) {
            stale.push("the lab now runs by another protocol".to_owned());
        }
        let architecture = format!("sm_{}", gpu.compute_capability.replace('.', ""));
        // An architecture the manifest does not list is the maintainer's own: nothing to compare with.
        if let Some(known) = manifest.code.get(&self.lab).and_then(|code| code.get(&architecture)) {
            let changed = self.machine_code.iter().filter(|(kernel, hash)| known.get(*kernel) != Some(*hash));
            stale.extend(changed.map(|(kernel, _)| format!("kernel `{kernel}` now has other machine code")));
        }
        stale
    }

    /// How much was compared.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally { checks: self.variants.len(), ..Tally::default() };
        tally.results = self.variants.iter().map(|variant| variant.results.len()).sum();
        if let Counters::Read(profile) = &self.counters {
            let all = profile.kernels.iter().flat_map(|kernel| &kernel.counters);
            tally.counters = all.filter(|counter| counter.differs().is_some()).count();
        }
        for disagreement in self.disagreements() {
            match disagreement.subject {
                Subject::Check | Subject::Result => tally.results_differ += 1,
                Subject::Counter | Subject::Launch => tally.counters_differ += 1,
            }
        }
        tally
    }

    /// Variants meant to be right that left no result to compare: their checks alone were compared.
    pub fn without_results(&self) -> Vec<&str> {
        let meant = self.variants.iter().filter(|variant| variant.declared == Outcome::Correct);
        meant.filter(|variant| variant.results.is_empty()).map(|variant| variant.name.as_str()).collect()
    }

    /// Everything the two sides do not agree on.
    pub fn disagreements(&self) -> Vec<Disagreement> {
        let mut all: Vec<Disagreement> =
            self.variants.iter().flat_map(VariantAgreement::disagreements).collect();
        if let Counters::Read(profile) = &self.counters {
            all.extend(profile.kernels.iter().flat_map(KernelAgreement::disagreements));
            all.extend(profile.unmatched.iter().map(|launch| Disagreement {
                subject: Subject::Launch,
                of: launch.kernel.clone(),
                at: At::new(),
                name: "launch".to_owned(),
                values: launch.launched.clone(),
            }));
        }
        all
    }
}

impl VariantAgreement {
    fn disagreements(&self) -> Vec<Disagreement> {
        let mut all = Vec::new();
        // Of what is undefined a GPU may make anything.
        if self.declared != Outcome::Undefined && self.hardware != self.simulator {
            let side = |check: Option<Check>| {
                let word = match check {
                    Some(Check::Passed) => "passed",
                    Some(Check::Refused) => "refused",
                    None => "did not run",
                };
                match &self.refusal {
                    Some(why) if check == Some(Check::Refused) => format!("{word}: {why}"),
                    _ => word.to_owned(),
                }
            };
            all.push(Disagreement {
                subject: Subject::Check,
                of: self.name.clone(),
                at: At::new(),
                name: "check".to_owned(),
                values: Difference { hardware: side(self.hardware), simulator: side(self.simulator) },
            });
        }
        all.extend(self.results.iter().filter_map(|result| {
            Some(Disagreement {
                subject: Subject::Result,
                of: self.name.clone(),
                at: result.at.clone(),
                name: result.name.clone(),
                values: result.differs.clone()?,
            })
        }));
        all
    }
}

impl KernelAgreement {
    fn disagreements(&self) -> impl Iterator<Item = Disagreement> {
        let off = self.counters.iter().filter(|counter| counter.differs() == Some(true));
        off.map(|counter| Disagreement {
            subject: Subject::Counter,
            of: if self.kernel == self.variant {
                self.variant.clone()
            } else {
                format!("{} ({})", self.variant, self.kernel)
            },
            at: self.at.clone(),
            name: counter.name.clone(),
            values: Difference {
                hardware: counter.counted.map_or(String::new(), |n| n.to_string()),
                simulator: counter.predicted.map_or(String::new(), |n| n.to_string()),
            },
        })
    }
}

impl Counter {
    /// Whether the GPU counted something else than was predicted; none where one of the two is not known.
    pub fn differs(&self) -> Option<bool> {
        Some(self.predicted? != self.counted?)
    }
}
