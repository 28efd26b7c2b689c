//! Fixture kernels and buffers for the tests of the machine.
#![allow(clippy::unwrap_used, clippy::panic)]
#![allow(dead_code, unreachable_pub)] // each test crate uses its part

use labs_simt::{Error, Gpu, Launch, Loaded, Machine, Module, Options, Report};

/// PTX of `tests/ptx/NAME`.
pub fn fixture(name: &str) -> Module {
    let path = format!("{}/tests/ptx/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    Module::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A machine with a module.
pub struct Bench {
    pub machine: Machine,
    pub loaded: Loaded,
}

/// An argument of a launch.
#[derive(Clone, Copy)]
pub enum Arg {
    Ptr(u64),
    U32(u32),
}

impl Bench {
    pub fn new(name: &str) -> Bench {
        Bench::with(name, Options::default())
    }

    pub fn with(name: &str, options: Options) -> Bench {
        let mut machine = Machine::new(Gpu::H200, options);
        let loaded = machine.load(&fixture(name)).unwrap();
        Bench { machine, loaded }
    }

    /// Device memory with these words.
    pub fn words(&mut self, words: &[u32]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let address = self.machine.alloc(bytes.len()).unwrap();
        self.machine.write(address, &bytes).unwrap();
        address
    }

    pub fn read(&self, address: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; count * 4];
        self.machine.read(address, &mut bytes).unwrap();
        bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
    }

    pub fn launch(&mut self, kernel: &str, grid: u32, block: u32, args: &[Arg]) -> Result<Report, Error> {
        self.launch_shared(kernel, grid, block, 0, args)
    }

    pub fn launch_shared(
        &mut self,
        kernel: &str,
        grid: u32,
        block: u32,
        shared: u32,
        args: &[Arg],
    ) -> Result<Report, Error> {
        let bytes: Vec<Vec<u8>> = args
            .iter()
            .map(|a| match a {
                Arg::Ptr(p) => p.to_le_bytes().to_vec(),
                Arg::U32(v) => v.to_le_bytes().to_vec(),
            })
            .collect();
        let slices: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        let launch = Launch {
            kernel,
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            cluster: [1; 3],
            dynamic_shared: shared,
            args: &slices,
        };
        self.machine.launch(&self.loaded, &launch, None)
    }
}
