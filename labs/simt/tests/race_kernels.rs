//! Small kernels with and without races: each is run over seeds and schedules and
//! must get the verdict that stands above it in its source.
//!
//! `// launch GRID BLOCK [CLUSTER]` and `// verdict race-free` or
//! `// verdict races a-b, c-d, maybe e-f` precede a kernel; `// @a` ends a line that a
//! verdict names. What may race is allowed to; all else must be exact.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here fail as a test does")]

use std::collections::BTreeSet;
use std::path::Path;

use labs_simt::race::{RaceDetector, Report};
use labs_simt::{Gpu, Launch, Machine, Module, Options, Order};

const SEEDS: u64 = 6;
const WORDS: usize = 4096;

type Pair = (String, String);

#[derive(Debug, Default)]
struct Kernel {
    name: String,
    grid: u32,
    block: u32,
    cluster: u32,
    must: BTreeSet<Pair>,
    may: BTreeSet<Pair>,
    /// Tags by line of the file.
    tags: Vec<(u32, String)>,
}

fn pair(a: &str, b: &str) -> Pair {
    let (a, b) = (a.to_owned(), b.to_owned());
    if a <= b { (a, b) } else { (b, a) }
}

fn kernels(source: &str) -> Vec<Kernel> {
    let mut found = Vec::new();
    let mut next = Kernel::default();
    for (line, text) in (1..).zip(source.lines()) {
        if let Some(shape) = text.strip_prefix("// launch ") {
            let sizes: Vec<u32> = shape.split(' ').map(|s| s.parse().unwrap()).collect();
            next = Kernel {
                grid: sizes[0],
                block: sizes[1],
                cluster: sizes.get(2).copied().unwrap_or(1),
                ..Kernel::default()
            };
        } else if let Some(verdict) = text.strip_prefix("// verdict ") {
            for race in verdict.strip_prefix("races ").unwrap_or("").split(", ") {
                let Some((a, b)) = race.trim_start_matches("maybe ").split_once('-') else {
                    assert_eq!(verdict, "race-free", "line {line}");
                    continue;
                };
                let set = if race.starts_with("maybe ") { &mut next.may } else { &mut next.must };
                set.insert(pair(a, b));
            }
        } else if let Some(rest) = text.strip_prefix("extern \"C\" __global__ void ") {
            next.name = rest.split('(').next().unwrap().to_owned();
            found.push(std::mem::take(&mut next));
        }
        if let (Some((_, tag)), Some(kernel)) = (text.split_once("// @"), found.last_mut()) {
            kernel.tags.push((line, tag.trim().to_owned()));
        }
    }
    found
}

impl Kernel {
    fn tag(&self, line: u32) -> String {
        let tagged = self.tags.iter().find(|(at, _)| *at == line);
        tagged.map_or_else(|| format!("line {line}"), |(_, tag)| tag.clone())
    }

    fn check(&self, file: &str, report: &Report) {
        let found: BTreeSet<Pair> = report
            .races
            .iter()
            .map(|race| pair(&self.tag(race.first.site.line), &self.tag(race.second.site.line)))
            .collect();
        let missed: Vec<_> = self.must.difference(&found).collect();
        let wrong: Vec<_> =
            found.iter().filter(|race| !self.must.contains(race) && !self.may.contains(race)).collect();
        assert!(
            missed.is_empty() && wrong.is_empty(),
            "{file}: {}: missed {missed:?}, unexpected {wrong:?}\n{report}",
            self.name
        );
        println!("{file}: {}\n{report}\n", self.name);
    }
}

/// One run under the detector.
fn run(module: &Module, kernel: &Kernel, options: Options) -> Result<Report, labs_simt::Error> {
    let mut machine = Machine::new(Gpu::H200, options);
    let loaded = machine.load(module)?;
    let mut args = Vec::new();
    for _ in ["data", "flag", "out"] {
        args.push(machine.alloc(4 * WORDS)?.to_le_bytes());
    }
    let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_slice()).collect();
    let launch = Launch {
        kernel: &kernel.name,
        grid: [kernel.grid, 1, 1],
        block: [kernel.block, 1, 1],
        cluster: [kernel.cluster, 1, 1],
        dynamic_shared: 0,
        args: &args,
    };
    let mut detector = RaceDetector::new();
    machine.launch(&loaded, &launch, Some(&mut detector))?;
    Ok(detector.into_report())
}

/// The fair and the adversarial schedule, and shuffled ones by seed.
fn schedules() -> impl Iterator<Item = Options> {
    let ordered = [Order::Fair, Order::Adversarial].map(|order| (order, 0));
    let shuffled = (0..SEEDS).map(|seed| (Order::Shuffled, seed));
    ordered.into_iter().chain(shuffled).map(|(order, seed)| Options {
        order,
        seed,
        budget: 10_000_000,
        ..Options::default()
    })
}

fn fixture(stem: &str, extension: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/races");
    let path = folder.join(stem).with_extension(extension);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn check_file(stem: &str) {
    check(stem, &fixture(stem, "cu"));
}

/// Runs the kernels of a file and holds them against the verdicts in `source`.
fn check(stem: &str, source: &str) {
    let module = Module::parse(&fixture(stem, "ptx")).unwrap_or_else(|e| panic!("{stem}.ptx: {e}"));
    let kernels = kernels(source);
    assert!(!kernels.is_empty());
    for kernel in kernels {
        let mut report = Report::default();
        for options in schedules() {
            let one = run(&module, &kernel, options)
                .unwrap_or_else(|e| panic!("{stem}: {} ({options:?}): {e}", kernel.name));
            report.merge(one);
        }
        kernel.check(stem, &report);
    }
}

macro_rules! files {
    ($($name:ident)*) => {
        const FILES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                check_file(stringify!($name));
            }
        )*
    };
}

files! { atomics barriers clusters last_block locks lookback message_passing named_barriers warps }

#[test]
fn every_file_is_checked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/races");
    let mut stems = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "cu") {
            stems.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    assert_eq!(stems, FILES.iter().map(|&stem| stem.to_owned()).collect());
}

#[test]
#[should_panic(expected = "unexpected")]
fn a_wrong_verdict_is_refused() {
    let source = fixture("barriers", "cu").replace("races write-read", "race-free");
    check("barriers", &source);
}

#[test]
#[should_panic(expected = "missed")]
fn a_race_that_is_not_there_is_missed() {
    let source = fixture("warps", "cu").replace("race-free", "races no-such");
    check("warps", &source);
}
