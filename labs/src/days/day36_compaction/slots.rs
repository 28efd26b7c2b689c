//! Whether every kept element has a slot of its own: on the host, and on the device after every sample.

use anyhow::Result;

use super::values::{NOTHING, WINDOW, number_of};
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::measure::{Bench, host_bytes, read_words, word_bytes};

/// Threads a block of the check's kernels.
const BLOCK: u32 = 256;
/// Faults that `check_slots` and `check_missing` count.
const FAULTS: usize = 5;

/// What is asked of the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Slots that must be written; fewer than there are kept elements where a queue is full.
    pub(super) stored: u64,
    /// Whether they must be in the input's order.
    pub(super) ordered: bool,
}

/// The first fault of `slots`, which must hold elements of `reference`, each at most once; the rest must be empty.
///
/// # Errors
/// Not enough memory for a byte an element, twice.
pub(super) fn fault(slots: &[u32], reference: &[u32], wanted: Wanted) -> Result<Option<String>> {
    let all = reference.iter().map(|value| number_of(*value) + 1).max().unwrap_or(0);
    let (mut left, mut held) = (host_bytes(all)?, host_bytes(all)?);
    for value in reference {
        left[number_of(*value) as usize] = 1;
    }
    Ok(first_fault(slots, reference, wanted, &left, &mut held))
}

/// As [`fault`]; `left` marks the elements of `reference`, `held` those that a slot holds.
fn first_fault(
    slots: &[u32],
    reference: &[u32],
    wanted: Wanted,
    left: &[u8],
    held: &mut [u8],
) -> Option<String> {
    for (slot, value) in slots.iter().enumerate() {
        let empty = *value == NOTHING;
        if slot as u64 >= wanted.stored {
            if empty {
                continue;
            }
            return Some(format!("slot {slot} is beyond the last, and holds {value}"));
        }
        if empty {
            return Some(format!("slot {slot} was never written"));
        }
        let number = number_of(*value) as usize;
        if held.get(number) == Some(&1) {
            return Some(format!("slot {slot} holds {value}, which another slot holds already"));
        }
        if left.get(number) != Some(&1) {
            return Some(format!("slot {slot} holds {value}, which is no kept element"));
        }
        held[number] = 1;
        if wanted.ordered && *value != reference[slot] {
            let first = reference[slot];
            return Some(format!("slot {slot} holds {value}; in the input's order it is {first}"));
        }
    }
    None
}

/// Memory of the device's check.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checker {
    /// The slots.
    pub(super) out: Buffer,
    /// The kept elements in the input's order.
    pub(super) reference: Buffer,
    /// A bit an element.
    seen: Buffer,
    faults: Buffer,
    /// Elements there may be.
    elements: u64,
    /// Kept elements.
    kept: u64,
}

impl Checker {
    /// For `kept` of the first `n` elements; `out` has room for all of them and is empty.
    pub(super) fn new(
        bench: &mut Bench<'_>,
        n: u64,
        kept: u64,
        out: Buffer,
        reference: Buffer,
    ) -> Result<Checker> {
        let room = bench.largest_size.next_multiple_of(WINDOW) / 8;
        let elements = n.next_multiple_of(WINDOW);
        let seen = Buffer { bytes: elements / 8, ..bench.scratch("seen", room)? };
        let faults = bench.scratch("faults", FAULTS as u64 * 4)?;
        Ok(Checker { out, reference, seen, faults, elements, kept })
    }

    /// Reads slots and reference back and looks at each. Returns the slots, and what is wrong.
    pub(super) fn on_host(
        &self,
        backend: &mut dyn Backend,
        wanted: Wanted,
    ) -> Result<(Vec<u32>, Option<String>)> {
        let mut read = |buffer| read_words(backend, buffer, self.kept);
        let (slots, reference) = (read(self.out)?, read(self.reference)?);
        let fault = fault(&slots, &reference, wanted)?;
        Ok((slots, fault))
    }

    /// Empties the slots on the way. Returns the elements found in a slot, or what is wrong.
    pub(super) fn on_device(&self, backend: &mut dyn Backend, wanted: Wanted) -> Result<Result<u64, String>> {
        backend.run(&self.steps(wanted))?;
        let counts = read_words(backend, self.faults, FAULTS as u64)?;
        let [strays, repeats, overruns, out_of_order, missing] = counts[..] else { return Ok(Ok(0)) };
        let found = self.kept - u64::from(missing);
        let faults = [
            (strays, "hold no element"),
            (repeats, "hold an element that another holds"),
            (overruns, "beyond the last are written"),
            (out_of_order, "are not in the input's order"),
        ];
        if let Some((count, what)) = faults.iter().find(|(count, _)| *count > 0) {
            return Ok(Err(format!("of {} slots {count} {what}", self.kept)));
        }
        if found != wanted.stored {
            return Ok(Err(format!("{found} kept elements are in a slot, {} must be", wanted.stored)));
        }
        Ok(Ok(found))
    }

