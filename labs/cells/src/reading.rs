//! From instructions to a verdict. The same rules for every machine: a compare-and-swap within a loop is a CAS loop;
//! an atomic instruction behind a combination of the lanes' values is folded; an atomic instruction alone is native.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use labs::toolchain::disassembly::{Function, Role};
use labs_record::cells::{Answer, CellVerdict, Operation, Place};

/// What one instruction has to do with an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It reads, changes and writes a word as one.
    Atomic,
    /// It swaps if the word is what was expected.
    CompareAndSwap,
    /// It loads a word and watches it.
    LoadExclusive,
    /// It stores if the word was not touched since.
    StoreExclusive,
    /// It combines values of lanes.
    Fold,
}

/// A piece of code: the instructions that matter, with their places, and the loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// Place in the program, what it is, and its name as the assembly spells it.
    pub(crate) steps: Vec<(usize, Step, String)>,
    /// From the target of a backward branch to the branch.
    pub(crate) loops: Vec<RangeInclusive<usize>>,
}

impl Listing {
    /// What the code makes of an operation; none if no atomic instruction is in it.
    pub(crate) fn answer(&self, operation: Operation) -> Option<Answer> {
        let looped = |place: &usize| self.loops.iter().any(|range| range.contains(place));
        let named = |wanted: &[Step]| -> Vec<&str> {
            let mut names: Vec<&str> = Vec::new();
            for (_, step, name) in &self.steps {
                if wanted.contains(step) && !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            names
        };
        let is = |wanted: Step| self.steps.iter().filter(move |(_, step, _)| *step == wanted);
        let answer = |verdict, names: Vec<&str>| Some(Answer { verdict, instruction: names.join(", ") });
        if is(Step::CompareAndSwap).any(|(place, ..)| looped(place)) {
            return answer(CellVerdict::CasLoop, named(&[Step::CompareAndSwap]));
        }
        if is(Step::StoreExclusive).any(|(place, ..)| looped(place)) {
            return answer(CellVerdict::ExclusiveLoop, named(&[Step::LoadExclusive, Step::StoreExclusive]));
        }
        let own = if operation == Operation::Cas { Step::CompareAndSwap } else { Step::Atomic };
        // Behind the atomic a vote serves another end: lanes come together again.
        let first = is(own).map(|(place, ..)| *place).min().unwrap_or_default();
        let folds = is(Step::Fold).any(|(place, ..)| *place < first);
        match named(&[own]).first() {
            None => None,
            Some(_) if folds => answer(CellVerdict::Folded, named(&[Step::Fold, own])),
            Some(name) => answer(CellVerdict::Native, vec![name]),
        }
    }
}

/// Reads machine code of NVIDIA's that works on a word at a place. Where the compiler does not know the place it writes
/// both ways, and a test of the address chooses; only the one taken counts.
pub(crate) fn sass(function: &Function, word: Place) -> Listing {
    let in_shared = |name: &str| name.starts_with("ATOMS");
    let knows = function.atomics().any(|instruction| in_shared(instruction.mnemonic()));
    let steps = function.instructions.iter().enumerate().filter_map(|(place, instruction)| {
        let other = match word {
            Place::Global => in_shared(instruction.mnemonic()),
            Place::Shared => knows && !in_shared(instruction.mnemonic()),
        };
        if instruction.role() == Some(Role::Atomic) && other {
            return None;
        }
        let step = match instruction.role()? {
            Role::Folding => Step::Fold,
            Role::Order => return None,
            Role::Atomic if instruction.opcode.split('.').any(|part| part.starts_with("CAS")) => {
                Step::CompareAndSwap
            }
            Role::Atomic => Step::Atomic,
        };
        Some((place, step, instruction.opcode.clone()))
    });
    Listing { steps: steps.collect(), loops: function.loops() }
}

/// An assembly language as compilers print it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// AT&T's syntax.
    X86,
    /// A64.
    Aarch64,
    /// GCN, CDNA and RDNA.
    Amdgpu,
    /// SPIR-V as spirv-dis prints it.
    Spirv,
    /// Metal's shading language, as SPIRV-Cross prints it.
    Metal,
}

