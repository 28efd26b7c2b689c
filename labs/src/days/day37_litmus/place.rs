//! Where the parts of a test run.

use std::ops::Range;

use labs_oracle::Place as ModelPlace;

/// Where the parts of a test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    SameWarp,
    SameBlock,
    SameCluster,
    OtherBlock,
    /// The first part on the GPU, the others on the host.
    Host,
    /// The first part on the host, the others on the GPU, in a block each.
    HostFirst,
}

/// The words of the axis `place`, in the kernel file's order.
pub(super) const PLACES: [&str; 6] =
    ["same_warp", "same_block", "same_cluster", "other_block", "host", "host_first"];

impl Place {
    pub(super) const ALL: [Place; 6] = [
        Place::SameWarp,
        Place::SameBlock,
        Place::SameCluster,
        Place::OtherBlock,
        Place::Host,
        Place::HostFirst,
    ];

    pub(super) fn named(word: &str) -> Option<Place> {
        PLACES.iter().position(|known| *known == word).map(|place| Place::ALL[place])
    }

    /// As the kernel file numbers it.
    pub(super) fn number(self) -> u32 {
        self as u32
    }

    pub(super) fn has_host(self) -> bool {
        matches!(self, Place::Host | Place::HostFirst)
    }

    /// Of so many parts those that the GPU plays.
    pub(super) fn on_gpu(self, parts: u32) -> Range<u32> {
        match self {
            Place::Host => 0..1,
            Place::HostFirst => 1..parts,
            _ => 0..parts,
        }
    }

    /// Those that the host plays.
    pub(super) fn on_host(self, parts: u32) -> Range<u32> {
        match self {
            Place::Host => 1..parts,
            Place::HostFirst => 0..1,
            _ => 0..0,
        }
    }

    /// Where the model puts a part. It knows no warps.
    pub(super) fn of_part(self, part: u32) -> ModelPlace {
        let cta = u8::try_from(part).unwrap_or(u8::MAX);
        if self.has_host() && self.on_host(u32::MAX).contains(&part) {
            return ModelPlace::Host;
        }
        match self {
            Place::SameWarp | Place::SameBlock => ModelPlace::Block { gpu: 0, cluster: None, cta: 0 },
            Place::SameCluster => ModelPlace::Block { gpu: 0, cluster: Some(0), cta },
            Place::OtherBlock | Place::Host | Place::HostFirst => {
                ModelPlace::Block { gpu: 0, cluster: None, cta }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_the_parts_that_the_gpu_has_not() {
        for place in Place::ALL {
            for parts in 1..=4 {
                let (gpu, host) = (place.on_gpu(parts), place.on_host(parts));
                let mut all: Vec<u32> = gpu.chain(host.clone()).collect();
                all.sort_unstable();
                assert_eq!(all, (0..parts).collect::<Vec<_>>(), "{place:?}");
                for part in 0..parts {
                    assert_eq!(
                        place.of_part(part) == ModelPlace::Host,
                        host.contains(&part),
                        "{place:?} {part}"
                    );
                }
            }
        }
    }
}
