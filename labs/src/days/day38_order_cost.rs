//! What does an atomic cost more when it also orders other accesses, and how far?

use anyhow::Result;
use labs_record::claim::FigureRef;
use labs_record::figure::{At, Coordinate, Kind, Unit};
use labs_record::manifest::FigureEntry;

use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::exercise::{Exercise, Goal};
use crate::lab::{Axis, Case, Lab, Places, Selection, Shipped, TableOf, Variant};
use crate::measure::{Bench, Reading, Work};
use crate::results::{Like, Values};

/// Threads a block: a warp, whose first lane takes part.
const BLOCK: u32 = 32;
/// Operations a thread makes where time is real, and where it is not.
const OPERATIONS: u32 = 256;
const SIMULATED_OPERATIONS: u32 = 3;
/// Warps an SM in a crowd.
const CROWD_PER_SM: u32 = 4;
/// Stores before an operation at most.
const MOST_WRITES: u64 = 1024;
/// Bytes of a line.
const LINE: u64 = 128;
/// Orders of a fence, which has no word to contend for.
const FENCES: [&str; 2] = ["fence_acq_rel", "fence_sc"];
/// What is measured with stores under way, of the variants and of the scopes.
const AFTER_WRITES: [&str; 4] = ["relaxed", "release", "seq_cst", "fence_acq_rel"];
const SCOPES_AFTER_WRITES: [&str; 3] = ["cta", "gpu", "sys"];

/// A correct one, with this lab's blocks.
const fn variant(name: &'static str, idea: &'static str, kernels: &'static [&'static str]) -> Variant {
    Variant::new(name, idea, kernels).block(BLOCK)
}

const VARIANTS: [Variant; 7] = [
    variant(
        "relaxed",
        "an add that orders nothing else",
        &["relaxed_cta", "relaxed_cluster", "relaxed_gpu", "relaxed_sys"],
    ),
    variant(
        "acquire",
        "later accesses come after the add",
        &["acquire_cta", "acquire_cluster", "acquire_gpu", "acquire_sys"],
    ),
    variant(
        "release",
        "earlier accesses come before the add",
        &["release_cta", "release_cluster", "release_gpu", "release_sys"],
    ),
    variant("acq_rel", "both", &["acq_rel_cta", "acq_rel_cluster", "acq_rel_gpu", "acq_rel_sys"]),
    variant(
        "seq_cst",
        "both, in one order for all threads",
        &["seq_cst_cta", "seq_cst_cluster", "seq_cst_gpu", "seq_cst_sys"],
    ),
    variant(
        "fence_acq_rel",
        "no atomic: the fence of acquire and release",
        &["fence_acq_rel_cta", "fence_acq_rel_cluster", "fence_acq_rel_gpu", "fence_acq_rel_sys"],
    ),
    variant(
        "fence_sc",
        "no atomic: the sequentially consistent fence",
        &["fence_sc_cta", "fence_sc_cluster", "fence_sc_gpu", "fence_sc_sys"],
    ),
];

/// Of those, the ones whose stores go to the host's memory as well, beyond block scope: both halves of the comparison.
const TO_HOST: [&str; 2] = ["relaxed", "release"];

const CYCLES_TO_HOST: Reading = Reading { name: "cycles_to_host", unit: Unit::Cycles, kind: Kind::Duration };
const CYCLES: Reading = Reading { name: "cycles", unit: Unit::Cycles, kind: Kind::Duration };

/// The lab.
pub struct OrderCost;

