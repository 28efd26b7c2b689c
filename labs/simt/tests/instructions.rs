//! Arithmetic, memory spaces, calls, halves, clusters against the same sums in Rust.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Arg, Bench};
use labs_simt::Error;

#[test]
fn integer_arithmetic_matches_rust() {
    let mut bench = Bench::new("general.sm75.ptx");
    let values: Vec<i32> =
        (0..64_i32).map(|i| i.wrapping_mul(1_234_567_891).wrapping_add(i * 77) >> (i % 9) | 1).collect();
    let words: Vec<u32> = values.iter().map(|&v| v as u32).collect();
    let (input, out) = (bench.words(&words), bench.words(&[0; 64]));
    bench.launch("arithmetic", 1, 32, &[Arg::Ptr(input), Arg::Ptr(out)]).unwrap();
    let found = bench.read(out, 64);
    for t in 0..32 {
        let expected = arithmetic(values[t], values[t + 32]);
        let got = u64::from(found[2 * t]) | u64::from(found[2 * t + 1]) << 32;
        assert_eq!(got, expected as u64, "thread {t}: {} {}", values[t], values[t + 32]);
    }
}

/// The kernel `arithmetic`, line by line.
fn arithmetic(a: i32, b: i32) -> i64 {
    let w = i64::from(a) * i64::from(b);
    let (ua, ub) = (a as u32, b as u32);
    let mut r = 0_i64;
    // `r = r * 31 + x + y ..`: each term is widened by itself.
    let mut add = |terms: &[i64]| r = terms.iter().fold(r.wrapping_mul(31), |r, &t| r.wrapping_add(t));
    add(&[a.wrapping_div(b).into()]);
    add(&[a.wrapping_rem(b).into()]);
    add(&[(ua / ub).into()]);
    add(&[(ua % ub).into()]);
    add(&[(i64::from(a) * i64::from(b)) >> 32]);
    add(&[((u64::from(ua) * u64::from(ub)) >> 32) as i64]);
    add(&[((u128::from(w as u64) * u128::from(ua)) >> 64) as i64]);
    let counts =
        [a.count_ones(), w.count_ones(), a.leading_zeros(), w.leading_zeros(), b.trailing_zeros() + 1];
    add(&counts.map(i64::from));
    add(&[i64::from(a.reverse_bits() as u32)]);
    add(&[a.min(b).into(), ua.max(ub).into()]);
    add(&[(a >> 3).into(), (ua >> 5).into(), (a << (b & 31)).into()]);
    add(&[a.wrapping_abs().into()]);
    add(&[w / i64::from(b | 1), w % 1_000_003]);
    add(&[(if a > b { a } else { b.wrapping_neg() }).into(), if w == i64::from(ua) { 1 } else { 2 }]);
    let funnel = ((((u64::from(ub) << 32) | u64::from(ua)) << 7) >> 32) as u32;
    let bytes = [ua.to_le_bytes(), ub.to_le_bytes()].concat();
    let permuted = u32::from_le_bytes([bytes[0], bytes[4], bytes[1], bytes[5]]);
    add(&[funnel.into(), permuted.into()]);
    add(&[(i32::from(a as i16) * i32::from(b as i16)).into(), (a as i8).into()]);
    let m24 = |v: i32| (v << 8) >> 8;
    add(&[m24(a).wrapping_mul(m24(b)).into(), a.abs_diff(b).wrapping_add(ua).into()]);
    r ^ w
}

#[test]
fn floats_match_rust() {
    let mut bench = Bench::new("general.sm75.ptx");
    let values: Vec<f32> = (0..64).map(|i| (i as f32 - 31.5) * 1.37 + 0.001 * i as f32).collect();
    let words: Vec<u32> = values.iter().map(|v| v.to_bits()).collect();
    let (input, out, doubles) = (bench.words(&words), bench.words(&[0; 256]), bench.words(&[0; 64]));
    bench.launch("floats", 1, 32, &[Arg::Ptr(input), Arg::Ptr(out), Arg::Ptr(doubles)]).unwrap();
    let found: Vec<f32> = bench.read(out, 256).into_iter().map(f32::from_bits).collect();
    let words = bench.read(doubles, 64);
    for t in 0..32 {
        let (a, b) = (values[t], values[t + 32]);
        let close = |k: usize, expected: f32| {
            let got = found[t * 8 + k];
            assert!((got - expected).abs() <= expected.abs() * 1e-6 + 1e-6, "{t}.{k}: {got} for {expected}");
        };
        assert_eq!(found[t * 8], a / b + b.mul_add(b, 1.0).sqrt());
        close(1, a.mul_add(b, 1.5) - a.min(b) * a.max(b));
        close(3, a.floor() + b.ceil() + a.trunc() + b.round_ties_even() + a.abs());
        close(4, a as i32 as f32 + b.abs() as u32 as f32 + (a * 1e6) as i64 as f32);
        close(5, a / 3.0 + 1.0 / (b * b + 1.0).sqrt());
        assert_eq!(found[t * 8 + 6], if a < b { -a } else { b.copysign(a) });
        assert_eq!(found[t * 8 + 7], -a);
        let (x, y) = (f64::from(a), f64::from(b));
        let expected = x * y
            + x / (y * y + 1.0)
            + (x * x).sqrt()
            + x.mul_add(y, 0.1)
            + (x as i64 as f64)
            + f64::from(y as f32);
        let got = f64::from_bits(u64::from(words[2 * t]) | u64::from(words[2 * t + 1]) << 32);
        assert!((got - expected).abs() <= expected.abs() * 1e-14 + 1e-12, "{t}: {got} for {expected}");
    }
}

