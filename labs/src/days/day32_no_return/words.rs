//! One case on the device: its words, its launch, and whether every word got its adds.

use anyhow::Result;
use labs_record::figure::Coordinate;

use super::{BLOCK, CLUSTER_ADDS, Shape, shape, sums};
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::lab::Case;
use crate::measure::Bench;

/// Lanes of a warp, and words of a line.
const WARP: u64 = 32;
/// Lines that `lines` and `scattered` spread over.
const LINES: u64 = 1_024;
const SCATTERED_LINES: u64 = 8_192;
/// Words a request of `bulk_page` adds to.
const PAGE: u64 = 1_024;
/// Words of a cluster's first block.
const CLUSTER_WORDS: u64 = 256;
const MOST_BLOCKS: u64 = 1_024;
const FEWEST_CLUSTERS: u64 = 64;
/// An old value that no add has: more adds than a launch may make.
const NEVER: u32 = u32::MAX;

/// Where a warp's adds go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// All to one word.
    Word,
    /// A lane each to the 32 words of one line.
    Line,
    /// A lane each to the 32 words of the warp's own line.
    Lines,
    /// A lane each to a line of its own.
    Scattered,
}

impl Target {
    /// All of them.
    pub(super) const ALL: [Target; 4] = [Target::Word, Target::Line, Target::Lines, Target::Scattered];
    /// Their names on the axis `target`.
    pub(super) const NAMES: [&'static str; 4] = ["word", "line", "lines", "scattered"];

    pub(super) fn name(self) -> &'static str {
        match self {
            Target::Word => "word",
            Target::Line => "line",
            Target::Lines => "lines",
            Target::Scattered => "scattered",
        }
    }

    /// The target of this name; `Word` where there is none, which no place on the axis is.
    fn named(place: Option<&Coordinate>) -> Target {
        let named = |target: &&Target| place == Some(&Coordinate::from(target.name()));
        Target::ALL.iter().find(named).copied().unwrap_or(Target::Word)
    }

    /// For the protocol.
    pub(super) fn in_words() -> String {
        format!(
            "word: all to one; line: lane l to word l of one line; lines: lane l to word l of line (warp mod {LINES}), in a \
             cluster thread t to word t; scattered: one word in each of {SCATTERED_LINES} lines, dealt to the threads at random"
        )
    }
}

/// Clusters of a launch.
pub(super) fn clusters(size: u64) -> u64 {
    size.div_ceil(CLUSTER_ADDS).max(FEWEST_CLUSTERS)
}

/// A variant at a place: memory, launch and reference.
pub(super) struct Words {
    variant: &'static str,
    size: u64,
    /// Blocks that add.
    blocks: u64,
    /// The adds that each word must get.
    wanted: Vec<u32>,
    words: Buffer,
    places: Buffer,
    /// What came back, a number a thread.
    sums: Buffer,
}

impl Words {
    /// Makes room for a case and deals out its adds.
    pub(super) fn new(bench: &mut Bench<'_>, variant: &'static str, case: &Case) -> Result<Words> {
        let (target, size) = (Target::named(case.at.get("target")), case.number("size"));
        let blocks = match shape(variant) {
            Shape::Cluster => clusters(size),
            Shape::BulkPage => size.div_ceil(PAGE).clamp(1, MOST_BLOCKS),
            _ => size.div_ceil(u64::from(BLOCK)).clamp(1, MOST_BLOCKS),
        };
        let threads = blocks * u64::from(BLOCK);
        let places = places(shape(variant), target, threads, bench.seed);
        let wanted = wanted(shape(variant), target, &places, blocks, size);
        let bytes: Vec<u8> = places.iter().flat_map(|place| place.to_le_bytes()).collect();
        let buffer = bench.scratch("places", threads * 4)?;
        bench.backend.write(buffer, &bytes)?;
        let length = wanted.len() as u64 * 4;
        Ok(Words {
            variant,
            size,
            blocks,
            wanted,
            words: Buffer { bytes: length, ..bench.scratch("words", length)? },
            places: buffer,
            sums: bench.scratch("sums", threads * 8)?,
        })
    }

    /// The step before a launch.
    pub(super) fn zero(&self) -> Step {
        Step::Zero(self.words)
    }

    /// The launch that is timed.
    pub(super) fn launch(&self) -> Launch {
        let mut arguments =
            vec![Argument::Buffer(self.words), Argument::Buffer(self.places), Argument::U64(self.size)];
        if self.variant == "add_kept" {
            arguments.push(Argument::U32(NEVER));
        }
        if self.variant == "add_kept" || sums(self.variant) {
            arguments.push(Argument::Buffer(self.sums));
        }
        // Bounded: no launch has more clusters than 2^32 adds ask for.
        let blocks = self.blocks as u32;
        match shape(self.variant) {
            Shape::Cluster => {
                Launch { cluster: 2, ..Launch::new(self.variant, blocks * 2, BLOCK, arguments) }
            }
            _ => Launch::new(self.variant, blocks, BLOCK, arguments),
        }
    }

