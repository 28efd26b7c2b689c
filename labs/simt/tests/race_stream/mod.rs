//! Event streams written by hand, for the tests of the race detector.
#![allow(dead_code, unused_imports, unreachable_pub)] // each test crate uses its part

pub use labs_simt::event::{Access, Barrier, BarrierOf, Kind, Observer, Order, Scope, Site, Space, Thread};
pub use labs_simt::race::{Distance, RaceDetector, Reason, Report};

pub use Kind::{Read, ReadModifyWrite as Rmw, Write};
pub use Order::{AcqRel, Acquire, Relaxed, Release, Volatile, Weak};
pub use Scope::{Block, Cluster, Device};

pub const DATA: u64 = 0x100;
pub const FLAG: u64 = 0x200;

/// Blocks 0 and 1 are cluster 0, blocks 2 and 3 cluster 1.
pub fn t(block: u32, thread: u32) -> Thread {
    Thread { block, thread, cluster: block / 2 }
}

pub fn site(line: u32) -> Site {
    Site { instruction: line, line }
}

#[derive(Default)]
pub struct Stream {
    pub detector: RaceDetector,
    pub phase: u64,
}

/// Order and scope of a strong access.
pub type Strength = (Order, Scope);

impl Stream {
    pub fn touch(&mut self, by: Thread, line: u32, kind: Kind, at: (u64, u8), how: Strength) {
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

    pub fn weak(&mut self, by: Thread, line: u32, kind: Kind, address: u64) -> &mut Self {
        self.touch(by, line, kind, (address, 4), (Weak, Block));
        self
    }

    pub fn strong(&mut self, by: Thread, line: u32, kind: Kind, how: Strength) -> &mut Self {
        self.touch(by, line, kind, (FLAG, 4), how);
        self
    }

    pub fn fence(&mut self, by: Thread, scope: Scope) -> &mut Self {
        self.detector.fence(by, scope, false, site(0));
        self
    }

    pub fn barrier(&mut self, threads: &[Thread]) -> &mut Self {
        self.arrive(0, threads);
        self.leave(0, threads);
        self.phase += 1;
        self
    }

    pub fn arrive(&mut self, number: u8, threads: &[Thread]) -> &mut Self {
        self.detector.arrive(self.event(number), threads, site(0));
        self
    }

    pub fn leave(&mut self, number: u8, threads: &[Thread]) -> &mut Self {
        self.detector.leave(self.event(number), threads, site(0));
        self
    }

    pub fn event(&self, number: u8) -> Barrier {
        Barrier { of: BarrierOf::Block { block: 0, number }, phase: self.phase }
    }

    pub fn report(&mut self) -> Report {
        std::mem::take(&mut self.detector).into_report()
    }

    /// The lines of the races.
    pub fn lines(&mut self) -> Vec<(u32, u32)> {
        let races = self.report().races;
        let line = |race: &labs_simt::race::Race| {
            let (a, b) = (race.first.site.line, race.second.site.line);
            (a.min(b), a.max(b))
        };
        races.iter().map(line).collect()
    }

    pub fn reason(&mut self) -> Reason {
        let report = self.report();
        assert_eq!(report.races.len(), 1, "{report}");
        report.races[0].reason
    }
}

pub fn stream() -> Stream {
    Stream::default()
}

pub const NONE: &[(u32, u32)] = &[];
