//! A block writes a message and then a flag. Who has seen the flag, has he the message?

mod exercise;
mod setting;
mod shapes;
mod variants;
mod verdicts;

use anyhow::Result;
use labs_oracle::{Place as ModelPlace, Verdict};
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate, Kind, Unit};
use labs_record::manifest::FigureEntry;
use labs_record::record::Outcome;

use crate::backend::{Argument, Buffer, Launch, Step};
use crate::exercise::Exercise;
use crate::failure::failed;
use crate::lab::{Axis, Case, Facet, Lab, Places, Shipped, Simulated, TableOf, Variant, Word};
use crate::measure::Bench;
use setting::{Drawn, Extent, MOST_ROUNDS, SCRATCH_WORDS, SPAN, Setting};
use shapes::{Litmus, NAMES};
use variants::{ORDERS, SCOPES, VARIANTS};
use verdicts::Cell;

/// Threads a block, in every variant.
const BLOCK: u32 = 256;
const WARP: u32 = 32;
/// Cycles a block waits for its team: half a millisecond or so.
const PATIENCE: u32 = 1 << 20;
/// Bytes of `Setting`.
const SETTING_BYTES: u64 = 46 * 4;

/// Where the parts of a test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    SameWarp,
    SameBlock,
    SameCluster,
    OtherBlock,
    /// The first part on the GPU, the others on the host: judged, not run.
    Host,
}

/// The words of the axis `place`, in the kernel file's order.
const PLACES: [&str; 5] = ["same_warp", "same_block", "same_cluster", "other_block", "host"];

impl Place {
    const ALL: [Place; 5] =
        [Place::SameWarp, Place::SameBlock, Place::SameCluster, Place::OtherBlock, Place::Host];

    fn named(word: &str) -> Option<Place> {
        PLACES.iter().position(|known| *known == word).map(|place| Place::ALL[place])
    }

    /// As the kernel file numbers it.
    fn number(self) -> u32 {
        self as u32
    }

    /// Where the model puts a part. It knows no warps.
    fn of_part(self, part: u32) -> ModelPlace {
        let cta = u8::try_from(part).unwrap_or(u8::MAX);
        match self {
            Place::SameWarp | Place::SameBlock => ModelPlace::Block { gpu: 0, cluster: None, cta: 0 },
            Place::SameCluster => ModelPlace::Block { gpu: 0, cluster: Some(0), cta },
            Place::Host if part > 0 => ModelPlace::Host,
            Place::OtherBlock | Place::Host => ModelPlace::Block { gpu: 0, cluster: None, cta },
        }
    }
}

/// The lab.
pub struct LitmusTests;

