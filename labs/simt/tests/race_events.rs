//! The race detector on event streams written by hand.

use labs_simt::event::{Access, Barrier, BarrierOf, Kind, Observer, Order, Scope, Site, Space, Thread};
use labs_simt::race::{Distance, RaceDetector, Reason, Report};

use Kind::{Read, ReadModifyWrite as Rmw, Write};
use Order::{AcqRel, Acquire, Relaxed, Release, Volatile, Weak};
use Scope::{Block, Cluster, Device};

const DATA: u64 = 0x100;
const FLAG: u64 = 0x200;

/// Blocks 0 and 1 are cluster 0, blocks 2 and 3 cluster 1.
fn t(block: u32, thread: u32) -> Thread {
    Thread { block, thread, cluster: block / 2 }
}

fn site(line: u32) -> Site {
    Site { instruction: line, line }
}

#[derive(Default)]
struct Stream {
    detector: RaceDetector,
    phase: u64,
}

/// Order and scope of a strong access.
type Strength = (Order, Scope);

impl Stream {
    fn touch(&mut self, by: Thread, line: u32, kind: Kind, at: (u64, u8), how: Strength) {
        self.detector.access(&Access {
            by,
            space: Space::Global,
            address: at.0,
            bytes: at.1,
            kind,
            order: how.0,
            scope: how.1,
            site: site(line),
        });
    }

    fn weak(&mut self, by: Thread, line: u32, kind: Kind, address: u64) -> &mut Self {
        self.touch(by, line, kind, (address, 4), (Weak, Block));
        self
    }

    fn strong(&mut self, by: Thread, line: u32, kind: Kind, how: Strength) -> &mut Self {
        self.touch(by, line, kind, (FLAG, 4), how);
        self
    }

    fn fence(&mut self, by: Thread, scope: Scope) -> &mut Self {
        self.detector.fence(by, scope, false, site(0));
        self
    }

    fn barrier(&mut self, threads: &[Thread]) -> &mut Self {
        self.arrive(0, threads);
        self.leave(0, threads);
        self.phase += 1;
        self
    }

    fn arrive(&mut self, number: u8, threads: &[Thread]) -> &mut Self {
        self.detector.arrive(self.event(number), threads, site(0));
        self
    }

    fn leave(&mut self, number: u8, threads: &[Thread]) -> &mut Self {
        self.detector.leave(self.event(number), threads, site(0));
        self
    }

    fn event(&self, number: u8) -> Barrier {
        Barrier { of: BarrierOf::Block { block: 0, number }, phase: self.phase }
    }

    fn report(&mut self) -> Report {
        std::mem::take(&mut self.detector).into_report()
    }

    /// The lines of the races.
    fn lines(&mut self) -> Vec<(u32, u32)> {
        let races = self.report().races;
        let line = |race: &labs_simt::race::Race| {
            let (a, b) = (race.first.site.line, race.second.site.line);
            (a.min(b), a.max(b))
        };
        races.iter().map(line).collect()
    }

    fn reason(&mut self) -> Reason {
        let report = self.report();
        assert_eq!(report.races.len(), 1, "{report}");
        report.races[0].reason
    }
}

fn stream() -> Stream {
    Stream::default()
}

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

const NONE: &[(u32, u32)] = &[];

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

#[test]
fn neighbouring_bytes_do_not_race() {
    let mut s = stream();
    for (thread, address) in (0..4).zip(DATA..) {
        s.touch(t(thread, 0), 1, Write, (address, 1), (Weak, Block));
    }
    assert_eq!(s.lines(), NONE);
}

#[test]
fn a_byte_races_with_the_word_around_it() {
    for (first, second) in [((DATA, 4), (DATA + 2, 1)), ((DATA + 2, 1), (DATA, 4))] {
        let mut s = stream();
        s.touch(t(0, 0), 1, Write, first, (Weak, Block));
        s.touch(t(1, 0), 2, Write, second, (Weak, Block));
        let report = s.report();
        assert_eq!(report.races.len(), 1, "{report}");
        assert_eq!(report.races[0].address, DATA + 2);
        assert_eq!(report.races[0].count, 1);
    }
}

#[test]
fn a_split_word_remembers_what_came_before_and_what_it_released() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.strong(t(0, 0), 2, Write, (Release, Device));
    // The thread reads a byte of its own flag, which splits the word.
    s.touch(t(0, 0), 3, Read, (FLAG + 1, 1), (Weak, Block));
    s.strong(t(2, 0), 4, Read, (Acquire, Device));
    s.weak(t(2, 0), 5, Read, DATA);
    assert_eq!(s.lines(), NONE);
}

#[test]
fn wide_accesses_are_judged_over_all_their_bytes() {
    let mut s = stream();
    s.touch(t(0, 0), 1, Write, (DATA, 16), (Weak, Block));
    s.touch(t(1, 0), 2, Read, (DATA + 12, 4), (Weak, Block));
    s.touch(t(1, 0), 3, Read, (DATA + 16, 4), (Weak, Block));
    let report = s.report();
    assert_eq!(report.races.len(), 1, "{report}");
    assert_eq!(report.races[0].address, DATA + 12);
}

