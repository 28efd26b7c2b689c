//! A kernel ready to run: register slots instead of names, calls inlined,
//! each branch with the place where its lanes meet again.

pub(crate) mod operands;

use crate::event::{Order, Scope};
use crate::scalar::{Compare, Conversion, Mode, One, Three, Two};
use crate::types::{Class, Space, Ty};

/// No register, no instruction.
pub(crate) const NONE: u32 = u32::MAX;
const CONSTANT: u32 = 1 << 31;

/// Where an operand comes from: a register slot of its class, or a constant's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Src(u32);

impl Src {
    pub(crate) const fn register(slot: u32) -> Src {
        Src(slot & !CONSTANT)
    }

    pub(crate) fn constant(slot: u32) -> Src {
        Src(slot | CONSTANT)
    }

    /// The constant's slot, or else the register's.
    #[inline(always)]
    pub(crate) fn slot(self) -> Result<usize, usize> {
        if self.0 & CONSTANT != 0 { Ok((self.0 & !CONSTANT) as usize) } else { Err(self.0 as usize) }
    }
}

/// A predicate, perhaps negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cond {
    pub(crate) slot: u32,
    pub(crate) negated: bool,
}

/// A predicate operand: a register or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredSrc {
    Register(Cond),
    Constant(bool),
}

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) struct Instr {
    pub(crate) op: Op,
    pub(crate) guard: Option<Cond>,
    pub(crate) line: u32,
    pub(crate) ptx_line: u32,
    /// Whether the PTX has it: copies that stand for a call's parameters are not counted.
    pub(crate) counted: bool,
}

/// An address operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Address {
    pub(crate) space: Space,
    pub(crate) class: Class,
    pub(crate) base: Src,
    pub(crate) offset: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) at: Address,
    pub(crate) ty: Ty,
    /// Slots, [`NONE`] for `_`; as many as the vector has elements.
    pub(crate) to: Vec<u32>,
    pub(crate) class: Class,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
}

#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) at: Address,
    pub(crate) ty: Ty,
    pub(crate) from: Vec<Src>,
    pub(crate) class: Class,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
}

/// What an atomic does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AtomicOp {
    /// `add`
    Add,
    /// `inc`: up to a bound, then 0.
    Inc,
    /// `dec`: down to 0, then the bound.
    Dec,
    /// `min`
    Min,
    /// `max`
    Max,
    /// `and`
    And,
    /// `or`
    Or,
    /// `xor`
    Xor,
    /// `exch`
    Exchange,
    /// `cas`
    CompareAndSwap,
}

#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub(crate) at: Address,
    pub(crate) op: AtomicOp,
    pub(crate) ty: Ty,
    /// Empty for `red` and for `atom` into `_`.
    pub(crate) to: Vec<u32>,
    pub(crate) from: Vec<Src>,
    pub(crate) compare: Option<Src>,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    /// `red.async`
    pub(crate) asynchronous: bool,
}

/// What is done to a barrier that counts arrivals and bytes (`mbarrier`).
#[derive(Clone, Debug)]
pub(crate) struct Landing {
    pub(crate) at: Address,
    pub(crate) step: LandingStep,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LandingStep {
    /// A new barrier, for so many arrivals.
    Init { count: Src },
    /// An arrival, and so many bytes more to land.
    Expect { bytes: Src },
    /// So many bytes have landed.
    Land { bytes: Src },
    /// Whether the phase of this parity is over.
    Try { d: u32, parity: Src },
}

/// `cp.reduce.async.bulk` from the block's shared memory to global memory.
#[derive(Clone, Debug)]
pub(crate) struct Bulk {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) bytes: Src,
    pub(crate) op: AtomicOp,
    pub(crate) ty: Ty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Bfly,
    Idx,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uni,
    Ballot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarKind {
    Sync,
    Arrive,
    Popc,
    And,
    Or,
}

#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub(crate) kind: BarKind,
    pub(crate) id: Src,
    pub(crate) count: Option<Src>,
    pub(crate) to: u32,
    pub(crate) pred: Option<PredSrc>,
}

