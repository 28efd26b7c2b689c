//! One case on the device: its counters, its launch, and whether every counter holds what it must.

use anyhow::Result;
use labs_record::units;

use super::deal::{Deal, Mapping};
use super::{BLOCK, UNIFORM, width};
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::failure::usage;
use crate::lab::Case;
use crate::measure::{Bench, host_room};
use crate::results::Values;

/// Every whole number up to this one is a float.
const EXACT: u64 = 1 << 24;

/// A variant at a place: memory, launch and reference.
pub(super) struct Counters {
    variant: &'static str,
    size: u64,
    addresses: u64,
    stride: u64,
    /// Bytes of one counter.
    width: u64,
    blocks: u32,
    deal: Deal,
    /// What each counter must hold: its share of the adds, or the last operation of its maxima and exchanges.
    wanted: Vec<u64>,
    shares: Vec<u64>,
    counters: Buffer,
    slots: Buffer,
    /// A number a thread brings back: what it took, or how often memory changed.
    by_thread: Buffer,
    dense: Buffer,
}

impl Counters {
    /// Makes room for a case and deals out its operations.
    pub(super) fn new(bench: &mut Bench<'_>, variant: &'static str, case: &Case) -> Result<Counters> {
        let (addresses, stride, size) =
            (case.number("addresses"), case.number("stride"), case.number("size"));
        let blocks = u32::try_from(case.number("blocks"))?;
        let width = width(variant);
        fits(variant, addresses, stride, width, blocks)?;
        // Its share, what it must hold, its last operation and what it does hold, of every counter at once.
        drop(host_room::<[u64; 6]>(addresses)?);
        let threads = u64::from(blocks) * u64::from(BLOCK);
        let deal = Deal::new(Mapping::named(case.at.get("mapping")), addresses, threads, size, bench.seed);
        let shares = deal.shares();
        if variant == "add_f32" && longest(&shares) > EXACT {
            return Err(usage(format!(
                "{} adds to one float: past {} it no longer counts; choose a smaller --size or more --addresses",
                units::count(longest(&shares) as f64),
                units::count(EXACT as f64)
            )));
        }
        let wanted = match variant {
            "max_u32" | "exchange_u32" => deal.last().iter().map(|last| last.map_or(0, |i| i + 1)).collect(),
            _ => shares.clone(),
        };
        let slots = bench.scratch("slots", threads * 4)?;
        let bytes: Vec<u8> = deal.slots.iter().flat_map(|slot| slot.to_le_bytes()).collect();
        bench.backend.write(slots, &bytes)?;
        Ok(Counters {
            variant,
            size,
            addresses,
            stride,
            width,
            blocks,
            deal,
            wanted,
            shares,
            counters: Buffer { bytes: addresses * stride, ..bench.scratch("counters", addresses * stride)? },
            slots,
            by_thread: bench.scratch("by_thread", threads * 8)?,
            dense: bench.scratch("dense", addresses * width)?,
        })
    }

    /// The step before a launch.
    pub(super) fn zero(&self) -> Step {
        Step::Zero(self.counters)
    }

    /// The launch that is timed.
    pub(super) fn launch(&self) -> Launch {
        self.launch_of(self.variant)
    }

    fn launch_of(&self, kernel: &str) -> Launch {
        let (counters, size) = (Argument::Buffer(self.counters), Argument::U64(self.size));
        let number = |n: u64| Argument::U32(n as u32);
        let mut arguments = vec![counters];
        if kernel != UNIFORM {
            // All three are bounded by their axes.
            let [ring, step, stride] = [self.addresses, self.deal.step, self.stride / self.width].map(number);
            arguments.extend([Argument::Buffer(self.slots), ring, step, stride]);
        }
        arguments.push(size);
        if kernel == "exchange_u32" || kernel == "max_u32_changed" {
            arguments.push(Argument::Buffer(self.by_thread));
        }
        Launch::new(kernel, self.blocks, BLOCK, arguments)
    }

    /// Operations on the busiest address.
    pub(super) fn longest_queue(&self) -> u64 {
        longest(&self.shares)
    }

    /// Operations on the busiest sector.
    pub(super) fn sector_queue(&self) -> u64 {
        longest(&self.deal.sector_shares(self.stride))
    }

    /// Operations in a pass, by the model.
    pub(super) fn operations_a_pass(&self) -> f64 {
        self.deal.operations_a_pass(self.stride)
    }