impl Lab for OrderCost {
    fn stem(&self) -> &'static str {
        "day38_order_cost"
    }

    fn part(&self) -> u32 {
        4
    }

    fn question(&self) -> &'static str {
        "What does an atomic cost more when it also orders other accesses, and how far?"
    }

    fn shipped(&self) -> Shipped {
        Shipped {
            source: include_str!("../../../kernels/day38_order_cost.cu"),
            ptx: &[
                (75, include_str!("../../../kernels/ptx/day38_order_cost.sm75.ptx")),
                (90, include_str!("../../../kernels/ptx/day38_order_cost.sm90.ptx")),
            ],
            claims: include_str!("../../../verification/claims/day38_order_cost.yaml"),
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &VARIANTS
    }

    fn axes(&self) -> Vec<Axis> {
        let words = |words: &[&str]| words.iter().map(|word| Coordinate::from(*word)).collect::<Vec<_>>();
        let writes = |writes: &[u64]| writes.iter().map(|n| Coordinate::Number(*n)).collect::<Vec<_>>();
        vec![
            Axis {
                name: "scope",
                help: "How far the operation's order reaches: cta, cluster, gpu, sys",
                places: Places::OneOf(&["cta", "cluster", "gpu", "sys"]),
                defaults: words(&["cta", "cluster", "gpu", "sys"]),
                simulator_defaults: words(&["gpu"]),
            },
            Axis {
                name: "threads",
                help: "Who takes part: alone, own (four warps an SM, a word each), one (the same, on one word)",
                places: Places::OneOf(&["alone", "own", "one"]),
                defaults: words(&["alone", "own", "one"]),
                simulator_defaults: words(&["one"]),
            },
            Axis {
                name: "writes",
                help: "Stores under way before each operation, each to a line of its own",
                places: Places::UpTo(MOST_WRITES),
                defaults: writes(&[0, 1, 16, 256]),
                simulator_defaults: writes(&[2]),
            },
        ]
    }

    fn figures(&self) -> Vec<FigureEntry> {
        vec![
            CYCLES.entry("SM cycles from one operation of a thread to its next, on average"),
            CYCLES_TO_HOST.entry("the same, with the stores before it into the host's memory"),
        ]
    }

    fn protocol(&self) -> String {
        format!(
            "block {BLOCK}, the first lane takes part; {OPERATIONS} operations a thread, each waiting for the one before; \
             alone 1 block, else {CROWD_PER_SM} an SM; words of their own {LINE} bytes apart; {CYCLES:?} by clock64 around \
             the loop, mean over the threads; 10 samples after 3 warm-ups; after each every word and line is compared; \
             writes {AFTER_WRITES:?} at {SCOPES_AFTER_WRITES:?} alone, and {TO_HOST:?} beyond cta into page-locked host \
             memory; fences not on one word"
        )
    }

    fn headline(&self) -> FigureRef {
        FigureRef { figure: CYCLES.name.to_owned(), variant: None, at: At::new() }
    }

    fn table(&self, at: &At) -> TableOf {
        let rows = if at.get("writes") == Some(&Coordinate::Number(0)) { "scope" } else { "writes" };
        let shared = at.iter().filter(|(axis, _)| *axis != rows);
        TableOf { rows, columns: None, shared: shared.map(|(axis, at)| (axis.clone(), at.clone())).collect() }
    }

    fn exercise(&self) -> Option<Exercise> {
        Some(Exercise {
            starter: include_str!("../../../kernels/exercises/day38_order_cost.cu"),
            solution: include_str!("../../../kernels/exercises/solutions/day38_order_cost.cu"),
            hints: &[
                "A release covers what the thread has seen, not only what it has written: a barrier hands it the block's stores.",
                "So one thread can release for 256: a barrier, then its fence and its add.",
                "The block with the last ticket acquires once, and a barrier hands that on to its threads.",
                "The host reads after the launch has ended; nothing here needs system scope.",
            ],
            attempt,
        })
    }

    fn cases(&self, selection: &Selection) -> Vec<Case> {
        let mut cases = selection.cases();
        cases.retain(|case| {
            let is = |axis: &str, words: &[&str]| {
                words.iter().any(|word| case.at.get(axis) == Some(&Coordinate::from(*word)))
            };
            let name = case.variant.map_or("", |variant| variant.name);
            if case.number("writes") == 0 {
                return !(FENCES.contains(&name) && is("threads", &["one"]));
            }
            // Whoever asks for a place of its own gets every variant there.
            let asked = |axis: &str| selection.places.get(axis).is_some_and(|places| places.len() == 1);
            let shown = AFTER_WRITES.contains(&name)
                && is("scope", &SCOPES_AFTER_WRITES)
                && is("threads", &["alone"]);
            shown || ["scope", "threads", "writes"].into_iter().all(asked)
        });
        cases
    }

    fn measure(&self, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
        let Some(variant) = case.variant else { return Ok(()) };
        let scope = text(case, "scope");
        if scope == "cluster" && bench.backend.device().architecture < 90 {
            return Ok(());
        }
        let mut run = Run::new(bench, case, &variant, &scope)?;
        run.read(bench, case, &variant, CYCLES)?;
        // The simulator would only say the same again.
        let alone = bench.takes_time() && text(case, "threads") == "alone";
        if alone && run.lines.bytes > 0 && scope != "cta" && TO_HOST.contains(&variant.name) {
            run.lines = bench.backend.allocate_host(run.lines.bytes)?;
            run.read(bench, case, &variant, CYCLES_TO_HOST)?;
        }
        Ok(())
    }
}

