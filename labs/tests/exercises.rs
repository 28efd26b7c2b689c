//! Exercises: the starter compiles and misses its goals, the solution reaches them, and known-wrong solutions are told
//! what is wrong with them. Needs NVRTC.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::{Path, PathBuf};

use labs::exercise::{self, Goal};
use labs::lab;
use labs::toolchain::nvrtc::Nvrtc;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Whether there is a compiler; a loud skip where not.
fn has_compiler() -> bool {
    let found = Nvrtc::find(Some(&root())).is_ok();
    let required = std::env::var_os("HOT_ADDRESSES_REQUIRE_TOOLCHAIN").is_some();
    assert!(found || !required, "no NVRTC; run scripts/kernels --install");
    if !found {
        eprintln!("SKIPPED, not passed: no NVRTC; run scripts/kernels --install");
    }
    found
}

fn attempt(stem: &str, file: &str) -> Vec<Goal> {
    let exercise = lab::find(stem).unwrap().exercise().unwrap();
    exercise::attempt(&root().join(file), &exercise).unwrap()
}

fn missed(goals: &[Goal]) -> Vec<&str> {
    goals.iter().filter(|goal| !goal.reached).map(|goal| goal.line.as_str()).collect()
}

fn with_exercises() -> impl Iterator<Item = &'static str> {
    lab::registry().iter().filter(|lab| lab.exercise().is_some()).map(|lab| lab.stem())
}

#[test]
fn starters_compile_and_miss_their_goals() {
    if !has_compiler() {
        return;
    }
    for stem in with_exercises() {
        // As it ships: the learner's own file may be solved already.
        let exercise = lab::find(stem).unwrap().exercise().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("starter.cu");
        std::fs::write(&file, exercise.starter).unwrap();
        let goals = exercise::attempt(&file, &exercise).unwrap();
        assert!(!missed(&goals).is_empty(), "{stem}: {goals:?}");
    }
}

#[test]
fn solutions_reach_all_goals() {
    if !has_compiler() {
        return;
    }
    for stem in with_exercises() {
        let goals = attempt(stem, &format!("kernels/exercises/solutions/{stem}.cu"));
        assert_eq!(missed(&goals), Vec::<&str>::new(), "{stem}");
        assert!(!goals.is_empty(), "{stem}: nothing was asked");
    }
}

/// Each file of `wrong_exercises/` says in its first line what must be found: `// must be told: TEXT`.
#[test]
fn wrong_solutions_are_told_what_is_wrong() {
    if !has_compiler() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong_exercises");
    let mut tried = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let wanted = text.lines().next().unwrap().strip_prefix("// must be told: ").unwrap().to_owned();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let stem = lab::registry().iter().map(|lab| lab.stem()).find(|stem| name.starts_with(stem)).unwrap();
        let goals = attempt(stem, path.to_str().unwrap());
        let missed = missed(&goals);
        assert!(
            missed.iter().any(|line| line.contains(&wanted)),
            "{name}: wanted `{wanted}`, told {missed:?}"
        );
        tried += 1;
    }
    assert!(tried >= 4, "{tried} wrong solutions");
}

/// A lock that a lane holds while others of its warp poll it ends where lanes are scheduled each for itself, and is a
/// deadlock where those that leave a loop wait for those still in it.
#[test]
fn the_lock_inside_a_warp_deadlocks_by_the_older_rule_only() {
    if !has_compiler() {
        return;
    }
    let exercise = lab::find("day39").unwrap().exercise().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("starter.cu");
    std::fs::write(&file, exercise.starter).unwrap();
    let goals = exercise::attempt(&file, &exercise).unwrap();
    let right =
        |goal: &Goal| goal.line == "320 threads: the counter is 640, the reference 640" && goal.reached;
    assert!(goals.iter().any(right), "{goals:?}");
    let deadlocks: Vec<&Goal> = goals.iter().filter(|goal| goal.line.contains("deadlock")).collect();
    assert_eq!(deadlocks.len(), 3, "{goals:?}");
    assert!(deadlocks.iter().all(|goal| goal.line.contains("as before Volta")), "{deadlocks:?}");
}
