//! Floats rounded as PTX says. Directed roundings and halves go through a
//! double rounded to odd: its last bit records that something was cut off, so
//! that a second rounding to fewer bits is still right (Boldo and Melquiond, 2008).

use crate::types::{Round, Ty};

/// The NaN that NVIDIA GPUs produce (PTX ISA, "NaN payloads").
pub(crate) const NAN_SINGLE: u32 = 0x7fff_ffff;

/// A single's bits, with the one NaN the hardware knows.
#[inline(always)]
pub(crate) fn single_bits(value: f32) -> u32 {
    if value.is_nan() { NAN_SINGLE } else { value.to_bits() }
}

/// A subnormal becomes a zero of its sign.
#[inline(always)]
pub(crate) fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

/// `exact + error` with `exact` rounded to nearest becomes the same sum rounded to odd.
fn to_odd(exact: f64, error: f64) -> f64 {
    if error == 0.0 || !exact.is_finite() || !error.is_finite() {
        return exact;
    }
    let bits = exact.to_bits();
    let outward = (error > 0.0) == (exact > 0.0) && exact != 0.0;
    f64::from_bits(if outward { bits | 1 } else { bits.wrapping_sub(1) | 1 })
}

/// `a + b`, rounded to odd (Knuth's two-sum gives the error).
pub(crate) fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let b_part = sum - a;
    let error = (a - (sum - b_part)) + (b - b_part);
    to_odd(sum, error)
}

/// `a / b` of singles, rounded to odd.
pub(crate) fn div_odd(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    let rest = (-quotient).mul_add(b, a);
    to_odd(quotient, if b < 0.0 { -rest } else { rest })
}

/// Square root of a single, rounded to odd.
pub(crate) fn sqrt_odd(a: f64) -> f64 {
    let root = a.sqrt();
    to_odd(root, (-root).mul_add(root, a))
}

/// A double as a single.
pub(crate) fn to_single(value: f64, round: Round) -> f32 {
    let nearest = value as f32;
    if value.is_nan() || f64::from(nearest) == value {
        return nearest;
    }
    let above = f64::from(nearest) > value;
    match round {
        Round::Nearest => nearest,
        Round::Zero if above != (value > 0.0) => nearest,
        Round::Zero => step_to_zero(nearest),
        Round::Down if !above => nearest,
        Round::Down => nearest.next_down(),
        Round::Up if above => nearest,
        Round::Up => nearest.next_up(),
    }
}

fn step_to_zero(value: f32) -> f32 {
    if value > 0.0 { value.next_down() } else { value.next_up() }
}

/// A half's or bfloat16's bits as a single.
#[inline]
pub(crate) fn half_to_single(bits: u16, ty: Ty) -> f32 {
    if ty == Ty::Bf16 {
        return f32::from_bits(u32::from(bits) << 16);
    }
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let mantissa = u32::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => (mantissa as f32) * f32::from_bits(0x3380_0000), // 2^-24
        31 => f32::from_bits(0x7f80_0000 | mantissa << 13),
        _ => f32::from_bits((exponent + 112) << 23 | mantissa << 13),
    };
    f32::from_bits(magnitude.to_bits() | sign)
}

/// A double as a half's or bfloat16's bits.
pub(crate) fn to_half(value: f64, ty: Ty, round: Round) -> u16 {
    let (mantissa_bits, exponent_min, largest, infinity) = match ty {
        Ty::Bf16 => (7, -126, 0x7f7f_u16, 0x7f80_u16),
        _ => (10, -14, 0x7bff, 0x7c00),
    };
    if value.is_nan() {
        return 0x7fff;
    }
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude.is_infinite() {
        return sign | infinity;
    }
    let exponent = (((magnitude.to_bits() >> 52) as i32) - 1023).max(exponent_min);
    // In units of the last place the value is below 2^(mantissa_bits + 1): exact in a double.
    let units = magnitude * 2.0_f64.powi(mantissa_bits - exponent);
    let whole = match (round, sign != 0) {
        (Round::Nearest, _) => units.round_ties_even(),
        (Round::Zero, _) | (Round::Down, false) | (Round::Up, true) => units.floor(),
        (Round::Down, true) | (Round::Up, false) => units.ceil(),
    } as u64;
    let biased = (exponent - exponent_min) as u64;
    let bits = (biased << mantissa_bits) + whole;
    if bits >= u64::from(infinity) {
        let outward = match round {
            Round::Nearest => true,
            Round::Zero => false,
            Round::Down => sign != 0,
            Round::Up => sign == 0,
        };
        return sign | if outward { infinity } else { largest };
    }
    sign | bits as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_a_round_trip() {
        for ty in [Ty::F16, Ty::Bf16] {
            for bits in 0..=u16::MAX {
                let single = half_to_single(bits, ty);
                let back = to_half(f64::from(single), ty, Round::Nearest);
                assert!(back == bits || single.is_nan(), "{ty:?} {bits:#x} -> {single} -> {back:#x}");
            }
        }
    }

    #[test]
    fn halves_round_to_even_and_stall_where_they_should() {
        let half = |x: f64| to_half(x, Ty::F16, Round::Nearest);
        assert_eq!(half(2049.0), half(2048.0));
        assert_eq!(half(2051.0), half(2052.0));
        assert_eq!(half(65520.0), 0x7c00);
        assert_eq!(half(65519.0), 0x7bff);
        assert_eq!(to_half(65520.0, Ty::F16, Round::Zero), 0x7bff);
        assert_eq!(half(2.0_f64.powi(-25)), 0);
        assert_eq!(half(2.0_f64.powi(-25) * 1.01), 1);
        let bf = |x: f64| to_half(x, Ty::Bf16, Round::Nearest);
        assert_eq!(bf(257.0), bf(256.0));
    }

    #[test]
    fn directed_sums_bracket_the_exact_one() {
        let (a, b) = (1.0_f64, f64::from(f32::from_bits(0x0000_0001)));
        assert_eq!(to_single(add_odd(a, b), Round::Up), 1.0_f32.next_up());
        assert_eq!(to_single(add_odd(a, b), Round::Down), 1.0);
        assert_eq!(to_single(add_odd(a, -b), Round::Down), 1.0_f32.next_down());
        assert_eq!(to_single(add_odd(-a, b), Round::Zero), -(1.0_f32.next_down()));
        assert_eq!(to_single(add_odd(a, b), Round::Nearest), 1.0);
    }

    #[test]
    fn directed_division_and_roots_bracket_the_exact_one() {
        let third = to_single(div_odd(1.0, 3.0), Round::Down);
        assert_eq!(third.next_up(), to_single(div_odd(1.0, 3.0), Round::Up));
        assert!(f64::from(third) * 3.0 < 1.0);
        let root = to_single(sqrt_odd(2.0), Round::Up);
        assert!(f64::from(root) * f64::from(root) > 2.0);
    }
}
