//! Machine code to instructions: what a kernel really sends, whatever its source says.
//!
//! nvdisasm is preferred, since it names source lines; cuobjdump does without. Both print one instruction
//! a line, `/*00d0*/ @P0 REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R4.64], R8 ;`, and only such lines
//! are read: whatever else a version of the tools prints is passed over.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::places::{Missing, Tool};

const DISASSEMBLER: Tool = Tool {
    name: "nvdisasm or cuobjdump",
    variable: "HOT_ADDRESSES_NVDISASM",
    is_ours: is_nvdisasm,
    package_folders: &["nvidia/cu13/bin", "nvidia/cuda_nvdisasm/bin", "nvidia/cuda_cuobjdump/bin"],
    toolkit_folders: &["bin"],
    on_search_path: true,
    remedy: "install one: python3 -m pip install nvidia-cuda-nvdisasm==13.5.37 (or run scripts/kernels)",
};

/// The same places, for the second choice.
const SECOND_CHOICE: Tool = Tool { is_ours: is_cuobjdump, ..DISASSEMBLER };

fn is_nvdisasm(name: &str) -> bool {
    name == "nvdisasm" || name == "nvdisasm.exe"
}

fn is_cuobjdump(name: &str) -> bool {
    name == "cuobjdump" || name == "cuobjdump.exe"
}

/// Where an instruction comes from, by the compiler's line table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// The file's name without folders: `day26_sum.cu`.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// What an instruction tells about atomics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An atomic operation on memory: RED, ATOM, ATOMG, ATOMS and their kin.
    Atomic,
    /// A step of folding a warp's values before they reach memory: REDUX, VOTE, POPC, MATCH. It may serve
    /// another end, too.
    Folding,
    /// Ordering: MEMBAR, FENCE, ERRBAR, CCTL; and loads and stores that are no ordinary accesses, `.STRONG`.
    Order,
}

/// One machine instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Bytes from the function's start.
    pub offset: u64,
    /// The predicate it runs under, such as `@P0` or `@!UP1`; none when it always runs.
    pub predicate: Option<String>,
    /// The operation with its modifiers: `REDG.E.ADD.F32.FTZ.RN.STRONG.GPU`.
    pub opcode: String,
    /// The whole instruction, predicate first, single-spaced, without the closing semicolon.
    pub text: String,
    /// The line it was compiled from, where the disassembler names it.
    pub source: Option<SourceLine>,
}

impl Instruction {
    /// The operation without modifiers: `REDG`.
    pub fn mnemonic(&self) -> &str {
        self.opcode.split('.').next().unwrap_or(&self.opcode)
    }

    /// What it tells about atomics, if anything.
    pub fn role(&self) -> Option<Role> {
        // A leading U marks the same operation on the uniform datapath, one value a warp.
        match self.mnemonic() {
            "REDUX" | "UREDUX" | "CREDUX" | "VOTE" | "VOTEU" | "POPC" | "UPOPC" | "MATCH" => {
                Some(Role::Folding)
            }
            "MEMBAR" | "ERRBAR" | "CGAERRBAR" | "CCTL" | "CCTLL" | "CCTLT" | "UCCTL" => Some(Role::Order),
            // RED, REDG, REDAS; ATOM, ATOMG, ATOMS, ATOMAS; the bulk reduction UBLKRED.
            name if name.starts_with("RED") || name.starts_with("ATOM") || name == "UBLKRED" => {
                Some(Role::Atomic)
            }
            name if name.contains("FENCE") => Some(Role::Order),
            "LD" | "LDG" | "ST" | "STG" if self.opcode.contains(".STRONG.") => Some(Role::Order),
            _ => None,
        }
    }
}

/// A kernel, or a function that the compiler did not inline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The name in the source, for `extern "C"`.
    pub name: String,
    /// In program order, including the padding at the end.
    pub instructions: Vec<Instruction>,
    /// Where the disassembler put a label: its name, and the place in `instructions` of the one behind it.
    pub labels: BTreeMap<String, usize>,
}

