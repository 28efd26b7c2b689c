//! NVRTC: CUDA C++ to PTX or machine code, without a GPU.
//!
//! The library is loaded when it is asked for, from wherever it lies; nothing links against it. A dozen
//! of its functions suffice, so they are declared here, and the compiler's messages reach the caller
//! whole.
// Only this file and backend/cuda.rs may: a C library is called here.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

use super::places::{Missing, Tool};
use super::{Architecture, PINNED_NVRTC, ptx};

/// The options of every compilation, besides the architecture and the include paths.
pub const OPTIONS: [&str; 2] = ["--std=c++17", "--generate-line-info"];

const INSTALL: &str = if cfg!(target_os = "macos") {
    "NVIDIA makes none for macOS: the shipped PTX is used, and `--kernel` takes a .ptx file"
} else {
    "install it: python3 -m pip install nvidia-cuda-nvrtc-cu12==12.9.86 (or run scripts/kernels)"
};

const NVRTC: Tool = Tool {
    name: "NVRTC",
    variable: "HOT_ADDRESSES_NVRTC",
    is_ours: is_nvrtc,
    package_folders: &[
        "nvidia/cuda_nvrtc/lib",
        "nvidia/cuda_nvrtc/bin",
        "nvidia/cu13/lib",
        "nvidia/cu13/bin/x86_64",
        "nvidia/cu13/bin",
    ],
    toolkit_folders: &["lib64", "lib", "bin/x64", "bin"],
    on_search_path: false,
    remedy: INSTALL,
};

/// Names to ask the system's loader for, newest first.
const LOADER_NAMES: &[&str] = if cfg!(windows) {
    &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"]
} else {
    &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
};

fn is_nvrtc(name: &str) -> bool {
    let library = if cfg!(windows) {
        name.starts_with("nvrtc64_") && name.ends_with(".dll")
    } else {
        name == "libnvrtc.so" || name.starts_with("libnvrtc.so.")
    };
    library && !name.contains(".alt.")
}

/// A header that the program includes by this name, given as text.
#[derive(Debug, Clone, Copy)]
pub struct Header<'a> {
    /// As in `#include "common.cuh"`.
    pub name: &'a str,
    /// Its text.
    pub source: &'a str,
}

/// What is compiled: one file and the headers beside it.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The file's name relative to the repository's root; messages and line tables carry it.
    pub name: &'a str,
    /// Its text.
    pub source: &'a str,
    /// Headers of the same folder.
    pub headers: &'a [Header<'a>],
}

/// What is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// PTX text that any GPU of this architecture or a later one can load.
    Ptx(Architecture),
    /// Machine code for this architecture alone.
    Cubin(Architecture),
}

impl Target {
    fn option(self) -> String {
        match self {
            Self::Ptx(Architecture(number)) => format!("--gpu-architecture=compute_{number}"),
            Self::Cubin(Architecture(number)) => format!("--gpu-architecture=sm_{number}"),
        }
    }
}

/// What a compilation made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// PTX as UTF-8 text without a trailing NUL, or an ELF image.
    pub image: Vec<u8>,
    /// The compiler's warnings with file and line; empty when it had none.
    pub log: String,
}

/// Why nothing was compiled.
#[derive(Debug, Clone)]
pub enum CompileError {
    /// The compiler refused the program; its own messages, with file and line.
    Rejected(String),
    /// The compiler itself failed: which call, and what it said.
    Failed(String),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(log) => write!(f, "{}", log.trim_end()),
            Self::Failed(what) => write!(f, "NVRTC failed: {what}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// A loaded NVRTC.
pub struct Nvrtc {
    functions: Functions,
    path: PathBuf,
    version: String,
    include_paths: Vec<PathBuf>,
    // Last: the functions above point into it.
    _library: Library,
}

impl fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NVRTC {} at {}", self.version, self.path.display())
    }
}

