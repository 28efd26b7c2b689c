//! The few lines of PTX text that the tools look at or change: who made it, its version, its file names.

use std::path::PathBuf;

/// The compiler's version in the comment that NVIDIA's compiler begins each file with:
/// `// Cuda compilation tools, release 12.9, V12.9.86` gives `12.9.86`.
pub fn compiler_version(ptx: &str) -> Option<&str> {
    let line = ptx.lines().find(|line| line.contains("Cuda compilation tools"))?;
    let (_, version) = line.rsplit_once(", V")?;
    Some(version.trim())
}

/// The `.version` line's two numbers, such as (8, 8): the PTX language version.
pub fn language_version(ptx: &str) -> Option<(u32, u32)> {
    let line = ptx.lines().find_map(|line| line.trim().strip_prefix(".version"))?;
    let (major, minor) = line.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The same text with another `.version` line. A driver refuses a file for this number alone, even when
/// it knows every instruction in it.
pub fn with_language_version(ptx: &str, version: (u32, u32)) -> String {
    let (major, minor) = version;
    map_lines(ptx, |line| {
        line.trim_start().starts_with(".version").then(|| format!(".version {major}.{minor}"))
    })
}

/// The same text with the names in its `.file` lines relative to the repository's root: the compiler puts
/// its current folder before them. `program` is the program's relative name; NVIDIA's own headers keep
/// what stands after their include path, and any other file is a header beside the program.
pub fn with_relative_files(ptx: &str, program: &str, include_paths: &[PathBuf]) -> String {
    map_lines(ptx, |line| {
        if !line.trim_start().starts_with(".file") {
            return None;
        }
        let (before, rest) = line.split_once('"')?;
        let (path, after) = rest.split_once('"')?;
        Some(format!("{before}\"{}\"{after}", relative_file(path, program, include_paths)))
    })
}

fn relative_file(path: &str, program: &str, include_paths: &[PathBuf]) -> String {
    let path = path.replace("\\\\", "/").replace('\\', "/");
    if path == program || path.ends_with(&format!("/{program}")) {
        return program.to_owned();
    }
    let of_nvidia = include_paths.iter().find_map(|folder| {
        let folder = folder.display().to_string().replace('\\', "/");
        path.strip_prefix(&folder).map(|rest| rest.trim_start_matches('/').to_owned())
    });
    of_nvidia.unwrap_or_else(|| {
        let name = path.rsplit('/').next().unwrap_or(&path);
        let folder = program.rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
        format!("{}{name}", folder.unwrap_or_default())
    })
}

/// Lines kept, or replaced where `change` gives another.
fn map_lines(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let mut changed = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match change(line.trim_end_matches(['\r', '\n'])) {
            Some(other) => {
                changed.push_str(&other);
                changed.push('\n');
            }
            None => changed.push_str(line),
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "//\n// Cuda compilation tools, release 12.9, V12.9.86\n//\n\n.version 8.8\n.target sm_90\n\
        \t.file\t1 \"/home/a/labs/kernels/day26_sum.cu\"\n\t.file\t2 \"/home/a/labs/common.cuh\"\n\
        \t.file\t3 \"/opt/include/cuda/atomic\"\n";

    #[test]
    fn versions_are_read() {
        assert_eq!(compiler_version(PTX), Some("12.9.86"));
        assert_eq!(language_version(PTX), Some((8, 8)));
        assert_eq!(compiler_version("garbage"), None);
        assert_eq!(language_version(".version x"), None);
    }

    #[test]
    fn only_the_version_line_changes() {
        let lowered = with_language_version(PTX, (6, 3));
        assert_eq!(language_version(&lowered), Some((6, 3)));
        assert_eq!(with_language_version(&lowered, (8, 8)), PTX);
    }

    #[test]
    fn file_names_lose_the_machine() {
        let include = [PathBuf::from("/opt/include")];
        let relative = with_relative_files(PTX, "kernels/day26_sum.cu", &include);
        let files: Vec<&str> = relative.lines().filter(|line| line.contains(".file")).collect();
        assert_eq!(
            files,
            [
                "\t.file\t1 \"kernels/day26_sum.cu\"",
                "\t.file\t2 \"kernels/common.cuh\"",
                "\t.file\t3 \"cuda/atomic\"",
            ]
        );
    }
}
