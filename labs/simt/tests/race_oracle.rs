//! The race detector against the memory model's definitions, applied to short
//! random event streams by closing relations, with neither clocks nor shadow memory.

use labs_simt::event::{Access, Barrier, BarrierOf, Kind, Observer, Order, Scope, Site, Space, Thread};
use labs_simt::race::RaceDetector;

const STREAMS: u64 = 10_000;
/// At most; a stream is as long as its seed says.
const EVENTS: u64 = 16;

#[derive(Clone, Debug)]
enum Event {
    Access(Access),
    Fence(Thread, Scope),
    Barrier(Vec<Thread>, Vec<Thread>),
}

/// A relation over the events of a stream.
type Relation = Vec<Vec<bool>>;

fn thread(index: u64) -> Thread {
    let (block, thread) = [(0, 0), (0, 1), (0, 32), (1, 0), (2, 0)][index as usize % 5];
    Thread { block, thread, cluster: block / 2 }
}

/// A small generator (Steele, Lea, Flood: SplitMix, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn scope(&mut self) -> Scope {
        use Scope::{Block, Cluster, Device, System};
        [Block, Cluster, Device, System, System, System][self.below(6) as usize]
    }

    fn event(&mut self, index: usize) -> Event {
        let by = thread(self.below(5));
        match self.below(12) {
            0 | 1 => Event::Fence(by, self.scope()),
            2 => {
                let both = vec![by, thread(self.below(5))];
                let released = if self.below(3) == 0 { vec![by] } else { both.clone() };
                Event::Barrier(both, released)
            }
            _ => Event::Access(self.access(by, index)),
        }
    }

    fn access(&mut self, by: Thread, index: usize) -> Access {
        use Order::{AcqRel, Acquire, Relaxed, Release, Volatile, Weak};
        let place = self.below(3);
        // The first place is mostly data, the others are mostly flags.
        let weak = place == 0 && self.below(4) > 0 || self.below(16) == 0;
        let pick = self.below(4) as usize;
        let (kind, order) = match self.below(3) {
            0 => (Kind::Read, [Relaxed, Acquire, Acquire, Volatile][pick]),
            1 => (Kind::Write, [Relaxed, Release, Release, Volatile][pick]),
            _ => (Kind::ReadModifyWrite, [Relaxed, Acquire, Release, AcqRel][pick]),
        };
        let weak = weak && kind != Kind::ReadModifyWrite;
        Access {
            by,
            space: Space::Global,
            address: 64 * place,
            bytes: 4,
            kind,
            order: if weak { Weak } else { order },
            scope: self.scope(),
            site: Site { instruction: index as u32, line: index as u32 },
        }
    }
}

fn includes(scope: Scope, a: Thread, b: Thread) -> bool {
    match scope {
        Scope::Block => a.block == b.block,
        Scope::Cluster => a.cluster == b.cluster,
        Scope::Device | Scope::System => true,
    }
}

/// Thread and scope of a strong operation.
fn strength(event: &Event) -> Option<(Thread, Scope)> {
    match event {
        Event::Access(a) => match a.order {
            Order::Weak => None,
            Order::Volatile => Some((a.by, Scope::System)),
            _ => Some((a.by, a.scope)),
        },
        Event::Fence(by, scope) => Some((*by, *scope)),
        Event::Barrier(..) => None,
    }
}

fn by(event: &Event) -> Option<Thread> {
    match event {
        Event::Access(a) => Some(a.by),
        Event::Fence(by, _) => Some(*by),
        Event::Barrier(..) => None,
    }
}

fn access(event: &Event) -> Option<&Access> {
    match event {
        Event::Access(a) => Some(a),
        _ => None,
    }
}

fn reads(a: &Access) -> bool {
    a.kind != Kind::Write
}

fn writes(a: &Access) -> bool {
    a.kind != Kind::Read
}