impl Nvrtc {
    /// The first NVRTC found: what `HOT_ADDRESSES_NVRTC` names, `.toolchain/` below `root` (the
    /// repository's), pip's packages, a CUDA toolkit, the system's loader path.
    ///
    /// # Errors
    /// [`Missing`] when there is none, or when the one found does not load: what was looked at, and how
    /// to get it.
    pub fn find(root: Option<&Path>) -> Result<Self, Missing> {
        match NVRTC.find(root) {
            Ok(path) => Self::load(&path),
            // A variable that names nothing is a mistake to report, not to work around.
            Err(missing) if NVRTC.named().is_some() => Err(missing),
            Err(mut missing) => {
                missing.looked.push("the system's loader path".to_owned());
                let by_name = LOADER_NAMES.iter().find_map(|name| Self::load(Path::new(name)).ok());
                by_name.ok_or(missing)
            }
        }
    }

    /// Loads this very library.
    ///
    /// # Errors
    /// [`Missing`] when it does not load, lacks a function, or cannot compile an empty program.
    pub fn load(path: &Path) -> Result<Self, Missing> {
        let broken = |error: String| {
            let remedy = format!("it is there but does not work ({error}); {INSTALL}");
            NVRTC.missing(vec![path.display().to_string()], remedy)
        };
        preload_builtins(path);
        // SAFETY: loading runs the library's initialisers. The file is NVIDIA's by its name and place, or
        // the user named it.
        let library = unsafe { Library::new(path) }.map_err(|error| broken(error.to_string()))?;
        let functions = Functions::load(&library).map_err(|error| broken(error.to_string()))?;
        let mut nvrtc = Self {
            functions,
            path: path.to_owned(),
            version: String::new(),
            include_paths: include_paths(path),
            _library: library,
        };
        nvrtc.version = nvrtc.ask_version().map_err(|error| broken(error.to_string()))?;
        Ok(nvrtc)
    }

    /// The library's file, or its bare name when the system's loader found it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The version, such as `12.9.86`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether it is the version that everything published is made by.
    pub fn is_pinned(&self) -> bool {
        self.version == PINNED_NVRTC
    }

    /// NVIDIA's headers that belong to this library, for `<cooperative_groups.h>` or `<cuda/atomic>`; may
    /// be none.
    pub fn include_paths(&self) -> &[PathBuf] {
        &self.include_paths
    }

    /// The architectures that it compiles for, oldest first.
    ///
    /// # Errors
    /// [`CompileError::Failed`] with the library's own word.
    pub fn architectures(&self) -> Result<Vec<Architecture>, CompileError> {
        let mut count: c_int = 0;
        // SAFETY: writes one int.
        self.expect("nvrtcGetNumSupportedArchs", unsafe {
            (self.functions.count_architectures)(&mut count)
        })?;
        let mut numbers: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the call before said how many ints it writes, and the buffer holds that many.
        self.expect("nvrtcGetSupportedArchs", unsafe {
            (self.functions.architectures)(numbers.as_mut_ptr())
        })?;
        Ok(numbers.into_iter().filter_map(|number| u32::try_from(number).ok()).map(Architecture).collect())
    }

    /// The options of a compilation, in the order they are given.
    pub fn options(&self, target: Target) -> Vec<String> {
        let mut options = vec![target.option()];
        options.extend(OPTIONS.iter().map(|&option| option.to_owned()));
        options.extend(self.include_paths.iter().map(|path| format!("--include-path={}", path.display())));
        options
    }

    /// Compiles `program`. PTX comes with file names relative to the repository's root, so that it is the
    /// same on every machine.
    ///
    /// # Errors
    /// [`CompileError`] with the compiler's messages, file and line first.
    pub fn compile(&self, program: &Program<'_>, target: Target) -> Result<Compiled, CompileError> {
        let mut session = Session::create(self, program)?;
        let options = self.options(target);
        let (rc, log) = session.compile(&options)?;
        if rc == ERROR_COMPILATION {
            return Err(CompileError::Rejected(log));
        }
        self.expect("nvrtcCompileProgram", rc).map_err(|error| match log.is_empty() {
            true => error,
            false => CompileError::Failed(log.trim_end().to_owned()),
        })?;
        let image = match target {
            Target::Cubin(_) => session.cubin()?,
            Target::Ptx(_) => {
                let text = session.ptx()?;
                ptx::with_relative_files(&text, program.name, &self.include_paths).into_bytes()
            }
        };
        Ok(Compiled { image, log })
    }