impl Dialect {
    fn comment(self) -> &'static str {
        match self {
            Dialect::X86 => "#",
            Dialect::Aarch64 | Dialect::Metal => "//",
            Dialect::Amdgpu | Dialect::Spirv => ";",
        }
    }

    fn step(self, words: &[&str]) -> Option<(Step, String)> {
        let (first, second) = (*words.first()?, words.get(1).copied().unwrap_or_default());
        let step = match self {
            Dialect::X86 => return x86(first, second, words),
            Dialect::Aarch64 => aarch64(first)?,
            Dialect::Amdgpu => amdgpu(first)?,
            Dialect::Spirv => {
                let name = words.iter().find(|word| word.starts_with("OpAtomic"))?;
                let plain = ["OpAtomicLoad", "OpAtomicStore"].contains(name);
                let step = if name.contains("CompareExchange") { Step::CompareAndSwap } else { Step::Atomic };
                return (!plain).then(|| (step, (*name).to_owned()));
            }
            Dialect::Metal => return metal(words),
        };
        Some((step, first.to_owned()))
    }
}

fn x86(first: &str, second: &str, words: &[&str]) -> Option<(Step, String)> {
    match first {
        "lock" if second.starts_with("cmpxchg") => Some((Step::CompareAndSwap, format!("lock {second}"))),
        "lock" if !second.is_empty() => Some((Step::Atomic, format!("lock {second}"))),
        // With an operand in memory it locks by itself.
        name if name.starts_with("xchg") && words.iter().any(|word| word.contains('(')) => {
            Some((Step::Atomic, name.to_owned()))
        }
        _ => None,
    }
}

fn aarch64(name: &str) -> Option<Step> {
    const ATOMIC: [&str; 17] = [
        "ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin", "swp", "stadd", "stclr",
        "steor", "stset", "stsmax", "stsmin", "stumax", "stumin",
    ];
    match name {
        _ if ["ldxr", "ldaxr"].iter().any(|load| name.starts_with(load)) => Some(Step::LoadExclusive),
        _ if ["stxr", "stlxr"].iter().any(|store| name.starts_with(store)) => Some(Step::StoreExclusive),
        _ if name.starts_with("cas") => Some(Step::CompareAndSwap),
        _ if ATOMIC.iter().any(|atomic| name.starts_with(atomic)) => Some(Step::Atomic),
        _ => None,
    }
}

fn amdgpu(name: &str) -> Option<Step> {
    // LDS operations are told from its loads, stores and permutations by their verb.
    const VERBS: [&str; 12] =
        ["add", "sub", "rsub", "min", "max", "and", "or", "xor", "wrxchg", "storexchg", "pk", "inc"];
    let in_lds = || name.strip_prefix("ds_").and_then(|rest| rest.split('_').next());
    match name {
        _ if name.contains("cmpswap") || name.starts_with("ds_cmpst") => Some(Step::CompareAndSwap),
        _ if name.contains("_atomic_") => Some(Step::Atomic),
        // Where a wave has 64 lanes a second half of it follows.
        _ if name.starts_with("v_mbcnt_lo") => Some(Step::Fold),
        _ if in_lds().is_some_and(|verb| VERBS.contains(&verb)) => Some(Step::Atomic),
        _ => None,
    }
}

fn metal(words: &[&str]) -> Option<(Step, String)> {
    let call = words.iter().find_map(|word| {
        let start = word.find("atomic_")?;
        word[start..].split('(').next().filter(|name| name.ends_with("_explicit"))
    })?;
    let step = match call {
        _ if call.starts_with("atomic_compare") => Step::CompareAndSwap,
        "atomic_load_explicit" | "atomic_store_explicit" => return None,
        _ => Step::Atomic,
    };
    Some((step, call.to_owned()))
}

