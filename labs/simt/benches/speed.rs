//! Lane-instructions a second on one core, counting on: `cargo bench -p labs-simt`.
//!
//! Criterion's element rate ("thrpt") is the figure: elements are lane-instructions
//! of the PTX as the report counts them.
#![allow(clippy::unwrap_used, clippy::panic)]
#![allow(missing_docs)] // criterion's macros make public functions

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use labs_simt::{Error, Gpu, Launch, Loaded, Machine, Module, Options, Report};

struct Run {
    machine: Machine,
    loaded: Loaded,
    grid: u32,
    block: u32,
    args: Vec<Vec<u8>>,
}

impl Run {
    fn new(text: &str, grid: u32, block: u32) -> Run {
        let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
        let mut machine = Machine::new(Gpu::H200, Options::default());
        let loaded = machine.load(&module).unwrap();
        Run { machine, loaded, grid, block, args: Vec::new() }
    }

    fn pointer(mut self, bytes: usize) -> Run {
        let address = self.machine.alloc(bytes).unwrap();
        self.args.push(address.to_le_bytes().to_vec());
        self
    }

    fn number(mut self, value: u32) -> Run {
        self.args.push(value.to_le_bytes().to_vec());
        self
    }

    fn launch(&mut self, kernel: &str) -> Result<Report, Error> {
        let args: Vec<&[u8]> = self.args.iter().map(Vec::as_slice).collect();
        let (grid, block) = ([self.grid, 1, 1], [self.block, 1, 1]);
        let launch = Launch { kernel, grid, block, cluster: [1; 3], dynamic_shared: 0, args: &args };
        self.machine.launch(&self.loaded, &launch, None)
    }
}

fn speed(c: &mut Criterion) {
    let sums = include_str!("../tests/ptx/sums.sm75.ptx");
    let atomics = include_str!("../tests/ptx/atomics.sm75.ptx");
    let locks = include_str!("../tests/ptx/locks.sm75.ptx");
    let n = 1 << 20;
    let sum = |grid| Run::new(sums, grid, 256).pointer(4 * n).pointer(4).number(n as u32);
    let runs = [
        ("block_tree", sum(n as u32 / 256)),
        ("grid_stride", sum(132 * 4)),
        ("global_atomic", sum(n as u32 / 256)),
        ("histogram_global", Run::new(sums, 528, 256).pointer(n).pointer(1024).number(n as u32)),
        ("cas_add", Run::new(atomics, 4, 64).pointer(4).number(16)),
        ("lock_spin", Run::new(locks, 4, 64).pointer(4).pointer(4)),
        ("lock_try", Run::new(locks, 4, 64).pointer(4).pointer(4)),
    ];
    let mut group = c.benchmark_group("lane_instructions");
    group.sample_size(10);
    for (kernel, mut run) in runs {
        let report = run.launch(kernel).unwrap_or_else(|e| panic!("{kernel}: {e}"));
        group.throughput(Throughput::Elements(report.lane_instructions));
        group.bench_function(BenchmarkId::from_parameter(kernel), |b| b.iter(|| run.launch(kernel)));
    }
    group.finish();
}

criterion_group!(benches, speed);
criterion_main!(benches);
