//! When a record's figures may be published: verified, draft or stale.

use std::fmt;

use crate::figure::{Figure, Kind, Samples};
use crate::manifest::{LabEntry, Manifest};
use crate::record::{Check, Outcome, Record, Sanitizer};

/// Sessions a verified record rests on, at least.
pub const SESSIONS: usize = 3;

/// Samples a session takes of a duration, at least.
pub const SAMPLES: usize = 10;

/// What a record is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It may be published.
    Verified,
    /// It is sound and does not fulfil the rules: what is missing.
    Draft(Vec<String>),
    /// The code or the protocol has changed since.
    Stale(Vec<String>),
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Verified => f.write_str("verified"),
            Status::Draft(why) => write!(f, "draft: {}", why.join("; ")),
            Status::Stale(why) => write!(f, "stale: {}", why.join("; ")),
        }
    }
}

/// What is wrong with a record in itself: it was edited, cut, or speaks of a lab that is not there.
/// Empty if nothing is.
pub fn faults(record: &Record, manifest: &Manifest) -> Vec<String> {
    let mut faults = Vec::new();
    if record.digest != record.compute_digest() {
        faults.push("its digest does not match its content: it was edited after it was measured".to_owned());
    }
    let Some(lab) = manifest.labs.get(&record.lab) else {
        let known: Vec<&str> = manifest.labs.keys().map(String::as_str).collect();
        faults.push(format!("there is no lab `{}`; there are {}", record.lab, known.join(", ")));
        return faults;
    };
    for figure in &record.figures {
        faults.extend(figure_faults(figure, lab, record.sessions()));
    }
    for variant in &record.variants {
        match lab.variants.iter().find(|entry| entry.name == variant.name) {
            None => faults.push(format!("the lab has no variant `{}`", variant.name)),
            Some(entry) if entry.declared != variant.declared => {
                faults.push(format!("variant `{}` is declared otherwise in its lab", variant.name));
            }
            Some(_) => {}
        }
    }
    faults
}

fn figure_faults(figure: &Figure, lab: &LabEntry, sessions: usize) -> Vec<String> {
    let name = figure.describe();
    let mut faults = Vec::new();
    match lab.figures.iter().find(|entry| entry.name == figure.name) {
        None => faults.push(format!("the lab makes no figure `{}`", figure.name)),
        Some(entry) if entry.unit != figure.unit => {
            faults.push(format!("`{name}` is in {}; the lab measures it in {}", figure.unit, entry.unit));
        }
        Some(entry) if entry.kind != figure.kind => {
            faults.push(format!("`{name}` is of another kind than its lab declares"));
        }
        Some(entry) if entry.derived.is_some() => {
            faults.push(format!("`{name}` is computed from another figure and has no place in a record"));
        }
        Some(_) => {}
    }
    let recomputed = figure.summary().map(|summary| summary.median);
    if figure.median != recomputed {
        faults.push(format!(
            "`{name}`: its median reads {}, its samples give {}",
            figure.median.map_or("nothing".to_owned(), |m| m.to_string()),
            recomputed.map_or("nothing".to_owned(), |m| m.to_string()),
        ));
    }
    if figure.samples.len() > sessions {
        faults.push(format!(
            "`{name}` has samples of {} sessions, the record has {sessions}",
            figure.samples.len()
        ));
    }
    for aside in &figure.set_aside {
        if aside.session >= sessions {
            faults.push(format!(
                "`{name}` has samples set aside in session {}, the record's are 0 to {}",
                aside.session,
                sessions.saturating_sub(1)
            ));
        }
        if aside.reason.trim().is_empty() {
            faults.push(format!("`{name}` has samples set aside without a reason"));
        }
    }
    if figure.kind == Kind::Exact {
        let values: Vec<f64> = figure.samples.iter().flat_map(numbers).copied().collect();
        if values.windows(2).any(|pair| pair[0] != pair[1]) {
            faults.push(format!("`{name}` is exact, and its samples differ"));
        }
    }
    let observation = figure.kind == Kind::Observation;
    if figure.samples.iter().any(|samples| matches!(samples, Samples::Tries { .. }) != observation) {
        faults.push(format!("`{name}`: its samples are not those of its kind"));
    }
    faults
}