#[test]
fn calls_constants_globals_and_locals() {
    let mut bench = Bench::new("general.sm75.ptx");
    let out = bench.words(&[0; 32]);
    bench.launch("calls", 1, 32, &[Arg::Ptr(out)]).unwrap();
    let step = |x: u32, k: u32| if !x.is_multiple_of(7) { x * k + 1 } else { x / 3 };
    let table = [3, 5, 7, 11];
    let weights = [0.5_f32, -1.25, 3.0];
    let expected: Vec<u32> = (0..32)
        .map(|t| {
            let v = if t & 1 != 0 { step(t, 5) } else { step(t + 2, 9) };
            step(v, 3)
                .wrapping_add(table[v as usize % 4] + 17)
                .wrapping_add((weights[v as usize % 3] * 4.0) as u32)
        })
        .collect();
    assert_eq!(bench.read(out, 32), expected);

    let input: Vec<u32> = (0..16).map(|i| i * 5 % 16).collect();
    let address = bench.words(&input);
    bench.launch("locals", 1, 32, &[Arg::Ptr(address), Arg::Ptr(out)]).unwrap();
    let expected: Vec<u32> = (0..32_u32)
        .map(|t| {
            let mut heap: Vec<u32> = input.iter().map(|v| v + t).collect();
            for k in 0..16 {
                heap[input[k] as usize % 16] ^= k as u32;
            }
            heap[input[t as usize % 16] as usize % 16]
        })
        .collect();
    assert_eq!(bench.read(out, 32), expected);
    let (counter, size) = bench.machine.symbol(&bench.loaded, "counter").unwrap();
    assert_eq!((bench.read(counter, 1), size), (vec![17], 4));
}

#[test]
fn switches_and_special_registers() {
    let mut bench = Bench::new("general.sm75.ptx");
    let input: Vec<u32> = (0..32).map(|i| i % 9).collect();
    let (input, out) = (bench.words(&input), bench.words(&[0; 32]));
    bench.launch("switches", 1, 32, &[Arg::Ptr(input), Arg::Ptr(out)]).unwrap();
    let one = |v: i32| match v {
        0 => 5,
        1 => v * 3,
        2 => v - 9,
        3 => v ^ 77,
        4 => -v,
        5 => v << 2,
        _ => v + 100,
    };
    assert_eq!(bench.read(out, 32), (0..32).map(|i| one(i % 9) as u32).collect::<Vec<_>>());

    let out = bench.words(&[0; 64 * 8]);
    let args = [&out.to_le_bytes()[..]];
    let launch = labs_simt::Launch {
        kernel: "specials",
        grid: [1, 1, 1],
        block: [8, 4, 2],
        cluster: [1; 3],
        dynamic_shared: 0,
        args: &args,
    };
    bench.machine.launch(&bench.loaded, &launch, None).unwrap();
    let found = bench.read(out, 64 * 8);
    for t in 0..64_u32 {
        let at = |k: usize| {
            u64::from(found[t as usize * 8 + 2 * k]) | u64::from(found[t as usize * 8 + 2 * k + 1]) << 32
        };
        let lane = t % 32;
        assert_eq!(at(0), u64::from(lane) * 100 + u64::from(t / 32) * 100_000);
        assert_eq!(at(1), u64::from(u32::MAX) << 32 | 1 << lane);
        assert!(at(2) >= 3);
        assert_eq!(at(3), 111_000);
    }
}

