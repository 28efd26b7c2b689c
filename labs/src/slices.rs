//! `labs slices`: this GPU's own counters of its L2 slices, for one launch of each of some variants. It takes no times.

use std::collections::{BTreeMap, VecDeque};

use anyhow::Result;
use labs_record::manifest::KernelHashes;
use labs_record::record::SCHEMA;
use labs_record::slices::{CountedLaunch, Slices, counters};
use labs_record::{Coordinate, store};

use crate::agree::ncu::{self, Profiled, Seen};
use crate::backend::Backend as _;
use crate::backend::cuda::Cuda;
use crate::failure::{failed, lacks};
use crate::lab::{self, Case, Lab};
use crate::session::{self, Job};
use crate::{code, draft, print, sources, tools, verify};

/// Which launches of a lab are looked at: these variants at these places, all others at the lab's own. An axis without a
/// place takes its cases with it.
struct Subject {
    lab: &'static str,
    variants: &'static [&'static str],
    numbers: &'static [(&'static str, &'static [u64])],
    words: &'static [(&'static str, &'static [&'static str])],
}

/// One counter, many counters, counters that the data choose, four ways to reach one counter, and lines that day33's map
/// chose. Sizes are such that one launch takes milliseconds at most: the profiler runs it several times.
const SUBJECTS: [Subject; 6] = [
    Subject {
        lab: "day26_sum",
        variants: &["global_atomic", "block_tree", "grid_stride", "two_pass"],
        numbers: &[("size", &[1 << 20])],
        words: &[],
    },
    Subject {
        lab: "day27_address",
        variants: &["add_u32"],
        numbers: &[("addresses", &[1, 2, 8, 32, 256, 1024, 16_384]), ("stride", &[128])],
        words: &[("sweep", &["addresses"])],
    },
    Subject {
        lab: "day29_histogram",
        variants: &["global_atomic", "padded_bins", "block_private"],
        numbers: &[("size", &[4_194_307])],
        words: &[("input", &["one", "uniform"])],
    },
    Subject {
        lab: "day35_filter",
        variants: &["naive", "naive_unfolded", "smem"],
        numbers: &[("threshold", &[1000]), ("size", &[1 << 20])],
        words: &[("layout", &["random"])],
    },
    Subject {
        lab: "day33_slice_map",
        variants: &["hot_lines"],
        numbers: &[("lines", &[]), ("buckets", &[])],
        words: &[("chosen", &["near_once", "every_class"])],
    },
    Subject {
        lab: "day33_slice_map",
        variants: &["load_lines"],
        numbers: &[("hot_sms", &[12])],
        words: &[("heated_from", &["own_side", "other_side"]), ("home", &["near"]), ("slice", &["other"])],
    },
];

/// Counts and writes `verification/slices/<gpu>.yaml`.
///
/// # Errors
/// No GPU, no ncu, counters that it may not read; no pinned code; a program built from other sources.
pub fn count() -> Result<()> {
    let root = code::root_for("labs slices")?;
    let device = Cuda::open()?.device().clone();
    let Some(profiler) = tools::find("ncu") else {
        return Err(lacks("ncu, NVIDIA's profiler, is not on this machine; it is part of the CUDA toolkit"));
    };
    if !sources::hash(&root).is_ok_and(|hash| hash == crate::BUILT_FROM) {
        return Err(failed("this program was built from other sources than this checkout's; build it anew"));
    }
    let manifest = store::read(&root.join("kernels/manifest.yaml"), "manifest")?;
    let started = draft::now();
    let (mut launches, mut version) = (Vec::new(), String::new());
    for subject in &SUBJECTS {
        let lab =
            lab::find(subject.lab).ok_or_else(|| failed(format!("there is no lab `{}`", subject.lab)))?;
        let image = code::pinned_cubin(&root, lab.stem(), device.architecture)?;
        let hashes = verify::machine_code(&image, lab, &manifest, device.architecture)?;
        let job = subject.job();
        let names: Vec<&str> = counters().collect();
        let Seen { profiler, launches: seen } = ncu::profile(&profiler, &job, &names)?;
        version = profiler;
        let cases = session::gpu_cases(lab, &job, device.architecture);
        launches.extend(assigned(lab, &cases, seen, &hashes)?);
    }
    let mut slices = Slices {
        schema: SCHEMA,
        gpu: device.gpu,
        started,
        driver: device.driver,
        profiler: version,
        compiler: manifest.compiler.clone(),
        sources: crate::BUILT_FROM.to_owned(),
        launches,
        digest: String::new(),
    };
    slices.seal();
    anstream::println!("{}", told(&slices));
    let faults = slices.faults(&manifest);
    if !faults.is_empty() {
        return Err(failed(format!("nothing is kept: {}", faults.join("; "))));
    }
    let path = root.join(format!("verification/slices/{}.yaml", slices.gpu.slug()));
    Ok(store::write(&path, &slices)?)
}

impl Subject {
    fn job(&self) -> Job {
        let numbers = self.numbers.iter().map(|(axis, places)| {
            ((*axis).to_owned(), places.iter().map(|place| Coordinate::Number(*place)).collect())
        });
        let words = self.words.iter().map(|(axis, places)| {
            ((*axis).to_owned(), places.iter().map(|place| Coordinate::from(*place)).collect())
        });
        Job {
            lab: self.lab.to_owned(),
            variants: self.variants.iter().map(|name| (*name).to_owned()).collect(),
            places: numbers.chain(words).collect(),
            samples: None,
            seed: 1,
            kernel: None,
            pinned: true,
            only_check: true,
        }
    }
}

