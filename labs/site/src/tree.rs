//! What the site is built from: the manifest, the records, the claims, the published figures and the kernels
//! of one checkout, read once and checked.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use labs_record::agreement::Agreement;
use labs_record::cells::{Cells, Prices, SourceTable};
use labs_record::claim::Claims;
use labs_record::figure::Figure;
use labs_record::manifest::Manifest;
use labs_record::published::Published;
use labs_record::record::Record;
use labs_record::rules::{Status, faults, status};
use labs_record::slices::Slices;
use labs_record::sources::Sources;
use labs_record::{Evidence, SCHEMA, claim_check, store};

/// A checkout, read.
#[derive(Debug)]
pub struct Tree {
    /// The folder that holds `book`, `kernels` and `verification`.
    pub root: PathBuf,
    /// What the labs are.
    pub manifest: Manifest,
    /// All records, by path.
    pub records: Vec<FiledRecord>,
    /// Claims by the lab's stem.
    pub claims: BTreeMap<String, Claims>,
    /// Figures of others with the GPU's slug.
    pub published: Vec<(String, Published)>,
    /// The simulator held against GPUs.
    pub agreements: Vec<FiledAgreement>,
    /// What the documents behind the course claim.
    pub sources: Option<Sources>,
    /// What compilers make of atomic operations ..
    pub cells: Option<Cells>,
    /// .. what that costs ..
    pub cell_prices: Option<Prices>,
    /// .. and what a document says of it.
    pub cell_source: Option<SourceTable>,
    /// What GPUs' own counters say of their slices.
    pub slices: Vec<FiledSlices>,
}

/// Counters of a GPU's slices, and where they lie.
#[derive(Debug)]
pub struct FiledSlices {
    /// From the root, with slashes: `verification/slices/nvidia-h200.yaml`.
    pub path: String,
    /// The GPU's slug.
    pub slug: String,
    /// What was read.
    pub slices: Slices,
}

/// A comparison of the simulator with a GPU, and where it lies.
#[derive(Debug)]
pub struct FiledAgreement {
    /// From the root, with slashes: `verification/agreement/nvidia-h200.yaml`.
    pub path: String,
    /// The GPU's slug.
    pub slug: String,
    /// What was read.
    pub agreement: Agreement,
}

/// A record and where it lies.
#[derive(Debug)]
pub struct FiledRecord {
    /// From the root, with slashes: `verification/nvidia-h200/day26_sum.yaml`.
    pub path: String,
    /// The GPU's slug.
    pub slug: String,
    /// What was read.
    pub record: Record,
    /// Its figures and those derived from them.
    pub figures: Vec<Figure>,
    /// What it is worth.
    pub status: Status,
}

impl FiledRecord {
    /// What claims are judged on.
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence { gpu: &self.record.gpu, figures: &self.figures, absent: &self.record.absent }
    }

    /// The days of its sittings, `2026-11-30`, in order.
    pub fn dates(&self) -> Vec<&str> {
        let day = |started: &'_ str| started.split('T').next().map(str::len).unwrap_or_default();
        let mut dates: Vec<&str> =
            self.record.sittings.iter().map(|sitting| &sitting.started[..day(&sitting.started)]).collect();
        dates.sort_unstable();
        dates.dedup();
        dates
    }
}

/// The nearest folder from `start` upwards that holds a book and its kernels.
///
/// # Errors
/// There is none.
pub fn find_root(start: &Path) -> Result<PathBuf> {
    let is_root = |folder: &&Path| folder.join("book/book.toml").is_file() && folder.join("kernels").is_dir();
    match start.ancestors().find(is_root) {
        Some(root) => Ok(root.to_owned()),
        None => bail!(
            "neither `{}` nor a folder above it holds book/book.toml and kernels/; run `site` inside the checkout",
            start.display()
        ),
    }
}

impl Tree {
    /// Reads everything and refuses what is broken: a file that is cut, edited, misplaced or of another schema.
    ///
    /// # Errors
    /// The first unreadable file; else every fault of every record.
    pub fn load(root: &Path) -> Result<Tree> {
        let path = root.join("kernels/manifest.yaml");
        let manifest: Manifest = store::read(&path, "manifest").context("make it with `scripts/kernels`")?;
        if manifest.schema != SCHEMA {
            bail!(
                "`{}` is of schema {}, this program reads {SCHEMA}: run `scripts/kernels`",
                path.display(),
                manifest.schema
            );
        }
        let verification = root.join("verification");
        let mut records = Vec::new();
        if verification.is_dir() {
            for path in store::record_paths(&verification)? {
                records.push(read_record(root, &path, &manifest)?);
            }
        }
        let claims = read_claims(&verification, &manifest)?;
        let published = read_published(&verification)?;
        let agreements = read_agreements(root, &verification, &manifest)?;
        let sources: Option<Sources> = optional(&verification.join("sources.yaml"), "list of sources")?;
        refuse("sources.yaml", sources.as_ref().map(|sources| sources.faults(&claims)))?;
        let cells: Option<Cells> = optional(&verification.join("native_or_cas.yaml"), "table of operations")?;
        refuse("native_or_cas.yaml", cells.as_ref().map(Cells::faults))?;
        let cell_prices: Option<Prices> =
            optional(&verification.join("native_or_cas_prices.yaml"), "list of prices")?;
        refuse("native_or_cas_prices.yaml", cell_prices.as_ref().map(Prices::faults))?;
        let cell_source: Option<SourceTable> =
            optional(&verification.join("native_or_cas_source.yaml"), "document's table")?;
        let pair = cells.as_ref().zip(cell_source.as_ref());
        refuse("native_or_cas_source.yaml", pair.map(|(cells, source)| source.faults(cells)))?;
        let slices = read_slices(root, &verification, &manifest)?;
        let root = root.to_owned();
        Ok(Tree {
            root,
            manifest,
            records,
            claims,
            published,
            agreements,
            sources,
            cells,
            cell_prices,
            cell_source,
            slices,
        })
    }

