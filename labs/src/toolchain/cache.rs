//! Compiled kernels kept by hash, since a program with NVIDIA's headers takes seconds to compile.
//!
//! An entry is a file named by the hash of everything that decides its content. Entries are written
//! beside and renamed, so a reader never sees half of one; a damaged one fails its own hash and is made
//! anew. The folder may be deleted at any time.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::nvrtc::{CompileError, Compiled, Nvrtc, Program, Target};
use crate::sources::hexadecimal;

/// Raised when the layout of an entry or the meaning of its key changes.
const FORMAT: &str = "hot-addresses compiled kernel 1";
const HASH_BYTES: usize = 32;
const LENGTH_BYTES: usize = 8;

/// The folder of compiled kernels, or none on a machine without a place for one.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// The user's cache: `$XDG_CACHE_HOME` or `~/.cache`, `%LOCALAPPDATA%`, `~/Library/Caches`.
    pub fn open() -> Self {
        Self { folder: user_cache().map(|folder| folder.join("hot-addresses")) }
    }

    /// A cache in this folder.
    pub fn at(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()) }
    }

    /// As [`Nvrtc::compile`], unless the same was compiled before. A cache that cannot be read or written
    /// is done without.
    ///
    /// # Errors
    /// Those of [`Nvrtc::compile`].
    pub fn compile(
        &self,
        nvrtc: &Nvrtc,
        program: &Program<'_>,
        target: Target,
    ) -> Result<Compiled, CompileError> {
        let Some(folder) = &self.folder else {
            return nvrtc.compile(program, target);
        };
        let entry = folder.join(key(nvrtc, program, target));
        if let Some(compiled) = fs::read(&entry).ok().and_then(|bytes| decode(&bytes)) {
            return Ok(compiled);
        }
        let compiled = nvrtc.compile(program, target)?;
        // Best effort: the caller has what it asked for either way.
        let _ = store(&entry, &encode(&compiled));
        Ok(compiled)
    }
}

/// The hash of all that decides what is compiled. Each part comes with its length, so that no two lists
/// of parts look alike.
fn key(nvrtc: &Nvrtc, program: &Program<'_>, target: Target) -> String {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    part(FORMAT);
    part(nvrtc.version());
    for option in nvrtc.options(target) {
        part(&option);
    }
    part(program.name);
    part(program.source);
    for header in program.headers {
        part(header.name);
        part(header.source);
    }
    hexadecimal(&hash.finalize())
}

/// An entry: the hash of the rest, the log's length, the log, the image.
fn encode(compiled: &Compiled) -> Vec<u8> {
    let mut rest = (compiled.log.len() as u64).to_le_bytes().to_vec();
    rest.extend_from_slice(compiled.log.as_bytes());
    rest.extend_from_slice(&compiled.image);
    let mut entry = Sha256::digest(&rest).to_vec();
    entry.append(&mut rest);
    entry
}

fn decode(entry: &[u8]) -> Option<Compiled> {
    let (hash, rest) = entry.split_at_checked(HASH_BYTES)?;
    if Sha256::digest(rest).as_slice() != hash {
        return None;
    }
    let (length, rest) = rest.split_at_checked(LENGTH_BYTES)?;
    let length = u64::from_le_bytes(length.try_into().ok()?);
    let (log, image) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some(Compiled { image: image.to_vec(), log: String::from_utf8(log.to_vec()).ok()? })
}

fn store(entry: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = entry.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(entry).map(drop).map_err(|error| error.error)
}

fn user_cache() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))
    }
}