fn text(case: &Case, axis: &str) -> String {
    case.at.get(axis).map(ToString::to_string).unwrap_or_default()
}

/// One variant at one place, with its memory.
struct Run {
    kernel: String,
    is_fence: bool,
    threads: u32,
    operations: u32,
    words: Buffer,
    places: Buffer,
    lines: Buffer,
    given: Buffer,
    cycles: Buffer,
}

impl Run {
    fn new(bench: &mut Bench<'_>, case: &Case, variant: &Variant, scope: &str) -> Result<Run> {
        let crowd = CROWD_PER_SM * bench.backend.device().gpu.sms;
        let who = text(case, "threads");
        let operations = if bench.takes_time() { OPERATIONS } else { SIMULATED_OPERATIONS };
        let threads = if who == "alone" { 1 } else { crowd };
        let places = if who == "own" {
            // A line each.
            let bytes = (0..crowd).flat_map(|i| (i * (LINE as u32 / 4)).to_le_bytes());
            bench.input("own_places", u64::from(crowd) * 4, |_| Ok(bytes.collect()))?
        } else {
            bench.input("one_place", u64::from(crowd) * 4, |_| Ok(vec![0; crowd as usize * 4]))?
        };
        let words = bench.scratch("words", u64::from(crowd) * LINE)?;
        let writes = case.number("writes");
        let line_bytes = u64::from(threads) * writes * LINE;
        let lines = bench.scratch("lines", line_bytes.max(LINE))?;
        let run = Run {
            kernel: format!("{}_{scope}", variant.name),
            is_fence: FENCES.contains(&variant.name),
            threads,
            operations,
            words: Buffer { bytes: if who == "own" { words.bytes } else { LINE }, ..words },
            places,
            lines: Buffer { bytes: line_bytes, ..lines },
            given: bench.scratch("given", 8)?,
            cycles: bench.scratch("cycles", u64::from(crowd) * 8)?,
        };
        let given = [operations, u32::try_from(writes)?];
        bench.backend.write(run.given, &given.map(u32::to_le_bytes).concat())?;
        Ok(run)
    }

    /// Checks it, and enters its cycles.
    fn read(&self, bench: &mut Bench<'_>, case: &Case, variant: &Variant, reading: Reading) -> Result<()> {
        let check = |backend: &mut dyn Backend| self.check(backend);
        let work = Work { reset: self.reset(), timed: vec![self.launch()], check: &check };
        if !bench.passes(variant, &case.at, &work)? {
            return Ok(());
        }
        bench.result("words", case, Like::Bits, |backend| Ok(Values::U32(numbers(backend, self.words)?)))?;
        let read = |backend: &mut dyn Backend, _ns: f64| {
            let cycles = self.cycles_an_operation(backend)?;
            Ok(self.check(backend)?.map(|()| vec![cycles]))
        };
        bench.readings(&[reading], case, &work.reset, &work.timed, &read)
    }