    /// Every counter holds what it must.
    pub(super) fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        let found = self.gather(backend)?;
        Ok(match self.variant {
            "exchange_u32" => self.exchanged(backend, &found)?,
            _ => self.compare(&found),
        })
    }

    fn compare(&self, found: &[f64]) -> Result<(), String> {
        let what = if self.variant == "max_u32" { "the largest value offered" } else { "its share" };
        let wrong = found.iter().zip(&self.wanted).position(|(found, wanted)| *found != *wanted as f64);
        let Some(place) = wrong else { return Ok(()) };
        Err(format!(
            "at size {} counter {place} of {}, {} bytes apart, holds {}, {what} is {}; all together {}",
            self.size,
            self.addresses,
            self.stride,
            found[place],
            self.wanted[place],
            found.iter().sum::<f64>(),
        ))
    }

    /// What an exchange leaves is open, but not that it was meant for this counter, nor that all that was put in
    /// was taken out or is left.
    fn exchanged(&self, backend: &mut dyn Backend, left: &[f64]) -> Result<Result<(), String>> {
        for (place, value) in left.iter().enumerate() {
            let value = *value as u64;
            let dealt = match value {
                0 => self.wanted[place] == 0,
                value => value <= self.size && self.deal.counter_of(value - 1) == place,
            };
            if !dealt {
                let (size, of) = (self.size, self.addresses);
                return Ok(Err(format!(
                    "at size {size} counter {place} of {of} holds {value}, which nobody put there"
                )));
            }
        }
        let taken = self.by_thread(backend)?.iter().fold(0_u64, |sum, taken| sum.wrapping_add(*taken));
        let out = left.iter().fold(taken, |sum, value| sum.wrapping_add(*value as u64));
        let put = self.size.wrapping_mul(self.size + 1) / 2;
        if out == put {
            return Ok(Ok(()));
        }
        Ok(Err(format!("at size {}: {put} was put in, and {out} taken out or left", self.size)))
    }

    /// The share of the maxima that find a smaller value. 0 of none.
    pub(super) fn changed(&self, backend: &mut dyn Backend) -> Result<f64> {
        backend.run(&[self.zero(), Step::Launch(self.launch_of("max_u32_changed"))])?;
        let changed: u64 = self.by_thread(backend)?.iter().sum();
        Ok(changed as f64 / self.size.max(1) as f64)
    }

    /// The counters' values, whole numbers all of them.
    pub(super) fn values(&self, backend: &mut dyn Backend) -> Result<Values> {
        Ok(Values::U64(self.gather(backend)?.into_iter().map(|value| value as u64).collect()))
    }

    fn by_thread(&self, backend: &mut dyn Backend) -> Result<Vec<u64>> {
        let mut bytes = vec![0; self.deal.slots.len() * 8];
        backend.read(self.by_thread, &mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect())
    }

    /// The counters' values, as numbers that hold all of them exactly.
    fn gather(&self, backend: &mut dyn Backend) -> Result<Vec<f64>> {
        let words = self.width / 4;
        let total = self.addresses * words;
        let arguments = vec![
            Argument::Buffer(self.counters),
            Argument::Buffer(self.dense),
            Argument::U64(self.stride / 4),
            Argument::U32(words as u32),
            Argument::U64(total),
        ];
        let blocks = u32::try_from(total.div_ceil(u64::from(BLOCK)))?;
        backend.run(&[Step::Launch(Launch::new("gather", blocks, BLOCK, arguments))])?;
        let mut bytes = vec![0; (self.addresses * self.width) as usize];
        backend.read(self.dense, &mut bytes)?;
        Ok(match self.variant {
            "add_u64" => bytes.as_chunks().0.iter().map(|chunk| u64::from_le_bytes(*chunk) as f64).collect(),
            "add_f32" => bytes.as_chunks().0.iter().map(|chunk| f32::from_le_bytes(*chunk).into()).collect(),
            _ => bytes.as_chunks().0.iter().map(|chunk| u32::from_le_bytes(*chunk).into()).collect(),
        })
    }
}

fn longest(shares: &[u64]) -> u64 {
    shares.iter().copied().max().unwrap_or(0)
}

/// Refuses places that no launch can have.
fn fits(variant: &str, addresses: u64, stride: u64, width: u64, blocks: u32) -> Result<()> {
    if addresses == 0 || blocks == 0 {
        return Err(usage("--addresses and --blocks are at least 1"));
    }
    if stride < width || !stride.is_multiple_of(width) {
        return Err(usage(format!(
            "--stride {stride}: the counters of {variant} are {width} bytes wide; choose a multiple of {width}"
        )));
    }
    Ok(())
}
