//! `labs agree` without a GPU: another run of the simulator stands in for it, agreeing or spoiled.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use labs::agree::ncu::{Profiled, Seen};
use labs::agree::{self, Hardware, Jobs};
use labs::backend::sim::Sim;
use labs::backend::{Backend as _, Counts, Device, Image};
use labs::code::{self, Code};
use labs::lab::{self, Lab, Simulated};
use labs::session::{self, Job, Report};
use labs_record::Coordinate;
use labs_record::agreement::{Counters, LabAgreement, Subject};
use labs_record::manifest::Manifest;
use labs_record::record::Check;
use labs_record::store;
use labs_simt::{Options, Order};

/// Counters that stand in for a GPU's are named as ncu names them.
const LOADS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
const STORES: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
const REDS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum";
const ATOMS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum";
const RED_INSTRUCTIONS: &str = "smsp__inst_executed_op_global_red.sum";
const RED_ARRIVALS: &str = "lts__t_requests_op_red.sum";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sum() -> &'static dyn Lab {
    lab::find("day26").unwrap()
}

fn device() -> Device {
    Sim::new(Options::default(), false).device().clone()
}

/// Another schedule than the simulator's own, its findings gone through JSON as a child process's do.
fn elsewhere(lab: &dyn Lab, job: &Job, code: Code) -> Result<Report> {
    let mut sim = Sim::like(&device(), Options { order: Order::Adversarial, seed: 9, ..Options::default() });
    let report = session::run(job, lab, &mut sim, code, false, &mut |_| {})?;
    let launches = report.findings.launches.clone();
    let mut report: Report = serde_json::from_str(&serde_json::to_string(&report)?)?;
    report.findings.launches = launches;
    Ok(report)
}

fn shipped(lab: &dyn Lab) -> Code {
    code::for_simulator(lab, None, 90).unwrap()
}

/// The lab's PTX with one text replaced within one kernel.
fn spoiled(kernel: &str, from: &str, to: &str) -> Code {
    let mut code = shipped(sum());
    for image in &mut code.images {
        let Image::Ptx(text) = image else { panic!("the simulator runs PTX") };
        let start = text.find(&format!(".entry {kernel}(")).unwrap();
        let end = text[start..].find("\n}").unwrap() + start;
        let body = &text[start..end];
        assert!(body.contains(from), "{kernel} no longer holds `{from}`");
        *text = format!("{}{}{}", &text[..start], body.replace(from, to), &text[end..]);
    }
    code
}

/// What a profiler would say if every prediction were right.
fn as_predicted(lab: &dyn Lab, job: &Job) -> Result<Vec<Profiled>> {
    let report = elsewhere(lab, job, shipped(lab))?;
    let counted = |counts: &Counts| {
        BTreeMap::from([
            (LOADS.to_owned(), counts.load_requests),
            (STORES.to_owned(), counts.store_requests),
            (REDS.to_owned(), counts.red_requests),
            (ATOMS.to_owned(), counts.atom_requests),
            (RED_INSTRUCTIONS.to_owned(), counts.red_requests),
            (RED_ARRIVALS.to_owned(), 7),
        ])
    };
    let launches = report.findings.launches.iter().map(|(_, _, launched)| Profiled {
        kernel: launched.kernel.clone(),
        shape: Some((u64::from(launched.grid), u64::from(launched.block))),
        counted: counted(&launched.counts),
    });
    Ok(launches.collect())
}

fn compare(
    run: &dyn Fn(&Job) -> Result<Report>,
    profile: &dyn Fn(&Job) -> Result<Vec<Profiled>>,
) -> LabAgreement {
    let profile = |job: &Job| Ok(Seen { profiler: "a stand-in".to_owned(), launches: profile(job)? });
    // One odd size below a block and one above it: the others take longer and show no more.
    let mut jobs = Jobs::of(sum());
    jobs.results.places.insert("size".to_owned(), vec![33.into(), 1_000.into()]);
    agree::compare(sum(), &jobs, &device(), hashes(), &Hardware { run, profile: &profile }).unwrap()
}