    fn launch(&self) -> Step {
        let buffers = [self.words, self.places, self.lines, self.given, self.cycles];
        let arguments = buffers.into_iter().map(Argument::Buffer).collect();
        Step::Launch(Launch::new(&self.kernel, self.threads, BLOCK, arguments))
    }

    fn reset(&self) -> Vec<Step> {
        let lines = (self.lines.bytes > 0).then_some(Step::Zero(self.lines));
        [Step::Zero(self.words)].into_iter().chain(lines).collect()
    }

    /// Every word holds the adds of its threads, and every line the number of the last operation.
    fn check(&self, backend: &mut dyn Backend) -> Result<Result<(), String>> {
        let each = if self.is_fence { 0 } else { self.operations };
        let shared = self.words.bytes == LINE;
        for (place, found) in numbers(backend, self.words)?.into_iter().enumerate() {
            let wanted = match place % (LINE as usize / 4) {
                0 if shared => each * self.threads,
                0 => each,
                _ => 0,
            };
            if found != wanted {
                return Ok(Err(format!("{}: word {place} is {found}, the reference {wanted}", self.kernel)));
            }
        }
        let lines = numbers(backend, self.lines)?;
        let wrong = lines.iter().step_by(LINE as usize / 4).position(|found| *found != self.operations);
        Ok(wrong.map_or(Ok(()), |line| {
            let (found, wanted) = (lines[line * (LINE as usize / 4)], self.operations);
            Err(format!("{}: line {line} holds {found}, the reference {wanted}", self.kernel))
        }))
    }

    /// Mean over the threads, to a hundredth.
    fn cycles_an_operation(&self, backend: &mut dyn Backend) -> Result<f64> {
        let mut bytes = vec![0; self.threads as usize * 8];
        backend.read(self.cycles, &mut bytes)?;
        let total: f64 = bytes.as_chunks().0.iter().map(|eight| u64::from_le_bytes(*eight) as f64).sum();
        let mean = total / f64::from(self.threads) / f64::from(self.operations);
        Ok((mean * 100.0).round() / 100.0)
    }
}

fn numbers(backend: &mut dyn Backend, buffer: Buffer) -> Result<Vec<u32>> {
    let mut bytes = vec![0; usize::try_from(buffer.bytes)?];
    backend.read(buffer, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect())
}

/// The exercise: what all blocks have staged is handed to the last of them by one release a block.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    const THREADS: u32 = 256;
    let mut goals = Vec::new();
    for n in [256_u64, 1_024, 5_120] {
        let values: Vec<u32> = {
            let mut random = fastrand::Rng::with_seed(38);
            (0..n).map(|_| random.u32(..)).collect()
        };
        let (input, stage) = (backend.allocate(n * 4)?, backend.allocate(n * 4)?);
        let (out, ticket) = (backend.allocate(n * 4)?, backend.allocate(4)?);
        backend.write(input, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
        let grid = u32::try_from(n)? / THREADS;
        let arguments = [input, stage, out, ticket].map(Argument::Buffer).to_vec();
        let launch = Step::Launch(Launch::new("exercise", grid, THREADS, arguments));
        backend.counts();
        if let Err(error) = backend.run(&[Step::Zero(out), Step::Zero(ticket), launch]) {
            goals.push(Goal { line: format!("size {n}: {error:#}"), reached: false });
            continue;
        }
        let atomics = backend.counts().map_or(0, |counts| counts.global_atomics);
        let found = numbers(backend, out)?;
        let wanted = values.iter().rev().map(|value| value.wrapping_mul(2));
        let wrong = found.iter().zip(wanted).enumerate().find(|(_, (found, wanted))| *found != wanted);
        goals.push(match wrong {
            None => Goal { line: format!("size {n}: every value is right"), reached: true },
            Some((i, (found, wanted))) => Goal {
                line: format!("size {n}: value {i} is {found}, the reference {wanted}"),
                reached: false,
            },
        });
        goals.push(Goal {
            line: format!("size {n}: {atomics} global atomics, at most {grid} wanted, one a block"),
            reached: atomics <= u64::from(grid),
        });
    }
    Ok(goals)
}
