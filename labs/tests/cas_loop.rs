//! Compare-and-swap loops on the simulator: exact numbers of retries, right words under every schedule, windows that
//! close, and kernels that lose an update refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use anyhow::Result;
use labs::backend::sim::Sim;
use labs::backend::{Backend, Buffer, Counts, Device, Image, Resources, Step};
use labs::code::{self, Code};
use labs::lab::{self, Lab};
use labs::session::{self, Job, Report};
use labs_record::Coordinate;
use labs_record::figure::{Figure, Samples};
use labs_record::record::{Check, Outcome};
use labs_simt::{Options, Order};

fn lab() -> &'static dyn Lab {
    lab::find("day28").unwrap()
}

fn code() -> Code {
    code::for_simulator(lab(), None, 90).unwrap()
}

fn job(contenders: &[u64]) -> Job {
    let contenders = contenders.iter().map(|n| Coordinate::Number(*n)).collect();
    Job {
        lab: lab().stem().to_owned(),
        variants: Vec::new(),
        places: BTreeMap::from([("contenders".to_owned(), contenders)]),
        samples: None,
        seed: 5,
        kernel: None,
        pinned: false,
        only_check: false,
    }
}

fn run(job: &Job, code: Code, options: Options) -> Report {
    let mut sim = Sim::new(options, false);
    session::run(job, lab(), &mut sim, code, true, &mut |_| {}).unwrap()
}

/// Swaps asked for and swaps failed, by variant, on words `one` or `own`.
fn swaps(report: &Report, variant: &str, words: &str) -> (u64, u64) {
    let here = report
        .findings
        .counts
        .iter()
        .find(|(name, at, _)| name == variant && at.get("words") == Some(&Coordinate::from(words)));
    let counts = here.unwrap().2;
    (counts.global_atomics, counts.failed_swaps)
}

/// What the checks refused, without the variant that is wrong on purpose.
fn refused(report: &Report) -> Vec<(&str, &str)> {
    let wrong = |name: &str| lab().variants().iter().any(|v| v.name == name && v.declared == Outcome::Wrong);
    let checks = report.findings.checks.iter();
    checks
        .filter(|(name, check, _)| *check == Check::Refused && !wrong(name))
        .map(|(name, _, reason)| (name.as_str(), reason.as_deref().unwrap_or_default()))
        .collect()
}

#[test]
fn retries_in_one_warp_are_those_of_the_arithmetic() {
    let report = run(&job(&[32]), code(), Options::default());
    // Of 32 lanes one succeeds, then of 31, and so on; and that for each of two updates.
    let swapped = 2 * 32;
    for variant in ["cas_add", "cas_multiply", "cas_xor"] {
        assert_eq!(swaps(&report, variant, "one"), (2 * 32 * 33 / 2, 2 * 32 * 33 / 2 - swapped), "{variant}");
    }
    assert_eq!(swaps(&report, "cas_add", "own"), (swapped, 0), "nobody comes between on a word of one's own");
    assert_eq!(swaps(&report, "exchange", "one"), (swapped, 0));
    assert_eq!(swaps(&report, "warp_then_cas", "one"), (2, 0), "one swap for 32 lanes");
}

#[test]
fn what_does_not_converge_retries_more_than_what_does() {
    let report = run(&job(&[64]), code(), Options::default());
    let (xor, max) = (swaps(&report, "cas_xor", "one").1, swaps(&report, "cas_float_max", "one").1);
    assert!(xor > 10 * max, "xor {xor}, max {max}");
    let backoff = swaps(&report, "cas_backoff", "one").1;
    assert!(backoff < swaps(&report, "cas_add", "one").1, "{backoff}");
}

#[test]
fn words_are_right_under_every_schedule() {
    for order in [Order::Fair, Order::Shuffled, Order::Adversarial] {
        let options = Options { order, seed: 9, ..Options::default() };
        let mut job = job(&[0, 1, 3, 33, 70]);
        assert_eq!(refused(&run(&job, code(), options)), [], "{order:?}");
        job.places.insert("words".to_owned(), vec![Coordinate::from("own")]);
        assert_eq!(refused(&run(&job, code(), options)), [], "{order:?}, own words");
    }
}

/// The lab's PTX with its text changed, the way a slip of an edit would.
fn spoiled(change: impl Fn(&str) -> String) -> Code {
    let mut code = code();
    for image in &mut code.images {
        let Image::Ptx(text) = image else { panic!("the simulator runs PTX") };
        let changed = change(text);
        assert_ne!(changed, *text, "the PTX no longer holds what is to be changed");
        *text = changed;
    }
    code
}

#[test]
fn a_swap_that_does_not_compare_is_refused() {
    // `cas d, [a], seen, wanted` becomes `exch d, [a], wanted`.
    let code = spoiled(|text| {
        let unconditional = |line: &str| {
            let Some((before, operands)) = line.split_once("atom.global.cas.b32") else {
                return line.to_owned();
            };
            let parts: Vec<&str> = operands.split(',').collect();
            format!("{before}atom.global.exch.b32{},{},{}", parts[0], parts[1], parts[3])
        };
        text.lines().map(unconditional).collect::<Vec<_>>().join("\n")
    });
    // In step, lanes that lose would write what the winner wrote.
    let options = Options { order: Order::Shuffled, seed: 4, ..Options::default() };
    let report = run(&job(&[300]), code, options);
    let names: Vec<&str> = refused(&report).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        ["cas_add", "cas_multiply", "cas_xor", "cas_backoff", "warp_then_cas", "cas_float_max"]
    );
}

