//! Two runs of the same job, compared.

use std::collections::{BTreeMap, VecDeque};

use labs_record::At;
use labs_record::agreement::{
    Counter, Difference, KernelAgreement, ResultAgreement, Unmatched, VariantAgreement,
};
use labs_record::record::{Check, Outcome};

use super::ncu::{COUNTERS, Profiled};
use crate::backend::Launched;
use crate::lab::{Lab, Variant};
use crate::measure::Findings;
use crate::results::{Left, Like};

/// What two runs found of a lab's variants, in teaching order.
pub fn variants(lab: &dyn Lab, hardware: &Findings, simulated: &Findings) -> Vec<VariantAgreement> {
    let ran = |variant: &&Variant| {
        check_of(hardware, variant).is_some()
            || check_of(simulated, variant).is_some()
            || [hardware, simulated]
                .iter()
                .any(|side| side.results.iter().any(|left| left.variant == variant.name))
    };
    let of = |variant: &Variant| {
        let (one, other) = (check_of(hardware, variant), check_of(simulated, variant));
        let demanded = variant.declared != Outcome::Undefined;
        let differ = demanded && one.map(|found| found.0) != other.map(|found| found.0);
        let said = one.and_then(|found| found.1).or(other.and_then(|found| found.1));
        VariantAgreement {
            name: variant.name.to_owned(),
            declared: variant.declared,
            hardware: one.map(|found| found.0),
            simulator: other.map(|found| found.0),
            refusal: said.filter(|_| differ).map(str::to_owned),
            results: match variant.declared {
                Outcome::Correct => results(variant.name, &hardware.results, &simulated.results),
                Outcome::Wrong | Outcome::Undefined => Vec::new(),
            },
        }
    };
    lab.variants().iter().filter(ran).map(of).collect()
}

fn check_of<'a>(findings: &'a Findings, variant: &Variant) -> Option<(Check, Option<&'a str>)> {
    let (_, check, why) = findings.checks.iter().find(|(name, ..)| name == variant.name)?;
    Some((*check, why.as_deref()))
}

/// One variant's results, pair by pair; what only one side left differs.
fn results(variant: &str, hardware: &[Left], simulated: &[Left]) -> Vec<ResultAgreement> {
    let of_variant = |side: &'_ [Left]| -> Vec<Left> {
        side.iter().filter(|left| left.variant == variant).cloned().collect()
    };
    let mut unpaired = of_variant(hardware);
    let mut all = Vec::new();
    for left in of_variant(simulated) {
        let pair = unpaired.iter().position(|other| other.is_counterpart_of(&left));
        let differs = match pair.map(|place| unpaired.remove(place)) {
            Some(other) => other.difference(&left),
            None => Some(Difference { hardware: "none".to_owned(), simulator: "a result".to_owned() }),
        };
        all.push(compared(&left, differs));
    }
    let alone = Difference { hardware: "a result".to_owned(), simulator: "none".to_owned() };
    all.extend(unpaired.iter().map(|left| compared(left, Some(alone.clone()))));
    all
}

fn compared(left: &Left, differs: Option<Difference>) -> ResultAgreement {
    let within = match left.like {
        Like::Bits => None,
        Like::Within(part) => Some(part),
    };
    ResultAgreement { name: left.name.clone(), at: left.at.clone(), within, differs }
}

/// Sets what a profiler counted beside what the simulator predicted. Both lists are in the order of launching: the n-th
/// launch of a kernel on one side belongs to the n-th on the other.
pub(super) fn kernels(
    profiled: Vec<Profiled>,
    simulated: &[(String, At, Launched)],
) -> (Vec<KernelAgreement>, Vec<Unmatched>) {
    let mut waiting: BTreeMap<String, VecDeque<Profiled>> = BTreeMap::new();
    for launch in profiled {
        waiting.entry(launch.kernel.clone()).or_default().push_back(launch);
    }
    let (mut kernels, mut unmatched) = (Vec::new(), Vec::new());
    for (variant, at, launched) in simulated {
        let shape = (u64::from(launched.grid), u64::from(launched.block));
        match waiting.get_mut(&launched.kernel).and_then(VecDeque::pop_front) {
            Some(one) if one.shape.is_none_or(|known| known == shape) => {
                add(&mut kernels, variant, at, launched, &one);
            }
            other => {
                let hardware = other.map_or("nothing".to_owned(), |one| words(one.shape));
                unmatched.push(alone(&launched.kernel, hardware, words(Some(shape))));
            }
        }
    }
    let left = waiting.into_values().flatten();
    unmatched.extend(left.map(|one| alone(&one.kernel, words(one.shape), "nothing".to_owned())));
    (kernels, unmatched)
}

fn words(shape: Option<(u64, u64)>) -> String {
    shape.map_or("a launch".to_owned(), |(grid, block)| format!("{grid} blocks of {block} threads"))
}

fn alone(kernel: &str, hardware: String, simulator: String) -> Unmatched {
    Unmatched { kernel: kernel.to_owned(), launched: Difference { hardware, simulator } }
}

/// Adds a launch to its kernel's numbers.
fn add(kernels: &mut Vec<KernelAgreement>, variant: &str, at: &At, launched: &Launched, profiled: &Profiled) {
    let counters = COUNTERS.map(|(name, predict)| Counter {
        name: name.to_owned(),
        predicted: predict(&launched.counts),
        counted: profiled.counted.get(name).copied(),
    });
    let same = |known: &&mut KernelAgreement| {
        known.kernel == launched.kernel && known.variant == variant && known.at == *at
    };
    let Some(known) = kernels.iter_mut().find(same) else {
        return kernels.push(KernelAgreement {
            kernel: launched.kernel.clone(),
            variant: variant.to_owned(),
            at: at.clone(),
            launches: 1,
            counters: counters.into(),
        });
    };
    known.launches += 1;
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    for (sums, counter) in known.counters.iter_mut().zip(counters) {
        sums.predicted = sum(sums.predicted, counter.predicted);
        sums.counted = sum(sums.counted, counter.counted);
    }
}
