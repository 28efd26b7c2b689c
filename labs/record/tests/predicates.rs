//! Each kind of predicate, decided both ways.

#![allow(clippy::unwrap_used, reason = "the helpers here fail as a test does")]

use labs_record::figure::{At, Coordinate, Figure, Kind, Samples, Unit};
use labs_record::record::Gpu;
use labs_record::{Claim, Evidence, Verdict};

fn figure(name: &str, size: u64, kind: Kind, samples: Vec<Samples>) -> Figure {
    Figure {
        name: name.to_owned(),
        variant: None,
        at: At::from([("size".to_owned(), Coordinate::Number(size))]),
        unit: Unit::One,
        kind,
        median: None,
        samples,
        set_aside: Vec::new(),
    }
}

/// `a` is 10, 20, 40, 80 at sizes 1, 2, 4, 8; `b` is 10 everywhere, `wide` 9 to 12; `uneven` is 12 at size 1, and 9 or 14
/// at size 2; `seen` 3 of 1000 times.
fn figures() -> Vec<Figure> {
    let numbers = |values: &[f64]| values.iter().map(|value| Samples::Numbers(vec![*value])).collect();
    let mut all = Vec::new();
    for (size, a) in [(1, 10.0), (2, 20.0), (4, 40.0), (8, 80.0)] {
        all.push(figure("a", size, Kind::Duration, numbers(&[a, a])));
        all.push(figure("b", size, Kind::Duration, numbers(&[10.0, 10.0])));
        all.push(figure("wide", size, Kind::Duration, numbers(&[9.0, 12.0])));
    }
    all.push(figure("uneven", 1, Kind::Duration, numbers(&[12.0, 12.0])));
    all.push(figure("uneven", 2, Kind::Duration, numbers(&[9.0, 14.0])));
    let tries = |seen| vec![Samples::Tries { seen, of: 500 }, Samples::Tries { seen: 0, of: 500 }];
    all.push(figure("seen", 1, Kind::Observation, tries(3)));
    all.push(figure("unseen", 1, Kind::Observation, tries(0)));
    all
}

fn judge(predicate: &str) -> Verdict {
    let text = format!(
        "id: c\nstatement: s\npredicate: {predicate}\n\
         wording: {{holds: h, fails: f, too_close: t, not_applicable: a, not_measured: m}}\n"
    );
    let claim: Claim = serde_yaml::from_str(&text).unwrap();
    judge_claim(&claim)
}

fn judge_claim(claim: &Claim) -> Verdict {
    let gpu = Gpu {
        name: "Made-up".to_owned(),
        compute_capability: "7.5".to_owned(),
        sms: 1,
        l2_bytes: 1,
        memory_bytes: 1,
        ecc: None,
    };
    let figures = figures();
    Evidence { gpu: &gpu, figures: &figures, absent: &[] }.judge(claim).verdict
}

/// `predicate` with the fields of `changed` in place of its own.
fn with(predicate: &str, changed: &str) -> String {
    let mut fields: serde_yaml::Mapping = serde_yaml::from_str(predicate).unwrap();
    fields.extend(serde_yaml::from_str::<serde_yaml::Mapping>(&format!("{{{changed}}}")).unwrap());
    serde_json::to_string(&fields).unwrap()
}

