//! PTX's scalar types, state spaces and rounding.

/// A PTX type, as the modifier names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ty {
    Pred,
    B8,
    U8,
    S8,
    B16,
    U16,
    S16,
    F16,
    Bf16,
    B32,
    U32,
    S32,
    F32,
    F16x2,
    Bf16x2,
    B64,
    U64,
    S64,
    F64,
}

impl Ty {
    /// The type a modifier names, if it names one.
    pub(crate) fn from_name(name: &str) -> Option<Ty> {
        Some(match name {
            "pred" => Ty::Pred,
            "b8" => Ty::B8,
            "u8" => Ty::U8,
            "s8" => Ty::S8,
            "b16" => Ty::B16,
            "u16" => Ty::U16,
            "s16" => Ty::S16,
            "f16" => Ty::F16,
            "bf16" => Ty::Bf16,
            "b32" => Ty::B32,
            "u32" => Ty::U32,
            "s32" => Ty::S32,
            "f32" => Ty::F32,
            "f16x2" => Ty::F16x2,
            "bf16x2" => Ty::Bf16x2,
            "b64" => Ty::B64,
            "u64" => Ty::U64,
            "s64" => Ty::S64,
            "f64" => Ty::F64,
            _ => return None,
        })
    }

    /// Size in bytes; a predicate counts as one.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Ty::Pred | Ty::B8 | Ty::U8 | Ty::S8 => 1,
            Ty::B16 | Ty::U16 | Ty::S16 | Ty::F16 | Ty::Bf16 => 2,
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 | Ty::F16x2 | Ty::Bf16x2 => 4,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 8,
        }
    }

    /// Size in bits.
    pub(crate) fn bits(self) -> u32 {
        self.bytes() * 8
    }

    /// Whether values sign-extend.
    pub(crate) fn signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }

    /// Whether it is a floating-point type, packed pairs included.
    pub(crate) fn float(self) -> bool {
        matches!(self, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64 | Ty::F16x2 | Ty::Bf16x2)
    }

    /// The scalar of a packed pair.
    pub(crate) fn half_of_pair(self) -> Option<Ty> {
        match self {
            Ty::F16x2 => Some(Ty::F16),
            Ty::Bf16x2 => Some(Ty::Bf16),
            _ => None,
        }
    }

    /// The register class that holds it.
    pub(crate) fn class(self) -> Class {
        match self {
            Ty::Pred => Class::Pred,
            _ if self.bytes() == 8 => Class::Wide,
            _ => Class::Word,
        }
    }
}

/// Register classes: predicates are one mask a warp, words 32 bits a lane, wides 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    Pred,
    Word,
    Wide,
}

/// State spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Param,
    Const,
}

/// Rounding of floats (and of float to integer).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) enum Round {
    #[default]
    Nearest,
    Zero,
    Down,
    Up,
}

/// Generic-address windows, by the high 32 bits. Device memory begins at [`FIRST_ALLOCATION`].
pub(crate) const SHARED_WINDOW: u64 = 1 << 32;
pub(crate) const LOCAL_WINDOW: u64 = 2 << 32;
pub(crate) const CONST_WINDOW: u64 = 3 << 32;
pub(crate) const PARAM_WINDOW: u64 = 4 << 32;
/// Each allocation has an aligned range of this many address bits for itself.
pub(crate) const ALLOCATION_BITS: u32 = 36;
/// In a shared address, bits 24 and up hold the owner's rank in the cluster plus one; 0 is the block's own.
pub(crate) const RANK_SHIFT: u32 = 24;
