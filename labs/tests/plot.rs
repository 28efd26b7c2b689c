//! `--plot`: what a run found, as an SVG file.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use labs::lab::{self, Lab};
use labs::plot::{self, Plot};
use labs_record::figure::{Figure, Samples};
use labs_record::store;

fn day26() -> &'static dyn Lab {
    lab::find("day26").unwrap()
}

/// Draws these figures as a run on a GPU does.
fn times(figures: &[Figure]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("times.svg");
    let of = day26().headline();
    let plot = Plot { figures, name: &of.figure, at: &of.at, origin: "NVIDIA <H200>" };
    plot::write(&file, day26(), &plot).map_err(|error| format!("{error:#}"))?;
    Ok(fs::read_to_string(&file).unwrap())
}

#[test]
fn measured_times_are_drawn_a_line_a_variant() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let record = store::read_record(&root.join("verification/nvidia-h200/day26_sum.yaml")).unwrap();
    let svg = times(&record.figures).unwrap();
    for variant in day26().variants() {
        assert!(svg.contains(&format!(">{}</text>", variant.name)), "{} has no line", variant.name);
    }
    assert!(svg.contains(">100 µs<") && svg.contains("NVIDIA &lt;H200&gt;"), "{svg}");
    assert!(svg.contains("hot") && !svg.contains("cold"), "the headline is of the hot cache");

    let mut nothing = record.figures.clone();
    nothing.iter_mut().for_each(|figure| figure.samples = vec![Samples::Numbers(vec![0.0])]);
    let error = times(&nothing).unwrap_err();
    assert!(error.contains("no `time` above zero"), "{error}");
}

/// Runs day26 on the simulator in a folder, with these options behind.
fn simulated(folder: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_labs"));
    command.current_dir(folder).args(["day26", "--backend", "sim", "--format", "csv"]).args(options);
    command.output().unwrap()
}

fn plotted(folder: &Path) -> PathBuf {
    folder.join("queues.svg")
}

#[test]
fn simulated_queues_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--size", "1000", "--size", "20000", "--plot", "queues.svg"];
    let output = simulated(folder.path(), &options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        String::from_utf8_lossy(&output.stdout).starts_with("lab,"),
        "the results are printed all the same"
    );
    let svg = fs::read_to_string(plotted(folder.path())).unwrap();
    assert!(svg.contains("longest queue along size, simulator") && svg.contains(">10,000<"), "{svg}");
    assert!(
        svg.contains(">global_atomic</text>") && !svg.contains(">two_pass</text>"),
        "no atomic, no queue"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_drawn_leaves_the_drawing_that_was_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(plotted(folder.path()), "kept").unwrap();
    let refused = |options: &[&str], code: i32, words: &str| {
        let output = simulated(folder.path(), options);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(words), "`{words}` is not in {told}");
        assert_eq!(fs::read_to_string(plotted(folder.path())).unwrap(), "kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    };
    refused(&["--size", "0", "--plot", "queues.svg"], 2, "--plot: no `longest_queue` above zero");
    refused(
        &["--size", "8", "--plot", "missing/queues.svg"],
        2,
        "there is no folder `missing`; choose another --plot",
    );
    refused(&["--size", "8", "--plot", "."], 2, "it is a folder; choose another --plot");
    refused(&["--size", "-8", "--plot", "queues.svg"], 2, "it is a whole number");
}