/// Reads assembly as text: labels end in a colon (SPIR-V: `%5 = OpLabel`), and an instruction that names a label
/// above itself closes a loop. `stop` ends a function.
pub(crate) fn assembly(dialect: Dialect, text: &str) -> BTreeMap<String, Listing> {
    let mut functions: BTreeMap<String, Listing> = BTreeMap::new();
    let (mut current, mut labels, mut place) = (String::new(), BTreeMap::new(), 0);
    // Of two functions with the same code compilers keep one.
    let mut aliases = Vec::new();
    if dialect == Dialect::Spirv {
        "main".clone_into(&mut current);
    }
    for line in text.lines() {
        let line = line.split(dialect.comment()).next().unwrap_or_default().trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first() else { continue };
        if let (true, [alias, "=", of]) = (dialect != Dialect::Spirv, words.as_slice()) {
            aliases.push(((*alias).to_owned(), (*of).to_owned()));
        } else if let (Dialect::Spirv, [label, "=", "OpLabel"]) = (dialect, words.as_slice()) {
            labels.insert((*label).to_owned(), place);
        } else if let Some(label) = first.strip_suffix(':') {
            if label.starts_with(".L") {
                labels.insert(label.to_owned(), place);
            } else {
                current = label.trim_matches('"').to_owned();
                labels.clear();
            }
        } else if !first.starts_with('.') && !current.is_empty() {
            let listing = functions.entry(current.clone()).or_default();
            if let Some((step, name)) = dialect.step(&words) {
                listing.steps.push((place, step, name));
            }
            let branches = dialect != Dialect::Spirv || first.starts_with("OpBranch");
            let back = words.iter().filter_map(|word| labels.get(word.trim_matches(',')));
            listing.loops.extend(back.filter(|_| branches).map(|target| *target..=place));
            place += 1;
        }
    }
    for (alias, of) in aliases {
        if let Some(listing) = functions.get(&of).cloned() {
            functions.insert(alias, listing);
        }
    }
    functions
}

/// Reads Metal's language: a loop is what stands between the braces behind `for` or `while`. A `do` is none: by it
/// SPIRV-Cross mends a weak compare-and-swap, which may fail without a reason.
pub(crate) fn metal_source(text: &str) -> Listing {
    let mut listing = Listing::default();
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut head = false;
    for (place, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some((step, name)) = Dialect::Metal.step(&words) {
            listing.steps.push((place, step, name));
        }
        head |= !line.trim_end().ends_with(';') && matches!(words.first(), Some(&"for" | &"while"));
        for c in line.chars() {
            match c {
                '{' => open.push(std::mem::take(&mut head).then_some(place)),
                '}' => listing.loops.extend(open.pop().flatten().map(|start| start..=place)),
                _ => {}
            }
        }
    }
    listing
}

#[cfg(test)]
mod tests {
    use super::*;
    use labs::toolchain::disassembly;

    /// Verdict and instruction of the function `f`.
    fn read(dialect: Dialect, operation: Operation, text: &str) -> Option<(CellVerdict, String)> {
        let name = if dialect == Dialect::Spirv { "main" } else { "f" };
        let answer = assembly(dialect, text).remove(name)?.answer(operation)?;
        Some((answer.verdict, answer.instruction))
    }

    fn said(verdict: CellVerdict, instruction: &str) -> Option<(CellVerdict, String)> {
        Some((verdict, instruction.to_owned()))
    }