impl Function {
    /// The instructions that tell about atomics: the atomics, the folding, the ordering.
    pub fn evidence(&self) -> impl Iterator<Item = &Instruction> {
        self.instructions.iter().filter(|instruction| instruction.role().is_some())
    }

    /// The loops: from where a branch leads back to, to the branch; places in `instructions`.
    pub fn loops(&self) -> Vec<RangeInclusive<usize>> {
        let branches = self.instructions.iter().enumerate().filter_map(|(place, instruction)| {
            let target = self.target(instruction)?;
            (target <= place).then_some(target..=place)
        });
        // Behind its end a kernel is padded with a branch to itself.
        branches.filter(|range| range.start() != range.end()).collect()
    }

    /// Where a branch leads: to a label, `BRA `(.L_x_1)`, or to an offset, `BRA 0x1b0`.
    fn target(&self, instruction: &Instruction) -> Option<usize> {
        if !instruction.mnemonic().starts_with("BRA") {
            return None;
        }
        let last = instruction.text.split([' ', ',']).next_back()?.trim();
        let label = last.trim_start_matches("`(").trim_end_matches(')');
        self.labels.get(label).copied().or_else(|| {
            let offset = u64::from_str_radix(last.strip_prefix("0x")?, 16).ok()?;
            self.instructions.iter().position(|candidate| candidate.offset == offset)
        })
    }

    /// The atomics alone.
    pub fn atomics(&self) -> impl Iterator<Item = &Instruction> {
        self.instructions.iter().filter(|instruction| instruction.role() == Some(Role::Atomic))
    }
}

/// A disassembler on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disassembler {
    path: PathBuf,
}

impl Disassembler {
    /// nvdisasm, or else cuobjdump: what `HOT_ADDRESSES_NVDISASM` names, `.toolchain/` below `root` (the
    /// repository's), the search path, a CUDA toolkit, pip's packages.
    ///
    /// # Errors
    /// [`Missing`] when there is neither: what was looked at, and how to get one.
    pub fn find(root: Option<&Path>) -> Result<Self, Missing> {
        let path =
            DISASSEMBLER.find(root).or_else(|missing| SECOND_CHOICE.find(root).map_err(|_| missing))?;
        Ok(Self { path })
    }

    /// The program's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The program's version, such as `13.5.37`.
    ///
    /// # Errors
    /// When it does not run, or prints no version.
    pub fn version(&self) -> Result<String> {
        let text = self.run(&["--version".as_ref()])?;
        let line = text.lines().find(|line| line.starts_with("Cuda compilation tools"));
        let version =
            line.and_then(|line| line.rsplit_once(", V")).map(|(_, version)| version.trim().to_owned());
        version.with_context(|| format!("{} --version names no version", self.path.display()))
    }

    /// The functions of a cubin, by name.
    ///
    /// # Errors
    /// When the program does not run or refuses the image (its own words follow), or prints no instruction.
    pub fn functions(&self, cubin: &[u8]) -> Result<Vec<Function>> {
        // Both programs read files only.
        let mut file = tempfile::Builder::new()
            .suffix(".cubin")
            .tempfile()
            .context("no temporary file for the disassembler")?;
        file.write_all(cubin).context("no temporary file for the disassembler")?;
        let into_cuobjdump = self.path.file_stem().is_some_and(|stem| stem == "cuobjdump");
        let options: &[&str] =
            if into_cuobjdump { &["-sass"] } else { &["--print-code", "--print-line-info"] };
        let mut arguments: Vec<&std::ffi::OsStr> = options.iter().map(|option| option.as_ref()).collect();
        arguments.push(file.path().as_os_str());
        let functions = parse(&self.run(&arguments)?);
        if functions.is_empty() {
            bail!("{} printed no instruction for an image of {} bytes", self.path.display(), cubin.len());
        }
        Ok(functions)
    }

