//! `labs records` in a checkout of its own: the record that is committed passes, and whatever is done to it is refused
//! with the reason.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use labs_record::figure::Samples;
use labs_record::record::{Check, Outcome, Record, Sanitizer};
use labs_record::store;

const RECORD: &str = "verification/nvidia-h200/day26_sum.yaml";
const MANIFEST: &str = "kernels/manifest.yaml";
const CLAIMS: &str = "verification/claims/day26_sum.yaml";

/// A checkout that holds one record and what its check reads.
struct Checkout(tempfile::TempDir);

/// What a command said and how it ended.
struct Told {
    text: String,
    code: Option<i32>,
}

impl Checkout {
    fn new() -> Checkout {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let checkout = Checkout(tempfile::tempdir().unwrap());
        for file in [RECORD, MANIFEST, CLAIMS, "kernels/common.cuh"] {
            let place = checkout.path(file);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::copy(root.join(file), place).unwrap();
        }
        checkout
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    /// Replaces the first `from` of a file, as an editor would.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(file)).unwrap();
        assert!(text.contains(from), "{file} no longer holds `{from}`");
        fs::write(self.path(file), text.replacen(from, to, 1)).unwrap();
    }

    fn record(&self) -> Record {
        store::read_record(&self.path(RECORD)).unwrap()
    }

    /// Changes the record and seals it, as only a program would.
    fn reseal(&self, change: impl FnOnce(&mut Record)) {
        let mut record = self.record();
        change(&mut record);
        record.seal();
        store::write(&self.path(RECORD), &record).unwrap();
    }

    fn labs(&self, arguments: &[&str]) -> Told {
        let output =
            Command::new(env!("CARGO_BIN_EXE_labs")).current_dir(&self.0).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        Told { text, code: output.status.code() }
    }

    /// The check refuses, for this reason, whether it is asked for the record or for all.
    fn is_refused(&self, reason: &str) {
        for arguments in [&["records", "check"][..], &["records", "check", RECORD]] {
            let told = self.labs(arguments);
            assert_eq!(told.code, Some(1), "`{reason}`:\n{}", told.text);
            assert!(told.text.contains(reason), "`{reason}` is not in:\n{}", told.text);
            assert!(told.text.contains("1 of 1 records refused"), "{}", told.text);
        }
    }

    /// The check lets it pass as a draft, for this reason.
    fn is_draft(&self, reason: &str) {
        let told = self.labs(&["records", "check"]);
        assert_eq!(told.code, Some(0), "{}", told.text);
        let wanted = format!("day26_sum.yaml: draft: {reason}\n");
        assert!(told.text.contains(&wanted), "`{wanted}` is not in:\n{}", told.text);
        let list = self.labs(&["records", "list"]);
        assert!(list.text.contains(&format!("draft: {reason}")), "{}", list.text);
    }
}

/// The first line of a text that begins so.
fn line<'a>(text: &'a str, begin: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(begin)).unwrap()
}

