//! One case on the device: its words, its launch, and whether every word holds what it must.

use anyhow::Result;

use super::kinds::{Memory, Type, kind};
use super::{ADDRESSES, BLOCK, VARIANTS};
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::failure::usage;
use crate::lab::Case;
use crate::measure::Bench;

/// Bytes from word to word in device and host memory.
const LINE: u64 = 128;
/// Begin with a step down.
const DOWN_FIRST: u32 = 1 << 31;
/// One thread in so many of a word's begins with a step down.
const DOWN_EVERY: u64 = 4;
/// Vector adds whose old values are looked at, a thread.
const LOOKS: u32 = 64;
/// Blocks that make them: of one SM's threads no add can be half done.
const LOOKING_BLOCKS: u32 = 64;

/// Adds of a launch: whole, odd rounds of all threads, so that half of the adds are not taken back.
pub(super) fn size(memory: Memory, ty: Type, addresses: u64) -> u64 {
    let loops = matches!(ty, Type::F16 | Type::Bf16);
    let rounds = match (memory, addresses) {
        (Memory::Device, 1_024) if loops => 3,
        (Memory::Device, 1_024) => 63,
        (Memory::Device, _) if loops => 15,
        (Memory::Device, _) => 1_001,
        (Memory::Shared, _) if matches!(ty, Type::U32) => 1_001,
        (Memory::Shared, _) => 101,
        (Memory::Cluster, _) if matches!(ty, Type::U32 | Type::U64) => 401,
        (Memory::Cluster, 1_024) => 51,
        (Memory::Cluster, _) => 15,
        // As many threads as 128 blocks have.
        (Memory::Host, 1_024) => return 1 << 15,
        (Memory::Host, _) => 5,
    };
    rounds * threads(memory, addresses, u64::MAX)
}

/// Threads that add.
pub(super) fn threads(memory: Memory, addresses: u64, size: u64) -> u64 {
    if memory.in_block() {
        return block(memory, addresses).into();
    }
    addresses.min(size.div_ceil(u64::from(BLOCK))).max(1) * u64::from(BLOCK)
}

fn block(memory: Memory, addresses: u64) -> u32 {
    // At most 1,024: an axis bounds it.
    if memory.in_block() { BLOCK.max(addresses as u32) } else { BLOCK }
}

/// All sizes, for the protocol.
pub(super) fn in_words() -> String {
    let of = |name| {
        let (memory, ty) = kind(name);
        ADDRESSES.map(|addresses| size(memory, ty, addresses))
    };
    format!("{:?}", VARIANTS.map(|variant| (variant.name, of(variant.name))))
}

/// A variant at a place: memory, launch and reference.
pub(super) struct Adds {
    variant: &'static str,
    memory: Memory,
    ty: Type,
    addresses: u64,
    /// Adds of the launch, over all SMs.
    size: u64,
    /// Blocks that add, and their threads.
    blocks: u32,
    block: u32,
    /// What memory must hold, bytes.
    wanted: Vec<u8>,
    words: Buffer,
    places: Buffer,
    steps: Buffer,
    sms: Buffer,
}

impl Adds {
    /// Makes room for a case and deals out its adds.
    pub(super) fn new(bench: &mut Bench<'_>, variant: &'static str, case: &Case) -> Result<Adds> {
        let (memory, ty) = kind(variant);
        let resident = case.number("resident");
        let addresses = if resident > 0 { 1 } else { case.number("addresses") };
        if addresses == 0 {
            return Err(usage("--addresses is at least 1"));
        }
        let sms = u64::from(bench.backend.device().gpu.sms);
        let (size, blocks) = match resident {
            0 => (case.number("size"), threads(memory, addresses, case.number("size"))),
            resident => (case.number("size") * sms, resident * sms * u64::from(BLOCK)),
        };
        let block = block(memory, addresses);
        let blocks = u32::try_from(blocks / u64::from(block))?;
        let threads = u64::from(blocks) * u64::from(block);
        let places = places(memory, addresses, threads, u64::from(block), bench.seed);
        let wanted = wanted(memory, ty, addresses, &places, u64::from(block), size);
        let bytes: Vec<u8> = places.iter().flat_map(|place| place.to_le_bytes()).collect();
        let buffer = bench.scratch("places", threads * 4)?;
        bench.backend.write(buffer, &bytes)?;
        let steps = bench.scratch("steps", 32)?;
        bench.backend.write(steps, &[ty.steps(1), ty.steps(-1)].concat())?;
        let length = wanted.len() as u64;
        let words = match memory {
            Memory::Host => bench.backend.allocate_host(length)?,
            _ => bench.scratch("words", length)?,
        };
        let words = Buffer { bytes: length, ..words };
        let sms = bench.scratch("sms", u64::from(blocks) * 8)?;
        Ok(Adds {
            variant,
            memory,
            ty,
            addresses,
            size,
            blocks,
            block,
            wanted,
            words,
            places: buffer,
            steps,
            sms,
        })
    }

