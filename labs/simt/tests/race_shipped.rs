//! No false alarm on the shipped kernels of day 26: each sums `n` values from one array
//! into another, under every schedule.

use labs_simt::race::{RaceDetector, Report};
use labs_simt::{Error, Gpu, Launch, Machine, Module, Options, Order};

/// Odd, so that the last block is partly idle, and more than one block of any kernel here.
const N: usize = 5_003;
/// Blocks and threads of a block that the kernels are written for.
const GRID: u32 = 20;
const BLOCK: u32 = 256;

fn shipped() -> Result<String, String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/ptx/day26_sum.sm75.ptx");
    std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))
}

fn parse(text: &str) -> Result<Module, String> {
    Module::parse(text).map_err(|e| e.to_string())
}

fn run(module: &Module, kernel: &str, order: Order) -> Result<Report, Error> {
    let mut machine = Machine::new(Gpu::H200, Options { order, ..Options::default() });
    let loaded = machine.load(module)?;
    let from = machine.alloc(4 * N.next_multiple_of(4))?.to_le_bytes();
    let to = machine.alloc(4 * N)?.to_le_bytes();
    let n = (N as u64).to_le_bytes();
    let sizes = module.parameters(kernel).unwrap_or_default();
    let mut args: Vec<&[u8]> = vec![&from, &to];
    // The count is of 64 bits, or of 32 in the second of two passes.
    args.extend(sizes.iter().skip(2).map(|&(_, size)| &n[..size as usize]));
    let grid = if sizes.get(2).is_some_and(|&(_, size)| size == 4) { 1 } else { GRID };
    let launch = Launch {
        kernel,
        grid: [grid, 1, 1],
        block: [BLOCK, 1, 1],
        cluster: [1, 1, 1],
        dynamic_shared: 0,
        args: &args,
    };
    let mut detector = RaceDetector::new();
    machine.launch(&loaded, &launch, Some(&mut detector))?;
    Ok(detector.into_report())
}

#[test]
fn shipped_kernels_do_not_race() -> Result<(), String> {
    let module = parse(&shipped()?)?;
    let mut kernels = 0;
    for kernel in module.kernels() {
        for order in [Order::Fair, Order::Shuffled, Order::Adversarial] {
            let report = run(&module, kernel, order).map_err(|e| format!("{kernel}: {e}"))?;
            assert!(report.races.is_empty(), "{kernel}, {order:?}: {report}");
        }
        kernels += 1;
    }
    assert!(kernels >= 7, "only {kernels} kernels found");
    Ok(())
}

/// The same kernel without its barriers is reported: the test above can fail.
#[test]
fn a_shipped_kernel_without_barriers_races() -> Result<(), String> {
    let text = shipped()?;
    let kept = text.lines().filter(|line| !line.contains("bar.sync"));
    let module = parse(&kept.collect::<Vec<_>>().join("\n"))?;
    let report = run(&module, "block_tree", Order::Fair).map_err(|e| e.to_string())?;
    assert!(!report.races.is_empty());
    Ok(())
}