#[test]
fn every_atomic_of_cuda() {
    for name in ["atomics.sm75.ptx", "atomics.sm90.ptx"] {
        let mut bench = Bench::new(name);
        let mut start = [0_u32; 16];
        start[4] = u32::MAX;
        start[2] = 99;
        let u = bench.words(&start);
        let mut wide = [0_u32; 18];
        (wide[6], wide[7], wide[2]) = (u32::MAX, u32::MAX, 50);
        let (s, w, sw) = (bench.words(&[0; 4]), bench.words(&wide), bench.words(&[0; 4]));
        let (f, d, out) = (bench.words(&[0]), bench.words(&[0; 2]), bench.words(&[0; 32]));
        bench.launch("every_op", 1, 32, &[u, s, w, sw, f, d, out].map(Arg::Ptr)).unwrap();
        let found = bench.read(u, 14);
        assert_eq!(found[0], 496);
        assert_eq!(found[1], 496_u32.wrapping_neg());
        assert_eq!(found[2..7], [0, 31, !31, 31, 0]);
        assert_eq!((found[7], found[8]), (32, 9), "{name}");
        assert_eq!((found[9], found[10], found[11], found[12]), (31, 32, 32, 31));
        assert_eq!(bench.read(s, 3), [496_u32.wrapping_neg(), -31_i32 as u32, 24]);
        let wides: Vec<u64> =
            bench.read(w, 18).chunks(2).map(|c| u64::from(c[0]) | u64::from(c[1]) << 32).collect();
        assert_eq!(wides, [496 << 30, 0, 31, !31, 31, 0, 31, 32, 32]);
        assert_eq!(bench.read(sw, 4), [-31_i32 as u32, u32::MAX, 31, 0]);
        assert_eq!(f32::from_bits(bench.read(f, 1)[0]), 16.0);
        assert_eq!(bench.read(d, 2), [0, 8.0_f64.to_bits().wrapping_shr(32) as u32]);

        let (out, dout) = (bench.words(&[0; 12]), bench.words(&[0; 4]));
        bench.launch("every_shared", 1, 64, &[out, dout].map(Arg::Ptr)).unwrap();
        let found = bench.read(out, 12);
        assert!(found[3] == 31 || found[3] == 63, "the last lane of either warp");
        assert_eq!((&found[..3], &found[4..7]), (&[2016, 63, 63][..], &[9, 64 % 11, 64][..]));
        assert_eq!(found[8], ((2016_u64 << 33) >> 10) as u32);
        let sums = bench.read(dout, 4);
        assert_eq!(f64::from_bits(u64::from(sums[0]) | u64::from(sums[1]) << 32), 24.0);

        let data: Vec<u32> = (0..1000).collect();
        let (input, out) = (bench.words(&data), bench.words(&[0]));
        bench.launch("atomic_ref_sum", 8, 128, &[Arg::Ptr(input), Arg::Ptr(out), Arg::U32(1000)]).unwrap();
        assert_eq!(bench.read(out, 1), [499_500]);
        let (a, b, out) = (bench.words(&[0; 3]), bench.words(&[0; 2]), bench.words(&[0; 32]));
        bench.launch("atomic_ref_orders", 1, 1, &[a, b, out].map(Arg::Ptr)).unwrap();
        assert_eq!(bench.read(a, 3), [1, 9, 3]);
    }
}

#[test]
fn clusters_share_memory_and_vector_atomics_add_by_element() {
    let mut bench = Bench::new("cluster.sm90.ptx");
    let data: Vec<u32> = (0..1024).collect();
    let (input, out) = (bench.words(&data), bench.words(&[0]));
    let report =
        bench.launch("cluster_sum", 8, 128, &[Arg::Ptr(input), Arg::Ptr(out), Arg::U32(1000)]).unwrap();
    assert_eq!(bench.read(out, 1), [499_500]);
    assert_eq!(report.shared_atomics.longest_queue, 512);
    let out = bench.words(&[0; 128]);
    bench.launch("cluster_exchange", 4, 32, &[Arg::Ptr(out)]).unwrap();
    let expected: Vec<u32> = (0..128).map(|i| ((i / 32 % 2) ^ 1) * 100 + i % 32 + 2000).collect();
    assert_eq!(bench.read(out, 128), expected);
    let (a, b, old) = (bench.words(&[0; 2]), bench.words(&[0; 8]), bench.words(&[0; 128]));
    bench.launch("vector_atomics", 1, 32, &[a, b, old].map(Arg::Ptr)).unwrap();
    let floats = |words: Vec<u32>| words.into_iter().map(f32::from_bits).collect::<Vec<_>>();
    assert_eq!(floats(bench.read(a, 2)), [32.0, 64.0]);
    assert_eq!(floats(bench.read(b, 8)), [32.0, 64.0, 96.0, 128.0, 16.0, 32.0, 48.0, 64.0]);
    assert_eq!(floats(bench.read(old, 128))[124..], [15.5, 31.0, 46.5, 62.0]);
}

