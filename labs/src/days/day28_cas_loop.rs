//! What does an update cost that can only be written as a compare-and-swap loop, when others want the same word?

mod exercise;
mod maximum;
mod outcome;

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate};
use labs_record::manifest::FigureEntry;

use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::exercise::Exercise;
use crate::lab::{Axis, BLOCK, Case, Lab, Places, Selection, Shipped, Variant};
use crate::measure::{Bench, Work};
use crate::results::{Like, Values};
use outcome::{Function, Outcome, READINGS, Tally};

/// Contenders at most: more than any GPU holds at once.
const MOST: u64 = 1 << 19;
/// How long a run on a GPU goes on: nanoseconds.
const WINDOW_NS: u64 = 2_000_000;
/// Updates a thread makes where time is not real.
const SIMULATED_UPDATES: u32 = 2;
/// Threads up to which a run on a GPU that only checks ends after so many updates too.
const MOST_COUNTED: u32 = 1_024;
/// Tries a thread has at most on a GPU. A swap takes hundreds of nanoseconds, so the window closes long before; should
/// the timer stand still, this many on one word take a few seconds.
const MOST_TRIES: u64 = 1 << 32;
/// The variants measured on words of their own as well: what the others do there is no other question.
const ON_OWN_WORDS: [&str; 3] = ["native_add", "native_fetch_add", "cas_add"];

const VARIANTS: [Variant; 12] = [
    Variant::new("native_add", "the L2 adds, nobody waits", &["native_add"]),
    Variant::new(
        "native_fetch_add",
        "the L2 adds, the thread waits for the old value",
        &["native_fetch_add"],
    ),
    Variant::new("native_subtract", "an add of the negative", &["native_subtract"]),
    Variant::new("cas_add", "look, add, swap if nobody came between, else again", &["cas_add"]),
    Variant::new("cas_multiply", "the same loop with a multiply, which is never native", &["cas_multiply"]),
    Variant::new("cas_xor", "the same loop with xor", &["cas_xor"]),
    Variant::new(
        "cas_backoff",
        "cas_add that sleeps after a failed swap, longer each time",
        &["cas_backoff"],
    ),
    Variant::new("warp_then_cas", "a warp's lanes add up first, and one of them swaps", &["warp_then_cas"]),
    Variant::new("exchange", "takes what is there and leaves its own, without a condition", &["exchange"]),
    Variant::new("cas_float_max", "the maximum of floats by the loop", &["cas_float_max"]),
    Variant::new(
        "ordered_max",
        "floats mapped to integers of the same order, native maximum",
        &["ordered_max"],
    ),
    Variant::new("integer_max", "the integer maximum on a float's own bits", &["integer_max"]).wrong(),
];

/// The lab.
pub struct CasLoop;