    fn run(&self, arguments: &[&std::ffi::OsStr]) -> Result<String> {
        let output = Command::new(&self.path)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("{} does not run", self.path.display()))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            bail!("{} ended with {}: {}", self.path.display(), output.status, words.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The functions in a disassembler's output, sorted by name; functions without instructions are left out.
pub fn parse(listing: &str) -> Vec<Function> {
    let mut functions: Vec<Function> = Vec::new();
    let mut source = None;
    for line in listing.lines().map(str::trim) {
        if let Some(name) = function_name(line) {
            functions.push(Function {
                name: name.to_owned(),
                instructions: Vec::new(),
                labels: BTreeMap::new(),
            });
            source = None;
        } else if let Some(found) = source_line(line) {
            source = Some(found);
        } else if let (Some(function), Some(label)) = (functions.last_mut(), label(line)) {
            function.labels.insert(label.to_owned(), function.instructions.len());
        } else if let (Some(function), Some(mut instruction)) = (functions.last_mut(), instruction(line)) {
            instruction.source = source.clone();
            function.instructions.push(instruction);
        }
    }
    functions.retain(|function| !function.instructions.is_empty());
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    functions
}

/// nvdisasm: `.section .text.warp_shuffle,"ax",@progbits`; cuobjdump: `Function : warp_shuffle`.
fn function_name(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("Function :") {
        return Some(rest.trim());
    }
    let section = line.strip_prefix(".section")?.trim_start();
    section.strip_prefix(".text.")?.split(',').next()
}

/// `//## File "/somewhere/kernels/day26_sum.cu", line 12`, with or without `inlined at ..` behind it.
fn source_line(line: &str) -> Option<SourceLine> {
    let rest = line.strip_prefix("//##")?.trim_start().strip_prefix("File \"")?;
    let (path, rest) = rest.split_once('"')?;
    let digits = rest.split_once("line ")?.1;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    Some(SourceLine { file, line: digits[..end].parse().ok()? })
}

/// `.L_x_5:`
fn label(line: &str) -> Option<&str> {
    line.strip_suffix(':').filter(|name| name.starts_with(".L"))
}

/// `/*00d0*/ @P0 EXIT ;`, with or without the encoding as a comment behind it.
fn instruction(line: &str) -> Option<Instruction> {
    let (offset, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    let offset = u64::from_str_radix(offset.trim(), 16).ok()?;
    let (body, _) = rest.split_once(';')?;
    let words: Vec<&str> = body.split_whitespace().collect();
    let (predicate, opcode) = match words.as_slice() {
        [predicate, opcode, ..] if predicate.starts_with('@') => (Some((*predicate).to_owned()), *opcode),
        [opcode, ..] => (None, *opcode),
        [] => return None,
    };
    if !opcode.starts_with(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    Some(Instruction { offset, predicate, opcode: opcode.to_owned(), text: words.join(" "), source: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NVDISASM: &str = r#"
//--------------------- .text.count               --------------------------
	.section	.text.count,"ax",@progbits
	.align	128
        .global         count
count:
.text.count:
	//## File "/home/a/kernels/day26_sum.cu", line 8
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "/home/a/common.cuh", line 3 inlined at "/home/a/kernels/day26_sum.cu", line 9
.L_x_5:
        /*0040*/                   VOTEU.ANY UR4, UPT, PT ;
        /*0070*/                   POPC R7, UR4 ;
        /*00f0*/               @P0 REDG.E.ADD.STRONG.GPU desc[UR8][R2.64], R7 ;
        /*0120*/                   BRA `(.L_x_1);
        /*0130*/                   NOP;
	.section	.text.empty,"ax",@progbits
	.section	.nv.info.count,"",@"SHT_CUDA_INFO"
"#;

    const CUOBJDUMP: &str = r#"
	code for sm_90
		Function : add
	.headerflags	@"EF_CUDA_SM90"
        /*00d0*/                   REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R4.64], R8 ;  /* 0x00000008040079a6 */
                                                                                          /* 0x004fe2000c10f784 */
        /*00e0*/                   MEMBAR.SC.GPU ;                                        /* 0x0000000000007992 */
"#;

    #[test]
    fn nvdisasm_is_read_with_source_lines() {
        let functions = parse(NVDISASM);
        assert_eq!(functions.len(), 1);
        let count = &functions[0];
        assert_eq!((count.name.as_str(), count.instructions.len()), ("count", 6));
        let red = count.atomics().next().unwrap();
        assert_eq!(red.text, "@P0 REDG.E.ADD.STRONG.GPU desc[UR8][R2.64], R7");
        assert_eq!((red.predicate.as_deref(), red.mnemonic(), red.offset), (Some("@P0"), "REDG", 0xf0));
        assert_eq!(red.source.as_ref().unwrap().to_string(), "common.cuh:3");
        let roles: Vec<Role> = count.evidence().filter_map(Instruction::role).collect();
        assert_eq!(roles, [Role::Folding, Role::Folding, Role::Atomic]);
    }

    #[test]
    fn cuobjdump_is_read_without_source_lines() {
        let functions = parse(CUOBJDUMP);
        let roles: Vec<_> =
            functions[0].instructions.iter().map(|i| (i.mnemonic(), i.role(), i.source.is_some())).collect();
        assert_eq!(roles, [("REDG", Some(Role::Atomic), false), ("MEMBAR", Some(Role::Order), false)]);
    }

    #[test]
    fn loops_are_found_by_label_and_by_offset() {
        let text = ".section .text.k,\"ax\"\n/*0000*/ MOV R1, R2 ;\n.L_x_0:\n/*0010*/ ATOMG.E.CAS R2, R4 ;\n\
            /*0020*/ @P0 BRA `(.L_x_0) ;\n/*0030*/ @P1 BRA `(.L_x_1) ;\n.L_x_1:\n/*0040*/ EXIT ;\n\
            .L_x_2:\n/*0050*/ BRA `(.L_x_2);\n";
        assert_eq!(parse(text)[0].loops(), [1..=2], "neither a branch ahead nor the padding is a loop");
        let text =
            "Function : k\n/*0000*/ MOV R1, R2 ;\n/*0010*/ ATOMG.E.CAS R2, R4 ;\n/*0020*/ @P0 BRA 0x10 ;\n";
        assert_eq!(parse(text)[0].loops(), [1..=2]);
    }

    #[test]
    fn redux_is_folding_and_an_ordinary_add_is_nothing() {
        let one = |opcode: &str| instruction(&format!("/*0010*/ {opcode} R1, R2 ;")).unwrap().role();
        assert_eq!(one("REDUX.SUM.S32"), Some(Role::Folding));
        assert_eq!(one("REDAS.ADD"), Some(Role::Atomic));
        assert_eq!(one("ATOMS.POPC.INC.32"), Some(Role::Atomic));
        assert_eq!(one("ATOMG.E.CAS.STRONG.GPU"), Some(Role::Atomic));
        assert_eq!(one("FENCE.VIEW.ASYNC"), Some(Role::Order));
        assert_eq!(one("LDG.E.STRONG.SYS"), Some(Role::Order));
        assert_eq!(one("STG.E.STRONG.GPU"), Some(Role::Order));
        assert_eq!(one("LDG.E"), None);
        assert_eq!(one("IADD3"), None);
    }

    #[test]
    fn garbage_gives_nothing_and_does_not_panic() {
        for garbage in [
            "",
            "/*",
            "/**/;",
            "/*zz*/ ADD ;",
            "Function :\n/*0*/;",
            "//## File \"",
            ".section .text.\u{fffd}",
            "\0\u{feff}/*0*/ @P0 ;",
        ] {
            assert!(parse(garbage).is_empty(), "{garbage:?}");
        }
    }
}