    /// `nvrtcVersion` gives no patch number, but each PTX file begins with the compiler's full version.
    fn ask_version(&self) -> Result<String, CompileError> {
        let architecture = self.architectures()?.first().copied().unwrap_or(Architecture(75));
        let empty = Program { name: "empty.cu", source: "", headers: &[] };
        let mut session = Session::create(self, &empty)?;
        let (rc, log) = session.compile(&[Target::Ptx(architecture).option()])?;
        self.expect("nvrtcCompileProgram", rc)
            .map_err(|_| CompileError::Failed(log.trim_end().to_owned()))?;
        let text = session.ptx()?;
        ptx::compiler_version(&text)
            .map(str::to_owned)
            .ok_or_else(|| CompileError::Failed("its PTX names no compiler version".to_owned()))
    }

    fn expect(&self, call: &str, rc: c_int) -> Result<(), CompileError> {
        if rc == 0 {
            return Ok(());
        }
        // SAFETY: returns a static string for every number.
        let text = unsafe { CStr::from_ptr((self.functions.error_string)(rc)) };
        Err(CompileError::Failed(format!("{call}: {}", text.to_string_lossy())))
    }
}

/// NVRTC loads its built-in functions by bare name. Windows does not look beside the library for them;
/// once loaded, it finds them.
fn preload_builtins(path: &Path) {
    let Some(folder) = path.parent().filter(|_| cfg!(windows)) else { return };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("nvrtc-builtins64_") {
            // SAFETY: NVIDIA's library of that name, from the folder of the one about to be loaded.
            if let Ok(library) = unsafe { Library::new(entry.path()) } {
                std::mem::forget(library);
            }
        }
    }
}

/// Folders with NVIDIA's headers around a library: beside pip's `nvidia/cuda_nvrtc/lib`, or in a toolkit.
fn include_paths(library: &Path) -> Vec<PathBuf> {
    let candidates = [
        "../../cuda_runtime/include",
        "../../cuda_cccl/include",
        "../include",
        "../include/cccl",
        "../../include",
        "../../include/cccl",
    ];
    let Some(folder) = library.parent().and_then(|folder| folder.canonicalize().ok()) else {
        return Vec::new();
    };
    candidates
        .iter()
        .filter_map(|relative| folder.join(relative).canonicalize().ok())
        .filter(|path| ["cuda_runtime.h", "nv/target"].iter().any(|probe| path.join(probe).is_file()))
        .collect()
}

const ERROR_COMPILATION: c_int = 6;

type Handle = *mut std::ffi::c_void;
type Get = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;
type GetSize = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;

/// The functions used, as nvrtc.h of CUDA 11.2 and later declares them.
struct Functions {
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    count_architectures: unsafe extern "C" fn(*mut c_int) -> c_int,
    architectures: unsafe extern "C" fn(*mut c_int) -> c_int,
    create: Create,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int,
    ptx_size: GetSize,
    ptx: Get,
    cubin_size: GetSize,
    cubin: Get,
    log_size: GetSize,
    log: Get,
}