    /// Every word as it is now.
    pub(super) fn found(&self, backend: &mut dyn Backend) -> Result<Vec<u32>> {
        let mut bytes = vec![0; self.wanted.len() * 4];
        backend.read(self.words, &mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// Every word got its adds; and where old values are added up, each was handed out once.
    pub(super) fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        let found = self.found(backend)?;
        if let Some(place) = found.iter().zip(&self.wanted).position(|(found, wanted)| found != wanted) {
            return Ok(Err(format!(
                "at size {} word {place} holds {}, its share is {}",
                self.size, found[place], self.wanted[place]
            )));
        }
        if !sums(self.variant) {
            return Ok(Ok(()));
        }
        let mut bytes = vec![0; (self.blocks * u64::from(BLOCK) * 8) as usize];
        backend.read(self.sums, &mut bytes)?;
        let sum: u64 = bytes.as_chunks().0.iter().map(|sum| u64::from_le_bytes(*sum)).sum();
        let of_word = |adds: &u32| u64::from(*adds) * u64::from(*adds).saturating_sub(1) / 2;
        let wanted: u64 = self.wanted.iter().map(of_word).sum();
        if sum == wanted {
            return Ok(Ok(()));
        }
        let size = self.size;
        Ok(Err(format!("at size {size} the old values add up to {sum}; each once they add up to {wanted}")))
    }
}

/// Where each thread's adds go: a word's place among all words, or within a cluster's.
fn places(shape: Shape, target: Target, threads: u64, seed: u64) -> Vec<u32> {
    let own = |t: u64| match (shape, target) {
        (_, Target::Word) => 0,
        (Shape::BulkPage, _) => t % (LINES * WARP / PAGE) * PAGE,
        (Shape::Cluster, _) => t % CLUSTER_WORDS,
        (_, Target::Line) => t % WARP,
        (_, Target::Lines) => t / WARP % LINES * WARP + t % WARP,
        (_, Target::Scattered) => t % SCATTERED_LINES * WARP,
    };
    let mut places: Vec<u32> = (0..threads).map(|t| own(t) as u32).collect();
    if target == Target::Scattered {
        fastrand::Rng::with_seed(seed).shuffle(&mut places);
    }
    places
}

/// The adds that each word must get.
fn wanted(shape: Shape, target: Target, places: &[u32], blocks: u64, size: u64) -> Vec<u32> {
    let words = match (shape, target) {
        (Shape::Cluster, _) => blocks * CLUSTER_WORDS,
        (_, Target::Word | Target::Line) => WARP,
        (_, Target::Lines) => LINES * WARP,
        (_, Target::Scattered) => SCATTERED_LINES * WARP,
    };
    let mut wanted = vec![0; words as usize];
    if shape == Shape::BulkPage {
        // Whole requests go round the blocks; the rest is the next block's.
        for request in 0..size.div_ceil(PAGE) {
            let first = places[(request % blocks) as usize] as usize;
            let count = (size - request * PAGE).min(PAGE) as usize;
            wanted[first..first + count].iter_mut().for_each(|word| *word += 1);
        }
        return wanted;
    }
    let threads = places.len() as u64;
    for (thread, place) in places.iter().enumerate() {
        let thread = thread as u64;
        let adds = size / threads + u64::from(size % threads > thread);
        let block = match shape {
            Shape::Cluster => thread / u64::from(BLOCK) * CLUSTER_WORDS,
            _ => 0,
        };
        wanted[(block + u64::from(*place)) as usize] += adds as u32;
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_size() {
        for shape in [Shape::Plain, Shape::Cluster, Shape::BulkLine, Shape::BulkPage] {
            // A page is 32 lines, which no other target has.
            let targets: Vec<Target> =
                Target::ALL.into_iter().filter(|t| shape != Shape::BulkPage || *t == Target::Lines).collect();
            for target in targets {
                for size in [0, 1, 255, 4_097, 300_000] {
                    let places = places(shape, target, 16 * 256, 1);
                    let wanted = wanted(shape, target, &places, 16, size);
                    let all: u64 = wanted.iter().map(|adds| u64::from(*adds)).sum();
                    assert_eq!(all, size, "{shape:?} {target:?}");
                }
            }
        }
    }

    #[test]
    fn targets_are_what_they_are_called() {
        let of = |target| places(Shape::Plain, target, 8_192, 7)[..32].to_vec();
        assert_eq!(of(Target::Word), vec![0; 32]);
        assert_eq!(of(Target::Line), (0..32).collect::<Vec<_>>());
        assert_eq!(of(Target::Lines), (0..32).collect::<Vec<_>>());
        let scattered = of(Target::Scattered);
        assert!(scattered.iter().all(|place| place % 32 == 0));
        assert!(scattered.windows(2).all(|pair| pair[0] != pair[1]), "{scattered:?}");
        assert_eq!(places(Shape::Plain, Target::Lines, 8_192, 7)[32..64], (32..64).collect::<Vec<_>>());
    }
}
