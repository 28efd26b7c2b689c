//! Which code runs: an edited kernel, the checkout's, or what ships inside the program.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use labs_record::record::Compiler;

use crate::backend::Image;
use crate::baseline;
use crate::failure::{failed, lacks, usage};
use crate::lab::{Lab, Shipped};
use crate::toolchain::cache::Cache;
use crate::toolchain::nvrtc::{Header, Nvrtc, Program, Target};
use crate::toolchain::{Architecture, Missing};

/// The header that kernel files include, as it ships.
const COMMON: &str = include_str!("../../kernels/common.cuh");

/// Code for one lab, baseline first, so that the lab's kernels win.
#[derive(Clone, Debug)]
pub struct Code {
    /// To be loaded in this order.
    pub images: Vec<Image>,
    /// Where the lab's kernels come from, for people.
    pub origin: String,
    /// What compiled them.
    pub compiler: Compiler,
    /// The compiler's warnings.
    pub warnings: String,
}

/// The root of the checkout: the nearest folder from here upwards that holds `kernels/` with `common.cuh`.
pub fn root() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|folder| folder.join("kernels/common.cuh").is_file()).map(Path::to_path_buf)
}

/// The root, or an error that says what it is needed for.
pub fn root_for(what: &str) -> Result<PathBuf> {
    root().ok_or_else(|| {
        lacks(format!(
            "{what} needs a checkout of Hot Addresses; no folder `kernels/` here or above: change into one"
        ))
    })
}

/// Code for a GPU of this architecture.
///
/// # Errors
/// A file that can't be read (usage), a compiler that refuses it (its own log), no code for this GPU.
pub fn for_gpu(lab: &dyn Lab, kernel: Option<&Path>, architecture: u32) -> Result<Code> {
    let root = root();
    let nvrtc = Nvrtc::find(root.as_deref());
    let target = Target::Cubin(Architecture(architecture));
    let baseline = match &nvrtc {
        Ok(nvrtc) => {
            compile(nvrtc, &source(root.as_deref(), baseline::STEM, baseline::SHIPPED)?, target)?.images
        }
        Err(_) => vec![Image::Ptx(shipped_ptx(baseline::SHIPPED, baseline::STEM, architecture)?)],
    };
    let mut code = choose(lab, kernel, root.as_deref(), nvrtc, target, architecture)?;
    code.images.splice(0..0, baseline);
    Ok(code)
}

/// PTX for the simulator.
///
/// # Errors
/// As for [`for_gpu`].
pub fn for_simulator(lab: &dyn Lab, kernel: Option<&Path>, architecture: u32) -> Result<Code> {
    let root = root();
    let target = Target::Ptx(Architecture(architecture));
    let edited = kernel.is_some() || source(root.as_deref(), lab.stem(), lab.shipped())?.edited;
    // The compiler takes a tenth of a second to load: only where there is something to compile.
    let nvrtc = if edited {
        Nvrtc::find(root.as_deref())
    } else {
        Err(Missing { tool: "NVRTC", looked: Vec::new(), remedy: String::new() })
    };
    choose(lab, kernel, root.as_deref(), nvrtc, target, architecture)
}

/// PTX of a file that is not a lab's own, for the simulator.
///
/// # Errors
/// As for `--kernel`.
pub fn edited_ptx(file: &Path) -> Result<Code> {
    let nvrtc = Nvrtc::find(root().as_deref());
    edited(file, nvrtc, Target::Ptx(Architecture(75)))
}

/// The text of a lab's kernel file: the checkout's, else what ships.
///
/// # Errors
/// A file that is there and can't be read.
pub fn text(root: Option<&Path>, lab: &dyn Lab) -> Result<String> {
    Ok(source(root, lab.stem(), lab.shipped())?.text)
}

/// The text of the header kernel files include, as beside [`text`].
///
/// # Errors
/// A file that is there and can't be read.
pub fn common(root: Option<&Path>) -> Result<String> {
    Ok(source(root, baseline::STEM, baseline::SHIPPED)?.common)
}

/// The machine code that records are made from: the pinned compiler's, as `scripts/kernels` leaves it.
///
/// # Errors
/// Kind `Lacks` if it is not there.
pub fn pinned_cubin(root: &Path, stem: &str, architecture: u32) -> Result<Vec<u8>> {
    let path = root.join(format!("kernels/cubin/{stem}.{}.cubin", Architecture(architecture).stem()));
    fs::read(&path).map_err(|error| {
        lacks(format!("cannot read `{}`: {error}; run scripts/kernels, which needs no GPU", path.display()))
    })
}

