//! The race detector on event streams written by hand: threads, barriers, atomics.

mod race_stream;

use race_stream::*;

#[test]
fn two_threads_write_and_read_plainly() {
    for (other, distance) in [
        (t(0, 1), Distance::Warp),
        (t(0, 32), Distance::Block),
        (t(1, 0), Distance::Cluster),
        (t(2, 0), Distance::Device),
    ] {
        let mut s = stream();
        s.weak(t(0, 0), 1, Write, DATA).weak(other, 2, Read, DATA);
        assert_eq!(s.reason(), Reason::Unordered(distance));
    }
}

#[test]
fn one_thread_never_races_with_itself() {
    let mut s = stream();
    for line in 1..5 {
        s.weak(t(0, 0), line, Write, DATA);
        s.weak(t(0, 0), line, Read, DATA);
        s.touch(t(0, 0), line, Rmw, (DATA, 4), (Relaxed, Device));
        s.touch(t(0, 0), line, Rmw, (DATA, 8), (Relaxed, Block));
    }
    assert_eq!(s.lines(), NONE);
}

#[test]
fn reads_do_not_race() {
    let mut s = stream();
    for thread in 0..128 {
        s.weak(t(thread % 4, thread), 1, Read, DATA);
    }
    assert_eq!(s.lines(), NONE);
}

#[test]
fn a_write_races_with_every_reader_that_it_does_not_follow() {
    // Three warps read; only the first two meet the writer.
    let mut s = stream();
    s.weak(t(0, 0), 1, Read, DATA).weak(t(0, 32), 2, Read, DATA).weak(t(0, 64), 3, Read, DATA);
    s.barrier(&[t(0, 0), t(0, 32), t(0, 96)]);
    s.weak(t(0, 96), 4, Write, DATA);
    assert_eq!(s.lines(), [(3, 4)]);
}

#[test]
fn a_write_after_reads_by_lanes_of_one_warp_names_the_lane() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Read, DATA).weak(t(0, 1), 1, Read, DATA);
    s.weak(t(0, 0), 2, Write, DATA);
    let report = s.report();
    assert_eq!(report.races[0].first.thread, t(0, 1));
    assert_eq!(report.races[0].second.thread, t(0, 0));
}

#[test]
fn lanes_that_write_one_word_in_one_instruction_race() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA).weak(t(0, 1), 1, Write, DATA);
    assert_eq!(s.reason(), Reason::SameInstruction);
}

#[test]
fn a_barrier_orders_those_who_meet_in_it() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.barrier(&[t(0, 0), t(0, 40)]);
    s.weak(t(0, 40), 2, Read, DATA);
    assert_eq!(s.lines(), NONE);
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.barrier(&[t(0, 1), t(0, 40)]);
    s.weak(t(0, 40), 2, Read, DATA);
    assert_eq!(s.lines(), [(1, 2)]);
}

#[test]
fn what_follows_a_barrier_is_not_ordered_by_it() {
    let mut s = stream();
    s.barrier(&[t(0, 0), t(0, 40)]);
    s.weak(t(0, 0), 1, Write, DATA).weak(t(0, 40), 2, Read, DATA);
    assert_eq!(s.lines(), [(1, 2)]);
}

#[test]
fn arriving_gives_and_does_not_take() {
    let (producer, consumer) = (t(0, 0), t(0, 32));
    let mut s = stream();
    s.weak(producer, 1, Write, DATA);
    s.weak(consumer, 2, Write, DATA + 4);
    s.arrive(1, &[producer]).arrive(1, &[consumer]).leave(1, &[consumer]);
    s.phase += 1;
    s.weak(consumer, 3, Read, DATA);
    assert_eq!(s.lines(), NONE);
    s.weak(consumer, 2, Write, DATA + 4);
    s.arrive(1, &[producer]).arrive(1, &[consumer]).leave(1, &[consumer]);
    s.phase += 1;
    s.weak(producer, 4, Read, DATA + 4);
    assert_eq!(s.lines(), [(2, 4)]);
}

#[test]
fn what_follows_an_arrival_is_not_ordered_by_it() {
    let (producer, consumer) = (t(0, 0), t(0, 32));
    let mut s = stream();
    s.weak(producer, 1, Write, DATA).arrive(1, &[producer]);
    s.weak(producer, 2, Write, DATA + 4);
    s.arrive(1, &[consumer]).leave(1, &[consumer]);
    s.weak(consumer, 3, Read, DATA).weak(consumer, 4, Read, DATA + 4);
    assert_eq!(s.lines(), [(2, 4)]);
}

#[test]
fn what_precedes_the_wait_is_not_ordered_by_it() {
    let (a, b) = (t(0, 0), t(0, 32));
    let mut s = stream();
    s.weak(a, 1, Write, DATA).weak(a, 2, Write, DATA + 4);
    s.arrive(1, &[a]).arrive(1, &[b]);
    // The barrier is open, but b has not yet waited.
    s.weak(b, 3, Read, DATA).leave(1, &[b]).weak(b, 4, Read, DATA + 4);
    assert_eq!(s.lines(), [(1, 3)]);
}

