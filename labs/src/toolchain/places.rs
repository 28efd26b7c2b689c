//! Where NVIDIA's tools may lie on this machine.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder at the repository's root that `scripts/kernels` installs into, laid out like pip's
/// site-packages.
const LOCAL_FOLDER: &str = ".toolchain";

/// A tool that was not found: its name, where it was looked for, and what to do.
#[derive(Debug, Clone)]
pub struct Missing {
    /// The tool: `NVRTC`, or `nvdisasm or cuobjdump`.
    pub tool: &'static str,
    /// The places, in the order they were looked at.
    pub looked: Vec<String>,
    /// One line that mends it.
    pub remedy: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.looked.join(", ");
        write!(f, "{} not found (looked at: {places}); {}", self.tool, self.remedy)
    }
}

impl std::error::Error for Missing {}

/// One tool's names and folders.
pub(super) struct Tool {
    /// Its name in messages.
    pub(super) name: &'static str,
    /// The environment variable that names a file or a folder and overrides every other place.
    pub(super) variable: &'static str,
    /// Whether a file name is this tool's.
    pub(super) is_ours: fn(&str) -> bool,
    /// Folders below site-packages, best first.
    pub(super) package_folders: &'static [&'static str],
    /// Folders below a CUDA toolkit, best first.
    pub(super) toolkit_folders: &'static [&'static str],
    /// Whether it is a program, which the search path may hold.
    pub(super) on_search_path: bool,
    /// One line that installs it.
    pub(super) remedy: &'static str,
}

impl Tool {
    /// The tool's file, from the first place that has it; `root` is the repository's root.
    ///
    /// # Errors
    /// [`Missing`] when no place has it, or when the environment variable is set and names nothing.
    pub(super) fn find(&self, root: Option<&Path>) -> Result<PathBuf, Missing> {
        let mut looked = Vec::new();
        if let Some(value) = self.named() {
            return self.at(&value);
        }
        looked.push(format!("{} (not set)", self.variable));
        let found = self.local(root, &mut looked);
        let found = found.or_else(|| self.search_path(&mut looked));
        // Asking Python for its folders takes a tenth of a second, so a program's toolkit comes first.
        let found = if self.on_search_path {
            found.or_else(|| self.toolkit(&mut looked)).or_else(|| self.packages(&mut looked))
        } else {
            found.or_else(|| self.packages(&mut looked)).or_else(|| self.toolkit(&mut looked))
        };
        found.ok_or_else(|| self.missing(looked, self.remedy.to_owned()))
    }

    pub(super) fn missing(&self, looked: Vec<String>, remedy: String) -> Missing {
        Missing { tool: self.name, looked, remedy }
    }

    /// The environment variable's value, where it is set.
    pub(super) fn named(&self) -> Option<OsString> {
        env::var_os(self.variable).filter(|value| !value.is_empty())
    }

    /// What the environment variable names: the file itself, or the tool in that folder.
    fn at(&self, value: &OsString) -> Result<PathBuf, Missing> {
        let path = PathBuf::from(value);
        let found = if path.is_file() { Some(path.clone()) } else { self.in_folder(&path) };
        found.ok_or_else(|| {
            let looked = vec![format!("{}={}", self.variable, path.display())];
            let remedy = format!("let {} name the file or its folder, or unset it", self.variable);
            self.missing(looked, remedy)
        })
    }

    fn local(&self, root: Option<&Path>, looked: &mut Vec<String>) -> Option<PathBuf> {
        let folder = root?.join(LOCAL_FOLDER);
        looked.push(folder.display().to_string());
        self.in_package_root(&folder)
    }

    fn search_path(&self, looked: &mut Vec<String>) -> Option<PathBuf> {
        if !self.on_search_path {
            return None;
        }
        looked.push("PATH".to_owned());
        env::split_paths(&env::var_os("PATH")?).find_map(|folder| self.in_folder(&folder))
    }

    fn packages(&self, looked: &mut Vec<String>) -> Option<PathBuf> {
        looked.push("pip's packages".to_owned());
        python_folders().iter().find_map(|folder| self.in_package_root(folder))
    }