impl Lab for CasLoop {
    fn stem(&self) -> &'static str {
        "day28_cas_loop"
    }

    fn part(&self) -> u32 {
        1
    }

    fn question(&self) -> &'static str {
        "What does a compare-and-swap loop cost when many threads want the same word?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day28_cas_loop.cu"),
            ptx: &[(75, include_str!("../../../kernels/ptx/day28_cas_loop.sm75.ptx"))],
            claims: include_str!("../../../verification/claims/day28_cas_loop.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let numbers = |numbers: &[u64]| numbers.iter().map(|n| Coordinate::Number(*n)).collect();
        let words = || vec![Coordinate::from("one"), Coordinate::from("own")];
        vec![
            Axis {
                name: "contenders",
                help: "Threads that update at the same time, warp after warp; again for several numbers",
                places: Places::UpTo(MOST),
                defaults: numbers(&[1, 4, 32, 256, 2_048, 16_384, 65_536, 262_144]),
                simulator_defaults: numbers(&[1, 8, 32, 64]),
            },
            Axis {
                name: "words",
                help: "Whether all threads share one word, or each has its own: one, own",
                places: Places::OneOf(&["one", "own"]),
                defaults: words(),
                simulator_defaults: words(),
            },
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        let means = [
            "updates of all threads together over the time of the run",
            "time between two updates of one thread, on average over the threads",
            "swaps that failed, for each update",
            "updates of the thread that made most over the mean",
            "threads that made no update in the run",
        ];
        let mut figures: Vec<FigureEntry> =
            READINGS.iter().zip(means).map(|(reading, means)| reading.entry(means)).collect();
        figures.push(FigureEntry::exact(
            "special_inputs_right",
            "inputs with negatives, zeros of both signs and NaN whose maximum comes out right",
        ));
        figures
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}; threads 0 to contenders - 1 update words[place[i]], all 0 or i, for {WINDOW_NS} ns by \
             %globaltimer, a thread's own window; times over the whole launch by events; 10 samples after 3 warm-ups; \
             not timed where the GPU can't hold all contenders at once; after every run each word equals what the \
             counted updates make of it; maxima start from special inputs, {} of them checked one by one; on words of \
             their own only {}",
            maximum::SPECIAL.len(),
            ON_OWN_WORDS.join(", ")
        )
    }

    fn headline(&self) -> FigureRef {
        FigureRef { figure: "updates_per_second".to_owned(), variant: None, at: At::new() }
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(exercise::EXERCISE)
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let mut cases = selection.cases();
        let own = Coordinate::from("own");
        // Whoever asks for own words alone gets them for every variant.
        let asked = selection.places.get("words").is_some_and(|words| words.iter().all(|word| *word == own));
        cases.retain(|case| {
            let shown = case.variant.is_some_and(|variant| ON_OWN_WORDS.contains(&variant.name));
            asked || shown || case.at.get("words") != Some(&own)
        });
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let Some(variant) = case.variant else { return Ok(()) };
        let run = Run::new(bench, &variant, case)?;
        if run.function.is_maximum() {
            special_inputs(bench, case, &run)?;
        }
        let first = first_proposals(bench.seed, run.contenders);
        // Where no time is taken, threads end after some updates, so that every run makes the same ones. Of many threads
        // that would take long.
        let timed = bench.takes_time() || run.contenders > MOST_COUNTED;
        run.prepare(bench.backend, &first, limits(timed, run.contenders))?;
        let check = |backend: &mut dyn Backend| {
            let outcome = run.outcome(backend)?;
            let done = if timed { Ok(()) } else { all_done(&outcome) };
            Ok(done.and_then(|()| outcome.check(run.function, &first)))
        };
        let work = Work { reset: run.reset(), timed: vec![run.launch()], check: &check };
        if !bench.passes(&variant, &case.at, &work)? || run.contenders == 0 {
            return Ok(());
        }
        // Which item an exchange leaves is open, and how far a run for a time gets.
        if !timed && run.function != Function::Exchange {
            let words = |backend: &mut dyn Backend| {
                Ok(Values::U32(run.outcome(backend)?.comparable_words(run.function)))
            };
            bench.result("words", case, Like::Bits, words)?;
        }
        let resident = bench.backend.resources(variant.kernels[0], BLOCK)?.map_or(0, |r| r.blocks_per_sm);
        // Threads that wait for a place on an SM contend with nobody.
        if u64::from(resident * bench.backend.device().gpu.sms * BLOCK) < u64::from(run.contenders) {
            return Ok(());
        }
        let read = |backend: &mut dyn Backend, ns: f64| {
            let outcome = run.outcome(backend)?;
            Ok(outcome.check(run.function, &first).map(|()| outcome.readings(ns)))
        };
        bench.readings(&READINGS, case, &work.reset, &work.timed, &read)
    }
}

/// When a thread stops: `Run` of the kernel file.
#[derive(Clone, Copy, Debug)]
struct Limits {
    window_ns: u64,
    updates: u32,
    tries: u32,
}

fn limits(timed: bool, contenders: u32) -> Limits {
    if timed {
        let tries = (MOST_TRIES / u64::from(contenders.max(1))).min(1 << 18) as u32;
        return Limits { window_ns: WINDOW_NS, updates: u32::MAX, tries };
    }
    // A thread waits at most for every update of all the others, however unfair the schedule.
    let tries = SIMULATED_UPDATES.saturating_mul(contenders).saturating_mul(2).saturating_add(64);
    Limits { window_ns: u64::MAX / 2, updates: SIMULATED_UPDATES, tries }
}

/// Where the number of updates ends a run, every thread has made them all.
fn all_done(outcome: &Outcome) -> Result<(), String> {
    let short = outcome.tallies.iter().position(|tally| tally.updates != SIMULATED_UPDATES);
    short.map_or(Ok(()), |thread| {
        let Tally { updates, failed } = outcome.tallies[thread];
        Err(format!(
            "thread {thread} made {updates} of {SIMULATED_UPDATES} updates, and {failed} swaps failed"
        ))
    })
}

fn first_proposals(seed: u64, contenders: u32) -> Vec<f32> {
    maximum::firsts(u64::from(contenders), seed).collect()
}

