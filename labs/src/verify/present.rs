//! The record that is there before a lab is measured: whether it is enough, what may replace it, what it takes in.

use std::path::{Path, PathBuf};

use anyhow::Result;
use labs_record::figure::Figure;
use labs_record::record::Record;
use labs_record::rules::{self, Status};
use labs_record::store;

use super::Setting;
use crate::cli::VerifyArgs;
use crate::failure::{failed, usage};
use crate::lab::{self, Lab};
use crate::toolchain::cubin;
use crate::{code, draft, tools};

/// What is to be done with a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// Measure it.
    Measure,
    /// Nothing: its record is enough.
    Done,
}

/// Decides from the record that is there, before anything is measured.
///
/// # Errors
/// A record that can't be read; with `--add`, none, or one that takes no sitting of today's code.
pub(super) fn plan(setting: &Setting, args: &VerifyArgs, lab: &dyn Lab) -> Result<Plan> {
    let path = setting.record_of(lab);
    let known = path
        .exists()
        .then(|| store::read_record(&path))
        .transpose()
        .map_err(|error| failed(format!("{error}; restore that file, or remove it to measure anew")))?;
    let Some(known) = known else {
        return match args.add {
            true => Err(usage(format!(
                "--add adds to a record, and `{}` is not there; leave --add away",
                path.display()
            ))),
            false => Ok(Plan::Measure),
        };
    };
    let outdated = outdated(setting, lab, &known);
    match (args.add, outdated) {
        (true, Some(why)) => {
            Err(failed(format!("--add would spoil the record on disk: {why}; leave --add away")))
        }
        (true, None) => missing_peer(setting, lab, &known).map_or(Ok(Plan::Measure), Err),
        (false, None) if args.resume => Ok(Plan::Done),
        (false, _) => Ok(Plan::Measure),
    }
}

/// In what a record differs from a verified one of today's code and protocol on this GPU; none if it is one. Which build
/// of the program made it is no difference: what decides a sample is the machine code and the protocol.
fn outdated(setting: &Setting, lab: &dyn Lab, record: &Record) -> Option<String> {
    if let Some(fault) = rules::faults(record, &setting.manifest).first() {
        return Some(fault.clone());
    }
    if record.lab != lab.stem() {
        return Some(format!("it is of the lab `{}`", record.lab));
    }
    if !record.gpu.is_like(&setting.gpu) {
        return Some(format!("it is of {:?}, and here is {:?}", record.gpu, setting.gpu));
    }
    if record.protocol != lab::protocol_hash(lab) {
        return Some("the lab now measures by another protocol".to_owned());
    }
    // The manifest knows some architectures; of the others only the machine code that is loaded here can tell.
    let image = code::pinned_cubin(&setting.root, lab.stem(), setting.architecture);
    if let Some(code) = image.ok().and_then(|image| cubin::code_hashes(&image).ok()) {
        let kernels = record.variants.iter().flat_map(|variant| &variant.kernels);
        let differs = |kernel: &&labs_record::record::Kernel| {
            code.get(&kernel.name).is_none_or(|hash| *hash != kernel.machine_code)
        };
        if let Some(kernel) = kernels.into_iter().find(differs) {
            return Some(format!("kernel `{}` now has other machine code", kernel.name));
        }
    }
    match rules::status(record, &setting.manifest) {
        Status::Verified => None,
        status => Some(format!("it is {status}")),
    }
}

/// A record with a peer's figures takes no sitting without them.
fn missing_peer(setting: &Setting, lab: &dyn Lab, record: &Record) -> Option<anyhow::Error> {
    let peer = record.peers.first()?;
    if tools::peer_program(&setting.root, lab.stem()).is_some() {
        return None;
    }
    Some(failed(format!(
        "the record has the peer `{}`, which is not built here; scripts/verify-on-gpu builds it where nvcc is found",
        peer.name
    )))
}

/// Where a record goes that is not kept: away from the records.
fn drafts_place(setting: &Setting, path: &Path) -> PathBuf {
    setting.root.join("target/drafts").join(path.strip_prefix(&setting.root).unwrap_or(path))
}

/// Writes a record that is not kept, and says where.
pub(super) fn put_aside(setting: &Setting, path: &Path, record: &Record) -> Result<PathBuf> {
    let aside = drafts_place(setting, path);
    store::write(&aside, record)?;
    Ok(aside)
}

