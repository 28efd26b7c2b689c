//! Locks, waits and barriers: what must end does, what cannot is reported.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Arg, Bench};
use labs_simt::{Error, Options, Order, Reconvergence};

fn orders() -> [Options; 4] {
    let with = |order, seed| Options { order, seed, ..Options::default() };
    [with(Order::Fair, 0), with(Order::Shuffled, 1), with(Order::Shuffled, 2), with(Order::Adversarial, 0)]
}

fn locked(kernel: &str, options: Options, grid: u32, block: u32) -> Result<u32, Error> {
    let mut bench = Bench::with("locks.sm75.ptx", options);
    let (lock, value) = (bench.words(&[0]), bench.words(&[0]));
    bench.launch(kernel, grid, block, &[Arg::Ptr(lock), Arg::Ptr(value)])?;
    Ok(bench.read(value, 1)[0])
}

#[test]
fn a_lock_taken_lane_by_lane_ends_in_every_order() {
    for options in orders() {
        assert_eq!(locked("lock_spin", options, 3, 64), Ok(192), "{options:?}");
        assert_eq!(locked("lock_try", options, 3, 64), Ok(192), "{options:?}");
        assert_eq!(locked("lock_sleep", options, 6, 64), Ok(12), "{options:?}");
    }
}

#[test]
fn before_volta_the_same_lock_deadlocks_and_says_so() {
    let options = Options { reconvergence: Reconvergence::Stack, ..Options::default() };
    match locked("lock_spin", options, 1, 32) {
        Err(error @ Error::Deadlock { .. }) => {
            let text = error.to_string();
            assert!(text.contains("poll address") && text.contains("atom.global.cas"), "{text}");
            assert!(text.contains("other lanes to reach the same place"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(locked("lock_try", options, 1, 32), Ok(32));
}

#[test]
fn tickets_messages_and_last_blocks_in_every_order() {
    for options in orders() {
        let mut bench = Bench::with("locks.sm75.ptx", options);
        let (next, serving, value) = (bench.words(&[0]), bench.words(&[0]), bench.words(&[0]));
        bench.launch("ticket_lock", 20, 32, &[Arg::Ptr(next), Arg::Ptr(serving), Arg::Ptr(value)]).unwrap();
        assert_eq!(bench.read(value, 1), [20]);

        let (data, flag, out) = (bench.words(&[0]), bench.words(&[0]), bench.words(&[0]));
        bench.launch("message", 2, 1, &[Arg::Ptr(data), Arg::Ptr(flag), Arg::Ptr(out)]).unwrap();
        assert_eq!(bench.read(out, 1), [42]);

        let input: Vec<u32> = (1..=50).collect();
        let (input, partial, ticket, out) =
            (bench.words(&input), bench.words(&[0; 50]), bench.words(&[0]), bench.words(&[0]));
        let args = [Arg::Ptr(input), Arg::Ptr(partial), Arg::Ptr(ticket), Arg::Ptr(out)];
        bench.launch("last_block", 50, 64, &args).unwrap();
        assert_eq!(bench.read(out, 1), [1275], "{options:?}");
    }
}

#[test]
fn a_grid_barrier_ends_when_all_blocks_are_resident_and_not_otherwise() {
    let mut bench = Bench::new("locks.sm75.ptx");
    let (arrived, out) = (bench.words(&[0]), bench.words(&[0]));
    bench.launch("grid_barrier", 264, 1024, &[Arg::Ptr(arrived), Arg::Ptr(out)]).unwrap();
    assert_eq!(bench.read(out, 1), [264]);

    let arrived = bench.words(&[0]);
    let error = bench.launch("grid_barrier", 265, 1024, &[Arg::Ptr(arrived), Arg::Ptr(out)]).unwrap_err();
    let Error::Deadlock { not_started, .. } = &error else { panic!("{error}") };
    assert_eq!(*not_started, 1);
}

fn chain(options: Options, kernel_blocks: u32) -> Result<(), Error> {
    let mut bench = Bench::with("lookback.sm75.ptx", options);
    let state = bench.words(&vec![0; kernel_blocks as usize]);
    bench.launch("chain_by_index", kernel_blocks, 1024, &[Arg::Ptr(state)]).map(|_| ())
}

#[test]
fn waiting_for_the_block_before_by_index_fails_in_the_adversarial_order() {
    assert_eq!(chain(Options::default(), 1000), Ok(()));
    let adversarial = Options { order: Order::Adversarial, ..Options::default() };
    assert!(matches!(chain(adversarial, 1000), Err(Error::Deadlock { not_started, .. }) if not_started > 0));
    assert_eq!(chain(adversarial, 200), Ok(()));
}

/// Turns of random length end in the middle of a spin, and must not pass for progress.
#[test]
fn waiting_for_a_block_that_has_no_room_is_a_deadlock_in_a_shuffled_order() {
    for seed in [1, 2] {
        let shuffled = Options { order: Order::Shuffled, seed, budget: 1_000_000_000, ..Options::default() };
        let outcome = chain(shuffled, 1000);
        assert!(
            matches!(outcome, Err(Error::Deadlock { not_started, .. }) if not_started > 0),
            "{outcome:?}"
        );
    }
}

#[test]
fn look_back_by_tickets_ends_in_every_order() {
    for options in orders() {
        let n = 20_000;
        let data: Vec<u32> = (0..n).map(|i| i % 7).collect();
        let mut bench = Bench::with("lookback.sm75.ptx", options);
        let (input, out) = (bench.words(&data), bench.words(&vec![0; n as usize]));
        let (state, ticket) = (bench.words(&[0; 512]), bench.words(&[0]));
        let args = [Arg::Ptr(input), Arg::Ptr(out), Arg::Ptr(state), Arg::Ptr(ticket), Arg::U32(n)];
        bench.launch("lookback", n.div_ceil(256), 256, &args).unwrap();
        let expected: Vec<u32> = data
            .iter()
            .scan(0, |sum, v| {
                *sum += v;
                Some(*sum)
            })
            .collect();
        assert_eq!(bench.read(out, n as usize), expected, "{options:?}");
    }
}

#[test]
fn compare_and_swap_loops_retry_and_end() {
    for options in orders() {
        let mut bench = Bench::with("atomics.sm75.ptx", options);
        let out = bench.words(&[0]);
        let report = bench.launch("cas_add", 3, 64, &[Arg::Ptr(out), Arg::U32(2)]).unwrap();
        assert_eq!(bench.read(out, 1), [384]);
        let failed: u64 = report.sites.iter().map(|s| s.failed).sum();
        assert_eq!(report.global_atomics_asked(), 384 + failed);
        assert!(failed > 384, "32 lanes at one address fail: {failed}");

        let values: Vec<u32> =
            (0..1000_u32).map(|i| (i.wrapping_mul(977) % 1000) as f32).map(f32::to_bits).collect();
        let (input, out) = (bench.words(&values), bench.words(&[0]));
        bench.launch("cas_max_float", 8, 128, &[Arg::Ptr(input), Arg::Ptr(out), Arg::U32(1000)]).unwrap();
        assert_eq!(f32::from_bits(bench.read(out, 1)[0]), 999.0);
    }
}

#[test]
fn named_barriers_open_and_a_missing_thread_is_named() {
    let mut bench = Bench::new("locks.sm75.ptx");
    let out = bench.words(&[0; 64]);
    bench.launch("named_barrier", 1, 64, &[Arg::Ptr(out)]).unwrap();
    assert_eq!(bench.read(out, 32), (0..32).map(|i| i * 3).collect::<Vec<u32>>());
    let error = bench.launch("missing_barrier", 1, 64, &[Arg::Ptr(out)]).unwrap_err();
    assert!(error.to_string().contains("barrier 0: 32 of 64 threads have arrived"), "{error}");
}

#[test]
fn a_budget_ends_what_would_not() {
    let options = Options { budget: 100_000, ..Options::default() };
    let mut bench = Bench::with("atomics.sm75.ptx", options);
    let out = bench.words(&[0]);
    let error = bench.launch("cas_add", 1, 32, &[Arg::Ptr(out), Arg::U32(1 << 30)]).unwrap_err();
    assert!(matches!(error, Error::Budget { limit: 100_000, ref waiters } if !waiters.is_empty()), "{error}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut bench =
            Bench::with("warp.sm75.ptx", Options { order: Order::Shuffled, seed, ..Options::default() });
        let (input, out, count) = (bench.words(&[1; 4096]), bench.words(&[0; 4096]), bench.words(&[0]));
        let index: Vec<u32> = (1..=4096).collect();
        let bytes: Vec<u8> = index.iter().flat_map(|w| w.to_le_bytes()).collect();
        bench.machine.write(input, &bytes).unwrap();
        bench
            .launch(
                "filter_ballot",
                32,
                128,
                &[Arg::Ptr(input), Arg::Ptr(out), Arg::Ptr(count), Arg::U32(4096)],
            )
            .unwrap();
        bench.read(out, 4096)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