    /// The record of a lab on a GPU.
    pub fn record(&self, lab: &str, gpu: &str) -> Option<&FiledRecord> {
        self.records.iter().find(|filed| filed.record.lab == lab && filed.slug == gpu)
    }

    /// What is published of a lab on a GPU.
    ///
    /// # Errors
    /// Nothing is.
    pub fn published_figures(&self, lab: &str, gpu: &str) -> Result<&Published, String> {
        let found = self.published.iter().find(|(slug, found)| slug == gpu && found.lab == lab);
        found.map(|(_, found)| found).ok_or_else(|| {
            let there: Vec<String> =
                self.published.iter().map(|(slug, found)| format!("{slug}/{}", found.lab)).collect();
            format!("nothing is published for {gpu}/{lab}; there are: {}", there.join(", "))
        })
    }

    /// The comparison of the simulator with a GPU.
    pub fn agreement(&self, gpu: &str) -> Option<&FiledAgreement> {
        self.agreements.iter().find(|filed| filed.slug == gpu)
    }

    /// The counters of a GPU's slices.
    pub fn slices(&self, gpu: &str) -> Option<&FiledSlices> {
        self.slices.iter().find(|filed| filed.slug == gpu)
    }

    /// The newest record of a lab, by the start of its last sitting.
    pub fn newest(&self, lab: &str) -> Option<&FiledRecord> {
        let last = |filed: &&FiledRecord| {
            filed.record.sittings.iter().map(|sitting| sitting.started.clone()).max().unwrap_or_default()
        };
        self.records.iter().filter(|filed| filed.record.lab == lab).max_by_key(last)
    }

    /// The GPUs whose records may all be shown, by slug and name.
    pub fn gpus(&self, draft: bool) -> BTreeMap<String, String> {
        let shown = self.records.iter().filter(|filed| draft || self.unpublishable(&filed.slug).is_empty());
        shown.map(|filed| (filed.slug.clone(), filed.record.gpu.name.clone())).collect()
    }

    /// What must not be published of this GPU: for each record or law, which, why, and what to do.
    pub fn unpublishable(&self, gpu: &str) -> Vec<String> {
        let mut refused = self.unverified(gpu);
        refused.extend(self.broken_laws(gpu));
        refused
    }

    /// Laws that fail: an error in the record or in the law, whichever it is.
    fn broken_laws(&self, gpu: &str) -> Vec<String> {
        let of_gpu = self.records.iter().filter(|filed| filed.slug == gpu);
        let broken = of_gpu.flat_map(|filed| {
            let claims = self.claims.get(&filed.record.lab);
            let laws = claims.map(|claims| claim_check::broken_laws(claims, &filed.evidence()));
            laws.into_iter().flatten().map(|law| format!("{}: {law}", filed.path))
        });
        broken.collect()
    }

    fn unverified(&self, gpu: &str) -> Vec<String> {
        let of_gpu = self.records.iter().filter(|filed| filed.slug == gpu);
        of_gpu
            .filter(|filed| filed.status != Status::Verified)
            .map(|filed| {
                let word = match filed.status {
                    Status::Stale(_) => "measure it anew",
                    _ => "complete it",
                };
                format!(
                    "`{}` is {}; {word} on that GPU with `cargo labs verify {}`, or build with `--draft`, which marks its figures",
                    filed.path, filed.status, filed.record.lab,
                )
            })
            .collect()
    }

    /// The text of a lab's kernel file.
    ///
    /// # Errors
    /// It can't be read.
    pub fn kernel(&self, lab: &str) -> Result<String> {
        let path = self.root.join("kernels").join(format!("{lab}.cu"));
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
    }

    /// Whether a lab's chapter makes a claim by name, so that the page has a place for it.
    pub fn makes(&self, lab: &str, claim: &str) -> bool {
        let text =
            fs::read_to_string(self.root.join("book/src").join(format!("{lab}.md"))).unwrap_or_default();
        text.contains(&format!("claim(id=\"{claim}\")"))
    }

