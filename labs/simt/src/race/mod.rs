//! A scope-aware detector of data races: an [`Observer`] that follows one
//! interleaving of a launch and reports the pairs of accesses that nothing orders.
//!
//! # Model
//! The PTX memory consistency model (PTX ISA, chapter "Memory Consistency Model";
//! Lustig, Sahasrabuddhe, Giroux: *A Formal Analysis of the NVIDIA PTX Memory
//! Consistency Model*, ASPLOS 2019). In its terms, with the section of the
//! PTX ISA that defines each:
//!
//! - Two accesses *conflict* when they overlap in a byte and one of them writes.
//! - They *race* when they conflict, are not ordered by *causality order*, and are not
//!   *morally strong*: both strong (volatile, relaxed or stronger), each in the
//!   other's scope, on exactly the same bytes. A weak access has no scope and
//!   races with anything unordered. Atomics of block scope from two blocks race.
//! - *Program order* orders the accesses of one thread. The lanes of a warp are
//!   threads like any others: that they run in lock step orders nothing.
//! - A *barrier* (`bar`, `barrier.cluster`, `bar.warp.sync`) orders what threads did before they
//!   arrived before what those that waited do afterwards. Who only arrives (`bar.arrive`)
//!   gives and does not take.
//! - A *release pattern* is a release operation, or a fence with a strong write after it. An
//!   *acquire pattern* is an acquire operation, or a strong read with a fence after it.
//!   The first synchronises with the second when the read observes the write and
//!   the scopes of the two patterns' ends include each other's threads.
//! - A read *observes* the write whose value it returns, if the two are morally
//!   strong, and through read-modify-writes also the writes that those built
//!   upon (a *release sequence*). Who has observed a strong write is ordered after that
//!   write, though after nothing else: so the last of the blocks that take a ticket
//!   may reset the counter by a plain store.
//! - *Causality* is transitive, whatever the scopes of its links.
//!
//! # Method
//! Vector clocks with epochs, after FastTrack (Flanagan and Freund, PLDI 2009). A thread's
//! clock is its own epoch and a tree that it shares with all threads it met at
//! its last barrier (`clock`); an epoch ends where it is released. For
//! every word (`shadow`) the detector keeps the last plain write and one read, and
//! only where strong accesses or reads by several warps come in, a history grouped by
//! strength, one entry for the lanes of a warp (`history`). Bytes get cells of
//! their own where a word is touched in part. What a location has released is kept by the
//! block, cluster and device that may acquire it (`sync`).
//!
//! # Limits
//! - It judges the interleavings that it was shown. A race between accesses that happen to be
//!   ordered in each of them (by a lock taken in one order, say) is missed. Run
//!   several seeds and schedules and [`Report::merge`] what they find. A reported race
//!   is one by the model, whether or not a GPU would ever show it.
//! - No race is not yet order: strong accesses never race, and may still be seen out
//!   of order where nothing releases and acquires. What values are allowed then is the
//!   litmus oracle's question, not this one's.
//! - The order among `fence.sc` operations orders nothing here, though it does in the
//!   model: it would be an accident of the interleaving. An algorithm that excludes by
//!   it alone (Dekker's, without release and acquire) is reported.
//! - A release operation continued by a later plain store of the same thread to the same
//!   location is followed only while no other thread releases through it in between.
//!   A relaxed read followed by an acquire *operation* on the same location counts
//!   for what the latter reads.
//! - One launch at a time, one device: system scope is device scope. Proxies
//!   (texture, async copies) are not told apart. Sites of two kernels are told
//!   apart by instruction and line only: use one detector a kernel.
//! - Strong accesses are taken to be aligned. The machine reports strong vector accesses
//!   element by element, as the model treats them.

mod class;
mod clock;
mod history;
mod report;
mod shadow;
mod sync;
mod text;
mod threads;

use std::collections::HashMap;

use class::{Classes, Level};
use clock::ThreadId;
use history::{Bench, Now};
use report::{Conflict, Key, Note, Notes, key};
use shadow::Shadow;
use threads::{Meeting, Threads};

pub use report::{Distance, Race, Reason, Report, Side};

use crate::event::{Access, Barrier, BarrierOf, Observer, Scope, Site, Thread};

