//! `labs verify`: measure by the rules and keep what comes of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use labs_record::manifest::{KernelHashes, Manifest};
use labs_record::record::{Gpu, Instruction, Outcome, Record, Sanitizer};
use labs_record::rules::{SESSIONS, Status};
use labs_record::store;

use crate::backend::Backend as _;
use crate::backend::cuda::Cuda;
use crate::cli::VerifyArgs;
use crate::draft::{self, Extras};
use crate::failure::{Failure, failed, lacks, usage};
use crate::lab::{self, Lab};
use crate::session::{Job, Report};
use crate::toolchain::cubin;
use crate::toolchain::disassembly::Disassembler;
use crate::{baseline, code, run, sources, tools};
use present::Plan;

mod present;

/// What a verification works with.
struct Setting {
    root: PathBuf,
    manifest: Manifest,
    disassembler: Option<Disassembler>,
    sanitizer: Option<PathBuf>,
    architecture: u32,
    gpu: Gpu,
}

impl Setting {
    /// Where the record of a lab on this GPU belongs.
    fn record_of(&self, lab: &dyn Lab) -> PathBuf {
        self.root.join(format!("verification/{}/{}.yaml", self.gpu.slug(), lab.stem()))
    }
}

/// Measures labs and writes their records, one by one.
///
/// # Errors
/// No GPU, no pinned code, a wrong result, a record that would be replaced by a worse one or takes no sitting.
pub fn verify(args: &VerifyArgs) -> Result<()> {
    let labs = chosen(&args.labs, args.all)?;
    let setting = prepare()?;
    let (labs, mut unverified) = to_measure(&setting, args, labs);
    let shortcomings = if labs.is_empty() { Vec::new() } else { shortcomings_of_all(&setting) };
    for line in &shortcomings {
        anstream::eprintln!("would make a draft: {line}");
    }
    let mut jobs = Vec::new();
    for lab in labs {
        let own = shortcomings_of(&setting, lab);
        for line in &own {
            anstream::eprintln!("would make a draft: {}: {line}", lab.stem());
        }
        jobs.push((lab, own.is_empty() && shortcomings.is_empty()));
    }
    for (lab, whole) in jobs {
        match measure_and_keep(&setting, args, lab, whole) {
            Ok(Status::Verified) => {}
            Ok(_) => unverified.push(lab.stem()),
            // One lab's wrong result, or a record that takes no sitting, says nothing of the labs after it.
            Err(error) if error.is::<Failure>() => {
                anstream::eprintln!("{}: {error:#}", lab.stem());
                unverified.push(lab.stem());
            }
            Err(error) => return Err(error),
        }
    }
    match unverified[..] {
        [] => Ok(()),
        _ => Err(failed(format!("not verified: {}", unverified.join(", ")))),
    }
}

/// Measures a lab and keeps its record: among the records if it is `whole`, else as a draft.
fn measure_and_keep(
    setting: &Setting,
    args: &VerifyArgs,
    lab: &'static dyn Lab,
    whole: bool,
) -> Result<Status> {
    let record = measure(setting, lab)?;
    let path = setting.record_of(lab);
    if whole {
        let status = present::keep(setting, args.add, &path, record)?;
        anstream::println!("{}: {status}", lab.stem());
        return Ok(status);
    }
    let aside = present::put_aside(setting, &path, &record)?;
    anstream::println!("{}: draft, for the reasons above: {}", lab.stem(), aside.display());
    Ok(Status::Draft(Vec::new()))
}

/// The labs that are to be measured, and those that can't be, each of them told; what is done already is left out.
fn to_measure(
    setting: &Setting,
    args: &VerifyArgs,
    labs: Vec<&'static dyn Lab>,
) -> (Vec<&'static dyn Lab>, Vec<&'static str>) {
    let (mut wanted, mut refused) = (Vec::new(), Vec::new());
    for lab in labs {
        match present::plan(setting, args, lab) {
            Ok(Plan::Measure) => wanted.push(lab),
            Ok(Plan::Done) => anstream::println!("{}: verified already", lab.stem()),
            Err(why) => {
                anstream::eprintln!("{}: not measured: {why:#}", lab.stem());
                refused.push(lab.stem());
            }
        }
    }
    (wanted, refused)
}

