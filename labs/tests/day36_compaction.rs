//! day36 on the simulator: every slot right at any size and rate, counts as declared, and spoiled kernels refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use labs::backend::Image;
use labs::backend::sim::Sim;
use labs::code::{self, Code};
use labs::lab::{self, Lab};
use labs::session::{self, Job, Report};
use labs_record::Coordinate;
use labs_record::figure::Samples;
use labs_record::record::{Check, Outcome};
use labs_simt::{Options, Order};

const RATES: [&str; 4] = ["1/32", "1/8", "1/2", "7/8"];

fn compaction() -> &'static dyn Lab {
    lab::find("day36").unwrap()
}

fn job(sizes: &[u64], rates: &[&str], variants: &[&str]) -> Job {
    let sizes = sizes.iter().map(|size| Coordinate::Number(*size)).collect();
    let rates = rates.iter().map(|rate| Coordinate::from(*rate)).collect();
    Job {
        lab: compaction().stem().to_owned(),
        variants: variants.iter().map(|name| (*name).to_owned()).collect(),
        places: BTreeMap::from([("size".to_owned(), sizes), ("rate".to_owned(), rates)]),
        samples: None,
        seed: 3,
        kernel: None,
        pinned: false,
        only_check: false,
    }
}

fn correct() -> Vec<&'static str> {
    let variants = compaction().variants().iter();
    variants.filter(|variant| variant.declared == Outcome::Correct).map(|variant| variant.name).collect()
}

fn shipped() -> Code {
    code::for_simulator(compaction(), None, 90).unwrap()
}

fn run(job: &Job, code: Code, options: Options) -> Report {
    let mut sim = Sim::new(options, false);
    session::run(job, compaction(), &mut sim, code, true, &mut |_| {}).unwrap()
}

/// Why a variant was refused; nothing if it passed.
fn refusal(report: &Report, variant: &str) -> Option<String> {
    let (_, check, reason) = report.findings.checks.iter().find(|(name, ..)| name == variant).unwrap();
    (*check == Check::Refused).then(|| reason.clone().unwrap_or_default())
}

/// The lab's PTX with one line of one kernel replaced: the last that holds `mark`.
fn spoiled(kernel: &str, mark: &str, edit: impl Fn(&str) -> String) -> Code {
    let mut code = shipped();
    let Some(Image::Ptx(text)) = code.images.last_mut() else { panic!("the simulator runs PTX") };
    let begin = text.find(&format!(".entry {kernel}(")).unwrap();
    let end = begin + text[begin..].find("\n}").unwrap();
    let at = begin + text[begin..end].rfind(mark).unwrap();
    let line_end = at + text[at..].find('\n').unwrap();
    let edited = edit(&text[at..line_end]);
    text.replace_range(at..line_end, &edited);
    code
}

#[test]
fn every_kept_element_has_a_slot_at_any_size_and_rate() {
    let sizes = [0, 1, 31, 32, 33, 255, 257, 4_095, 4_096, 4_097, 12_345];
    for order in [Order::Fair, Order::Shuffled, Order::Adversarial] {
        let options = Options { order, seed: 5, ..Options::default() };
        let report = run(&job(&sizes, &RATES, &correct()), shipped(), options);
        for variant in correct() {
            assert_eq!(refusal(&report, variant), None, "{variant}, {order:?}");
        }
    }
}

#[test]
fn the_lab_counts_the_global_atomics_that_the_simulator_counts() {
    let (sizes, variants) = ([0, 1, 257, 5_000], correct());
    let report = run(&job(&sizes, &RATES, &variants), shipped(), Options::default());
    let mut compared = 0;
    for figure in report.findings.figures.iter().filter(|figure| figure.name == "global_atomics") {
        let variant = figure.variant.clone().unwrap();
        let counted =
            report.findings.counts.iter().find(|(name, at, _)| *name == variant && *at == figure.at);
        assert_eq!(
            number(&figure.samples),
            counted.unwrap().2.global_atomics as f64,
            "{}",
            figure.describe()
        );
        compared += 1;
    }
    assert_eq!(compared, sizes.len() * RATES.len() * variants.len());
}

fn number(samples: &[Samples]) -> f64 {
    let Samples::Numbers(numbers) = &samples[0] else { panic!("a count is a number") };
    numbers[0]
}

#[test]
fn the_compiler_folds_what_it_can_see_and_nothing_else() {
    let report = run(
        &job(&[8_192], &["1/8"], &["per_element", "per_element_unfolded", "per_warp"]),
        shipped(),
        Options::default(),
    );
    let counts = |name: &str| report.findings.counts.iter().find(|(variant, ..)| variant == name).unwrap().2;
    assert_eq!(counts("per_element").global_after_folding, counts("per_warp").global_atomics);
    assert_eq!(counts("per_element_unfolded").global_after_folding, counts("per_element").global_atomics);
    assert!(counts("per_element").global_atomics > 2 * counts("per_warp").global_atomics);
}

#[test]
fn what_the_queue_refuses_is_counted() {
    let report = run(&job(&[4_096], &["1/2"], &["bounded_queue"]), shipped(), Options::default());
    let figure = |name: &str| {
        number(&report.findings.figures.iter().find(|figure| figure.name == name).unwrap().samples)
    };
    assert_eq!((figure("kept"), figure("overflowed")), (1_536.0, 512.0));
}

#[test]
fn a_lane_that_does_not_count_those_below_it_is_refused() {
    // The number of lanes below is always 0: the counter is right, and the slots are not.
    let code = spoiled("per_warp", "popc.b32", |line| {
        let target = line.split([' ', '\t', ',']).find(|word| word.starts_with('%')).unwrap();
        format!("mov.u32 {target}, 0;")
    });
    let report = run(&job(&[1_000], &["1/2"], &["per_warp", "per_block"]), code, Options::default());
    assert_eq!(refusal(&report, "per_warp").unwrap(), "at size 1000 slot 1 was never written");
    assert_eq!(refusal(&report, "per_block"), None);
    assert!(!report.findings.figures.iter().any(|figure| figure.variant.as_deref() == Some("per_warp")));
}

#[test]
fn a_queue_that_writes_past_its_end_is_refused() {
    let code = spoiled("bounded_queue", "setp.ge.u64", |line| line.replace("setp.ge.u64", "setp.gt.u64"));
    let report = run(&job(&[1_000], &["1/2"], &["bounded_queue"]), code, Options::default());
    let told = refusal(&report, "bounded_queue").unwrap();
    assert!(told.contains("is beyond the last, and holds"), "{told}");
}

#[test]
fn correct_variants_do_not_race_and_the_reread_counter_does() {
    for variant in compaction().variants() {
        let mut sim = Sim::new(Options { order: Order::Shuffled, seed: 2, ..Options::default() }, true);
        let mut job = job(&[5_000], &["1/8"], &[variant.name]);
        job.only_check = true;
        session::run(&job, compaction(), &mut sim, shipped(), true, &mut |_| {}).unwrap();
        let races = sim.races().unwrap().races;
        assert_eq!(races.is_empty(), variant.declared == Outcome::Correct, "{}: {races:?}", variant.name);
    }
}
