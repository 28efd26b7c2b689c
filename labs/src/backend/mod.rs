//! Where kernels run: a GPU by CUDA's driver, or the simulator. A lab sees only this trait.

use anyhow::Result;
use labs_record::record::Gpu;

pub mod cuda;
pub mod nvml;

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
    /// Dynamic shared memory a block, bytes.
    pub shared_bytes: u32,
    /// Arguments in order.
    pub arguments: Vec<Argument>,
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

/// Something kernels run on.
pub trait Backend {
    /// The device.
    fn device(&self) -> &Device;

    /// Loads code; its kernels can then be launched. A later image's kernel replaces one of the same name.
    fn load(&mut self, image: &Image) -> Result<()>;

    /// Allocates memory, contents undefined.
    fn allocate(&mut self, bytes: u64) -> Result<Buffer>;

    /// Copies `data` to the buffer's start.
    fn write(&mut self, buffer: Buffer, data: &[u8]) -> Result<()>;

    /// Copies the buffer's start to `data`, after all work before it.
    fn read(&mut self, buffer: Buffer, data: &mut [u8]) -> Result<()>;

    /// Runs steps in order and waits for them.
    fn run(&mut self, steps: &[Step]) -> Result<()>;

    /// Runs `before`, then `timed`, and gives the nanoseconds `timed` took, gaps between its steps included.
    /// None where time is not real: the steps have run all the same.
    fn time(&mut self, before: &[Step], timed: &[Step]) -> Result<Option<f64>>;

    /// Evicts what the L2 holds; does nothing where there is no cache. Returns the step that does it.
    fn flush(&mut self) -> Result<Vec<Step>>;

    /// What a kernel takes, at this block size; none where it is not known.
    fn resources(&mut self, kernel: &str, block: u32) -> Result<Option<Resources>>;

    /// What the kernels asked for since the last call; none where nothing is counted.
    fn counts(&mut self) -> Option<Counts>;
}

/// What kernels asked of memory, exact for their PTX.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Atomic operations on global memory, one a lane.
    pub global_atomics: u64,
    /// Requests for atomics on global memory that are left when the compiler has folded what it can, one a
    /// lane or one a warp.
    pub after_folding: u64,
    /// Atomic operations on shared memory, one a lane.
    pub shared_atomics: u64,
    /// The most atomic operations on any one word of global memory.
    pub longest_queue: u64,
    /// Barriers a block waited at, added over blocks.
    pub barriers: u64,
    /// Instructions, one a lane that executed it.
    pub lane_instructions: u64,
}