/// The labs of these names, or all of them.
///
/// # Errors
/// A name that no lab has.
pub fn chosen(names: &[String], all: bool) -> Result<Vec<&'static dyn Lab>> {
    if all {
        return Ok(lab::registry().to_vec());
    }
    let known = || lab::registry().iter().map(|lab| lab::names(lab.stem()).0).collect::<Vec<_>>().join(", ");
    let find = |name: &String| {
        lab::find(name).ok_or_else(|| usage(format!("no lab `{name}`; there are {}", known())))
    };
    names.iter().map(find).collect()
}

fn prepare() -> Result<Setting> {
    let root = code::root_for("labs verify")?;
    let manifest = store::read(&root.join("kernels/manifest.yaml"), "manifest")?;
    let cuda = Cuda::open()?;
    let device = cuda.device();
    Ok(Setting {
        disassembler: Disassembler::find(Some(&root)).ok(),
        sanitizer: tools::find("compute-sanitizer"),
        architecture: device.architecture,
        gpu: device.gpu.clone(),
        root,
        manifest,
    })
}

/// Whatever would make drafts of all records, found before anything is measured.
fn shortcomings_of_all(setting: &Setting) -> Vec<String> {
    let mut lines = Vec::new();
    match sources::hash(&setting.root) {
        Ok(hash) if hash == crate::BUILT_FROM => {}
        _ => lines
            .push("this program was built from other sources than this checkout's; build it anew".to_owned()),
    }
    if setting.disassembler.is_none() {
        lines.push(
            "no nvdisasm or cuobjdump: instructions stay unknown (`labs doctor` says how to get one)"
                .to_owned(),
        );
    }
    lines
}

/// Whatever would make a draft of one lab's record.
fn shortcomings_of(setting: &Setting, lab: &dyn Lab) -> Vec<String> {
    let mut lines = Vec::new();
    let entry = setting.manifest.labs.get(lab.stem());
    if entry.is_none_or(|entry| entry.protocol != lab::protocol_hash(lab)) {
        lines.push("the manifest is older than the lab; run scripts/kernels".to_owned());
    }
    if let Err(error) = evidence(setting, lab) {
        lines.push(format!("{error:#}"));
    }
    lines
}

fn measure(setting: &Setting, lab: &'static dyn Lab) -> Result<Record> {
    let started = draft::now();
    let kernels = evidence(setting, lab).unwrap_or_default();
    let mut extras = Extras {
        command: format!("labs verify {}", lab::names(lab.stem()).0),
        kernels,
        sanitizer: sanitize(setting, lab)?,
        ..Extras::default()
    };
    let peer = tools::peer_program(&setting.root, lab.stem());
    let mut reports: Vec<Report> = Vec::new();
    for number in 0..SESSIONS {
        let report = run::on_gpu(&job(lab, seed(&started, number)))?;
        check_results(lab, &report)?;
        reports.push(report);
        if let Some(program) = &peer {
            let peer = tools::run_peer(program)?;
            extras.peers = vec![peer.peer];
            extras.peer_figures.push(peer.figures);
        }
    }
    draft::record(lab, &started, reports, extras).context("no session gave a report")
}

fn job(lab: &dyn Lab, seed: u64) -> Job {
    Job {
        lab: lab.stem().to_owned(),
        variants: Vec::new(),
        places: BTreeMap::new(),
        samples: None,
        seed,
        kernel: None,
        pinned: true,
        only_check: false,
    }
}

/// A seed a session, from the hour and the number: recorded, and another one each time.
fn seed(started: &str, number: usize) -> u64 {
    started.bytes().fold(number as u64 + 1, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)))
        % 1_000_000_007
}

