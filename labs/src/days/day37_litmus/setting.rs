//! How a launch is laid out, and the parameters that are drawn by seed: what makes weak outcomes likely differs from
//! GPU to GPU, and nobody knows it beforehand.

use fastrand::Rng;

use super::shapes::{Litmus, Source};
use super::{BLOCK, Place, WARP};

/// Words of a location's memory where times are real: every instance has a word of its own in it.
pub(super) const SPAN: u32 = 1 << 24;
/// Rounds a thread plays at most.
pub(super) const MOST_ROUNDS: u32 = 32;
/// Words that stress goes to at most.
pub(super) const SCRATCH_WORDS: u32 = 1 << 18;
/// Clauses and parts a setting has room for.
const ROOM: usize = 4;

/// Parameters that are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    /// Words from one instance to the next.
    pub(super) stride: u32,
    /// By how many threads each part is turned against the one before.
    turn: u32,
    /// Blocks are numbered by about so many.
    shuffle: u32,
    /// Cycles a warp waits at most before its part.
    skew: u32,
    /// Cycles by which each part waits longer than the one before.
    lag: u32,
    /// Whether a reader looks at its last location before the start.
    pub(super) warm: bool,
    /// What stress blocks do: nothing, read, write, both.
    stress: u32,
    stress_words: u32,
    seed: u32,
}

impl Drawn {
    /// The sets of a session. Some things are not left to luck: half of the sets are the other half with readers that
    /// look first, one of the four has no stress, and later parts lag by nothing or by as much as a fence may take.
    pub(super) fn sets(seed: u64) -> [Drawn; 8] {
        let mut rng = Rng::with_seed(seed);
        let mut pick = |from: &[u32]| from[rng.usize(..from.len())];
        let drawn = [0, 1_000, 4_000, 16_000].map(|lag| Drawn {
            stride: pick(&[1, 2, 4, 8, 32]),
            turn: pick(&[0, 1, 31, 32, 96, 135]),
            shuffle: pick(&[1, 5, 17, 67]),
            skew: pick(&[0, 50, 200, 1_000]),
            lag,
            warm: false,
            stress: if lag == 4_000 { 0 } else { pick(&[1, 2, 3]) },
            stress_words: pick(&[1 << 14, 1 << 16, SCRATCH_WORDS]),
            seed: pick(&[0x9e37, 0x79b9, 0x7f4a, 0x7c15, 0xbf58, 0x476d, 0x1ce4, 0xe5b9]),
        });
        let [a, b, c, d] = drawn;
        let looking = drawn.map(|set| Drawn { warm: true, ..set });
        let [e, f, g, h] = looking;
        [a, b, c, d, e, f, g, h]
    }

    /// For where there is no time to vary: neighbours, no stress.
    pub(super) fn still() -> Drawn {
        Drawn {
            stride: 1,
            turn: 0,
            shuffle: 1,
            skew: 0,
            lag: 0,
            warm: true,
            stress: 0,
            stress_words: 1,
            seed: 1,
        }
    }
}

/// How large a launch may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Blocks that play, at most.
    pub(super) testers: u32,
    /// Blocks that make stress.
    pub(super) stressers: u32,
    /// Rounds at most.
    pub(super) rounds: u32,
    /// Words of a location.
    pub(super) span: u32,
    /// Cycles a block waits for its team.
    pub(super) patience: u32,
}

/// A launch of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// Blocks of the launch.
    pub(super) grid: u32,
    /// Blocks a cluster.
    pub(super) cluster: u32,
    /// Instances of the launch.
    pub(super) instances: u32,
    /// Blocks that wait for each other, and so on: `Setting` of the kernel file.
    words: Vec<u32>,
}

impl Setting {
    pub(super) fn new(litmus: &Litmus, place: Place, drawn: Drawn, extent: Extent) -> Setting {
        let parts = litmus.parts.len() as u32;
        let cluster = if place == Place::SameCluster { 4 } else { 1 };
        let team = match place {
            Place::SameCluster => parts.next_power_of_two(),
            Place::OtherBlock => parts,
            _ => 1,
        };
        // Teams of one to four blocks and clusters of four fill it.
        let testers = (extent.testers / 12).max(1) * 12;
        let a_team = match place {
            Place::SameWarp => BLOCK / WARP * (WARP / parts),
            Place::SameBlock => BLOCK / WARP / parts * WARP,
            _ => BLOCK,
        };
        let a_round = testers / team * a_team;
        let rounds = (extent.span / (a_round * drawn.stride)).clamp(1, extent.rounds);
        let stressers = if drawn.stress == 0 { 0 } else { extent.stressers / 4 * 4 };
        let shuffle = if cluster > 1 { 1 } else { coprime(drawn.shuffle, testers) };
        let mut words = Vec::new();
        for place in 0..ROOM {
            let part = litmus.parts.get(place);
            words.extend(part.map_or([0; 5], |part| {
                [part.shape as u32, part.first, part.second, part.first_value, part.second_value]
            }));
        }
        words.extend([parts, place.number(), team, testers, rounds, a_round, drawn.stride, extent.span]);
        words.extend([drawn.turn, shuffle, drawn.skew, drawn.lag, u32::from(drawn.warm)]);
        words.extend([drawn.stress, drawn.stress_words, extent.patience, drawn.seed]);
        words.push(litmus.clauses.len() as u32);
        let source = |source: Source| match source {
            Source::Read(part, access) => 2 * part + access,
            Source::Last(at) => 8 + at,
        };
        let mut padded = |numbers: Vec<u32>| words.extend(numbers.into_iter().chain([0; ROOM]).take(ROOM));
        padded(litmus.clauses.iter().map(|clause| source(clause.0)).collect());
        padded(litmus.clauses.iter().map(|clause| clause.1).collect());
        Setting { grid: testers + stressers, cluster, instances: rounds * a_round, words }
    }

    /// As the kernel reads it.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// The first number from here on that has no factor in common with `of`.
fn coprime(from: u32, of: u32) -> u32 {
    let common = |mut a: u32, mut b: u32| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (from..).find(|number| common(*number, of) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::super::shapes::NAMES;
    use super::*;

    const EXTENT: Extent =
        Extent { testers: 264, stressers: 132, rounds: MOST_ROUNDS, span: SPAN, patience: 1_000 };

    #[test]
    fn every_instance_has_its_own_words() {
        for name in NAMES {
            let litmus = Litmus::named(name).unwrap();
            for place in Place::ALL.into_iter().filter(|place| *place != Place::Host) {
                for drawn in Drawn::sets(7) {
                    let setting = Setting::new(&litmus, place, drawn, EXTENT);
                    assert_eq!(setting.bytes().len() as u64, super::super::SETTING_BYTES);
                    assert!(u64::from(setting.instances) * u64::from(drawn.stride) <= u64::from(SPAN));
                    assert_eq!(setting.grid % 4, 0, "clusters of four fill the grid");
                    let answers = setting.instances * litmus.parts.len() as u32;
                    assert!(answers <= MOST_ROUNDS * 264 * BLOCK, "{name} {place:?}: {answers}");
                }
            }
        }
    }

    #[test]
    fn sets_follow_from_the_seed() {
        assert_eq!(Drawn::sets(1), Drawn::sets(1));
        assert_ne!(Drawn::sets(1), Drawn::sets(2));
        let shuffled = [1, 5, 17, 67].map(|number| coprime(number, 264));
        assert_eq!(shuffled, [1, 5, 17, 67]);
        assert_eq!(coprime(5, 60), 7);
    }
}
