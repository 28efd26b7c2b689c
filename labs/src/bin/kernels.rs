//! Makes what is published from `kernels/*.cu`, for maintainers: the PTX that ships inside `labs`,
//! machine code for `labs verify`, and the manifest with its hashes. Run by `scripts/kernels`, which
//! installs the tools first. The output depends on the sources and the pinned tools alone, so `check`
//! makes it anew and tells every difference from what is committed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand};
use labs::lab;
use labs::toolchain::cubin::code_hashes;
use labs::toolchain::nvrtc::{self, Header, Nvrtc, Program, Target};
use labs::toolchain::{Architecture, PINNED_NVRTC, ptx};
use labs_record::manifest::{KernelHashes, LabEntry, Manifest};
use labs_record::record::Compiler;
use labs_record::{SCHEMA, store};

/// The architectures whose machine code the manifest knows: Turing to Blackwell.
const ARCHITECTURES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];
/// The oldest architecture: every kernel file ships PTX for it.
const OLDEST: Architecture = Architecture(75);
/// A line of a kernel file that asks for PTX of newer architectures as well: `// needs: sm_90`.
const NEEDS: &str = "// needs:";

/// PTX language versions from the first that knows sm_75 to the last that the old assembler, ptxas 12.1,
/// knows.
const LANGUAGE_VERSIONS: [(u32, u32); 14] = [
    (6, 3),
    (6, 4),
    (6, 5),
    (7, 0),
    (7, 1),
    (7, 2),
    (7, 3),
    (7, 4),
    (7, 5),
    (7, 6),
    (7, 7),
    (7, 8),
    (8, 0),
    (8, 1),
];
const OLD_ASSEMBLER: &str = ".toolchain/nvidia/cuda_nvcc/bin/ptxas";

const KERNELS: &str = "kernels";
const PTX: &str = "kernels/ptx";
const CUBIN: &str = "kernels/cubin";
const MANIFEST: &str = "kernels/manifest.yaml";
const MANIFEST_HEAD: &str = "# Made by scripts/kernels from the kernels and the labs; not for editing.\n";

/// Makes PTX, machine code and the manifest from kernels/*.cu.
#[derive(Parser)]
#[command(name = "kernels")]
struct Arguments {
    #[command(subcommand)]
    command: Action,
    /// The repository's root
    #[arg(long, default_value = ".", global = true)]
    root: PathBuf,
}

#[derive(Subcommand)]
enum Action {
    /// Write kernels/ptx, kernels/cubin and kernels/manifest.yaml
    Build,
    /// Make them anew and tell every difference from what is there
    Check,
}

/// Missing tools and files end with 3, a difference with 1.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = make(&arguments.root).and_then(|made| match arguments.command {
        Action::Build => build(&arguments.root, &made).map(|()| true),
        Action::Check => check(&arguments.root, &made),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Where stderr is gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "kernels: {error:#}");
            ExitCode::from(3)
        }
    }
}

/// Everything that is published, by path below the root.
struct Made {
    ptx: BTreeMap<String, Vec<u8>>,
    cubins: BTreeMap<String, Vec<u8>>,
    manifest: Manifest,
}

/// A kernel file with the headers beside it.
struct KernelFile {
    /// `day26_sum`
    stem: String,
    /// `kernels/day26_sum.cu`
    name: String,
    source: String,
}

fn make(root: &Path) -> Result<Made> {
    let nvrtc = Nvrtc::find(Some(root))?;
    if !nvrtc.is_pinned() {
        let (version, path) = (nvrtc.version(), nvrtc.path().display());
        bail!("NVRTC {version} at {path} is not the pinned {PINNED_NVRTC}; run scripts/kernels --install");
    }
    let headers = texts(root, "cuh")?;
    let headers: Vec<Header<'_>> =
        headers.iter().map(|(name, source)| Header { name: name.as_str(), source }).collect();
    let files: Vec<KernelFile> = texts(root, "cu")?
        .into_iter()
        .map(|(name, source)| KernelFile {
            stem: name.trim_end_matches(".cu").to_owned(),
            name: format!("{KERNELS}/{name}"),
            source,
        })
        .collect();
    let mut jobs = Vec::new();
    for file in &files {
        jobs.extend(
            ptx_architectures(file)?.into_iter().map(|architecture| (file, Target::Ptx(architecture))),
        );
        jobs.extend(ARCHITECTURES.map(|number| (file, Target::Cubin(Architecture(number)))));
    }
    let made = in_parallel(jobs, |(file, target)| compile(root, &nvrtc, &headers, file, target))?;
    assemble_manifest(&nvrtc, made)
}

/// The texts of `kernels/*.<extension>` by file name.
fn texts(root: &Path, extension: &str) -> Result<BTreeMap<String, String>> {
    let folder = root.join(KERNELS);
    let mut texts = BTreeMap::new();
    for name in names(&folder)? {
        if name.rsplit_once('.').is_some_and(|(_, ending)| ending == extension) {
            let path = folder.join(&name);
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            // Checkouts with CRLF make the same output.
            texts.insert(name, text.replace("\r\n", "\n"));
        }
    }
    Ok(texts)
}