#[test]
fn a_packed_pair_of_64_bits_passes_itself() {
    let mut s = stream();
    s.touch(t(0, 0), 1, Write, (FLAG, 8), (Relaxed, Device));
    s.touch(t(2, 0), 2, Read, (FLAG, 8), (Relaxed, Device));
    assert_eq!(s.lines(), NONE);
}

#[test]
fn a_release_through_64_bits_is_acquired_through_64_bits() {
    let mut s = stream();
    s.weak(t(0, 0), 1, Write, DATA);
    s.touch(t(0, 0), 2, Write, (FLAG, 8), (Release, Device));
    s.touch(t(2, 0), 3, Read, (FLAG, 8), (Acquire, Device));
    s.weak(t(2, 0), 4, Read, DATA);
    assert_eq!(s.lines(), NONE);
}

#[test]
fn shared_memories_of_two_blocks_are_two_memories() {
    let mut s = stream();
    for (block, owner) in [(0, 0), (1, 1)] {
        s.detector.access(&Access {
            by: t(block, 0),
            space: Space::Shared { block: owner },
            address: 0,
            bytes: 4,
            kind: Write,
            order: Weak,
            scope: Block,
            site: site(1),
        });
    }
    assert_eq!(s.lines(), NONE);
}

#[test]
fn a_block_that_ended_takes_its_shared_memory_along() {
    let touch = |by, owner, line| Access {
        by,
        space: Space::Shared { block: owner },
        address: 0,
        bytes: 4,
        kind: Write,
        order: Weak,
        scope: Block,
        site: site(line),
    };
    let mut s = stream();
    s.detector.access(&touch(t(0, 0), 0, 1));
    s.detector.access(&touch(t(1, 0), 1, 2));
    s.weak(t(0, 0), 3, Write, DATA);
    s.detector.block_end(0);
    // The next block's memory begins anew; others' and the device's stay.
    s.detector.access(&touch(t(2, 0), 2, 4));
    s.detector.access(&touch(t(0, 0), 1, 5));
    s.weak(t(2, 0), 6, Read, DATA);
    assert_eq!(s.lines(), [(2, 5), (3, 6)]);
}

#[test]
fn one_pair_of_sites_is_reported_once_with_its_count() {
    let mut s = stream();
    for element in 0..10 {
        s.weak(t(0, 0), 1, Write, DATA + 8 * element);
    }
    for element in 0..10 {
        s.weak(t(1, 0), 2, Read, DATA + 8 * element);
    }
    // The other way round is the same pair.
    s.weak(t(2, 0), 2, Read, 0).weak(t(0, 0), 1, Write, 0);
    let report = s.report();
    assert_eq!(report.races.len(), 1);
    assert_eq!(report.races[0].count, 11);
}

#[test]
fn reports_merge_by_pair_of_sites() {
    let racy = |line| {
        let mut s = stream();
        s.weak(t(0, 0), line, Write, DATA).weak(t(1, 0), 9, Read, DATA);
        s.report()
    };
    let mut all = Report::default();
    for report in [racy(2), racy(1), racy(2), stream().report()] {
        all.merge(report);
    }
    assert_eq!(all.runs, 4);
    let found: Vec<_> = all.races.iter().map(|race| (race.first.site.line, race.count, race.runs)).collect();
    assert_eq!(found, [(1, 1, 1), (2, 2, 2)]);
}

#[test]
fn a_race_reads_well() {
    let mut s = stream();
    s.weak(t(0, 3), 12, Write, DATA).weak(t(2, 5), 18, Read, DATA);
    assert_eq!(
        s.report().to_string(),
        "race at global address 0x100: line 12 writes 4 bytes (plain, block 0 thread 3) and then \
         line 18 reads 4 bytes (plain, block 2 thread 5): no release and acquire between the \
         blocks; once, in 1 of 1 runs"
    );
    assert_eq!(stream().report().to_string(), "no race in 1 runs");
}

#[test]
fn many_readers_of_one_word_are_all_remembered() {
    let mut s = stream();
    for round in 0..4 {
        for thread in 0..256 {
            s.weak(t(0, thread), 1 + round, Read, DATA);
        }
    }
    for thread in 0..256 {
        s.weak(t(1, thread), 9, Read, DATA);
    }
    let block: Vec<_> = (0..256).map(|thread| t(0, thread)).collect();
    s.barrier(&block);
    s.weak(t(0, 0), 10, Write, DATA);
    assert_eq!(s.lines(), [(9, 10)]);
}

#[test]
fn sixteen_thousand_threads_meet_in_one_lock() {
    let mut s = stream();
    for block in 0..64 {
        for thread in 0..256 {
            let by = t(block, thread);
            s.strong(by, 1, Rmw, (Acquire, Device));
            s.weak(by, 2, Write, DATA);
            s.strong(by, 3, Rmw, (Release, Device));
        }
    }
    assert_eq!(s.lines(), NONE);
}
