//! A session: one process that measures every case once, in an order of its own.
//!
//! On a GPU it is a child of the command, which reads its messages line by line and ends it when it falls silent.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use labs_record::record::{Compiler, Session};
use serde::{Deserialize, Serialize};

use crate::backend::cuda::Cuda;
use crate::backend::{Backend, Image};
use crate::failure::{Failure, Kind, failed, kind_of};
use crate::lab::{Case, Lab, Selection};
use crate::measure::{Bench, Findings};
use crate::{baseline, code, lab};

/// How long a session may be silent before it is ended. No sample of any lab takes a tenth of it.
const SILENCE: Duration = Duration::from_secs(30);

/// What a session is to do. Travels to the child as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The lab's stem.
    pub lab: String,
    /// Chosen variants by name; empty for all.
    pub variants: Vec<String>,
    /// Chosen places by axis; an axis that is not here has its defaults.
    pub places: std::collections::BTreeMap<String, Vec<labs_record::Coordinate>>,
    /// Samples instead of the rules'.
    pub samples: Option<usize>,
    /// Seed of the order and of the inputs.
    pub seed: u64,
    /// `--kernel`
    pub kernel: Option<PathBuf>,
    /// Load the pinned compiler's machine code and nothing else.
    pub pinned: bool,
    /// Check results and take no time.
    pub only_check: bool,
}

/// What a session found.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// The device, as far as records speak of it.
    pub gpu: labs_record::record::Gpu,
    /// The driver's version.
    pub driver: String,
    /// Where the code came from.
    pub origin: String,
    /// What compiled it.
    pub compiler: Compiler,
    /// The compiler's warnings.
    pub warnings: String,
    /// Conditions.
    pub session: Session,
    /// Figures and checks.
    pub findings: Findings,
    /// Kernels by variant: what they take of an SM.
    pub kernels: Vec<KernelResources>,
}

/// What a kernel takes of an SM.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KernelResources {
    /// The kernel.
    pub kernel: String,
    /// Threads a block.
    pub block_threads: u32,
    /// Registers a thread.
    pub registers: u32,
    /// Shared memory a block, bytes.
    pub shared_bytes: u32,
    /// Local memory a thread, bytes.
    pub local_bytes: u32,
    /// Blocks that fit an SM.
    pub blocks_per_sm: u32,
    /// Resident threads over the SM's most.
    pub occupancy: f64,
}

/// What a session says while it runs.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// It is at work.
    Alive,
    /// It begins a case.
    Case {
        /// Counted from 0.
        index: usize,
        /// How many there are.
        of: usize,
        /// Which.
        name: String,
    },
    /// It is done.
    Done(Box<Report>),
    /// It failed.
    Failed {
        /// Decides the exit code.
        kind: Kind,
        /// For a person.
        message: String,
    },
}

/// The child's side: reads a job from standard input, writes messages to standard output.
pub fn worker() -> Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read the job")?;
    let job: Job = serde_json::from_str(&text).context("the job is not one")?;
    let say = |message: &Message| {
        let mut out = std::io::stdout().lock();
        // A parent that is gone needs no answer.
        let _ = serde_json::to_writer(&mut out, message).map(|()| out.write_all(b"\n"));
        let _ = out.flush();
    };
    let outcome = on_gpu(&job, &mut |message| say(&message));
    match outcome {
        Ok(report) => say(&Message::Done(Box::new(report))),
        Err(error) => say(&Message::Failed { kind: kind_of(&error), message: format!("{error:#}") }),
    }
    Ok(())
}

fn on_gpu(job: &Job, say: &mut dyn FnMut(Message)) -> Result<Report> {
    let lab = the_lab(job)?;
    let mut cuda = Cuda::open()?;
    say(Message::Alive);
    let architecture = cuda.device().architecture;
    let code = if job.pinned {
        pinned(lab, architecture)?
    } else {
        code::for_gpu(lab, job.kernel.as_deref(), architecture)?
    };
    say(Message::Alive);
    run(job, lab, &mut cuda, code, false, say)
}

