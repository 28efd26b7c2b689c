//! `labs records` and `labs list`: what the records are worth, without a GPU.

mod tables;

use std::path::{Path, PathBuf};

use anyhow::Result;
use labs_record::agreement::Subject;
use labs_record::claim::Claims;
use labs_record::figure::Figure;
use labs_record::manifest::Manifest;
use labs_record::record::Record;
use labs_record::rules::{self, Status};
use labs_record::signing::{self, Role, Standing};
use labs_record::{Evidence, claim_check, store, units};

use crate::cli::{RecordsCommand, RoleChoice};
use crate::failure::{failed, lacks, usage};
use crate::{code, lab, print};

/// Runs `labs records ..`.
///
/// # Errors
/// A record that is refused, a file that can't be read.
pub fn run(command: &RecordsCommand) -> Result<()> {
    match command {
        RecordsCommand::List => list(),
        RecordsCommand::Check { files } => check(files),
        RecordsCommand::Sign { file, signer, role, key } => sign(file, signer, *role, key),
        RecordsCommand::Diff { a, b } => diff(a, b),
    }
}

/// The labs, with their newest records.
pub fn labs() -> Result<()> {
    let root = code::root();
    let read = root.as_deref().map(all).transpose()?.unwrap_or_default();
    let mut records = Vec::new();
    for (path, record) in read {
        match record {
            Ok(record) => records.push((path, record)),
            Err(error) => anstream::eprintln!("left out: {error}"),
        }
    }
    let manifest = root.as_deref().and_then(|root| manifest(root).ok());
    let rows = lab::registry().iter().map(|lab| {
        let (day, idea) = lab::names(lab.stem());
        let newest =
            records.iter().filter(|(_, record)| record.lab == lab.stem()).max_by_key(|(_, r)| last_date(r));
        let record = newest.map_or("none".to_owned(), |(_, r)| {
            format!("{}, {}{}", r.gpu.name, day_of(&last_date(r)), reservation(r, manifest.as_ref()))
        });
        let chapter = format!("book/src/{}.md", lab.stem());
        vec![day.to_owned(), idea.to_owned(), lab.question().to_owned(), chapter, record]
    });
    anstream::println!(
        "{}",
        print::words(&["lab", "idea", "question", "chapter", "newest record"], &rows.collect::<Vec<_>>())
    );
    Ok(())
}

/// What must be said of a record that may not be published, in a word.
fn reservation(record: &Record, manifest: Option<&Manifest>) -> &'static str {
    let Some(manifest) = manifest else { return "" };
    match rules::status(record, manifest) {
        _ if !rules::faults(record, manifest).is_empty() => ", refused",
        Status::Verified => "",
        Status::Draft(_) => ", draft",
        Status::Stale(_) => ", stale",
    }
}

fn list() -> Result<()> {
    let root = code::root_for("labs records list")?;
    let manifest = manifest(&root)?;
    let rows = all(&root)?.into_iter().map(|(path, record)| {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let mut row = vec![labs_record::table::EMPTY.to_owned(); 4];
                row.extend([format!("refused: {error}"), shown(&root, &path)]);
                return row;
            }
        };
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
    let verification = root.join("verification");
    let paths = match files.is_empty() {
        true => [
            store::record_paths(&verification)?,
            store::agreement_paths(&verification)?,
            store::slices_paths(&verification)?,
        ]
        .concat(),
        false => files.to_vec(),
    };
    let mut refused = 0;
    let tables_refused = if files.is_empty() { tables::check(&root) } else { 0 };
    for path in &paths {
        let name = shown(&root, path);
        let found = match folder_of(path) {
            "agreement" => comparison(&root, path, &manifest),
            "slices" => slices(path, &manifest),
            _ => record(&root, path, &manifest)?,
        };
        let problems = match found {
            Err(error) if is_missing(&error) => return Err(unreadable(&error)),
            Err(error) => vec![error.to_string()],
            Ok(problems) => problems,
        };
        for problem in &problems {
            anstream::println!("{name}: refused: {problem}");
        }
        refused += usize::from(!problems.is_empty());
    }
    let what = told(&paths);
    if refused > 0 {
        return Err(failed(format!(
            "{refused} of {what} refused; restore them as they were measured, or measure anew with labs verify"
        )));
    }
    if tables_refused > 0 {
        return Err(failed(format!(
            "{tables_refused} tables refused; make them anew with scripts/native-or-cas"
        )));
    }
    anstream::println!("{what}, none refused");
    Ok(())
}

/// How many files of which kind.
fn told(paths: &[PathBuf]) -> String {
    let of = |folder: &str| paths.iter().filter(|path| folder_of(path) == folder).count();
    let (comparisons, slices) = (of("agreement"), of("slices"));
    let mut parts = vec![format!("{} records", paths.len() - comparisons - slices)];
    for (count, one, many) in
        [(comparisons, "comparison", "comparisons"), (slices, "file of slices", "files of slices")]
    {
        if count > 0 {
            parts.push(format!("{count} {}", if count == 1 { one } else { many }));
        }
    }
    let last = parts.pop().unwrap_or_default();
    if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) }
}