#[test]
fn halves_add_and_stall() {
    for name in ["half.sm75.ptx", "half.sm90.ptx"] {
        let mut bench = Bench::new(name);
        let [h, h2, b, b2] = [0; 4].map(|_| bench.words(&[0]));
        bench.launch("half_adds", 1, 32, &[h, h2, b, b2].map(Arg::Ptr)).unwrap();
        assert_eq!(bench.read(h, 1), [0x4c00], "16.0 in {name}");
        assert_eq!(bench.read(h2, 1), [0x4800_4c00]);
        assert_eq!(bench.read(b, 1), [0x4180]);
        assert_eq!(bench.read(b2, 1), [0x4100_4180]);

        let word = bench.words(&[0xffff_0000]);
        bench.launch("half_cas", 2, 32, &[Arg::Ptr(word), Arg::U32(3)]).unwrap();
        assert_eq!(bench.read(word, 1), [0xffff_00c0], "{name}");
    }
}

#[test]
fn half_arithmetic_and_conversions() {
    let mut bench = Bench::new("half.sm90.ptx");
    // 1.5 and 0.25 as halves, two to a word.
    let (input, pairs) = (
        bench.words(&[[0x3e00_3e00; 16], [0x3400_3400; 16]].concat()),
        bench.words(&[[0x3e00_3400; 32], [0x3400_3400; 32]].concat()),
    );
    let (out, out2) = (bench.words(&[0; 32]), bench.words(&[0; 32]));
    bench.launch("half_maths", 1, 32, &[input, pairs, out, out2].map(Arg::Ptr)).unwrap();
    assert_eq!(f32::from_bits(bench.read(out, 1)[0]), (1.5 * 0.25 + 1.75) + 1.25 * 0.375 + 1.0);
    // 1.5 * 1.5 + 1.75 = 4 above, 0.25 * 0.25 + 0.5 = 0.5625 below.
    assert_eq!(bench.read(out2, 1), [0x4400_3880]);

    let (values, h, b, i) = (
        bench.words(&[2049.0_f32.to_bits(); 32]),
        bench.words(&[0; 16]),
        bench.words(&[0; 16]),
        bench.words(&[0; 32]),
    );
    bench.launch("half_convert", 1, 32, &[values, h, b, i].map(Arg::Ptr)).unwrap();
    assert_eq!(
        (bench.read(h, 1)[0], bench.read(b, 1)[0], bench.read(i, 1)[0]),
        (0x6800_6800, 0x4500_4500, 2048)
    );
}

#[test]
fn wrong_accesses_and_traps_name_their_place() {
    let mut bench = Bench::new("general.sm75.ptx");
    let out = bench.words(&[0; 64]);
    let error = bench.launch("out_of_bounds", 1, 64, &[Arg::Ptr(out), Arg::U32(20)]).unwrap_err();
    let Error::Memory { place, address, reason } = &error else { panic!("{error}") };
    assert_eq!((*address, place.thread), (out + 256, [44, 0, 0]));
    assert!(reason.contains("byte 256 of an allocation of 256 bytes"), "{error}");
    assert!(place.instruction.starts_with("st.global.u32") && place.line > 0, "{error}");

    let error = bench.launch("out_of_bounds", 1, 32, &[Arg::Ptr(0), Arg::U32(0)]).unwrap_err();
    assert!(error.to_string().contains("null"), "{error}");
    let error = bench.launch("out_of_bounds", 1, 32, &[Arg::Ptr(out + 2), Arg::U32(0)]).unwrap_err();
    assert!(error.to_string().contains("misaligned"), "{error}");
    bench.machine.free(out).unwrap();
    let error = bench.launch("out_of_bounds", 1, 32, &[Arg::Ptr(out), Arg::U32(0)]).unwrap_err();
    assert!(error.to_string().contains("freed"), "{error}");

    let input = bench.words(&(0..32_u32).map(|i| if i == 9 { u32::MAX } else { i }).collect::<Vec<_>>());
    let error = bench.launch("traps", 1, 32, &[Arg::Ptr(input)]).unwrap_err();
    let Error::Trap { place, .. } = &error else { panic!("{error}") };
    assert_eq!(place.thread, [9, 0, 0]);
}

#[test]
fn impossible_launches_are_refused() {
    let mut bench = Bench::new("general.sm75.ptx");
    for (kernel, grid, block, args) in [
        ("nothing", 1, 32, &[Arg::Ptr(0)][..]),
        ("calls", 0, 32, &[Arg::Ptr(0)]),
        ("calls", 1, 2048, &[Arg::Ptr(0)]),
        ("calls", 1, 32, &[]),
        ("calls", 1, 32, &[Arg::U32(0)]),
    ] {
        assert!(
            matches!(bench.launch(kernel, grid, block, args), Err(Error::Usage(_))),
            "{kernel} {grid} {block}"
        );
    }
}