fn pinned(lab: &dyn Lab, architecture: u32) -> Result<code::Code> {
    let root = code::root_for("labs verify")?;
    let manifest: labs_record::manifest::Manifest =
        labs_record::store::read(&root.join("kernels/manifest.yaml"), "manifest")?;
    let image =
        |stem: &str| Ok::<_, anyhow::Error>(Image::Cubin(code::pinned_cubin(&root, stem, architecture)?));
    Ok(code::Code {
        images: vec![image(baseline::STEM)?, image(lab.stem())?],
        origin: format!("kernels/cubin/{}, the pinned compiler's", lab.stem()),
        compiler: manifest.compiler,
        warnings: String::new(),
    })
}

/// Runs a job on a backend that is open.
///
/// # Errors
/// What the backend or a lab reports; wrong results are findings, not errors.
pub fn run(
    job: &Job,
    lab: &dyn Lab,
    backend: &mut dyn Backend,
    code: code::Code,
    simulated: bool,
    say: &mut dyn FnMut(Message),
) -> Result<Report> {
    let began = Instant::now();
    for image in &code.images {
        backend.load(image).map_err(|error| match &job.kernel {
            Some(file) => {
                Failure { kind: kind_of(&error), message: format!("`{}`: {error:#}", file.display()) }.into()
            }
            None => error,
        })?;
    }
    let selection = select(job, lab, backend.device().architecture, simulated);
    let kernels = resources(&selection, backend)?;
    let device = backend.device().clone();
    let mut cases = lab.cases(&selection);
    // An order of its own is for times; without them, results and launches come in the lab's order everywhere.
    if !simulated && !job.only_check {
        fastrand::Rng::with_seed(job.seed).shuffle(&mut cases);
    }
    let largest = cases.iter().map(|case| case.number("size")).max().unwrap_or(0);
    let say = std::cell::RefCell::new(say);
    let mut last = Instant::now();
    let mut alive = || {
        if last.elapsed() > Duration::from_millis(200) {
            last = Instant::now();
            (say.borrow_mut())(Message::Alive);
        }
    };
    let mut bench = Bench::new(backend, job.seed, largest, &mut alive);
    bench.samples = job.samples;
    if job.only_check {
        bench.only_check();
    }
    for (index, case) in cases.iter().enumerate() {
        (say.borrow_mut())(Message::Case { index, of: cases.len(), name: case.describe() });
        measure(lab, &mut bench, case)?;
    }
    let findings = bench.finish();
    let [sm_clock_mhz, memory_clock_mhz, power_w, temperature_c] = backend.readings();
    let seconds = (began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
    Ok(Report {
        gpu: device.gpu,
        driver: device.driver,
        origin: code.origin,
        compiler: code.compiler,
        warnings: code.warnings,
        session: Session { seed: job.seed, seconds, sm_clock_mhz, memory_clock_mhz, power_w, temperature_c },
        findings,
        kernels,
    })
}

fn measure(lab: &dyn Lab, bench: &mut Bench<'_>, case: &Case) -> Result<()> {
    lab.measure(bench, case).map_err(|error| {
        let message = format!("{}: {error:#}", case.describe());
        Failure { kind: kind_of(&error), message }.into()
    })
}

/// The cases of a job on the simulator, of whatever architecture.
pub fn cases(lab: &dyn Lab, job: &Job) -> Vec<Case> {
    lab.cases(&select(job, lab, u32::MAX, true))
}

/// The cases of a job on a GPU of this architecture, in the lab's order.
pub fn gpu_cases(lab: &dyn Lab, job: &Job, architecture: u32) -> Vec<Case> {
    lab.cases(&select(job, lab, architecture, false))
}

fn select(job: &Job, lab: &dyn Lab, architecture: u32, simulated: bool) -> Selection {
    let chosen = |name: &str| job.variants.is_empty() || job.variants.iter().any(|wanted| wanted == name);
    let runs_here = |needs: u32| needs <= architecture;
    let variants = lab.variants().iter().filter(|v| chosen(v.name) && runs_here(v.needs)).copied().collect();
    let places = lab.axes().into_iter().map(|axis| {
        let defaults = if simulated { axis.simulator_defaults } else { axis.defaults };
        (axis.name, job.places.get(axis.name).cloned().unwrap_or(defaults))
    });
    Selection { variants, places: places.collect() }
}

fn resources(selection: &Selection, backend: &mut dyn Backend) -> Result<Vec<KernelResources>> {
    let mut all = Vec::new();
    for variant in &selection.variants {
        for kernel in variant.kernels {
            let Some(r) = backend.resources(kernel, variant.block_threads)? else { continue };
            all.push(KernelResources {
                kernel: (*kernel).to_owned(),
                block_threads: variant.block_threads,
                registers: r.registers,
                shared_bytes: r.shared_bytes,
                local_bytes: r.local_bytes,
                blocks_per_sm: r.blocks_per_sm,
                occupancy: f64::from(r.blocks_per_sm * variant.block_threads)
                    / f64::from(r.threads_per_sm.max(1)),
            });
        }
    }
    Ok(all)
}

fn the_lab(job: &Job) -> Result<&'static dyn Lab> {
    lab::find(&job.lab).ok_or_else(|| failed(format!("there is no lab `{}`", job.lab)))
}

