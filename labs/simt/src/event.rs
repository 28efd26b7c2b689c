//! What the machine tells an observer while a kernel runs: every memory
//! access and every synchronisation, in the order in which the simulated
//! machine performed them. The race detector is such an observer.

/// Memory an access can reach in more than one thread. `local` and `param`
/// belong to one thread and are not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Device memory; the address is the byte address in the machine.
    Global,
    /// The shared memory of the block with this linear index.
    Shared {
        /// Linear index of the owning block, not of the accessing one.
        block: u32,
    },
}

/// A thread of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Thread {
    /// Linear block index.
    pub block: u32,
    /// Linear thread index in the block.
    pub thread: u32,
    /// Linear cluster index (the block index where there are no clusters).
    pub cluster: u32,
}

impl Thread {
    /// Warp within the block.
    pub fn warp(self) -> u32 {
        self.thread / 32
    }
}

/// Which threads an operation is strong with respect to (PTX ISA, "Scope").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The threads of one block.
    Block,
    /// The threads of one cluster.
    Cluster,
    /// All threads on one device.
    Device,
    /// All threads, the host's included.
    System,
}

/// Memory order of an operation (PTX ISA, "Ordering").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// A plain access: racing with it is undefined.
    Weak,
    /// `volatile`: relaxed at system scope.
    Volatile,
    /// Relaxed, and atomics that name no order.
    Relaxed,
    /// Acquire.
    Acquire,
    /// Release.
    Release,
    /// Acquire and release.
    AcqRel,
}

/// What an access does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `ld`
    Read,
    /// `st`
    Write,
    /// `atom` or `red`; a compare-and-swap that failed is one too.
    ReadModifyWrite,
}

/// Where in the kernel something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// Index of the instruction in its function.
    pub instruction: u32,
    /// Line of the source file by the PTX's `.loc`, or of the PTX text where there is none.
    pub line: u32,
}

/// One thread's access to `bytes` bytes at `address`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Who.
    pub by: Thread,
    /// Where in memory.
    pub space: Space,
    /// First byte: within the device's memory, or within the block's shared memory.
    pub address: u64,
    /// How many bytes (1 to 16). A weak vector access is one access; a strong one comes element
    /// by element, as the PTX memory model treats it.
    pub bytes: u8,
    /// Read, write or both.
    pub kind: Kind,
    /// Its order.
    pub order: Order,
    /// Its scope; meaningless where `order` is weak.
    pub scope: Scope,
    /// Which instruction.
    pub site: Site,
}

/// A barrier, once around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Barrier {
    /// Which one.
    pub of: BarrierOf,
    /// How often it has opened before.
    pub phase: u64,
}

/// The owner of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierOf {
    /// One of a block's numbered barriers.
    Block {
        /// Linear block index.
        block: u32,
        /// 0 to 15.
        number: u8,
    },
    /// The barrier of the cluster with this linear index.
    Cluster(u32),
}

/// A receiver of what the machine does. All methods do nothing unless overridden.
pub trait Observer {
    /// A thread touched memory.
    fn access(&mut self, _access: &Access) {}
    /// A thread executed a fence: `fence.acq_rel` or `fence.sc` (`membar` is `sc`).
    fn fence(&mut self, _by: Thread, _scope: Scope, _sequentially_consistent: bool, _site: Site) {}
    /// Threads arrived at a barrier: what they did until now is ordered before what
    /// any thread does after it left the same phase of it. Arrivals that order
    /// nothing (`barrier.cluster.arrive.relaxed`) are not reported.
    fn arrive(&mut self, _barrier: Barrier, _by: &[Thread], _site: Site) {}
    /// Threads that waited at a barrier go on. Who only arrives (`bar.arrive`) never does.
    fn leave(&mut self, _barrier: Barrier, _by: &[Thread], _site: Site) {}
    /// The lanes of a warp met at a `.sync` instruction that orders memory among
    /// them (`bar.warp.sync`; shuffles, votes and matches do not).
    fn warp_barrier(&mut self, _lanes: &[Thread], _site: Site) {}
    /// A block has ended, and its shared memory is gone.
    fn block_end(&mut self, _block: u32) {}
    /// A launch ended: everything in it is ordered before the next launch.
    fn launch_end(&mut self) {}
}
