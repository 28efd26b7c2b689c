//! The race detector on event streams written by hand: releases, acquires and fences.

mod race_stream;

use race_stream::*;

/// `a` writes the data and the flag, `b` reads the flag and the data: lines 1 to 4.
struct Pass {
    a: Thread,
    b: Thread,
    write: Strength,
    before: Option<Scope>,
    read: Strength,
    after: Option<Scope>,
}

impl Pass {
    fn run(&self) -> Stream {
        let mut s = stream();
        s.weak(self.a, 1, Write, DATA);
        if let Some(scope) = self.before {
            s.fence(self.a, scope);
        }
        s.strong(self.a, 2, Write, self.write);
        s.strong(self.b, 3, Read, self.read);
        if let Some(scope) = self.after {
            s.fence(self.b, scope);
        }
        s.weak(self.b, 4, Read, DATA);
        s
    }
}

fn pass(write: Strength, read: Strength) -> Pass {
    Pass { a: t(0, 0), b: t(2, 0), write, before: None, read, after: None }
}

#[test]
fn release_and_acquire_pass_a_message() {
    assert_eq!(pass((Release, Device), (Acquire, Device)).run().lines(), NONE);
}

#[test]
fn relaxed_and_volatile_pass_none() {
    for order in [Relaxed, Volatile] {
        let mut s = pass((order, Device), (order, Device)).run();
        let expected = Reason::NotReleased { written_line: 2, read_line: 3 };
        assert_eq!(s.reason(), expected);
    }
}

#[test]
fn half_a_pair_passes_none() {
    let mut s = pass((Release, Device), (Relaxed, Device)).run();
    let expected = Reason::NotAcquired { written_line: 2, read_line: 3 };
    assert_eq!(s.reason(), expected);
    let mut s = pass((Relaxed, Device), (Acquire, Device)).run();
    let expected = Reason::NotReleased { written_line: 2, read_line: 3 };
    assert_eq!(s.reason(), expected);
}

#[test]
fn fences_make_relaxed_and_volatile_pass() {
    for order in [Relaxed, Volatile] {
        let fenced =
            Pass { before: Some(Device), after: Some(Device), ..pass((order, Device), (order, Device)) };
        assert_eq!(fenced.run().lines(), NONE);
        let half = Pass { before: None, ..fenced };
        assert_eq!(half.run().lines(), [(1, 4)]);
        let other_half = Pass { before: Some(Device), after: None, ..half };
        assert_eq!(other_half.run().lines(), [(1, 4)]);
    }
}

#[test]
fn fences_with_plain_flags_race_on_the_flag_and_the_data() {
    let mut s =
        Pass { before: Some(Device), after: Some(Device), ..pass((Weak, Device), (Weak, Device)) }.run();
    assert_eq!(s.lines(), [(1, 4), (2, 3)]);
}

#[test]
fn a_fence_on_one_side_pairs_with_an_operation_on_the_other() {
    let writer = Pass { before: Some(Device), ..pass((Relaxed, Device), (Acquire, Device)) };
    assert_eq!(writer.run().lines(), NONE);
    let reader = Pass { after: Some(Device), ..pass((Release, Device), (Relaxed, Device)) };
    assert_eq!(reader.run().lines(), NONE);
}

#[test]
fn a_release_at_block_scope_does_not_reach_another_block() {
    let mut s = pass((Release, Block), (Acquire, Device)).run();
    let report = s.report();
    // The flag's accesses are not morally strong either.
    assert_eq!(report.races.len(), 2, "{report}");
    assert_eq!(report.races[1].reason, Reason::Scope(Block, Distance::Device));
}

#[test]
fn fences_at_block_scope_do_not_reach_another_block() {
    let narrow_release =
        Pass { before: Some(Block), after: Some(Device), ..pass((Relaxed, Device), (Relaxed, Device)) };
    let expected = Reason::ReleaseScope { scope: Block, line: 2, distance: Distance::Device };
    let mut s = narrow_release.run();
    let report = s.report();
    assert_eq!(report.races[0].reason, expected);
    assert!(
        report.to_string().contains("released at block scope (line 2), read from another block"),
        "{report}"
    );
    let narrow_acquire = Pass { before: Some(Device), after: Some(Block), ..narrow_release };
    let expected = Reason::AcquireScope { scope: Block, line: 3, distance: Distance::Device };
    assert_eq!(narrow_acquire.run().reason(), expected);
}

#[test]
fn block_scope_is_enough_in_a_block() {
    let within = Pass { b: t(0, 64), ..pass((Release, Block), (Acquire, Block)) };
    assert_eq!(within.run().lines(), NONE);
    let fenced = Pass {
        before: Some(Block),
        after: Some(Block),
        ..Pass { write: (Relaxed, Block), read: (Relaxed, Block), ..within }
    };
    assert_eq!(fenced.run().lines(), NONE);
}