#[test]
fn two_barriers_and_two_phases_are_kept_apart() {
    let (a, b) = (t(0, 0), t(0, 32));
    let mut s = stream();
    s.weak(a, 1, Write, DATA).arrive(1, &[a]);
    s.weak(a, 2, Write, DATA + 4).arrive(2, &[a]);
    s.leave(1, &[b]).weak(b, 3, Read, DATA).weak(b, 4, Read, DATA + 4);
    assert_eq!(s.lines(), [(2, 4)]);
    s.weak(a, 1, Write, DATA).arrive(1, &[a]);
    s.phase += 1;
    s.weak(a, 2, Write, DATA + 4).arrive(1, &[a]);
    s.phase -= 1;
    s.leave(1, &[b]).weak(b, 3, Read, DATA).weak(b, 4, Read, DATA + 4);
    assert_eq!(s.lines(), [(2, 4)]);
}

#[test]
fn a_warp_barrier_orders_its_lanes_only() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.weak(t(0, 2), 2, Write, DATA + 4);
    s.detector.warp_barrier(&[t(0, 0), t(0, 1)], site(0));
    s.weak(t(0, 1), 3, Read, DATA);
    s.weak(t(0, 1), 4, Read, DATA + 4);
    assert_eq!(s.lines(), [(2, 4)]);
}

#[test]
fn barriers_of_two_blocks_order_nothing_between_them() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.barrier(&[t(0, 0), t(0, 1)]).barrier(&[t(1, 0), t(1, 1)]);
    s.weak(t(1, 0), 2, Read, DATA);
    assert_eq!(s.lines(), [(1, 2)]);
}

#[test]
fn a_launch_is_ordered_before_the_next() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.detector.launch_end();
    s.weak(t(1, 0), 2, Read, DATA);
    assert_eq!(s.lines(), NONE);
}

#[test]
fn morally_strong_accesses_do_not_race() {
    for order in [Relaxed, Volatile, Acquire, AcqRel] {
        let mut s = stream();
        s.strong(t(0, 0), 1, Rmw, (order, Device));
        s.strong(t(2, 0), 2, Rmw, (order, Device));
        s.strong(t(2, 1), 3, Read, (order, Device));
        assert_eq!(s.lines(), NONE, "{order:?}");
    }
}

#[test]
fn atomics_of_block_scope_race_across_blocks_only() {
    let mut s = stream();
    s.strong(t(0, 0), 1, Rmw, (Relaxed, Block));
    s.strong(t(0, 64), 2, Rmw, (Relaxed, Block));
    assert_eq!(s.lines(), NONE);
    s.strong(t(0, 0), 1, Rmw, (Relaxed, Block));
    s.strong(t(1, 0), 2, Rmw, (Relaxed, Block));
    assert_eq!(s.reason(), Reason::Scope(Block, Distance::Cluster));
}

#[test]
fn one_narrow_side_is_enough_for_a_race() {
    let mut s = stream();
    s.strong(t(0, 0), 1, Rmw, (Relaxed, Device));
    s.strong(t(2, 0), 2, Rmw, (Relaxed, Block));
    assert_eq!(s.reason(), Reason::Scope(Block, Distance::Device));
    s.strong(t(0, 0), 1, Rmw, (Relaxed, Block));
    s.strong(t(2, 0), 2, Rmw, (Relaxed, Device));
    assert_eq!(s.reason(), Reason::Scope(Block, Distance::Device));
}

#[test]
fn cluster_scope_reaches_the_cluster() {
    let mut s = stream();
    s.strong(t(0, 0), 1, Rmw, (Relaxed, Cluster));
    s.strong(t(1, 0), 2, Rmw, (Relaxed, Cluster));
    assert_eq!(s.lines(), NONE);
    s.strong(t(1, 0), 1, Rmw, (Relaxed, Cluster));
    s.strong(t(2, 0), 2, Rmw, (Relaxed, Cluster));
    assert_eq!(s.reason(), Reason::Scope(Cluster, Distance::Device));
}

#[test]
fn strong_accesses_of_different_sizes_race() {
    let mut s = stream();
    s.touch(t(0, 0), 1, Rmw, (FLAG, 8), (Relaxed, Device));
    s.touch(t(1, 0), 2, Rmw, (FLAG + 4, 4), (Relaxed, Device));
    assert_eq!(s.reason(), Reason::Sizes(8, 4));
}

#[test]
fn a_plain_read_of_an_atomic_races() {
    let mut s = stream();
    s.strong(t(0, 0), 1, Rmw, (Relaxed, Device));
    s.weak(t(1, 0), 2, Read, FLAG);
    assert_eq!(s.lines(), [(1, 2)]);
}

#[test]
fn a_plain_read_then_an_atomic_races() {
    let mut s = stream();
    s.weak(t(1, 0), 2, Read, FLAG);
    s.strong(t(0, 0), 1, Rmw, (Relaxed, Device));
    assert_eq!(s.lines(), [(1, 2)]);
}

#[test]
fn an_atomic_on_what_another_block_initialised_plainly_races() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, FLAG);
    s.strong(t(0, 0), 2, Rmw, (Relaxed, Device));
    s.strong(t(2, 0), 3, Rmw, (Relaxed, Device));
    assert_eq!(s.lines(), [(1, 3)]);
}
