//! A block writes a message and then a flag. Who has seen the flag, has he the message?

mod exercise;
mod harness;
mod host;
mod place;
mod setting;
mod shapes;
mod variants;
mod verdicts;

use anyhow::Result;
use labs_oracle::Verdict;
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate, Unit};
use labs_record::manifest::FigureEntry;
use labs_record::record::Outcome;

use crate::exercise::Exercise;
use crate::failure::failed;
use crate::lab::{Axis, Case, Facet, Lab, Places, Selection, Shipped, Simulated, TableOf, Variant, Word};
use crate::measure::Bench;
use harness::{CHOSEN, HOST_TEAMS, Harness, PROBED_ROUNDS, Played, Tally};
use place::{PLACES, Place};
use setting::{Drawn, FEWER_WITH_PAUSES, HOST_SPAN, HOST_SPREAD, MOST_ROUNDS, Manner, SPAN};
use shapes::{Litmus, NAMES};
use variants::{ORDERS, PROBES, SCOPES, VARIANTS, probe_of};
use verdicts::Cell;

/// Threads a block, in every variant.
const BLOCK: u32 = 256;
const WARP: u32 = 32;
/// Cycles a block waits for its team: half a millisecond or so.
const PATIENCE: u32 = 1 << 20;
/// Marks an answer, as in the kernel file.
const PLAYED: u32 = 1 << 31;

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
                help: "Where the test's threads run: in one warp, block or cluster, in blocks of any, or all but the \
                       first on the host, or the first",
                places: Places::OneOf(&PLACES),
                defaults: words(&PLACES),
                simulator_defaults: words(&[
                    "other_block",
                    "same_cluster",
                    "same_block",
                    "same_warp",
                    "host",
                    "host_first",
                ]),
            },
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        // Clusters need compute capability 9.0.
        [
            FigureEntry::observation(
                "weak",
                "instances with the outcome that no interleaving gives, of those in which all but its last clause is met",
            ),
            FigureEntry::observation(
                "weak_by_reader",
                "the same, apart by whether readers looked at their last word before the start",
            ),
            FigureEntry::observation(
                "mutant",
                "instances of a forbidden outcome's mutant with that outcome, of those in which all but its last clause is met",
            ),
            FigureEntry::spread("parameter", Unit::Count, "a parameter's value in a set of a session"),
            FigureEntry::spread(
                "chosen",
                Unit::Count,
                "numbers of the sets that a test was played with by versions like the probe, best first",
            ),
        ]
        .map(FigureEntry::optional)
        .into()
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; 2 blocks an SM play, half a block an SM makes stress; up to {MOST_ROUNDS} rounds a launch, \
             with pauses one in {FEWER_WITH_PAUSES} of them; {SPAN} words a location, an instance a word of its own; {} \
             sets of parameters a session, drawn by fastrand from the session's seed: stride, turn, numbering of \
             blocks, skew, what stress does and where; later parts lag by 0, 1000, 4000 and 16000 cycles; pauses last \
             up to 1000, 8000 and 40000, for half of the parts, which then begin within as long or the skew (on the \
             host one instance in 16); each set with readers that look first and with readers that do not, with pauses \
             and without; a launch each; a test at a place is played with the {CHOSEN} sets that are worth most, in \
             {PROBED_ROUNDS} rounds of a version that takes about as long ({}): the lesser of the share of informative \
             tries and that of instances in which the mutant, the last part's two accesses exchanged, is seen, with \
             readers that look first, with pauses and without; a team waits at most {PATIENCE} cycles for each other, \
             four times as long for the host, which waits 20 ms for it; tries at an outcome that the model forbids \
             count only in those manners of playing a set in which the same version's mutant is seen; host: page-locked \
             memory of {HOST_SPAN} words a location, at most {HOST_TEAMS} teams, a thread a part, the GPU's skew times \
             {HOST_SPREAD}; tests: {}",
            Drawn::SETS,
            PROBES.join(", "),
            NAMES.map(|name| format!("{:?}", Litmus::named(name))).join("; ")
        )
    }

    fn simulated(&self) -> Simulated {
        Simulated::Nothing
    }

    fn derived(&self, cases: &[Case]) -> Result<Vec<Word>> {
        let judged = cases.iter().filter(|case| case.variant.is_some());
        judged.map(|case| Cell::of(case)?.word(case)).collect()
    }

    fn headline(&self) -> FigureRef {
        let at = [("test".to_owned(), Coordinate::from("MP"))].into();
        FigureRef { figure: "weak".to_owned(), variant: None, at }
    }

    fn table(&self, at: &At) -> TableOf {
        let (rows, columns) = match (at.contains_key("set"), at.contains_key("probe")) {
            (true, _) => ("parameter", Some("set")),
            (_, true) => ("test", Some("probe")),
            _ => ("place", None),
        };
        let shared = at.iter().filter(|(axis, _)| *axis != rows && Some(axis.as_str()) != columns);
        TableOf { rows, columns, shared: shared.map(|(axis, place)| (axis.clone(), place.clone())).collect() }
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(exercise::EXERCISE)
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let mut cases = selection.cases();
        if selection.variants.len() == VARIANTS.len() {
            // Beyond the GPU no scope but the system's reaches; the GPU's stands for the narrower ones.
            cases.retain(|case| !case.at.get("place").is_some_and(|place| within_the_gpu(case, place)));
            // What was drawn, and what was chosen of it.
            let mut places: Vec<At> = cases.iter().map(|case| case.at.clone()).collect();
            places.sort();
            places.dedup();
            places.insert(0, At::new());
            cases.extend(places.into_iter().map(|at| Case { variant: None, at }));
        }
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let Some(variant) = case.variant else { return parameters(bench, case) };
        let cell = Cell::of(case)?;
        // Under tools that watch every access, message passing stands for all: the code is the same.
        let spared = bench.only_checks() && cell.litmus.name != "MP";
        if spared || !runs(bench, cell.place, &cell.litmus) {
            return Ok(());
        }
        play(bench, &variant, case, &cell)
    }
}