    fn toolkit(&self, looked: &mut Vec<String>) -> Option<PathBuf> {
        let roots = toolkit_roots();
        looked.push(if cfg!(windows) { "CUDA_PATH".to_owned() } else { "/usr/local/cuda*".to_owned() });
        roots
            .iter()
            .flat_map(|root| self.toolkit_folders.iter().map(move |folder| root.join(folder)))
            .find_map(|folder| self.in_folder(&folder))
    }

    fn in_package_root(&self, root: &Path) -> Option<PathBuf> {
        self.package_folders.iter().find_map(|folder| self.in_folder(&root.join(folder)))
    }

    /// The tool in this very folder; of several versions the last by name.
    fn in_folder(&self, folder: &Path) -> Option<PathBuf> {
        fs::read_dir(folder)
            .ok()?
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_str().is_some_and(self.is_ours))
            .map(|entry| entry.path())
            .filter(|path| path.is_file())
            .max()
    }
}

/// The folders that the Python on the search path imports from.
fn python_folders() -> Vec<PathBuf> {
    let names: &[&str] = if cfg!(windows) { &["python", "py"] } else { &["python3", "python"] };
    names.iter().find_map(|name| ask_python(name)).unwrap_or_default()
}

fn ask_python(program: &str) -> Option<Vec<PathBuf>> {
    let output = Command::new(program)
        .args(["-c", r"import sys; print('\n'.join(p for p in sys.path if p))"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().map(PathBuf::from).collect())
}

/// CUDA toolkits: the one the environment names, the default link, then the others, newest first.
fn toolkit_roots() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> =
        ["CUDA_PATH", "CUDA_HOME"].iter().filter_map(env::var_os).map(PathBuf::from).collect();
    if cfg!(windows) {
        return roots;
    }
    roots.push(PathBuf::from("/usr/local/cuda"));
    let mut numbered: Vec<(Vec<u32>, PathBuf)> = fs::read_dir("/usr/local")
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.strip_prefix("cuda-")?;
            let numbers = version.split('.').map_while(|part| part.parse().ok()).collect();
            Some((numbers, entry.path()))
        })
        .collect();
    numbered.sort();
    roots.extend(numbered.into_iter().rev().map(|(_, path)| path));
    roots.push(PathBuf::from("/opt/cuda"));
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: Tool = Tool {
        name: "the tool",
        variable: "HOT_ADDRESSES_NO_SUCH_VARIABLE",
        is_ours: |name| name.starts_with("no-such-tool"),
        package_folders: &["nvidia/tool/bin"],
        toolkit_folders: &["bin"],
        on_search_path: true,
        remedy: "install it",
    };

    #[test]
    fn the_local_folder_is_searched_and_the_last_version_wins() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(".toolchain/nvidia/tool/bin");
        fs::create_dir_all(folder.join("no-such-tool.9-a-folder")).unwrap();
        fs::write(folder.join("no-such-tool.1"), "").unwrap();
        fs::write(folder.join("no-such-tool.2"), "").unwrap();
        fs::write(folder.join("other.3"), "").unwrap();
        assert_eq!(TOOL.find(Some(root.path())).unwrap(), folder.join("no-such-tool.2"));
    }

    #[test]
    fn what_is_missing_names_the_places_and_the_remedy() {
        let root = tempfile::tempdir().unwrap();
        let missing = TOOL.find(Some(root.path())).unwrap_err().to_string();
        assert!(missing.starts_with("the tool not found"), "{missing}");
        assert!(missing.contains(".toolchain"), "{missing}");
        assert!(missing.ends_with("install it"), "{missing}");
    }

    #[test]
    fn a_variable_that_names_nothing_is_not_passed_over() {
        let missing = TOOL.at(&OsString::from("no/such/folder")).unwrap_err();
        assert_eq!(missing.looked, ["HOT_ADDRESSES_NO_SUCH_VARIABLE=no/such/folder"]);
    }
}
