//! day40 on the simulator: right at any size in any order of blocks, and what a wrong publication looks like.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use labs::backend::sim::Sim;
use labs::backend::{Argument, Backend as _, Buffer, Image, Launch, Step};
use labs::code::{self, Code};
use labs::lab::{self, Lab};
use labs::session::{self, Job, Report};
use labs_record::Coordinate;
use labs_record::record::{Check, Outcome};
use labs_simt::{Options, Order};

/// Threads and elements of a block of `separate_warp`.
const WIDE: (u32, u64) = (512, 7_680);

fn lookback() -> &'static dyn Lab {
    lab::find("day40").unwrap()
}

fn job(sizes: &[u64], variants: &[&str]) -> Job {
    let sizes = sizes.iter().map(|size| Coordinate::Number(*size)).collect();
    Job {
        lab: lookback().stem().to_owned(),
        variants: variants.iter().map(|name| (*name).to_owned()).collect(),
        places: BTreeMap::from([("size".to_owned(), sizes)]),
        samples: None,
        seed: 3,
        kernel: None,
        pinned: false,
        only_check: false,
    }
}

fn correct() -> Vec<&'static str> {
    let variants = lookback().variants().iter();
    variants.filter(|variant| variant.declared == Outcome::Correct).map(|variant| variant.name).collect()
}

fn shipped() -> Code {
    code::for_simulator(lookback(), None, 90).unwrap()
}

fn run(job: &Job, code: Code, order: Order) -> Report {
    let mut sim = Sim::new(Options { order, seed: 5, ..Options::default() }, false);
    session::run(job, lookback(), &mut sim, code, true, &mut |_| {}).unwrap()
}

fn refusal(report: &Report, variant: &str) -> Option<String> {
    let (_, check, reason) = report.findings.checks.iter().find(|(name, ..)| name == variant).unwrap();
    (*check == Check::Refused).then(|| reason.clone().unwrap_or_default())
}

#[test]
fn every_correct_variant_scans_any_size_in_any_order() {
    // About a tile of either size, and more tiles than a warp looks at.
    let sizes = [0, 1, 3, 31, 255, 4_095, 4_096, 4_097, 7_679, 7_680, 7_681, 140_001, 260_000];
    for order in [Order::Fair, Order::Shuffled, Order::Adversarial] {
        let report = run(&job(&sizes, &correct()), shipped(), order);
        for variant in correct() {
            assert_eq!(refusal(&report, variant), None, "{variant}, {order:?}");
        }
    }
}

#[test]
fn a_block_index_is_no_start_order() {
    let job = job(&[5_000], &["block_index"]);
    assert_eq!(refusal(&run(&job, shipped(), Order::Fair), "block_index"), None, "in order it is right");
    for order in [Order::Shuffled, Order::Adversarial] {
        let told = refusal(&run(&job, shipped(), order), "block_index").unwrap();
        assert!(told.contains("waits were ended by the clock"), "{order:?}: {told}");
    }
}

/// The lab's PTX with every `from` of one kernel replaced.
fn spoiled(kernel: &str, from: &str, to: &str) -> Code {
    let mut code = shipped();
    let Some(Image::Ptx(text)) = code.images.last_mut() else { panic!("the simulator runs PTX") };
    let begin = text.find(&format!(".entry {kernel}(")).unwrap();
    let end = begin + text[begin..].find("\n}").unwrap();
    let edited = text[begin..end].replace(from, to);
    assert_ne!(edited, text[begin..end], "{kernel} no longer holds `{from}`");
    text.replace_range(begin..end, &edited);
    code
}

#[test]
fn a_sum_that_is_never_published_ends_as_a_fault() {
    let code = spoiled("packed_word", "st.relaxed.gpu.global.u64", "// st");
    let report = run(&job(&[20_000], &["packed_word", "warp_window"]), code, Order::Fair);
    let told = refusal(&report, "packed_word").unwrap();
    assert!(told.contains("waits were ended by the clock"), "{told}");
    assert_eq!(refusal(&report, "warp_window"), None);
}

#[test]
fn a_scan_that_loses_a_step_is_refused() {
    let code = spoiled("warp_window", "shfl.sync.up.b32", "shfl.sync.down.b32");
    let report = run(&job(&[20_000], &["warp_window"]), code, Order::Fair);
    let told = refusal(&report, "warp_window").unwrap();
    assert!(told.contains("of the elements are not the one before plus their input"), "{told}");
}

/// Memory for `separate_warp`, with room for `tiles`.
struct Memory {
    sim: Sim,
    input: Buffer,
    out: Buffer,
    state: Buffer,
    faults: Buffer,
    n: u64,
}

impl Memory {
    fn new(n: u64) -> Memory {
        let mut sim = Sim::new(Options { order: Order::Shuffled, seed: 9, ..Options::default() }, false);
        for image in &shipped().images {
            sim.load(image).unwrap();
        }
        let tiles = n.div_ceil(WIDE.1);
        let [input, out, state, faults] =
            [n * 4, n * 4, 256 + tiles * 8, 8].map(|bytes| sim.allocate(bytes).unwrap());
        sim.run(&[Step::Zero(state), Step::Zero(faults)]).unwrap();
        Memory { sim, input, out, state, faults, n }
    }

    /// The scan of as many equal elements.
    fn scan(&mut self, element: u32) -> Vec<u32> {
        let bytes: Vec<u8> = (0..self.n).flat_map(|_| element.to_le_bytes()).collect();
        self.sim.write(self.input, &bytes).unwrap();
        let buffers = [self.input, self.out, self.state, self.state.at(256), self.faults];
        let mut arguments: Vec<Argument> = buffers.map(Argument::Buffer).into();
        arguments.extend([Argument::U64(self.n), Argument::U64(20_000_000)]);
        let blocks = self.n.div_ceil(WIDE.1) as u32;
        self.sim.run(&[Step::Launch(Launch::new("separate_warp", blocks, WIDE.0, arguments))]).unwrap();
        let mut bytes = vec![0; bytes.len()];
        self.sim.read(self.out, &mut bytes).unwrap();
        bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect()
    }
}

fn wanted(n: u64, element: u32) -> Vec<u32> {
    (1..=n as u32).map(|count| count.wrapping_mul(element)).collect()
}

#[test]
fn words_of_earlier_launches_say_nothing() {
    let n = 300_000;
    let mut memory = Memory::new(n);
    for element in [1, 7, 0x8000_0001] {
        assert!(memory.scan(element) == wanted(n, element), "elements of {element}");
    }
    // Without its number a launch takes the words of the one before for its own.
    memory.sim.run(&[Step::Zero(memory.state)]).unwrap();
    assert!(memory.scan(1) == wanted(n, 1));
    memory.sim.run(&[Step::Zero(Buffer { bytes: 8, ..memory.state })]).unwrap();
    assert!(memory.scan(2) != wanted(n, 2), "the test no longer sees old words");
}
