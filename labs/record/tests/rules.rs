//! What a record is worth, by the rules: a made-up one that is verified, and every change that makes it less.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use labs_record::figure::{At, Figure, Kind, Samples, SetAside, Unit};
use labs_record::manifest::{FigureEntry, LabEntry, Manifest, VariantEntry};
use labs_record::record::{
    Absent, Check, Compiler, Gpu, Kernel, Outcome, Reading, Record, SCHEMA, Sanitizer, Session, Sitting,
    Variant,
};
use labs_record::rules::{self, Status};
use labs_record::table;

const STEM: &str = "day99_pair";

fn compiler() -> Compiler {
    Compiler { name: "nvrtc".to_owned(), version: "12.9.86".to_owned(), options: Vec::new() }
}

/// A lab of one right and one wrong variant, a time and an optional count.
fn manifest() -> Manifest {
    let variant = |name: &str, declared| VariantEntry {
        name: name.to_owned(),
        declared,
        idea: String::new(),
        kernels: vec![name.to_owned()],
    };
    let lab = LabEntry {
        part: 1,
        question: String::new(),
        protocol: "p".to_owned(),
        variants: vec![variant("right", Outcome::Correct), variant("racy", Outcome::Wrong)],
        figures: vec![
            FigureEntry::duration("time", ""),
            FigureEntry::new("seen", Unit::Count, Kind::Observation, "").optional(),
        ],
    };
    let hashes = ["right", "racy"].map(|kernel| (kernel.to_owned(), format!("{kernel}'s code")));
    let code = BTreeMap::from([("sm_90".to_owned(), hashes.into())]);
    Manifest {
        schema: SCHEMA,
        compiler: compiler(),
        labs: BTreeMap::from([(STEM.to_owned(), lab)]),
        code: BTreeMap::from([(STEM.to_owned(), code)]),
    }
}

fn time(sessions: &[&[f64]]) -> Figure {
    Figure {
        name: "time".to_owned(),
        variant: Some("right".to_owned()),
        at: At::from([("size".to_owned(), 4096.into())]),
        unit: Unit::Nanoseconds,
        kind: Kind::Duration,
        median: None,
        samples: sessions.iter().map(|samples| Samples::Numbers(samples.to_vec())).collect(),
        set_aside: Vec::new(),
    }
}

fn variant(name: &str, declared: Outcome, check: Check) -> Variant {
    let kernel = Kernel {
        name: name.to_owned(),
        machine_code: format!("{name}'s code"),
        instructions: Vec::new(),
        registers: 8,
        shared_bytes: 0,
        local_bytes: 0,
        block_threads: 256,
        blocks_per_sm: 8,
        occupancy: 1.0,
    };
    Variant {
        name: name.to_owned(),
        declared,
        check,
        sanitizer: Sanitizer::Absent("not on this machine".to_owned()),
        kernels: vec![kernel],
    }
}

/// A record that is verified as it stands.
fn record() -> Record {
    let reading = || Reading::Absent("not readable".to_owned());
    let session = |seed| Session {
        seed,
        seconds: 1.0,
        sm_clock_mhz: reading(),
        memory_clock_mhz: reading(),
        power_w: reading(),
        temperature_c: reading(),
    };
    let mut record = Record {
        schema: SCHEMA,
        lab: STEM.to_owned(),
        command: "labs verify day99".to_owned(),
        gpu: Gpu {
            name: "Made-up".to_owned(),
            compute_capability: "9.0".to_owned(),
            sms: 4,
            l2_bytes: 1 << 20,
            memory_bytes: 1 << 30,
            ecc: None,
        },
        compiler: compiler(),
        sources: String::new(),
        protocol: "p".to_owned(),
        sittings: vec![Sitting {
            started: "2026-01-01T00:00:00Z".to_owned(),
            driver: "580".to_owned(),
            sources: None,
            sessions: (0..3).map(session).collect(),
        }],
        variants: vec![
            variant("right", Outcome::Correct, Check::Passed),
            variant("racy", Outcome::Wrong, Check::Refused),
        ],
        peers: Vec::new(),
        absent: Vec::new(),
        figures: vec![time(&[&[100.0; 10], &[101.0; 10], &[102.0; 10]])],
        digest: String::new(),
    };
    record.seal();
    record
}

