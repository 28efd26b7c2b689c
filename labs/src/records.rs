//! `labs records` and `labs list`: what the records are worth, without a GPU.

use std::path::{Path, PathBuf};

use anyhow::Result;
use labs_record::claim::Claims;
use labs_record::figure::Figure;
use labs_record::manifest::Manifest;
use labs_record::record::Record;
use labs_record::rules::{self, Status};
use labs_record::{Evidence, claim_check, store, units};

use crate::cli::RecordsCommand;
use crate::failure::{failed, usage};
use crate::{code, lab, print};

/// Runs `labs records ..`.
///
/// # Errors
/// A record that is refused, a file that can't be read.
pub fn run(command: &RecordsCommand) -> Result<()> {
    match command {
        RecordsCommand::List => list(),
        RecordsCommand::Check { files } => check(files),
        RecordsCommand::Diff { a, b } => diff(a, b),
    }
}

/// The labs, with their newest records.
pub fn labs() -> Result<()> {
    let root = code::root();
    let records = root.as_deref().map(all).transpose()?.unwrap_or_default();
    let rows = lab::registry().iter().map(|lab| {
        let (day, idea) = lab::names(lab.stem());
        let newest =
            records.iter().filter(|(_, record)| record.lab == lab.stem()).max_by_key(|(_, r)| last_date(r));
        let record =
            newest.map_or("none".to_owned(), |(_, r)| format!("{}, {}", r.gpu.name, day_of(&last_date(r))));
        let chapter = format!("book/src/{}.md", lab.stem());
        vec![day.to_owned(), idea.to_owned(), lab.question().to_owned(), chapter, record]
    });
    anstream::println!(
        "{}",
        print::words(&["lab", "idea", "question", "chapter", "newest record"], &rows.collect::<Vec<_>>())
    );
    Ok(())
}

fn list() -> Result<()> {
    let root = code::root_for("labs records list")?;
    let manifest = manifest(&root)?;
    let rows = all(&root)?.into_iter().map(|(path, record)| {
        let faults = rules::faults(&record, &manifest);
        let status = match faults.first() {
            Some(fault) => format!("refused: {fault}"),
            None => rules::status(&record, &manifest).to_string(),
        };
        let sittings = format!("{} ({} sessions)", record.sittings.len(), record.sessions());
        vec![
            record.gpu.name.clone(),
            record.lab.clone(),
            day_of(&last_date(&record)),
            sittings,
            status,
            shown(&root, &path),
        ]
    });
    anstream::println!(
        "{}",
        print::words(&["GPU", "lab", "date", "sittings", "status", "file"], &rows.collect::<Vec<_>>())
    );
    Ok(())
}

fn check(files: &[PathBuf]) -> Result<()> {
    let root = code::root_for("labs records check")?;
    let manifest = manifest(&root)?;
    let paths =
        if files.is_empty() { store::record_paths(&root.join("verification"))? } else { files.to_vec() };
    let mut refused = 0;
    for path in &paths {
        let problems = match store::read_record(path) {
            Err(error) => vec![error.to_string()],
            Ok(record) => problems(&root, &record, &manifest)?,
        };
        for problem in &problems {
            anstream::println!("{}: {problem}", shown(&root, path));
        }
        refused += usize::from(!problems.is_empty());
    }
    if refused > 0 {
        return Err(failed(format!(
            "{refused} of {} records refused; measure them anew with labs verify",
            paths.len()
        )));
    }
    anstream::println!("{} records, none refused", paths.len());
    Ok(())
}

/// What is wrong with a record: faults, what makes it stale, its lab's claims, laws that fail on it.
fn problems(root: &Path, record: &Record, manifest: &Manifest) -> Result<Vec<String>> {
    let mut problems = rules::faults(record, manifest);
    if let Status::Stale(why) = rules::status(record, manifest) {
        problems.extend(why.into_iter().map(|why| format!("stale: {why}")));
    }
    let path = root.join(format!("verification/claims/{}.yaml", record.lab));
    if let (true, Some(entry)) = (path.is_file(), manifest.labs.get(&record.lab)) {
        let claims: Claims = store::read(&path, "claims file")?;
        let figures = entry.with_derived(&record.figures);
        let evidence = Evidence { gpu: &record.gpu, figures: &figures, absent: &record.absent };
        problems.extend(claim_check::faults(&claims, entry));
        problems.extend(claim_check::broken_laws(&claims, &evidence));
    }
    Ok(problems)
}

fn diff(a: &Path, b: &Path) -> Result<()> {
    let (one, other) = (store::read_record(a)?, store::read_record(b)?);
    if one.lab != other.lab {
        return Err(usage(format!(
            "`{}` is of {}, `{}` of {}; compare records of one lab",
            a.display(),
            one.lab,
            b.display(),
            other.lab
        )));
    }
    let same = |figure: &&Figure, wanted: &Figure| {
        figure.name == wanted.name && figure.variant == wanted.variant && figure.at == wanted.at
    };
    let mut rows = Vec::new();
    for figure in &one.figures {
        let counterpart = other.figures.iter().find(|candidate| same(candidate, figure));
        let cell = |figure: Option<&Figure>| {
            figure.map_or(labs_record::table::EMPTY.to_owned(), labs_record::table::cell)
        };
        let medians = (figure.median, counterpart.and_then(|figure| figure.median));
        let ratio = match medians {
            (Some(a), Some(b)) if a != 0.0 => units::times(b / a).unwrap_or_default(),
            _ => String::new(),
        };
        rows.push(vec![figure.describe(), cell(Some(figure)), cell(counterpart), ratio]);
    }
    for figure in other.figures.iter().filter(|figure| !one.figures.iter().any(|known| same(&known, figure)))
    {
        rows.push(vec![
            figure.describe(),
            labs_record::table::EMPTY.to_owned(),
            labs_record::table::cell(figure),
            String::new(),
        ]);
    }
    let heads = [
        one.gpu.name.clone() + ", " + &day_of(&last_date(&one)),
        other.gpu.name.clone() + ", " + &day_of(&last_date(&other)),
    ];
    anstream::println!("{}", print::words(&["figure", &heads[0], &heads[1], "second over first"], &rows));
    Ok(())
}

fn manifest(root: &Path) -> Result<Manifest> {
    Ok(store::read(&root.join("kernels/manifest.yaml"), "manifest")?)
}

fn all(root: &Path) -> Result<Vec<(PathBuf, Record)>> {
    let mut records = Vec::new();
    for path in store::record_paths(&root.join("verification"))? {
        let record = store::read_record(&path)?;
        records.push((path, record));
    }
    Ok(records)
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn last_date(record: &Record) -> String {
    record.sittings.last().map(|sitting| sitting.started.clone()).unwrap_or_default()
}

fn day_of(date: &str) -> String {
    date.split('T').next().unwrap_or_default().to_owned()
}
