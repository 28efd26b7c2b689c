//! What one lane computes: PTX's arithmetic on 64-bit containers. The warp
//! loops in `machine::vector` inline these with constant arguments, so that
//! there is one definition of every operation.

mod bits;
mod compare;
mod convert;

pub(crate) use bits::bfi;
pub(crate) use compare::{Compare, compare};
pub(crate) use convert::{Conversion, convert};

use crate::float::{add_odd, div_odd, flush, half_to_single, single_bits, sqrt_odd, to_half, to_single};
use crate::types::{Round, Ty};
use bits::{bfe, bfind, prmt};

/// Operations with two operands of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Two {
    Add,
    Sub,
    Mul,
    MulHigh,
    Div,
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    CopySign,
}

/// Operations with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum One {
    Neg,
    Abs,
    Not,
    Popc,
    Clz,
    Brev,
    Bfind,
    BfindShift,
    Sqrt,
    Rsqrt,
    Rcp,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
}

/// Operations with three operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Three {
    Mad,
    MadHigh,
    Fma,
    Sad,
    Prmt,
    ShfLeftWrap,
    ShfLeftClamp,
    ShfRightWrap,
    ShfRightClamp,
    Bfe,
}

/// Modifiers of float arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) round: Round,
    pub(crate) flush: bool,
    pub(crate) saturate: bool,
}

impl Mode {
    /// Round to nearest, keep subnormals: what the fast loops handle.
    pub(crate) const PLAIN: Mode = Mode { round: Round::Nearest, flush: false, saturate: false };
}

/// Sign- or zero-extends the low bits of `value` as `ty` has them.
#[inline(always)]
pub(crate) fn extend(ty: Ty, value: u64) -> i128 {
    match (ty.bits(), ty.signed()) {
        (8, true) => value as i8 as i128,
        (16, true) => value as i16 as i128,
        (32, true) => value as i32 as i128,
        (64, true) => value as i64 as i128,
        (8, false) => value as u8 as i128,
        (16, false) => value as u16 as i128,
        (32, false) => value as u32 as i128,
        _ => value as i128,
    }
}

/// The low bits of `value` that `ty` holds.
#[inline(always)]
pub(crate) fn truncate(ty: Ty, value: u64) -> u64 {
    match ty.bits() {
        8 => value & 0xff,
        16 => value & 0xffff,
        32 => value & 0xffff_ffff,
        _ => value,
    }
}

/// `op` on `a` and `b` as `ty`.
#[inline(always)]
pub(crate) fn two(op: Two, ty: Ty, mode: Mode, a: u64, b: u64) -> u64 {
    match op {
        Two::And => return a & b,
        Two::Or => return a | b,
        Two::Xor => return a ^ b,
        _ => {}
    }
    match ty {
        Ty::F32 => two_single(op, mode, a, b),
        Ty::F64 => two_double(op, a, b),
        Ty::F16 | Ty::Bf16 => u64::from(two_half(op, ty, mode, a as u16, b as u16)),
        Ty::F16x2 | Ty::Bf16x2 => {
            let scalar = ty.half_of_pair().unwrap_or(Ty::F16);
            let low = two_half(op, scalar, mode, a as u16, b as u16);
            let high = two_half(op, scalar, mode, (a >> 16) as u16, (b >> 16) as u16);
            u64::from(low) | u64::from(high) << 16
        }
        Ty::U32 | Ty::B32 => u64::from(two_u32(op, a as u32, b as u32)),
        Ty::S32 => u64::from(two_s32(op, a as i32, b as i32) as u32),
        Ty::U64 | Ty::B64 => two_u64(op, a, b),
        Ty::S64 => two_s64(op, a as i64, b as i64) as u64,
        Ty::S16 => two_s32(op, a as i16 as i32, short_shift(op, b, true) as i32) as u64 & 0xffff,
        _ => truncate(ty, u64::from(two_u32(op, a as u16 as u32, short_shift(op, b, false)))),
    }
}

/// Shift amounts are 32 bits wide whatever is shifted.
#[inline(always)]
fn short_shift(op: Two, b: u64, signed: bool) -> u32 {
    match op {
        Two::Shl | Two::Shr => b as u32,
        _ if signed => b as i16 as i32 as u32,
        _ => b as u16 as u32,
    }
}