fn releases(a: &Access) -> bool {
    writes(a) && matches!(a.order, Order::Release | Order::AcqRel)
}

fn acquires(a: &Access) -> bool {
    reads(a) && matches!(a.order, Order::Acquire | Order::AcqRel)
}

/// Accesses here touch the same four bytes or none in common.
fn morally_strong(a: &Event, b: &Event) -> bool {
    if by(a).is_some() && by(a) == by(b) {
        return true;
    }
    let overlap = match (access(a), access(b)) {
        (Some(a), Some(b)) => a.address == b.address,
        _ => true,
    };
    match (strength(a), strength(b)) {
        (Some((x, s)), Some((y, t))) => overlap && includes(s, x, y) && includes(t, y, x),
        _ => false,
    }
}

struct Model<'a> {
    events: &'a [Event],
    observation: Relation,
    /// Base causality order.
    causality: Relation,
}

impl<'a> Model<'a> {
    /// `long_patterns`: whether the patterns that the detector follows in part
    /// count, a release operation with a later strong write and a strong read
    /// with a later acquire operation.
    fn new(events: &'a [Event], long_patterns: bool) -> Self {
        let n = events.len();
        let mut model =
            Self { events, observation: vec![vec![false; n]; n], causality: vec![vec![false; n]; n] };
        model.observe();
        model.order_by_threads_and_barriers();
        model.synchronise(long_patterns);
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    model.causality[i][j] |= model.causality[i][k] && model.causality[k][j];
                }
            }
        }
        model
    }

    fn observe(&mut self) {
        for (r, read) in self.events.iter().enumerate() {
            let Some(a) = access(read).filter(|a| reads(a)) else {
                continue;
            };
            let from = (0..r)
                .rev()
                .find(|&w| access(&self.events[w]).is_some_and(|b| writes(b) && b.address == a.address));
            let Some(w) = from.filter(|&w| morally_strong(&self.events[w], read)) else {
                continue;
            };
            let atomic = access(&self.events[w]).is_some_and(|b| b.kind == Kind::ReadModifyWrite);
            for i in 0..r {
                self.observation[i][r] = i == w || (atomic && self.observation[i][w]);
            }
        }
    }

    /// A barrier follows what its threads did and precedes what those it released do.
    fn order_by_threads_and_barriers(&mut self) {
        let gives = |event: &Event| match event {
            Event::Barrier(_, released) => released.clone(),
            other => by(other).into_iter().collect(),
        };
        let takes = |event: &Event| match event {
            Event::Barrier(arrived, _) => arrived.clone(),
            other => by(other).into_iter().collect(),
        };
        for (j, later) in self.events.iter().enumerate() {
            for (i, earlier) in self.events[..j].iter().enumerate() {
                let (from, to) = (gives(earlier), takes(later));
                self.causality[i][j] = from.iter().any(|thread| to.contains(thread));
            }
        }
    }

    /// The first operations of the release patterns that end in write `w`.
    fn release_starts(&self, w: usize, long: bool) -> Vec<usize> {
        let Some(write) = access(&self.events[w]).filter(|a| a.order != Order::Weak) else {
            return Vec::new();
        };
        (0..=w)
            .filter(|&f| match &self.events[f] {
                Event::Fence(by, _) => *by == write.by,
                Event::Access(a) => {
                    let same = a.by == write.by && a.address == write.address;
                    releases(a) && (f == w || (long && same))
                }
                Event::Barrier(..) => false,
            })
            .collect()
    }

    fn acquire_ends(&self, r: usize, long: bool) -> Vec<usize> {
        let Some(read) = access(&self.events[r]).filter(|a| a.order != Order::Weak) else {
            return Vec::new();
        };
        (r..self.events.len())
            .filter(|&l| match &self.events[l] {
                Event::Fence(by, _) => *by == read.by,
                Event::Access(a) => {
                    let same = a.by == read.by && a.address == read.address;
                    acquires(a) && (l == r || (long && same))
                }
                Event::Barrier(..) => false,
            })
            .collect()
    }

    fn synchronise(&mut self, long: bool) {
        let n = self.events.len();
        for w in 0..n {
            for r in (0..n).filter(|&r| self.observation[w][r]) {
                for f in self.release_starts(w, long) {
                    for l in self.acquire_ends(r, long) {
                        if morally_strong(&self.events[f], &self.events[l]) {
                            self.causality[f][l] = true;
                        }
                    }
                }
            }
        }
    }

    fn races(&self) -> Vec<(u32, u32)> {
        let n = self.events.len();
        let mut races = Vec::new();
        for j in 0..n {
            for i in 0..j {
                let (Some(a), Some(b)) = (access(&self.events[i]), access(&self.events[j])) else {
                    continue;
                };
                let conflict = a.address == b.address && (writes(a) || writes(b));
                let ordered =
                    self.causality[i][j] || (0..n).any(|z| self.observation[i][z] && self.causality[z][j]);
                if conflict && !ordered && !morally_strong(&self.events[i], &self.events[j]) {
                    races.push((i as u32, j as u32));
                }
            }
        }
        races
    }
}

