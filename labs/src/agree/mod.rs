//! `labs agree`: the simulator held against this machine's GPU.
//!
//! Every variant runs on both with the same input, and what each leaves in memory is compared. Where a profiler is found,
//! the GPU's counters are set beside the requests that the simulator predicts. It takes no times.

use std::path::{Path, PathBuf};

use anyhow::Result;
use labs_record::agreement::{self, Agreement, Counters, Disagreement, LabAgreement, Profile, Subject};
use labs_record::manifest::{KernelHashes, Manifest};
use labs_record::record::{Absent, Gpu, Outcome};
use labs_record::{Coordinate, store};
use labs_simt::Options;

use crate::backend::cuda::Cuda;
use crate::backend::sim::Sim;
use crate::backend::{Backend as _, Device};
use crate::cli::AgreeArgs;
use crate::failure::failed;
use crate::lab::{self, Axis, Lab, Places, Simulated};
use crate::session::{self, Job, Report};
use crate::{code, draft, print, run, sources, tools, verify};

mod compare;
pub mod ncu;

pub use compare::variants;

/// Sizes beside the simulator's own: one element, one past a warp, one short of a block, one past many blocks.
const ODD_SIZES: [u64; 4] = [1, 33, 255, 4_097];

/// Largest size under the profiler, which runs every kernel several times.
const PROFILED_SIZE: u64 = 65_536;

/// Seed of all inputs.
const SEED: u64 = 1;

/// The hardware's side of a comparison.
pub struct Hardware<'a> {
    /// Runs a job that only checks.
    pub run: &'a dyn Fn(&Job) -> Result<Report>,
    /// Runs one under a profiler.
    pub profile: &'a dyn Fn(&Job) -> Result<ncu::Seen>,
}

/// What a comparison works with.
struct Setting {
    root: PathBuf,
    manifest: Manifest,
    device: Device,
    profiler: Option<PathBuf>,
}

/// Compares labs and writes what comes of it into `verification/agreement/<gpu>.yaml`, lab by lab.
///
/// # Errors
/// No GPU, no pinned code, a program built from other sources; results that differ, after everything was written.
pub fn agree(args: &AgreeArgs) -> Result<()> {
    let labs = verify::chosen(&args.labs, args.all)?;
    let setting = prepare()?;
    let path = setting.root.join(format!("verification/agreement/{}.yaml", setting.device.gpu.slug()));
    let mut troubles = Vec::new();
    for lab in labs {
        if lab.simulated() == Simulated::Nothing {
            anstream::println!("{}: the simulator has nothing to say of it", lab.stem());
            continue;
        }
        match on_this_machine(&setting, lab) {
            Ok(found) => {
                anstream::print!("{}", told(&found));
                if found.tally().results_differ > 0 {
                    troubles.push(format!("{}: results differ", lab.stem()));
                }
                keep(&path, &setting.device.gpu, found)?;
            }
            Err(error) => troubles.push(format!("{}: {error:#}", lab.stem())),
        }
    }
    if troubles.is_empty() { Ok(()) } else { Err(failed(troubles.join("; "))) }
}

fn prepare() -> Result<Setting> {
    let root = code::root_for("labs agree")?;
    let manifest = store::read(&root.join("kernels/manifest.yaml"), "manifest")?;
    let device = Cuda::open()?.device().clone();
    if !sources::hash(&root).is_ok_and(|hash| hash == crate::BUILT_FROM) {
        return Err(failed("this program was built from other sources than this checkout's; build it anew"));
    }
    Ok(Setting { root, manifest, device, profiler: tools::find("ncu") })
}

fn on_this_machine(setting: &Setting, lab: &'static dyn Lab) -> Result<LabAgreement> {
    let image = code::pinned_cubin(&setting.root, lab.stem(), setting.device.architecture)?;
    let hashes = verify::machine_code(&image, lab, &setting.manifest, setting.device.architecture)?;
    let profile = |job: &Job| match &setting.profiler {
        Some(program) => ncu::profile(program, job, &ncu::COUNTERS.map(|(name, _)| name)),
        None => Err(failed("ncu is not on this machine")),
    };
    let hardware = Hardware { run: &run::on_gpu, profile: &profile };
    compare(lab, &Jobs::of(lab), &setting.device, hashes, &hardware)
}

/// What runs on both sides.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// For the results: the simulator's own places, and odd sizes below the largest of them.
    pub results: Job,
    /// For the counters: one size, one number on other axes, every word.
    pub counters: Job,
}

impl Jobs {
    /// A lab's.
    pub fn of(lab: &dyn Lab) -> Jobs {
        let mut counters = job(lab, counter_places);
        // The simulator stops what is undefined, and has no counts of it.
        let defined = lab.variants().iter().filter(|variant| variant.declared != Outcome::Undefined);
        counters.variants = defined.map(|variant| variant.name.to_owned()).collect();
        Jobs { results: job(lab, result_places), counters }
    }
}