impl Functions {
    fn load(library: &Library) -> Result<Self, libloading::Error> {
        // SAFETY: each type is the function's in nvrtc.h, whose names and types NVIDIA keeps from version
        // to version.
        unsafe {
            Ok(Self {
                error_string: *library.get("nvrtcGetErrorString")?,
                count_architectures: *library.get("nvrtcGetNumSupportedArchs")?,
                architectures: *library.get("nvrtcGetSupportedArchs")?,
                create: *library.get("nvrtcCreateProgram")?,
                destroy: *library.get("nvrtcDestroyProgram")?,
                compile: *library.get("nvrtcCompileProgram")?,
                ptx_size: *library.get("nvrtcGetPTXSize")?,
                ptx: *library.get("nvrtcGetPTX")?,
                cubin_size: *library.get("nvrtcGetCUBINSize")?,
                cubin: *library.get("nvrtcGetCUBIN")?,
                log_size: *library.get("nvrtcGetProgramLogSize")?,
                log: *library.get("nvrtcGetProgramLog")?,
            })
        }
    }
}

/// One program inside the library, destroyed at the end.
struct Session<'a> {
    nvrtc: &'a Nvrtc,
    handle: Handle,
}

impl<'a> Session<'a> {
    fn create(nvrtc: &'a Nvrtc, program: &Program<'_>) -> Result<Self, CompileError> {
        let source = c_string(program.name, program.source)?;
        let name = c_string("the program's name", program.name)?;
        let mut texts = Vec::new();
        let mut names = Vec::new();
        for header in program.headers {
            texts.push(c_string(header.name, header.source)?);
            names.push(c_string("a header's name", header.name)?);
        }
        let count = c_int::try_from(texts.len()).unwrap_or(c_int::MAX);
        let (texts, names) = (pointers(&texts), pointers(&names));
        let mut handle = ptr::null_mut();
        // SAFETY: all strings end in NUL and live past the call, which copies them; both arrays hold
        // `count` pointers.
        let rc = unsafe {
            (nvrtc.functions.create)(
                &mut handle,
                source.as_ptr(),
                name.as_ptr(),
                count,
                texts.as_ptr(),
                names.as_ptr(),
            )
        };
        nvrtc.expect("nvrtcCreateProgram", rc)?;
        Ok(Self { nvrtc, handle })
    }

    /// The return code and the log.
    fn compile(&mut self, options: &[String]) -> Result<(c_int, String), CompileError> {
        let options: Vec<CString> =
            options.iter().map(|option| c_string("an option", option)).collect::<Result<_, _>>()?;
        let count = c_int::try_from(options.len()).unwrap_or(c_int::MAX);
        let pointers = pointers(&options);
        // SAFETY: the handle is live and the array holds `count` strings that end in NUL.
        let rc = unsafe { (self.nvrtc.functions.compile)(self.handle, count, pointers.as_ptr()) };
        let functions = &self.nvrtc.functions;
        let log = self.bytes("nvrtcGetProgramLog", functions.log_size, functions.log)?;
        Ok((rc, text(log)))
    }

    fn ptx(&self) -> Result<String, CompileError> {
        let functions = &self.nvrtc.functions;
        self.bytes("nvrtcGetPTX", functions.ptx_size, functions.ptx).map(text)
    }

    fn cubin(&self) -> Result<Vec<u8>, CompileError> {
        let functions = &self.nvrtc.functions;
        self.bytes("nvrtcGetCUBIN", functions.cubin_size, functions.cubin)
    }

    fn bytes(&self, call: &str, size: GetSize, get: Get) -> Result<Vec<u8>, CompileError> {
        let mut length = 0;
        // SAFETY: the handle is live; writes one size.
        self.nvrtc.expect(call, unsafe { size(self.handle, &mut length) })?;
        let mut bytes = vec![0u8; length];
        // SAFETY: the handle is live and the buffer has the size that the library asked for.
        self.nvrtc.expect(call, unsafe { get(self.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // SAFETY: created by the same library, destroyed once.
        unsafe { (self.nvrtc.functions.destroy)(&mut self.handle) };
    }
}

fn c_string(what: &str, value: &str) -> Result<CString, CompileError> {
    CString::new(value).map_err(|error| {
        let position = error.nul_position();
        CompileError::Rejected(format!("{what}: a NUL byte at offset {position}; remove it"))
    })
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).collect()
}

/// The library's text without the NUL that it counts in.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}
