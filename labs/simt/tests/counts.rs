//! Counts that can be worked out by hand, and the sums they must add up to.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{Arg, Bench, fixture};
use labs_simt::{Gpu, Machine, Module, Options, Report, SiteKind};

fn sum(kernel: &str, gpu: Gpu, n: u32) -> Report {
    let mut machine = Machine::new(gpu, Options::default());
    let loaded = machine.load(&fixture("sums.sm75.ptx")).unwrap();
    let mut bench = Bench { machine, loaded };
    let (input, out) = (bench.words(&vec![1; n as usize]), bench.words(&[0]));
    let report =
        bench.launch(kernel, n.div_ceil(256), 256, &[Arg::Ptr(input), Arg::Ptr(out), Arg::U32(n)]).unwrap();
    assert_eq!(bench.read(out, 1), [n]);
    report
}

#[test]
fn one_atomic_a_thread_becomes_one_a_warp() {
    // 1000 threads: 31 full warps and one with 8 lanes.
    let report = sum("global_atomic", Gpu::H200, 1000);
    assert_eq!(report.global_atomics_asked(), 1000);
    assert_eq!(report.global_atomics_after_folding(), 32);
    assert_eq!((report.global_red_requests(), report.global_atom_requests()), (32, 0));
    let spread = report.global_atomics;
    assert_eq!((spread.addresses, spread.sectors, spread.lines), (1, 1, 1));
    assert_eq!((spread.longest_queue, spread.longest_queue_after_folding), (1000, 32));
    assert_eq!((spread.longest_queue_sector, spread.longest_queue_line), (1000, 1000));
    // sm_75 folds by shuffles, and only full warps.
    let report = sum("global_atomic", Gpu::T4, 1000);
    assert_eq!((report.global_atomics_asked(), report.global_atomics_after_folding()), (1000, 39));
}

#[test]
fn a_tree_asks_for_one_atomic_a_block() {
    let report = sum("block_tree", Gpu::H200, 1000);
    assert_eq!((report.blocks, report.barriers), (4, 4 * 9));
    assert_eq!((report.global_atomics_asked(), report.global_atomics.longest_queue), (4, 4));
    assert_eq!((report.global_load_requests(), report.global_load_sectors()), (32, 125));
    assert_eq!(report.global_store_requests(), 0);
    let barriers: u64 = report.sites.iter().filter(|s| s.kind == SiteKind::Barrier).map(|s| s.lanes).sum();
    assert_eq!(barriers, 4 * 9 * 256);
    let atomic = report.sites.iter().find(|s| matches!(s.kind, SiteKind::Atomic(_))).unwrap();
    assert_eq!((atomic.line, atomic.executions, atomic.lanes), (26, 4, 4));
    // Half of the threads, a quarter of them and so on each read twice and write once.
    let shared: u64 = report.sites.iter().map(|s| s.shared_lanes).sum();
    assert_eq!(shared, 4 * (256 + 255 * 3 + 1));
}

#[test]
fn shared_queues_are_those_of_one_block() {
    let report = sum("shared_atomic", Gpu::H200, 1000);
    assert_eq!((report.shared_atomics_asked(), report.shared_atomics.longest_queue), (1000, 256));
    assert_eq!(
        (report.shared_atomics_after_folding(), report.shared_atomics.longest_queue_after_folding),
        (32, 8)
    );
    assert_eq!(report.shared_atomics.addresses, 4, "one in each block");
    assert_eq!(report.global_atomics_asked(), 4);
}

#[test]
fn an_index_from_memory_is_not_folded() {
    let mut bench = Bench::new("general.sm75.ptx");
    let (counters, indices) = (bench.words(&[0; 64]), bench.words(&[5; 100]));
    let args = [Arg::Ptr(counters), Arg::Ptr(indices), Arg::U32(100), Arg::U32(3)];
    let report = bench.launch("hot_address", 2, 64, &args).unwrap();
    assert_eq!(bench.read(counters, 64)[5], 384);
    assert_eq!((report.global_atomics_asked(), report.global_atomics_after_folding()), (384, 384));
    assert_eq!(report.global_atomics.longest_queue_after_folding, 384);
}

#[test]
fn popc_inc_sends_one_for_each_bin() {
    let mut bench = Bench::new("sums.sm75.ptx");
    let data = vec![u32::from_le_bytes([1, 2, 1, 2]); 64];
    let (input, bins) = (bench.words(&data), bench.words(&[0; 256]));
    let report =
        bench.launch("histogram", 1, 256, &[Arg::Ptr(input), Arg::Ptr(bins), Arg::U32(256)]).unwrap();
    assert_eq!(bench.read(bins, 3), [0, 128, 128]);
    assert_eq!((report.shared_atomics_asked(), report.shared_atomics_after_folding()), (256, 16));
    assert_eq!(
        (report.shared_atomics.longest_queue, report.shared_atomics.longest_queue_after_folding),
        (128, 8)
    );
}

#[test]
fn lanes_are_counted_the_same_in_every_order() {
    use labs_simt::Order;
    let count = |order, seed| {
        let mut bench = Bench::with("sums.sm75.ptx", Options { order, seed, ..Options::default() });
        let (input, out) = (bench.words(&[1; 5000]), bench.words(&[0]));
        bench
            .launch("grid_stride", 3, 128, &[Arg::Ptr(input), Arg::Ptr(out), Arg::U32(5000)])
            .unwrap()
            .lane_instructions
    };
    let fair = count(Order::Fair, 0);
    assert_eq!(
        [count(Order::Shuffled, 1), count(Order::Shuffled, 2), count(Order::Adversarial, 0)],
        [fair; 3]
    );
}

/// The instructions that shipped kernels are made of; a new one is added here once it is tested.
#[test]
fn the_shipped_kernels_forms_are_these() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/ptx");
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "ptx") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.extend(Module::forms(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())));
            Module::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
    }
    let listed: BTreeSet<String> = include_str!("forms.txt").lines().map(str::to_owned).collect();
    let new: Vec<_> = found.difference(&listed).collect();
    assert!(new.is_empty(), "shipped kernels contain forms that tests/forms.txt lacks: {new:#?}");
}