fn hashes() -> BTreeMap<String, String> {
    manifest().code["day26_sum"]["sm_90"].clone()
}

fn manifest() -> Manifest {
    store::read(&root().join("kernels/manifest.yaml"), "manifest").unwrap()
}

fn the_same(job: &Job) -> Result<Report> {
    elsewhere(sum(), job, shipped(sum()))
}

fn no_profiler(_: &Job) -> Result<Vec<Profiled>> {
    bail!("there is none")
}

/// Subject, variant and name of each disagreement.
fn named(found: &LabAgreement) -> Vec<(Subject, String, String)> {
    found.disagreements().into_iter().map(|one| (one.subject, one.of, one.name)).collect()
}

#[test]
fn a_kernel_agrees_with_itself_under_another_schedule() {
    let found = compare(&the_same, &|job| as_predicted(sum(), job));
    assert_eq!(named(&found), []);
    let tally = found.tally();
    // Two sizes with two results each; eight kernels with five predictions each.
    assert_eq!((tally.checks, tally.results, tally.counters), (7, 7 * 2 * 2, 8 * 5));
    assert!(found.without_results().is_empty());
    let exact = found.variants[0].results.iter().filter(|result| result.within.is_none()).count();
    assert_eq!(exact, 2, "totals of exact inputs are compared bit for bit");
}

#[test]
fn results_are_compared_at_odd_sizes_too_and_counters_at_one_size() {
    let jobs = Jobs::of(sum());
    let sizes = [1, 33, 255, 4_096, 4_097, 65_536, 262_144].map(Coordinate::Number);
    assert_eq!(jobs.results.places["size"], sizes);
    assert_eq!(jobs.counters.places["size"], [65_536.into()]);
}

#[test]
fn every_lab_leaves_the_same_results_under_another_schedule() {
    for lab in lab::registry().iter().filter(|lab| lab.simulated() != Simulated::Nothing) {
        let run = |job: &Job| elsewhere(*lab, job, shipped(*lab));
        let profile = |_: &Job| bail!("not asked here");
        let hardware = Hardware { run: &run, profile: &profile };
        let found = agree::compare(*lab, &Jobs::of(*lab), &device(), BTreeMap::new(), &hardware);
        let found = found.unwrap_or_else(|error| panic!("{}: {error:#}", lab.stem()));
        let lines: Vec<String> = found.disagreements().iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}:\n{}", lab.stem(), lines.join("\n"));
    }
}

#[test]
fn a_kernel_spoiled_on_one_side_is_named() {
    let run = |job: &Job| elsewhere(sum(), job, spoiled("block_tree", "\tadd.f32", "\tsub.f32"));
    let found = compare(&run, &no_profiler);
    let named = named(&found);
    assert!(named.contains(&(Subject::Check, "block_tree".to_owned(), "check".to_owned())), "{named:?}");
    assert!(named.iter().all(|(_, of, _)| of == "block_tree"), "{named:?}");
    let block_tree = found.variants.iter().find(|variant| variant.name == "block_tree").unwrap();
    assert_eq!((block_tree.hardware, block_tree.simulator), (Some(Check::Refused), Some(Check::Passed)));
    let line = found.disagreements()[0].to_string();
    assert!(line.contains("simulator passed, GPU refused: at size 33 the total is"), "{line}");
}

#[test]
fn results_that_each_pass_their_own_check_are_still_compared_with_each_other() {
    let run = |job: &Job| the_same(&Job { seed: job.seed + 1, ..job.clone() });
    let found = compare(&run, &no_profiler);
    let named = named(&found);
    assert!(named.iter().all(|(subject, ..)| *subject == Subject::Result), "every check passed: {named:?}");
    for variant in sum().variants() {
        let wanted = (Subject::Result, variant.name.to_owned(), "total".to_owned());
        assert!(named.contains(&wanted), "{wanted:?}");
    }
}