/// Writes a record, or adds its sitting to the one that is there, unless that would lose a better one. What is not kept is
/// put aside.
pub(super) fn keep(setting: &Setting, add: bool, path: &Path, new: Record) -> Result<Status> {
    let known = path.exists().then(|| store::read_record(path)).transpose()?;
    let refuse = |why: String, what: &Record| {
        let aside = put_aside(setting, path, what)?;
        Err(failed(format!("{why}; what was measured is in `{}`", aside.display())))
    };
    let record = match (add, known.clone()) {
        (true, Some(mut both)) => {
            let left_out = match draft::add_sitting(&mut both, new.clone()) {
                Ok(left_out) => left_out,
                Err(why) => return refuse(why, &new),
            };
            if let Some(first) = left_out.first() {
                let count = left_out.len();
                anstream::eprintln!(
                    "left out, since the record has none of them: {count} figures, `{first}` first"
                );
            }
            both
        }
        _ => new,
    };
    let faults = rules::faults(&record, &setting.manifest);
    if !faults.is_empty() {
        return refuse(format!("the new record would be refused: {}", faults.join("; ")), &record);
    }
    let status = rules::status(&record, &setting.manifest);
    let verified = known.filter(|known| rules::status(known, &setting.manifest) == Status::Verified);
    if let Some(known) = verified {
        if status != Status::Verified {
            return refuse(format!("{status}; the verified record stays"), &record);
        }
        if let [first, ..] = &lost(setting, &known, &record)[..] {
            return refuse(
                format!("`{first}` is missing; the verified record, which has it, stays"),
                &record,
            );
        }
    }
    store::write(path, &record)?;
    Ok(status)
}

/// Figures of a verified record that another of the same lab, code and protocol has not: what a figure's places are is known
/// from where it was measured before. One that may be missing is none of them.
fn lost(setting: &Setting, known: &Record, new: &Record) -> Vec<String> {
    let entries = setting.manifest.labs.get(&known.lab).map_or(&[][..], |lab| &lab.figures);
    let needed = |figure: &&Figure| !entries.iter().any(|entry| entry.name == figure.name && entry.optional);
    let there = |figure: &Figure| {
        let same = |other: &Figure| {
            other.name == figure.name && other.variant == figure.variant && other.at == figure.at
        };
        new.figures.iter().any(same)
    };
    known.figures.iter().filter(needed).filter(|figure| !there(figure)).map(Figure::describe).collect()
}

#[cfg(test)]
mod tests {
    use labs_record::figure::SetAside;
    use labs_record::record::{Check, Gpu, Sanitizer};

    use super::*;
    use crate::failure::{Kind, kind_of};