/// The parent's side: runs the job in a child process, passes its messages on, and ends it when it falls silent.
///
/// # Errors
/// The child's own failure; a watchdog's, naming the case; a child that died.
pub fn in_child(job: &Job, watch: &mut dyn FnMut(&Message)) -> Result<Report> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut child = start(Command::new(program).arg("worker"))?;
    let outcome = converse(job, &mut child, watch);
    end(&mut child);
    outcome
}

/// As [`in_child`], within a tool that starts this program itself: `command` is the tool's whole command line. The tool
/// ends by itself, so that what it writes at its end is whole.
///
/// # Errors
/// As [`in_child`]; a tool that does not end.
pub fn in_tool(command: &mut Command, job: &Job, watch: &mut dyn FnMut(&Message)) -> Result<Report> {
    let mut child = start(command)?;
    let outcome = converse(job, &mut child, watch).and_then(|report| {
        let ended = ends_by_itself(&mut child)?;
        ended.then_some(report).ok_or_else(|| {
            let name = command.get_program().to_string_lossy();
            failed(format!("watchdog: `{name}` did not end within {} s of its work's end", SILENCE.as_secs()))
        })
    });
    end(&mut child);
    outcome
}

fn start(command: &mut Command) -> Result<Child> {
    let name = command.get_program().to_string_lossy().into_owned();
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .with_context(|| format!("cannot start the process that measures, `{name}`"))
}

/// Whatever happened, no child is left behind.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn ends_by_itself(child: &mut Child) -> Result<bool> {
    let began = Instant::now();
    while began.elapsed() < SILENCE {
        if child.try_wait().context("cannot wait for the process that measures")?.is_some() {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(false)
}

fn converse(job: &Job, child: &mut Child, watch: &mut dyn FnMut(&Message)) -> Result<Report> {
    let mut input = child.stdin.take().context("the child has no standard input")?;
    input.write_all(serde_json::to_string(job)?.as_bytes()).context("cannot hand the job over")?;
    drop(input);
    let messages = listen(child)?;
    let mut doing = "starting".to_owned();
    loop {
        match messages.recv_timeout(SILENCE) {
            Ok(Message::Done(report)) => return Ok(*report),
            Ok(Message::Failed { kind, message }) => return Err(Failure { kind, message }.into()),
            Ok(message) => {
                if let Message::Case { name, .. } = &message {
                    doing.clone_from(name);
                }
                watch(&message);
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(failed(format!(
                    "watchdog: {doing} gave no sign of life for {} s and was ended; a kernel that never ends looks like this",
                    SILENCE.as_secs()
                )));
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait().map_or("unknown".to_owned(), |status| status.to_string());
                return Err(failed(format!("{doing}: the process that measures ended early ({status})")));
            }
        }
    }
}

/// Reads the child's messages on a thread of its own, since reading has no time limit.
fn listen(child: &mut Child) -> Result<Receiver<Message>> {
    let output = child.stdout.take().context("the child has no standard output")?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        // NVIDIA's tools mark their own lines so; no message begins like that.
        let messages = BufReader::new(output).lines().map_while(Result::ok).filter(|l| !l.starts_with("=="));
        for line in messages {
            let message = serde_json::from_str(&line).unwrap_or_else(|_| Message::Failed {
                kind: Kind::Failed,
                message: format!("the process that measures said `{line}`, which is not a message"),
            });
            if sender.send(message).is_err() {
                break;
            }
        }
    });
    Ok(receiver)
}