#[test]
fn cluster_scope_is_enough_in_a_cluster_and_not_beyond() {
    let within = Pass { b: t(1, 0), ..pass((Release, Cluster), (Acquire, Cluster)) };
    assert_eq!(within.run().lines(), NONE);
    let beyond = Pass { b: t(2, 0), ..within };
    assert_eq!(beyond.run().lines(), [(1, 4), (2, 3)]);
}

#[test]
fn a_wider_scope_on_one_side_serves_the_narrow_other() {
    let within = Pass { b: t(0, 64), ..pass((Release, Device), (Acquire, Block)) };
    assert_eq!(within.run().lines(), NONE);
    let swapped = Pass { write: (Release, Block), read: (Acquire, Device), ..within };
    assert_eq!(swapped.run().lines(), NONE);
}

#[test]
fn causality_is_transitive_over_scopes() {
    // Block scope inside block 0, then device scope to block 2.
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.strong(t(0, 0), 2, Write, (Release, Block));
    s.strong(t(0, 64), 3, Read, (Acquire, Block));
    s.touch(t(0, 64), 4, Write, (FLAG + 8, 4), (Release, Device));
    s.touch(t(2, 0), 5, Read, (FLAG + 8, 4), (Acquire, Device));
    s.weak(t(2, 0), 6, Read, DATA);
    assert_eq!(s.lines(), NONE);
}

#[test]
fn a_barrier_then_one_release_covers_the_block() {
    let mut s = stream();
    s.weak(t(0, 7), 1, Write, DATA);
    s.barrier(&[t(0, 0), t(0, 7)]);
    s.strong(t(0, 0), 2, Write, (Release, Device));
    s.strong(t(2, 0), 3, Read, (Acquire, Device));
    s.barrier(&[t(2, 0), t(2, 9)]);
    s.weak(t(2, 9), 4, Read, DATA);
    assert_eq!(s.lines(), NONE);
}

#[test]
fn what_follows_the_release_is_not_released() {
    let mut s = stream();
    s.strong(t(0, 0), 1, Write, (Release, Device));
    s.weak(t(0, 0), 2, Write, DATA);
    s.strong(t(2, 0), 3, Read, (Acquire, Device));
    s.weak(t(2, 0), 4, Read, DATA);
    assert_eq!(s.lines(), [(2, 4)]);
}

#[test]
fn what_follows_the_fence_is_not_released_by_it() {
    let mut s = stream();
    s.fence(t(0, 0), Device).weak(t(0, 0), 1, Write, DATA);
    s.strong(t(0, 0), 2, Write, (Relaxed, Device));
    s.strong(t(2, 0), 3, Read, (Acquire, Device));
    s.weak(t(2, 0), 4, Read, DATA);
    assert_eq!(s.lines(), [(1, 4)]);
}

#[test]
fn a_fence_before_the_read_acquires_nothing() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA).fence(t(0, 0), Device);
    s.strong(t(0, 0), 2, Write, (Relaxed, Device));
    s.fence(t(2, 0), Device);
    s.strong(t(2, 0), 3, Read, (Relaxed, Device));
    s.weak(t(2, 0), 4, Read, DATA);
    assert_eq!(s.lines(), [(1, 4)]);
}

#[test]
fn two_fences_alone_order_nothing() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.detector.fence(t(0, 0), Device, true, site(0));
    s.detector.fence(t(2, 0), Device, true, site(0));
    s.weak(t(2, 0), 2, Read, DATA);
    assert_eq!(s.lines(), [(1, 2)]);
}

#[test]
fn a_later_narrow_fence_leaves_the_wide_one_in_force() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.fence(t(0, 0), Device).fence(t(0, 0), Block);
    s.strong(t(0, 0), 2, Write, (Relaxed, Device));
    s.strong(t(2, 0), 3, Read, (Acquire, Device));
    s.weak(t(2, 0), 4, Read, DATA);
    assert_eq!(s.lines(), NONE);
}

#[test]
fn a_later_wide_fence_acquires_what_a_narrow_one_could_not() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.strong(t(0, 0), 2, Write, (Release, Device));
    s.strong(t(2, 0), 3, Read, (Relaxed, Device));
    s.fence(t(2, 0), Block).fence(t(2, 0), Device);
    s.weak(t(2, 0), 4, Read, DATA);
    assert_eq!(s.lines(), NONE);
}

#[test]
fn a_read_of_another_value_acquires_nothing() {
    // The release is overwritten by a relaxed store before it is read.
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.strong(t(0, 0), 2, Write, (Release, Device));
    s.strong(t(1, 0), 3, Write, (Relaxed, Device));
    s.strong(t(2, 0), 4, Read, (Acquire, Device));
    s.weak(t(2, 0), 5, Read, DATA);
    assert_eq!(s.lines(), [(1, 5)]);
}

#[test]
fn a_later_store_by_the_releasing_thread_still_releases() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.strong(t(0, 0), 2, Write, (Release, Device));
    s.strong(t(0, 0), 3, Write, (Relaxed, Device));
    s.strong(t(2, 0), 4, Read, (Acquire, Device));
    s.weak(t(2, 0), 5, Read, DATA);
    assert_eq!(s.lines(), NONE);
}