/// Small inputs, a thread each, whose maximum shows whether the policy is kept.
fn special_inputs(bench: &mut Bench<'_>, case: &Case, run: &Run) -> Result<()> {
    let Some(variant) = case.variant else { return Ok(()) };
    let places = one_place(bench)?;
    let mut right = 0;
    for input in maximum::SPECIAL {
        let few = Run { contenders: input.len() as u32, words: 1, places, ..*run };
        let limits = Limits { window_ns: u64::MAX / 2, updates: 1, tries: 64 };
        few.prepare(bench.backend, input, limits)?;
        bench.backend.run(&few.reset())?;
        bench.backend.run(&[few.launch()])?;
        let outcome = few.outcome(bench.backend)?.check(run.function, input);
        right += u64::from(outcome.is_ok());
        bench.enter_check(&variant, outcome.map_err(|message| format!("of {input:?}, {message}")));
    }
    bench.exact("special_inputs_right", case, &[], right);
    Ok(())
}

/// The place of every thread whose word is the first.
fn one_place(bench: &mut Bench<'_>) -> Result<Buffer> {
    bench.input("one_place", MOST * 4, |_| Ok(vec![0; MOST as usize * 4]))
}

/// One variant with its memory.
#[derive(Clone, Copy)]
struct Run {
    variant: Variant,
    function: Function,
    contenders: u32,
    words: u32,
    word_memory: Buffer,
    places: Buffer,
    limits: Buffer,
    tallies: Buffer,
    held: Buffer,
    first: Buffer,
}

impl Run {
    fn new(bench: &mut Bench<'_>, variant: &Variant, case: &Case) -> Result<Run> {
        let contenders = u32::try_from(case.number("contenders"))?;
        let own = case.at.get("words") == Some(&Coordinate::from("own"));
        let bytes = MOST * 4;
        let places = if own {
            bench.input("own_places", bytes, |_| Ok((0..MOST as u32).flat_map(u32::to_le_bytes).collect()))?
        } else {
            one_place(bench)?
        };
        Ok(Run {
            variant: *variant,
            function: Function::of(variant.name),
            contenders,
            words: if own { contenders } else { 1 },
            word_memory: bench.scratch("words", bytes)?,
            places,
            limits: bench.scratch("limits", 24)?,
            tallies: bench.scratch("tallies", MOST * 8)?,
            held: bench.scratch("held", bytes)?,
            first: bench.scratch("first", bytes)?,
        })
    }

    /// Writes what the kernel reads besides its words.
    fn prepare(&self, backend: &mut dyn Backend, first: &[f32], limits: Limits) -> Result<()> {
        let mut bytes = limits.window_ns.to_le_bytes().to_vec();
        bytes.extend([self.contenders, limits.updates, limits.tries, 0].iter().flat_map(|n| n.to_le_bytes()));
        backend.write(self.limits, &bytes)?;
        if self.function.is_maximum() {
            let bytes: Vec<u8> = first.iter().flat_map(|value| value.to_le_bytes()).collect();
            backend.write(self.first, &bytes)?;
        }
        Ok(())
    }

    /// Words hold their first value, and nobody has counted anything.
    fn reset(&self) -> Vec<Step> {
        let arguments = vec![
            Argument::Buffer(self.word_memory),
            Argument::U32(self.words),
            Argument::U32(self.function.first_value()),
        ];
        let tallies = Buffer { bytes: u64::from(self.contenders) * 8, ..self.tallies };
        let mut steps =
            vec![Step::Launch(Launch::new("set_words", self.words.div_ceil(BLOCK), BLOCK, arguments))];
        steps.extend((self.contenders > 0).then_some(Step::Zero(tallies)));
        steps
    }

    fn launch(&self) -> Step {
        let buffers = [self.word_memory, self.places, self.limits, self.tallies];
        let own = match self.function {
            Function::Exchange => Some(self.held),
            function if function.is_maximum() => Some(self.first),
            _ => None,
        };
        let arguments = buffers.into_iter().chain(own).map(Argument::Buffer).collect();
        Step::Launch(Launch::new(self.variant.name, self.contenders.div_ceil(BLOCK), BLOCK, arguments))
    }

    fn outcome(&self, backend: &mut dyn Backend) -> Result<Outcome> {
        let numbers = |backend: &mut dyn Backend, buffer, count: u32| -> Result<Vec<u32>> {
            let mut bytes = vec![0; count as usize * 4];
            backend.read(buffer, &mut bytes)?;
            Ok(bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect())
        };
        let tallies = numbers(backend, self.tallies, self.contenders * 2)?;
        let held = if self.function == Function::Exchange { self.contenders } else { 0 };
        Ok(Outcome {
            words: numbers(backend, self.word_memory, self.words)?,
            tallies: tallies
                .as_chunks()
                .0
                .iter()
                .map(|[updates, failed]| Tally { updates: *updates, failed: *failed })
                .collect(),
            held: numbers(backend, self.held, held)?,
        })
    }
}