/// Whether a case asks at a place with a host what happens in a scope within the GPU.
fn within_the_gpu(case: &Case, place: &Coordinate) -> bool {
    let host = Place::named(&place.to_string()).is_some_and(Place::has_host);
    host && case.variant.is_some_and(|variant| ["cta", "cluster"].contains(&variants::word(variant.name).1))
}

/// Whether a test can be played at a place here.
fn runs(bench: &Bench<'_>, place: Place, litmus: &Litmus) -> bool {
    if place.has_host() {
        // Where the simulator or a tool takes the GPU's place, the host could not play in time; and a test of one part
        // leaves nothing for the GPU once the host has the first.
        return bench.takes_time() && !place.on_gpu(litmus.parts.len() as u32).is_empty();
    }
    place != Place::SameCluster || bench.backend.device().architecture >= 90
}

/// A version of a test at a place: what was seen, and what of it says something.
fn play(bench: &mut Bench<'_>, variant: &Variant, case: &Case, cell: &Cell) -> Result<()> {
    let harness = Harness::new(bench, cell.place)?;
    let sets = if bench.takes_time() {
        harness.chosen(bench, &cell.litmus, cell.place, probe_of(variant))?
    } else {
        [0.0].into()
    };
    let test = Played { litmus: &cell.litmus, variant, place: cell.place };
    let mut launches = harness.play(bench, test, &sets)?;
    let seen = total(&launches);
    let forbidden = matches!(cell.verdict()?, Verdict::Forbidden(_));
    if let Some(contradiction) = contradiction(forbidden, &seen, bench.seed) {
        return Err(failed(format!("{contradiction} {}", cell.word(case)?.reason)));
    }
    bench.enter_check(variant, outcome(variant, case, &seen));
    if !bench.takes_time() {
        return Ok(());
    }
    if forbidden {
        let mutant = cell.litmus.mutant();
        let mutants = harness.play(bench, Played { litmus: &mutant, ..test }, &sets)?;
        spare_the_blind(&mut launches, &mutants);
        let shown = total(&mutants);
        if let Some(contradiction) = contradiction(false, &shown, bench.seed) {
            return Err(failed(format!("the mutant of {}: {contradiction}", cell.litmus.name)));
        }
        bench.observation("mutant", case, &[], shown.weak, shown.informative);
    }
    let counted = total(&launches);
    bench.observation("weak", case, &[], counted.weak, counted.informative);
    if cell.litmus.name == "MP" && cell.place == Place::OtherBlock {
        for (looks, reader) in [(false, "new_to_it"), (true, "looked_before")] {
            let counted = total(launches.iter().filter(|(manner, _)| manner.looks == looks));
            let at = [("reader", reader.into())];
            bench.observation("weak_by_reader", case, &at, counted.weak, counted.informative);
        }
    }
    Ok(())
}

fn total<'a>(launches: impl IntoIterator<Item = &'a (Manner, Tally)>) -> Tally {
    launches.into_iter().fold(Tally::default(), |all, (_, launch)| all.and(*launch))
}

/// A launch that does not show its mutant would not show the test's own outcome either: its tries say nothing.
fn spare_the_blind(launches: &mut [(Manner, Tally)], mutants: &[(Manner, Tally)]) {
    for ((_, launch), (_, mutant)) in launches.iter_mut().zip(mutants) {
        if mutant.weak == 0 {
            *launch = Tally::default();
        }
    }
}

