//! The accesses to one location that a later access could race with.

use super::class::{Class, Classes, Level};
use super::clock::ThreadId;
use super::report::{Conflict, Handover, Note};
use super::sync::{Releases, release, restart};
use super::threads::Threads;
use crate::event::Kind;

/// An access by lanes of one warp, in one epoch of each, by one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    warp: u32,
    lanes: u32,
    epoch: u32,
    class: u32,
}

/// The access being judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now<'a> {
    pub(super) by: ThreadId,
    pub(super) epoch: u32,
    pub(super) class: &'a Class,
    pub(super) class_number: u32,
    /// Whether this cell is the access's first: releases are kept there.
    pub(super) first_cell: bool,
}

impl Now<'_> {
    fn mark(&self) -> Mark {
        Mark { warp: self.by.warp, lanes: self.by.bit(), epoch: self.epoch, class: self.class_number }
    }
}

/// What judging needs beside the cell.
pub(super) struct Bench<'a> {
    pub(super) threads: &'a mut Threads,
    pub(super) classes: &'a Classes,
    /// Races found by this access.
    pub(super) conflicts: &'a mut Vec<Conflict>,
    /// Values seen without synchronising, for explanations.
    pub(super) notes: &'a mut Vec<Note>,
}

impl Bench<'_> {
    /// The first lane of `mark` whose access is not ordered before `now`.
    fn unordered(&self, mark: &Mark, by: ThreadId) -> Option<ThreadId> {
        let mut lanes = mark.lanes;
        if mark.warp == by.warp {
            lanes &= !by.bit();
        }
        if lanes == 0 {
            return None;
        }
        let known = self.threads.base(by).and_then(|base| base.warp(mark.warp));
        (0..32)
            .filter(|lane| lanes & (1 << lane) != 0)
            .find(|&lane| known.is_none_or(|known| known[lane as usize] < mark.epoch))
            .map(|lane| ThreadId { warp: mark.warp, lane })
    }

    /// Whether any lane of `mark` is the thread itself or ordered before `by`'s present.
    fn any_ordered(&self, mark: &Mark, by: ThreadId) -> bool {
        if mark.warp == by.warp && mark.lanes & by.bit() != 0 {
            return true;
        }
        let known = self.threads.base(by).and_then(|base| base.warp(mark.warp));
        known.is_some_and(|known| {
            (0..32).any(|lane| mark.lanes & (1 << lane) != 0 && known[lane as usize] >= mark.epoch)
        })
    }

    fn judge(&mut self, mark: &Mark, now: &Now) {
        if let Some(other) = self.unordered(mark, now.by) {
            self.conflicts.push(Conflict { first: other, first_class: mark.class });
        }
    }
}

/// The shadow of one word, or of one byte.
#[derive(Clone, Debug, Default)]
pub(super) enum Cell {
    #[default]
    Untouched,
    /// Weak accesses only: the last write, and one read since.
    Plain { write: Option<Mark>, read: Option<Mark> },
    /// Strong accesses, or reads by several warps.
    Many(Box<History>),
    /// A word whose bytes were touched apart.
    Bytes(Box<[Cell; 4]>),
}

/// Makes a word's cell into four bytes' cells.
pub(super) fn split(cell: &mut Cell) {
    if matches!(cell, Cell::Bytes(_)) {
        return;
    }
    let whole = std::mem::take(cell);
    // The clones come without releases: those are found at the word's first byte.
    let [b, c, d] = [whole.clone(), whole.clone(), whole.clone()];
    *cell = Cell::Bytes(Box::new([whole, b, c, d]));
}

impl Cell {
    /// Judges an access against the history and adds it.
    pub(super) fn access(&mut self, now: &Now, bench: &mut Bench) {
        let weak = !now.class.is_strong();
        match self {
            Self::Plain { .. } | Self::Untouched if weak => self.plain_access(now, bench),
            Self::Many(history) if weak && now.class.writes() => {
                history.judge(now, bench);
                *self = Self::written(now);
            }
            _ => {
                let mut history = std::mem::take(self).into_history();
                history.access(now, bench);
                *self = Self::Many(history);
            }
        }
    }

    /// After a weak write nothing before it matters: what was ordered before the
    /// write is ordered before whatever the write is, and the rest was reported.
    fn written(now: &Now) -> Self {
        Self::Plain { write: Some(now.mark()), read: None }
    }

    fn plain_access(&mut self, now: &Now, bench: &mut Bench) {
        let (write, read) = match self {
            Self::Plain { write, read } => (*write, read),
            _ => (None, &mut None),
        };
        if let Some(write) = &write {
            bench.judge(write, now);
        }
        if now.class.writes() {
            if let Some(read) = read {
                bench.judge(read, now);
            }
            *self = Self::written(now);
            return;
        }
        match read {
            Some(old) if old.joins(now) => old.lanes |= now.by.bit(),
            Some(old) if bench.unordered(old, now.by).is_some() => {
                let mut history = std::mem::take(self).into_history();
                history.add(now, bench, When::default());
                *self = Self::Many(history);
            }
            _ => {
                *self = Self::Plain { write, read: Some(now.mark()) };
            }
        }
    }