/// A stream in short lines, for failures.
fn listing(events: &[Event]) -> String {
    let name = |t: &Thread| format!("b{}t{}", t.block, t.thread);
    let line = |(i, event): (usize, &Event)| match event {
        Event::Access(a) => {
            let (who, how) = (name(&a.by), (a.kind, a.order, a.scope));
            format!("\n{i}: {who} [{}] {how:?}", a.address / 64)
        }
        Event::Fence(by, scope) => format!("\n{i}: {} fence {scope:?}", name(by)),
        Event::Barrier(arrived, released) => {
            let names = |threads: &[Thread]| threads.iter().map(name).collect::<Vec<_>>();
            format!("\n{i}: barrier {:?} {:?}", names(arrived), names(released))
        }
    };
    events.iter().enumerate().map(line).collect()
}

fn detected(events: &[Event]) -> Vec<(u32, u32)> {
    let mut detector = RaceDetector::new();
    let mut phase = 0;
    let nowhere = Site { instruction: 0, line: 0 };
    for event in events {
        match event {
            Event::Access(access) => detector.access(access),
            Event::Fence(by, scope) => detector.fence(*by, *scope, false, nowhere),
            Event::Barrier(arrived, released) => {
                let barrier = Barrier { of: BarrierOf::Cluster(0), phase };
                detector.arrive(barrier, arrived, nowhere);
                detector.leave(barrier, released, nowhere);
                phase += 1;
            }
        }
    }
    let races = detector.into_report().races;
    let pair = |race: &labs_simt::race::Race| (race.first.site.line, race.second.site.line);
    races.iter().map(pair).collect()
}

#[test]
fn the_detector_agrees_with_the_definitions() {
    let (mut racy, mut clean) = (0, 0);
    for seed in 0..STREAMS {
        let mut random = Random(seed);
        let length = 4 + random.below(EVENTS - 3);
        let events: Vec<Event> = (0..length).map(|i| random.event(i as usize)).collect();
        let found = detected(&events);
        let possible = Model::new(&events, false).races();
        for race in &found {
            assert!(possible.contains(race), "seed {seed}: {race:?} is no race: {}", listing(&events));
        }
        // After the first race the detector may forget what led to it.
        let certain = Model::new(&events, true).races();
        if let Some(&(_, first)) = certain.iter().min_by_key(|(_, second)| *second) {
            racy += 1;
            assert!(
                found.iter().any(|&(_, second)| second <= first),
                "seed {seed}: {certain:?} missed, found {found:?}: {}",
                listing(&events)
            );
        } else {
            clean += 1;
        }
    }
    println!("{racy} streams with races, {clean} without");
    assert!(racy > 1_500 && clean > 1_500, "{racy} racy, {clean} clean");
}