/// What was drawn for this session, or with which of it a test is played at a place.
fn parameters(bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    if !bench.takes_time() {
        return Ok(());
    }
    if case.at.is_empty() {
        for (number, set) in (0_u64..).zip(Drawn::sets(bench.seed)) {
            for (name, value) in Drawn::NAMES.into_iter().zip(set.numbers()) {
                let at = [("set", number.into()), ("parameter", name.into())];
                bench.spread("parameter", case, &at, Unit::Count, vec![f64::from(value)]);
            }
        }
        return Ok(());
    }
    let (litmus, place) = verdicts::test_and_place(case)?;
    if runs(bench, place, &litmus) {
        let harness = Harness::new(bench, place)?;
        for probe in VARIANTS.iter().filter(|variant| PROBES.contains(&variant.name)) {
            let sets = harness.chosen(bench, &litmus, place, probe)?;
            bench.spread("chosen", case, &[("probe", probe.name.into())], Unit::Count, sets.to_vec());
        }
    }
    Ok(())
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
        let harness = Harness::new(&mut bench, Place::OtherBlock).unwrap();
        run(&mut bench, &harness).unwrap()
    }

    fn variant(name: &str) -> &'static Variant {
        VARIANTS.iter().find(|variant| variant.name == name).unwrap()
    }

    /// The simulator interleaves and nothing else: no test has its weak outcome there, and the mutants show, those of a
    /// warp included.
    #[test]
    fn every_instance_answers_and_mutants_are_seen() {
        let mut shown = Vec::new();
        for name in NAMES {
            let litmus = Litmus::named(name).unwrap();
            for (seed, place) in (1..).zip(Place::ALL.into_iter().filter(|place| !place.has_host())) {
                with_harness(seed, |bench, harness| {
                    let test = Played { litmus: &litmus, variant: variant("relaxed_sys"), place };
                    for (manner, seen) in harness.play(bench, test, &[0.0])? {
                        let as_it_should = seen.instances > 0 && seen.faulty == 0 && seen.weak == 0;
                        assert!(as_it_should, "{name} {place:?} {manner:?}: {seen:?}");
                        assert!(seen.informative <= seen.instances);
                    }
                    let mutant = litmus.mutant();
                    let mutants = harness.play(bench, Played { litmus: &mutant, ..test }, &[0.0])?;
                    if mutants.iter().any(|(manner, seen)| manner.pauses && seen.weak > 0) {
                        shown.push((name, place));
                    }
                    Ok(())
                });
            }
        }
        let tests = NAMES.iter().filter(|name| shown.iter().any(|(shown, _)| shown == *name)).count();
        let in_warps = shown.iter().filter(|(_, place)| *place == Place::SameWarp).count();
        assert!(tests >= 10 && in_warps >= 8, "{tests} tests, {in_warps} in a warp: {shown:?}");
    }

    #[test]
    fn a_part_that_gives_no_answer_is_noticed() {
        let litmus = Litmus::named("MP").unwrap();
        let (faulty, instances) = with_harness(1, |bench, harness| {
            let drawn = Drawn::still();
            let setting = harness.setting(&litmus, Place::OtherBlock, drawn, Manner::ALL[0]);
            bench.backend.write(harness.setting, &setting.bytes())?;
            let mut steps = harness.zeroed(&litmus, &setting);
            steps.push(harness.counted(&setting));
            bench.backend.run(&steps)?;
            let seen = harness.totals(bench, &setting)?;
            Ok((seen.faulty, seen.instances))
        });
        assert_eq!(faulty, instances);
    }

    #[test]
    fn tries_count_only_where_the_mutant_is_seen() {
        let seen = Tally { instances: 9, informative: 7, weak: 0, faulty: 0 };
        let with = |weak| Tally { weak, ..seen };
        let [a, b, ..] = Manner::ALL;
        let mut launches = [(a, seen), (b, seen)];
        spare_the_blind(&mut launches, &[(a, with(0)), (b, with(1))]);
        assert_eq!(launches, [(a, Tally::default()), (b, seen)]);
    }

    #[test]
    fn a_race_that_shows_is_told_and_a_missing_answer_too() {
        let case = Case { variant: None, at: [("test".to_owned(), Coordinate::from("MP"))].into() };
        let seen = Tally { instances: 9, informative: 7, weak: 2, faulty: 0 };
        assert_eq!(outcome(variant("plain"), &case, &seen), Err("MP: 2 of 7 informative tries".to_owned()));
        assert_eq!(outcome(variant("relaxed_gpu"), &case, &seen), Ok(()), "allowed, and no race");
        assert_eq!(outcome(variant("plain"), &case, &Tally { weak: 0, ..seen }), Ok(()));
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