#[inline(always)]
fn two_u32(op: Two, a: u32, b: u32) -> u32 {
    match op {
        Two::Add => a.wrapping_add(b),
        Two::Sub => a.wrapping_sub(b),
        Two::Mul => a.wrapping_mul(b),
        Two::MulHigh => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        Two::Div => a.checked_div(b).unwrap_or(u32::MAX),
        Two::Rem => a.checked_rem(b).unwrap_or(a),
        Two::Min => a.min(b),
        Two::Max => a.max(b),
        Two::Shl => a.checked_shl(b).unwrap_or(0),
        Two::Shr => a.checked_shr(b).unwrap_or(0),
        Two::And | Two::Or | Two::Xor | Two::CopySign => 0,
    }
}

#[inline(always)]
fn two_s32(op: Two, a: i32, b: i32) -> i32 {
    match op {
        Two::MulHigh => ((i64::from(a) * i64::from(b)) >> 32) as i32,
        Two::Div => {
            if b == 0 {
                -1
            } else {
                a.wrapping_div(b)
            }
        }
        Two::Rem => {
            if b == 0 {
                a
            } else {
                a.wrapping_rem(b)
            }
        }
        Two::Min => a.min(b),
        Two::Max => a.max(b),
        Two::Shr => a >> (b as u32).min(31),
        _ => two_u32(op, a as u32, b as u32) as i32,
    }
}

#[inline(always)]
fn two_u64(op: Two, a: u64, b: u64) -> u64 {
    match op {
        Two::Add => a.wrapping_add(b),
        Two::Sub => a.wrapping_sub(b),
        Two::Mul => a.wrapping_mul(b),
        Two::MulHigh => ((u128::from(a) * u128::from(b)) >> 64) as u64,
        Two::Div => a.checked_div(b).unwrap_or(u64::MAX),
        Two::Rem => a.checked_rem(b).unwrap_or(a),
        Two::Min => a.min(b),
        Two::Max => a.max(b),
        Two::Shl => a.checked_shl(b as u32).unwrap_or(0),
        Two::Shr => a.checked_shr(b as u32).unwrap_or(0),
        Two::And | Two::Or | Two::Xor | Two::CopySign => 0,
    }
}

#[inline(always)]
fn two_s64(op: Two, a: i64, b: i64) -> i64 {
    match op {
        Two::MulHigh => ((i128::from(a) * i128::from(b)) >> 64) as i64,
        Two::Div => {
            if b == 0 {
                -1
            } else {
                a.wrapping_div(b)
            }
        }
        Two::Rem => {
            if b == 0 {
                a
            } else {
                a.wrapping_rem(b)
            }
        }
        Two::Min => a.min(b),
        Two::Max => a.max(b),
        Two::Shr => a >> (b as u32).min(63),
        _ => two_u64(op, a as u64, b as u64) as i64,
    }
}

#[inline(always)]
fn two_single(op: Two, mode: Mode, a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
    if mode.flush {
        (x, y) = (flush(x), flush(y));
    }
    let directed = !matches!(mode.round, Round::Nearest);
    let wide = (f64::from(x), f64::from(y));
    let value = match op {
        Two::Add if directed => zero_sum(to_single(add_odd(wide.0, wide.1), mode.round), x, y, mode.round),
        Two::Sub if directed => zero_sum(to_single(add_odd(wide.0, -wide.1), mode.round), x, -y, mode.round),
        Two::Mul if directed => to_single(wide.0 * wide.1, mode.round),
        Two::Div if directed => to_single(div_odd(wide.0, wide.1), mode.round),
        Two::Add => x + y,
        Two::Sub => x - y,
        Two::Mul => x * y,
        Two::Div => x / y,
        Two::Min => minimum(x, y),
        Two::Max => -minimum(-x, -y),
        // PTX's copysign.f32 d, a, b: the sign of a on the magnitude of b.
        Two::CopySign => y.copysign(x),
        _ => 0.0,
    };
    u64::from(finish_single(value, mode))
}

/// An exact zero sum of non-zeros is -0 when rounding down, else +0.
fn zero_sum(value: f32, x: f32, y: f32, round: Round) -> f32 {
    if value == 0.0 && x == -y && x != 0.0 {
        return if round == Round::Down { -0.0 } else { 0.0 };
    }
    value
}

