//! What has been released through one location, and to whom.

use std::collections::BTreeMap;

use super::class::{Class, Level};
use super::clock::{Clock, ThreadId};
use super::report::Handover;
use super::threads::{Snapshot, Threads};

/// The releases that a read of the location's present value observes: those of
/// the last plain store and of the read-modify-writes upon it.
///
/// A release of scope S by thread X counts for a reader R with an acquire of
/// scope T if S includes R and T includes X. Sorting releases by what X and S
/// have in common answers that with three clocks, however many releases there were.
#[derive(Debug, Default)]
pub(super) struct Releases {
    /// All releases, by the block of the releasing thread.
    blocks: BTreeMap<u32, Clock>,
    /// Releases of cluster scope and wider, by the cluster of the releasing thread.
    clusters: BTreeMap<u32, Clock>,
    /// Releases of device scope and wider.
    device: Clock,
    /// The last one, for explanations.
    last: Option<(Class, Level)>,
    /// The last release operation. A later store by the same thread heads its
    /// pattern too.
    operation: Option<(ThreadId, Level, Snapshot)>,
}

impl Releases {
    /// Releases `snapshot` of `by` to the threads within `level`.
    fn add(&mut self, threads: &Threads, by: ThreadId, level: Level, snapshot: &Snapshot) {
        let clock = match level {
            Level::Block => self.blocks.entry(by.block()).or_default(),
            Level::Cluster => {
                let cluster = threads.cluster(by.block());
                self.clusters.entry(cluster).or_default()
            }
            Level::Device => &mut self.device,
        };
        // An epoch ends when it is released, so who knows it knows the whole snapshot.
        if clock.get(by) < snapshot.epoch {
            clock.join(&snapshot.base);
            clock.learn(by, snapshot.epoch);
        }
    }

    /// What readers in `reader`'s place can acquire with a scope of exactly `level`
    /// beyond what a narrower scope gives them.
    fn at(&self, threads: &Threads, reader: ThreadId, level: Level) -> Option<&Clock> {
        match level {
            Level::Block => self.blocks.get(&reader.block()),
            Level::Cluster => self.clusters.get(&threads.cluster(reader.block())),
            Level::Device => (!self.device.is_same(&Clock::default())).then_some(&self.device),
        }
    }

    /// Hands to `reader` what its read acquires; keeps for its fences what it does not.
    pub(super) fn acquire(&self, threads: &mut Threads, reader: ThreadId, class: &Class) {
        // The widest first: it mostly knows what the narrower ones do.
        for level in Level::ALL.into_iter().rev() {
            let Some(clock) = self.at(threads, reader, level).cloned() else {
                continue;
            };
            if class.acquires() && level <= class.level() {
                threads.acquire(reader, &clock);
            } else {
                threads.acquire_at_fence(reader, level, &clock);
            }
        }
    }

    /// What, if anything, kept the reader from acquiring at once.
    pub(super) fn handover(&self, threads: &Threads, reader: ThreadId, class: &Class) -> Handover {
        let narrowest = Level::ALL.into_iter().find(|&level| self.at(threads, reader, level).is_some());
        match (narrowest, self.last) {
            (None, None) => Handover::NotReleased,
            (None, Some((by, level))) => Handover::ReleasedTooNarrow(level, by.site.line),
            (Some(level), _) if !class.acquires() => Handover::NotAcquired(level),
            (Some(level), _) if level > class.level() => Handover::AcquiredTooNarrow,
            (Some(_), _) => Handover::Complete,
        }
    }
}

/// Adds what a strong write releases: as a release operation and through the
/// fences before it. `releases` is what the location carries on to its readers.
pub(super) fn release(releases: &mut Option<Box<Releases>>, threads: &Threads, by: ThreadId, class: &Class) {
    let now = class.releases().then(|| threads.snapshot(by)).flatten();
    for level in Level::ALL {
        let whole = now.as_ref().filter(|_| level <= class.level());
        let Some(snapshot) = whole.or_else(|| threads.fenced(by, level)) else {
            continue;
        };
        let releases = releases.get_or_insert_default();
        releases.add(threads, by, level, snapshot);
        releases.last = Some((*class, level));
    }
    if let (Some(now), Some(releases)) = (now, releases.as_deref_mut()) {
        releases.operation = Some((by, class.level(), now));
    }
}

/// Starts anew for a plain store: only an earlier release operation of the
/// same thread on this location stays (PTX ISA, "Release and Acquire Patterns").
pub(super) fn restart(releases: &mut Option<Box<Releases>>, threads: &Threads, by: ThreadId) {
    let Some(old) = releases.take() else {
        return;
    };
    let Some((owner, level, snapshot)) = old.operation.filter(|(owner, ..)| *owner == by) else {
        return;
    };
    let mut kept = Releases { last: old.last, ..Releases::default() };
    for each in Level::ALL.into_iter().filter(|&each| each <= level) {
        kept.add(threads, owner, each, &snapshot);
    }
    kept.operation = Some((owner, level, snapshot));
    *releases = Some(Box::new(kept));
}
