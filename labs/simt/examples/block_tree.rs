//! `block_tree` some times over: the benchmark that also runs as WebAssembly
//! (`node labs/simt/benches/wasm.mjs`).
//!
//! A WebAssembly `main` without an operating system can say one byte: how many
//! million lane-instructions it executed, or 0 when something was wrong.

use std::process::ExitCode;

use labs_simt::{Error, Gpu, Launch, Machine, Module, Options};

const NUMBERS: u32 = 1 << 18;
const LAUNCHES: u64 = 12;

fn main() -> ExitCode {
    match run() {
        Ok(lane_instructions) => ExitCode::from(u8::try_from(lane_instructions / 1_000_000).unwrap_or(0)),
        Err(_) => ExitCode::from(0),
    }
}

fn run() -> Result<u64, Error> {
    let text = include_str!("../tests/ptx/sums.sm75.ptx");
    let module = Module::parse(text).map_err(|e| Error::Usage(e.to_string()))?;
    let mut machine = Machine::new(Gpu::H200, Options::default());
    let loaded = machine.load(&module)?;
    let (input, out) = (machine.alloc(4 * NUMBERS as usize)?, machine.alloc(4)?);
    machine.fill(input, 1, 4 * NUMBERS as usize)?;
    let args = [&input.to_le_bytes()[..], &out.to_le_bytes(), &NUMBERS.to_le_bytes()];
    let (grid, block) = ([NUMBERS / 256, 1, 1], [256, 1, 1]);
    let launch =
        Launch { kernel: "block_tree", grid, block, cluster: [1; 3], dynamic_shared: 0, args: &args };
    let mut lane_instructions = 0;
    for round in 1..=LAUNCHES {
        lane_instructions += machine.launch(&loaded, &launch, None)?.lane_instructions;
        let mut sum = [0; 4];
        machine.read(out, &mut sum)?;
        let expected = (u64::from(NUMBERS) * 0x0101_0101 * round) as u32;
        if u32::from_le_bytes(sum) != expected {
            return Err(Error::Usage("block_tree gave a wrong sum".to_owned()));
        }
    }
    Ok(lane_instructions)
}
