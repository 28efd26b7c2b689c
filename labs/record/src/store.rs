//! Reading and writing the files under `verification/`. A file is written whole or not at all.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::agreement::Agreement;
use crate::cells::{Cells, Prices, SourceTable};
use crate::claim::Claims;
use crate::manifest::Manifest;
use crate::published::Published;
use crate::record::{Record, SCHEMA};
use crate::signing::Signatures;
use crate::slices::Slices;
use crate::sources::Sources;

/// What can go wrong with a file of records.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It can't be read or written.
    #[error("cannot {action} `{}`: {}", path.display(), why(cause))]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// It is not what it should be.
    #[error("`{}` is not a valid {what}: {cause}", path.display())]
    Malformed {
        /// `record`, `claims file`.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// Where and why.
        cause: String,
    },
}

/// The commonest cause reads the same on every system.
fn why(cause: &std::io::Error) -> String {
    match cause.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => cause.to_string(),
    }
}

/// What stands in a file of its own. Going from and to text is compiled here, once, and not in every program at its level
/// of optimisation: it would be an eighth of the crate `labs`.
pub trait Stored: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// The text is not YAML, or says something else.
    fn from_yaml(text: &str) -> Result<Self, serde_yaml::Error>;

    /// Writes it.
    ///
    /// # Errors
    /// It holds what YAML has no word for.
    fn to_yaml(&self) -> Result<String, serde_yaml::Error>;
}

macro_rules! stored {
    ($($kind:ty),+) => {
        $(impl Stored for $kind {
            fn from_yaml(text: &str) -> Result<Self, serde_yaml::Error> {
                serde_yaml::from_str(text)
            }

            fn to_yaml(&self) -> Result<String, serde_yaml::Error> {
                serde_yaml::to_string(self)
            }
        })+
    };
}

stored!(
    Agreement,
    Cells,
    Claims,
    Manifest,
    Prices,
    Published,
    Record,
    Signatures,
    Slices,
    SourceTable,
    Sources
);

/// Reads a YAML file into a type; `what` names the kind of file in errors.
pub fn read<T: Stored>(path: &Path, what: &'static str) -> Result<T, Error> {
    T::from_yaml(&text(path)?).map_err(|cause| malformed(what, path, cause))
}

fn text(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|cause| Error::Io { action: "read", path: path.into(), cause })
}

fn malformed(what: &'static str, path: &Path, cause: impl fmt::Display) -> Error {
    Error::Malformed { what, path: path.into(), cause: cause.to_string() }
}

/// Reads a value from YAML text that stands in no file.
pub fn parse<T: Stored>(text: &str, what: &'static str) -> Result<T, Error> {
    T::from_yaml(text).map_err(|cause| malformed(what, Path::new("<text>"), cause))
}

/// Reads a record. One of another schema is refused by that reason, before any other.
pub fn read_record(path: &Path) -> Result<Record, Error> {
    read_versioned(path, "record")
}

/// Reads what was compared on a GPU, as [`read_record`] reads a record.
pub fn read_agreement(path: &Path) -> Result<Agreement, Error> {
    read_versioned(path, "agreement file")
}

/// Reads what was counted of a GPU's slices, as [`read_record`] reads a record.
pub fn read_slices(path: &Path) -> Result<Slices, Error> {
    read_versioned(path, "file of slices")
}

fn read_versioned<T: Stored>(path: &Path, what: &'static str) -> Result<T, Error> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema: Option<u32>,
    }
    let text = text(path)?;
    let version: Version = serde_yaml::from_str(&text).map_err(|cause| malformed(what, path, cause))?;
    if version.schema != Some(SCHEMA) {
        let found = version.schema.map_or("none".to_owned(), |schema| schema.to_string());
        let cause = format!(
            "its schema is {found}, this program reads {SCHEMA}; use the version that wrote it, or measure anew"
        );
        return Err(malformed(what, path, cause));
    }
    T::from_yaml(&text).map_err(|cause| malformed(what, path, cause))
}