    const PLACE: &str = "verification/nvidia-h200/day26_sum.yaml";
    const ADD: VerifyArgs = VerifyArgs { labs: Vec::new(), all: false, resume: false, add: true };
    const RESUME: VerifyArgs = VerifyArgs { labs: Vec::new(), all: false, resume: true, add: false };
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
            gpu: Gpu {
                name: "NVIDIA H200".to_owned(),
                compute_capability: "9.0".to_owned(),
                sms: 132,
                l2_bytes: 62_914_560,
                memory_bytes: 150_109_880_320,
                ecc: Some(true),
            },
        };
        (folder, setting)
    }

    /// The committed record's first sitting, of today's code and protocol whatever it was measured by.
    fn record(setting: &Setting) -> Record {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut record = store::read_record(&checkout.join(PLACE)).unwrap();
        record.sittings.truncate(1);
        let sessions = record.sessions();
        for figure in &mut record.figures {
            figure.samples.truncate(sessions);
            figure.set_aside.retain(|set_aside| set_aside.session < sessions);
        }
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
        let status = keep(&setting, false, &path, draft.clone()).unwrap();
        assert!(matches!(status, Status::Draft(_)), "{status}");
        assert_eq!(keep(&setting, false, &path, verified.clone()).unwrap(), Status::Verified);
        let error = keep(&setting, false, &path, draft.clone()).unwrap_err();
        assert_eq!(kind_of(&error), Kind::Failed);
        assert!(error.to_string().contains("2 sessions of 3; the verified record stays"), "{error}");
        assert_eq!(store::read_record(&path).unwrap(), verified);
        assert_eq!(store::read_record(&drafts_place(&setting, &path)).unwrap(), draft);

        let mut faulty = verified.clone();
        faulty.digest = String::new();
        let error = keep(&setting, false, &path, faulty).unwrap_err().to_string();
        assert!(error.contains("would be refused"), "{error}");
        assert_eq!(store::read_record(&path).unwrap(), verified);
    }

    #[test]
    fn a_sitting_is_added_to_a_record_of_the_same_code() {
        let (_folder, setting) = setting();
        let path = setting.root.join(PLACE);
        keep(&setting, false, &path, record(&setting)).unwrap();
        // By another build of the program, with its variants in another order, under a driver that keeps more memory.
        let mut later = record(&setting);
        later.sources = "another build".to_owned();
        later.variants.reverse();
        later.gpu.memory_bytes -= 1 << 28;
        later.sittings[0].started = "2027-01-01T00:00:00Z".to_owned();
        later.figures[0].set_aside = vec![SetAside { session: 1, count: 3, reason: "slow".to_owned() }];
        later.seal();
        assert_eq!(keep(&setting, true, &path, later).unwrap(), Status::Verified);
        let both = store::read_record(&path).unwrap();
        assert_eq!((both.sittings.len(), both.sessions()), (2, 6));
        assert!(both.figures.iter().all(|figure| figure.samples.len() == 6));
        assert_eq!(both.figures[0].set_aside[0].session, 4, "sessions count over all sittings");
        assert_eq!((both.sources.as_str(), &both.sittings[0].sources), (crate::BUILT_FROM, &None));
        assert_eq!(both.sittings[1].sources.as_deref(), Some("another build"));

        for (what, change) in [
            ("another protocol", (|record| record.protocol = "other".to_owned()) as fn(&mut Record)),
            ("another machine code", |record| {
                record.variants[0].kernels[0].machine_code = "other".to_owned()
            }),
            ("another compiler", |record| record.compiler.version = "13.0.0".to_owned()),
            ("another GPU", |record| record.gpu.sms = 114),
            ("another peer", |record| record.peers[0].version = "CUB 9".to_owned()),
            ("lacks samples in some session; the verified record stays", |record| record.figures.truncate(9)),
            ("gave a wrong result; the verified record stays", |record| {
                record.variants.iter_mut().for_each(|variant| variant.check = Check::Refused);
            }),
            ("memcheck: a write; the verified record stays", |record| {
                record.variants[0].sanitizer = Sanitizer::Found("memcheck: a write".to_owned());
            }),
        ] {
            let mut other = record(&setting);
            change(&mut other);
            other.seal();
            let error = keep(&setting, true, &path, other).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("what was measured is in"), "{what}: {error}");
            assert_eq!(store::read_record(&path).unwrap(), both);
            store::read_record(&drafts_place(&setting, &path)).unwrap();
        }
    }

    #[test]
    fn a_verified_record_is_not_replaced_by_one_with_fewer_places() {
        let (_folder, setting) = setting();
        let path = setting.root.join(PLACE);
        let whole = record(&setting);
        keep(&setting, false, &path, whole.clone()).unwrap();
        let without = |name: &str| {
            let mut record = whole.clone();
            let place = record.figures.iter().position(|figure| figure.name == name).unwrap();
            let figure = record.figures.remove(place);
            record.seal();
            assert_eq!(rules::status(&record, &setting.manifest), Status::Verified, "no rule misses it");
            (record, figure.describe())
        };
        let (fewer, missing) = without("time");
        let error = keep(&setting, false, &path, fewer.clone()).unwrap_err().to_string();
        assert!(error.contains(&format!("`{missing}` is missing; the verified record")), "{error}");
        assert_eq!(store::read_record(&path).unwrap(), whole);
        assert_eq!(store::read_record(&drafts_place(&setting, &path)).unwrap(), fewer);
        // A peer's figure may be missing.
        let (fewer, _) = without("time_with_reset");
        assert_eq!(keep(&setting, false, &path, fewer).unwrap(), Status::Verified);
    }

    /// What is refused before anything is measured, and what is left out by `--resume`.
    #[test]
    fn the_record_that_is_there_decides_what_is_measured() {
        let (_folder, setting) = setting();
        let path = setting.root.join(PLACE);
        let day26 = lab::find("day26").unwrap();
        let plan = |args| plan(&setting, &args, day26);
        assert_eq!(plan(RESUME).unwrap(), Plan::Measure);
        let error = plan(ADD).unwrap_err();
        assert!(kind_of(&error) == Kind::Usage && error.to_string().contains("is not there"), "{error}");

        let mut earlier = record(&setting);
        earlier.sources = "an earlier build".to_owned();
        earlier.seal();
        store::write(&path, &earlier).unwrap();
        assert_eq!((plan(RESUME).unwrap(), plan(ANEW).unwrap()), (Plan::Done, Plan::Measure));
        let error = plan(ADD).unwrap_err().to_string();
        assert!(error.contains("has the peer `cub_device_reduce`, which is not built here"), "{error}");
        store::write_text(&setting.root.join("target/peers/day26_sum"), "").unwrap();
        assert_eq!(plan(ADD).unwrap(), Plan::Measure);

        for (why, change) in [
            ("protocol", (|record| record.protocol = "other".to_owned()) as fn(&mut Record)),
            ("other machine code", |record| record.variants[0].kernels[0].machine_code = "other".to_owned()),
            ("not the pinned", |record| record.compiler.version = "13.0.0".to_owned()),
            ("and here is", |record| record.gpu.sms = 114),
            ("samples in some session", |record| record.figures[0].samples.truncate(2)),
        ] {
            let mut other = earlier.clone();
            change(&mut other);
            other.seal();
            store::write(&path, &other).unwrap();
            assert_eq!(plan(RESUME).unwrap(), Plan::Measure, "{why}");
            let error = plan(ADD).unwrap_err().to_string();
            assert!(error.contains(why), "{why}: {error}");
        }
        // Adding to an edited record would seal the edit.
        let mut edited = earlier.clone();
        edited.command = "typed by hand".to_owned();
        store::write(&path, &edited).unwrap();
        let error = plan(ADD).unwrap_err().to_string();
        assert!(error.contains("its digest does not match"), "{error}");
        // Half a record is refused before the work, not after it.
        store::write_text(&path, "schema: 1\nlab: day26").unwrap();
        for args in [RESUME, ANEW, ADD] {
            let error = plan(args).unwrap_err().to_string();
            assert!(error.contains("restore that file, or remove it"), "{error}");
        }
    }
}
