//! The words of the table: backends, operations, types, places, verdicts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose machine a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// NVIDIA's, by CUDA.
    Cuda,
    /// AMD's.
    Amdgpu,
    /// The host's.
    Cpu,
    /// Any with a Vulkan driver: what the driver makes of it is its own.
    Spirv,
    /// Apple's, as far as a translator's text goes.
    Metal,
}

impl Backend {
    /// All, in the order of the page.
    pub const ALL: [Backend; 5] =
        [Backend::Cuda, Backend::Amdgpu, Backend::Cpu, Backend::Spirv, Backend::Metal];
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Backend::Cuda => "CUDA",
            Backend::Amdgpu => "AMDGPU",
            Backend::Cpu => "CPU",
            Backend::Spirv => "SPIR-V",
            Backend::Metal => "Metal",
        })
    }
}

/// What is done to the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// x + v
    Add,
    /// x - v
    Sub,
    /// x * v
    Mul,
    /// The smaller of x and v.
    Min,
    /// The larger of x and v.
    Max,
    /// x & v
    And,
    /// x | v
    Or,
    /// x ^ v
    Xor,
    /// v
    Exchange,
    /// v where x is what was expected, else x.
    Cas,
}

impl Operation {
    /// All, in the order of the page.
    pub const ALL: [Operation; 10] = [
        Operation::Add,
        Operation::Sub,
        Operation::Mul,
        Operation::Min,
        Operation::Max,
        Operation::And,
        Operation::Or,
        Operation::Xor,
        Operation::Exchange,
        Operation::Cas,
    ];

    /// Whether it is defined for a type: bits of a float are not and-ed.
    pub fn is_defined_for(self, scalar: Scalar) -> bool {
        !matches!(self, Operation::And | Operation::Or | Operation::Xor) || scalar.is_integer()
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Operation::Add => "add",
            Operation::Sub => "sub",
            Operation::Mul => "mul",
            Operation::Min => "min",
            Operation::Max => "max",
            Operation::And => "and",
            Operation::Or => "or",
            Operation::Xor => "xor",
            Operation::Exchange => "exchange",
            Operation::Cas => "cas",
        })
    }
}

/// The word's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scalar {
    /// 32 bits, signed.
    I32,
    /// 32 bits, unsigned.
    U32,
    /// 64 bits, signed.
    I64,
    /// 64 bits, unsigned.
    U64,
    /// IEEE half.
    F16,
    /// bfloat16.
    Bf16,
    /// Two halves in 32 bits.
    F16x2,
    /// IEEE single.
    F32,
    /// IEEE double.
    F64,
}

impl Scalar {
    /// All, in the order of the page.
    pub const ALL: [Scalar; 9] = [
        Scalar::I32,
        Scalar::U32,
        Scalar::I64,
        Scalar::U64,
        Scalar::F16,
        Scalar::Bf16,
        Scalar::F16x2,
        Scalar::F32,
        Scalar::F64,
    ];

    /// Whether it is one of the four integers.
    pub fn is_integer(self) -> bool {
        matches!(self, Scalar::I32 | Scalar::U32 | Scalar::I64 | Scalar::U64)
    }

    /// Whether an integer has a sign.
    pub fn is_signed(self) -> bool {
        matches!(self, Scalar::I32 | Scalar::I64)
    }

    /// Its width, bits.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::F16 | Scalar::Bf16 => 16,
            Scalar::I32 | Scalar::U32 | Scalar::F16x2 | Scalar::F32 => 32,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 64,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Scalar::I32 => "i32",
            Scalar::U32 => "u32",
            Scalar::I64 => "i64",
            Scalar::U64 => "u64",
            Scalar::F16 => "f16",
            Scalar::Bf16 => "bf16",
            Scalar::F16x2 => "f16x2",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        })
    }
}

/// Where the word lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Memory that every thread of the machine can reach.
    Global,
    /// The block's own: shared, LDS, workgroup, threadgroup. CPUs have none.
    Shared,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if *self == Place::Global { "global" } else { "shared" })
    }
}

/// Whether anyone reads the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Old {
    /// Nobody does.
    Unused,
    /// It is stored.
    Used,
}

impl fmt::Display for Old {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if *self == Old::Unused { "unused" } else { "used" })
    }
}

/// What an operation became.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellVerdict {
    /// One instruction does it.
    Native,
    /// The compiler first combines the lanes' values; then one instruction does it.
    Folded,
    /// A loop around a compare-and-swap.
    CasLoop,
    /// A loop around load-exclusive and store-exclusive.
    ExclusiveLoop,
    /// The language or the compiler has no such operation.
    NotAvailable,
}

impl fmt::Display for CellVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            CellVerdict::Native => "native",
            CellVerdict::Folded => "folded",
            CellVerdict::CasLoop => "CAS loop",
            CellVerdict::ExclusiveLoop => "exclusive loop",
            CellVerdict::NotAvailable => "not available",
        })
    }
}

/// How the source spells an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spelling {
    /// As one operation of the language, perhaps on the bits of an integer as wide, or by adding the negative.
    #[default]
    Function,
    /// As a compare-and-swap loop, since the language has no such operation.
    Loop,
}

impl Spelling {
    pub(super) fn is_function(&self) -> bool {
        *self == Spelling::Function
    }
}