    fn steps(&self, wanted: Wanted) -> Vec<Step> {
        let [out, reference, seen, faults] =
            [self.out, self.reference, self.seen, self.faults].map(Argument::Buffer);
        let slots = Argument::U64(self.kept);
        let grid = u32::try_from(self.kept.div_ceil(u64::from(BLOCK))).unwrap_or(u32::MAX);
        let launch = |kernel: &str, arguments| Step::Launch(Launch::new(kernel, grid, BLOCK, arguments));
        let bounds = [Argument::U64(self.elements), Argument::U64(wanted.stored), slots];
        let first = [out, reference, seen, faults].into_iter().chain(bounds);
        let first = first.chain([Argument::U32(u32::from(wanted.ordered))]).collect();
        vec![
            Step::Zero(self.seen),
            Step::Zero(self.faults),
            launch("check_slots", first),
            launch("check_missing", vec![reference, seen, faults, slots]),
        ]
    }
}

/// Words as a device holds them.
pub(super) fn bytes_of(words: &[u32]) -> Result<Vec<u8>> {
    word_bytes(words.len() as u64, words.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::super::values::{kept, values};
    use super::*;
    use crate::backend::{Image, sim::Sim};

    fn reference() -> Vec<u32> {
        kept(&values(5_000, 1).unwrap(), 1 << 31).unwrap()
    }

    fn told(slots: &[u32], stored: usize, ordered: bool) -> String {
        fault(slots, &reference(), Wanted { stored: stored as u64, ordered }).unwrap().unwrap_or_default()
    }

    #[test]
    fn any_order_is_right_unless_order_is_asked_for() {
        let mut slots = reference();
        assert_eq!(told(&slots, slots.len(), true), "");
        slots.reverse();
        assert_eq!(told(&slots, slots.len(), false), "");
        assert!(told(&slots, slots.len(), true).contains("in the input's order it is"));
    }

    #[test]
    fn what_is_twice_or_nowhere_is_told() {
        let (right, n) = (reference(), reference().len());
        let with = |slot: usize, value: u32| {
            let mut slots = right.clone();
            slots[slot] = value;
            slots
        };
        assert!(told(&with(3, right[7]), n, false).ends_with("which another slot holds already"));
        assert!(told(&with(3, NOTHING), n, false).ends_with("was never written"));
        let left_out = values(5_000, 1).unwrap().into_iter().find(|value| *value >= 1 << 31).unwrap();
        assert!(told(&with(3, left_out), n, false).ends_with("which is no kept element"));
        assert!(told(&with(3, NOTHING - 1), n, false).ends_with("which is no kept element"));
        assert!(told(&right, n - 1, false).starts_with(&format!("slot {} is beyond the last", n - 1)));
    }

    /// What the device's check says of these slots, and what it leaves there.
    fn on_device(slots: &[u32], stored: usize, ordered: bool) -> (Result<u64, String>, Vec<u32>) {
        let ptx = include_str!("../../../../kernels/ptx/day36_compaction.sm75.ptx");
        let mut sim = Sim::new(labs_simt::Options::default(), false);
        sim.load(&Image::Ptx(ptx.to_owned())).unwrap();
        let reference = reference();
        let kept = reference.len() as u64;
        let (out, expected) = (sim.allocate(kept * 4).unwrap(), sim.allocate(kept * 4).unwrap());
        sim.write(out, &bytes_of(slots).unwrap()).unwrap();
        sim.write(expected, &bytes_of(&reference).unwrap()).unwrap();
        let mut alive = || {};
        let mut bench = Bench::new(&mut sim, 1, 5_000, &mut alive);
        let checker = Checker::new(&mut bench, 5_000, kept, out, expected).unwrap();
        let told = checker.on_device(bench.backend, Wanted { stored: stored as u64, ordered }).unwrap();
        (told, read_words(bench.backend, out, kept).unwrap())
    }

    #[test]
    fn the_device_tells_the_same_faults_and_empties_the_slots() {
        let (right, n) = (reference(), reference().len());
        let (told, left) = on_device(&right, n, true);
        assert_eq!(told, Ok(n as u64));
        assert!(left.iter().all(|value| *value == NOTHING));

        let mut reversed = right.clone();
        reversed.reverse();
        assert_eq!(on_device(&reversed, n, false).0, Ok(n as u64));
        assert!(on_device(&reversed, n, true).0.unwrap_err().ends_with("are not in the input's order"));

        let with = |value: u32| {
            let mut slots = right.clone();
            slots[3] = value;
            on_device(&slots, n, false).0.unwrap_err()
        };
        let left_out = values(5_000, 1).unwrap().into_iter().find(|value| *value >= 1 << 31).unwrap();
        assert!(with(right[7]).ends_with("slots 1 hold an element that another holds"));
        assert!(with(NOTHING).ends_with("slots 1 hold no element"));
        assert!(with(left_out).starts_with(&format!("{} kept elements are in a slot", n - 1)));
        assert!(
            on_device(&right, n - 1, false).0.unwrap_err().ends_with("slots 1 beyond the last are written")
        );
    }
}