#[test]
fn each_predicate_holds_and_fails() {
    let cases = [
        (
            "{is: faster, of: {figure: b, at: {size: 4}}, than: {figure: a, at: {size: 4}}, at_least: 4}",
            "at_least: 4.1",
        ),
        ("{is: at_least, of: {figure: a, at: {size: 4}}, threshold: 40}", "threshold: 41"),
        ("{is: at_most, of: {figure: a, at: {size: 4}}, threshold: 40}", "threshold: 39"),
        ("{is: at_most, of: {figure: a}, each: size, threshold: 80}", "threshold: 79"),
        (
            "{is: within, of: {figure: a, at: {size: 1}}, to: {figure: b, at: {size: 1}}, percent: 1}",
            "of: {figure: a, at: {size: 2}}",
        ),
        ("{is: flat, of: {figure: a}, along: size, until: 2, percent: 100}", "percent: 99"),
        ("{is: rises, of: {figure: a}, along: size, from: 2, factor: 4}", "factor: 4.1"),
        ("{is: rises, of: {figure: a}, along: size, from: 2, until: 4, factor: 2}", "factor: 4"),
        ("{is: rises, of: {figure: a}, along: size, factor: 2}", "of: {figure: b}"),
        ("{is: scales, of: {figure: a}, along: size, exponent: 1, tolerance: 0.01}", "exponent: 0.9"),
        ("{is: equal, of: {figure: b}, number: 10, each: size}", "number: 11"),
        (
            "{is: equal, of: {figure: a, at: {size: 1}}, to: {figure: b, at: {size: 1}}}",
            "of: {figure: a, at: {size: 2}}",
        ),
        ("{is: observed, of: {figure: seen}}", "of: {figure: unseen}"),
        ("{is: never_observed, of: {figure: unseen}, tries: 1000}", "of: {figure: seen}"),
    ];
    for (holds, changed) in cases {
        assert_eq!(judge(holds), Verdict::Holds, "{holds}");
        let fails = with(holds, changed);
        assert_eq!(judge(&fails), Verdict::Fails, "{fails}");
        let all = |second: &str| format!("{{is: all, parts: [{holds}, {second}]}}");
        assert_eq!(judge(&all(holds)), Verdict::Holds, "{holds}");
        assert_eq!(judge(&all(&fails)), Verdict::Fails, "{fails}");
    }
}

#[test]
fn what_the_sessions_do_not_separate_is_too_close() {
    let cases = [
        "{is: faster, of: {figure: wide, at: {size: 1}}, than: {figure: b, at: {size: 1}}, at_least: 1}",
        "{is: at_least, of: {figure: wide, at: {size: 1}}, threshold: 10}",
        "{is: at_most, of: {figure: wide, at: {size: 1}}, threshold: 10}",
        "{is: within, of: {figure: wide, at: {size: 1}}, to: {figure: b, at: {size: 1}}, percent: 15}",
        "{is: flat, of: {figure: wide}, along: size, percent: 10}",
        "{is: flat, of: {figure: uneven}, along: size, percent: 40}",
        "{is: rises, of: {figure: wide}, along: size, factor: 1.2}",
        "{is: scales, of: {figure: wide}, along: size, exponent: 0, tolerance: 0.05}",
    ];
    for case in cases {
        assert_eq!(judge(case), Verdict::TooClose, "{case}");
    }
}

#[test]
fn what_says_nothing_is_not_measured() {
    let cases = [
        "{is: at_least, of: {figure: missing}, threshold: 10}",
        "{is: at_least, of: {figure: a}, threshold: 10}",
        "{is: rises, of: {figure: a}, along: size, from: 8, factor: 2}",
        "{is: equal, of: {figure: b, at: {size: 1}}}",
        "{is: never_observed, of: {figure: unseen}, tries: 1001}",
        "{is: observed, of: {figure: a, at: {size: 1}}}",
        "{is: at_least, of: {ratio: {of: {figure: a, at: {size: 1}}, to: {figure: unseen}}}, threshold: 1}",
    ];
    for case in cases {
        assert_eq!(judge(case), Verdict::NotMeasured, "{case}");
    }
}

#[test]
fn what_the_gpu_lacks_is_not_applicable() {
    let text = "id: c\nstatement: s\nneeds_compute_capability: '9.0'\n\
                predicate: {is: at_least, of: {figure: a, at: {size: 1}}, threshold: 10}\n\
                wording: {holds: h, fails: f, too_close: t, not_applicable: a, not_measured: m}\n";
    let mut claim: Claim = serde_yaml::from_str(text).unwrap();
    assert_eq!(judge_claim(&claim), Verdict::NotApplicable);
    claim.needs_compute_capability = Some("7.5".to_owned());
    assert_eq!(judge_claim(&claim), Verdict::Holds);
}
