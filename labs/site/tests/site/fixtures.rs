//! Writes the fixtures that carry hashes, and checks that they are what the tests take them for.

use std::path::{Path, PathBuf};

use labs_record::agreement::{
    Agreement, Counter, Counters, KernelAgreement, LabAgreement, Profile, ResultAgreement, VariantAgreement,
};
use labs_record::figure::{Figure, Kind, Samples, SetAside, Unit};
use labs_record::manifest::{FigureEntry, LabEntry, Manifest, VariantEntry};
use labs_record::record::{
    Absent, Check, Compiler, Gpu, Instruction, Kernel, Outcome, Reading, Record, Sanitizer, Session, Sitting,
    Variant,
};
use labs_record::rules::{Status, faults, status};
use labs_record::{At, store};

const LAB: &str = "day99_pair";

fn course() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course")
}

fn compiler() -> Compiler {
    Compiler { name: "nvrtc".to_owned(), version: "0.0.1".to_owned(), options: vec!["--made-up".to_owned()] }
}

fn manifest() -> Manifest {
    let variant = |name: &str, idea: &str| VariantEntry {
        name: name.to_owned(),
        declared: Outcome::Correct,
        idea: idea.to_owned(),
        kernels: vec![name.to_owned()],
    };
    let lab = LabEntry {
        part: 1,
        question: "Which of two made-up kernels is *faster*?".to_owned(),
        protocol: "made-up-protocol".to_owned(),
        variants: vec![variant("slow", "adds for itself"), variant("fast", "adds for its `block`")],
        figures: vec![
            FigureEntry::duration("time", "made-up time"),
            FigureEntry::exact("adds", "made-up adds"),
            FigureEntry::duration("lost", "made-up lost").optional(),
        ],
    };
    let code = ["slow", "fast"].map(|name| (name.to_owned(), format!("code-of-{name}"))).into();
    Manifest {
        schema: 1,
        compiler: compiler(),
        labs: [(LAB.to_owned(), lab)].into(),
        code: [(LAB.to_owned(), [("sm_90".to_owned(), code)].into())].into(),
    }
}

/// Times that grow with the size, and the adds: one an element, or one for 256.
fn figures(slow_ns: f64, fast_ns: f64) -> Vec<Figure> {
    let figure = |name: &str, variant: &str, size: u64, unit, kind, session: Vec<f64>| Figure {
        name: name.to_owned(),
        variant: Some(variant.to_owned()),
        at: At::from([("size".to_owned(), size.into())]),
        unit,
        kind,
        median: None,
        samples: vec![Samples::Numbers(session); 3],
        set_aside: Vec::new(),
    };
    let mut figures = Vec::new();
    for (variant, ns) in [("slow", slow_ns), ("fast", fast_ns)] {
        for size in [4096, 65536] {
            let time: Vec<f64> = (0..10).map(|i| ns * size as f64 / 4096.0 + f64::from(i)).collect();
            figures.push(figure("time", variant, size, Unit::Nanoseconds, Kind::Duration, time));
            let adds = if variant == "slow" { size as f64 } else { size as f64 / 256.0 };
            figures.push(figure("adds", variant, size, Unit::Count, Kind::Exact, vec![adds]));
        }
    }
    figures[0].set_aside = vec![SetAside { session: 0, count: 2, reason: "a <b>slow</b> clock".to_owned() }];
    figures
}

fn session(seed: u64) -> Session {
    let reading = || Reading::Seen { min: 1000.0, median: 1500.0, max: 1600.0 };
    Session {
        seed,
        seconds: 1.0,
        sm_clock_mhz: reading(),
        memory_clock_mhz: reading(),
        power_w: Reading::Absent("not readable: a <i>made-up</i> reason".to_owned()),
        temperature_c: reading(),
    }
}

fn variant(name: &str) -> Variant {
    let kernel = Kernel {
        name: name.to_owned(),
        machine_code: format!("code-of-{name}"),
        instructions: vec![Instruction { opcode: "RED.E.ADD.STRONG.GPU".to_owned(), line: Some(3) }],
        registers: 8,
        shared_bytes: 0,
        local_bytes: 0,
        block_threads: 256,
        blocks_per_sm: 8,
        occupancy: 1.0,
    };
    Variant {
        name: name.to_owned(),
        declared: Outcome::Correct,
        check: Check::Passed,
        sanitizer: Sanitizer::Absent("<script>alert(1)</script> was not run".to_owned()),
        kernels: vec![kernel],
    }
}