#[test]
fn the_committed_record_is_verified() {
    let checkout = Checkout::new();
    let told = checkout.labs(&["records", "check"]);
    assert_eq!(told.code, Some(0), "{}", told.text);
    assert!(told.text.contains("day26_sum.yaml: verified\n1 records, none refused\n"), "{}", told.text);
    // From a folder below, too.
    let output = Command::new(env!("CARGO_BIN_EXE_labs"))
        .current_dir(checkout.path("kernels"))
        .args(["records", "list"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("NVIDIA H200") && text.contains("verified"), "{text}");
}

#[test]
fn a_number_changed_by_hand_is_refused() {
    let text = fs::read_to_string(Checkout::new().path(RECORD)).unwrap();
    let median = line(&text, "  median: ");
    let checkout = Checkout::new();
    checkout.edit(RECORD, &format!("{median}\n"), "  median: 1.5\n");
    checkout.is_refused("its median reads 1.5, its samples give ");

    let sample = line(&text, "  - ");
    let (first, rest) = sample.rsplit_once(' ').unwrap();
    let checkout = Checkout::new();
    checkout.edit(RECORD, &format!("{sample}\n"), &format!("{first} 9{rest}\n"));
    checkout.is_refused("its digest does not match its content");
    // A new seal does not help a count that differs between sessions.
    let checkout = Checkout::new();
    checkout.reseal(|record| {
        let exact = record.figures.iter_mut().find(|figure| figure.name == "global_atomics").unwrap();
        exact.samples[0] = Samples::Numbers(vec![7.0]);
    });
    checkout.is_refused("is exact, and its samples differ");
}

#[test]
fn a_samples_unit_changed_is_refused() {
    let checkout = Checkout::new();
    checkout.edit(RECORD, "  unit: ns\n", "  unit: cycles\n");
    checkout.is_refused("is in cycles; the lab measures it in ns");
    let checkout = Checkout::new();
    checkout.edit(RECORD, "  unit: ns\n", "  unit: parsecs\n");
    checkout.is_refused("unknown variant `parsecs`");
}

#[test]
fn a_verdict_changed_is_refused() {
    for (from, to) in [
        ("check: passed", "check: refused"),
        ("verdict: clean", "verdict: absent"),
        ("declared: correct", "declared: wrong"),
        ("occupancy: 1.0", "occupancy: 0.5"),
        ("driver: ", "driver: 1"),
    ] {
        let checkout = Checkout::new();
        checkout.edit(RECORD, from, to);
        checkout.is_refused("its digest does not match its content: it was edited after it was measured");
    }
}

#[test]
fn what_is_no_record_is_refused() {
    let checkout = Checkout::new();
    checkout.edit(RECORD, "schema: 1\n", "schema: 2\n");
    checkout.is_refused("its schema is 2, this program reads 1");

    let checkout = Checkout::new();
    checkout.edit(RECORD, "\ncompiler:\n", "\nweather: fair\ncompiler:\n");
    checkout.is_refused("unknown field `weather`");

    let text = fs::read_to_string(checkout.path(RECORD)).unwrap();
    for part in [&text[..text.len() / 2], &text[..text.len() - 20], "", "\u{0}", "- 1\n"] {
        let checkout = Checkout::new();
        fs::write(checkout.path(RECORD), part).unwrap();
        checkout.is_refused("refused: ");
        assert_eq!(checkout.labs(&["records", "list"]).code, Some(0), "the others are listed all the same");
        let labs = checkout.labs(&["list"]);
        assert!(labs.code == Some(0) && labs.text.contains("left out: "), "{}", labs.text);
    }
    let checkout = Checkout::new();
    fs::write(checkout.path(RECORD), b"schema: \xff\n").unwrap();
    checkout.is_refused("cannot read");
    let told = checkout.labs(&["records", "check", "nowhere.yaml"]);
    assert_eq!(told.code, Some(2), "{}", told.text);
}

#[test]
fn a_stale_record_is_refused() {
    let checkout = Checkout::new();
    let (name, hash) = {
        let record = checkout.record();
        let kernel = &record.variants[2].kernels[0];
        (kernel.name.clone(), kernel.machine_code.clone())
    };
    checkout.edit(MANIFEST, &hash, &hash.chars().rev().collect::<String>());
    checkout.is_refused(&format!("stale: kernel `{name}` now has other machine code"));

    let checkout = Checkout::new();
    let protocol = checkout.record().protocol;
    checkout.edit(MANIFEST, &protocol, &"0".repeat(64));
    checkout.is_refused("stale: the lab now measures by another protocol");
}

#[test]
fn a_record_of_another_lab_or_gpu_is_refused() {
    let checkout = Checkout::new();
    checkout.reseal(|record| record.lab = "day98_none".to_owned());
    checkout.is_refused("there is no lab `day98_none`; there are ");

    let checkout = Checkout::new();
    checkout.reseal(|record| record.gpu.name = "NVIDIA H100".to_owned());
    checkout.is_refused(
        "it is the record of `day26_sum` on NVIDIA H100 and belongs at verification/nvidia-h100/",
    );

    let checkout = Checkout::new();
    let other = checkout.path("verification/nvidia-h200/day29_histogram.yaml");
    fs::rename(checkout.path(RECORD), &other).unwrap();
    let told = checkout.labs(&["records", "check"]);
    assert!(told.code == Some(1) && told.text.contains("belongs at"), "{}", told.text);
    // Away from the records a file may have any name.
    fs::rename(&other, checkout.path("copy.yaml")).unwrap();
    let told = checkout.labs(&["records", "check", "copy.yaml"]);
    assert!(told.code == Some(0) && told.text.contains("copy.yaml: verified"), "{}", told.text);
}

#[test]
fn a_false_law_is_refused() {
    let checkout = Checkout::new();
    checkout.edit(CLAIMS, "number: 4096}", "number: 4095}");
    checkout.is_refused("the law `one_add_an_element` is broken on NVIDIA H200");
    let checkout = Checkout::new();
    checkout.edit(CLAIMS, "figure: global_atomics", "figure: global_atomic");
    checkout.is_refused("the lab makes no figure `global_atomic`");
}

#[test]
fn an_incomplete_record_is_a_draft() {
    let checkout = Checkout::new();
    checkout.reseal(|record| {
        record.variants.retain(|variant| variant.name != "warp_shuffle");
        record.figures.retain(|figure| figure.variant.as_deref() != Some("warp_shuffle"));
    });
    checkout.is_draft("variant `warp_shuffle` is missing without a reason");

    let checkout = Checkout::new();
    checkout.reseal(|record| {
        record.sittings.truncate(1);
        record.sittings[0].sessions.truncate(2);
        record.figures.iter_mut().for_each(|figure| figure.samples.truncate(2));
    });
    checkout.is_draft("2 sessions of 3");

    let checkout = Checkout::new();
    checkout.reseal(|record| {
        let variant = record.variants.iter_mut().find(|variant| variant.declared == Outcome::Correct);
        let variant = variant.unwrap();
        variant.check = Check::Passed;
        variant.sanitizer = Sanitizer::Found("memcheck: a write past the end".to_owned());
    });
    checkout.is_draft("compute-sanitizer on `global_atomic`: memcheck: a write past the end");
}

#[test]
fn a_diff_is_of_one_lab() {
    let checkout = Checkout::new();
    let same = checkout.labs(&["records", "diff", RECORD, RECORD]);
    assert_eq!(same.code, Some(0), "{}", same.text);
    assert!(same.text.contains("1.00×") && !same.text.contains("1.01×"), "{}", same.text);

    fs::copy(checkout.path(RECORD), checkout.path("before.yaml")).unwrap();
    checkout.reseal(|record| record.lab = "day98_none".to_owned());
    let told = checkout.labs(&["records", "diff", "before.yaml", RECORD]);
    assert_eq!(told.code, Some(2), "{}", told.text);
    assert!(told.text.contains("compare records of one lab"), "{}", told.text);
    let told = checkout.labs(&["records", "diff", "before.yaml", "nowhere.yaml"]);
    assert!(told.code == Some(2) && told.text.contains("`nowhere.yaml`"), "{}", told.text);
}

/// Beside the simulator's counts stand recorded times only of a record that could be published.
#[test]
fn a_stale_record_gives_no_recorded_times() {
    let small = ["day26", "--backend", "sim", "--size", "65536", "--variant", "block_tree"];
    let checkout = Checkout::new();
    let told = checkout.labs(&small);
    assert!(
        told.text.contains("recorded on NVIDIA H200") && !told.text.contains("left out"),
        "{}",
        told.text
    );
    assert!(!checkout.labs(&["list"]).text.contains("stale"));

    checkout.reseal(|record| record.protocol = "an earlier one".to_owned());
    let told = checkout.labs(&small);
    assert_eq!(told.code, Some(0), "{}", told.text);
    assert!(told.text.contains("day26_sum.yaml` is left out: stale: the lab now measures"), "{}", told.text);
    assert!(!told.text.contains("recorded on NVIDIA H200"), "{}", told.text);
    assert!(checkout.labs(&["list"]).text.contains("stale"));

    // A file that is no record spoils no run that needs none.
    fs::write(checkout.path(RECORD), "schema: 1\nlab: day").unwrap();
    let told = checkout.labs(&small);
    assert_eq!(told.code, Some(0), "{}", told.text);
    assert!(
        told.text.contains("is left out: ") && told.text.contains("is not a valid record"),
        "{}",
        told.text
    );
}
