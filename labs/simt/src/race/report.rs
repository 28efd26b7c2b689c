//! Races as they are reported, each pair of lines once.

use std::collections::HashMap;
use std::fmt;

use super::class::{Class, Level};
use super::clock::ThreadId;
use super::threads::Threads;
use crate::event::{Kind, Order, Scope, Site, Space, Thread};

/// A conflict as the history finds it: the earlier access; the later is at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict {
    pub(super) first: ThreadId,
    pub(super) first_class: u32,
}

/// How far a value that passed between two threads carried order with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handover {
    Complete,
    NotReleased,
    /// How wide, and by which line.
    ReleasedTooNarrow(Level, u32),
    /// The level that an acquire would need.
    NotAcquired(Level),
    AcquiredTooNarrow,
}

impl Handover {
    /// What failed where write and read are strong but not in each other's scope.
    pub(super) fn unlinked(threads: &Threads, write: (&Class, u32), reader: u32) -> Self {
        let (class, writer) = write;
        if threads.within(class.level(), writer, reader) {
            Self::AcquiredTooNarrow
        } else {
            Self::ReleasedTooNarrow(class.level(), class.site.line)
        }
    }
}

/// A value seen that ordered nothing: the likely intention behind a race.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    pub(super) writer_block: u32,
    /// The writer continued what others had written, so it stands for them too.
    pub(super) chained: bool,
    pub(super) reader: ThreadId,
    pub(super) written_line: u32,
    pub(super) read_line: u32,
    pub(super) acquired: Scope,
    pub(super) handover: Handover,
}

/// Space and first byte of an access.
pub(super) type Place = (Space, u64);

/// The last notes of each reading block, with the place of the value.
#[derive(Debug, Default)]
pub(super) struct Notes(HashMap<u32, Vec<(Place, Note)>>);

/// Notes kept for one block.
const NOTES_PER_BLOCK: usize = 8;

impl Notes {
    pub(super) fn add(&mut self, place: Place, note: Note) {
        let notes = self.0.entry(note.reader.block()).or_default();
        let lines = |note: &Note| (note.written_line, note.read_line, note.handover);
        if let Some(old) = notes.iter_mut().find(|(_, old)| lines(old) == lines(&note)) {
            *old = (place, note);
            return;
        }
        if notes.len() == NOTES_PER_BLOCK {
            notes.remove(0);
        }
        notes.push((place, note));
    }

    /// A fence after a read acquires: what the read lacked is mended, if the fence is
    /// wide enough.
    pub(super) fn fenced(&mut self, by: ThreadId, scope: Scope) {
        let Some(notes) = self.0.get_mut(&by.block()) else {
            return;
        };
        let level = Level::of(scope);
        notes.retain_mut(|(_, note)| match note.handover {
            Handover::NotAcquired(needed) if note.reader == by => {
                note.handover = Handover::AcquiredTooNarrow;
                note.acquired = scope;
                needed > level
            }
            _ => true,
        });
    }

    /// What passed from the first thread to the second elsewhere than at `place`.
    fn between(&self, place: Place, first: ThreadId, second: ThreadId) -> Option<&Note> {
        let notes = self.0.get(&second.block())?;
        let elsewhere = || notes.iter().rev().filter(|(at, _)| *at != place);
        let exact = elsewhere().find(|(_, note)| note.writer_block == first.block());
        let found = exact.or_else(|| elsewhere().find(|(_, note)| note.chained));
        found.map(|(_, note)| note)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// How far apart two threads are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Distance {
    /// Lanes of one warp.
    Warp,
    /// Warps of one block.
    Block,
    /// Blocks of one cluster.
    Cluster,
    /// Blocks of different clusters, or where there are none.
    Device,
}

impl Distance {
    fn between(a: Thread, b: Thread) -> Self {
        if a.block == b.block {
            if a.warp() == b.warp() { Self::Warp } else { Self::Block }
        } else if a.cluster == b.cluster {
            Self::Cluster
        } else {
            Self::Device
        }
    }
}

/// Why two accesses race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Two lanes of a warp wrote it in one instruction.
    SameInstruction,
    /// Nothing at all stands between them.
    Unordered(Distance),
    /// Both are strong, but this scope does not reach the other thread.
    Scope(Scope, Distance),
    /// Both are strong, but of different sizes (bytes).
    Sizes(u8, u8),
    /// The second thread had seen a value that was not released.
    NotReleased {
        /// Where the value was written.
        written_line: u32,
        /// Where it was read.
        read_line: u32,
    },
    /// It had seen a value released at too narrow a scope.
    ReleaseScope {
        /// Of the release.
        scope: Scope,
        /// Where the value was written.
        line: u32,
        /// From the releasing thread to the reading one.
        distance: Distance,
    },
    /// It had seen a released value, without acquiring.
    NotAcquired {
        /// Where the value was written.
        written_line: u32,
        /// Where it was read.
        read_line: u32,
    },
    /// It had seen a released value, acquiring at too narrow a scope.
    AcquireScope {
        /// Of the acquire.
        scope: Scope,
        /// Where the value was read.
        line: u32,
        /// From the reading thread to the releasing one.
        distance: Distance,
    },
}