    /// The chapter of a lab and its title, if it is written.
    pub fn chapter(&self, lab: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join("book/src").join(format!("{lab}.md"))).ok()?;
        let title = text.lines().find_map(|line| line.strip_prefix("# "))?;
        Some(title.trim().to_owned())
    }
}

/// A file that may not be there yet.
fn optional<T: store::Stored>(path: &Path, what: &'static str) -> Result<Option<T>> {
    match path.is_file() {
        true => Ok(Some(store::read(path, what)?)),
        false => Ok(None),
    }
}

fn refuse(file: &str, faults: Option<Vec<String>>) -> Result<()> {
    let faults = faults.unwrap_or_default();
    if !faults.is_empty() {
        bail!("`verification/{file}` can't be used: {}", faults.join("; "));
    }
    Ok(())
}

fn read_record(root: &Path, path: &Path, manifest: &Manifest) -> Result<FiledRecord> {
    let record = store::read_record(path)?;
    let shown = relative(root, path);
    let mut faults = faults(&record, manifest);
    let place = format!("verification/{}/{}.yaml", record.gpu.slug(), record.lab);
    if place != shown {
        faults.push(format!(
            "it is the record of `{}` on {} and belongs at `{place}`",
            record.lab, record.gpu.name
        ));
    }
    if !faults.is_empty() {
        bail!("`{shown}` can't be used: {}; restore the file as it was measured", faults.join("; "));
    }
    let figures =
        manifest.labs.get(&record.lab).map_or_else(Vec::new, |lab| lab.with_derived(&record.figures));
    let status = status(&record, manifest);
    Ok(FiledRecord { path: shown, slug: record.gpu.slug(), figures, status, record })
}

fn read_agreements(root: &Path, verification: &Path, manifest: &Manifest) -> Result<Vec<FiledAgreement>> {
    let mut all = Vec::new();
    for path in store::agreement_paths(verification)? {
        let agreement = store::read_agreement(&path)?;
        let (shown, slug) = (relative(root, &path), agreement.gpu.slug());
        let mut faults = agreement.faults(manifest);
        let place = format!("verification/agreement/{slug}.yaml");
        if place != shown {
            faults.push(format!("it is of {} and belongs at `{place}`", agreement.gpu.name));
        }
        if !faults.is_empty() {
            bail!("`{shown}` can't be used: {}; restore the file as it was made", faults.join("; "));
        }
        all.push(FiledAgreement { path: shown, slug, agreement });
    }
    Ok(all)
}

fn read_slices(root: &Path, verification: &Path, manifest: &Manifest) -> Result<Vec<FiledSlices>> {
    let mut all = Vec::new();
    for path in store::slices_paths(verification)? {
        let slices = store::read_slices(&path)?;
        let (shown, slug) = (relative(root, &path), slices.gpu.slug());
        let mut faults = slices.faults(manifest);
        let place = format!("verification/slices/{slug}.yaml");
        if place != shown {
            faults.push(format!("it is of {} and belongs at `{place}`", slices.gpu.name));
        }
        if !faults.is_empty() {
            bail!("`{shown}` can't be used: {}; restore the file as it was made", faults.join("; "));
        }
        all.push(FiledSlices { path: shown, slug, slices });
    }
    Ok(all)
}

fn read_claims(verification: &Path, manifest: &Manifest) -> Result<BTreeMap<String, Claims>> {
    let mut all = BTreeMap::new();
    for path in store::yaml_files(&verification.join("claims"))? {
        let claims: Claims = store::read(&path, "claims file")?;
        same_stem(&path, &claims.lab)?;
        let lab = manifest.labs.get(&claims.lab);
        let faults = lab.map_or_else(Vec::new, |lab| claim_check::faults(&claims, lab));
        if !faults.is_empty() {
            bail!("`{}` can't be used: {}", path.display(), faults.join("; "));
        }
        all.insert(claims.lab.clone(), claims);
    }
    Ok(all)
}

fn read_published(verification: &Path) -> Result<Vec<(String, Published)>> {
    let mut all = Vec::new();
    let folder = verification.join("published");
    if !folder.is_dir() {
        return Ok(all);
    }
    for path in store::record_paths(&folder)? {
        let published: Published = store::read(&path, "file of published figures")?;
        same_stem(&path, &published.lab)?;
        let slug = published.gpu.slug();
        if path.parent().and_then(Path::file_name).is_none_or(|name| name != slug.as_str()) {
            bail!(
                "`{}` speaks of {} and belongs into the folder `{slug}`",
                path.display(),
                published.gpu.name
            );
        }
        all.push((slug, published));
    }
    Ok(all)
}

fn same_stem(path: &Path, lab: &str) -> Result<()> {
    if path.file_stem().is_none_or(|stem| stem != lab) {
        bail!("`{}` names the lab `{lab}`, its file another", path.display());
    }
    Ok(())
}

/// A path from the root on, with slashes on every system.
pub fn relative(root: &Path, path: &Path) -> String {
    let parts: Vec<String> = path
        .strip_prefix(root)
        .unwrap_or(path)
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    parts.join("/")
}
