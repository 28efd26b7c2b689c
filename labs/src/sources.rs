//! The sources that the program is built from, as one hash: a record says which ones made it, and `labs
//! verify` can tell that the program was built from others than the checkout's. `build.rs` includes this
//! very file.

use std::fs;
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Folders below the repository's root whose sources, however deep, decide what the program does.
pub const FOLDERS: [&str; 6] =
    ["labs/src", "labs/chart/src", "labs/oracle/src", "labs/record/src", "labs/simt/src", "kernels/ptx"];

/// The folder of which only its own files count: below it lie a learner's exercises and what is made.
const KERNELS: &str = "kernels";

/// Single files that decide as much.
const FILES: [&str; 8] = [
    "Cargo.toml",
    "Cargo.lock",
    "labs/Cargo.toml",
    "labs/build.rs",
    "labs/chart/Cargo.toml",
    "labs/oracle/Cargo.toml",
    "labs/record/Cargo.toml",
    "labs/simt/Cargo.toml",
];

/// The extensions of sources. Claims and the kernels' manifest are none: they decide no measurement.
const EXTENSIONS: [&str; 4] = ["rs", "cu", "cuh", "ptx"];

/// The SHA-256, in hexadecimal, over the names and texts of the sources below `root`, line ends taken as
/// LF so that every checkout of a commit gives the same.
///
/// # Errors
/// When one cannot be read. A folder or file that does not exist counts as empty.
pub fn hash(root: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    for file in files(root)? {
        let text = without_carriage_returns(fs::read(root.join(&file))?);
        for part in [file.as_bytes(), &text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    Ok(hexadecimal(&hash.finalize()))
}

/// The sources below `root`, as sorted paths with slashes.
///
/// # Errors
/// When a folder cannot be listed.
pub fn files(root: &Path) -> io::Result<Vec<String>> {
    let mut files: Vec<String> =
        FILES.iter().filter(|file| root.join(file).is_file()).map(|&file| file.to_owned()).collect();
    collect(root, KERNELS, false, &mut files)?;
    for folder in FOLDERS {
        collect(root, folder, true, &mut files)?;
    }
    files.sort();
    Ok(files)
}

/// Two lower-case digits a byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Adds the sources in `folder`, and in the folders below it if `deep`.
fn collect(root: &Path, folder: &str, deep: bool, files: &mut Vec<String>) -> io::Result<()> {
    let path = root.join(folder);
    if !path.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let inner = format!("{folder}/{name}");
        if root.join(&inner).is_dir() {
            if deep {
                collect(root, &inner, deep, files)?;
            }
        } else if name.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.contains(&extension)) {
            files.push(inner);
        }
    }
    Ok(())
}

fn without_carriage_returns(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.retain(|&byte| byte != b'\r');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkout(kernel: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("kernels/cubin")).unwrap();
        fs::write(root.path().join("kernels/a.cu"), kernel).unwrap();
        fs::write(root.path().join("kernels/cubin/a.cu"), kernel).unwrap();
        fs::write(root.path().join("kernels/manifest.yaml"), kernel).unwrap();
        fs::write(root.path().join("Cargo.lock"), "").unwrap();
        root
    }

    #[test]
    fn line_ends_and_made_files_do_not_count_but_sources_do() {
        let one = checkout("a\nb\n");
        let same = checkout("a\r\nb\r\n");
        let other = checkout("a\nc\n");
        assert_eq!(hash(one.path()).unwrap(), hash(same.path()).unwrap());
        assert_ne!(hash(one.path()).unwrap(), hash(other.path()).unwrap());
        fs::write(one.path().join("kernels/manifest.yaml"), "made").unwrap();
        assert_eq!(hash(one.path()).unwrap(), hash(same.path()).unwrap());
        fs::rename(one.path().join("kernels/a.cu"), one.path().join("kernels/b.cu")).unwrap();
        assert_ne!(hash(one.path()).unwrap(), hash(same.path()).unwrap());
    }

    #[test]
    fn this_checkout_is_what_the_tests_were_built_from() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(hash(root).unwrap(), crate::BUILT_FROM);
    }
}
