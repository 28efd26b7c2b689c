//! How does a thread wait for another one, and what does the waiting cost?

mod exercise;
mod progress;

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate, Kind, Unit};
use labs_record::manifest::FigureEntry;
use labs_record::record::Outcome;

use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::exercise::Exercise;
use crate::lab::{Axis, Case, Lab, Places, Selection, Shipped, Variant};
use crate::measure::{Bench, Reading, Work};
use crate::results::{Like, Values};

/// Threads a block, of which one takes part.
const BLOCK: u32 = 32;
/// Turns of all blocks together where time is real, and where it is not; two a block at least.
const ROUNDS: u32 = 2_048;
const SIMULATED_ROUNDS: u32 = 12;
/// SM cycles after which a wait is given up: a tenth of a second, far longer than any turn takes to come round.
const LIMIT_CYCLES: u64 = 200_000_000;
/// And for plain loads, whose wait may never end by itself.
const PLAIN_LIMIT_CYCLES: u64 = 1_000_000;
/// Launches whose payload is looked at, at each number of blocks.
const RUNS: u64 = 20;
/// `Words` of the kernel file: where the payload is, and where it ends.
const PAYLOAD_AT: u64 = 256;
const WORDS_BYTES: u64 = 260;

/// A correct one, with this lab's blocks.
const fn variant(name: &'static str, idea: &'static str, kernels: &'static [&'static str]) -> Variant {
    Variant::new(name, idea, kernels).block(BLOCK)
}

const VARIANTS: [Variant; 12] = [
    variant("plain_load", "wrong: a plain load, which the compiler makes once", &["plain_load"]).undefined(),
    variant("volatile_load", "a volatile load, a fence behind the loop", &["volatile_load"]),
    variant("relaxed_load", "a relaxed load, a fence behind the loop", &["relaxed_load"]),
    variant("acquire_load", "an acquiring load", &["acquire_load"]),
    variant("fence_in_loop", "a volatile load and a fence at each look", &["fence_in_loop"]),
    variant("atomic_or", "an atomic or with 0, a fence behind the loop", &["atomic_or"]),
    variant("backoff", "a relaxed load, and sleep between two looks", &["backoff"]),
    variant("no_acquire", "wrong: a volatile load and no fence", &["no_acquire"]).undefined(),
    variant("no_order", "wrong: volatile on both sides and no fence", &["no_order"]).undefined(),
    variant("test_and_set", "a lock taken by an acquiring swap", &["test_and_set"]),
    variant("ticket_lock", "a lock with tickets, waited for by loads", &["ticket_lock"]),
    variant("unfenced_lock", "wrong: a lock of relaxed atomics", &["unfenced_lock"]).undefined(),
];

const HANDOVER: Reading = Reading { name: "handover", unit: Unit::Nanoseconds, kind: Kind::Duration };

/// The lab.
pub struct Spin;

impl Lab for Spin {
    fn stem(&self) -> &'static str {
        "day39_spin"
    }

    fn part(&self) -> u32 {
        4
    }

    fn question(&self) -> &'static str {
        "How does a thread wait for another one, and what does the waiting cost?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day39_spin.cu"),
            ptx: &[(75, include_str!("../../../kernels/ptx/day39_spin.sm75.ptx"))],
            claims: include_str!("../../../verification/claims/day39_spin.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let numbers = |numbers: &[u64]| numbers.iter().map(|n| Coordinate::Number(*n)).collect();
        vec![Axis {
            name: "blocks",
            help: "Blocks that wait for each other; again for several numbers",
            places: Places::UpTo(1 << 12),
            defaults: numbers(&[2, 16, 128, 1_024]),
            simulator_defaults: numbers(&[3, 6]),
        }]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            HANDOVER.entry("time of a launch over its turns"),
            FigureEntry::observation("lost", "turns whose update of the payload was lost"),
            FigureEntry::observation("gave_up", "blocks whose wait the clock ended"),
            FigureEntry::observation(
                progress::GAVE_UP,
                "threads whose wait the clock ended, by what they waited for",
            ),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}, one thread of it; {ROUNDS} turns of all blocks together, two a block at least; a turn adds 1 to \
             the payload; waits given up after {LIMIT_CYCLES} cycles, of plain loads after {PLAIN_LIMIT_CYCLES}; {HANDOVER:?}, \
             events around the launch, 10 samples after 3 warm-ups, each with every turn taken and the payload right; \
             payloads and turns of {RUNS} launches a place; {}",
            progress::PROTOCOL
        )
    }

    fn headline(&self) -> FigureRef {
        FigureRef { figure: HANDOVER.name.to_owned(), variant: None, at: At::new() }
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(exercise::EXERCISE)
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let mut cases = selection.cases();
        cases.extend(progress::cases());
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let Some(variant) = case.variant else { return progress::measure(bench, case) };
        let run = Turns::new(bench, case, &variant)?;
        // A block that waits for one that has no place on the GPU waits in vain.
        let room = bench.backend.resources(variant.kernels[0], BLOCK)?.map_or(u32::MAX, |resources| {
            resources.blocks_per_sm.saturating_mul(bench.backend.device().gpu.sms)
        });
        if run.blocks > room {
            return Ok(());
        }
        let check = |backend: &mut dyn Backend| Ok(run.outcome(backend)?.check(&run));
        let work = Work { reset: vec![Step::Zero(run.memory())], timed: vec![run.launch()], check: &check };
        let passed = bench.passes(&variant, &case.at, &work)?;
        if passed && variant.declared == Outcome::Correct {
            bench.result("payload", case, Like::Bits, |backend| {
                Ok(Values::U32(vec![run.outcome(backend)?.payload]))
            })?;
        }
        if !bench.takes_time() || run.blocks == 0 {
            return Ok(());
        }
        run.observe(bench, case, &work)?;
        let read = |backend: &mut dyn Backend, ns: f64| {
            let ns = (ns / f64::from(run.rounds) * 100.0).round() / 100.0;
            Ok(run.outcome(backend)?.check(&run).map(|()| vec![ns]))
        };
        bench.readings(&[HANDOVER], case, &work.reset, &work.timed, &read)
    }
}