/// Watches a run and collects its races.
#[derive(Debug, Default)]
pub struct RaceDetector {
    threads: Threads,
    classes: Classes,
    shadow: Shadow,
    notes: Notes,
    /// Of each barrier the last two phases: some may leave one while others arrive at the next.
    barriers: HashMap<BarrierOf, [(u64, Meeting); 2]>,
    races: Vec<Race>,
    /// Where in `races` a pair of lines is.
    by_key: HashMap<Key, usize>,
    conflicts: Vec<Conflict>,
    new_notes: Vec<Note>,
}

impl RaceDetector {
    /// A detector that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found, as the report of one run.
    pub fn into_report(self) -> Report {
        let mut report = Report { races: self.races, runs: 1 };
        report.sort();
        report
    }

    /// Adds the conflicts of one access at `address` to the races.
    fn record(&mut self, access: &Access, by: ThreadId, class: u32, address: u64) {
        let second = Side::new(access.by, self.classes.get(class));
        let mut counted: Option<Key> = None;
        for conflict in std::mem::take(&mut self.conflicts) {
            let class = self.classes.get(conflict.first_class);
            let first = Side::new(self.threads.thread(conflict.first), class);
            let key = key(&first, &second);
            if let Some(&index) = self.by_key.get(&key) {
                // One access counts once, however many bytes or threads it races with.
                self.races[index].count += u64::from(counted != Some(key));
                counted = Some(key);
                continue;
            }
            counted = Some(key);
            let place = (access.space, access.address);
            let sides = ((conflict.first, &first), (by, &second));
            let reason = Reason::find(&self.notes, place, sides.0, sides.1);
            let race = Race { first, second, space: access.space, address, reason, count: 1, runs: 1 };
            self.by_key.insert(key, self.races.len());
            self.races.push(race);
        }
    }
}

impl Observer for RaceDetector {
    fn access(&mut self, access: &Access) {
        let by = self.threads.see(access.by);
        let class_number = self.classes.number(access);
        let class = *self.classes.get(class_number);
        let mut now =
            Now { by, epoch: self.threads.epoch(by), class: &class, class_number, first_cell: true };
        let mut bench = Bench {
            threads: &mut self.threads,
            classes: &self.classes,
            conflicts: &mut self.conflicts,
            notes: &mut self.new_notes,
        };
        let mut raced_at = None;
        self.shadow.visit(access, |cell, address| {
            cell.access(&now, &mut bench);
            now.first_cell = false;
            if !bench.conflicts.is_empty() {
                raced_at.get_or_insert(address);
            }
        });
        if class.releases() {
            self.threads.advance(by);
        }
        for note in self.new_notes.drain(..) {
            self.notes.add((access.space, access.address), note);
        }
        if let Some(address) = raced_at {
            self.record(access, by, class_number, address);
        }
    }

    fn fence(&mut self, by: Thread, scope: Scope, _sequentially_consistent: bool, _site: Site) {
        let by = self.threads.see(by);
        self.threads.fence(by, Level::of(scope));
        self.notes.fenced(by, scope);
    }

    fn arrive(&mut self, barrier: Barrier, by: &[Thread], _site: Site) {
        let slot = self.barriers.entry(barrier.of).or_default();
        let (phase, met) = &mut slot[(barrier.phase % 2) as usize];
        if *phase != barrier.phase {
            (*phase, *met) = (barrier.phase, Meeting::default());
        }
        let ids = by.iter().map(|&thread| self.threads.see(thread)).collect::<Vec<_>>();
        self.threads.arrive(met, ids.into_iter());
    }

    fn leave(&mut self, barrier: Barrier, by: &[Thread], _site: Site) {
        let Some(slot) = self.barriers.get(&barrier.of) else { return };
        let (phase, met) = &slot[(barrier.phase % 2) as usize];
        if *phase == barrier.phase {
            let ids = by.iter().map(|&thread| self.threads.see(thread)).collect::<Vec<_>>();
            self.threads.leave(met, ids.into_iter());
        }
    }

    fn warp_barrier(&mut self, lanes: &[Thread], _site: Site) {
        let ids: Vec<ThreadId> = lanes.iter().map(|&thread| self.threads.see(thread)).collect();
        let mut met = Meeting::default();
        self.threads.arrive(&mut met, ids.iter().copied());
        self.threads.leave(&met, ids.into_iter());
    }

    fn block_end(&mut self, block: u32) {
        self.shadow.forget_block(block);
        self.barriers.retain(|of, _| !matches!(of, BarrierOf::Block { block: ended, .. } if *ended == block));
    }

    fn launch_end(&mut self) {
        self.threads.clear();
        self.shadow.clear();
        self.notes.clear();
        self.barriers.clear();
    }
}