    fn into_history(self) -> Box<History> {
        let (write, read) = match self {
            Self::Many(history) => return history,
            Self::Plain { write, read } => (write, read),
            // A split word is judged byte by byte and never gets here.
            Self::Untouched | Self::Bytes(_) => (None, None),
        };
        let mut history = Box::<History>::default();
        let mut add = |writes, mark, when| {
            let mut group = Group::new(writes, None);
            group.entries.push(Entry { mark, when });
            history.groups.push(group);
        };
        if let Some(mark) = read {
            add(false, mark, When::default());
        }
        if let Some(mark) = write {
            // It heads a chain too, for read-modify-writes of its own thread.
            let when = When { chain: 1, turn: 1 };
            add(true, mark, when);
            history.when = when;
            let lane = mark.lanes.trailing_zeros();
            let warp = mark.warp;
            history.last_write = Some((ThreadId { warp, lane }, mark.class));
        }
        history
    }
}

impl Mark {
    /// Whether the access differs from the mark's in its lane at most.
    fn joins(&self, now: &Now) -> bool {
        self.warp == now.by.warp && self.epoch == now.epoch && self.class == now.class_number
    }
}

impl When {
    /// Whether no other strong access came in between; so for all weak ones.
    fn just_before(self, later: When) -> bool {
        self == later || (self.chain == later.chain && self.turn + 1 == later.turn)
    }
}

/// When an access was made, among the strong accesses to its location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct When {
    /// Which chain: a plain store and the read-modify-writes upon it. 0 is none.
    chain: u32,
    turn: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    mark: Mark,
    /// Of weak reads, and of reads that observe nothing: the default.
    when: When,
}

/// Accesses that are alike for the question whether another conflicts with them.
#[derive(Clone, Debug)]
struct Group {
    writes: bool,
    /// Reach and size of strong accesses; weak ones have none.
    strength: Option<(Level, u8)>,
    /// In order of time. Accesses that a later one of the same thread has made
    /// redundant stay until the list is compacted.
    entries: Vec<Entry>,
    /// Compact when this many entries stand.
    compact_at: usize,
}

/// Lists shorter than this are never compacted.
const COMPACT_FROM: usize = 64;

impl Group {
    fn new(writes: bool, strength: Option<(Level, u8)>) -> Self {
        Self { writes, strength, entries: Vec::new(), compact_at: COMPACT_FROM }
    }

    fn add(&mut self, now: &Now, bench: &Bench, when: When) {
        let mark = now.mark();
        match self.entries.last_mut() {
            Some(entry) if entry.mark.joins(now) && entry.when.just_before(when) => {
                entry.mark.lanes |= mark.lanes;
                entry.when = when;
                return;
            }
            _ => self.entries.push(Entry { mark, when }),
        }
        if self.entries.len() >= self.compact_at {
            if self.strength.is_none() {
                // A weak read ordered before another says nothing more than that one.
                self.entries.retain(|entry| bench.unordered(&entry.mark, now.by).is_some());
                self.entries.push(Entry { mark, when });
            }
            self.compact();
            self.compact_at = (2 * self.entries.len()).max(COMPACT_FROM);
        }
    }

    /// Leaves each lane its latest access only.
    fn compact(&mut self) {
        // Stable, so that a warp's entries stay in order of time.
        self.entries.sort_by_key(|entry| entry.mark.warp);
        let mut seen = (0, 0);
        let mut kept: Vec<Entry> = Vec::with_capacity(self.entries.len());
        for mut entry in self.entries.drain(..).rev() {
            if seen.0 != entry.mark.warp {
                seen = (entry.mark.warp, 0);
            }
            entry.mark.lanes &= !seen.1;
            seen.1 |= entry.mark.lanes;
            let like = |it: &Entry| (it.mark.warp, it.mark.epoch, it.mark.class, it.when);
            match kept.last_mut() {
                _ if entry.mark.lanes == 0 => {}
                Some(last) if like(last) == like(&entry) => last.mark.lanes |= entry.mark.lanes,
                _ => kept.push(entry),
            }
        }
        kept.reverse();
        self.entries = kept;
    }
}

/// Everything a later access could race with, and what the location has released.
#[derive(Debug, Default)]
pub(super) struct History {
    groups: Vec<Group>,
    /// Of the last strong access.
    when: When,
    /// The last write.
    last_write: Option<(ThreadId, u32)>,
    releases: Option<Box<Releases>>,
}