/// One variant at one number of blocks, with its memory.
struct Turns {
    kernel: &'static str,
    blocks: u32,
    rounds: u32,
    words: Buffer,
    given: Buffer,
    taken: Buffer,
}

/// What a launch has left.
struct Left {
    payload: u32,
    /// Turns taken, by block.
    taken: Vec<u32>,
}

impl Turns {
    fn new(bench: &mut Bench<'_>, case: &Case, variant: &Variant) -> Result<Turns> {
        let blocks = u32::try_from(case.number("blocks"))?;
        let timed = bench.takes_time();
        let rounds = (if timed { ROUNDS } else { SIMULATED_ROUNDS }).max(2 * blocks);
        let memory = bench.scratch("words", WORDS_BYTES)?;
        let run = Turns {
            kernel: variant.kernels[0],
            blocks,
            rounds,
            words: memory,
            given: bench.scratch("given", 16)?,
            taken: bench.scratch("taken", (1 << 12) * 4)?,
        };
        let limit = if variant.name == "plain_load" { PLAIN_LIMIT_CYCLES } else { LIMIT_CYCLES };
        write_given(bench.backend, run.given, limit, rounds)?;
        Ok(run)
    }

    fn memory(&self) -> Buffer {
        Buffer { bytes: WORDS_BYTES, ..self.words }
    }

    fn launch(&self) -> Step {
        let arguments = [self.words, self.given, self.taken].map(Argument::Buffer).to_vec();
        Step::Launch(Launch::new(self.kernel, self.blocks, BLOCK, arguments))
    }

    fn outcome(&self, backend: &mut dyn Backend) -> Result<Left> {
        Ok(Left {
            payload: numbers(backend, self.words.at(PAYLOAD_AT), 1)?[0],
            taken: numbers(backend, self.taken, self.blocks)?,
        })
    }

    /// Turns that a block is to take.
    fn due(&self, block: usize) -> u32 {
        let (rounds, blocks) = (self.rounds as usize, self.blocks as usize);
        (rounds / blocks + usize::from(block < rounds % blocks)) as u32
    }

    /// How often an update was lost or a wait given up, of the correct variants as of the others.
    fn observe(&self, bench: &mut Bench<'_>, case: &Case, work: &Work<'_>) -> Result<()> {
        let (mut lost, mut taken, mut gave_up) = (0, 0, 0);
        for _ in 0..RUNS {
            bench.backend.run(&work.reset)?;
            bench.backend.run(&work.timed)?;
            let outcome = self.outcome(bench.backend)?;
            let turns: u64 = outcome.taken.iter().map(|turns| u64::from(*turns)).sum();
            taken += turns;
            lost += turns.saturating_sub(u64::from(outcome.payload));
            gave_up += outcome.gave_up(self).count() as u64;
            (bench.alive)();
        }
        bench.observation("lost", case, &[], lost, taken);
        bench.observation("gave_up", case, &[], gave_up, RUNS * u64::from(self.blocks));
        Ok(())
    }
}

impl Left {
    /// The blocks that have not taken all their turns.
    fn gave_up(&self, run: &Turns) -> impl Iterator<Item = usize> {
        let short = |(block, taken): (usize, &u32)| (*taken != run.due(block)).then_some(block);
        self.taken.iter().enumerate().filter_map(short)
    }

    /// Every block has taken its turns, and no update of the payload was lost.
    fn check(&self, run: &Turns) -> Result<(), String> {
        if let Some(block) = self.gave_up(run).next() {
            let (taken, due) = (self.taken[block], run.due(block));
            return Err(format!("the clock ended the wait of block {block}: {taken} of {due} turns taken"));
        }
        let wanted = if run.blocks == 0 { 0 } else { run.rounds };
        if self.payload != wanted {
            return Err(format!("the payload is {}, the reference {wanted}", self.payload));
        }
        Ok(())
    }
}

/// `Given` of the kernel file.
fn write_given(backend: &mut dyn Backend, buffer: Buffer, limit_cycles: u64, rounds: u32) -> Result<()> {
    let mut bytes = limit_cycles.to_le_bytes().to_vec();
    bytes.extend([rounds, 0].iter().flat_map(|number| number.to_le_bytes()));
    backend.write(buffer, &bytes)
}

fn numbers(backend: &mut dyn Backend, buffer: Buffer, count: u32) -> Result<Vec<u32>> {
    let mut bytes = vec![0; count as usize * 4];
    backend.read(buffer, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(blocks: u32, rounds: u32) -> Turns {
        let nothing = Buffer { address: 0, bytes: 0 };
        Turns { kernel: "", blocks, rounds, words: nothing, given: nothing, taken: nothing }
    }

    #[test]
    fn turns_are_dealt_out_in_turn() {
        let run = turns(3, 8);
        assert_eq!([0, 1, 2].map(|block| run.due(block)), [3, 3, 2]);
    }

    #[test]
    fn a_wait_given_up_and_an_update_lost_are_told_apart() {
        let run = turns(2, 4);
        let left = |payload, taken: &[u32]| Left { payload, taken: taken.to_vec() }.check(&run);
        assert_eq!(left(4, &[2, 2]), Ok(()));
        assert!(left(4, &[2, 1]).unwrap_err().contains("wait of block 1: 1 of 2"));
        assert!(left(3, &[2, 2]).unwrap_err().contains("payload is 3"));
    }
}