/// Operations among the lanes that a mask names.
#[derive(Clone, Debug)]
pub(crate) enum Collective {
    Shuffle { mode: Shuffle, d: u32, p: u32, a: Src, b: Src, c: Src },
    Vote { kind: Vote, d: u32, pred: PredSrc },
    MatchAny { ty: Ty, d: u32, a: Src },
    MatchAll { ty: Ty, d: u32, p: u32, a: Src },
    Redux { op: Two, ty: Ty, d: u32, a: Src },
    Elect { d: u32, p: u32 },
    Barrier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterId(u8),
    NclusterId(u8),
    LaneId,
    WarpId,
    NwarpId,
    SmId,
    NsmId,
    GridId,
    MaskEq,
    MaskLt,
    MaskLe,
    MaskGt,
    MaskGe,
    Clock,
    ClockHigh,
    Clock64,
    Timer,
    TimerLow,
    TimerHigh,
    ClusterRank,
    ClusterSize,
    DynamicShared,
    TotalShared,
    ExplicitCluster,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Two {
        op: Two,
        ty: Ty,
        mode: Mode,
        d: u32,
        a: Src,
        b: Src,
    },
    One {
        op: One,
        ty: Ty,
        mode: Mode,
        d: u32,
        a: Src,
    },
    Three {
        op: Three,
        ty: Ty,
        mode: Mode,
        d: u32,
        a: Src,
        b: Src,
        c: Src,
    },
    /// `mul.wide`, `mad.wide`: `ty` is the operands' type, the result is twice as wide.
    Widen {
        ty: Ty,
        d: u32,
        a: Src,
        b: Src,
        c: Option<Src>,
    },
    Bfi {
        ty: Ty,
        d: u32,
        a: Src,
        b: Src,
        position: Src,
        length: Src,
    },
    Lop3 {
        table: u8,
        d: u32,
        a: Src,
        b: Src,
        c: Src,
    },
    Compare {
        cmp: Compare,
        ty: Ty,
        flush: bool,
        d: u32,
        not_d: u32,
        a: Src,
        b: Src,
        also: Option<(Two, PredSrc)>,
    },
    /// `set`: all ones, or 1.0.
    Set {
        cmp: Compare,
        ty: Ty,
        to: Ty,
        flush: bool,
        d: u32,
        a: Src,
        b: Src,
    },
    Select {
        class: Class,
        d: u32,
        a: Src,
        b: Src,
        p: PredSrc,
    },
    Convert {
        to: Ty,
        from: Ty,
        how: Conversion,
        class: (Class, Class),
        d: u32,
        a: Src,
    },
    ConvertPair {
        to: Ty,
        how: Conversion,
        d: u32,
        high: Src,
        low: Src,
    },
    Move {
        class: Class,
        d: u32,
        a: Src,
    },
    /// Elements of `bits` bits, lowest first, into one register.
    Pack {
        class: Class,
        bits: u32,
        d: u32,
        from: Vec<(Class, Src)>,
    },
    Unpack {
        class: Class,
        bits: u32,
        a: Src,
        to: Vec<(Class, u32)>,
    },
    PredTwo {
        op: Two,
        d: u32,
        a: PredSrc,
        b: PredSrc,
    },
    PredMove {
        d: u32,
        a: PredSrc,
    },
    Special {
        what: Special,
        class: Class,
        d: u32,
    },
    /// `cvta` (to generic) and `cvta.to`.
    Generic {
        space: Space,
        to_space: bool,
        class: Class,
        d: u32,
        a: Src,
    },
    IsSpace {
        space: Space,
        d: u32,
        a: Src,
    },
    /// `mapa`: the address of a block's variable in another block of the cluster.
    Map {
        class: Class,
        generic: bool,
        d: u32,
        a: Src,
        rank: Src,
    },
    Load(Box<Load>),
    Store(Box<Store>),
    Atomic(Box<Atomic>),
    Landing(Box<Landing>),
    Bulk(Box<Bulk>),
    Fence {
        scope: Scope,
        sequential: bool,
    },
    Bar(Box<Bar>),
    Collective {
        mask: Src,
        what: Box<Collective>,
    },
    ActiveMask {
        d: u32,
    },
    ClusterArrive {
        release: bool,
    },
    ClusterWait,
    /// A call's parameter or result: bytes from one local variable to another.
    CopyLocal {
        to: u32,
        from: u32,
        bytes: u32,
    },
    Sleep {
        nanoseconds: Src,
    },
    Branch {
        target: u32,
        meet: u32,
    },
    Exit,
    Trap(Box<str>),
    Nothing,
}

/// Registers that a kernel needs, by class.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Registers {
    pub(crate) words: u32,
    pub(crate) wides: u32,
    pub(crate) preds: u32,
}

/// What a constant's value waits for until the module is loaded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Relocation {
    /// Slot among the 64-bit constants.
    pub(crate) slot: u32,
    /// Index among the module's variables.
    pub(crate) variable: u32,
    pub(crate) offset: i64,
}

/// A kernel, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) name: String,
    pub(crate) instrs: Vec<Instr>,
    pub(crate) registers: Registers,
    pub(crate) words: Vec<u32>,
    pub(crate) wides: Vec<u64>,
    pub(crate) relocations: Vec<Relocation>,
    /// Offset and size of each parameter.
    pub(crate) params: Vec<(u32, u32)>,
    pub(crate) param_bytes: u32,
    /// Static shared memory; dynamic shared memory begins here.
    pub(crate) shared_bytes: u32,
    pub(crate) local_bytes: u32,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) max_threads: Option<u32>,
}
