//! The maximum of floats: the policy, and what the kernels propose.
//!
//! Policy: that of CUDA's `fmaxf`. A NaN loses to any number, only NaNs give NaN, and -0 is below +0 (PTX ISA, `max`).

/// Bits of the NaN that means 'no number yet', and that `fmaxf` gives of two NaNs.
pub(super) const NO_NUMBER: u32 = 0x7fff_ffff;

/// The lowest float, negative infinity, as bits.
pub(super) const LOWEST: u32 = 0xff80_0000;

/// Inputs that a maximum gets wrong which does not keep to the policy.
pub(super) const SPECIAL: [&[f32]; 10] = [
    &[-1.0, -2.0, -3.0],
    &[-3.5, -0.25, -2.0, -1.0],
    &[f32::NAN, -5.0],
    &[-5.0, f32::NAN, f32::NAN],
    &[f32::NAN],
    &[-0.0, 0.0],
    &[0.0, -0.0],
    &[-0.0, -1.0],
    &[f32::NEG_INFINITY, f32::NAN],
    &[-1e-40, -1e-41, f32::NEG_INFINITY],
];

/// An unsigned integer that has the float's order: 0 for NaN, below every number.
pub(super) fn ordered(value: f32) -> u32 {
    const SIGN: u32 = 1 << 31;
    let bits = value.to_bits();
    match (value.is_nan(), bits & SIGN != 0) {
        (true, _) => 0,
        (false, true) => !bits,
        (false, false) => bits | SIGN,
    }
}

/// The bits of the higher of two floats by the policy, a NaN's always [`NO_NUMBER`].
pub(super) fn higher(a: f32, b: f32) -> f32 {
    let higher = if ordered(a) >= ordered(b) { a } else { b };
    if higher.is_nan() { f32::from_bits(NO_NUMBER) } else { higher }
}

/// What a thread proposes in its `k`-th turn, as `proposal` in the kernel file.
pub(super) fn proposal(first: f32, thread: u32, k: u32) -> f32 {
    if k == 0 {
        return first;
    }
    let mut noise = (thread ^ k.wrapping_mul(0x9e37_79b1)).wrapping_mul(0x85eb_ca77);
    noise ^= noise >> 16;
    if (noise / 32).is_multiple_of(8) {
        return f32::from_bits(NO_NUMBER);
    }
    // Below 2^24 in size, so the float is exact.
    (32_i64 * i64::from(k) + i64::from(noise % 32) - (1 << 20)) as f32
}

/// The highest of a thread's first `turns` proposals.
pub(super) fn highest_of(first: f32, thread: u32, turns: u32) -> f32 {
    let nothing = f32::from_bits(NO_NUMBER);
    if turns == 0 {
        return nothing;
    }
    // After the first they rise: the last that is a number is the highest of them.
    let later = (1..turns).rev().map(|k| proposal(first, thread, k)).find(|value| !value.is_nan());
    higher(first, later.unwrap_or(nothing))
}

/// First proposals: below those that follow, one in eight no number, one in eight the lowest.
pub(super) fn firsts(count: u64, seed: u64) -> impl Iterator<Item = f32> {
    let mut random = fastrand::Rng::with_seed(seed ^ 0xf125);
    (0..count).map(move |_| match random.u8(..8) {
        0 => f32::NAN,
        1 => f32::NEG_INFINITY,
        _ => -(random.f32() + 1.0) * (1 << 21) as f32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_has_the_order_of_the_policy() {
        let rising =
            [f32::NAN, f32::NEG_INFINITY, -2.0, -1.0, -1e-40, -0.0, 0.0, 1e-40, 1.0, 2.0, f32::INFINITY];
        assert!(rising.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        assert_eq!(ordered(f32::from_bits(0xffc0_0001)), 0, "a NaN with its sign set is no number either");
        assert_eq!(ordered(f32::NAN), 0);
    }

    #[test]
    fn integers_on_the_bits_have_another_order() {
        let integer = |value: f32| value.to_bits() as i32;
        assert!(integer(1.0) < integer(2.0));
        assert!(integer(-1.0) < integer(-2.0), "below zero the order turns round");
    }

    #[test]
    fn a_number_beats_a_nan_and_zero_has_a_sign() {
        assert_eq!(higher(f32::NAN, -5.0), -5.0);
        assert_eq!(higher(-0.0, 0.0).to_bits(), 0);
        assert_eq!(higher(0.0, -0.0).to_bits(), 0);
        assert_eq!(higher(f32::from_bits(0xffc0_0001), f32::NAN).to_bits(), NO_NUMBER);
    }

    #[test]
    fn the_highest_proposal_is_found_without_looking_at_all_of_them() {
        for (thread, turns) in [(0, 1), (3, 2), (7, 9), (200, 4_000)] {
            let first = if thread == 3 { f32::NAN } else { -3e6 };
            let all = (0..turns).map(|k| proposal(first, thread, k));
            let wanted = all.fold(f32::from_bits(NO_NUMBER), higher);
            assert_eq!(highest_of(first, thread, turns).to_bits(), wanted.to_bits(), "thread {thread}");
        }
        let proposals: Vec<f32> = (1..100_000).map(|k| proposal(0.0, 5, k)).collect();
        assert!(proposals.iter().any(|value| value.is_nan()));
        let numbers: Vec<f32> = proposals.into_iter().filter(|value| !value.is_nan()).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "each changes the maximum");
    }
}
