//! `labs verify`: measure by the rules and keep what comes of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use labs_record::manifest::{KernelHashes, Manifest};
use labs_record::record::{Instruction, Outcome, Record, Sanitizer};
use labs_record::rules::{self, SESSIONS, Status};
use labs_record::store;

use crate::backend::Backend as _;
use crate::backend::cuda::Cuda;
use crate::cli::VerifyArgs;
use crate::draft::{self, Extras};
use crate::failure::{failed, lacks, usage};
use crate::lab::{self, Lab};
use crate::session::{Job, Report};
use crate::toolchain::cubin;
use crate::toolchain::disassembly::Disassembler;
use crate::{baseline, code, run, sources, tools};

/// What a verification works with.
struct Setting {
    root: PathBuf,
    manifest: Manifest,
    disassembler: Option<Disassembler>,
    sanitizer: Option<PathBuf>,
    architecture: u32,
    slug: String,
}

/// Measures labs and writes their records, one by one.
///
/// # Errors
/// No GPU, no pinned code, a wrong result, a record that would be replaced by a worse one.
pub fn verify(args: &VerifyArgs) -> Result<()> {
    let labs = chosen(&args.labs, args.all)?;
    let setting = prepare()?;
    let shortcomings = preflight(&setting, &labs);
    for line in &shortcomings {
        anstream::eprintln!("would make a draft: {line}");
    }
    let mut drafts = Vec::new();
    for lab in labs {
        let path = setting.root.join(format!("verification/{}/{}.yaml", setting.slug, lab.stem()));
        if args.resume && is_done(&setting, lab, &path) {
            anstream::println!("{}: verified by this program already", lab.stem());
            continue;
        }
        let record = measure(&setting, lab)?;
        if !shortcomings.is_empty() {
            let aside = drafts_place(&setting, &path);
            store::write(&aside, &record)?;
            anstream::println!("{}: draft, for the reasons above: {}", lab.stem(), aside.display());
            drafts.push(lab.stem());
            continue;
        }
        let status = keep(&setting, args, &path, record)?;
        anstream::println!("{}: {status}", lab.stem());
        if status != Status::Verified {
            drafts.push(lab.stem());
        }
    }
    if drafts.is_empty() { Ok(()) } else { Err(failed(format!("not verified: {}", drafts.join(", ")))) }
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
        slug: device.gpu.slug(),
        root,
        manifest,
    })
}

/// Whatever would make a draft, found before anything is measured.
fn preflight(setting: &Setting, labs: &[&dyn Lab]) -> Vec<String> {
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
    for lab in labs {
        if setting
            .manifest
            .labs
            .get(lab.stem())
            .is_none_or(|entry| entry.protocol != lab::protocol_hash(*lab))
        {
            lines.push(format!("{}: the manifest is older than the lab; run scripts/kernels", lab.stem()));
        }
        if let Err(error) = evidence(setting, *lab) {
            lines.push(format!("{}: {error:#}", lab.stem()));
        }
    }
    lines
}