#[test]
fn another_function_than_the_one_named_is_refused() {
    let native = spoiled(|text| text.replace("atom.global.add.u32", "atom.global.max.u32"));
    let report = run(&job(&[33]), native, Options::default());
    let refusals = refused(&report);
    assert!(refusals.contains(&("native_add", "word 0 holds 1, and 66 updates make it 66")), "{refusals:?}");
    let lowest = spoiled(|text| text.replace("atom.global.max.u32", "atom.global.min.u32"));
    let report = run(&job(&[33]), lowest, Options::default());
    assert_eq!(refused(&report)[0].0, "ordered_max");
}

#[test]
fn the_wrong_maximum_is_caught_below_zero_with_a_single_contender() {
    let mut job = job(&[1]);
    job.variants = vec!["integer_max".to_owned()];
    let report = run(&job, code(), Options::default());
    let (_, check, reason) = &report.findings.checks[0];
    assert_eq!(*check, Check::Refused);
    assert!(reason.as_deref().unwrap().starts_with("of [-1.0, -2.0, -3.0]"), "{reason:?}");
}

#[test]
fn subtracting_is_an_add_and_multiplying_a_swap() {
    let text = lab().shipped().ptx[0].1;
    let atomics = |kernel: &str| {
        let start = text.find(&format!(".entry {kernel}(")).unwrap();
        let body = text[start..].split("\n}").next().unwrap();
        body.lines().filter(|line| line.contains("atom.")).map(str::trim).collect::<Vec<_>>()
    };
    let [subtract] = atomics("native_subtract")[..] else { panic!("one atomic") };
    assert!(subtract.starts_with("atom.global.add.u32") && subtract.ends_with(", -1;"), "{subtract}");
    let [multiply] = atomics("cas_multiply")[..] else { panic!("one atomic") };
    assert!(multiply.starts_with("atom.global.cas.b32"), "{multiply}");
}

/// The simulator, pretending that its clock is real: what a GPU does with the windows. An SM holds so many blocks.
struct Timed(Sim, u32);

impl Backend for Timed {
    fn device(&self) -> &Device {
        self.0.device()
    }

    fn load(&mut self, image: &Image) -> Result<()> {
        self.0.load(image)
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer> {
        self.0.allocate(bytes)
    }

    fn allocate_host(&mut self, bytes: u64) -> Result<Buffer> {
        self.0.allocate_host(bytes)
    }

    fn write(&mut self, buffer: Buffer, data: &[u8]) -> Result<()> {
        self.0.write(buffer, data)
    }

    fn read(&mut self, buffer: Buffer, data: &mut [u8]) -> Result<()> {
        self.0.read(buffer, data)
    }

    fn run(&mut self, steps: &[Step]) -> Result<()> {
        self.0.run(steps)
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn time(&mut self, before: &[Step], timed: &[Step]) -> Result<f64> {
        self.0.run(before)?;
        self.0.run(timed)?;
        Ok(2e6)
    }

    fn flush(&mut self) -> Result<Vec<Step>> {
        self.0.flush()
    }

    fn resources(&mut self, _kernel: &str, _block: u32) -> Result<Option<Resources>> {
        Ok(Some(Resources {
            registers: 32,
            shared_bytes: 0,
            local_bytes: 0,
            blocks_per_sm: self.1,
            threads_per_sm: 2048,
        }))
    }

    fn counts(&mut self) -> Option<Counts> {
        self.0.counts()
    }
}

fn timed(contenders: u64, blocks_per_sm: u32) -> Report {
    let mut job = job(&[contenders]);
    job.samples = Some(2);
    job.places.insert("words".to_owned(), vec![Coordinate::from("one")]);
    let mut timed = Timed(Sim::new(Options::default(), false), blocks_per_sm);
    session::run(&job, lab(), &mut timed, code(), false, &mut |_| {}).unwrap()
}

fn numbers<'a>(report: &'a Report, name: &str, variant: &str) -> &'a [f64] {
    let found = |figure: &&Figure| figure.name == name && figure.variant.as_deref() == Some(variant);
    let figure =
        report.findings.figures.iter().find(found).unwrap_or_else(|| panic!("no {name} of {variant}"));
    let Samples::Numbers(numbers) = &figure.samples[0] else { panic!("{name} is a number") };
    numbers
}

#[test]
fn a_window_closes_a_run_and_what_was_done_in_it_is_read() {
    let report = timed(40, 8);
    assert_eq!(refused(&report), []);
    for variant in lab().variants().iter().filter(|variant| variant.declared == Outcome::Correct) {
        let rates = numbers(&report, "updates_per_second", variant.name);
        assert_eq!(rates.len(), 2, "{}", variant.name);
        // Each thread had a window of 2 ms, in which this machine makes 4,000 round trips.
        assert!(rates.iter().all(|rate| (1e5..1e9).contains(rate)), "{}: {rates:?}", variant.name);
        let times = numbers(&report, "update_time", variant.name);
        assert!((times[0] * rates[0] / 1e9 - 40.0).abs() < 0.01, "{}: {times:?}", variant.name);
    }
    assert_eq!(numbers(&report, "retries", "native_add"), [0.0, 0.0]);
    let retries = numbers(&report, "retries", "cas_add");
    assert!(retries.iter().all(|retries| (10.0..40.0).contains(retries)), "{retries:?}");
    let wrong = report.findings.figures.iter().filter(|f| f.variant.as_deref() == Some("integer_max"));
    assert!(
        wrong.into_iter().all(|figure| figure.name == "special_inputs_right"),
        "what is wrong is not timed"
    );
}

#[test]
fn more_contenders_than_the_gpu_holds_are_checked_and_not_timed() {
    // 132 SMs of no block at all.
    let report = timed(40, 0);
    assert_eq!(refused(&report), []);
    assert_eq!(report.findings.checks.len(), lab().variants().len());
    assert!(report.findings.figures.iter().all(|figure| figure.name == "special_inputs_right"));
}
