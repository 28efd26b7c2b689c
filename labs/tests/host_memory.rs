//! What the host writes, as kernels see it: its own memory under a kernel, and an upload right before one; on the simulator,
//! and on a GPU where there is one.
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

/// Uploads two inputs in turn, each right before the kernel that adds it up: a kernel that starts before the last of an
/// upload has arrived adds up some of the input before.
fn sums_what_was_written_last(backend: &mut dyn Backend, size: usize, times: usize) {
    let input = backend.allocate(size as u64 * 4).unwrap();
    let total = backend.allocate(4).unwrap();
    let inputs = [1.0_f32, 2.0].map(|value| value.to_le_bytes().repeat(size));
    for turn in 0..times {
        backend.run(&[Step::Zero(total)]).unwrap();
        backend.write(input, &inputs[turn % 2]).unwrap();
        let arguments = vec![Argument::Buffer(input), Argument::Buffer(total), Argument::U64(size as u64)];
        backend.run(&[Step::Launch(Launch::new("grid_stride", 64, 256, arguments))]).unwrap();
        let mut bytes = [0; 4];
        backend.read(total, &mut bytes).unwrap();
        let wanted = (size * (turn % 2 + 1)) as f32;
        assert_eq!(f32::from_le_bytes(bytes), wanted, "upload {turn} of {times}");
    }
}

#[test]
fn a_kernel_sees_all_that_was_written() {
    let mut sim = Sim::new(Options::default(), false);
    for image in &code::for_simulator(lab::find("day26").unwrap(), None, 90).unwrap().images {
        sim.load(image).unwrap();
    }
    sums_what_was_written_last(&mut sim, 1_000, 2);
}

#[test]
fn a_kernel_adds_in_host_memory() {
    let mut sim = Sim::new(Options::default(), false);
    for image in &code::for_simulator(lab::find("day26").unwrap(), None, 90).unwrap().images {
        sim.load(image).unwrap();
    }
    adds_in_host_memory(&mut sim);
}

/// The GPU with day26's kernels, or a loud skip.
fn gpu() -> Option<Cuda> {
    let mut cuda = Cuda::open().inspect_err(|error| skip::skipped(&format!("{error:#}"))).ok()?;
    let architecture = cuda.device().architecture;
    for image in &code::for_gpu(lab::find("day26").unwrap(), None, architecture).unwrap().images {
        cuda.load(image).unwrap();
    }
    Some(cuda)
}

#[test]
#[ignore = "needs a GPU"]
fn a_kernel_adds_in_host_memory_on_a_gpu() {
    let Some(mut cuda) = gpu() else { return };
    adds_in_host_memory(&mut cuda);
}

#[test]
#[ignore = "needs a GPU"]
fn a_kernel_sees_all_that_was_written_on_a_gpu() {
    let Some(mut cuda) = gpu() else { return };
    sums_what_was_written_last(&mut cuda, 300_001, 3_000);
}
