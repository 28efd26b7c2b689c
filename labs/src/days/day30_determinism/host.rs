//! What the host knows of the sums: the random floats, their sum in double, and the two sums whose bits it can tell.

/// Threads a block of `two_pass`.
const BLOCK: usize = 256;
/// Lanes of a warp.
const WARP: usize = 32;

/// Random floats in [0, 1), rounded from doubles: small ones have as many digits as large ones, and few sums of them
/// are floats.
pub(super) fn uniform(n: u64, seed: u64) -> impl Iterator<Item = f32> {
    const BELOW_ONE: f32 = 1.0 - f32::EPSILON / 2.0;
    let mut random = fastrand::Rng::with_seed(seed ^ 0x0d30);
    (0..n).map(move |_| (random.f64() as f32).min(BELOW_ONE))
}

/// The sum in double: parts of at most 1,024 elements, and Kahan's compensated sum over the parts (W. Kahan, "Further
/// remarks on reducing truncation errors", CACM 8(1), 1965). Its relative error stays below 2^-42.
pub(super) fn sum(values: impl Iterator<Item = f32>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0_f64);
    let mut enter = |part: f64| {
        let next = part - lost;
        let larger = total + next;
        lost = (larger - total) - next;
        total = larger;
    };
    let (mut part, mut count) = (0.0, 0);
    for value in values {
        part += f64::from(value);
        count += 1;
        if count == 1024 {
            enter(part);
            (part, count) = (0.0, 0);
        }
    }
    enter(part);
    total
}

/// The nearest whole number of units of 2^-`bits`, ties to even.
pub(super) fn units(value: f32, bits: i32) -> i64 {
    (value * 2_f32.powi(bits)).round_ties_even() as i64
}

/// Whether numbers whose magnitudes add up to `magnitudes` can be summed in 64 bits, in units of 2^-`bits`.
pub(super) fn fits(magnitudes: f64, bits: i32) -> bool {
    magnitudes < 2_f64.powi(63 - bits)
}

/// The float that `two_pass` comes to with this grid: the same adds in the same order.
pub(super) fn two_pass(values: &[f32], grid: u64) -> f32 {
    let grid = grid as usize;
    let block = |block: usize| block_sum(|t| thread_share(values, block * BLOCK + t, grid * BLOCK));
    let partials: Vec<f32> = (0..grid).map(block).collect();
    block_sum(|t| partials.iter().skip(t).step_by(BLOCK).fold(0.0, |sum, partial| sum + partial))
}

/// One of the last elements that fill no quad, then every `stride`-th quad.
fn thread_share(values: &[f32], first: usize, stride: usize) -> f32 {
    let (quads, rest) = values.as_chunks::<4>();
    let own = rest.get(first).copied().unwrap_or(0.0);
    quads.iter().skip(first).step_by(stride).flatten().fold(own, |sum, value| sum + value)
}

fn block_sum(value: impl Fn(usize) -> f32) -> f32 {
    let warp = |warp: usize| fold((0..WARP).map(|lane| value(warp * WARP + lane)).collect());
    fold((0..BLOCK / WARP).map(warp).collect())
}

/// Pairwise, the upper half onto the lower, as a warp's shuffles do it.
fn fold(mut values: Vec<f32>) -> f32 {
    while values.len() > 1 {
        let upper = values.split_off(values.len() / 2);
        values.iter_mut().zip(upper).for_each(|(value, other)| *value += other);
    }
    values[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_floats_are_below_one_and_their_sums_round() {
        let values: Vec<f32> = uniform(10_000, 1).collect();
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        let forwards = values.iter().fold(0.0_f32, |sum, value| sum + value);
        let backwards = values.iter().rev().fold(0.0_f32, |sum, value| sum + value);
        assert_ne!(forwards.to_bits(), backwards.to_bits());
        assert!(values.iter().any(|value| units(*value, 32) as f32 != *value * 2_f32.powi(32)));
    }

    #[test]
    fn the_double_sum_is_what_integers_give() {
        let values: Vec<f32> = uniform(100_000, 2).collect();
        // The largest 53 of the digits that doubles have after the point: exact but for the smallest values.
        let units: i128 = values.iter().map(|value| (f64::from(*value) * 2_f64.powi(60)) as i128).sum();
        let exact = units as f64 / 2_f64.powi(60);
        assert!((sum(values.into_iter()) - exact).abs() <= exact * 2_f64.powi(-42));
        assert_eq!(sum(std::iter::empty()), 0.0);
    }

    #[test]
    fn units_round_to_even_and_the_bound_is_the_accumulators() {
        assert_eq!(units(0.5, 32), 1 << 31);
        assert_eq!(units(1.5 * 2_f32.powi(-32), 32), 2);
        assert_eq!(units(2.5 * 2_f32.powi(-32), 32), 2);
        assert!(fits(2_147_483_647.0, 32));
        assert!(!fits(2_147_483_648.0, 32), "the sum would be 2^63 units, one more than fit");
    }

    #[test]
    fn the_order_depends_on_the_grid_and_on_nothing_else() {
        let values: Vec<f32> = uniform(20_011, 3).collect();
        assert_eq!(two_pass(&values, 20).to_bits(), two_pass(&values, 20).to_bits());
        let mut patterns: Vec<u32> = (1..20).map(|grid| two_pass(&values, grid).to_bits()).collect();
        patterns.sort_unstable();
        patterns.dedup();
        assert!(patterns.len() > 1, "another grid is another order");
        assert_eq!(two_pass(&[1.0; 1003], 1), 1003.0);
        assert_eq!(two_pass(&[], 1), 0.0);
    }
}