#[test]
fn read_modify_writes_carry_a_release_on() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.strong(t(0, 0), 2, Rmw, (Release, Device));
    s.strong(t(1, 0), 3, Rmw, (Relaxed, Device));
    s.strong(t(3, 0), 4, Rmw, (Relaxed, Device));
    s.strong(t(2, 0), 5, Read, (Acquire, Device));
    s.weak(t(2, 0), 6, Read, DATA);
    assert_eq!(s.lines(), NONE);
    // The thread in the middle has not acquired.
    s.weak(t(0, 0), 1, Write, DATA);
    s.strong(t(0, 0), 2, Rmw, (Release, Device));
    s.strong(t(1, 0), 3, Rmw, (Relaxed, Device));
    s.weak(t(1, 0), 6, Read, DATA);
    assert_eq!(s.lines(), [(1, 6)]);
}

#[test]
fn a_read_modify_write_of_too_narrow_scope_breaks_the_sequence() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.strong(t(0, 0), 2, Rmw, (Release, Device));
    s.strong(t(1, 0), 3, Rmw, (Relaxed, Block));
    s.strong(t(1, 1), 4, Read, (Acquire, Device));
    s.weak(t(1, 1), 5, Read, DATA);
    assert_eq!(s.lines(), [(1, 5), (2, 3)]);
}

#[test]
fn releases_of_several_threads_gather_in_a_sequence() {
    let mut s = stream();
    for block in 0..3 {
        s.weak(t(block, 0), 1, Write, DATA + 4 * u64::from(block));
        s.strong(t(block, 0), 2, Rmw, (AcqRel, Device));
    }
    for block in 0..3u64 {
        s.weak(t(2, 0), 3, Read, DATA + 4 * block);
    }
    assert_eq!(s.lines(), NONE);
}

#[test]
fn a_block_reader_takes_only_its_own_blocks_releases_from_a_sequence() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.weak(t(2, 32), 2, Write, DATA + 4);
    s.strong(t(0, 0), 3, Rmw, (Release, Device));
    s.strong(t(2, 32), 4, Rmw, (Release, Device));
    s.strong(t(2, 0), 5, Rmw, (Acquire, Block));
    s.weak(t(2, 0), 6, Read, DATA + 4);
    s.weak(t(2, 0), 7, Read, DATA);
    // Line 4 observed line 3 and is ordered before line 5, so those two do not race.
    assert_eq!(s.lines(), [(1, 7)]);
}

#[test]
fn the_last_ticket_may_reset_the_counter_plainly() {
    let mut s = stream();
    for block in 0..3 {
        s.strong(t(block, 0), 1, Rmw, (Relaxed, Device));
    }
    s.weak(t(2, 0), 2, Write, FLAG);
    assert_eq!(s.lines(), NONE);
    // Not so a block that took an earlier ticket.
    for block in 0..3 {
        s.strong(t(block, 0), 1, Rmw, (Relaxed, Device));
    }
    s.weak(t(1, 0), 2, Write, FLAG);
    assert_eq!(s.lines(), [(1, 2)]);
}

#[test]
fn a_barrier_passes_on_what_the_last_ticket_observed() {
    let mut s = stream();
    s.strong(t(0, 0), 1, Rmw, (Relaxed, Device));
    s.strong(t(2, 0), 1, Rmw, (Relaxed, Device));
    s.barrier(&[t(2, 0), t(2, 1)]);
    s.weak(t(2, 1), 2, Write, FLAG);
    assert_eq!(s.lines(), NONE);
}

#[test]
fn observing_a_flag_orders_the_flag_and_no_more() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.strong(t(0, 0), 2, Write, (Relaxed, Device));
    s.strong(t(2, 0), 3, Read, (Relaxed, Device));
    s.weak(t(2, 0), 4, Write, FLAG);
    s.weak(t(2, 0), 5, Write, DATA);
    assert_eq!(s.lines(), [(1, 5)]);
}

#[test]
fn a_lock_orders_its_critical_sections() {
    let mut s = stream();
    for block in 0..4 {
        s.strong(t(block, 0), 1, Rmw, (Acquire, Device));
        s.weak(t(block, 0), 2, Read, DATA);
        s.weak(t(block, 0), 3, Write, DATA);
        s.strong(t(block, 0), 4, Write, (Release, Device));
    }
    assert_eq!(s.lines(), NONE);
}

#[test]
fn a_lock_without_order_orders_nothing() {
    let mut s = stream();
    for block in 0..4 {
        s.strong(t(block, 0), 1, Rmw, (Relaxed, Device));
        s.weak(t(block, 0), 2, Write, DATA);
        s.strong(t(block, 0), 3, Rmw, (Relaxed, Device));
    }
    assert_eq!(s.lines(), [(2, 2)]);
}