    #[test]
    fn a_loop_by_hand_is_a_cas_loop_on_every_machine() {
        use CellVerdict::CasLoop;
        let x86 = "f:\n\tmovl (%rdi), %eax\n.LBB0_1:  # loop\n\timull %eax, %esi\n\tlock\tcmpxchgl %ecx, (%rdi)\n\tjne\t.LBB0_1\n\tretq\n";
        assert_eq!(read(Dialect::X86, Operation::Mul, x86), said(CasLoop, "lock cmpxchgl"));
        let arm = "f:\n.LBB0_1:\n\tmul w9, w8, w1\n\tcas w10, w9, [x0]\n\tb.ne .LBB0_1\n\tret\n";
        assert_eq!(read(Dialect::Aarch64, Operation::Mul, arm), said(CasLoop, "cas"));
        let amd = "f:                 ; @f\n.LBB0_1:\n\tglobal_atomic_cmpswap v3, v[0:1], v[3:4], off glc\n\ts_cbranch_execnz .LBB0_1\n\ts_endpgm\n";
        assert_eq!(read(Dialect::Amdgpu, Operation::Add, amd), said(CasLoop, "global_atomic_cmpswap"));
        let spirv = "%4 = OpLabel\nOpLoopMerge %9 %4 None\n%7 = OpAtomicCompareExchange %uint %1 %2 %3 %3 %5 %6\nOpBranchConditional %8 %9 %4\n%9 = OpLabel\nOpReturn\n";
        assert_eq!(read(Dialect::Spirv, Operation::Mul, spirv), said(CasLoop, "OpAtomicCompareExchange"));
        let metal =
            "for (;;)\n{\n  do\n  {\n  } while (!atomic_compare_exchange_weak_explicit(a, &b, c));\n}\n";
        assert_eq!(metal_source(metal).answer(Operation::Mul).unwrap().verdict, CasLoop);
        let sass = ".section .text.f,\"ax\"\n.L_x_0:\n/*0010*/ ATOMS.CAST.SPIN R2, [R3], R4, R5 ;\n/*0020*/ @P0 BRA `(.L_x_0) ;\n";
        let answer = super::sass(&disassembly::parse(sass)[0], Place::Shared).answer(Operation::Add).unwrap();
        assert_eq!((answer.verdict, answer.instruction.as_str()), (CasLoop, "ATOMS.CAST.SPIN"));
        let global = super::sass(&disassembly::parse(sass)[0], Place::Global).answer(Operation::Add);
        assert_eq!(global, None, "a loop on shared memory says nothing of a word in global memory");
    }

    #[test]
    fn one_compare_and_swap_is_no_loop() {
        let x86 = "f:\n.LBB0_1:\n\tlock\tcmpxchgl %ecx, (%rdi)\n\tjne\t.LBB0_2\n.LBB0_2:\n\tretq\n";
        assert_eq!(read(Dialect::X86, Operation::Cas, x86), said(CellVerdict::Native, "lock cmpxchgl"));
        assert_eq!(read(Dialect::X86, Operation::Add, x86), None, "nor is it an add");
        let metal = "do\n{\n} while (!atomic_compare_exchange_weak_explicit(a, &b, c));\n";
        assert_eq!(metal_source(metal).answer(Operation::Cas).unwrap().verdict, CellVerdict::Native);
    }

    #[test]
    fn native_and_folded_and_exclusive() {
        let x86 = "f:\n\tlock\txaddl %eax, (%rdi)\n\tretq\ng:\n\txchgl %eax, (%rdi)\n";
        assert_eq!(read(Dialect::X86, Operation::Add, x86), said(CellVerdict::Native, "lock xaddl"));
        let arm = "f:\n.LBB2_1:\n\tldxr w8, [x0]\n\tstxr w10, w9, [x0]\n\tcbnz w10, .LBB2_1\n";
        assert_eq!(
            read(Dialect::Aarch64, Operation::And, arm),
            said(CellVerdict::ExclusiveLoop, "ldxr, stxr")
        );
        let amd = "f:\n\tv_mbcnt_lo_u32_b32 v0, exec_lo, 0\n\tds_read_b32 v1, v2\n\tds_add_u32 v0, v1\n";
        assert_eq!(
            read(Dialect::Amdgpu, Operation::Add, amd),
            said(CellVerdict::Folded, "v_mbcnt_lo_u32_b32, ds_add_u32")
        );
        assert_eq!(read(Dialect::Amdgpu, Operation::Add, "f:\n\tds_write_b32 v1, v2\n"), None);
        // A register exchange is no atomic.
        assert_eq!(read(Dialect::X86, Operation::Exchange, "f:\n\txchgl %eax, %ebx\n"), None);
    }

    #[test]
    fn garbage_gives_nothing() {
        for dialect in [Dialect::X86, Dialect::Aarch64, Dialect::Amdgpu, Dialect::Spirv, Dialect::Metal] {
            for text in
                ["", ":", "}}}", "\0:\n\t\u{feff}", "%1 = OpLabel", "f:\nlock", ".LBB0_1:\n jmp .LBB0_1"]
            {
                assert!(assembly(dialect, text).values().all(|read| read.answer(Operation::Add).is_none()));
                assert!(metal_source(text).answer(Operation::Add).is_none());
            }
        }
    }
}
