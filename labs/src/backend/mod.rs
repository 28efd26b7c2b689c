//! Where kernels run: a GPU by CUDA's driver, or the simulator. A lab sees only this trait.

use std::sync::atomic::AtomicU32;

use anyhow::Result;
use labs_record::record::{Gpu, Reading};

use nvml::Throttled;

use crate::failure::failed;

pub mod cuda;
pub mod nvml;
pub mod sim;

/// Memory of a backend; freed with the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// Address of its first byte on the device; aligned to 256 bytes.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
}

impl Buffer {
    /// The rest of the buffer from byte `offset` on.
    pub fn at(self, offset: u64) -> Buffer {
        Buffer { address: self.address + offset, bytes: self.bytes.saturating_sub(offset) }
    }
}

/// One kernel argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// A pointer to the buffer's first byte.
    Buffer(Buffer),
    /// `unsigned int`
    U32(u32),
    /// `unsigned long long`
    U64(u64),
    /// `float`
    F32(f32),
}

/// A kernel launch: one-dimensional grid and block.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The `__global__` function.
    pub kernel: String,
    /// Blocks; 0 launches nothing.
    pub grid: u32,
    /// Threads a block.
    pub block: u32,
    /// Blocks a cluster; 1 for none. More than 1 needs compute capability 9.0.
    pub cluster: u32,
    /// Dynamic shared memory a block, bytes.
    pub shared_bytes: u32,
    /// Arguments in order.
    pub arguments: Vec<Argument>,
}

impl Launch {
    /// A launch without clusters and dynamic shared memory.
    pub fn new(kernel: &str, grid: u32, block: u32, arguments: Vec<Argument>) -> Launch {
        Launch { kernel: kernel.to_owned(), grid, block, cluster: 1, shared_bytes: 0, arguments }
    }
}

/// A step of work on the device, in stream order.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Run a kernel.
    Launch(Launch),
    /// Set every byte of a buffer to zero.
    Zero(Buffer),
}

/// Code a backend can load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// PTX text.
    Ptx(String),
    /// Machine code for the GPU's architecture.
    Cubin(Vec<u8>),
}

/// What a kernel takes of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Registers a thread.
    pub registers: u32,
    /// Static shared memory a block, bytes.
    pub shared_bytes: u32,
    /// Local memory a thread, bytes.
    pub local_bytes: u32,
    /// Blocks of the asked size that fit an SM at once.
    pub blocks_per_sm: u32,
    /// Most threads an SM holds.
    pub threads_per_sm: u32,
}

/// The device that kernels run on.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// What a record says of it.
    pub gpu: Gpu,
    /// Driver version, or the simulator's.
    pub driver: String,
    /// Architecture, ten times the compute capability.
    pub architecture: u32,
}

/// What the host does while kernels run, with memory that both reach.
pub type Beside<'a> = &'a mut dyn FnMut(&[AtomicU32]) -> Result<()>;

/// Something kernels run on.
pub trait Backend {
    /// The device.
    fn device(&self) -> &Device;

    /// Loads code; its kernels can then be launched. A later image's kernel replaces one of the same name.
    fn load(&mut self, image: &Image) -> Result<()>;

    /// Allocates memory, contents undefined.
    fn allocate(&mut self, bytes: u64) -> Result<Buffer>;

    /// Allocates page-locked memory of the host that kernels reach at the buffer's address, contents undefined. It stays
    /// where it is and is never moved to the device, as managed memory would be.
    fn allocate_host(&mut self, bytes: u64) -> Result<Buffer>;

    /// Copies `data` to the buffer's start.
    fn write(&mut self, buffer: Buffer, data: &[u8]) -> Result<()>;

    /// Copies the buffer's start to `data`, after all work before it.
    fn read(&mut self, buffer: Buffer, data: &mut [u8]) -> Result<()>;

    /// Runs steps in order and waits for them.
    fn run(&mut self, steps: &[Step]) -> Result<()>;

