//! The exercise: tickets by key, with one atomic for each distinct key of a warp.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{BLOCK, WARP};
use crate::backend::{Argument, Backend, Buffer, Launch, Step};
use crate::exercise::{Exercise, Goal};

/// Keys run from 0 up to, not including, this one.
const KEYS: u32 = 6;
/// One element, a warp less one, a warp and one, several blocks and a rest.
const SIZES: [u64; 5] = [1, 31, 33, 1_000, 20_001];
const SEED: u64 = 34;

/// What `labs exercise day34` asks for.
pub(super) const EXERCISE: Exercise = Exercise {
    starter: include_str!("../../../../kernels/exercises/day34_aggregation.cu"),
    solution: include_str!("../../../../kernels/exercises/solutions/day34_aggregation.cu"),
    hints: &[
        "__match_any_sync(mask, key) gives a lane the mask of the lanes that hold its key: its peers.",
        "The mask it takes must name the lanes that are there, and no other: take __ballot_sync(full_warp, i < n) before \
         anyone leaves.",
        "One peer adds __popc(peers). What comes back is the first of their slots, and only that lane has it: \
         __shfl_sync hands it on.",
        "A lane's place among its peers is the number of peers below it: __popc(peers & ((1u << lane) - 1)).",
    ],
    attempt,
};

/// At each size: every key's slots are 0, 1, 2 .., its counter says how many, and at most one add for each distinct key of a warp is asked for.
fn attempt(backend: &mut dyn Backend) -> Result<Vec<Goal>> {
    let count = backend.allocate(u64::from(KEYS) * 4)?;
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut goals = Vec::new();
    for n in SIZES {
        let keys: Vec<u32> = (0..n).map(|_| random.u32(0..KEYS)).collect();
        // Input and slots end where the size does: what is touched past it shows.
        let (input, slot) = (backend.allocate(n * 4)?, backend.allocate(n * 4)?);
        backend.write(input, &keys.iter().flat_map(|key| key.to_le_bytes()).collect::<Vec<u8>>())?;
        let arguments =
            [input, count, slot].map(Argument::Buffer).into_iter().chain([Argument::U64(n)]).collect();
        let launch = Launch::new("exercise", u32::try_from(n.div_ceil(u64::from(BLOCK)))?, BLOCK, arguments);
        backend.counts();
        if let Err(error) = backend.run(&[Step::Zero(count), Step::Zero(slot), Step::Launch(launch)]) {
            goals.push(Goal { line: format!("size {n}: {error:#}"), reached: false });
            continue;
        }
        let atomics = backend.counts().map_or(0, |counts| counts.global_atomics);
        let slots = words(backend, slot)?;
        let counts = words(backend, count)?;
        goals.push(match fault(&keys, &slots, &counts) {
            None => Goal { line: format!("size {n}: every key's slots are there once"), reached: true },
            Some(fault) => Goal { line: format!("size {n}: {fault}"), reached: false },
        });
        let most: usize =
            keys.chunks(WARP as usize).map(|warp| warp.iter().collect::<BTreeSet<_>>().len()).sum();
        goals.push(Goal {
            line: format!(
                "size {n}: atomics: {atomics}, at most {most} wanted, one for each distinct key of a warp"
            ),
            reached: atomics <= most as u64,
        });
    }
    Ok(goals)
}

/// A buffer's words.
fn words(backend: &mut dyn Backend, buffer: Buffer) -> Result<Vec<u32>> {
    let mut bytes = vec![0; buffer.bytes as usize];
    backend.read(buffer, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// The first slot that its key has too few elements for, or that an element before it has; or a counter that is not the
/// number of its key's elements.
fn fault(keys: &[u32], slots: &[u32], counts: &[u32]) -> Option<String> {
    let mut elements = vec![0; counts.len()];
    keys.iter().for_each(|key| elements[*key as usize] += 1);
    let mut taken = BTreeSet::new();
    let slot_fault = keys.iter().zip(slots).enumerate().find_map(|(i, (key, slot))| {
        let room = elements[*key as usize];
        if *slot >= room {
            return Some(format!(
                "element {i} of key {key} has slot {slot}, and that key has {room} elements"
            ));
        }
        (!taken.insert((key, slot)))
            .then(|| format!("element {i} of key {key} has slot {slot}, which another has"))
    });
    slot_fault.or_else(|| {
        let key = counts.iter().zip(&elements).position(|(count, elements)| count != elements)?;
        Some(format!(
            "the counter of key {key} is {}, and that key has {} elements",
            counts[key], elements[key]
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_past_the_end_slots_taken_twice_and_wrong_counters_are_faults() {
        let (keys, counts) = ([2, 5, 2], [0, 0, 2, 0, 0, 1]);
        let told = |slots: [u32; 3], counts: [u32; 6]| fault(&keys, &slots, &counts).unwrap_or_default();
        assert_eq!(told([1, 0, 0], counts), "");
        assert!(told([1, 1, 0], counts).contains("element 1 of key 5 has slot 1, and that key has 1"));
        assert!(told([1, 0, 1], counts).contains("element 2 of key 2 has slot 1, which another has"));
        assert!(told([1, 0, 0], [0, 0, 1, 0, 0, 1]).contains("counter of key 2 is 1, and that key has 2"));
    }
}
