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

/// An atomic that adds to a weak store of a thread which has seen the sum and then stored. Of the whole atomic the
/// chapter's sentence would forbid it; of its read, as in the Alloy form, it does not.
#[test]
fn an_atomic_is_a_read_and_a_write() {
    let program = "cta 0: ld.acquire.gpu r0, [x]; st.STORE [x], 3
         cta 1: atom.relaxed.gpu.add r1, [x], 10
         outcome r0 == 13 & r1 == 3";
    assert!(allowed(&program.replace("STORE", "weak")), "a race: the atomic and a weak store");
    assert!(!allowed(&program.replace("STORE", "relaxed.gpu")), "morally strong to each other");
}

/// Patterns, scopes and places that no published test has: allowed with the first words, forbidden with the second.
const ONE_WORD: [(&str, &str, &str); 10] = [
    // A second write to the flag carries the release on, a second read completes the acquire.
    (
        "cta 0: st.weak [x], 1; st.ORDER.gpu [f], 1; st.relaxed.gpu [f], 2
         cta 1: ld.acquire.gpu r0, [f]; ld.weak r1, [x]
         outcome r0 == 2 & r1 == 0",
        "ORDER=relaxed",
        "ORDER=release",
    ),
    (
        "cta 0: st.weak [x], 1; st.release.gpu [f], 1
         cta 1: ld.relaxed.gpu r0, [f]; ld.ORDER.gpu r1, [f]; ld.weak r2, [x]
         outcome r0 == 1 & r2 == 0",
        "ORDER=relaxed",
        "ORDER=acquire",
    ),
    // Fences on both sides: each must be of the right kind.
    (
        "cta 0: st.weak [x], 1; fence.ORDER.gpu; st.relaxed.gpu [f], 1
         cta 1: ld.relaxed.gpu r0, [f]; fence.acquire.gpu; ld.weak r1, [x]
         outcome r0 == 1 & r1 == 0",
        "ORDER=acquire",
        "ORDER=release",
    ),
    // The fence may not stand behind the write that it is to release.
    (
        "cta 0: ONE; TWO; st.relaxed.gpu [f], 1
         cta 1: ld.acquire.gpu r0, [f]; ld.weak r1, [x]
         outcome r0 == 1 & r1 == 0",
        "ONE=fence.release.gpu,TWO=st.weak [x]#1",
        "ONE=st.weak [x]#1,TWO=fence.release.gpu",
    ),
    // Handed on from the block to the device: the second thread's own release carries the first one's store.
    (
        "cta 0: st.weak [x], 1; st.release.cta [f], 1
         cta 0: ld.acquire.cta r0, [f]; st.release.SCOPE [g], 1
         cta 1: ld.acquire.gpu r1, [g]; ld.weak r2, [x]
         outcome r0 == 1 & r1 == 1 & r2 == 0",
        "SCOPE=cta",
        "SCOPE=gpu",
    ),
    // And on to the host, through four threads.
    (
        "cluster 0 cta 0: st.weak [x], 1; st.release.cluster [f], 1
         cluster 0 cta 1: ld.acquire.cluster r0, [f]; st.release.gpu [g], 1
         cluster 1 cta 2: ld.acquire.gpu r1, [g]; st.release.SCOPE [h], 1
         host: ld.acquire.sys r2, [h]; ld.weak r3, [x]
         outcome r0 == 1 & r1 == 1 & r2 == 1 & r3 == 0",
        "SCOPE=gpu",
        "SCOPE=sys",
    ),
    // Through an atomic of a third thread, which orders nothing itself; at block scope the chain breaks.
    (
        "cta 0: st.weak [x], 1; st.release.gpu [f], 1
         cta 1: red.relaxed.SCOPE.add [f], 10
         cta 2: ld.acquire.gpu r0, [f]; ld.weak r1, [x]
         outcome r0 == 11 & r1 == 0",
        "SCOPE=cta",
        "SCOPE=gpu",
    ),
    // A store in between breaks it: it is no atomic, and has to hand on itself what its thread has acquired.
    (
        "cta 0: st.weak [x], 1; st.release.gpu [f], 1
         cta 1: ld.ORDER.gpu r2, [f]; st.release.gpu [f], 2
         cta 2: ld.acquire.gpu r0, [f]; ld.weak r1, [x]
         outcome r2 == 1 & r0 == 2 & r1 == 0",
        "ORDER=relaxed",
        "ORDER=acquire",
    ),
    // fence.sc of two scopes: each must reach the other.
    (
        "cta 0: st.relaxed.gpu [x], 1; fence.sc.SCOPE; ld.relaxed.gpu r0, [y]
         cta 1: st.relaxed.gpu [y], 1; fence.sc.sys; ld.relaxed.gpu r1, [x]
         outcome r0 == 0 & r1 == 0",
        "SCOPE=cta",
        "SCOPE=gpu",
    ),
    // Three fences in a ring, of which one of another block would do: 3.SB.
    (
        "cta 0: st.relaxed.gpu [x], 1; fence.sc.gpu; ld.relaxed.gpu r0, [y]
         cta 1: st.relaxed.gpu [y], 1; fence.sc.gpu; ld.relaxed.gpu r1, [z]
         cta 2: st.relaxed.gpu [z], 1; fence.ORDER.gpu; ld.relaxed.gpu r2, [x]
         outcome r0 == 0 & r1 == 0 & r2 == 0",
        "ORDER=acq_rel",
        "ORDER=sc",
    ),
];

#[test]
fn one_word_decides() {
    for (text, weak, strong) in ONE_WORD {
        let with = |words: &str| {
            let words = words.split(',').filter_map(|word| word.split_once('='));
            let text = words.fold(text.to_owned(), |text, (name, word)| text.replace(name, word));
            text.replace('#', ", ")
        };
        assert!(allowed(&with(weak)), "forbidden: {}", with(weak));
        assert!(!allowed(&with(strong)), "allowed: {}", with(strong));
    }
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
    let shared = "cta 0: ld.weak r0, [x]\ncta 1: ld.weak r0, [x]\noutcome r0 == 0";
    assert!(refused(shared).contains("T0 and T1 both load r0"), "{}", refused(shared));
    let torn = "cluster 0 cta 0: ld.weak r0, [x]\ncluster 1 cta 0: ld.weak r1, [x]\noutcome r0 == 0";
    assert!(refused(torn).contains("a block is in one cluster"), "{}", refused(torn));
    let many = format!("cta 0: {}\noutcome x == 1", "st.weak [x], 1; ".repeat(70));
    assert!(refused(&many).contains("at most 64"));
}