    /// Runs steps, and meanwhile `beside` on this machine with the host's own view of `memory`, page-locked memory that the
    /// steps' kernels reach too; waits for both.
    ///
    /// # Errors
    /// Those of the steps and of `beside`; and where the host can't run at the same time as the kernels.
    fn run_beside(&mut self, _steps: &[Step], _memory: Buffer, _beside: Beside<'_>) -> Result<()> {
        Err(failed("kernels and the host do not run at the same time here"))
    }

    /// As [`run`](Backend::run), marked so that a profiler that waits for marks looks at these launches and no others.
    fn run_marked(&mut self, steps: &[Step]) -> Result<()> {
        self.run(steps)
    }

    /// Whether times are real here.
    fn keeps_time(&self) -> bool;

    /// Runs `before`, then `timed`, and gives the nanoseconds `timed` took, gaps between its steps included.
    ///
    /// # Errors
    /// Where [`keeps_time`](Backend::keeps_time) is false.
    fn time(&mut self, before: &[Step], timed: &[Step]) -> Result<f64>;

    /// Reads the sensors: says so if the device is being slowed down, which the samples since the last call then were too.
    fn slowed(&mut self) -> Option<Throttled> {
        None
    }

    /// What the sensors have shown so far, in the order SM clock, memory clock, power, temperature.
    fn readings(&self) -> [Reading; 4] {
        std::array::from_fn(|_| Reading::Absent("not readable: there are no sensors".to_owned()))
    }

    /// Evicts what the L2 holds; does nothing where there is no cache. Returns the step that does it.
    fn flush(&mut self) -> Result<Vec<Step>>;

    /// From now on, launches run under the shuffled schedule of this number; with none, as they did at first. Where
    /// hardware schedules, it does so whatever it is told.
    fn schedule(&mut self, _number: Option<u64>) {}

    /// What a kernel takes, at this block size; none where it is not known.
    fn resources(&mut self, kernel: &str, block: u32) -> Result<Option<Resources>>;

    /// What the kernels asked for since the last call; none where nothing is counted.
    fn counts(&mut self) -> Option<Counts>;

    /// The launches since the last call, each with what it asked for; empty where nothing is counted.
    fn launched(&mut self) -> Vec<Launched> {
        Vec::new()
    }
}

/// A launch that has run, and what it asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The `__global__` function.
    pub kernel: String,
    /// Blocks.
    pub grid: u32,
    /// Threads a block.
    pub block: u32,
    /// What it asked for.
    pub counts: Counts,
}

/// What kernels asked of memory, exact for their PTX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Atomic operations on global memory, one a lane.
    pub global_atomics: u64,
    /// The same after what the compiler is predicted to fold within a warp.
    pub global_after_folding: u64,
    /// The most atomic operations on one word of global memory, after what the compiler is predicted to fold.
    pub global_queue: u64,
    /// The most atomic operations on one 32-byte sector of global memory, one a lane: nothing of them folded.
    pub global_sector_queue: u64,
    /// Atomic operations on shared memory, one a lane.
    pub shared_atomics: u64,
    /// The most atomic operations on one word of a block's shared memory, after folding.
    pub shared_queue: u64,
    /// Compare-and-swaps that found another value than the expected one.
    pub failed_swaps: u64,
    /// Warp-level requests for atomics without a reply, as predicted.
    pub red_requests: u64,
    /// Warp-level requests for atomics with a reply, as predicted.
    pub atom_requests: u64,
    /// Warp-level loads from global memory.
    pub load_requests: u64,
    /// Distinct 32-byte sectors of each of them, added up.
    pub load_sectors: u64,
    /// Warp-level stores to global memory.
    pub store_requests: u64,
    /// Distinct 32-byte sectors of each of them, added up.
    pub store_sectors: u64,
    /// Barriers that opened.
    pub barriers: u64,
    /// Instructions, one a lane that executed it.
    pub lane_instructions: u64,
}
