//! Memory of the host under a kernel: written before, added to by a kernel, read after; on the simulator, and on a GPU
//! where there is one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use labs::backend::cuda::Cuda;
use labs::backend::sim::Sim;
use labs::backend::{Argument, Backend, Launch, Step};
use labs::code;
use labs::lab;
use labs_simt::Options;

mod skip;

/// Adds 1 + 2 + .. + 1,000 to a float in host memory that held 0.5, then zeroes it.
fn adds_in_host_memory(backend: &mut dyn Backend) {
    let values: Vec<u8> = (1..=1_000).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let input = backend.allocate(4_000).unwrap();
    backend.write(input, &values).unwrap();
    // Two of them, so that one is found among several; the total is not at its start.
    let (_other, memory) = (backend.allocate_host(64).unwrap(), backend.allocate_host(4_096).unwrap());
    let total = memory.at(2_048);
    backend.write(total, &0.5_f32.to_le_bytes()).unwrap();
    let arguments = vec![Argument::Buffer(input), Argument::Buffer(total), Argument::U64(1_000)];
    backend.run(&[Step::Launch(Launch::new("global_atomic", 4, 256, arguments))]).unwrap();
    let mut bytes = [0; 4];
    backend.read(total, &mut bytes).unwrap();
    assert_eq!(f32::from_le_bytes(bytes), 500_500.5);
    backend.run(&[Step::Zero(total)]).unwrap();
    backend.read(total, &mut bytes).unwrap();
    assert_eq!(f32::from_le_bytes(bytes), 0.0);
    let error = backend.read(memory.at(4_094), &mut bytes).unwrap_err().to_string();
    assert!(error.contains("does not fit") || error.contains("stopped the work"), "{error}");
}

#[test]
fn a_kernel_adds_in_host_memory() {
    let mut sim = Sim::new(Options::default(), false);
    for image in &code::for_simulator(lab::find("day26").unwrap(), None, 90).unwrap().images {
        sim.load(image).unwrap();
    }
    adds_in_host_memory(&mut sim);
}

#[test]
#[ignore = "needs a GPU"]
fn a_kernel_adds_in_host_memory_on_a_gpu() {
    let mut cuda = match Cuda::open() {
        Ok(cuda) => cuda,
        Err(error) => {
            skip::skipped(&format!("{error:#}"));
            return;
        }
    };
    let architecture = cuda.device().architecture;
    for image in &code::for_gpu(lab::find("day26").unwrap(), None, architecture).unwrap().images {
        cuda.load(image).unwrap();
    }
    adds_in_host_memory(&mut cuda);
}