/// Says which case each launch was of: the n-th launch of a kernel belongs to the n-th case that has it.
///
/// # Errors
/// A case without its launch, a launch without its case.
fn assigned(
    lab: &dyn Lab,
    cases: &[Case],
    seen: Vec<Profiled>,
    hashes: &KernelHashes,
) -> Result<Vec<CountedLaunch>> {
    let mut waiting: BTreeMap<String, VecDeque<Profiled>> = BTreeMap::new();
    for launch in seen {
        waiting.entry(launch.kernel.clone()).or_default().push_back(launch);
    }
    let protocol = lab::protocol_hash(lab);
    let mut launches = Vec::new();
    for case in cases {
        let Some(variant) = case.variant else { continue };
        for kernel in variant.kernels {
            let found = waiting.get_mut(*kernel).and_then(VecDeque::pop_front);
            let launch = found.filter(|launch| launch.shape.is_some()).ok_or_else(|| {
                failed(format!("{}: ncu saw no launch of `{kernel}` for {}", lab.stem(), case.describe()))
            })?;
            launches.push(CountedLaunch {
                lab: lab.stem().to_owned(),
                variant: variant.name.to_owned(),
                kernel: (*kernel).to_owned(),
                machine_code: hashes.get(*kernel).cloned().unwrap_or_default(),
                protocol: protocol.clone(),
                at: case.at.clone(),
                shape: launch.shape.unwrap_or_default(),
                counters: launch.counted,
            });
        }
    }
    match waiting.into_values().flatten().next() {
        Some(left) => {
            Err(failed(format!("{}: ncu saw a launch of `{}` that no case made", lab.stem(), left.kernel)))
        }
        None => Ok(launches),
    }
}

/// The counters for the terminal.
fn told(slices: &Slices) -> String {
    let number = |n: Option<u64>| n.map_or("–".to_owned(), |n| n.to_string());
    let rows: Vec<Vec<String>> = slices
        .launches
        .iter()
        .map(|launch| {
            let input = launch.input();
            let places: Vec<String> =
                launch.at.iter().map(|(axis, place)| format!("{axis}={place}")).collect();
            vec![
                launch.lab.clone(),
                launch.kernel.clone(),
                places.join(" "),
                number(launch.sent()),
                number(launch.arrived()),
                number(input.map(|input| input.busiest)),
                number(input.map(|input| input.idlest)),
                number(input.map(|input| input.all)),
            ]
        })
        .collect();
    let columns = ["lab", "kernel", "at", "sent", "arrived", "busiest slice", "idlest", "all"];
    let count = slices.count().map_or("an unknown number of".to_owned(), |count| count.to_string());
    format!("{}, {count} slices, {}\n{}", slices.gpu.name, slices.profiler, print::words(&columns, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ncu would see if every case launched each of its kernels once.
    fn seen(cases: &[Case]) -> Vec<Profiled> {
        let kernels = cases.iter().filter_map(|case| case.variant).flat_map(|variant| variant.kernels);
        kernels
            .zip(1..)
            .map(|(kernel, number)| Profiled {
                kernel: (*kernel).to_owned(),
                shape: Some((number, 256)),
                counted: counters().map(|name| (name.to_owned(), number)).collect(),
            })
            .collect()
    }

    #[test]
    fn every_subject_is_there_and_has_cases() {
        for subject in &SUBJECTS {
            let lab = lab::find(subject.lab).unwrap();
            let cases = session::gpu_cases(lab, &subject.job(), 90);
            let variants: Vec<&str> = cases.iter().filter_map(|case| Some(case.variant?.name)).collect();
            assert!(subject.variants.iter().all(|name| variants.contains(name)), "{}", subject.lab);
            for (axis, _) in subject.numbers {
                assert!(
                    lab.axes().iter().any(|known| known.name == *axis),
                    "{} has no axis {axis}",
                    subject.lab
                );
            }
            for (axis, words) in subject.words {
                let known = lab.axes().into_iter().find(|known| known.name == *axis).unwrap();
                let lab::Places::OneOf(places) = known.places else { panic!("{axis} takes numbers") };
                assert!(words.iter().all(|word| places.contains(word)), "{}: {words:?}", subject.lab);
            }
        }
    }

    #[test]
    fn launches_belong_to_their_cases_in_order() {
        let subject = &SUBJECTS[0];
        let lab = lab::find(subject.lab).unwrap();
        let cases = session::gpu_cases(lab, &subject.job(), 90);
        let launches = assigned(lab, &cases, seen(&cases), &KernelHashes::new()).unwrap();
        assert_eq!(launches.len(), 5, "two_pass has two kernels");
        for (number, launch) in (1..).zip(&launches) {
            assert_eq!(launch.shape, (number, 256));
            assert_eq!(launch.input().unwrap().all, number);
        }
        assert_eq!(launches[4].variant, "two_pass");
    }

    #[test]
    fn a_launch_too_few_or_too_many_is_refused() {
        let subject = &SUBJECTS[1];
        let lab = lab::find(subject.lab).unwrap();
        let cases = session::gpu_cases(lab, &subject.job(), 90);
        let mut few = seen(&cases);
        let one = few.pop().unwrap();
        let error = assigned(lab, &cases, few, &KernelHashes::new()).unwrap_err().to_string();
        assert!(error.contains("ncu saw no launch of `add_u32` for add_u32 at addresses=16384"), "{error}");
        let many = [seen(&cases), vec![one]].concat();
        let error = assigned(lab, &cases, many, &KernelHashes::new()).unwrap_err().to_string();
        assert!(error.contains("`add_u32` that no case made"), "{error}");
    }
}