/// Changes the record, seals it and gives its status; what the rules call a fault is none of these changes.
fn status_after(change: impl FnOnce(&mut Record)) -> Status {
    let mut record = record();
    change(&mut record);
    record.seal();
    assert_eq!(rules::faults(&record, &manifest()), Vec::<String>::new());
    rules::status(&record, &manifest())
}

fn faults_after(change: impl FnOnce(&mut Record)) -> Vec<String> {
    let mut record = record();
    change(&mut record);
    record.seal();
    rules::faults(&record, &manifest())
}

#[test]
fn a_whole_record_is_verified() {
    assert_eq!(status_after(|_| ()), Status::Verified);
}

#[test]
fn each_shortcoming_makes_a_draft_and_is_named() {
    type Change = fn(&mut Record);
    let cases: [(&str, Change); 11] = [
        ("2 sessions of 3", |record| {
            record.sittings[0].sessions.pop();
            record.figures[0].samples.pop();
        }),
        ("not the pinned nvrtc 12.9.86", |record| record.compiler.version = "13.0.1".to_owned()),
        ("not the pinned nvrtc 12.9.86 with its options", |record| {
            record.compiler.options.push("--fmad=false".to_owned());
        }),
        ("variant `racy` is missing without a reason", |record| {
            record.variants.pop();
        }),
        ("figure `time` is missing without a reason", |record| record.figures.clear()),
        ("`right` gave a wrong result", |record| record.variants[0].check = Check::Refused),
        ("`racy` is wrong on purpose and was not caught", |record| record.variants[1].check = Check::Passed),
        ("compute-sanitizer on `right`: memcheck: a write", |record| {
            record.variants[0].sanitizer = Sanitizer::Found("memcheck: a write".to_owned());
        }),
        ("`right` has no machine code on record", |record| record.variants[0].kernels.clear()),
        ("`time of right at size=4096` lacks samples in some session", |record| {
            record.figures[0].samples[1] = Samples::Numbers(vec![100.0; 9]);
        }),
        ("lacks samples in some session (40 were set aside: slowed down)", |record| {
            record.figures[0].samples[1] = Samples::Numbers(Vec::new());
            record.figures[0].set_aside =
                vec![SetAside { session: 1, count: 40, reason: "slowed down".to_owned() }];
        }),
    ];
    for (reason, change) in cases {
        let status = status_after(change);
        let Status::Draft(why) = &status else { panic!("`{reason}`: {status}") };
        assert!(why.len() == 1 && why[0].contains(reason), "`{reason}` is not all of {why:?}");
    }
}

#[test]
fn what_is_stated_absent_or_optional_is_not_missing() {
    let absent = |what: &str| Absent { what: what.to_owned(), why: "this GPU lacks it".to_owned() };
    let without = status_after(|record| {
        record.variants.pop();
        record.figures.clear();
        record.absent = vec![absent("racy"), absent("time")];
    });
    assert_eq!(without, Status::Verified);
    // The race detector's word on a variant that is meant to race is no shortcoming.
    let found = status_after(|record| {
        record.variants[1].sanitizer = Sanitizer::Found("racecheck: a race".to_owned())
    });
    assert_eq!(found, Status::Verified);
}

#[test]
fn noisy_durations_are_verified_and_shown_as_a_range() {
    let noisy = time(&[&[100_000.0; 10], &[104_000.0; 10], &[106_000.0; 10]]);
    assert_eq!(table::cell(&noisy), "100 µs to 106 µs");
    assert_eq!(status_after(|record| record.figures[0] = noisy), Status::Verified);
    let quiet = time(&[&[100_000.0; 10], &[104_000.0; 10], &[105_000.0; 10]]);
    assert_eq!(table::cell(&quiet), "104 µs");
}

