//! Conversions between types.

use super::{Mode, double_bits, extend, finish_half, finish_single, truncate};
use crate::float::{flush, half_to_single, to_half, to_single};
use crate::types::{Round, Ty};

/// How `cvt` rounds and limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(crate) mode: Mode,
    /// Round to a whole number (`.rni` and its kin).
    pub(crate) whole: bool,
}

/// `cvt.to.from`
#[inline(always)]
pub(crate) fn convert(to: Ty, from: Ty, how: Conversion, a: u64) -> u64 {
    match (from.float(), to.float()) {
        (false, false) => convert_whole(to, from, how.mode.saturate, a),
        (false, true) => float_from_whole(to, how.mode, extend(from, a)),
        (true, false) => whole_from_float(to, from, how, a),
        (true, true) => convert_float(to, from, how, a),
    }
}

#[inline(always)]
fn convert_whole(to: Ty, from: Ty, saturate: bool, a: u64) -> u64 {
    let value = extend(from, a);
    if saturate {
        let (low, high) = limits(to);
        return truncate(to, value.clamp(low, high) as u64);
    }
    truncate(to, value as u64)
}

fn limits(ty: Ty) -> (i128, i128) {
    if ty.signed() {
        (-(1 << (ty.bits() - 1)), (1 << (ty.bits() - 1)) - 1)
    } else {
        (0, (1 << ty.bits()) - 1)
    }
}

fn float_from_whole(to: Ty, mode: Mode, value: i128) -> u64 {
    if mode.round == Round::Nearest {
        match to {
            Ty::F32 => return u64::from((value as f32).to_bits()),
            Ty::F64 => return (value as f64).to_bits(),
            _ => {}
        }
    }
    let nearest = value as f64;
    let odd = to_odd_whole(nearest, value);
    match to {
        Ty::F64 => directed_double(nearest, value, mode.round).to_bits(),
        Ty::F32 => u64::from(to_single(odd, mode.round).to_bits()),
        _ => u64::from(to_half(odd, to, mode.round)),
    }
}

fn to_odd_whole(nearest: f64, value: i128) -> f64 {
    let rest = value - nearest as i128;
    if rest == 0 {
        return nearest;
    }
    let outward = (rest > 0) == (value > 0);
    let bits = nearest.to_bits();
    f64::from_bits(if outward { bits | 1 } else { (bits - 1) | 1 })
}

fn directed_double(nearest: f64, value: i128, round: Round) -> f64 {
    let above = (nearest as i128) > value;
    let below = (nearest as i128) < value;
    match round {
        Round::Down if above => nearest.next_down(),
        Round::Up if below => nearest.next_up(),
        Round::Zero if above && value > 0 => nearest.next_down(),
        Round::Zero if below && value < 0 => nearest.next_up(),
        _ => nearest,
    }
}

/// The value of a float container as a double, exact.
#[inline(always)]
pub(crate) fn as_double(ty: Ty, a: u64) -> f64 {
    match ty {
        Ty::F64 => f64::from_bits(a),
        Ty::F32 => f64::from(f32::from_bits(a as u32)),
        _ => f64::from(half_to_single(a as u16, ty)),
    }
}

fn to_whole(value: f64, round: Round) -> f64 {
    match round {
        Round::Nearest => value.round_ties_even(),
        Round::Zero => value.trunc(),
        Round::Down => value.floor(),
        Round::Up => value.ceil(),
    }
}

/// NaN becomes 0, or the lowest number where a side is 64 bits wide (PTX ISA, `cvt`).
fn whole_from_float(to: Ty, from: Ty, how: Conversion, a: u64) -> u64 {
    let mut value = as_double(from, a);
    if how.mode.flush && from == Ty::F32 {
        value = f64::from(flush(value as f32));
    }
    if value.is_nan() {
        return if from == Ty::F64 || to.bytes() == 8 { 1 << (to.bits() - 1) } else { 0 };
    }
    let (low, high) = limits(to);
    truncate(to, (to_whole(value, how.mode.round) as i128).clamp(low, high) as u64)
}

fn convert_float(to: Ty, from: Ty, how: Conversion, a: u64) -> u64 {
    let mut value = as_double(from, a);
    if how.mode.flush && from == Ty::F32 {
        value = f64::from(flush(value as f32));
    }
    if how.whole {
        value = to_whole(value, how.mode.round);
    }
    match to {
        Ty::F64 if how.mode.saturate => value.clamp(0.0, 1.0).to_bits(),
        Ty::F64 => double_bits(value),
        Ty::F32 => u64::from(finish_single(to_single(value, how.mode.round), how.mode)),
        _ => u64::from(finish_half(value, to, how.mode)),
    }
}
