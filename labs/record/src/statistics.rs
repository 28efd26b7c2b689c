//! Statistics over samples: medians and quartiles, and whether sessions agree.

/// Sessions agree when the largest of their medians is at most this much above the smallest.
pub const AGREEMENT: f64 = 0.05;

/// What is shown of a figure's samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Median of all samples of all sessions.
    pub median: f64,
    /// First and third quartile.
    pub quartiles: (f64, f64),
    /// Smallest and largest sample.
    pub extremes: (f64, f64),
    /// Each session's own median, in order; sessions without samples are left out.
    pub session_medians: Vec<f64>,
    /// How many samples.
    pub count: usize,
}

impl Summary {
    /// Summarises samples given session by session; none if there are no samples.
    pub fn of(sessions: &[Vec<f64>]) -> Option<Summary> {
        let mut all: Vec<f64> = sessions.iter().flatten().copied().collect();
        if all.is_empty() {
            return None;
        }
        all.sort_by(f64::total_cmp);
        Some(Summary {
            median: quantile(&all, 0.5),
            quartiles: (quantile(&all, 0.25), quantile(&all, 0.75)),
            extremes: (all[0], all[all.len() - 1]),
            session_medians: sessions.iter().filter_map(|session| median(session)).collect(),
            count: all.len(),
        })
    }

    /// Smallest and largest of the sessions' medians.
    pub fn session_range(&self) -> (f64, f64) {
        self.session_medians
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &m| (low.min(m), high.max(m)))
    }

    /// Whether the sessions' medians differ by more than [`AGREEMENT`].
    pub fn noisy(&self) -> bool {
        let (low, high) = self.session_range();
        high > low + AGREEMENT * low.abs()
    }

    /// Half the interquartile range over the median: the noise within sessions, as a fraction.
    pub fn relative_spread(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.quartiles.1 - self.quartiles.0) / 2.0 / self.median.abs() }
    }
}

/// The middle of `samples`, in any order; none of nothing.
pub fn median(samples: &[f64]) -> Option<f64> {
    if samples.is_empty() {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(quantile(&sorted, 0.5))
}

/// Quantile `q` (0 to 1) of sorted, non-empty samples, between neighbours by their distance
/// (Hyndman and Fan's type 7).
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = place.ceil() as usize;
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_samples() {
        let summary = Summary::of(&[vec![4.0, 1.0], vec![2.0, 3.0, 10.0]]).unwrap();
        assert_eq!(summary.median, 3.0);
        assert_eq!(summary.quartiles, (2.0, 4.0));
        assert_eq!(summary.extremes, (1.0, 10.0));
        assert_eq!(summary.session_medians, [2.5, 3.0]);
        assert_eq!(summary.count, 5);
    }

    #[test]
    fn sessions_that_disagree_are_noisy() {
        assert!(!Summary::of(&[vec![100.0], vec![105.0]]).unwrap().noisy());
        assert!(Summary::of(&[vec![100.0], vec![105.1]]).unwrap().noisy());
        assert!(Summary::of(&[vec![0.0], vec![1.0]]).unwrap().noisy());
    }

    #[test]
    fn nothing_has_no_summary() {
        assert_eq!(Summary::of(&[vec![], vec![]]), None);
    }
}