/// Writes a value as YAML.
pub fn write<T: Stored>(path: &Path, value: &T) -> Result<(), Error> {
    write_text(path, &to_text(path, value)?)
}

/// A value as the YAML that [`write`] puts into `path`.
pub fn to_text<T: Stored>(path: &Path, value: &T) -> Result<String, Error> {
    value.to_yaml().map_err(|cause| malformed("value", path, cause))
}

/// Writes a file under a temporary name beside its place, then renames it: readers see the old file or the
/// new one, and a full disk or a killed process leaves the old one.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    write_bytes(path, text.as_bytes())
}

/// As [`write_text`], for what is no text.
///
/// What is no file, a pipe or a terminal say, is written to as it stands; a link stays one.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let io = |cause| Error::Io { action: "write", path: path.into(), cause };
    if is_stream(path) {
        let mut stream = fs::OpenOptions::new().append(true).open(path).map_err(io)?;
        return stream.write_all(bytes).map_err(io);
    }
    let linked = path.is_symlink().then(|| fs::canonicalize(path).ok()).flatten();
    let path = linked.as_deref().unwrap_or(path);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(io)?;
    // Of an error of the temporary file only the kind: its name would only confuse.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| io(error.kind().into()))?;
    file.write_all(bytes).map_err(|error| io(error.kind().into()))?;
    file.as_file().sync_all().map_err(io)?;
    readable_by_all(file.as_file()).map_err(io)?;
    file.persist(path).map_err(|error| io(error.error))?;
    Ok(())
}

/// Finds out before long work whether a file can be written there, and leaves nothing behind.
pub fn can_write(path: &Path) -> Result<(), Error> {
    let io = |cause| Error::Io { action: "write", path: path.into(), cause };
    if path.is_dir() {
        return Err(io(std::io::Error::other("it is a folder")));
    }
    if is_stream(path) {
        return Ok(());
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        let missing = format!("there is no folder `{}`", folder.display());
        return Err(io(std::io::Error::other(missing)));
    }
    // The kind of the error, without the temporary file's name.
    tempfile::NamedTempFile::new_in(folder).map(drop).map_err(|error| io(error.kind().into()))
}

/// `/dev/stdout` is one even where it leads to a file.
fn is_stream(path: &Path) -> bool {
    let device = cfg!(unix) && path.starts_with("/dev");
    fs::metadata(path).is_ok_and(|what| !what.is_dir() && (device || !what.is_file()))
}

/// A temporary file is private to its owner; what it becomes is an ordinary file.
#[cfg(unix)]
fn readable_by_all(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_all(_file: &fs::File) -> std::io::Result<()> {
    Ok(())
}

/// Folders of `verification/` that hold no records.
const NO_GPUS: [&str; 5] = ["agreement", "claims", "published", "signatures", "slices"];

/// Every record under `verification/`: `<gpu>/<stem>.yaml`, in order of path.
pub fn record_paths(verification: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for folder in entries(verification)? {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if folder.is_dir() && !NO_GPUS.contains(&name.as_str()) {
            found.extend(yaml_files(&folder)?);
        }
    }
    Ok(found)
}

/// Every comparison of the simulator with a GPU under `verification/`: `agreement/<gpu>.yaml`, in order of path.
pub fn agreement_paths(verification: &Path) -> Result<Vec<PathBuf>, Error> {
    yaml_files(&verification.join("agreement"))
}

/// Everything that was counted of GPUs' slices under `verification/`: `slices/<gpu>.yaml`, in order of path.
pub fn slices_paths(verification: &Path) -> Result<Vec<PathBuf>, Error> {
    yaml_files(&verification.join("slices"))
}

/// The `.yaml` files of a folder, in order of name; none if there is no such folder.
pub fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let files = entries(folder)?.into_iter();
    Ok(files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let io = |cause| Error::Io { action: "read", path: folder.into(), cause };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        paths.push(entry.map_err(io)?.path());
    }
    paths.sort();
    Ok(paths)
}
