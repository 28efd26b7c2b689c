//! `mbarrier`, `red.async` and bulk reductions: what they leave, what is counted, and what is refused.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Arg, Bench};
use labs_simt::race::RaceDetector;
use labs_simt::{Error, Launch, Options, Order};

const FIXTURE: &str = "asynchronous.sm90.ptx";
/// Thread t adds 1 to word t, t + 1 times, 4 bytes each.
const BYTES: u32 = 4 * 32 * 33 / 2;

#[test]
fn bytes_that_land_open_the_barrier() {
    for order in [Order::Fair, Order::Shuffled, Order::Adversarial] {
        let mut bench = Bench::with(FIXTURE, Options { order, seed: 3, ..Options::default() });
        let out = bench.words(&[0; 32]);
        let report = bench.launch("land", 2, 32, &[Arg::Ptr(out), Arg::U32(BYTES)]).unwrap();
        let expected: Vec<u32> = (0..32).map(|t| 101 + t).collect();
        assert_eq!(bench.read(out, 32), expected);
        assert_eq!((report.shared_atomics_asked(), report.shared_atomics.longest_queue), (32 * 33 / 2, 32));
    }
}

#[test]
fn the_barrier_orders_what_landed_before_what_its_owner_reads() {
    let mut bench = Bench::new(FIXTURE);
    let out = bench.words(&[0; 32]);
    let args = [out.to_le_bytes().to_vec(), BYTES.to_le_bytes().to_vec()];
    let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
    let launch = Launch {
        kernel: "land",
        grid: [2, 1, 1],
        block: [32, 1, 1],
        cluster: [1; 3],
        dynamic_shared: 0,
        args: &args,
    };
    let mut detector = RaceDetector::new();
    bench.machine.launch(&bench.loaded, &launch, Some(&mut detector)).unwrap();
    let races = detector.into_report().races;
    assert!(races.is_empty(), "{}", races[0]);
}

#[test]
fn bytes_that_never_land_are_a_deadlock() {
    let mut bench = Bench::new(FIXTURE);
    let out = bench.words(&[0; 32]);
    let error = bench.launch("land", 2, 32, &[Arg::Ptr(out), Arg::U32(BYTES + 4)]).unwrap_err();
    assert!(matches!(error, Error::Deadlock { .. }), "{error}");
    let error = bench.launch("land", 2, 32, &[Arg::Ptr(out), Arg::U32(1 << 21)]).unwrap_err();
    assert!(error.to_string().contains("1048575 bytes at most"), "{error}");
}

#[test]
fn a_bulk_reduction_adds_word_by_word() {
    let mut bench = Bench::new(FIXTURE);
    let out = bench.words(&[7; 64]);
    let report = bench.launch("bulk", 5, 64, &[Arg::Ptr(out), Arg::U32(40)]).unwrap();
    let expected: Vec<u32> = (0..64).map(|i| 7 + if i < 40 { 5 * i } else { 0 }).collect();
    assert_eq!(bench.read(out, 64), expected);
    assert_eq!(report.global_atomics_asked(), 200);
    assert_eq!((report.global_red_requests(), report.global_atom_requests()), (0, 0), "it takes another way");
    assert_eq!((report.global_atomics.longest_queue, report.global_atomics.addresses), (5, 40));
    bench.launch("bulk", 1, 64, &[Arg::Ptr(out), Arg::U32(0)]).unwrap();
    assert_eq!(bench.read(out, 64), expected);
}

#[test]
fn a_bulk_reduction_that_is_ragged_or_leaves_its_memory_is_refused() {
    let mut bench = Bench::new(FIXTURE);
    let out = bench.words(&[0; 64]);
    let mut told =
        |out, words| bench.launch("bulk", 1, 64, &[Arg::Ptr(out), Arg::U32(words)]).unwrap_err().to_string();
    assert!(told(out, 2).contains("multiples of 16"));
    assert!(told(out + 4, 4).contains("multiples of 16"));
    assert!(told(out + 128, 64).contains("access of 4 bytes"), "{}", told(out + 128, 64));
    assert!(told(out, 68).contains("outside"), "{}", told(out, 68));
}