#[inline(always)]
fn finish_single(value: f32, mode: Mode) -> u32 {
    let mut value = value;
    if mode.flush {
        value = flush(value);
    }
    if mode.saturate {
        value = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) + 0.0 };
    }
    single_bits(value)
}

/// The smaller; a NaN loses, -0 is below +0.
#[inline(always)]
fn minimum(x: f32, y: f32) -> f32 {
    if x.is_nan() {
        y
    } else if y.is_nan() || x < y || (x == y && x.is_sign_negative()) {
        x
    } else {
        y
    }
}

#[inline(always)]
fn two_double(op: Two, a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let value = match op {
        Two::Add => x + y,
        Two::Sub => x - y,
        Two::Mul => x * y,
        Two::Div => x / y,
        Two::Min | Two::Max if x.is_nan() => y,
        Two::Min | Two::Max if y.is_nan() => x,
        Two::Min => {
            if x < y || (x == y && x.is_sign_negative()) {
                x
            } else {
                y
            }
        }
        Two::Max => {
            if x > y || (x == y && y.is_sign_negative()) {
                x
            } else {
                y
            }
        }
        Two::CopySign => y.copysign(x),
        _ => 0.0,
    };
    double_bits(value)
}

#[inline(always)]
fn double_bits(value: f64) -> u64 {
    if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() }
}

fn two_half(op: Two, ty: Ty, mode: Mode, a: u16, b: u16) -> u16 {
    let (x, y) = (half_to_single(a, ty), half_to_single(b, ty));
    let value = match op {
        Two::Add => add_odd(f64::from(x), f64::from(y)),
        Two::Sub => add_odd(f64::from(x), -f64::from(y)),
        Two::Mul => f64::from(x) * f64::from(y),
        Two::Min => f64::from(minimum(x, y)),
        Two::Max => f64::from(-minimum(-x, -y)),
        _ => 0.0,
    };
    finish_half(value, ty, mode)
}

fn finish_half(value: f64, ty: Ty, mode: Mode) -> u16 {
    let value = if mode.saturate { if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) } } else { value };
    let bits = to_half(value, ty, mode.round);
    let subnormal = bits & 0x7fff != 0 && bits & if ty == Ty::Bf16 { 0x7f80 } else { 0x7c00 } == 0;
    if mode.flush && subnormal { bits & 0x8000 } else { bits }
}

/// `op` on `a` as `ty`. Counts (popc, clz, bfind) give 32 bits whatever `ty` is.
#[inline(always)]
pub(crate) fn one(op: One, ty: Ty, mode: Mode, a: u64) -> u64 {
    match op {
        One::Not => return truncate(ty, !a),
        One::Popc => return u64::from(truncate(ty, a).count_ones()),
        One::Clz => {
            return u64::from(if ty.bytes() == 8 { a.leading_zeros() } else { (a as u32).leading_zeros() });
        }
        One::Brev => {
            return if ty.bytes() == 8 { a.reverse_bits() } else { u64::from((a as u32).reverse_bits()) };
        }
        One::Bfind | One::BfindShift => return bfind(ty, a, op == One::BfindShift),
        _ => {}
    }
    match ty {
        Ty::F32 => one_single(op, mode, f32::from_bits(a as u32)),
        Ty::F64 => one_double(op, f64::from_bits(a)),
        Ty::F16 | Ty::Bf16 => u64::from(one_half(op, ty, a as u16)),
        Ty::F16x2 | Ty::Bf16x2 => {
            let scalar = ty.half_of_pair().unwrap_or(Ty::F16);
            u64::from(one_half(op, scalar, a as u16))
                | u64::from(one_half(op, scalar, (a >> 16) as u16)) << 16
        }
        _ => {
            let value = extend(ty, a);
            let value = if op == One::Neg || value < 0 { -value } else { value };
            truncate(ty, value as u64)
        }
    }
}

