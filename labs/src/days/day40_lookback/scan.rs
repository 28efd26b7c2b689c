//! One variant at one size: its memory, its launches, and whether its output is the scan.

use anyhow::Result;
use labs_record::record::Outcome;

use super::BLOCK;
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::lab::{Case, Variant};
use crate::measure::{Bench, host_bytes};

/// Elements of a tile: a block's threads, 16 elements each.
const TILE: u64 = 4096;
/// Elements of a tile of `separate_warp`: 480 threads, 16 elements each.
const WIDE_TILE: u64 = 7680;
/// Elements of a tile of `held_in_shared`: 480 threads, 32 elements each.
const HELD_TILE: u64 = 15_360;
/// Elements a block copies, four a thread.
pub(super) const COPY_TILE: u64 = 1024;
/// When the clock ends a wait: long after any that can end by itself, also on a GPU that is shared.
pub(super) const PATIENCE_NS: u64 = 1_000_000_000;
/// When it does in a variant that is wrong on purpose.
pub(super) const WRONG_PATIENCE_NS: u64 = 500_000;
/// When they do in the simulator, whose clock is not a time.
const SIMULATED_PATIENCE_NS: u64 = 20_000_000;
/// The same for variants that are wrong on purpose.
const SIMULATED_WRONG_PATIENCE_NS: u64 = 200_000;
/// Bytes before the words of the tiles, so that the tickets don't share a line with them.
const BEFORE_WORDS: u64 = 256;
/// Blocks a multiprocessor that [`Scan::with_more_blocks_than_fit`] launches, ..
const CROWD: u32 = 4;
/// .. and shared memory for each, bytes: an H200 holds three of them on a multiprocessor, a T4 one.
const CROWDED_SHARED_BYTES: u32 = 60_000;

/// What a variant publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing: a launch's end orders all.
    ThreePass,
    /// Flags, sums and prefixes apart.
    Flags,
    /// One word a tile.
    Words,
    /// One word a tile that carries the launch's number.
    WordsByLaunch,
}

/// Faults that a run and its check have counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Faults {
    /// Elements that are not the one before plus their own input.
    pub(super) differing: u32,
    /// Waits that the clock has ended.
    pub(super) given_up: u32,
}

/// One variant at one size.
#[derive(Clone, Copy)]
pub(super) struct Scan {
    variant: Variant,
    n: u64,
    /// The sum of all elements, by the host.
    total: u32,
    pub(super) form: Form,
    patience_ns: u64,
    input: Buffer,
    out: Buffer,
    /// The ticket, then a flag or a word a tile.
    state: Buffer,
    sums: Buffer,
    prefixes: Buffer,
    faults: Buffer,
}

impl Scan {
    pub(super) fn new(bench: &mut Bench<'_>, variant: &Variant, case: &Case) -> Result<Scan> {
        let form = match variant.name {
            "three_pass" => Form::ThreePass,
            "released_flag" | "relaxed_flag" | "block_scope" => Form::Flags,
            "separate_warp" | "held_in_shared" => Form::WordsByLaunch,
            _ => Form::Words,
        };
        let (n, most) = (case.number("size"), bench.largest_size);
        let crowd = u64::from(CROWD * bench.backend.device().gpu.sms);
        let most_tiles = most.div_ceil(TILE).max(crowd);
        let (input, out) = input_and_output(bench)?;
        let state = match form {
            // Zeroed once: words of earlier launches are told by their number.
            Form::WordsByLaunch => {
                let bytes = BEFORE_WORDS + most.div_ceil(HELD_TILE.min(WIDE_TILE)) * 8;
                bench.input("state_by_launch", bytes, |_| host_bytes(bytes))?
            }
            _ => bench.scratch("state", BEFORE_WORDS + most_tiles * 8)?,
        };
        let patience_ns = match (bench.backend.keeps_time(), variant.declared) {
            (true, Outcome::Correct) => PATIENCE_NS,
            (true, _) => WRONG_PATIENCE_NS,
            (false, Outcome::Correct) => SIMULATED_PATIENCE_NS,
            (false, _) => SIMULATED_WRONG_PATIENCE_NS,
        };
        Ok(Scan {
            variant: *variant,
            n,
            total: bench.reference("total", n, |seed| f64::from(values(n, seed).fold(0, u32::wrapping_add)))
                as u32,
            form,
            patience_ns,
            input,
            out,
            state,
            sums: bench.scratch("sums", most_tiles * 4)?,
            prefixes: bench.scratch("prefixes", most_tiles * 4)?,
            faults: bench.scratch("faults", 8)?,
        })
    }

