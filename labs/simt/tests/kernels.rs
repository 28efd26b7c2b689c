//! Every fixture kernel gives what its C++ says, computed here a second time.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Arg, Bench, fixture};

const FIXTURES: [&str; 12] = [
    "sums.sm75.ptx",
    "warp.sm75.ptx",
    "match.sm75.ptx",
    "redux.sm80.ptx",
    "atomics.sm75.ptx",
    "atomics.sm90.ptx",
    "locks.sm75.ptx",
    "lookback.sm75.ptx",
    "cluster.sm90.ptx",
    "half.sm75.ptx",
    "half.sm90.ptx",
    "general.sm75.ptx",
];

#[test]
fn every_fixture_parses() {
    for name in FIXTURES {
        assert!(fixture(name).kernels().count() > 0, "{name}");
    }
}

fn numbers(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20).collect()
}

#[test]
fn sums_agree_at_small_odd_and_large_sizes() {
    for kernel in ["global_atomic", "shared_atomic", "block_tree", "warp_shuffle", "grid_stride"] {
        for n in [1_usize, 31, 257, 1000, 70_001] {
            let mut bench = Bench::new("sums.sm75.ptx");
            let data = numbers(n);
            let (input, out) = (bench.words(&data), bench.words(&[0]));
            let grid = if kernel == "grid_stride" { 7 } else { n.div_ceil(256) as u32 };
            bench.launch(kernel, grid, 256, &[Arg::Ptr(input), Arg::Ptr(out), Arg::U32(n as u32)]).unwrap();
            let expected = data.iter().fold(0_u32, |a, &b| a.wrapping_add(b));
            assert_eq!(bench.read(out, 1), [expected], "{kernel} at {n}");
        }
    }
}

#[test]
fn vector_loads_and_dynamic_shared_memory() {
    let mut bench = Bench::new("sums.sm75.ptx");
    let data = numbers(4096);
    let (input, out) = (bench.words(&data), bench.words(&[0]));
    let report =
        bench.launch("vector_load", 3, 128, &[Arg::Ptr(input), Arg::Ptr(out), Arg::U32(4096)]).unwrap();
    assert_eq!(bench.read(out, 1), [data.iter().sum::<u32>()]);
    assert_eq!((report.global_load_requests(), report.global_load_sectors()), (32, 512));

    let doubles: Vec<f64> = (0..300).map(|i| f64::from(i) * 0.25).collect();
    let words: Vec<u32> =
        doubles.iter().flat_map(|d| [d.to_bits() as u32, (d.to_bits() >> 32) as u32]).collect();
    let (input, out) = (bench.words(&words), bench.words(&[0, 0]));
    bench
        .launch_shared("dynamic_tree", 3, 128, 1024, &[Arg::Ptr(input), Arg::Ptr(out), Arg::U32(300)])
        .unwrap();
    let found = bench.read(out, 2);
    assert_eq!(f64::from_bits(u64::from(found[0]) | u64::from(found[1]) << 32), doubles.iter().sum::<f64>());
}

#[test]
fn float_tree_is_exact_where_the_numbers_are() {
    let mut bench = Bench::new("sums.sm75.ptx");
    let data: Vec<f32> = (0..1000).map(|i| i as f32 * 0.5).collect();
    let words: Vec<u32> = data.iter().map(|f| f.to_bits()).collect();
    let (input, out) = (bench.words(&words), bench.words(&[0]));
    bench.launch("block_tree_f32", 4, 256, &[Arg::Ptr(input), Arg::Ptr(out), Arg::U32(1000)]).unwrap();
    assert_eq!(f32::from_bits(bench.read(out, 1)[0]), data.iter().sum::<f32>());
}

#[test]
fn histograms_count_every_byte() {
    let bytes: Vec<u8> = numbers(10_000).iter().map(|&n| (n % 251) as u8).collect();
    let mut expected = vec![0; 256];
    bytes.iter().for_each(|&b| expected[b as usize] += 1);
    let words: Vec<u32> = bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
    for kernel in ["histogram", "histogram_global"] {
        let mut bench = Bench::new("sums.sm75.ptx");
        let (input, bins) = (bench.words(&words), bench.words(&[0; 256]));
        let report =
            bench.launch(kernel, 5, 128, &[Arg::Ptr(input), Arg::Ptr(bins), Arg::U32(10_000)]).unwrap();
        assert_eq!(bench.read(bins, 256), expected, "{kernel}");
        if kernel == "histogram_global" {
            assert_eq!(report.global_atomics.longest_queue, u64::from(*expected.iter().max().unwrap()));
            assert_eq!(report.global_atomics.addresses, 251);
            assert_eq!(report.global_atomics_asked(), 10_000);
        }
    }
}

