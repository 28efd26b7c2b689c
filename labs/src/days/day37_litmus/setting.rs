//! How a launch is laid out, and the parameters that are drawn by seed: what makes weak outcomes likely differs from
//! GPU to GPU, and nobody knows it beforehand.

use fastrand::Rng;

use super::place::Place;
use super::shapes::{Litmus, Source};
use super::{BLOCK, WARP};

/// Words of a location's memory where times are real: every instance has a word of its own in it.
pub(super) const SPAN: u32 = 1 << 24;
/// The same in the host's memory, where fewer are played.
pub(super) const HOST_SPAN: u32 = 1 << 18;
/// Rounds a thread plays at most.
pub(super) const MOST_ROUNDS: u32 = 32;
/// Of a launch with pauses so many times fewer are played: it takes that much longer.
pub(super) const FEWER_WITH_PAUSES: u32 = 2;
/// The host plays a team's instances one after the other, so the GPU's are spread over so many times longer.
pub(super) const HOST_SPREAD: u32 = 8;
/// Words that stress goes to at most.
pub(super) const SCRATCH_WORDS: u32 = 1 << 18;
/// Parts of a test at most, and clauses; parties of a team, too.
pub(super) const MOST_PARTS: usize = 4;
/// Words from one party's gate to the next.
pub(super) const GATE_WORDS: u32 = WARP;
/// Words of `Setting`.
const SETTING_WORDS: usize = 5 * MOST_PARTS + 21 + 2 * MOST_PARTS;
/// Bytes of `Setting`.
pub(super) const SETTING_BYTES: u64 = SETTING_WORDS as u64 * 4;

/// A set of parameters that are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    /// Words from one instance to the next.
    stride: u32,
    /// By how many threads each part is turned against the one before.
    turn: u32,
    /// Blocks are numbered by about so many.
    shuffle: u32,
    /// Cycles a warp, or thread, waits at most before its part.
    skew: u32,
    /// Cycles by which each part waits longer than the one before.
    lag: u32,
    /// Cycles a warp, or thread, waits at most between its part's accesses, where it waits at all.
    pause: u32,
    /// What stress blocks do: nothing, read, write, both.
    stress: u32,
    stress_words: u32,
    /// Of what is drawn on the GPU.
    seed: u32,
}

/// How a set of parameters is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manner {
    /// Whether a reader looks at its last location before the start.
    pub(super) looks: bool,
    /// Whether parts begin at any time and half of them pause between their accesses: all interleavings come about, so
    /// mutants show; what the machine would have exchanged is seldom exchanged.
    pub(super) pauses: bool,
}

impl Manner {
    /// All of them.
    pub(super) const ALL: [Manner; 4] = [
        Manner { looks: false, pauses: false },
        Manner { looks: true, pauses: false },
        Manner { looks: false, pauses: true },
        Manner { looks: true, pauses: true },
    ];
}

impl Drawn {
    /// Sets of a session.
    pub(super) const SETS: usize = 8;
    /// What [`Drawn::numbers`] gives.
    pub(super) const NAMES: [&str; 9] =
        ["stride", "turn", "shuffle", "skew", "lag", "pause", "stress", "stress_words", "seed"];

    /// The sets of a session. Some things are not left to luck: one in four has no stress, later parts lag by
    /// nothing or by as much as a fence may take, and pauses are as short as an access or longer than several fences.
    pub(super) fn sets(seed: u64) -> [Drawn; Drawn::SETS] {
        let mut rng = Rng::with_seed(seed);
        let mut pick = |from: &[u32]| from[rng.usize(..from.len())];
        std::array::from_fn(|set| Drawn {
            stride: pick(&[1, 2, 4, 8, 32]),
            turn: pick(&[0, 1, 31, 32, 96, 135]),
            shuffle: pick(&[1, 5, 17, 67]),
            skew: pick(&[0, 50, 200, 1_000, 8_000]),
            lag: [0, 1_000, 4_000, 16_000][set % 4],
            pause: [1_000, 8_000, 40_000][set % 3],
            stress: if set % 4 == 2 { 0 } else { pick(&[1, 2, 3]) },
            stress_words: pick(&[1 << 14, 1 << 16, SCRATCH_WORDS]),
            seed: pick(&[0x9e37, 0x79b9, 0x7f4a, 0x7c15, 0xbf58, 0x476d, 0x1ce4, 0xe5b9]),
        })
    }

    /// For where there is no time to vary: neighbours in no step, no stress.
    pub(super) fn still() -> Drawn {
        Drawn {
            stride: 1,
            turn: 0,
            shuffle: 1,
            skew: 300,
            lag: 0,
            pause: 900,
            stress: 0,
            stress_words: 1,
            seed: 1,
        }
    }

    /// Its numbers, in the order of [`Drawn::NAMES`].
    pub(super) fn numbers(&self) -> [u32; 9] {
        [
            self.stride,
            self.turn,
            self.shuffle,
            self.skew,
            self.lag,
            self.pause,
            self.stress,
            self.stress_words,
            self.seed,
        ]
    }
}

/// How large a launch may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Blocks that play, at most.
    pub(super) testers: u32,
    /// Teams that play, at most, where the host plays too.
    pub(super) host_teams: u32,
    /// Blocks that make stress.
    pub(super) stressers: u32,
    /// Rounds at most.
    pub(super) rounds: u32,
    /// Words of a location.
    pub(super) span: u32,
    /// Cycles a block waits for its team.
    pub(super) patience: u32,
}