    fn tile(&self) -> u64 {
        match self.variant.name {
            "separate_warp" => WIDE_TILE,
            "held_in_shared" => HELD_TILE,
            _ => TILE,
        }
    }

    fn tiles(&self) -> u32 {
        tiles(self.n, self.tile())
    }

    /// Before the timed stretch.
    pub(super) fn reset(&self) -> Vec<Step> {
        let mut steps = vec![Step::Zero(self.faults)];
        if matches!(self.form, Form::Flags | Form::Words) {
            steps.extend(self.zeroed());
        }
        if self.form == Form::Flags {
            // Those of the run before are the same, and would hide that they are read too early.
            let bytes = u64::from(self.tiles()) * 4;
            let earlier = [self.sums, self.prefixes].into_iter().filter(|_| bytes > 0);
            steps.extend(earlier.map(|buffer| Step::Zero(Buffer { bytes, ..buffer })));
        }
        steps
    }

    /// For a variant whose words stay from launch to launch: a scan of the zeros that [`Scan::spoil`] has left, so that
    /// words of an earlier launch are not those of the next.
    pub(super) fn other_words(&self) -> Vec<Step> {
        let zeros = Scan { input: self.out, ..*self };
        if self.form == Form::WordsByLaunch { zeros.steps() } else { Vec::new() }
    }

    /// Ticket and flags, or words, as a launch needs them.
    pub(super) fn zeroed(&self) -> Vec<Step> {
        let each = if self.form == Form::Flags { 4 } else { 8 };
        let bytes = BEFORE_WORDS + u64::from(self.tiles()) * each;
        vec![Step::Zero(Buffer { bytes, ..self.state })]
    }

    /// An output of zeros, so that no result of an earlier run is taken for this one's.
    pub(super) fn spoil(&self) -> Vec<Step> {
        let out = Buffer { bytes: self.n * 4, ..self.out };
        if self.n == 0 { Vec::new() } else { vec![Step::Zero(out)] }
    }

    /// The scan's launches.
    pub(super) fn steps(&self) -> Vec<Step> {
        let blocks = self.tiles();
        if self.form != Form::ThreePass {
            return vec![Step::Launch(self.launch(blocks))];
        }
        let [input, out, sums] = [self.input, self.out, self.sums].map(Argument::Buffer);
        let n = Argument::U64(self.n);
        let launch =
            |kernel: &str, grid, arguments| Step::Launch(Launch::new(kernel, grid, BLOCK, arguments));
        vec![
            launch("tile_sums", blocks, vec![input, sums, n]),
            launch("scan_sums", blocks.min(1), vec![sums, Argument::U32(blocks)]),
            launch("scan_tiles", blocks, vec![input, out, sums, n]),
        ]
    }

    /// The one launch of a variant that has one.
    fn launch(&self, blocks: u32) -> Launch {
        let words = self.state.at(BEFORE_WORDS);
        let mut buffers = vec![self.input, self.out, self.state, words];
        if self.form == Form::Flags {
            buffers.extend([self.sums, self.prefixes]);
        }
        buffers.push(self.faults);
        let mut arguments: Vec<Argument> = buffers.into_iter().map(Argument::Buffer).collect();
        arguments.extend([Argument::U64(self.n), Argument::U64(self.patience_ns)]);
        Launch::new(self.variant.name, blocks, self.variant.block_threads, arguments)
    }

    /// A launch in which a block can only begin when another has ended: tiles past the input's end are empty. For the
    /// simulator, which starts blocks in whatever order its schedule says.
    pub(super) fn with_more_blocks_than_fit(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        let blocks = CROWD * backend.device().gpu.sms;
        let launch = Launch { shared_bytes: CROWDED_SHARED_BYTES, ..self.launch(blocks) };
        let words = Buffer { bytes: BEFORE_WORDS + u64::from(blocks) * 8, ..self.state };
        backend.run(&self.spoil())?;
        backend.run(&[Step::Zero(self.faults), Step::Zero(words), Step::Launch(launch)])?;
        Ok(self
            .check(backend)?
            .map_err(|fault| format!("with {blocks} blocks, not all of which fit: {fault}")))
    }

    /// What the run just made, compared element by element on the device.
    pub(super) fn faults(&self, backend: &mut dyn Backend) -> Result<Faults> {
        let arguments = [self.input, self.out, self.faults]
            .map(Argument::Buffer)
            .into_iter()
            .chain([Argument::U64(self.n)]);
        let grid = tiles(self.n, 8 * u64::from(BLOCK)).min(8 * backend.device().gpu.sms);
        backend.run(&[Step::Launch(Launch::new("check_scan", grid, BLOCK, arguments.collect()))])?;
        let mut bytes = [0; 8];
        backend.read(self.faults, &mut bytes)?;
        let [differing, given_up] = [0, 4].map(|at| word(&bytes[at..]));
        Ok(Faults { differing, given_up })
    }