#[test]
fn filters_keep_the_same_numbers() {
    let data: Vec<u32> = numbers(5000).iter().map(|&n| (n as i32 - 2048) as u32).collect();
    let mut expected: Vec<u32> = data.iter().copied().filter(|&v| (v as i32) > 0).collect();
    expected.sort_unstable();
    for kernel in ["filter_ballot", "filter_activemask", "filter_coalesced", "filter_plain"] {
        let mut bench = Bench::new("warp.sm75.ptx");
        let (input, out, count) = (bench.words(&data), bench.words(&[0; 5000]), bench.words(&[0]));
        let args = [Arg::Ptr(input), Arg::Ptr(out), Arg::Ptr(count), Arg::U32(5000)];
        bench.launch(kernel, 40, 128, &args).unwrap();
        assert_eq!(bench.read(count, 1), [expected.len() as u32], "{kernel}");
        let mut found = bench.read(out, expected.len());
        found.sort_unstable();
        assert_eq!(found, expected, "{kernel}");
    }
}

#[test]
fn tiles_and_votes() {
    let mut bench = Bench::new("warp.sm75.ptx");
    let data: Vec<u32> = (0..1000).collect();
    let (input, out) = (bench.words(&data), bench.words(&[0]));
    bench.launch("tile_sum", 8, 128, &[Arg::Ptr(input), Arg::Ptr(out), Arg::U32(1000)]).unwrap();
    assert_eq!(bench.read(out, 1), [499_500]);

    let values: Vec<i32> = (0..32).map(|i| (i * 37) % 113 - 5).collect();
    let words: Vec<u32> = values.iter().map(|&v| v as u32).collect();
    let (input, out) = (bench.words(&words), bench.words(&[0; 32]));
    bench.launch("votes", 1, 32, &[Arg::Ptr(input), Arg::Ptr(out)]).unwrap();
    let at = |i: usize| values[i];
    let all = u32::from(values.iter().all(|&v| v > 0));
    let any = u32::from(values.iter().any(|&v| v > 100));
    let ballot = values.iter().enumerate().fold(0, |m, (i, v)| m | ((*v & 1) as u32) << i);
    let expected: Vec<u32> = (0..32)
        .map(|i| {
            let up = if i >= 1 { at(i - 1) } else { at(i) };
            let down = if i % 8 + 3 < 8 { at(i + 3) } else { at(i) };
            let idx = at(i / 16 * 16 + 5);
            let wide = i64::from(at(i ^ 9)) * 1_000_000_007;
            (all + 2 * any)
                .wrapping_add(ballot)
                .wrapping_add((up * 3 + down * 5 + idx * 7) as u32)
                .wrapping_add(wide as u32)
                .wrapping_add((wide >> 32) as u32)
        })
        .collect();
    assert_eq!(bench.read(out, 32), expected);
}

#[test]
fn block_votes_reduce_over_all_warps() {
    let mut bench = Bench::new("warp.sm75.ptx");
    let words: Vec<u32> = (0..96_u32).map(|i| i.wrapping_sub(10)).collect();
    let (input, out) = (bench.words(&words), bench.words(&[0; 96]));
    bench.launch("block_votes", 1, 96, &[Arg::Ptr(input), Arg::Ptr(out)]).unwrap();
    assert_eq!(bench.read(out, 96), [85 * 4 + 1; 96]);
}

#[test]
fn matches_group_equal_keys() {
    let mut bench = Bench::new("match.sm75.ptx");
    let data: Vec<u32> = numbers(1000).iter().map(|n| n % 5).collect();
    let (input, bins) = (bench.words(&data), bench.words(&[0; 5]));
    bench.launch("match_histogram", 8, 128, &[Arg::Ptr(input), Arg::Ptr(bins), Arg::U32(1000)]).unwrap();
    let mut expected = [0; 5];
    data.iter().for_each(|&d| expected[d as usize] += 1);
    assert_eq!(bench.read(bins, 5), expected);

    let (same, out) = (bench.words(&[7; 128]), bench.words(&[0; 64]));
    bench.launch("match_all", 1, 64, &[Arg::Ptr(same), Arg::Ptr(out)]).unwrap();
    assert_eq!(bench.read(out, 64), [u32::MAX.wrapping_mul(2) + 1; 64]);
}

#[test]
fn redux_over_a_warp() {
    let mut bench = Bench::new("redux.sm80.ptx");
    let values: Vec<i32> = (0..32).map(|i| i * 7 - 100).collect();
    let words: Vec<u32> = values.iter().map(|&v| v as u32).collect();
    let (input, out) = (bench.words(&words), bench.words(&[0; 7]));
    bench.launch("redux_all", 1, 32, &[Arg::Ptr(input), Arg::Ptr(out)]).unwrap();
    let fold = |f: fn(u32, u32) -> u32| words.iter().copied().reduce(f).unwrap();
    let expected = [
        *values.iter().min().unwrap() as u32,
        *values.iter().max().unwrap() as u32,
        fold(u32::min),
        fold(u32::max),
        fold(|a, b| a & b),
        fold(|a, b| a | b),
        fold(|a, b| a ^ b),
    ];
    assert_eq!(bench.read(out, 7), expected);
    let sum = bench.words(&[0]);
    bench.launch("redux_sum", 1, 64, &[Arg::Ptr(input), Arg::Ptr(sum), Arg::U32(32)]).unwrap();
    assert_eq!(bench.read(sum, 1), [fold(u32::wrapping_add)]);
}