/// A correct variant that gave a wrong result ends the verification: there is nothing to keep.
fn check_results(lab: &dyn Lab, report: &Report) -> Result<()> {
    for (name, check, reason) in &report.findings.checks {
        let declared =
            lab.variants().iter().find(|variant| variant.name == name).map(|variant| variant.declared);
        if declared == Some(Outcome::Correct) && *check == labs_record::record::Check::Refused {
            return Err(failed(format!(
                "{name} gave a wrong result: {}",
                reason.clone().unwrap_or_default()
            )));
        }
    }
    Ok(())
}

/// Each kernel's machine code by hash, and its instructions that bear on contention.
fn evidence(setting: &Setting, lab: &dyn Lab) -> Result<BTreeMap<String, (String, Vec<Instruction>)>> {
    let image = code::pinned_cubin(&setting.root, lab.stem(), setting.architecture)?;
    let hashes = machine_code(&image, lab, &setting.manifest, setting.architecture)?;
    // The baseline is loaded from the same folder.
    code::pinned_cubin(&setting.root, baseline::STEM, setting.architecture)?;
    let mut instructions: BTreeMap<String, Vec<Instruction>> = BTreeMap::new();
    if let Some(disassembler) = &setting.disassembler {
        for function in disassembler.functions(&image)? {
            // A header's lines are none of the kernel file's.
            let file = format!("{}.cu", lab.stem());
            let list = function.evidence().map(|instruction| Instruction {
                opcode: instruction.opcode.clone(),
                line: instruction
                    .source
                    .as_ref()
                    .filter(|source| source.file == file)
                    .map(|source| source.line),
            });
            instructions.insert(function.name.clone(), list.collect());
        }
    }
    Ok(hashes
        .into_iter()
        .map(|(kernel, hash)| {
            let list = instructions.remove(&kernel).unwrap_or_default();
            (kernel, (hash, list))
        })
        .collect())
}

/// The hashes of a lab's machine code, which must be those that the manifest knows.
///
/// # Errors
/// Kind `Lacks` if they are not.
pub fn machine_code(
    image: &[u8],
    lab: &dyn Lab,
    manifest: &Manifest,
    architecture: u32,
) -> Result<KernelHashes> {
    let stem = lab.stem();
    let hashes = cubin::code_hashes(image)?;
    let known = manifest.code.get(stem).and_then(|code| code.get(&format!("sm_{architecture}")));
    if known.is_some_and(|known| *known != hashes) {
        return Err(lacks(format!(
            "kernels/cubin/{stem} is not the manifest's machine code; run scripts/kernels"
        )));
    }
    Ok(hashes)
}

/// compute-sanitizer over all correct variants at once; one by one only if it complains.
fn sanitize(setting: &Setting, lab: &dyn Lab) -> Result<BTreeMap<String, Sanitizer>> {
    let runs = |variant: &&lab::Variant| {
        variant.declared == Outcome::Correct && variant.needs <= setting.architecture
    };
    let (unjudged, correct): (Vec<&str>, Vec<&str>) = lab
        .variants()
        .iter()
        .filter(runs)
        .map(|variant| variant.name)
        .partition(|name| lab.unsanitized(name).is_some());
    let stated =
        |name: &&str| Some(((*name).to_owned(), Sanitizer::Absent(lab.unsanitized(name)?.to_owned())));
    let mut words: BTreeMap<String, Sanitizer> = unjudged.iter().filter_map(stated).collect();
    let everyone = |word: Sanitizer| correct.iter().map(move |name| ((*name).to_owned(), word.clone()));
    let Some(sanitizer) = &setting.sanitizer else {
        let absent = Sanitizer::Absent("compute-sanitizer is not on this machine".to_owned());
        words.extend(everyone(absent));
        return Ok(words);
    };
    let mut job = job(lab, 1);
    job.only_check = true;
    job.places = lab.sanitized();
    job.variants = correct.iter().map(|name| (*name).to_owned()).collect();
    let together = tools::sanitize(sanitizer, &job)?;
    if !matches!(together, Sanitizer::Found(_)) {
        words.extend(everyone(together));
        return Ok(words);
    }
    for name in correct {
        job.variants = vec![name.to_owned()];
        words.insert(name.to_owned(), tools::sanitize(sanitizer, &job)?);
    }
    Ok(words)
}