#[test]
fn a_result_that_one_side_lacks_differs() {
    let run = |job: &Job| {
        let mut report = the_same(job)?;
        report.findings.results.remove(0);
        Ok(report)
    };
    let found = compare(&run, &no_profiler);
    let [one] = found.disagreements().try_into().unwrap();
    assert_eq!((one.values.hardware.as_str(), one.values.simulator.as_str()), ("none", "a result"));
}

#[test]
fn a_counter_that_is_off_is_listed_with_both_numbers() {
    let profile = |job: &Job| {
        let mut launches = as_predicted(sum(), job)?;
        *launches[0].counted.get_mut(REDS).unwrap() += 5;
        Ok(launches)
    };
    let found = compare(&the_same, &profile);
    let [one] = found.disagreements().try_into().unwrap();
    assert_eq!((one.subject, one.of.as_str(), one.name.as_str()), (Subject::Counter, "global_atomic", REDS));
    assert_eq!((one.values.simulator.as_str(), one.values.hardware.as_str()), ("2048", "2053"));
    assert_eq!((found.tally().results_differ, found.tally().counters_differ), (0, 1));
}

#[test]
fn launches_without_a_counterpart_are_listed() {
    let profile = |job: &Job| {
        let mut launches = as_predicted(sum(), job)?;
        launches[1].shape = Some((3, 256));
        launches[2].kernel = "stranger".to_owned();
        Ok(launches)
    };
    let found = compare(&the_same, &profile);
    let lines: Vec<String> = found.disagreements().iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for line in [
        "launch of `shared_privatised`: simulator 256 blocks of 256 threads, GPU 3 blocks of 256 threads",
        "launch of `block_tree`: simulator 256 blocks of 256 threads, GPU nothing",
        "launch of `stranger`: simulator nothing, GPU 256 blocks of 256 threads",
    ] {
        assert!(lines.iter().any(|known| known == line), "{line} is not in {lines:?}");
    }
}

#[test]
fn without_a_profiler_results_are_compared_all_the_same() {
    let found = compare(&the_same, &no_profiler);
    assert_eq!(found.counters, Counters::Absent("there is none".to_owned()));
    assert_eq!(found.disagreements(), []);
}

/// A log of ncu 2025.3 on an H200, cut down to a launch each of three kernels, with what stood around its table.
fn log() -> String {
    fs::read_to_string(root().join("labs/tests/ncu/day26.csv")).unwrap()
}

#[test]
fn an_h200_counted_what_the_simulator_predicts() {
    let found = compare(&the_same, &|_| agree::ncu::parse(&log()));
    let Counters::Read(profile) = &found.counters else { panic!("{:?}", found.counters) };
    assert_eq!(profile.kernels.len(), 3);
    let off: Vec<_> =
        named(&found).into_iter().filter(|(subject, ..)| *subject == Subject::Counter).collect();
    assert_eq!(off, []);
    assert_eq!(profile.unmatched.len(), 5, "the other kernels are not in the log");
    let arrivals = profile.kernels[0].counters.iter().find(|counter| counter.name == RED_ARRIVALS).unwrap();
    assert_eq!((arrivals.predicted, arrivals.counted), (None, Some(98_304)), "no prediction is no agreement");
}