fn choose(
    lab: &dyn Lab,
    kernel: Option<&Path>,
    root: Option<&Path>,
    nvrtc: Result<Nvrtc, Missing>,
    target: Target,
    architecture: u32,
) -> Result<Code> {
    if let Some(path) = kernel {
        return edited(path, nvrtc, target);
    }
    let source = source(root, lab.stem(), lab.shipped())?;
    match nvrtc {
        // A compiler without its headers, or one that does not know this GPU: what ships needs neither.
        Ok(nvrtc) => compile(&nvrtc, &source, target).or_else(|error| match source.edited {
            true => Err(error),
            false => {
                shipped(lab, architecture, format!("{error:#}\nthe PTX inside this program runs instead"))
            }
        }),
        Err(missing) if source.edited => Err(lacks(format!(
            "`{}` was edited, and there is no compiler to build it: {missing}",
            source.name
        ))),
        Err(_) => shipped(lab, architecture, String::new()),
    }
}

fn shipped(lab: &dyn Lab, architecture: u32, warnings: String) -> Result<Code> {
    Ok(Code {
        images: vec![Image::Ptx(shipped_ptx(lab.shipped(), lab.stem(), architecture)?)],
        origin: "the PTX inside this program".to_owned(),
        compiler: Compiler {
            name: "nvrtc".to_owned(),
            version: "shipped PTX".to_owned(),
            options: Vec::new(),
        },
        warnings,
    })
}

/// `--kernel FILE`
fn edited(path: &Path, nvrtc: Result<Nvrtc, Missing>, target: Target) -> Result<Code> {
    let text = fs::read_to_string(path).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        };
        usage(format!(
            "cannot read kernel file `{}`: {why}; begin with a copy of one of kernels/",
            path.display()
        ))
    })?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("ptx") => Ok(Code {
            images: vec![Image::Ptx(text)],
            origin: path.display().to_string(),
            compiler: Compiler {
                name: "ptx".to_owned(),
                version: "as given".to_owned(),
                options: Vec::new(),
            },
            warnings: String::new(),
        }),
        Some("cu") => {
            let nvrtc =
                nvrtc.map_err(|missing| lacks(format!("cannot compile `{}`: {missing}", path.display())))?;
            let beside = path.parent().unwrap_or(Path::new("."));
            let common = fs::read_to_string(beside.join("common.cuh")).unwrap_or_else(|_| COMMON.to_owned());
            let name = path.display().to_string();
            compile(&nvrtc, &Source { name, text, common, edited: true }, target)
        }
        _ => Err(usage(format!(
            "`--kernel {}` is neither a .cu nor a .ptx file; rename it as what it holds",
            path.display()
        ))),
    }
}

/// A kernel file's text and where it stands.
struct Source {
    name: String,
    text: String,
    common: String,
    /// Whether it differs from what ships in this program.
    edited: bool,
}

fn source(root: Option<&Path>, stem: &str, shipped: Shipped) -> Result<Source> {
    let name = format!("kernels/{stem}.cu");
    let read = |path: PathBuf| {
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    let (text, common) = match root.filter(|root| root.join(&name).is_file()) {
        Some(root) => (read(root.join(&name))?, read(root.join("kernels/common.cuh"))?),
        None => (shipped.source.to_owned(), COMMON.to_owned()),
    };
    // A checkout on Windows may have other line ends.
    let same = |a: &str, b: &str| a.lines().eq(b.lines());
    let edited = !same(&text, shipped.source) || !same(&common, COMMON);
    Ok(Source { name, text, common, edited })
}

fn compile(nvrtc: &Nvrtc, source: &Source, target: Target) -> Result<Code> {
    let headers = [Header { name: "common.cuh", source: &source.common }];
    let program = Program { name: &source.name, source: &source.text, headers: &headers };
    let compiled = Cache::open()
        .compile(nvrtc, &program, target)
        .map_err(|error| failed(format!("`{}` does not compile:\n{error}", source.name)))?;
    let image = match target {
        Target::Cubin(_) => Image::Cubin(compiled.image),
        Target::Ptx(_) => Image::Ptx(String::from_utf8_lossy(&compiled.image).into_owned()),
    };
    Ok(Code {
        images: vec![image],
        origin: format!("{}, compiled by NVRTC {}", source.name, nvrtc.version()),
        compiler: Compiler {
            name: "nvrtc".to_owned(),
            version: nvrtc.version().to_owned(),
            options: crate::toolchain::nvrtc::OPTIONS.iter().map(|option| (*option).to_owned()).collect(),
        },
        warnings: compiled.log,
    })
}

/// The newest PTX that this architecture can run.
fn shipped_ptx(shipped: Shipped, stem: &str, architecture: u32) -> Result<String> {
    let fits = shipped.ptx.iter().rev().find(|(needed, _)| *needed <= architecture);
    fits.map(|(_, text)| (*text).to_owned()).ok_or_else(|| {
        lacks(format!(
            "{stem} has no code for compute capability {}.{}",
            architecture / 10,
            architecture % 10
        ))
    })
}
