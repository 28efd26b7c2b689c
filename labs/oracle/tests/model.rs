//! What verdicts carry, and what the published tests do not cover: clusters, the host, data races, odd input.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use labs_oracle::{Axiom, Model, Test, Verdict};

fn judge(text: &str) -> Verdict {
    let test = Test::parse(text).unwrap_or_else(|error| panic!("{error}"));
    Model::ptx().judge(&test).unwrap_or_else(|error| panic!("{error}"))
}

fn allowed(text: &str) -> bool {
    judge(text).is_allowed()
}

/// Message passing with this scope on both sides, from a thread in one place to one in another.
fn message(from: &str, to: &str, scope: &str) -> bool {
    allowed(&format!(
        "{from}: st.weak [x], 1; st.release.{scope} [f], 1
         {to}: ld.acquire.{scope} r0, [f]; ld.weak r1, [x]
         outcome r0 == 1 & r1 == 0"
    ))
}

/// The scope must reach as far as the message goes.
#[test]
fn a_message_is_lost_where_the_scope_does_not_reach() {
    let [here, block, cluster, gpu, host] =
        ["cluster 0 cta 0", "cluster 0 cta 1", "cluster 1 cta 2", "gpu 1 cta 0", "host"];
    let cases = [
        (here, [false, false, false, false]),
        (block, [true, false, false, false]),
        (cluster, [true, true, false, false]),
        (gpu, [true, true, true, false]),
        (host, [true, true, true, false]),
    ];
    for (to, lost) in cases {
        let found = ["cta", "cluster", "gpu", "sys"].map(|scope| message(here, to, scope));
        assert_eq!(found, lost, "to {to}");
    }
    assert!(message("cta 0", "cta 1", "cluster"), "blocks without a cluster are clusters of their own");
}

#[test]
fn a_barrier_orders_a_block_and_a_cluster_barrier_a_cluster() {
    let passing = |from: &str, to: &str, barrier: &str| {
        allowed(&format!(
            "{from}: st.weak [x], 1; {barrier}
             {to}: {barrier}; ld.weak r0, [x]
             outcome r0 == 0"
        ))
    };
    assert!(!passing("cta 0", "cta 0", "bar.sync 0"));
    assert!(passing("cluster 0 cta 0", "cluster 0 cta 1", "bar.sync 0"));
    assert!(!passing("cluster 0 cta 0", "cluster 0 cta 1", "barrier.cluster"));
    assert!(passing("cluster 0 cta 0", "cluster 1 cta 1", "barrier.cluster"));
}

#[test]
fn a_forbidden_outcome_comes_with_its_cycle() {
    let verdict = judge(
        "cta 0: st.weak [x], 1; st.release.gpu [f], 1
         cta 1: ld.acquire.gpu r0, [f]; ld.weak r1, [x]
         outcome r0 == 1 & r1 == 0",
    );
    let Verdict::Forbidden(refutations) = verdict else { panic!("allowed") };
    let [refutation] = refutations.as_slice() else { panic!("{refutations:?}") };
    assert_eq!(refutation.axiom, Axiom::Causality);
    let expected = "Causality forbids:
            T1 ld.weak r1, [x]
        fr  T0 st.weak [x], 1
        po  T0 st.release.gpu [f], 1
      sync  T1 ld.acquire.gpu r0, [f]
        po  T1 ld.weak r1, [x]";
    assert_eq!(refutation.to_string(), expected);
}

/// A cycle closes: it ends where it starts, and has at least two steps.
#[test]
fn every_kind_of_cycle_closes() {
    for (text, axiom) in [
        (
            "cta 0: ld.weak r0, [x]; st.weak [y], r0\ncta 1: ld.weak r1, [y]; st.weak [x], r1\noutcome r0 == 7",
            Axiom::NoThinAir,
        ),
        (
            "cta 0: red.relaxed.gpu.add [x], 1\ncta 1: red.relaxed.gpu.add [x], 1\noutcome x == 1",
            Axiom::Atomicity,
        ),
        (
            "cta 0: st.weak [x], 1; st.release.gpu [f], 1\ncta 1: ld.acquire.gpu r0, [f]; st.weak [x], 2\noutcome r0 == 1 & x == 1",
            Axiom::Coherence,
        ),
        (
            "cta 0: st.relaxed.gpu [x], 1; st.release.gpu [f], 1\ncta 1: ld.acquire.gpu r0, [f]; st.relaxed.gpu [x], 2\noutcome r0 == 1 & x == 1",
            Axiom::Coherence,
        ),
        (
            "cta 0: st.weak [x], 1; fence.sc.gpu; st.relaxed.gpu [y], 1\ncta 1: ld.relaxed.gpu r0, [y]; fence.sc.gpu; ld.weak r1, [x]\noutcome r0 == 1 & r1 == 0",
            Axiom::FenceSc,
        ),
    ] {
        match judge(text) {
            Verdict::Forbidden(refutations) => {
                for refutation in &refutations {
                    let end = refutation.cycle.last().map(|step| &step.event);
                    assert_eq!(end, Some(&refutation.start), "{refutation}");
                    assert!(refutation.cycle.len() >= 2, "{refutation}");
                }
                let told = refutations.iter().any(|refutation| refutation.axiom == axiom);
                assert!(told, "{text}: no {axiom} in {refutations:?}");
            }
            Verdict::Allowed(witness) => panic!("{text}: {witness:?}"),
        }
    }
}

#[test]
fn values_no_execution_gives_are_forbidden_without_a_cycle() {
    assert_eq!(judge("cta 0: ld.weak r0, [x]\noutcome r0 == 3"), Verdict::Forbidden(Vec::new()));
    assert!(allowed("cta 0: ld.weak r0, [x]\ninitial x = 3\noutcome r0 == 3"));
}

#[test]
fn races_are_conflicts_that_nothing_orders() {
    let race = |text: &str| {
        let test = Test::parse(text).unwrap_or_else(|error| panic!("{error}"));
        Model::ptx().race(&test).unwrap_or_else(|error| panic!("{error}"))
    };
    // A reader that looks at the data whether or not it saw the flag races even where the message is safe.
    let message = "cta 0: st.relaxed.gpu [x], 1; st.release.gpu [f], 1
        cta 1: ld.acquire.gpu r0, [f]; ld.relaxed.gpu r1, [x]
        outcome r0 == 1";
    assert_eq!(race(message), None);
    assert!(race(&message.replace(".gpu", ".cta")).is_some(), "block scope between blocks");
    assert!(race(&message.replace("relaxed.gpu", "weak")).is_some(), "the data are read in any case");
    assert_eq!(
        race("cta 0: st.weak [x], 1; bar.sync 0\ncta 0: bar.sync 0; ld.weak r0, [x]\noutcome r0 == 1"),
        None
    );
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let refused = |text: &str| {
        let test = Test::parse(text).unwrap_or_else(|error| panic!("{error}"));
        Model::ptx().judge(&test).expect_err("refused").to_string()
    };
    assert!(refused("cta 0: ld.weak r0, [x]\noutcome r1 == 0").contains("`r1`"));
    assert!(refused("cta 0: ld.weak r0, [x]\noutcome y == 0").contains("`y`"));
    assert!(refused("cta 0: st.weak [x], r0\noutcome x == 0").contains("r0 holds nothing"));
    assert!(refused("cta 0: ld.weak r0, [x]\ninitial z = 1\noutcome r0 == 0").contains("`initial z`"));
    let many = format!("cta 0: {}\noutcome x == 1", "st.weak [x], 1; ".repeat(70));
    assert!(refused(&many).contains("at most 64"));
}