#[test]
fn a_table_of_ncu_is_read_whatever_stands_around_it() {
    let launches = agree::ncu::parse(&log()).unwrap();
    let names: Vec<&str> = launches.iter().map(|launch| launch.kernel.as_str()).collect();
    assert_eq!(names, ["block_tree", "shared_privatised", "global_atomic"]);
    assert_eq!(launches[0].shape, Some((256, 256)));
    assert_eq!((launches[0].counted[REDS], launches[0].counted[RED_ARRIVALS]), (256, 384));
    assert_eq!(launches[2].counted[RED_INSTRUCTIONS], 2_048);
    // Without thousands' commas, with decimals, with a signature, and with a counter that this GPU lacks.
    let other = log().replace("2,048", "2048.00").replace("\"98,304\"", "\"(!) n/a\"");
    let other = other.replace("\"block_tree\"", "\"block_tree(const float *, float *)\"");
    let launches = agree::ncu::parse(&other).unwrap();
    assert_eq!((launches[0].kernel.as_str(), launches[0].counted[LOADS]), ("block_tree", 2_048));
    assert!(!launches[2].counted.contains_key(RED_ARRIVALS));
}

#[test]
fn what_is_no_table_of_ncu_is_refused_with_a_reason() {
    let error = |text: &str| format!("{:#}", agree::ncu::parse(text).unwrap_err());
    assert!(error("").contains("no launch"));
    assert!(error("\0\u{1}garbage\n\"ID\"").contains("no launch"));
    let forbidden = "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - no permission\n";
    assert_eq!(error(forbidden), "ncu: ERR_NVGPUCTRPERM - no permission");
    assert!(error(&log().replace("Metric Value", "Worth")).contains("no column `Metric Value`"));
    assert!(error(&log().replace("2,048", "many")).contains("`many` for l1tex"));
    assert!(error(&log().replace("2,048", "20.48")).contains("`20.48`"));
    let cut = log();
    let cut = &cut[..cut.rfind("smsp__").unwrap()];
    assert!(error(cut).contains("cut or mixed"), "{}", error(cut));
    let mixed = log().replace("\"8\",\"610\"", "\"Alive\"\n\"8\",\"610\"");
    assert!(error(&mixed).contains("cut or mixed"));
}

/// A stand-in for ncu: reads the job, says what the worker would, and writes its table last.
#[cfg(unix)]
fn stand_in(folder: &Path, behaviour: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("ncu");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Version 1.2.3' && exit\n\
         while [ $# -gt 0 ]; do [ \"$1\" = --log-file ] && log=$2; shift; done\n\
         cat >/dev/null\n{behaviour}\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[cfg(unix)]
#[test]
fn a_profiler_is_let_finish_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let job = Job { variants: vec!["block_tree".to_owned()], ..small_job() };
    let done = session::Message::Done(Box::new(the_same(&job).unwrap()));
    fs::write(place("done.json"), serde_json::to_string(&done).unwrap()).unwrap();
    fs::write(place("log.csv"), log()).unwrap();
    let behaviour = format!(
        "echo '==PROF== on the wrong channel'; echo '\"Alive\"'; cat '{}'; echo; sleep 0.2; cat '{}' >\"$log\"",
        place("done.json").display(),
        place("log.csv").display()
    );
    let seen = agree::ncu::profile(&stand_in(folder.path(), &behaviour), &job, &[REDS]).unwrap();
    assert_eq!((seen.profiler.as_str(), seen.launches.len()), ("ncu 1.2.3", 3));
}

#[cfg(unix)]
#[test]
fn a_profiler_that_fails_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let error = |behaviour: &str| {
        format!(
            "{:#}",
            agree::ncu::profile(&stand_in(folder.path(), behaviour), &small_job(), &[REDS]).unwrap_err()
        )
    };
    assert_eq!(error("echo '==ERROR== not allowed' >\"$log\"; exit 1"), "ncu: not allowed");
    assert!(error("exit 1").contains("ended early"), "{}", error("exit 1"));
    assert!(error("echo hello").contains("`hello`, which is not a message"));
}

fn small_job() -> Job {
    Job {
        lab: "day26_sum".to_owned(),
        variants: Vec::new(),
        places: [("size".to_owned(), vec![1_000.into()])].into(),
        samples: None,
        seed: 1,
        kernel: None,
        pinned: false,
        only_check: true,
    }
}