#[test]
fn samples_set_aside_need_others_in_their_place() {
    let aside = SetAside { session: 1, count: 20, reason: "the GPU was slowed down".to_owned() };
    let replaced = status_after(|record| record.figures[0].set_aside = vec![aside.clone()]);
    assert_eq!(replaced, Status::Verified);
    let lost = status_after(|record| {
        record.figures[0].set_aside = vec![aside.clone()];
        record.figures[0].samples[1] = Samples::Numbers(Vec::new());
    });
    assert!(matches!(lost, Status::Draft(_)), "{lost}");
    let nowhere = SetAside { session: 3, ..aside.clone() };
    let faults = faults_after(|record| record.figures[0].set_aside = vec![nowhere]);
    assert!(faults.len() == 1 && faults[0].contains("set aside in session 3"), "{faults:?}");
    let unsaid = SetAside { reason: " ".to_owned(), ..aside };
    let faults = faults_after(|record| record.figures[0].set_aside = vec![unsaid]);
    assert!(faults.len() == 1 && faults[0].contains("without a reason"), "{faults:?}");
}

#[test]
fn a_second_sitting_counts() {
    let status = status_after(|record| {
        let mut later = record.sittings[0].clone();
        later.started = "2026-02-01T00:00:00Z".to_owned();
        record.sittings.push(later);
        let again = record.figures[0].samples.clone();
        record.figures[0].samples.extend(again);
    });
    assert_eq!(status, Status::Verified);
}

#[test]
fn other_code_and_another_protocol_are_stale_before_anything_else() {
    let code = status_after(|record| {
        record.variants[0].kernels[0].machine_code = "older".to_owned();
        record.sittings[0].sessions.pop();
        record.figures[0].samples.pop();
    });
    assert_eq!(code, Status::Stale(vec!["kernel `right` now has other machine code".to_owned()]));
    let protocol = status_after(|record| record.protocol = "q".to_owned());
    assert_eq!(protocol, Status::Stale(vec!["the lab now measures by another protocol".to_owned()]));
    // There is nothing to compare the code for a GPU with that the manifest does not know.
    let elsewhere = status_after(|record| {
        record.gpu.compute_capability = "12.1".to_owned();
        record.variants[0].kernels[0].machine_code = "older".to_owned();
    });
    assert_eq!(elsewhere, Status::Verified);
}

#[test]
fn what_cannot_be_so_is_a_fault() {
    type Change = fn(&mut Record);
    let cases: [(&str, Change); 8] = [
        ("there is no lab `day98_none`; there are day99_pair", |r| r.lab = "day98_none".to_owned()),
        ("is in cycles; the lab measures it in ns", |r| r.figures[0].unit = Unit::Cycles),
        ("is of another kind than its lab declares", |r| r.figures[0].kind = Kind::Spread),
        ("the lab makes no figure `tim`", |r| r.figures[0].name = "tim".to_owned()),
        ("the lab has no variant `rihgt`", |r| r.variants[0].name = "rihgt".to_owned()),
        ("variant `racy` is declared otherwise", |r| r.variants[1].declared = Outcome::Correct),
        ("has samples of 3 sessions, the record has 2", |r| {
            r.sittings[0].sessions.pop();
        }),
        ("its samples are not those of its kind", |r| {
            r.figures[0].samples[0] = Samples::Tries { seen: 1, of: 2 };
        }),
    ];
    for (fault, change) in cases {
        let faults = faults_after(change);
        assert!(faults.iter().any(|found| found.contains(fault)), "`{fault}` is not in {faults:?}");
    }
    assert_eq!(faults_after(|_| ()), Vec::<String>::new());
}

#[test]
fn whatever_changes_without_a_new_seal_is_found() {
    type Change = fn(&mut Record);
    let changes: [Change; 5] = [
        |r| r.command += " ",
        |r| r.variants[1].check = Check::Passed,
        |r| r.variants[0].sanitizer = Sanitizer::Clean("memcheck".to_owned()),
        |r| r.sittings[0].driver = "590".to_owned(),
        |r| r.figures[0].set_aside.push(SetAside { session: 0, count: 1, reason: "slow".to_owned() }),
    ];
    for change in changes {
        let mut record = record();
        change(&mut record);
        let faults = rules::faults(&record, &manifest());
        assert!(faults.len() == 1 && faults[0].contains("digest"), "{faults:?}");
    }
    let mut record = record();
    record.figures[0].median = Some(1.0);
    let faults = rules::faults(&record, &manifest());
    assert!(faults.iter().any(|f| f.contains("its median reads 1, its samples give 101")), "{faults:?}");
}
