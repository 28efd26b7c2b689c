//! What a run did, and what the words must hold because of it.

use super::maximum::{self, LOWEST, NO_NUMBER};
use crate::measure::Reading;
use labs_record::figure::{Kind, Unit};

/// What a variant makes of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// Adds 1, or the negative of 1.
    Add(u32),
    /// Multiplies by 5.
    Multiply,
    /// Xors the thread's pattern.
    Xor,
    /// Takes the item that is there and leaves another one with one more stamp.
    Exchange,
    /// The highest float, kept as its own bits.
    FloatMax,
    /// The highest float, kept as an integer of the same order.
    OrderedMax,
    /// The highest float, by an integer maximum on its bits: wrong.
    IntegerMax,
}

impl Function {
    /// The function of a variant.
    pub(super) fn of(variant: &str) -> Function {
        match variant {
            "native_subtract" => Function::Add(u32::MAX),
            "cas_multiply" => Function::Multiply,
            "cas_xor" => Function::Xor,
            "exchange" => Function::Exchange,
            "cas_float_max" => Function::FloatMax,
            "ordered_max" => Function::OrderedMax,
            "integer_max" => Function::IntegerMax,
            _ => Function::Add(1),
        }
    }

    /// Whether its kernels take proposals.
    pub(super) fn is_maximum(self) -> bool {
        matches!(self, Function::FloatMax | Function::OrderedMax | Function::IntegerMax)
    }

    /// What a word holds before the first update.
    pub(super) fn first_value(self) -> u32 {
        match self {
            Function::Multiply => 1,
            Function::FloatMax => NO_NUMBER,
            Function::IntegerMax => LOWEST,
            _ => 0,
        }
    }

    /// Whether two words hold a NaN each, as floats: any is as good as another.
    fn both_nan(self, a: u32, b: u32) -> bool {
        let floats = matches!(self, Function::FloatMax | Function::IntegerMax);
        floats && f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
    }

    /// How a float maximum is kept in a word.
    pub(super) fn kept(self, maximum: f32) -> u32 {
        match self {
            Function::OrderedMax => maximum::ordered(maximum),
            _ => maximum.to_bits(),
        }
    }
}

/// What one thread counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Updates it made.
    pub(super) updates: u32,
    /// Swaps that found another value than the one it had seen.
    pub(super) failed: u32,
}

/// What a run left behind. `words` is one word for all threads, or one for each.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) words: Vec<u32>,
    pub(super) tallies: Vec<Tally>,
    /// The items that threads hold after exchanging; empty otherwise.
    pub(super) held: Vec<u32>,
}

/// The item that thread `i` brings along. Stamps count up from it.
fn item(thread: u32) -> u32 {
    (thread + 1) << 12
}

impl Outcome {
    /// The threads at a word, each with its index and its tally.
    fn threads_at(&self, word: usize) -> impl Iterator<Item = (u32, Tally)> {
        let here = if self.words.len() == 1 { 0..self.tallies.len() } else { word..word + 1 };
        here.filter_map(|thread| Some((thread as u32, *self.tallies.get(thread)?)))
    }

    /// The words as every run has to leave them: one NaN stands for all.
    pub(super) fn comparable_words(&self, function: Function) -> Vec<u32> {
        let one_nan = |word: &u32| if function.both_nan(*word, *word) { f32::NAN.to_bits() } else { *word };
        self.words.iter().map(one_nan).collect()
    }

    /// Every word holds what the updates that its threads counted make of it. `first` gives the first proposals.
    pub(super) fn check(&self, function: Function, first: &[f32]) -> Result<(), String> {
        for (word, found) in self.words.iter().enumerate() {
            let updates = self.threads_at(word).map(|(_, tally)| u64::from(tally.updates)).sum::<u64>();
            // A loop in which nobody ever gets through would make no update, and a word that fits it.
            if updates == 0 && self.threads_at(word).next().is_some() {
                return Err(format!("word {word}: no thread made an update"));
            }
            let wanted = self.wanted(word, function, updates, first);
            // What the threads hold belongs to the word's total.
            let held = self.threads_at(word).filter_map(|(thread, _)| self.held.get(thread as usize));
            let found = held.fold(*found, |sum, item| sum.wrapping_add(*item));
            if found != wanted && !function.both_nan(found, wanted) {
                return Err(format!(
                    "word {word} holds {}, and {updates} updates make it {}",
                    shown(function, found),
                    shown(function, wanted)
                ));
            }
        }
        Ok(())
    }

    fn wanted(&self, word: usize, function: Function, updates: u64, first: &[f32]) -> u32 {
        let count = updates as u32;
        match function {
            Function::Add(step) => count.wrapping_mul(step),
            Function::Multiply => 5_u32.wrapping_pow(count),
            Function::Xor => {
                let odd = self.threads_at(word).filter(|(_, tally)| tally.updates % 2 == 1);
                odd.fold(0, |bits, (thread, _)| bits ^ (thread.wrapping_mul(0x9e37_79b1) | 1))
            }
            Function::Exchange => {
                self.threads_at(word).fold(count, |sum, (thread, _)| sum.wrapping_add(item(thread)))
            }
            Function::FloatMax | Function::OrderedMax | Function::IntegerMax => {
                let highest = self.threads_at(word).map(|(thread, tally)| {
                    let first = first.get(thread as usize).copied().unwrap_or(f32::NAN);
                    maximum::highest_of(first, thread, tally.updates)
                });
                function.kept(highest.fold(f32::from_bits(NO_NUMBER), maximum::higher))
            }
        }
    }