/// A checkout of its own with one comparison in it.
fn checkout(spoil: impl Fn(&mut LabAgreement)) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("kernels")).unwrap();
    for file in ["kernels/common.cuh", "kernels/manifest.yaml"] {
        fs::copy(root().join(file), folder.path().join(file)).unwrap();
    }
    let mut found = compare(&the_same, &|job| as_predicted(sum(), job));
    found.compiler = manifest().compiler;
    spoil(&mut found);
    let mut gpu = device().gpu;
    gpu.name = "Made-up GPU".to_owned();
    let path = folder.path().join("verification/agreement/made-up-gpu.yaml");
    agree::keep(&path, &gpu, found).unwrap();
    (folder, path)
}

fn records_check(folder: &Path) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_labs"))
        .args(["records", "check"])
        .current_dir(folder)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn a_comparison_is_checked_and_refused_where_it_was_edited_or_is_stale() {
    let (folder, path) = checkout(|_| {});
    assert_eq!(records_check(folder.path()), (true, "0 records and 1 comparison, none refused\n".to_owned()));
    let text = fs::read_to_string(&path).unwrap();
    let refused = |text: String, words: &str| {
        fs::write(&path, text).unwrap();
        let (passed, said) = records_check(folder.path());
        assert!(!passed && said.contains(words), "{words}: {said}");
    };
    refused(text.replacen("seed: 1", "seed: 2", 1), "its digest does not match");
    refused(text[..text.len() / 2].to_owned(), "made-up-gpu.yaml");
    refused(text.replacen("schema: 1", "schema: 7", 1), "its schema is 7");
    let (folder, _) = checkout(|found| {
        found.machine_code.insert("block_tree".to_owned(), "old".to_owned());
    });
    let (passed, said) = records_check(folder.path());
    assert!(!passed && said.contains("kernel `block_tree` now has other machine code"), "{said}");
}

#[test]
fn results_that_differ_are_refused_and_counters_are_only_shown() {
    let off = |found: &mut LabAgreement| {
        let Counters::Read(profile) = &mut found.counters else { panic!("there are counters") };
        profile.kernels[0].counters[0].counted = Some(1);
    };
    let (folder, _) = checkout(off);
    let (passed, said) = records_check(folder.path());
    assert!(passed && said.contains(&format!("{LOADS} of `global_atomic` at size 65,536")), "{said}");
    let (folder, _) = checkout(|found| found.variants[0].hardware = Some(Check::Refused));
    let (passed, said) = records_check(folder.path());
    assert!(!passed && said.contains("check of `global_atomic`: simulator passed, GPU refused"), "{said}");
    let (folder, _) = checkout(|found| {
        found.variants.pop();
    });
    let (passed, said) = records_check(folder.path());
    assert!(!passed && said.contains("variant `two_pass` is missing without a reason"), "{said}");
}

#[test]
fn a_lab_is_put_beside_the_others_and_an_edited_or_foreign_file_is_left_alone() {
    let (_folder, path) = checkout(|_| {});
    let all = store::read_agreement(&path).unwrap();
    let mut other = all.labs[0].clone();
    other.lab = "day01_other".to_owned();
    agree::keep(&path, &all.gpu, other).unwrap();
    agree::keep(&path, &all.gpu, all.labs[0].clone()).unwrap();
    let labs = store::read_agreement(&path).unwrap().labs;
    let names: Vec<&str> = labs.iter().map(|lab| lab.lab.as_str()).collect();
    assert_eq!(names, ["day01_other", "day26_sum"]);
    let error = |gpu: &labs_record::record::Gpu| {
        format!("{:#}", agree::keep(&path, gpu, all.labs[0].clone()).unwrap_err())
    };
    let foreign = labs_record::record::Gpu { sms: 1, ..all.gpu.clone() };
    assert!(error(&foreign).contains("is of another GPU"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("seed: 1", "seed: 2", 1)).unwrap();
    assert!(error(&all.gpu).contains("was edited"));
}