    /// The steps before a launch.
    pub(super) fn reset(&self) -> Vec<Step> {
        vec![Step::Zero(self.words)]
    }

    /// The launch that is timed.
    pub(super) fn launch(&self) -> Launch {
        let mut arguments =
            vec![Argument::Buffer(self.words), Argument::Buffer(self.places), Argument::Buffer(self.steps)];
        if self.memory.in_block() {
            // At most 1,024: an axis bounds it.
            arguments.push(Argument::U32(self.addresses as u32));
        }
        arguments.push(Argument::U64(self.size));
        if self.memory.in_block() {
            arguments.push(Argument::Buffer(self.sms));
        }
        match self.memory {
            Memory::Cluster => {
                Launch { cluster: 2, ..Launch::new(self.variant, self.blocks * 2, self.block, arguments) }
            }
            _ => Launch::new(self.variant, self.blocks, self.block, arguments),
        }
    }

    fn bytes(&self, backend: &mut dyn Backend) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.wanted.len()];
        backend.read(self.words, &mut bytes)?;
        Ok(bytes)
    }

    /// Memory as it is now, in words.
    pub(super) fn found(&self, backend: &mut dyn Backend) -> Result<Vec<u32>> {
        Ok(self.bytes(backend)?.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// Every word holds what it must, bit for bit.
    pub(super) fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        let found = self.bytes(backend)?;
        let Some(place) = found.iter().zip(&self.wanted).position(|(found, wanted)| found != wanted) else {
            return Ok(Ok(()));
        };
        let (apart, width) = (self.apart(), self.ty.bytes() as usize);
        let word = place / apart;
        let of = |bytes: &[u8]| {
            let value = bytes.get(word * apart..).unwrap_or_default();
            value.iter().take(width).rev().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let (size, of_found, of_wanted) = (self.size, of(&found), of(&self.wanted));
        Ok(Err(format!("at size {size} word {word} holds 0x{of_found}, the steps add up to 0x{of_wanted}")))
    }

    fn apart(&self) -> usize {
        apart(self.memory, self.ty) as usize
    }

    /// Blocks that the busiest SM was given.
    pub(super) fn busiest_sm(&self, backend: &mut dyn Backend) -> Result<u64> {
        let mut bytes = vec![0; self.blocks as usize * 4];
        backend.read(self.sms, &mut bytes)?;
        let mut blocks = std::collections::BTreeMap::<u32, u64>::new();
        for sm in bytes.as_chunks().0 {
            *blocks.entry(u32::from_le_bytes(*sm)).or_default() += 1;
        }
        Ok(blocks.into_values().max().unwrap_or(0))
    }

    /// How many old values of a vector add had parts that differ, and of how many.
    pub(super) fn torn(&self, bench: &mut Bench<'_>) -> Result<(u64, u64)> {
        let threads = u64::from(LOOKING_BLOCKS) * u64::from(BLOCK);
        // One word for all of them.
        let places = bench.scratch("looking", threads * 4)?;
        let torn = bench.scratch("torn", threads * 4)?;
        let arguments = vec![
            Argument::Buffer(self.words),
            Argument::Buffer(places),
            Argument::U32(LOOKS),
            Argument::Buffer(torn),
        ];
        let launch = Launch::new(&format!("{}_torn", self.variant), LOOKING_BLOCKS, BLOCK, arguments);
        bench.backend.run(&[Step::Zero(places), Step::Zero(self.words), Step::Launch(launch)])?;
        let mut bytes = vec![0; threads as usize * 4];
        bench.backend.read(torn, &mut bytes)?;
        let seen = bytes.as_chunks().0.iter().map(|seen| u64::from(u32::from_le_bytes(*seen))).sum();
        Ok((seen, threads * u64::from(LOOKS)))
    }
}

/// Bytes from word to word.
fn apart(memory: Memory, ty: Type) -> u64 {
    if memory.in_block() { ty.bytes() } else { LINE }
}

/// Where each thread's adds go, and with which step it begins: every word gets as many threads as every other, of which
/// one in four begins down.
fn places(memory: Memory, addresses: u64, threads: u64, block: u64, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    let place = |t: u64| {
        let down = t / addresses % DOWN_EVERY == DOWN_EVERY - 1;
        (t % addresses) as u32 | if down { DOWN_FIRST } else { 0 }
    };
    if !memory.in_block() {
        let mut places: Vec<u32> = (0..threads).map(place).collect();
        random.shuffle(&mut places);
        return places;
    }
    (0..threads / block)
        .flat_map(|_| {
            let mut places: Vec<u32> = (0..block).map(place).collect();
            random.shuffle(&mut places);
            places
        })
        .collect()
}

/// What memory must hold.
fn wanted(memory: Memory, ty: Type, addresses: u64, places: &[u32], block: u64, size: u64) -> Vec<u8> {
    let threads = places.len() as u64;
    let blocks = if memory.in_block() { threads / block } else { 1 };
    let mut sums = vec![0_i32; (blocks * addresses) as usize];
    for (thread, place) in places.iter().enumerate() {
        let thread = thread as u64;
        let rounds = size / threads + u64::from(size % threads > thread);
        let step = if place & DOWN_FIRST == 0 { 1 } else { -1 };
        let first = if memory.in_block() { thread / block * addresses } else { 0 };
        sums[(first + u64::from(place & !DOWN_FIRST)) as usize] += if rounds % 2 == 1 { step } else { 0 };
    }
    let apart = apart(memory, ty) as usize;
    let mut bytes = vec![0; sums.len() * apart];
    for (cell, sum) in bytes.chunks_exact_mut(apart).zip(sums) {
        let value = ty.steps(sum);
        cell[..value.len()].copy_from_slice(&value);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_order_of_the_adds_leaves_what_sixteen_bits_hold() {
        for (memory, addresses, threads) in [
            (Memory::Device, 1, 256),
            (Memory::Device, 8, 2_048),
            (Memory::Shared, 1, 256),
            (Memory::Shared, 8, 256),
        ] {
            let places = places(memory, addresses, threads, 256, 3);
            for word in 0..addresses as u32 {
                let of = |down: bool| {
                    let here = places.iter().filter(|place| **place & !DOWN_FIRST == word);
                    here.filter(|place| (**place & DOWN_FIRST != 0) == down).count()
                };
                // A thread that begins up is at 0 or 1 steps, one that begins down at 0 or -1.
                assert!(
                    of(false) <= 256 && of(true) <= 256 && of(true) < of(false),
                    "{memory:?} {addresses}"
                );
            }
        }
    }

    #[test]
    fn what_is_left_is_what_going_through_all_adds_leaves() {
        for size in [0, 1, 255, 256, 300, 1_000, 256 * 3] {
            let places = places(Memory::Device, 8, 512, 256, 1);
            let mut sums = [0_i32; 8];
            for i in 0..size {
                let place = places[(i % 512) as usize];
                let up = (i / 512 % 2 == 0) == (place & DOWN_FIRST == 0);
                sums[(place & !DOWN_FIRST) as usize] += if up { 1 } else { -1 };
            }
            let bytes = wanted(Memory::Device, Type::U32, 8, &places, 256, size);
            let found: Vec<i32> =
                bytes.chunks(128).map(|cell| i32::from_le_bytes(*cell.first_chunk().unwrap())).collect();
            assert_eq!(found, sums, "{size}");
        }
    }

    #[test]
    fn a_launch_that_does_nothing_is_noticed() {
        let places = places(Memory::Shared, 1, 256, 256, 1);
        let size = size(Memory::Shared, Type::Bf16, 1);
        let bytes = wanted(Memory::Shared, Type::Bf16, 1, &places, 256, size);
        assert_eq!(bytes, Type::Bf16.steps(128));
    }
}