fn numbers(samples: &Samples) -> &[f64] {
    match samples {
        Samples::Numbers(numbers) => numbers,
        Samples::Tries { .. } => &[],
    }
}

/// Whether a record without [`faults`] may be published.
pub fn status(record: &Record, manifest: &Manifest) -> Status {
    let stale = staleness(record, manifest);
    if !stale.is_empty() {
        return Status::Stale(stale);
    }
    let missing = shortcomings(record, manifest);
    if missing.is_empty() { Status::Verified } else { Status::Draft(missing) }
}

fn staleness(record: &Record, manifest: &Manifest) -> Vec<String> {
    let mut stale = Vec::new();
    if manifest.labs.get(&record.lab).is_none_or(|lab| lab.protocol != record.protocol) {
        stale.push("the lab now measures by another protocol".to_owned());
    }
    let architecture = format!("sm_{}", record.gpu.compute_capability.replace('.', ""));
    let known = manifest.code.get(&record.lab).and_then(|code| code.get(&architecture));
    for kernel in record.variants.iter().flat_map(|variant| &variant.kernels) {
        // An architecture the manifest does not list is the maintainer's own: nothing to compare with.
        let Some(known) = known else { continue };
        if known.get(&kernel.name) != Some(&kernel.machine_code) {
            stale.push(format!("kernel `{}` now has other machine code", kernel.name));
        }
    }
    stale
}

fn shortcomings(record: &Record, manifest: &Manifest) -> Vec<String> {
    let mut missing = Vec::new();
    let sessions = record.sessions();
    if sessions < SESSIONS {
        missing.push(format!("{sessions} sessions of {SESSIONS}"));
    }
    if record.compiler != manifest.compiler {
        missing.push(format!(
            "compiled by {} {}, not the pinned {} {} with its options",
            record.compiler.name, record.compiler.version, manifest.compiler.name, manifest.compiler.version
        ));
    }
    let absent = |name: &str| record.absent.iter().any(|absent| absent.what == name);
    if let Some(lab) = manifest.labs.get(&record.lab) {
        for entry in &lab.variants {
            if record.variant(&entry.name).is_none() && !absent(&entry.name) {
                missing.push(format!("variant `{}` is missing without a reason", entry.name));
            }
        }
        for entry in lab.figures.iter().filter(|entry| !entry.optional && entry.derived.is_none()) {
            if !record.figures.iter().any(|figure| figure.name == entry.name) && !absent(&entry.name) {
                missing.push(format!("figure `{}` is missing without a reason", entry.name));
            }
        }
    }
    for variant in &record.variants {
        let name = &variant.name;
        match (variant.declared, variant.check) {
            (Outcome::Correct, Check::Refused) => missing.push(format!("`{name}` gave a wrong result")),
            (Outcome::Wrong, Check::Passed) => {
                missing.push(format!("`{name}` is wrong on purpose and was not caught"))
            }
            _ => {}
        }
        if let Sanitizer::Found(what) = &variant.sanitizer
            && variant.declared == Outcome::Correct
        {
            missing.push(format!("compute-sanitizer on `{name}`: {what}"));
        }
        if variant.kernels.is_empty() {
            missing.push(format!("`{name}` has no machine code on record"));
        }
    }
    for figure in &record.figures {
        missing.extend(too_few_samples(figure, sessions));
    }
    missing
}

fn too_few_samples(figure: &Figure, sessions: usize) -> Option<String> {
    let full = figure.samples.len() == sessions
        && figure.samples.iter().all(|samples| match samples {
            Samples::Numbers(numbers) if figure.kind == Kind::Duration => numbers.len() >= SAMPLES,
            Samples::Numbers(numbers) => !numbers.is_empty(),
            Samples::Tries { .. } => true,
        });
    let why =
        figure.set_aside.first().map(|aside| format!(" ({} were set aside: {})", aside.count, aside.reason));
    let why = why.unwrap_or_default();
    (!full).then(|| format!("`{}` lacks samples in some session{why}", figure.describe()))
}
