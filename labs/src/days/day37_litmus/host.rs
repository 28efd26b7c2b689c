//! The host's side of a test: threads of this machine that play parts against the GPU, in page-locked memory that both
//! reach.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering, compiler_fence, fence};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::setting::{GATE_WORDS, MOST_PARTS, Setting};
use super::shapes::{Litmus, Part};
use super::variants::Order;
use super::{BLOCK, PLAYED};
use crate::failure::failed;

/// Cycles of a GPU in a nanosecond, about: what is drawn for both sides is drawn in cycles.
const CYCLES_A_NS: u32 = 2;
/// How long a thread keeps its core while it waits for its team.
const PATIENCE_WITH_THE_CORE: Duration = Duration::from_micros(100);
/// A thread of the host plays its instances one after the other, so only one in so many has a pause.
const PAUSED_ONE_IN: u32 = 16;

/// What the host plays of a launch.
pub(super) struct HostParts<'a> {
    pub(super) litmus: &'a Litmus,
    pub(super) order: Order,
    pub(super) setting: &'a Setting,
    /// The parts that are the host's.
    pub(super) parts: Range<u32>,
    /// Where the answers begin, words.
    pub(super) seen: usize,
    /// Where the gates begin, words.
    pub(super) gates: usize,
    /// How long a thread waits for its team.
    pub(super) patience: Duration,
}