/// Compares one lab.
///
/// # Errors
/// A side that can't run it at all. What the profiler can't do is no error: then there are no counters, and why is said.
pub fn compare(
    lab: &'static dyn Lab,
    jobs: &Jobs,
    device: &Device,
    machine_code: KernelHashes,
    hardware: &Hardware<'_>,
) -> Result<LabAgreement> {
    let started = draft::now();
    let measured = (hardware.run)(&jobs.results)?;
    let simulated = on_simulator(lab, &jobs.results, device)?;
    let absent = lab.variants().iter().filter(|variant| variant.needs > device.architecture);
    let why = |needs: u32| format!("it needs compute capability {}.{}", needs / 10, needs % 10);
    Ok(LabAgreement {
        lab: lab.stem().to_owned(),
        started,
        driver: measured.driver.clone(),
        compiler: measured.compiler.clone(),
        sources: crate::BUILT_FROM.to_owned(),
        protocol: lab::protocol_hash(lab),
        machine_code,
        seed: jobs.results.seed,
        variants: compare::variants(lab, &measured.findings, &simulated.findings),
        absent: absent.map(|v| Absent { what: v.name.to_owned(), why: why(v.needs) }).collect(),
        counters: counters(lab, &jobs.counters, device, hardware)?,
    })
}

fn counters(lab: &'static dyn Lab, job: &Job, device: &Device, hardware: &Hardware<'_>) -> Result<Counters> {
    if lab.simulated() != Simulated::Counts {
        return Ok(Counters::Absent("the simulator predicts no requests of this lab".to_owned()));
    }
    let ncu::Seen { profiler, launches } = match (hardware.profile)(job) {
        Ok(seen) => seen,
        Err(error) => return Ok(Counters::Absent(format!("{error:#}"))),
    };
    let simulated = on_simulator(lab, job, device)?;
    let (kernels, unmatched) = compare::kernels(launches, &simulated.findings.launches);
    Ok(Counters::Read(Profile { profiler, kernels, unmatched }))
}

fn on_simulator(lab: &'static dyn Lab, job: &Job, device: &Device) -> Result<Report> {
    let mut sim = Sim::like(device, Options::default());
    let code = code::for_simulator(lab, None, device.architecture)?;
    let bar = run::progress();
    let report = session::run(job, lab, &mut sim, code, true, &mut |message| run::advance(&bar, &message));
    bar.finish_and_clear();
    report
}

fn job(lab: &dyn Lab, places: fn(&Axis) -> Vec<Coordinate>) -> Job {
    Job {
        lab: lab.stem().to_owned(),
        variants: Vec::new(),
        places: lab.axes().iter().map(|axis| (axis.name.to_owned(), places(axis))).collect(),
        samples: None,
        seed: SEED,
        kernel: None,
        pinned: true,
        only_check: true,
    }
}

fn result_places(axis: &Axis) -> Vec<Coordinate> {
    let mut places = axis.simulator_defaults.clone();
    if axis.name == "size"
        && let Some(largest) = places.iter().max().cloned()
    {
        let odd = ODD_SIZES.map(Coordinate::Number).into_iter();
        places.extend(odd.filter(|size| *size < largest));
        places.sort();
        places.dedup();
    }
    places
}

fn counter_places(axis: &Axis) -> Vec<Coordinate> {
    let places = &axis.simulator_defaults;
    let small = |place: &&Coordinate| **place <= Coordinate::Number(PROFILED_SIZE);
    match axis.places {
        Places::OneOf(_) => places.clone(),
        Places::UpTo(_) if axis.name == "size" => {
            places.iter().filter(small).max().or(places.iter().min()).cloned().into_iter().collect()
        }
        Places::UpTo(_) => places.first().cloned().into_iter().collect(),
    }
}

/// Puts a lab into a GPU's file, beside the labs that are there.
///
/// # Errors
/// A file that can't be read or written, or was edited; one of another GPU.
pub fn keep(path: &Path, gpu: &Gpu, lab: LabAgreement) -> Result<()> {
    let mut all = match path.exists() {
        true => store::read_agreement(path)?,
        false => Agreement::new(gpu.clone()),
    };
    let refuse = |why: &str| failed(format!("`{}` {why}; move it away, and compare anew", path.display()));
    if path.exists() && all.digest != all.compute_digest() {
        return Err(refuse("was edited after it was made"));
    }
    if all.gpu != *gpu {
        return Err(refuse("is of another GPU"));
    }
    all.put(lab);
    Ok(store::write(path, &all)?)
}

/// A lab's comparison for the terminal.
fn told(found: &LabAgreement) -> String {
    let tally = found.tally();
    let mut text = format!(
        "{}: {} checks and {} results, {} differ\n",
        found.lab, tally.checks, tally.results, tally.results_differ
    );
    text += &match &found.counters {
        Counters::Read(profile) => format!(
            "{}: {} counters of {} kernels by {}, {} differ\n",
            found.lab,
            tally.counters,
            profile.kernels.len(),
            profile.profiler,
            tally.counters_differ
        ),
        Counters::Absent(why) => format!("{}: no counters: {why}\n", found.lab),
    };
    let without = found.without_results();
    if !without.is_empty() {
        text += &format!("{}: no result to compare: {}\n", found.lab, without.join(", "));
    }
    let rows: Vec<Vec<String>> = found.disagreements().iter().map(row).collect();
    if !rows.is_empty() {
        text += &print::words(&["differs", "at", "what", "simulator", "GPU"], &rows);
        text.push('\n');
    }
    text
}

fn row(found: &Disagreement) -> Vec<String> {
    let name = match found.subject {
        Subject::Result => format!("result {}", found.name),
        Subject::Check | Subject::Counter | Subject::Launch => found.name.clone(),
    };
    let values = &found.values;
    vec![
        found.of.clone(),
        agreement::place(&found.at),
        name,
        values.simulator.clone(),
        values.hardware.clone(),
    ]
}