impl Reason {
    pub(super) fn find(
        notes: &Notes,
        place: Place,
        (first_id, first): (ThreadId, &Side),
        (second_id, second): (ThreadId, &Side),
    ) -> Self {
        let distance = Distance::between(first.thread, second.thread);
        if first.order != Order::Weak && second.order != Order::Weak {
            if first.bytes != second.bytes {
                return Self::Sizes(first.bytes, second.bytes);
            }
            return Self::Scope(narrower(first.scope, second.scope), distance);
        }
        if distance == Distance::Warp && first.site == second.site {
            return Self::SameInstruction;
        }
        let Some(note) = notes.between(place, first_id, second_id) else {
            return Self::Unordered(distance);
        };
        let (written_line, read_line) = (note.written_line, note.read_line);
        match note.handover {
            Handover::NotReleased => Self::NotReleased { written_line, read_line },
            Handover::NotAcquired(_) => Self::NotAcquired { written_line, read_line },
            Handover::ReleasedTooNarrow(level, line) => {
                Self::ReleaseScope { scope: scope_of(level), line, distance }
            }
            Handover::AcquiredTooNarrow => {
                Self::AcquireScope { scope: note.acquired, line: read_line, distance }
            }
            Handover::Complete => Self::Unordered(distance),
        }
    }
}

fn narrower(a: Scope, b: Scope) -> Scope {
    a.min(b)
}

fn scope_of(level: Level) -> Scope {
    match level {
        Level::Block => Scope::Block,
        Level::Cluster => Scope::Cluster,
        Level::Device => Scope::Device,
    }
}

/// One of the two accesses of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Who.
    pub thread: Thread,
    /// Which instruction.
    pub site: Site,
    /// Read, write or both.
    pub kind: Kind,
    /// Its order.
    pub order: Order,
    /// Its scope; meaningless where `order` is weak.
    pub scope: Scope,
    /// How many bytes it touched.
    pub bytes: u8,
}

impl Side {
    pub(super) fn new(thread: Thread, class: &Class) -> Self {
        Self {
            thread,
            site: class.site,
            kind: class.kind,
            order: class.order,
            scope: class.scope,
            bytes: class.bytes,
        }
    }
}

/// Two accesses to one location that nothing orders: the first time that this
/// pair of lines raced in these kinds of access, and how often it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The access that came first in this interleaving.
    pub first: Side,
    /// The other.
    pub second: Side,
    /// Where in memory.
    pub space: Space,
    /// The first byte that both touched.
    pub address: u64,
    /// Why nothing orders them.
    pub reason: Reason,
    /// Accesses at one line that raced with the other, over all runs.
    pub count: u64,
    /// Runs in which that happened.
    pub runs: u32,
}

/// The races of one run, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order of their source lines.
    pub races: Vec<Race>,
    /// How many runs (seeds) were watched.
    pub runs: u32,
}

impl Report {
    /// Adds what other runs of the same kernel found.
    pub fn merge(&mut self, other: Report) {
        self.runs += other.runs;
        for race in other.races {
            match self.races.iter_mut().find(|old| key_of(old) == key_of(&race)) {
                Some(old) => {
                    old.count += race.count;
                    old.runs += race.runs;
                }
                None => self.races.push(race),
            }
        }
        self.sort();
    }

    pub(super) fn sort(&mut self) {
        self.races.sort_by_key(key_of);
    }
}

/// What a race is counted under: line and kind of its two sides, whichever came
/// first. Copies of a line, in an unrolled loop say, count as one.
pub(super) type Key = [(u32, u8); 2];

pub(super) fn key(a: &Side, b: &Side) -> Key {
    let mut key = [a, b].map(|side| (side.site.line, side.kind as u8));
    key.sort_unstable();
    key
}

fn key_of(race: &Race) -> Key {
    key(&race.first, &race.second)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.races.is_empty() {
            return write!(f, "no race in {} runs", self.runs);
        }
        for (i, race) in self.races.iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n" };
            write!(f, "{separator}{race}, in {} of {} runs", race.runs, self.runs)?;
        }
        Ok(())
    }
}
