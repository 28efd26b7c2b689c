//! Driving mdBook. It reports trouble as warnings and goes on; here every one of them fails the build.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use mdbook_driver::MDBook;
use mdbook_driver::config::Config;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;

use crate::editions;
use crate::links;
use crate::preprocessor::{Labs, edition};
use crate::tree::Tree;

/// What to build otherwise than book.toml says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Another GPU's slug.
    pub gpu: Option<String>,
    /// Show unverified figures, marked.
    pub draft: bool,
}

/// A built book.
#[derive(Debug)]
pub struct Built {
    /// Where its pages are.
    pub folder: PathBuf,
    /// Whose numbers they show.
    pub gpu: String,
    /// How many records of that GPU there are.
    pub records: usize,
}

/// Folder of the records' copies within the built book.
const RECORDS: &str = "records";

/// Builds the book of a checkout. The old one stays until the new one is whole.
///
/// # Errors
/// Anything that mdBook warns of, a template's error, a lint, a record that may not be published, a broken link.
pub fn build(root: &Path, options: &Options) -> Result<Built> {
    let folder = root.join("book");
    let config = configured(&folder, options)?;
    let target = Target::of(&folder, &config);
    target.clear()?;
    let made = make(root, config, &target);
    if made.is_err() {
        // The first error is the one to report.
        let _ = target.clear();
    }
    let copied = made?;
    target.replace()?;
    let gpu = copied.gpu;
    let records = copied.slugs.iter().filter(|slug| **slug == gpu).count();
    Ok(Built { folder: target.old, gpu, records })
}

/// What a new book was made with.
struct Made {
    gpu: String,
    slugs: Vec<String>,
}

/// Makes the new book, whole and checked: the chosen GPU's edition, and one for each other GPU with a record.
fn make(root: &Path, mut config: Config, target: &Target) -> Result<Made> {
    let chosen = edition(&config)?;
    let tree = Tree::load(root)?;
    let others = editions::others(&tree.gpus(chosen.draft), &chosen.gpu);
    config.set("preprocessor.labs.reference", &chosen.gpu)?;
    set_edition(root, config.clone(), &target.new)?;
    for slug in &others {
        config.set("preprocessor.labs.gpu", slug)?;
        config.set("preprocessor.labs.records", format!("../../{RECORDS}"))?;
        set_edition(root, config.clone(), &target.new.join(editions::FOLDER).join(slug))?;
    }
    let slugs = copy_records(&tree, &target.new)?;
    let broken = links::check(&target.new)?;
    if !broken.is_empty() {
        bail!("{}", broken.join("\n"));
    }
    Ok(Made { gpu: chosen.gpu, slugs })
}

/// Makes one edition in a folder.
fn set_edition(root: &Path, mut config: Config, folder: &Path) -> Result<()> {
    let heard = Heard::default();
    let subscriber = tracing_subscriber::registry().with(heard.clone());
    config.build.build_dir = folder.to_owned();
    tracing::subscriber::with_default(subscriber, || -> Result<()> {
        // mdBook reports an unknown key here, and goes on with its defaults.
        config.html_config();
        let mut book = MDBook::load_with_config(root.join("book"), config)?;
        book.with_preprocessor(Labs);
        book.build()
    })
    .map_err(|error| heard.explain(error))?;
    heard.silence()
}

/// The built book's folder, and the one beside it in which the next is made.
struct Target {
    old: PathBuf,
    new: PathBuf,
}

impl Target {
    fn of(folder: &Path, config: &Config) -> Target {
        let old = folder.join(&config.build.build_dir);
        let name = old.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Target { new: old.with_file_name(format!(".{name}-new")), old }
    }

    fn clear(&self) -> Result<()> {
        match self.new.exists() {
            true => fs::remove_dir_all(&self.new)
                .with_context(|| format!("cannot clear `{}`", self.new.display())),
            false => Ok(()),
        }
    }

    fn replace(&self) -> Result<()> {
        let context = || format!("cannot replace `{}`", self.old.display());
        if self.old.exists() {
            fs::remove_dir_all(&self.old).with_context(context)?;
        }
        fs::rename(&self.new, &self.old).with_context(context)
    }
}

/// The book's settings with the options in their place.
fn configured(folder: &Path, options: &Options) -> Result<Config> {
    let path = folder.join("book.toml");
    let mut config = Config::from_disk(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    if let Some(gpu) = &options.gpu {
        config.set("preprocessor.labs.gpu", gpu)?;
    }
    config.set("preprocessor.labs.draft", options.draft)?;
    config.set("preprocessor.labs.records", RECORDS)?;
    // A chapter named in SUMMARY.md that does not exist is an error, not a file to make.
    config.build.create_missing = false;
    Ok(config)
}

/// Copies every record, every comparison of the simulator with a GPU and every GPU's counters beside the pages; gives the
/// records' GPUs.
fn copy_records(tree: &Tree, built: &Path) -> Result<Vec<String>> {
    let records = tree.records.iter().map(|filed| &filed.path);
    let agreements = tree.agreements.iter().map(|filed| &filed.path);
    let slices = tree.slices.iter().map(|filed| &filed.path);
    for path in records.chain(agreements).chain(slices) {
        let from = tree.root.join(path);
        let to = built.join(RECORDS).join(path.trim_start_matches("verification/"));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        fs::copy(&from, &to).with_context(|| format!("cannot copy `{}`", from.display()))?;
    }
    Ok(tree.records.iter().map(|filed| filed.slug.clone()).collect())
}

/// Collects what is reported at level warning and above.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An error if anything was heard.
    fn silence(&self) -> Result<()> {
        let heard = self.all();
        if !heard.is_empty() {
            bail!("mdBook: {}", heard.join("\nmdBook: "));
        }
        Ok(())
    }

    /// The error, after what was reported before it.
    fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let text = format!("{error:#}");
        let heard: Vec<String> =
            self.all().into_iter().filter(|said| !text.contains(said.as_str())).collect();
        match heard.is_empty() {
            true => error,
            false => anyhow::anyhow!("{text}\nmdBook: {}", heard.join("\nmdBook: ")),
        }
    }
}

impl<S: Subscriber> Layer<S> for Heard {
    fn on_event(&self, event: &Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        let grave = *event.metadata().level() <= Level::WARN;
        if grave {
            let mut message = Message::default();
            event.record(&mut message);
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message.0);
        }
    }
}

#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            // Writing to a string does not fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}
