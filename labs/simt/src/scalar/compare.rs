//! Comparisons.

use crate::float::{flush, half_to_single};
use crate::types::Ty;

/// Comparisons; the second half are the unordered ones, true when an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

/// `a cmp b` as `ty`.
#[inline(always)]
pub(crate) fn compare(cmp: Compare, ty: Ty, flushing: bool, a: u64, b: u64) -> bool {
    match ty {
        Ty::F32 if flushing => compare_floats(
            cmp,
            f64::from(flush(f32::from_bits(a as u32))),
            f64::from(flush(f32::from_bits(b as u32))),
        ),
        Ty::F32 => {
            compare_floats(cmp, f64::from(f32::from_bits(a as u32)), f64::from(f32::from_bits(b as u32)))
        }
        Ty::F64 => compare_floats(cmp, f64::from_bits(a), f64::from_bits(b)),
        Ty::F16 | Ty::Bf16 => compare_floats(
            cmp,
            f64::from(half_to_single(a as u16, ty)),
            f64::from(half_to_single(b as u16, ty)),
        ),
        Ty::U32 | Ty::B32 => compare_whole(cmp, a as u32, b as u32),
        Ty::S32 => compare_whole(cmp, a as i32, b as i32),
        Ty::U64 | Ty::B64 => compare_whole(cmp, a, b),
        Ty::S64 => compare_whole(cmp, a as i64, b as i64),
        Ty::S16 => compare_whole(cmp, a as i16, b as i16),
        _ => compare_whole(cmp, a as u16, b as u16),
    }
}

#[inline(always)]
fn compare_whole<T: PartialOrd>(cmp: Compare, a: T, b: T) -> bool {
    match cmp {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        _ => a >= b,
    }
}

#[inline(always)]
fn compare_floats(cmp: Compare, a: f64, b: f64) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    match cmp {
        Compare::Eq => a == b,
        Compare::Ne => a != b && !unordered,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
        Compare::Equ => a == b || unordered,
        Compare::Neu => a != b || unordered,
        Compare::Ltu => a < b || unordered,
        Compare::Leu => a <= b || unordered,
        Compare::Gtu => a > b || unordered,
        Compare::Geu => a >= b || unordered,
        Compare::Num => !unordered,
        Compare::Nan => unordered,
    }
}
