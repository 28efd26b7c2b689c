//! The simulated machine: memory, loaded modules, launches.

mod access;
mod asynchronous;
mod atomic;
mod barrier;
mod block;
mod collective;
mod grid;
mod memory;
mod place;
mod schedule;
mod special;
mod step;
mod vector;
mod warp;

use std::sync::Arc;

use crate::count::Report;
use crate::decode::{Module, Parts};
use crate::error::Error;
use crate::event::Observer;
use crate::types::Space;
use grid::Grid;
use memory::Memory;

/// What the scheduler takes from a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Most blocks resident on one.
    pub blocks_per_sm: u32,
    /// Most threads resident on one.
    pub threads_per_sm: u32,
    /// Shared memory of one, in bytes.
    pub shared_bytes_per_sm: u32,
    /// Compute capability times ten, for the prediction of machine code: 75, 80, 90.
    pub sm: u32,
}

impl Gpu {
    /// NVIDIA H200: 132 SMs of compute capability 9.0 (CUDA C++ Programming Guide, "Compute Capabilities").
    pub const H200: Gpu =
        Gpu { sms: 132, blocks_per_sm: 32, threads_per_sm: 2048, shared_bytes_per_sm: 233_472, sm: 90 };
    /// NVIDIA T4: 40 SMs of compute capability 7.5.
    pub const T4: Gpu =
        Gpu { sms: 40, blocks_per_sm: 16, threads_per_sm: 1024, shared_bytes_per_sm: 65_536, sm: 75 };
}

/// In which order blocks and warps get their turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By index, in turn.
    #[default]
    Fair,
    /// By the seed: blocks, warps and the lengths of their turns.
    Shuffled,
    /// The latest block first, and one block starved: what assumes an order fails.
    Adversarial,
}

/// How a warp's lanes diverge and meet again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reconvergence {
    /// Volta and later: lanes meet where they can, but each gets its turn in the end.
    #[default]
    Independent,
    /// Before Volta: lanes wait at the meeting point until all have come.
    Stack,
}

/// How to run launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seed of [`Order::Shuffled`].
    pub seed: u64,
    /// Order of blocks and warps.
    pub order: Order,
    /// Reconvergence of lanes.
    pub reconvergence: Reconvergence,
    /// Most lane-instructions of a launch.
    pub budget: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0,
            order: Order::Fair,
            reconvergence: Reconvergence::Independent,
            budget: 100_000_000_000,
        }
    }
}

/// A module whose variables have addresses in a machine.
#[derive(Clone, Debug)]
pub struct Loaded {
    module: Module,
    /// Address of each of the module's variables in its space.
    addresses: Arc<[u64]>,
    constants: Arc<[u8]>,
    machine: u64,
}

/// Shape and arguments of a launch.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Blocks of a cluster; `[1; 3]` without.
    pub cluster: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u32,
    /// Each parameter's bytes, little-endian.
    pub args: &'a [&'a [u8]],
}

/// A GPU with its memory.
#[derive(Debug)]
pub struct Machine {
    gpu: Gpu,
    options: Options,
    memory: Memory,
    launches: u64,
    id: u64,
}

impl Machine {
    /// A machine with empty memory.
    pub fn new(gpu: Gpu, options: Options) -> Machine {
        use std::sync::atomic::{AtomicU64, Ordering};
        // Tells machines apart, so that a module loaded in one is refused by another.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Machine { gpu, options, memory: Memory::new(), launches: 0, id: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// The GPU that is simulated.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// How launches run from now on.
    pub fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }

    /// `bytes` bytes of zeroed device memory; the address.
    ///
    /// # Errors
    /// The computer has no room.
    pub fn alloc(&mut self, bytes: usize) -> Result<u64, Error> {
        self.memory.alloc(bytes).map_err(Error::Usage)
    }

