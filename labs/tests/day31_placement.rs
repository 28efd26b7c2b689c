//! The kernels that day31 runs on a GPU alone, since the simulator has no time: trips and torn vectors do what they say.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use labs::backend::sim::Sim;
use labs::backend::{Argument, Backend as _, Buffer, Launch, Step};
use labs::code;
use labs::lab;
use labs_simt::Options;

const LINES: u32 = 3;
const HOPS: u32 = 5;
const BLOCKS: u32 = 4;

fn loaded() -> Sim {
    let mut sim = Sim::new(Options::default(), false);
    for image in &code::for_simulator(lab::find("day31").unwrap(), None, 90).unwrap().images {
        sim.load(image).unwrap();
    }
    sim
}

fn words(sim: &mut Sim, buffer: Buffer) -> Vec<u32> {
    let mut bytes = vec![0; buffer.bytes as usize];
    sim.read(buffer, &mut bytes).unwrap();
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Every SM visits every line with one add that is not timed and the hops; the steps take turns with the visits.
#[test]
fn trips_visit_every_line_of_memory() {
    let mut sim = loaded();
    let (pool, lines) = (sim.allocate(512).unwrap(), sim.allocate(12).unwrap());
    let (steps, out) = (sim.allocate(8).unwrap(), sim.allocate(u64::from(LINES * BLOCKS) * 4).unwrap());
    let sms = sim.allocate(u64::from(BLOCKS) * 4).unwrap();
    sim.write(lines, &[3_u32, 0, 2].map(u32::to_le_bytes).concat()).unwrap();
    sim.write(steps, &[1_u32, 1].map(u32::to_le_bytes).concat()).unwrap();
    for kernel in ["global_u32_trip", "host_u32_trip"] {
        let numbers = [LINES, HOPS, 0].map(Argument::U32);
        let [buffers @ .., last, cycles] = [pool, lines, steps, out, sms].map(Argument::Buffer);
        let arguments =
            vec![buffers[0], buffers[1], numbers[0], buffers[2], numbers[1], numbers[2], last, cycles];
        sim.run(&[Step::Zero(pool), Step::Launch(Launch::new(kernel, BLOCKS, 1, arguments))]).unwrap();
        let found = words(&mut sim, pool);
        let adds = BLOCKS * (HOPS + 1);
        assert_eq!([found[0], found[32], found[64], found[96]], [adds, 0, adds, adds], "{kernel}");
        assert!(words(&mut sim, out).iter().all(|cycles| *cycles > 0), "{kernel}");
    }
}

#[test]
fn trips_within_a_block_and_a_cluster_end() {
    let mut sim = loaded();
    let (steps, out) = (sim.allocate(16).unwrap(), sim.allocate(u64::from(LINES * BLOCKS) * 4).unwrap());
    let sms = sim.allocate(u64::from(BLOCKS) * 4).unwrap();
    sim.write(steps, &[0; 16]).unwrap();
    for (kernel, cluster) in
        [("shared_u32_trip", 1), ("shared_f16_trip", 1), ("cluster_u32_trip", 2), ("cluster_f64_trip", 2)]
    {
        let arguments = vec![
            Argument::U32(LINES),
            Argument::Buffer(steps),
            Argument::U32(HOPS),
            Argument::U32(0),
            Argument::Buffer(out),
            Argument::Buffer(sms),
        ];
        let launch = Launch { cluster, ..Launch::new(kernel, BLOCKS, 1, arguments) };
        sim.run(&[Step::Zero(out), Step::Launch(launch)]).unwrap();
        assert!(words(&mut sim, out).iter().all(|cycles| *cycles > 0), "{kernel}");
    }
}

/// In the simulator no add is half done; a word that was torn before is seen.
#[test]
fn a_torn_vector_is_counted() {
    let mut sim = loaded();
    let (vectors, places, torn) =
        (sim.allocate(128).unwrap(), sim.allocate(32 * 4).unwrap(), sim.allocate(32 * 4).unwrap());
    sim.run(&[Step::Zero(vectors), Step::Zero(places)]).unwrap();
    for (last, wanted) in [(0.0_f32, 0), (0.5, 2)] {
        for kernel in ["global_float4_torn", "global_float2_torn"] {
            // The second part of both, so that it is one of either width.
            sim.write(vectors, &[0.0, last, 0.0, 0.0].map(f32::to_le_bytes).concat()).unwrap();
            let arguments = vec![
                Argument::Buffer(vectors),
                Argument::Buffer(places),
                Argument::U32(2),
                Argument::Buffer(torn),
            ];
            sim.run(&[Step::Launch(Launch::new(kernel, 1, 32, arguments))]).unwrap();
            assert_eq!(words(&mut sim, torn), vec![wanted; 32], "{kernel}");
        }
    }
}