impl Lab for LitmusTests {
    fn stem(&self) -> &'static str {
        "day37_litmus"
    }

    fn part(&self) -> u32 {
        4
    }

    fn question(&self) -> &'static str {
        "A block writes a message and then a flag: who has seen the flag, has he the message?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day37_litmus.cu"),
            ptx: &[
                (75, include_str!("../../../kernels/ptx/day37_litmus.sm75.ptx")),
                (90, include_str!("../../../kernels/ptx/day37_litmus.sm90.ptx")),
            ],
            claims: include_str!("../../../verification/claims/day37_litmus.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn facets(&self) -> &'static [Facet] {
        &[
            Facet {
                name: "order",
                help: "Only variants of this order of memory",
                words: &ORDERS,
                fits: |word, variant| variants::word(variant).0 == word,
            },
            Facet {
                name: "scope",
                help: "Only variants of this scope",
                words: &SCOPES,
                fits: |word, variant| variants::word(variant).1 == word,
            },
        ]
    }

    fn axes(&self) -> Vec<Axis> {
        let words = |words: &[&str]| words.iter().map(|word| Coordinate::from(*word)).collect();
        vec![
            Axis {
                name: "test",
                help: "The litmus test; again for several",
                places: Places::OneOf(&NAMES),
                defaults: words(&NAMES),
                simulator_defaults: words(&NAMES),
            },
            Axis {
                name: "place",
                help: "Where the test's threads run: in one warp, block or cluster, in blocks of any, or on the host",
                places: Places::OneOf(&PLACES),
                defaults: words(&PLACES[..4]),
                simulator_defaults: words(&[
                    "other_block",
                    "same_cluster",
                    "same_block",
                    "same_warp",
                    "host",
                ]),
            },
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        let seen = |name: &str, means: &str| FigureEntry {
            name: name.to_owned(),
            unit: Unit::One,
            kind: Kind::Observation,
            means: means.to_owned(),
            // Clusters need compute capability 9.0.
            optional: true,
            derived: None,
        };
        vec![
            seen(
                "weak",
                "instances with the outcome that no interleaving gives, of those in which all but its last clause is met",
            ),
            seen(
                "weak_by_reader",
                "the same, apart by whether readers looked at their last word before the start",
            ),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; 2 blocks an SM play, a quarter as many more make stress; up to {MOST_ROUNDS} rounds a launch, \
             {SPAN} words a location, an instance a word of its own; 4 sets of parameters a session, drawn by fastrand \
             from the session's seed: stride, turn, numbering of blocks, skew, what stress does and where; later parts \
             lag by 0, 1000, 4000 and 16000 cycles; each set with readers that look first and with readers that do not; a \
             launch a set; a team of blocks waits at most {PATIENCE} cycles for each other; \
             an outcome that the model forbids and that is never seen counts only if the mutant, its last part's two \
             accesses exchanged, is seen with the same kernel and sets; tests: {}",
            NAMES.map(|name| format!("{:?}", Litmus::named(name))).join("; ")
        )
    }

    fn simulated(&self) -> Simulated {
        Simulated::Nothing
    }

    fn derived(&self, cases: &[Case]) -> Result<Vec<Word>> {
        cases.iter().map(|case| Cell::of(case)?.word(case)).collect()
    }

    fn headline(&self) -> FigureRef {
        let at = [("test".to_owned(), Coordinate::from("MP"))].into();
        FigureRef { figure: "weak".to_owned(), variant: None, at }
    }

    fn table(&self, at: &At) -> TableOf {
        let shared = at.iter().filter(|(axis, _)| *axis != "place");
        TableOf {
            rows: "place",
            columns: None,
            shared: shared.map(|(axis, place)| (axis.clone(), place.clone())).collect(),
        }
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(exercise::EXERCISE)
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let Some(variant) = case.variant else { return Ok(()) };
        let cell = Cell::of(case)?;
        let clusters = bench.backend.device().architecture >= 90;
        // Under tools that watch every access, message passing stands for all: the code is the same.
        let spared = bench.only_checks() && cell.litmus.name != "MP";
        if cell.place == Place::Host || spared || (cell.place == Place::SameCluster && !clusters) {
            return Ok(());
        }
        let harness = Harness::new(bench)?;
        let by_reader = harness.tally(bench, &variant, &cell.litmus, cell.place)?;
        let seen = by_reader[0].and(&by_reader[1]);
        let forbidden = matches!(cell.verdict()?, Verdict::Forbidden(_));
        if let Some(contradiction) = contradiction(forbidden, &seen, bench.seed) {
            return Err(failed(format!("{contradiction} {}", cell.word(case)?.reason)));
        }
        bench.enter_check(&variant, outcome(&variant, case, &seen));
        if !bench.takes_time() {
            return Ok(());
        }
        // What would not show its mutant either, says nothing by a zero.
        let mut mutant = || harness.tally(bench, &variant, &cell.litmus.mutant(), cell.place);
        let counts = !forbidden || mutant()?.iter().any(|tally| tally.weak > 0);
        let of = |tally: &Tally| if counts { tally.informative } else { 0 };
        bench.observation("weak", case, &[], seen.weak, of(&seen));
        if cell.litmus.name == "MP" && cell.place == Place::OtherBlock {
            for (tally, reader) in by_reader.iter().zip(["new_to_it", "looked_before"]) {
                bench.observation(
                    "weak_by_reader",
                    case,
                    &[("reader", reader.into())],
                    tally.weak,
                    of(tally),
                );
            }
        }
        Ok(())
    }
}

/// What a variant's check says: of one that races, whether it showed.
fn outcome(variant: &Variant, case: &Case, seen: &Tally) -> Result<(), String> {
    if variant.declared == Outcome::Undefined && seen.weak > 0 {
        let places: Vec<String> = case.at.values().map(ToString::to_string).collect();
        return Err(format!(
            "{}: {} of {} informative tries",
            places.join(", "),
            seen.weak,
            seen.informative
        ));
    }
    Ok(())
}

