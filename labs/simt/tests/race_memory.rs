//! The race detector on event streams written by hand: bytes, many threads, reports.

mod race_stream;

use race_stream::*;

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
