//! The model agrees with every published verdict of `published.txt`, and would not if it lacked an axiom or a scope.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use labs_oracle::{Axiom, Model, Test, Verdict};

struct Published {
    name: String,
    source: String,
    text: String,
    allowed: bool,
}

/// The tests of the file, as they stand there.
fn published() -> Vec<Published> {
    let text: String = include_str!("published.txt")
        .lines()
        .filter(|line| !line.starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let blocks = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
    blocks
        .map(|block| {
            let mut lines = block.lines();
            let mut head =
                |word: &str| lines.next().and_then(|line| line.strip_prefix(word)).map(str::to_owned);
            let (name, source) = (head("test ").expect("a name"), head("source ").expect("a source"));
            let allowed = block.contains("\nallowed ");
            assert_ne!(allowed, block.contains("\nforbidden "), "{name}: one verdict");
            let verdict = if allowed { "allowed " } else { "forbidden " };
            let text = lines.collect::<Vec<_>>().join("\n").replace(verdict, "outcome ");
            Published { name, source, text, allowed }
        })
        .collect()
}

fn judge(model: &Model, name: &str, text: &str) -> Verdict {
    let test = Test::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    model.judge(&test).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Names of the tests on which this model, on texts changed like this, does not agree.
fn disagreements(model: &Model, change: impl Fn(&str) -> String) -> Vec<String> {
    let agrees =
        |test: &Published| judge(model, &test.name, &change(&test.text)).is_allowed() == test.allowed;
    published().into_iter().filter(|test| !agrees(test)).map(|test| test.name).collect()
}

#[test]
fn the_model_agrees_with_every_published_verdict() {
    let tests = published();
    assert!(tests.len() >= 80, "{} tests", tests.len());
    let disagreements: Vec<String> = tests
        .iter()
        .map(|test| (test, judge(&Model::ptx(), &test.name, &test.text)))
        .filter(|(test, verdict)| verdict.is_allowed() != test.allowed)
        .map(|(test, verdict)| format!("{} ({}): {verdict:?}", test.name, test.source))
        .collect();
    assert_eq!(disagreements, Vec::<String>::new());
}

#[test]
fn names_are_unique_and_every_source_is_one_of_four() {
    let tests = published();
    let mut names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), tests.len());
    for test in &tests {
        let source = test.source.split(' ').next().unwrap_or_default();
        assert!(["isa", "nvlabs", "goens", "dat3m"].contains(&source), "{}: {}", test.name, test.source);
    }
}

#[test]
fn a_test_reads_back_as_it_is_written() {
    for test in published() {
        let read = Test::parse(&test.text).unwrap_or_else(|error| panic!("{}: {error}", test.name));
        assert_eq!(Test::parse(&read.to_string()), Ok(read), "{}", test.name);
    }
}

/// Each axiom is missed: without it, a verdict is wrong. Two are not, by their nature. *SC per location* follows from
/// the others since program order is part of base causality order; without both it is missed. *Fence-SC* rules out
/// orders of fences that contradict base causality, and those only add to what is forbidden; that it is asked at all is
/// seen in the cycles (`tests/model.rs`).
#[test]
fn without_an_axiom_published_verdicts_are_missed() {
    for axiom in [Axiom::NoThinAir, Axiom::Atomicity, Axiom::Coherence, Axiom::Causality] {
        let missed = disagreements(&Model::ptx().without(axiom), str::to_owned);
        assert!(!missed.is_empty(), "nothing is missed without {axiom}");
    }
    for axiom in [Axiom::ScPerLocation, Axiom::FenceSc] {
        let missed = disagreements(&Model::ptx().without(axiom), str::to_owned);
        assert_eq!(missed, Vec::<String>::new(), "{axiom} is missed after all: say so here");
    }
    let without_causality = Model::ptx().without(Axiom::Causality);
    let co_rr = |model: &Model| judge(model, "CoRR", &of("CoRR")).is_allowed();
    assert!(!co_rr(&without_causality), "SC per location forbids CoRR by itself");
    assert!(co_rr(&without_causality.without(Axiom::ScPerLocation)));
}

fn of(name: &str) -> String {
    published()
        .into_iter()
        .find(|test| test.name == name)
        .map(|test| test.text)
        .expect("there is such a test")
}

#[test]
fn without_scopes_or_orders_published_verdicts_are_missed() {
    let wider = disagreements(&Model::ptx(), |text| text.replace(".cta", ".sys"));
    assert!(wider.iter().any(|name| name == "MP_fence_cta"), "{wider:?}");
    let narrower = disagreements(&Model::ptx(), |text| text.replace(".gpu", ".cta").replace(".sys", ".cta"));
    assert!(narrower.iter().any(|name| name == "MP_gpu"), "{narrower:?}");
    let relaxed = disagreements(&Model::ptx(), |text| {
        text.replace("ld.acquire", "ld.relaxed").replace("st.release", "st.relaxed")
    });
    assert!(relaxed.iter().any(|name| name == "MP_rel_acq"), "{relaxed:?}");
    let lighter = disagreements(&Model::ptx(), |text| text.replace("fence.sc", "fence.acq_rel"));
    assert!(lighter.iter().any(|name| name == "SB+fence.sc"), "{lighter:?}");
}