/// What is no declared outcome of any variant, but a failure of the lab: an instance without an answer, and what is
/// forbidden and observed.
fn contradiction(forbidden: bool, seen: &Tally, seed: u64) -> Option<String> {
    if seen.faulty > 0 {
        return Some(format!(
            "{} of {} instances gave no answer, or one that nobody wrote (seed {seed}).",
            seen.faulty, seen.instances
        ));
    }
    (forbidden && seen.weak > 0).then(|| {
        format!(
            "the model forbids this outcome, and it was seen in {} of {} instances (seed {seed}): the model, the kernel or \
             the machine is wrong.",
            seen.weak, seen.informative
        )
    })
}

/// What was counted over all launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    instances: u64,
    informative: u64,
    weak: u64,
    faulty: u64,
}

impl Tally {
    fn and(&self, other: &Tally) -> Tally {
        Tally {
            instances: self.instances + other.instances,
            informative: self.informative + other.informative,
            weak: self.weak + other.weak,
            faulty: self.faulty + other.faulty,
        }
    }
}

/// Memory of all launches.
struct Harness {
    setting: Buffer,
    words: Buffer,
    seen: Buffer,
    arrivals: Buffer,
    scratch: Buffer,
    totals: Buffer,
    extent: Extent,
    sets: Vec<Drawn>,
}

impl Harness {
    fn new(bench: &mut Bench<'_>) -> Result<Harness> {
        let sms = bench.backend.device().gpu.sms;
        let measured = bench.takes_time();
        let extent = if measured {
            Extent {
                testers: 2 * sms,
                stressers: sms / 2,
                rounds: MOST_ROUNDS,
                span: SPAN,
                patience: PATIENCE,
            }
        } else {
            Extent { testers: 12, stressers: 0, rounds: 2, span: 1 << 14, patience: PATIENCE }
        };
        let answers = u64::from(extent.testers.max(12) * BLOCK * extent.rounds);
        Ok(Harness {
            setting: bench.scratch("setting", SETTING_BYTES)?,
            words: bench.scratch("words", u64::from(extent.span) * 12)?,
            seen: bench.scratch("seen", answers * 4)?,
            arrivals: bench.scratch("arrivals", u64::from(extent.testers.max(12) + 1) * 128)?,
            scratch: bench.scratch("scratch", u64::from(SCRATCH_WORDS) * 4)?,
            totals: bench.scratch("totals", 12)?,
            extent,
            sets: if measured { Drawn::sets(bench.seed).to_vec() } else { vec![Drawn::still()] },
        })
    }

    /// Every set of parameters once: what was counted of readers that did not look before, and of those that did.
    fn tally(
        &self,
        bench: &mut Bench<'_>,
        variant: &Variant,
        litmus: &Litmus,
        place: Place,
    ) -> Result<[Tally; 2]> {
        let mut all = [Tally::default(); 2];
        for drawn in &self.sets {
            (bench.alive)();
            let setting = Setting::new(litmus, place, *drawn, self.extent);
            bench.backend.write(self.setting, &setting.bytes())?;
            bench.backend.run(&self.steps(variant, litmus, &setting, *drawn))?;
            let mut bytes = [0; 12];
            bench.backend.read(self.totals, &mut bytes)?;
            let [informative, weak, faulty] = [0, 4, 8].map(|at| {
                let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
                u64::from(u32::from_le_bytes(four.unwrap_or_default()))
            });
            let reader = &mut all[usize::from(drawn.warm)];
            *reader =
                reader.and(&Tally { instances: u64::from(setting.instances), informative, weak, faulty });
        }
        Ok(all)
    }

    fn steps(&self, variant: &Variant, litmus: &Litmus, setting: &Setting, drawn: Drawn) -> Vec<Step> {
        let used = u64::from(setting.instances) * u64::from(drawn.stride) * 4;
        let location = |at: u32| Buffer {
            bytes: used,
            ..self.words.at(u64::from(at) * u64::from(self.extent.span) * 4)
        };
        let answers = u64::from(setting.instances) * litmus.parts.len() as u64 * 4;
        let mut steps: Vec<Step> = (0..litmus.locations()).map(|at| Step::Zero(location(at))).collect();
        steps.extend([
            Step::Zero(Buffer { bytes: answers, ..self.seen }),
            Step::Zero(self.arrivals),
            Step::Zero(self.totals),
        ]);
        let [set, words, seen, arrivals, scratch, totals] =
            [self.setting, self.words, self.seen, self.arrivals, self.scratch, self.totals]
                .map(Argument::Buffer);
        let played = Launch {
            cluster: setting.cluster,
            ..Launch::new(variant.kernels[0], setting.grid, BLOCK, vec![set, words, seen, arrivals, scratch])
        };
        let counting = setting.instances.div_ceil(BLOCK).min(1_024);
        let counted = Launch::new("count", counting, BLOCK, vec![set, words, seen, totals]);
        steps.extend([Step::Launch(played), Step::Launch(counted)]);
        steps
    }
}

