//! A lab is whole: each part of each stem is there. What is missing is said as CONTRIBUTING's step.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use labs::lab;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Stems `dayNN_..` of a folder's files with this ending.
fn stems(root: &Path, folder: &str, ending: &str) -> BTreeSet<String> {
    let entries =
        fs::read_dir(root.join(folder)).into_iter().flatten().map(|entry| entry.unwrap().file_name());
    let names = entries.filter_map(|name| name.to_str().map(str::to_owned));
    names
        .filter_map(|name| name.strip_suffix(ending).map(str::to_owned))
        .filter(|stem| stem.starts_with("day") && !stem.contains('.'))
        .collect()
}

/// Every stem that any part of a lab has.
fn all(root: &Path) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = lab::registry().iter().map(|lab| lab.stem().to_owned()).collect();
    all.extend(stems(root, "kernels", ".cu"));
    all.extend(stems(root, "kernels/exercises", ".cu"));
    all.extend(stems(root, "labs/src/days", ".rs"));
    all.extend(stems(root, "verification/claims", ".yaml"));
    all.extend(stems(root, "book/src", ".md"));
    all
}

/// What each stem lacks, as the steps of CONTRIBUTING.md.
fn missing(root: &Path) -> Vec<String> {
    let registered: BTreeSet<&str> = lab::registry().iter().map(|lab| lab.stem()).collect();
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (manifest, summary) = (text("kernels/manifest.yaml"), text("book/src/SUMMARY.md"));
    let mut lines = Vec::new();
    for stem in all(root) {
        let mut need = |there: bool, step: &str| {
            if !there {
                lines.push(format!("{stem}: {step}"));
            }
        };
        let file = |path: String| root.join(path).is_file();
        need(file(format!("kernels/{stem}.cu")), "step 1: write its kernels in kernels/");
        need(file(format!("labs/src/days/{stem}.rs")), "step 2: write its module in labs/src/days/");
        need(registered.contains(stem.as_str()), "step 2: name it in the registry of labs/src/lab.rs");
        need(file(format!("kernels/ptx/{stem}.sm75.ptx")), "step 3: run scripts/kernels for its PTX");
        need(manifest.contains(&format!("\n  {stem}:")), "step 3: run scripts/kernels for the manifest");
        need(
            file(format!("verification/claims/{stem}.yaml")),
            "step 4: write its claims in verification/claims/",
        );
        need(file(format!("book/src/{stem}.md")), "step 5: write its chapter in book/src/");
        need(summary.contains(&format!("{stem}.md")), "step 5: name it in book/src/SUMMARY.md");
        let starter = file(format!("kernels/exercises/{stem}.cu"));
        let solution = file(format!("kernels/exercises/solutions/{stem}.cu"));
        need(starter == solution, "an exercise is a starter and a solution");
    }
    lines
}

#[test]
fn no_lab_lacks_a_part() {
    let missing = missing(&root());
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn a_missing_part_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let lines = missing(empty.path());
    assert!(lines.contains(&"day26_sum: step 1: write its kernels in kernels/".to_owned()), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("step 5")), "{lines:?}");
}

#[test]
fn the_registry_names_each_lab_once() {
    let mut seen = BTreeSet::new();
    for lab in lab::registry() {
        let (day, idea) = lab::names(lab.stem());
        for name in [day, idea] {
            assert!(seen.insert(name), "two labs are called {name}");
        }
    }
}