fn names(folder: &Path) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("no folder {}; run this at the repository's root", folder.display()))?;
    entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<std::io::Result<_>>()
        .with_context(|| format!("cannot list {}", folder.display()))
}

/// The architectures that `file` ships PTX for: the oldest, and those in its `// needs:` lines.
fn ptx_architectures(file: &KernelFile) -> Result<BTreeSet<Architecture>> {
    let mut architectures = BTreeSet::from([OLDEST]);
    for line in file.source.lines() {
        let Some(list) = line.trim().strip_prefix(NEEDS) else { continue };
        for word in list.split([',', ' ']).filter(|word| !word.is_empty()) {
            let architecture = Architecture::parse(word).with_context(|| {
                format!("{}: `{NEEDS} {word}` names no architecture such as sm_90", file.name)
            })?;
            architectures.insert(architecture);
        }
    }
    Ok(architectures)
}

/// One file for one target: its stem, what it was made for, and the image.
type Image = (String, Target, Vec<u8>);

fn compile(
    root: &Path,
    nvrtc: &Nvrtc,
    headers: &[Header<'_>],
    file: &KernelFile,
    target: Target,
) -> Result<Image> {
    let program = Program { name: &file.name, source: &file.source, headers };
    let compiled = nvrtc.compile(&program, target)?;
    if !compiled.log.is_empty() {
        bail!("shipped kernels compile without warnings; mend these:\n{}", compiled.log.trim_end());
    }
    let image = match target {
        Target::Cubin(_) => compiled.image,
        Target::Ptx(architecture) => {
            let text = String::from_utf8(compiled.image).context("the compiler's PTX is no UTF-8")?;
            lowered(root, &text, architecture)
                .with_context(|| format!("{} for {architecture}", file.name))?
                .into_bytes()
        }
    };
    Ok((file.stem.clone(), target, image))
}

/// The PTX with the oldest `.version` under which the old assembler makes the same machine code as under
/// the newest it knows.
fn lowered(root: &Path, text: &str, architecture: Architecture) -> Result<String> {
    let [older @ .., newest] = LANGUAGE_VERSIONS;
    let reference = assemble(root, &ptx::with_language_version(text, newest), architecture)?;
    for version in older {
        let candidate = ptx::with_language_version(text, version);
        if assemble(root, &candidate, architecture).is_ok_and(|hashes| hashes == reference) {
            return Ok(candidate);
        }
    }
    Ok(ptx::with_language_version(text, newest))
}

/// The machine code that the old assembler makes of the PTX, as hashes.
fn assemble(root: &Path, text: &str, architecture: Architecture) -> Result<KernelHashes> {
    let program = root.join(OLD_ASSEMBLER);
    if !program.is_file() {
        bail!("no old assembler at {}; run scripts/kernels --install", program.display());
    }
    let folder = tempfile::tempdir().context("no temporary folder for the assembler")?;
    let (input, output) = (folder.path().join("kernel.ptx"), folder.path().join("kernel.cubin"));
    fs::write(&input, text).context("no temporary file for the assembler")?;
    // Absolute: the assembler is run with the temporary folder as its own, so that its messages name no
    // path.
    let program =
        program.canonicalize().with_context(|| format!("{} cannot be reached", program.display()))?;
    let run = Command::new(&program)
        .arg(format!("-arch={architecture}"))
        .args(["kernel.ptx", "-o", "kernel.cubin"])
        .current_dir(folder.path())
        .output()
        .with_context(|| format!("{} does not run", program.display()))?;
    if !run.status.success() {
        bail!("ptxas refuses it: {}", String::from_utf8_lossy(&run.stderr).trim());
    }
    code_hashes(&fs::read(output).context("the assembler left no output")?)
}

/// The jobs' results in the jobs' order, made by as many threads as there are cores.
fn in_parallel<J: Send, R: Send>(jobs: Vec<J>, work: impl Fn(J) -> Result<R> + Sync) -> Result<Vec<R>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let queue = Mutex::new(jobs.into_iter().enumerate());
    let next = || queue.lock().ok()?.next();
    let mut results: Vec<(usize, Result<R>)> = thread::scope(|scope| {
        let worker = || {
            let mut results = Vec::new();
            while let Some((index, job)) = next() {
                results.push((index, work(job)));
            }
            results
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn assemble_manifest(nvrtc: &Nvrtc, images: Vec<Image>) -> Result<Made> {
    let mut made = Made {
        ptx: BTreeMap::new(),
        cubins: BTreeMap::new(),
        manifest: Manifest {
            schema: SCHEMA,
            compiler: Compiler {
                name: "nvrtc".to_owned(),
                version: nvrtc.version().to_owned(),
                options: nvrtc::OPTIONS.map(str::to_owned).to_vec(),
            },
            labs: lab_entries(),
            code: BTreeMap::new(),
        },
    };
    for (stem, target, image) in images {
        match target {
            Target::Ptx(architecture) => {
                made.ptx.insert(format!("{PTX}/{stem}.{}.ptx", architecture.stem()), image);
            }
            Target::Cubin(architecture) => {
                let hashes = code_hashes(&image).with_context(|| format!("{stem} for {architecture}"))?;
                made.manifest.code.entry(stem.clone()).or_default().insert(architecture.to_string(), hashes);
                made.cubins.insert(format!("{CUBIN}/{stem}.{}.cubin", architecture.stem()), image);
            }
        }
    }
    Ok(made)
}

/// What the labs declare of themselves.
fn lab_entries() -> BTreeMap<String, LabEntry> {
    lab::registry().iter().map(|lab| (lab.stem().to_owned(), lab::entry(*lab))).collect()
}

fn build(root: &Path, made: &Made) -> Result<()> {
    for (folder, files) in [(PTX, &made.ptx), (CUBIN, &made.cubins)] {
        fs::create_dir_all(root.join(folder)).with_context(|| format!("cannot make {folder}"))?;
        for surplus in surplus(root, folder, files)? {
            fs::remove_file(root.join(&surplus)).with_context(|| format!("cannot remove {surplus}"))?;
        }
        for (path, image) in files {
            store::write_bytes(&root.join(path), image)?;
        }
    }
    let path = root.join(MANIFEST);
    store::write_text(&path, &format!("{MANIFEST_HEAD}{}", store::to_text(&path, &made.manifest)?))?;
    let (ptx, cubins) = (made.ptx.len(), made.cubins.len());
    writeln!(std::io::stdout(), "wrote {ptx} PTX files, {cubins} cubins and {MANIFEST}")
        .context("stdout is closed")
}

/// Files of a folder of made things that no kernel makes any more.
fn surplus(root: &Path, folder: &str, made: &BTreeMap<String, Vec<u8>>) -> Result<Vec<String>> {
    let paths = names(&root.join(folder))?.into_iter().map(|name| format!("{folder}/{name}"));
    Ok(paths.filter(|path| !made.contains_key(path)).collect())
}

/// Prints each difference and says whether there was none.
fn check(root: &Path, made: &Made) -> Result<bool> {
    let mut differences = Vec::new();
    for (path, image) in &made.ptx {
        match fs::read(root.join(path)) {
            Err(_) => differences.push(format!("{path}: missing")),
            Ok(there) => {
                differences.extend(first_difference(&there, image).map(|line| format!("{path}: {line}")))
            }
        }
    }
    if root.join(PTX).is_dir() {
        let surplus = surplus(root, PTX, &made.ptx)?.into_iter();
        differences.extend(surplus.map(|path| format!("{path}: no kernel file makes it")));
    }
    match store::read::<Manifest>(&root.join(MANIFEST), "manifest") {
        Ok(there) => differences.extend(manifest_differences(&there, &made.manifest)),
        Err(error) => differences.push(error.to_string()),
    }
    let mut out = std::io::stdout();
    for difference in &differences {
        writeln!(out, "{difference}")?;
    }
    match differences.len() {
        0 => writeln!(out, "{} PTX files and {MANIFEST} are what the kernels make", made.ptx.len())?,
        count => writeln!(out, "{count} differences; run scripts/kernels and commit what it writes")?,
    }
    Ok(differences.is_empty())
}

/// The first line in which two texts differ, line ends aside.
fn first_difference(there: &[u8], made: &[u8]) -> Option<String> {
    let (there, made) = (String::from_utf8_lossy(there), String::from_utf8_lossy(made));
    let (mut there, mut made) = (there.lines(), made.lines());
    for number in 1.. {
        match (there.next(), made.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                let show = |line: Option<&str>| {
                    line.map_or("the end".to_owned(), |line| format!("`{}`", line.trim()))
                };
                return Some(format!("line {number} is {}, made anew it is {}", show(a), show(b)));
            }
        }
    }
    None
}

fn manifest_differences(there: &Manifest, made: &Manifest) -> Vec<String> {
    let mut differences = Vec::new();
    if there.schema != made.schema || there.compiler != made.compiler {
        differences.push(format!("{MANIFEST}: another schema or compiler"));
    }
    let stems: BTreeSet<_> = there.labs.keys().chain(made.labs.keys()).collect();
    for stem in stems {
        if there.labs.get(stem) != made.labs.get(stem) {
            differences.push(format!("{MANIFEST}: labs: {stem} is not what the lab declares"));
        }
    }
    let (there, made) = (flat(there), flat(made));
    let places: BTreeSet<_> = there.keys().chain(made.keys()).collect();
    for place in places {
        let show = |hashes: &BTreeMap<String, &String>| {
            hashes.get(place).map_or("absent", |hash| hash.as_str()).to_owned()
        };
        if there.get(place) != made.get(place) {
            differences.push(format!(
                "{MANIFEST}: code: {place} is {}, made anew {}",
                show(&there),
                show(&made)
            ));
        }
    }
    differences
}

/// Hashes by `day26_sum sm_90 block_tree`.
fn flat(manifest: &Manifest) -> BTreeMap<String, &String> {
    let mut hashes = BTreeMap::new();
    for (stem, architectures) in &manifest.code {
        for (architecture, kernels) in architectures {
            for (kernel, hash) in kernels {
                hashes.insert(format!("{stem} {architecture} {kernel}"), hash);
            }
        }
    }
    hashes
}