    /// What [`READINGS`] name, of a run that took `ns` nanoseconds. At least one update was made.
    pub(super) fn readings(&self, ns: f64) -> Vec<f64> {
        let total =
            |number: fn(&Tally) -> u32| self.tallies.iter().map(|t| f64::from(number(t))).sum::<f64>();
        let (updates, failed) = (total(|tally| tally.updates), total(|tally| tally.failed));
        let threads = self.tallies.len() as f64;
        let most = self.tallies.iter().map(|tally| tally.updates).max().unwrap_or(0);
        let without = self.tallies.iter().filter(|tally| tally.updates == 0).count();
        // Six digits: more than a run of this length can tell.
        let short = |number: f64| format!("{number:.6e}").parse().unwrap_or(number);
        vec![
            short(updates / ns * 1e9),
            short(ns * threads / updates),
            short(failed / updates),
            short(f64::from(most) / (updates / threads)),
            without as f64,
        ]
    }
}

/// A word as people read it.
fn shown(function: Function, word: u32) -> String {
    match function {
        Function::FloatMax | Function::IntegerMax => format!("{:?}", f32::from_bits(word)),
        Function::OrderedMax => format!("{word:#010x} (a mapped float)"),
        _ => word.to_string(),
    }
}

/// The figures of a timed run.
pub(super) const READINGS: [Reading; 5] = [
    Reading { name: "updates_per_second", unit: Unit::PerSecond, kind: Kind::Duration },
    Reading { name: "update_time", unit: Unit::Nanoseconds, kind: Kind::Duration },
    Reading { name: "retries", unit: Unit::One, kind: Kind::Duration },
    Reading { name: "most_over_mean", unit: Unit::One, kind: Kind::Spread },
    Reading { name: "threads_without", unit: Unit::Count, kind: Kind::Spread },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[u32], updates: &[u32]) -> Outcome {
        let tallies = updates.iter().map(|updates| Tally { updates: *updates, failed: 3 }).collect();
        Outcome { words: words.to_vec(), tallies, held: Vec::new() }
    }

    #[test]
    fn a_word_that_does_not_fit_the_count_is_refused() {
        let check = |words: &[u32], updates: &[u32], function| run(words, updates).check(function, &[]);
        assert_eq!(check(&[5], &[2, 3], Function::Add(1)), Ok(()));
        assert_eq!(check(&[2, 3], &[2, 3], Function::Add(1)), Ok(()));
        assert_eq!(check(&[u32::MAX - 4], &[2, 3], Function::Add(u32::MAX)), Ok(()));
        assert_eq!(check(&[125], &[2, 1], Function::Multiply), Ok(()));
        assert_eq!(check(&[1], &[1, 2], Function::Xor), Ok(()));
        for (words, function) in [(4, Function::Add(1)), (625, Function::Multiply), (0, Function::Xor)] {
            assert!(check(&[words], &[1, 2], function).is_err(), "{function:?}");
        }
        let lost = check(&[3, 2], &[3, 3], Function::Add(1)).unwrap_err();
        assert_eq!(lost, "word 1 holds 2, and 3 updates make it 3");
    }

    #[test]
    fn a_run_without_an_update_is_refused() {
        let stuck = run(&[0], &[0, 0]).check(Function::Add(1), &[]);
        assert_eq!(stuck, Err("word 0: no thread made an update".to_owned()));
        assert_eq!(run(&[0], &[]).check(Function::Add(1), &[]), Ok(()));
    }

    #[test]
    fn an_item_that_is_lost_or_there_twice_is_refused() {
        let held = |word, held: [u32; 2]| Outcome { held: held.to_vec(), ..run(&[word], &[1, 1]) };
        let fits = held(item(1) + 1, [0, item(0) + 1]);
        assert_eq!(fits.check(Function::Exchange, &[]), Ok(()));
        assert!(held(item(1) + 1, [0, item(1) + 1]).check(Function::Exchange, &[]).is_err());
        assert!(held(item(1), [0, item(0)]).check(Function::Exchange, &[]).is_err());
    }

    #[test]
    fn a_maximum_is_checked_in_the_form_in_which_it_is_kept() {
        let first = [-4.0, f32::NAN];
        let check = |word, function| run(&[word], &[1, 1]).check(function, &first);
        assert_eq!(check((-4.0_f32).to_bits(), Function::FloatMax), Ok(()));
        assert_eq!(check(maximum::ordered(-4.0), Function::OrderedMax), Ok(()));
        assert!(check(NO_NUMBER, Function::FloatMax).is_err());
        let nothing = run(&[f32::NAN.to_bits()], &[1]).check(Function::FloatMax, &[f32::NAN]);
        assert_eq!(nothing, Ok(()), "only NaN gives NaN, whichever");
        let wrong = check(LOWEST, Function::IntegerMax).unwrap_err();
        assert_eq!(wrong, "word 0 holds -inf, and 2 updates make it -4.0");
    }

    #[test]
    fn readings_are_what_they_say() {
        let tallies = [(6, 0), (2, 4), (0, 12), (0, 0)];
        let tallies = tallies.map(|(updates, failed)| Tally { updates, failed }).to_vec();
        let outcome = Outcome { words: vec![8], tallies, held: Vec::new() };
        assert_eq!(outcome.readings(1000.0), [8e6, 500.0, 2.0, 3.0, 2.0]);
        assert_eq!(READINGS.len(), 5);
    }
}