impl Clone for History {
    /// A copy for another byte of the word. Releases stay with the first.
    fn clone(&self) -> Self {
        Self { groups: self.groups.clone(), when: self.when, last_write: self.last_write, releases: None }
    }
}

impl History {
    fn access(&mut self, now: &Now, bench: &mut Bench) {
        if !now.class.is_strong() {
            self.judge(now, bench);
            self.add(now, bench, When::default());
            return;
        }
        let observes = now.class.reads() && self.observe(now, bench);
        self.judge(now, bench);
        self.when.turn = self.when.turn.saturating_add(1);
        if now.class.writes() {
            self.store(now, bench, observes);
        }
        let when = if observes || now.class.writes() { self.when } else { When::default() };
        self.add(now, bench, when);
    }

    /// The read half of a strong access: whether the last write precedes it in
    /// observation order, and if so, what it acquires.
    fn observe(&mut self, now: &Now, bench: &mut Bench) -> bool {
        let Some((writer, number)) = self.last_write else {
            return false;
        };
        let write = bench.classes.get(number);
        let sides = [(write, writer.warp), (now.class, now.by.warp)];
        let linked = writer == now.by || bench.threads.morally_strong(sides[0], sides[1]);
        if !now.first_cell {
            return linked;
        }
        let mut handover = Handover::NotReleased;
        if let Some(releases) = self.releases.as_ref().filter(|_| linked) {
            releases.acquire(bench.threads, now.by, now.class);
            handover = releases.handover(bench.threads, now.by, now.class);
        } else if !linked && write.is_strong() && self.releases.is_some() {
            handover = Handover::unlinked(bench.threads, sides[0], now.by.warp);
        }
        let tried = self.releases.is_some() || now.class.acquires();
        let other_block = writer.block() != now.by.block();
        if handover != Handover::Complete && writer != now.by && (tried || other_block) {
            bench.notes.push(Note {
                writer_block: writer.block(),
                reader: now.by,
                chained: write.kind == Kind::ReadModifyWrite,
                written_line: write.site.line,
                read_line: now.class.site.line,
                acquired: now.class.scope,
                handover,
            });
        }
        linked
    }

    fn judge(&mut self, now: &Now, bench: &mut Bench) {
        let mut seen: Option<Vec<When>> = None;
        for group in &self.groups {
            if !(group.writes || now.class.writes()) {
                continue;
            }
            let strong = (Level::Device, now.class.bytes);
            if now.class.is_strong() && now.class.level() == Level::Device && group.strength == Some(strong) {
                continue;
            }
            for entry in &group.entries {
                let mark = &entry.mark;
                let class = bench.classes.get(mark.class);
                let moral = bench.threads.morally_strong((class, mark.warp), (now.class, now.by.warp));
                if moral || bench.unordered(mark, now.by).is_none() {
                    continue;
                }
                if group.writes && entry.when.chain != 0 {
                    let seen = seen.get_or_insert_with(|| self.seen(now, bench));
                    let observed = |by: &When| by.chain == entry.when.chain && by.turn >= entry.when.turn;
                    if seen.iter().any(observed) {
                        continue;
                    }
                }
                bench.judge(mark, now);
            }
        }
    }

    /// How far each chain of writes is observed by accesses ordered before `now`
    /// (PTX ISA, "Causality Order": observed, then ordered).
    fn seen(&self, now: &Now, bench: &Bench) -> Vec<When> {
        let mut seen: Vec<When> = Vec::new();
        let strong = self.groups.iter().filter(|group| group.strength.is_some());
        for entry in strong.flat_map(|group| &group.entries) {
            let when = entry.when;
            match seen.iter_mut().find(|old| old.chain == when.chain) {
                Some(old) if old.turn >= when.turn => {}
                _ if !bench.any_ordered(&entry.mark, now.by) => {}
                Some(old) => old.turn = when.turn,
                None => seen.push(when),
            }
        }
        seen
    }

    /// The write half of a strong access.
    fn store(&mut self, now: &Now, bench: &Bench, observes: bool) {
        if now.class.kind == Kind::ReadModifyWrite {
            if !observes {
                self.releases = None;
                self.when.chain = self.when.turn;
            }
        } else {
            restart(&mut self.releases, bench.threads, now.by);
            self.when.chain = self.when.turn;
        }
        if now.first_cell {
            release(&mut self.releases, bench.threads, now.by, now.class);
        }
        self.last_write = Some((now.by, now.class_number));
    }

    fn add(&mut self, now: &Now, bench: &Bench, when: When) {
        let writes = now.class.writes();
        let strong = now.class.is_strong();
        let strength = strong.then(|| (now.class.level(), now.class.bytes));
        let known = self.groups.iter().position(|group| group.writes == writes && group.strength == strength);
        let index = known.unwrap_or_else(|| {
            self.groups.push(Group::new(writes, strength));
            self.groups.len() - 1
        });
        self.groups[index].add(now, bench, when);
    }
}