#[inline(always)]
fn one_single(op: One, mode: Mode, a: f32) -> u64 {
    // Sign operations keep a NaN's payload.
    match op {
        One::Neg => return u64::from((if mode.flush { flush(a) } else { a }).to_bits() ^ 1 << 31),
        One::Abs => return u64::from((if mode.flush { flush(a) } else { a }).to_bits() & !(1 << 31)),
        _ => {}
    }
    let x = if mode.flush { flush(a) } else { a };
    let value = match op {
        One::Sqrt if mode.round != Round::Nearest => to_single(sqrt_odd(f64::from(x)), mode.round),
        One::Rcp if mode.round != Round::Nearest => to_single(div_odd(1.0, f64::from(x)), mode.round),
        One::Sqrt => x.sqrt(),
        One::Rsqrt => (1.0 / f64::from(x).sqrt()) as f32,
        One::Rcp => 1.0 / x,
        One::Ex2 => f64::from(x).exp2() as f32,
        One::Lg2 => f64::from(x).log2() as f32,
        One::Sin => f64::from(x).sin() as f32,
        One::Cos => f64::from(x).cos() as f32,
        One::Tanh => f64::from(x).tanh() as f32,
        _ => 0.0,
    };
    u64::from(finish_single(value, mode))
}

fn one_double(op: One, x: f64) -> u64 {
    match op {
        One::Neg => (-x).to_bits(),
        One::Abs => x.abs().to_bits(),
        One::Sqrt => double_bits(x.sqrt()),
        One::Rcp => double_bits(1.0 / x),
        One::Rsqrt => double_bits(1.0 / x.sqrt()),
        _ => 0,
    }
}

fn one_half(op: One, ty: Ty, a: u16) -> u16 {
    match op {
        One::Neg => a ^ 0x8000,
        One::Abs => a & 0x7fff,
        One::Ex2 => to_half(f64::from(half_to_single(a, ty)).exp2(), ty, Round::Nearest),
        One::Tanh => to_half(f64::from(half_to_single(a, ty)).tanh(), ty, Round::Nearest),
        _ => 0,
    }
}

/// `op` on `a`, `b` and `c` as `ty`.
#[inline(always)]
pub(crate) fn three(op: Three, ty: Ty, mode: Mode, a: u64, b: u64, c: u64) -> u64 {
    let funnel = (a & 0xffff_ffff) | b << 32;
    match op {
        Three::Mad => two(Two::Add, ty, mode, two(Two::Mul, ty, mode, a, b), c),
        Three::MadHigh => two(Two::Add, ty, mode, two(Two::MulHigh, ty, mode, a, b), c),
        Three::Fma => fma(ty, mode, a, b, c),
        Three::Sad => {
            truncate(ty, (extend(ty, a) - extend(ty, b)).unsigned_abs() as u64).wrapping_add(c)
                & (u64::MAX >> (64 - ty.bits()))
        }
        Three::Prmt => u64::from(prmt(a as u32, b as u32, c as u32)),
        Three::ShfLeftWrap => (funnel << (c & 31)) >> 32,
        Three::ShfLeftClamp => (funnel.checked_shl((c as u32).min(32)).unwrap_or(0)) >> 32,
        Three::ShfRightWrap => (funnel >> (c & 31)) & 0xffff_ffff,
        Three::ShfRightClamp => (funnel >> (c as u32).min(32)) & 0xffff_ffff,
        Three::Bfe => bfe(ty, a, b, c),
    }
}

#[inline(always)]
fn fma(ty: Ty, mode: Mode, a: u64, b: u64, c: u64) -> u64 {
    match ty {
        Ty::F64 => double_bits(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c))),
        Ty::F32 => {
            let read =
                |v: u64| if mode.flush { flush(f32::from_bits(v as u32)) } else { f32::from_bits(v as u32) };
            let (x, y, z) = (read(a), read(b), read(c));
            let value = match mode.round {
                Round::Nearest => x.mul_add(y, z),
                round => to_single(add_odd(f64::from(x) * f64::from(y), f64::from(z)), round),
            };
            u64::from(finish_single(value, mode))
        }
        Ty::F16x2 | Ty::Bf16x2 => {
            let scalar = ty.half_of_pair().unwrap_or(Ty::F16);
            fma_half(scalar, mode, a, b, c) | fma_half(scalar, mode, a >> 16, b >> 16, c >> 16) << 16
        }
        _ => fma_half(ty, mode, a, b, c),
    }
}

fn fma_half(ty: Ty, mode: Mode, a: u64, b: u64, c: u64) -> u64 {
    let read = |v: u64| f64::from(half_to_single(v as u16, ty));
    u64::from(finish_half(add_odd(read(a) * read(b), read(c)), ty, mode))
}

#[cfg(test)]
mod tests;