    /// Gives an allocation back; its address is wrong from now on.
    ///
    /// # Errors
    /// `address` is not what [`Machine::alloc`] returned.
    pub fn free(&mut self, address: u64) -> Result<(), Error> {
        self.memory.free(address).map_err(|e| Error::Usage(format!("free: {e}")))
    }

    /// Copies from device memory.
    ///
    /// # Errors
    /// The range is not within one allocation.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Error> {
        let found =
            self.memory.slice(address, into.len()).map_err(|e| usage("read", address, into.len(), &e))?;
        into.copy_from_slice(found);
        Ok(())
    }

    /// Copies to device memory.
    ///
    /// # Errors
    /// The range is not within one allocation.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let place = self
            .memory
            .slice_mut(address, bytes.len())
            .map_err(|e| usage("write", address, bytes.len(), &e))?;
        place.copy_from_slice(bytes);
        Ok(())
    }

    /// Sets `bytes` bytes of device memory to `value`.
    ///
    /// # Errors
    /// The range is not within one allocation.
    pub fn fill(&mut self, address: u64, value: u8, bytes: usize) -> Result<(), Error> {
        let place = self.memory.slice_mut(address, bytes).map_err(|e| usage("fill", address, bytes, &e))?;
        place.fill(value);
        Ok(())
    }

    /// Gives a module's variables their memory and initial values.
    ///
    /// # Errors
    /// The computer has no room.
    pub fn load(&mut self, module: &Module) -> Result<Loaded, Error> {
        let variables = &module.parts.variables;
        let place = |space: Space| {
            let mut bytes = 0_u64;
            let mut offsets = vec![0; variables.len()];
            for (variable, offset) in variables.iter().zip(&mut offsets).filter(|(v, _)| v.space == space) {
                *offset = bytes.next_multiple_of(u64::from(variable.align.max(1)));
                bytes = *offset + variable.size;
            }
            (bytes, offsets)
        };
        let (global_bytes, global) = place(Space::Global);
        let (const_bytes, constant) = place(Space::Const);
        let base = self.alloc(global_bytes as usize)?;
        let mut constants = vec![0; const_bytes as usize];
        let mut addresses = Vec::with_capacity(variables.len());
        for (variable, (global, constant)) in variables.iter().zip(global.into_iter().zip(constant)) {
            if variable.space == Space::Global {
                self.write(base + global, &variable.init)?;
                addresses.push(base + global);
            } else {
                if let Some(to) =
                    constants.get_mut(constant as usize..constant as usize + variable.init.len())
                {
                    to.copy_from_slice(&variable.init);
                }
                addresses.push(constant);
            }
        }
        Ok(Loaded {
            module: module.clone(),
            addresses: addresses.into(),
            constants: constants.into(),
            machine: self.id,
        })
    }

    /// Address and size of a module's `__device__` variable.
    pub fn symbol(&self, loaded: &Loaded, name: &str) -> Option<(u64, u64)> {
        let parts: &Parts = &loaded.module.parts;
        let index = parts.variables.iter().position(|v| v.name == name && v.space == Space::Global)?;
        Some((*loaded.addresses.get(index)?, parts.variables.get(index)?.size))
    }

    /// Runs a kernel to its end and counts.
    ///
    /// # Errors
    /// An impossible shape or wrong arguments; a wrong access, a trap, a
    /// deadlock or an exhausted budget, each with its place in the kernel.
    pub fn launch(
        &mut self,
        loaded: &Loaded,
        launch: &Launch<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Report, Error> {
        if loaded.machine != self.id {
            return Err(Error::Usage("the module was loaded in another machine".to_owned()));
        }
        let observer = observer.map(|o| o as &mut dyn Observer);
        let mut grid = Grid::new(self.gpu, self.options, &mut self.memory, loaded, launch, observer)?;
        grid.serial = self.launches;
        self.launches += 1;
        grid.run()
    }
}

fn usage(what: &str, address: u64, bytes: usize, why: &str) -> Error {
    Error::Usage(format!("{what} of {bytes} bytes at {address:#x}: {why}"))
}