impl Extent {
    /// The most answers a launch gives.
    pub(super) fn answers(self) -> u64 {
        let parts = MOST_PARTS as u32;
        u64::from(self.testers.max(12).max(self.host_teams * parts) * BLOCK * self.rounds)
    }
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
    /// Rounds of the launch.
    pub(super) rounds: u32,
    /// Teams of the launch.
    pub(super) teams: u32,
    /// Words of a location that are used.
    pub(super) used: u32,
    /// Words from one instance to the next.
    pub(super) stride: u32,
    /// Cycles by which each part waits longer than the one before.
    pub(super) lag: u32,
    /// Cycles of a pause at most; 0 for none.
    pub(super) pause: u32,
    /// Whether a reader looks at its last location before the start.
    pub(super) looks: bool,
    /// Words from one location to the next.
    pub(super) span: u32,
    /// As the kernel file declares it.
    words: [u32; SETTING_WORDS],
}

impl Setting {
    pub(super) fn new(
        litmus: &Litmus,
        place: Place,
        drawn: Drawn,
        manner: Manner,
        extent: Extent,
    ) -> Setting {
        let parts = litmus.parts.len() as u32;
        let here = place.on_gpu(parts);
        let team = match place {
            Place::SameCluster => parts.next_power_of_two(),
            Place::OtherBlock | Place::Host | Place::HostFirst => here.end - here.start,
            Place::SameWarp | Place::SameBlock => 1,
        };
        let parties = if place.has_host() { parts } else { team };
        // Teams of one to four blocks and clusters of four fill it.
        let testers = match place.has_host() {
            true => team * extent.host_teams,
            false => (extent.testers / 12).max(1) * 12,
        };
        let a_team = match place {
            Place::SameWarp => BLOCK / WARP * (WARP / parts),
            Place::SameBlock => BLOCK / WARP / parts * WARP,
            _ => BLOCK,
        };
        let a_round = testers / team * a_team;
        let most = if manner.pauses { extent.rounds.div_ceil(FEWER_WITH_PAUSES) } else { extent.rounds };
        let rounds = (extent.span / (a_round * drawn.stride)).clamp(1, most);
        let stressers = if drawn.stress == 0 { 0 } else { extent.stressers / 4 * 4 };
        let cluster = if place == Place::SameCluster { 4 } else { 1 };
        let shuffle = if cluster > 1 { 1 } else { coprime(drawn.shuffle, testers) };
        let skew = if place.has_host() { HOST_SPREAD * drawn.skew } else { drawn.skew };
        let (skew, lag, pause) = match manner.pauses {
            true => (skew.max(drawn.pause), 0, drawn.pause),
            false => (skew, drawn.lag, 0),
        };

        let mut words = Vec::with_capacity(SETTING_WORDS);
        for place in 0..MOST_PARTS {
            let part = litmus.parts.get(place);
            words.extend(part.map_or([0; 5], |part| {
                [part.shape as u32, part.first, part.second, part.first_value, part.second_value]
            }));
        }
        words.extend([parts, place.number(), here.start, team, parties, testers, rounds, a_round]);
        words.extend([drawn.stride, extent.span, drawn.turn, shuffle, skew, lag, pause]);
        words.extend([
            u32::from(manner.looks),
            drawn.stress,
            drawn.stress_words,
            extent.patience,
            drawn.seed,
        ]);
        words.push(litmus.clauses.len() as u32);
        let source = |source: Source| match source {
            Source::Read(part, access) => 2 * part + access,
            Source::Last(at) => 8 + at,
        };
        let mut padded =
            |numbers: Vec<u32>| words.extend(numbers.into_iter().chain([0; MOST_PARTS]).take(MOST_PARTS));
        padded(litmus.clauses.iter().map(|clause| source(clause.0)).collect());
        padded(litmus.clauses.iter().map(|clause| clause.1).collect());
        let instances = rounds * a_round;
        Setting {
            grid: testers + stressers,
            cluster,
            instances,
            rounds,
            teams: testers / team,
            used: instances * drawn.stride,
            stride: drawn.stride,
            lag,
            pause,
            looks: manner.looks,
            span: extent.span,
            words: std::array::from_fn(|word| words.get(word).copied().unwrap_or(0)),
        }
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

    const EXTENT: Extent = Extent {
        testers: 264,
        host_teams: 4,
        stressers: 66,
        rounds: MOST_ROUNDS,
        span: SPAN,
        patience: 1_000,
    };

    #[test]
    fn every_instance_has_its_own_words() {
        for name in NAMES {
            let litmus = Litmus::named(name).unwrap();
            let parts = litmus.parts.len() as u32;
            for place in Place::ALL.into_iter().filter(|place| !place.on_gpu(parts).is_empty()) {
                let extent = if place.has_host() { Extent { span: HOST_SPAN, ..EXTENT } } else { EXTENT };
                for (drawn, manner) in Drawn::sets(7).into_iter().zip(Manner::ALL.into_iter().cycle()) {
                    let setting = Setting::new(&litmus, place, drawn, manner, extent);
                    assert_eq!(setting.bytes().len() as u64, SETTING_BYTES);
                    assert!(setting.used <= extent.span, "{name} {place:?}");
                    assert!(
                        place.has_host() || setting.grid.is_multiple_of(4),
                        "clusters of four fill the grid"
                    );
                    assert!(u64::from(setting.instances * parts) <= extent.answers(), "{name} {place:?}");
                    assert!(setting.teams <= extent.testers.max(extent.host_teams));
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