fn is_done(setting: &Setting, lab: &dyn Lab, path: &Path) -> bool {
    let Ok(record) = store::read_record(path) else { return false };
    record.sources == crate::BUILT_FROM
        && record.protocol == lab::protocol_hash(lab)
        && rules::faults(&record, &setting.manifest).is_empty()
        && rules::status(&record, &setting.manifest) == Status::Verified
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

/// Where a draft goes: away from the records.
fn drafts_place(setting: &Setting, path: &Path) -> PathBuf {
    setting.root.join("target/drafts").join(path.strip_prefix(&setting.root).unwrap_or(path))
}

/// Writes a record, unless that would lose a better one.
fn keep(setting: &Setting, args: &VerifyArgs, path: &Path, new: Record) -> Result<Status> {
    let known = path.exists().then(|| store::read_record(path)).transpose()?;
    let record = match (args.add, known.clone()) {
        (true, Some(mut known)) => {
            draft::add_sitting(&mut known, new).map_err(failed)?;
            known
        }
        (true, None) => {
            return Err(usage(format!(
                "--add adds to a record, and `{}` is not there; leave --add away",
                path.display()
            )));
        }
        (false, _) => new,
    };
    let faults = rules::faults(&record, &setting.manifest);
    if !faults.is_empty() {
        return Err(failed(format!("the new record would be refused: {}", faults.join("; "))));
    }
    let status = rules::status(&record, &setting.manifest);
    let loses = |known: &Record| {
        status != Status::Verified && rules::status(known, &setting.manifest) == Status::Verified
    };
    if known.as_ref().is_some_and(loses) {
        let aside = drafts_place(setting, path);
        store::write(&aside, &record)?;
        return Err(failed(format!(
            "{status}; the verified record stays, the draft is `{}`",
            aside.display()
        )));
    }
    store::write(path, &record)?;
    Ok(status)
}

#[cfg(test)]
mod tests {
    use labs_record::figure::SetAside;

    use super::*;
    use crate::failure::{Kind, kind_of};

    const PLACE: &str = "verification/nvidia-h200/day26_sum.yaml";
    const ADD: VerifyArgs = VerifyArgs { labs: Vec::new(), all: false, resume: false, add: true };
    const ANEW: VerifyArgs = VerifyArgs { labs: Vec::new(), all: false, resume: false, add: false };

    /// A checkout with this one's manifest and, so far, no record.
    fn setting() -> (tempfile::TempDir, Setting) {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting {
            root: folder.path().to_owned(),
            manifest: store::read(&checkout.join("kernels/manifest.yaml"), "manifest").unwrap(),
            disassembler: None,
            sanitizer: None,
            architecture: 90,
            slug: "nvidia-h200".to_owned(),
        };
        (folder, setting)
    }

    /// The committed record, of today's code and protocol whatever it was measured by.
    fn record(setting: &Setting) -> Record {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut record = store::read_record(&checkout.join(PLACE)).unwrap();
        let code = &setting.manifest.code["day26_sum"]["sm_90"];
        for kernel in record.variants.iter_mut().flat_map(|variant| &mut variant.kernels) {
            kernel.machine_code.clone_from(&code[&kernel.name]);
        }
        record.protocol.clone_from(&setting.manifest.labs["day26_sum"].protocol);
        record.sources = crate::BUILT_FROM.to_owned();
        record.seal();
        record
    }

    /// The same with two sessions, which is a draft.
    fn draft(setting: &Setting) -> Record {
        let mut record = record(setting);
        record.sittings[0].sessions.truncate(2);
        record.figures.iter_mut().for_each(|figure| figure.samples.truncate(2));
        record.seal();
        record
    }

    #[test]
    fn a_verified_record_is_never_replaced_by_a_draft() {
        let (_folder, setting) = setting();
        let path = setting.root.join(PLACE);
        let (verified, draft) = (record(&setting), draft(&setting));
        // Where there is nothing better, a draft is kept.
        let status = keep(&setting, &ANEW, &path, draft.clone()).unwrap();
        assert!(matches!(status, Status::Draft(_)), "{status}");
        assert_eq!(keep(&setting, &ANEW, &path, verified.clone()).unwrap(), Status::Verified);
        let error = keep(&setting, &ANEW, &path, draft.clone()).unwrap_err();
        assert_eq!(kind_of(&error), Kind::Failed);
        assert!(error.to_string().contains("2 sessions of 3; the verified record stays"), "{error}");
        assert_eq!(store::read_record(&path).unwrap(), verified);
        assert_eq!(store::read_record(&drafts_place(&setting, &path)).unwrap(), draft);

        let mut faulty = verified.clone();
        faulty.digest = String::new();
        let error = keep(&setting, &ANEW, &path, faulty).unwrap_err().to_string();
        assert!(error.contains("would be refused"), "{error}");
        assert_eq!(store::read_record(&path).unwrap(), verified);
    }

    #[test]
    fn a_sitting_is_added_to_a_record_of_the_same_code() {
        let (_folder, setting) = setting();
        let path = setting.root.join(PLACE);
        let error = keep(&setting, &ADD, &path, record(&setting)).unwrap_err();
        assert_eq!(kind_of(&error), Kind::Usage, "{error}");
        assert!(!path.exists());

        keep(&setting, &ANEW, &path, record(&setting)).unwrap();
        let mut later = record(&setting);
        later.sittings[0].started = "2027-01-01T00:00:00Z".to_owned();
        later.figures[0].set_aside = vec![SetAside { session: 1, count: 3, reason: "slow".to_owned() }];
        later.seal();
        assert_eq!(keep(&setting, &ADD, &path, later).unwrap(), Status::Verified);
        let both = store::read_record(&path).unwrap();
        assert_eq!((both.sittings.len(), both.sessions()), (2, 6));
        assert!(both.figures.iter().all(|figure| figure.samples.len() == 6));
        assert_eq!(both.figures[0].set_aside[0].session, 4, "sessions count over all sittings");

        for (what, change) in [
            ("protocol", (|record| record.protocol = "other".to_owned()) as fn(&mut Record)),
            ("machine code", |record| record.variants[0].kernels[0].machine_code = "other".to_owned()),
            ("compiler", |record| record.compiler.version = "13.0.0".to_owned()),
            ("GPU", |record| record.gpu.sms = 114),
        ] {
            let mut other = record(&setting);
            change(&mut other);
            other.seal();
            let error = keep(&setting, &ADD, &path, other).unwrap_err().to_string();
            assert!(error.contains(&format!("the record on disk has another {what}")), "{error}");
            assert_eq!(store::read_record(&path).unwrap(), both);
        }
    }

    #[test]
    fn resume_leaves_out_what_this_program_has_verified() {
        let (_folder, setting) = setting();
        let path = setting.root.join(PLACE);
        let day26 = lab::find("day26").unwrap();
        assert!(!is_done(&setting, day26, &path));
        store::write(&path, &record(&setting)).unwrap();
        assert!(is_done(&setting, day26, &path));
        for change in [
            (|record| record.sources = "others".to_owned()) as fn(&mut Record),
            |record| record.protocol = "other".to_owned(),
            |record| record.sittings[0].sessions.truncate(2),
        ] {
            let mut other = record(&setting);
            change(&mut other);
            other.seal();
            store::write(&path, &other).unwrap();
            assert!(!is_done(&setting, day26, &path));
        }
    }
}