#[cfg(test)]
mod tests {
    use labs_simt::{Options, Order};

    use super::*;
    use crate::backend::sim::Sim;
    use crate::code;

    fn with_harness<T>(seed: u64, run: impl FnOnce(&mut Bench<'_>, &Harness) -> Result<T>) -> T {
        let mut sim = Sim::new(Options { seed, order: Order::Shuffled, ..Options::default() }, false);
        for image in &code::for_simulator(&LitmusTests, None, 90).unwrap().images {
            crate::backend::Backend::load(&mut sim, image).unwrap();
        }
        let mut alive = || {};
        let mut bench = Bench::new(&mut sim, seed, 0, &mut alive);
        let harness = Harness::new(&mut bench).unwrap();
        run(&mut bench, &harness).unwrap()
    }

    fn variant(name: &str) -> Variant {
        VARIANTS.into_iter().find(|variant| variant.name == name).unwrap()
    }

    /// The simulator interleaves and nothing else: no test has its weak outcome there, and the mutants show.
    #[test]
    fn every_instance_answers_and_mutants_are_seen() {
        let mut shown = Vec::new();
        for name in NAMES {
            let litmus = Litmus::named(name).unwrap();
            let mut mutants = 0;
            for (seed, place) in (1..).zip(Place::ALL.into_iter().filter(|place| *place != Place::Host)) {
                with_harness(seed, |bench, harness| {
                    let relaxed = variant("relaxed_sys");
                    let [_, seen] = harness.tally(bench, &relaxed, &litmus, place)?;
                    assert!(
                        seen.instances > 0 && seen.faulty == 0 && seen.weak == 0,
                        "{name} {place:?}: {seen:?}"
                    );
                    assert!(seen.informative <= seen.instances);
                    mutants += harness.tally(bench, &relaxed, &litmus.mutant(), place)?[1].weak;
                    Ok(())
                });
            }
            if mutants > 0 {
                shown.push(name);
            }
        }
        // Some take several accesses of others between two of one thread, which this schedule hardly gives.
        assert!(shown.len() >= 6, "mutants were seen of {shown:?} only");
    }

    #[test]
    fn a_part_that_gives_no_answer_is_noticed() {
        let litmus = Litmus::named("MP").unwrap();
        let (faulty, instances) = with_harness(1, |bench, harness| {
            let drawn = Drawn::still();
            let setting = Setting::new(&litmus, Place::OtherBlock, drawn, harness.extent);
            bench.backend.write(harness.setting, &setting.bytes())?;
            let mut steps = harness.steps(&variant("plain"), &litmus, &setting, drawn);
            steps.retain(|step| !matches!(step, Step::Launch(launch) if launch.kernel == "plain"));
            bench.backend.run(&steps)?;
            let mut bytes = [0; 12];
            bench.backend.read(harness.totals, &mut bytes)?;
            Ok((u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]), setting.instances))
        });
        assert_eq!(faulty, instances);
    }

    #[test]
    fn a_race_that_shows_is_told_and_a_missing_answer_too() {
        let case = Case { variant: None, at: [("test".to_owned(), Coordinate::from("MP"))].into() };
        let seen = Tally { instances: 9, informative: 7, weak: 2, faulty: 0 };
        assert_eq!(outcome(&variant("plain"), &case, &seen), Err("MP: 2 of 7 informative tries".to_owned()));
        assert_eq!(outcome(&variant("relaxed_gpu"), &case, &seen), Ok(()), "allowed, and no race");
        assert_eq!(outcome(&variant("plain"), &case, &Tally { weak: 0, ..seen }), Ok(()));
        let silent = contradiction(false, &Tally { faulty: 1, ..seen }, 5);
        assert!(silent.unwrap().starts_with("1 of 9 instances"));
    }

    #[test]
    fn forbidden_and_observed_is_a_failure() {
        let seen = Tally { instances: 9, informative: 7, weak: 2, faulty: 0 };
        assert!(contradiction(true, &seen, 5).unwrap().contains("2 of 7 instances (seed 5)"));
        assert_eq!(contradiction(false, &seen, 5), None);
        assert_eq!(contradiction(true, &Tally { weak: 0, ..seen }, 5), None);
    }
}