    /// Whether it is the scan: each element follows from the one before, and the last is the host's sum.
    pub(super) fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        let (n, faults) = (self.n, self.faults(backend)?);
        let mut last = [0; 4];
        if n > 0 {
            backend.read(self.out.at((n - 1) * 4), &mut last)?;
        }
        let last = u32::from_le_bytes(last);
        Ok(match faults {
            Faults { given_up: 1.., .. } => Err(format!(
                "at size {n} {} waits were ended by the clock: what they waited for was never published",
                faults.given_up
            )),
            Faults { differing: 1.., .. } => Err(format!(
                "at size {n} {} of the elements are not the one before plus their input",
                faults.differing
            )),
            _ if last != self.total => {
                Err(format!("at size {n} the last prefix is {last}, the sum {}", self.total))
            }
            _ => Ok(()),
        })
    }

    /// The output.
    pub(super) fn prefixes(&self, backend: &mut dyn Backend) -> Result<Vec<u32>> {
        let mut bytes = host_bytes(self.n * 4)?;
        backend.read(self.out, &mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect())
    }
}

/// Input and output of the largest size; random values in the first.
pub(super) fn input_and_output(bench: &mut Bench<'_>) -> Result<(Buffer, Buffer)> {
    let most = bench.largest_size;
    let input = bench.input("values", most * 4, |bench| {
        let mut bytes = host_bytes(most * 4)?;
        for (place, value) in bytes.as_chunks_mut().0.iter_mut().zip(values(most, bench.seed)) {
            *place = value.to_le_bytes();
        }
        Ok(bytes)
    })?;
    Ok((input, bench.scratch("out", most * 4)?))
}

/// The elements: any 32 bits.
fn values(n: u64, seed: u64) -> impl Iterator<Item = u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(move |_| random.u32(..))
}

/// Tiles of this size that hold `n` elements.
pub(super) fn tiles(n: u64, size: u64) -> u32 {
    u32::try_from(n.div_ceil(size)).unwrap_or(u32::MAX)
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |four| u32::from_le_bytes(*four))
}

#[cfg(test)]
mod tests {
    use labs_record::Coordinate;
    use labs_simt::Options;

    use super::super::VARIANTS;
    use super::*;
    use crate::backend::{Image, sim::Sim};

    const N: u64 = 9_001;

    /// What the check says of an output that `spoil` has changed.
    fn told(spoil: impl Fn(&mut Vec<u32>, &mut [u32; 2])) -> Result<(), String> {
        let ptx = include_str!("../../../../kernels/ptx/day40_lookback.sm75.ptx");
        let mut sim = Sim::new(Options::default(), false);
        sim.load(&Image::Ptx(ptx.to_owned())).unwrap();
        let mut alive = || {};
        let mut bench = Bench::new(&mut sim, 7, N, &mut alive);
        let variant = VARIANTS[0];
        let at = [("size".to_owned(), Coordinate::Number(N))].into();
        let scan = Scan::new(&mut bench, &variant, &Case { variant: Some(variant), at }).unwrap();
        let mut sum = 0_u32;
        let mut out: Vec<u32> = values(N, 7)
            .map(|value| {
                sum = sum.wrapping_add(value);
                sum
            })
            .collect();
        let mut faults = [0; 2];
        spoil(&mut out, &mut faults);
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        bench.backend.write(scan.out, &bytes(&out)).unwrap();
        bench.backend.write(scan.faults, &bytes(&faults)).unwrap();
        scan.check(bench.backend).unwrap()
    }

    #[test]
    fn the_scan_passes_its_check() {
        assert_eq!(told(|_, _| {}), Ok(()));
    }

    #[test]
    fn an_output_that_is_not_the_scan_is_refused() {
        let one = told(|out, _| out[4_096] ^= 1).unwrap_err();
        assert!(one.starts_with("at size 9001 2 of the elements"), "{one}");
        let shifted =
            told(|out, _| out.iter_mut().for_each(|value| *value = value.wrapping_add(5))).unwrap_err();
        assert!(shifted.starts_with("at size 9001 1 of the elements"), "{shifted}");
        let never_written = told(|out, _| out.fill(0)).unwrap_err();
        assert!(never_written.contains("of the elements are not the one before"), "{never_written}");
    }

    #[test]
    fn a_wait_that_the_clock_has_ended_is_told_first() {
        let ended = told(|out, faults| {
            out.fill(0);
            faults[1] = 3;
        });
        assert!(ended.unwrap_err().starts_with("at size 9001 3 waits were ended by the clock"));
    }
}
