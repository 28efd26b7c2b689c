//! One counter, or two: the launch of a kernel that adds to it, what it must hold, and how many adds reach it.

use anyhow::Result;

use super::{BLOCK, LARGEST, WARP};
use crate::backend::{Argument, Backend, Buffer, Launch};
use crate::measure::{Bench, host_bytes};

/// Elements and places, for the protocol.
pub(super) const IN_WORDS: &str = "elements 0 to 3 at random from seed 34, the same in every session; two counters 4096 bytes apart; \
     32 places, all 0; increments 1";
const SEED: u64 = 34;
/// From the first counter to the second, bytes.
const APART: u64 = 4096;
/// Lanes below this one add to the first of two counters.
const HALF: u64 = WARP / 2;

/// Adds of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Adds {
    /// What the source asks for, one a lane.
    pub(super) asked: u64,
    /// What is sent once the compiler has folded.
    pub(super) sent: u64,
    /// The most that are sent to one counter.
    pub(super) queue: u64,
}

/// A kernel at a size.
pub(super) struct Counter {
    kernel: &'static str,
    n: u64,
    architecture: u32,
    input: Buffer,
    counter: Buffer,
    place: Buffer,
    /// Sum of the elements, odd elements, warps that hold one.
    census: [u64; 3],
}

impl Counter {
    /// Makes the input, once a session, and takes its census.
    pub(super) fn new(bench: &mut Bench<'_>, kernel: &'static str, n: u64) -> Result<Counter> {
        let largest = bench.largest_size.max(n);
        let input = bench.input("elements", largest * 4, |_| bytes_of(&elements(largest)))?;
        let place = bench.input("place", WARP * 4, |_| host_bytes(WARP * 4))?;
        let counted =
            bench.references("elements", n, |_| census(&elements(n)).map(|count| count as f64).to_vec());
        let mut census = [0; 3];
        for (count, counted) in census.iter_mut().zip(counted.iter()) {
            *count = *counted as u64;
        }
        let architecture = bench.backend.device().architecture;
        let counter = bench.scratch("counter", APART + 8)?;
        Ok(Counter { kernel, n, architecture, input, counter, place, census })
    }

    /// The counters, to be zeroed.
    pub(super) fn buffer(&self) -> Buffer {
        self.counter
    }

    /// The launch of an element a thread.
    pub(super) fn launch(&self) -> Result<Launch> {
        let (counter, n) = (Argument::Buffer(self.counter), Argument::U64(self.n));
        let (input, place) = (Argument::Buffer(self.input), Argument::Buffer(self.place));
        let arguments = match self.kernel {
            "one" => vec![counter, n],
            "one_loaded" | "one_unfolded" => vec![counter, n, place],
            "wide_one" => vec![counter, n, Argument::U64(1)],
            "two_addresses" | "two_branches" => vec![counter, Argument::Buffer(self.counter.at(APART)), n],
            "value_unfolded" | "divergent_unfolded" | "ballot" | "redux" => vec![input, counter, n, place],
            _ => vec![input, counter, n],
        };
        Ok(Launch::new(self.kernel, u32::try_from(self.n.div_ceil(u64::from(BLOCK)))?, BLOCK, arguments))
    }

    /// What the counters must hold.
    fn wanted(&self) -> [u64; 2] {
        let [sum, odd, _] = self.census;
        match self.kernel {
            "one" | "one_loaded" | "one_unfolded" | "wide_one" => [self.n, 0],
            "two_addresses" | "two_branches" => [self.low(), self.n - self.low()],
            "divergent" | "divergent_unfolded" | "ballot" => [odd, 0],
            _ => [sum, 0],
        }
    }

    /// Threads that add to the first of two counters.
    fn low(&self) -> u64 {
        self.n / WARP * HALF + (self.n % WARP).min(HALF)
    }

    /// The counters hold what they must.
    pub(super) fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        let mut bytes = [0; (APART + 8) as usize];
        backend.read(self.counter, &mut bytes)?;
        let [first, second] = [0, APART as usize].map(|at| self.number(&bytes[at..]));
        let wanted = self.wanted().map(|wanted| wanted as f64);
        let (found, wanted) = if first == wanted[0] { (second, wanted[1]) } else { (first, wanted[0]) };
        Ok(if found == wanted {
            Ok(())
        } else {
            Err(format!("at size {} a counter is {found}, the reference {wanted}", self.n))
        })
    }

    /// The counters' memory, whatever type they have.
    pub(super) fn words(&self, backend: &mut dyn Backend) -> Result<Vec<u32>> {
        let mut bytes = [0; (APART + 8) as usize];
        backend.read(self.counter, &mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// A counter's number, whatever its type; exact, since all are below 2^24.
    fn number(&self, bytes: &[u8]) -> f64 {
        let word = bytes.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        match self.kernel {
            "wide_one" | "wide_value" | "wide_by_hand" => {
                bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)) as f64
            }
            "float_value" | "float_by_hand" => f32::from_bits(word).into(),
            _ => word.into(),
        }
    }

    /// Adds asked for and sent, as the kernel's machine code has it.
    pub(super) fn adds(&self) -> Adds {
        let [_, odd, odd_warps] = self.census;
        let (warps, rest) = (self.n.div_ceil(WARP), self.n % WARP);
        let (asked, sent) = match self.kernel {
            "redux" | "wide_by_hand" | "float_by_hand" => (warps, warps),
            "ballot" => (odd_warps, odd_warps),
            "divergent" => (odd, odd_warps),
            "divergent_unfolded" => (odd, odd),
            "one" | "one_loaded" | "wide_one" => (self.n, warps),
            // Without REDUX full warps fold, by shuffles.
            "value" if self.architecture < 80 => (self.n, self.n / WARP + rest),
            "value" => (self.n, warps),
            "two_branches" => (self.n, warps + self.n / WARP + u64::from(rest > HALF)),
            _ => (self.n, self.n),
        };
        let queue = match self.kernel {
            "two_addresses" => self.low(),
            "two_branches" => warps,
            _ => sent,
        };
        Adds { asked, sent, queue }
    }
}

/// The first `n` elements.
fn elements(n: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(SEED);
    (0..n).map(|_| random.u32(0..=LARGEST)).collect()
}

fn bytes_of(elements: &[u32]) -> Result<Vec<u8>> {
    let mut bytes = host_bytes(elements.len() as u64 * 4)?;
    for (place, element) in bytes.chunks_exact_mut(4).zip(elements) {
        place.copy_from_slice(&element.to_le_bytes());
    }
    Ok(bytes)
}

/// Sum, odd elements, and warps that hold an odd one.
fn census(elements: &[u32]) -> [u64; 3] {
    let odd = |element: &&u32| **element % 2 == 1;
    let warps = elements.chunks(WARP as usize);
    [
        elements.iter().map(|element| u64::from(*element)).sum(),
        elements.iter().filter(odd).count() as u64,
        warps.filter(|warp| warp.iter().any(|element| element % 2 == 1)).count() as u64,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_census_counts_the_sum_the_odd_and_their_warps() {
        let mut elements = vec![0; 70];
        (elements[3], elements[4], elements[69]) = (3, 2, 1);
        assert_eq!(census(&elements), [6, 2, 2]);
    }
}