impl HostParts<'_> {
    /// Plays them all, a thread for each part of each team.
    ///
    /// # Errors
    /// This machine has no more threads. The kernel then ends by its own patience.
    pub(super) fn play(&self, memory: &[AtomicU32]) -> Result<()> {
        thread::scope(|scope| {
            for team in 0..self.setting.teams {
                for part in self.parts.clone() {
                    let played =
                        thread::Builder::new().spawn_scoped(scope, move || self.part(memory, team, part));
                    played.map_err(|error| {
                        failed(format!("the host's part {part} of team {team} got no thread: {error}"))
                    })?;
                }
            }
            Ok(())
        })
    }

    /// One part of all of a team's instances.
    fn part(&self, memory: &[AtomicU32], team: u32, number: u32) {
        let setting = self.setting;
        let Some(part) = self.litmus.parts.get(number as usize) else { return };
        let a_round = setting.instances / setting.rounds;
        let answers = &memory[self.seen + (number * setting.instances) as usize..];
        let gates = &memory[self.gates + team as usize * MOST_PARTS * GATE_WORDS as usize..];
        for round in 0..setting.rounds {
            let instances = (0..BLOCK).map(|instance| round * a_round + team * BLOCK + instance);
            if setting.looks && part.shape.reads_last() {
                for instance in instances.clone() {
                    std::hint::black_box(self.load(self.word(memory, part.second, instance)));
                }
            }
            self.start(gates, number, round + 1);
            spend(number * setting.lag);
            for instance in instances {
                let chance = (instance * MOST_PARTS as u32 + number).wrapping_mul(0x9e37_79b9) >> 12;
                let pause =
                    if chance.is_multiple_of(PAUSED_ONE_IN) { chance % (setting.pause + 1) } else { 0 };
                // Before the part or, where there is one, between its accesses.
                let before = !part.shape.has_second() || chance & PAUSED_ONE_IN != 0;
                if before {
                    spend(pause);
                }
                let answer = self.instance(memory, part, instance, if before { 0 } else { pause });
                answers[instance as usize].store(answer | PLAYED, Ordering::Relaxed);
            }
        }
    }

    /// As `play` of the kernel file: the first read in the low half, the second in the high.
    fn instance(&self, memory: &[AtomicU32], part: &Part, instance: u32, pause: u32) -> u32 {
        let access = |reads: bool, location: u32, value: u32| {
            let word = self.word(memory, location, instance);
            if reads {
                return self.load(word);
            }
            self.store(word, value);
            0
        };
        let first = access(part.shape.reads_first(), part.first, part.first_value);
        if !part.shape.has_second() {
            return first;
        }
        // The compiler must not exchange what the test is about.
        compiler_fence(Ordering::SeqCst);
        spend(pause);
        self.between();
        compiler_fence(Ordering::SeqCst);
        first | access(part.shape.reads_last(), part.second, part.second_value) << 16
    }

    fn word<'m>(&self, memory: &'m [AtomicU32], location: u32, instance: u32) -> &'m AtomicU32 {
        &memory[(location * self.setting.span + instance * self.setting.stride) as usize]
    }

    /// The host knows no scopes; what is plain or volatile on the GPU is relaxed here, which is the machine's own load.
    fn load(&self, word: &AtomicU32) -> u32 {
        word.load(if self.order == Order::RelAcq { Ordering::Acquire } else { Ordering::Relaxed })
    }

    fn store(&self, word: &AtomicU32, value: u32) {
        word.store(value, if self.order == Order::RelAcq { Ordering::Release } else { Ordering::Relaxed });
    }

    fn between(&self) {
        match self.order {
            Order::FenceAcqRel => fence(Ordering::AcqRel),
            Order::FenceSc => fence(Ordering::SeqCst),
            Order::Plain | Order::Volatile | Order::Relaxed | Order::RelAcq => {}
        }
    }

    /// As `start` of the kernel file.
    fn start(&self, gates: &[AtomicU32], me: u32, round: u32) {
        let gate = |party: u32| &gates[(party * GATE_WORDS) as usize];
        gate(me).store(round, Ordering::Relaxed);
        let began = Instant::now();
        for party in 0..self.litmus.parts.len() as u32 {
            while gate(party).load(Ordering::Relaxed) < round && began.elapsed() < self.patience {
                // Where threads share a core, the one that is waited for needs it.
                if began.elapsed() > PATIENCE_WITH_THE_CORE {
                    thread::yield_now();
                } else {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// Lets about so many cycles of a GPU pass; none take no time at all.
fn spend(cycles: u32) {
    if cycles == 0 {
        return;
    }
    let wanted = Duration::from_nanos(u64::from(cycles / CYCLES_A_NS));
    let began = Instant::now();
    while began.elapsed() < wanted {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::Place;
    use super::super::setting::{Drawn, Extent, FEWER_WITH_PAUSES, Manner};
    use super::*;

    const SPAN: u32 = 1 << 14;
    const EXTENT: Extent =
        Extent { testers: 12, host_teams: 2, stressers: 0, rounds: 3, span: SPAN, patience: 1 };

    /// Plays the parts in this order, each after the one before has ended; gives each instance's answers by part.
    fn one_after_the_other(name: &str, order: Order, parts: &[u32]) -> Vec<Vec<u32>> {
        let litmus = Litmus::named(name).unwrap();
        let manner = Manner { looks: true, pauses: true };
        let setting = Setting::new(&litmus, Place::Host, Drawn::still(), manner, EXTENT);
        let (seen, gates) = (3 * SPAN as usize, 3 * SPAN as usize + 4 * setting.instances as usize);
        let words = gates + setting.teams as usize * MOST_PARTS * GATE_WORDS as usize;
        let memory: Vec<AtomicU32> = (0..words).map(|_| AtomicU32::new(0)).collect();
        for part in parts {
            let patience = Duration::from_micros(1);
            let host = HostParts {
                litmus: &litmus,
                order,
                setting: &setting,
                parts: *part..part + 1,
                seen,
                gates,
                patience,
            };
            host.play(&memory).unwrap();
        }
        let answer = |part: u32, instance: u32| {
            memory[seen + (part * setting.instances + instance) as usize].load(Ordering::Relaxed)
        };
        let parts = litmus.parts.len() as u32;
        (0..setting.instances)
            .map(|instance| (0..parts).map(|part| answer(part, instance)).collect())
            .collect()
    }

    #[test]
    fn every_instance_is_played_with_the_values_that_its_order_gives() {
        for order in [Order::Plain, Order::Relaxed, Order::RelAcq, Order::FenceAcqRel, Order::FenceSc] {
            let both_new = one_after_the_other("MP", order, &[0, 1]);
            assert_eq!(both_new.len() as u32, 2 * EXTENT.rounds.div_ceil(FEWER_WITH_PAUSES) * BLOCK);
            assert!(both_new.iter().all(|answers| *answers == [PLAYED, PLAYED | 1 | 1 << 16]), "{order:?}");
            let both_old = one_after_the_other("MP", order, &[1, 0]);
            assert!(both_old.iter().all(|answers| *answers == [PLAYED, PLAYED]), "{order:?}");
        }
        let chain = one_after_the_other("ISA2", Order::Relaxed, &[0, 1, 2]);
        assert!(chain.iter().all(|answers| *answers == [PLAYED, PLAYED | 1, PLAYED | 1 | 1 << 16]));
        let buffered = one_after_the_other("SB", Order::Relaxed, &[1, 0]);
        assert!(buffered.iter().all(|answers| *answers == [PLAYED | 1 << 16, PLAYED]));
    }

    #[test]
    fn a_part_that_is_not_played_has_no_answer() {
        let half = one_after_the_other("MP", Order::Relaxed, &[1]);
        assert!(half.iter().all(|answers| answers[0] == 0 && answers[1] == PLAYED));
    }

    /// Whatever the threads' timing, this machine keeps the order it was asked for.
    #[test]
    fn parts_of_several_threads_meet() {
        let litmus = Litmus::named("MP").unwrap();
        let manner = Manner { looks: false, pauses: false };
        let setting = Setting::new(&litmus, Place::Host, Drawn::still(), manner, EXTENT);
        let (seen, gates) = (3 * SPAN as usize, 3 * SPAN as usize + 4 * setting.instances as usize);
        let memory: Vec<AtomicU32> = (0..gates + 1_024).map(|_| AtomicU32::new(0)).collect();
        let host = HostParts {
            litmus: &litmus,
            order: Order::RelAcq,
            setting: &setting,
            parts: 0..2,
            seen,
            gates,
            patience: Duration::from_secs(5),
        };
        host.play(&memory).unwrap();
        for instance in 0..setting.instances as usize {
            let reader = memory[seen + setting.instances as usize + instance].load(Ordering::Relaxed);
            assert!(
                reader & PLAYED != 0 && reader != PLAYED | 1,
                "instance {instance}: flag without message"
            );
        }
        assert!((0..2).all(|party| memory[gates + party * GATE_WORDS as usize].load(Ordering::Relaxed) == 3));
    }
}