fn record(name: &str, compute_capability: &str, slow_ns: f64, fast_ns: f64) -> Record {
    let mut record = Record {
        schema: 1,
        lab: LAB.to_owned(),
        command: "labs verify day99".to_owned(),
        gpu: Gpu {
            name: name.to_owned(),
            compute_capability: compute_capability.to_owned(),
            sms: 4,
            l2_bytes: 1 << 20,
            memory_bytes: 1 << 30,
            ecc: None,
        },
        compiler: compiler(),
        sources: "made-up".to_owned(),
        protocol: "made-up-protocol".to_owned(),
        sittings: vec![Sitting {
            started: "2026-01-02T03:04:05Z".to_owned(),
            driver: "1.2.3".to_owned(),
            sources: None,
            sessions: (0..3).map(session).collect(),
        }],
        variants: vec![variant("slow"), variant("fast")],
        peers: Vec::new(),
        absent: vec![Absent {
            what: "lost".to_owned(),
            why: "it was <u>lost</u> {{#include /etc/passwd}}".to_owned(),
        }],
        figures: figures(slow_ns, fast_ns),
        digest: String::new(),
    };
    record.seal();
    record
}

fn all() -> [(&'static str, Record); 2] {
    [
        ("made-up-gpu-one", record("Made-up GPU One", "9.0", 17_000.0, 4_000.0)),
        ("made-up-gpu-two", record("Made-up GPU Two", "7.5", 5_000.0, 4_000.0)),
    ]
}

/// One result a variant, and three counters of one kernel: right, wrong, and without a prediction.
fn agreement() -> Agreement {
    let at = At::from([("size".to_owned(), 4096.into())]);
    let result = |within| ResultAgreement { name: "total".to_owned(), at: at.clone(), within, differs: None };
    let variant = |name: &str, within| VariantAgreement {
        name: name.to_owned(),
        declared: Outcome::Correct,
        hardware: Some(Check::Passed),
        simulator: Some(Check::Passed),
        refusal: None,
        results: vec![result(within)],
    };
    let counter = |name: &str, predicted, counted| Counter { name: name.to_owned(), predicted, counted };
    let kernel = KernelAgreement {
        kernel: "slow".to_owned(),
        variant: "slow".to_owned(),
        at: at.clone(),
        launches: 1,
        counters: vec![
            counter("loads.sum", Some(128), Some(128)),
            counter("reds.sum", Some(128), Some(4096)),
            counter("arrivals.sum", None, Some(6144)),
        ],
    };
    let lab = LabAgreement {
        lab: LAB.to_owned(),
        started: "2026-01-03T03:04:05Z".to_owned(),
        driver: "1.2.3".to_owned(),
        compiler: compiler(),
        sources: "made-up".to_owned(),
        protocol: "made-up-protocol".to_owned(),
        machine_code: ["slow", "fast"].map(|name| (name.to_owned(), format!("code-of-{name}"))).into(),
        seed: 1,
        variants: vec![variant("slow", None), variant("fast", Some(0.25))],
        absent: Vec::new(),
        counters: Counters::Read(Profile {
            profiler: "a <b>made-up</b> profiler".to_owned(),
            kernels: vec![kernel],
            unmatched: Vec::new(),
        }),
    };
    let mut agreement = Agreement::new(all()[0].1.gpu.clone());
    agreement.put(lab);
    agreement
}

#[test]
#[ignore = "writes tests/fixtures; run it after a change of the schema or of this file"]
fn write() {
    store::write(&course().join("kernels/manifest.yaml"), &manifest()).unwrap();
    for (slug, record) in all() {
        store::write(&course().join(format!("verification/{slug}/{LAB}.yaml")), &record).unwrap();
    }
    store::write(&course().join("verification/agreement/made-up-gpu-one.yaml"), &agreement()).unwrap();
}

#[test]
fn fixtures_are_as_written_here_and_verified() {
    let read: Manifest = store::read(&course().join("kernels/manifest.yaml"), "manifest").unwrap();
    assert_eq!(read, manifest());
    for (slug, record) in all() {
        let path = course().join(format!("verification/{slug}/{LAB}.yaml"));
        assert_eq!(store::read_record(&path).unwrap(), record, "{slug}");
        assert_eq!(faults(&record, &read), Vec::<String>::new());
        assert_eq!(status(&record, &read), Status::Verified);
    }
    let path = course().join("verification/agreement/made-up-gpu-one.yaml");
    assert_eq!(store::read_agreement(&path).unwrap(), agreement());
    assert_eq!(agreement().faults(&read), Vec::<String>::new());
}