/// The name of a file's folder, which tells what is in it: a GPU's has records.
fn folder_of(path: &Path) -> &str {
    path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default()
}

/// What counters of slices are refused for.
fn slices(path: &Path, manifest: &Manifest) -> Result<Vec<String>, store::Error> {
    let counted = store::read_slices(path)?;
    let mut problems = counted.faults(manifest);
    let slug = counted.gpu.slug();
    if path.file_stem().is_none_or(|stem| stem != slug.as_str()) {
        problems
            .push(format!("it is of {} and belongs at verification/slices/{slug}.yaml", counted.gpu.name));
    }
    problems.extend(counted.stale(manifest).into_iter().map(|why| format!("stale: {why}")));
    Ok(problems)
}

/// What a record is refused for; says what it is worth if it is not.
fn record(root: &Path, path: &Path, manifest: &Manifest) -> Result<Result<Vec<String>, store::Error>> {
    let record = match store::read_record(path) {
        Ok(record) => record,
        Err(error) => return Ok(Err(error)),
    };
    let mut problems = problems(root, &record, manifest)?;
    problems.extend(misplaced(root, path, &record));
    if problems.is_empty() {
        anstream::println!("{}: {}", shown(root, path), rules::status(&record, manifest));
    }
    Ok(Ok(problems))
}

/// What a comparison of the simulator with a GPU is refused for. Predictions that are off are printed and refuse nothing.
fn comparison(root: &Path, path: &Path, manifest: &Manifest) -> Result<Vec<String>, store::Error> {
    let all = store::read_agreement(path)?;
    let mut problems = all.faults(manifest);
    let slug = all.gpu.slug();
    if path.file_stem().is_none_or(|stem| stem != slug.as_str()) {
        problems.push(format!("it is of {} and belongs at verification/agreement/{slug}.yaml", all.gpu.name));
    }
    for lab in &all.labs {
        let name = &lab.lab;
        problems.extend(lab.stale(&all.gpu, manifest).into_iter().map(|why| format!("stale: {name}: {why}")));
        for found in lab.disagreements() {
            match found.subject {
                Subject::Check | Subject::Result => problems.push(format!("{name}: {found}")),
                Subject::Counter | Subject::Launch => {
                    anstream::println!("{}: a prediction that is off: {name}: {found}", shown(root, path));
                }
            }
        }
    }
    Ok(problems)
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

/// A record under `verification/` that stands where another belongs.
fn misplaced(root: &Path, path: &Path, record: &Record) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let within = path.strip_prefix(root.join("verification")).ok()?;
    let (slug, file) = (record.gpu.slug(), format!("{}.yaml", record.lab));
    (within != Path::new(&slug).join(&file)).then(|| {
        let (lab, gpu) = (&record.lab, &record.gpu.name);
        format!("it is the record of `{lab}` on {gpu} and belongs at verification/{slug}/{file}")
    })
}

/// A file that is not there is a slip of the command line; one that is there and can't be read is a bad record.
fn is_missing(error: &store::Error) -> bool {
    matches!(error, store::Error::Io { cause, .. } if cause.kind() == std::io::ErrorKind::NotFound)
}

fn unreadable(error: &store::Error) -> anyhow::Error {
    match is_missing(error) {
        true => usage(format!("{error}; `labs records list` names the records there are")),
        false => failed(error.to_string()),
    }
}

fn sign(file: &Path, signer: &str, role: RoleChoice, key: &Path) -> Result<()> {
    let root = code::root_for("labs records sign")?;
    let record = store::read_record(file).map_err(|error| unreadable(&error))?;
    let role = match role {
        RoleChoice::Author => Role::Author,
        RoleChoice::Reviewer => Role::Reviewer,
    };
    let written = signing::sign(&root, &record, role, signer, key).map_err(failed)?;
    anstream::println!("{}: signed; commit {}", shown(&root, file), shown(&root, &written));
    match signing::standing(&root, &record) {
        Standing::Signed { author, reviewer } => anstream::println!("author {author}, reviewer {reviewer}"),
        Standing::Unsigned(why) => anstream::println!("still unsigned: {why}"),
    }
    Ok(())
}

fn diff(a: &Path, b: &Path) -> Result<()> {
    let read = |path: &Path| store::read_record(path).map_err(|error| unreadable(&error));
    let (one, other) = (read(a)?, read(b)?);
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

/// What the labs are and which machine code is theirs.
pub(crate) fn manifest(root: &Path) -> Result<Manifest> {
    let path = root.join("kernels/manifest.yaml");
    store::read(&path, "manifest").map_err(|error| lacks(format!("{error}; make it with scripts/kernels")))
}

/// Every record of a checkout, or why it can't be read.
pub(crate) fn all(root: &Path) -> Result<Vec<(PathBuf, Result<Record, store::Error>)>> {
    let verification = root.join("verification");
    if !verification.is_dir() {
        return Ok(Vec::new());
    }
    let paths = store::record_paths(&verification)?.into_iter();
    Ok(paths.map(|path| (path.clone(), store::read_record(&path))).collect())
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
