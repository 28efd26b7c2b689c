//! Judging claims: from a record's figures to a verdict.

use crate::claim::{Claim, FigureRef, Finding, Predicate, Quantity, RatioOf, Verdict};
use crate::figure::{Coordinate, Figure, Kind, describe};
use crate::record::{Absent, Gpu};

/// What claims are judged on: a record, or figures published elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The GPU it speaks of.
    pub gpu: &'a Gpu,
    /// Its figures.
    pub figures: &'a [Figure],
    /// What it lacks, with reasons.
    pub absent: &'a [Absent],
}

/// A number with the interval that the sessions' medians span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Over all samples.
    pub value: f64,
    /// From the lowest session.
    pub low: f64,
    /// To the highest.
    pub high: f64,
}

impl Interval {
    fn over(self, other: Interval) -> Interval {
        Interval { value: self.value / other.value, low: self.low / other.high, high: self.high / other.low }
    }
}

/// Why a claim can't be judged: the verdict, and the reason.
type Unjudged = (Verdict, String);

impl Evidence<'_> {
    /// Judges a claim.
    pub fn judge(&self, claim: &Claim) -> Finding {
        if let Some(needed) = &claim.needs_compute_capability
            && capability(&self.gpu.compute_capability) < capability(needed)
        {
            let reason = format!(
                "it needs compute capability {needed}; {} has {}",
                self.gpu.name, self.gpu.compute_capability
            );
            return Finding::without_numbers(Verdict::NotApplicable, reason);
        }
        let finding = self
            .predicate(&claim.predicate)
            .unwrap_or_else(|(verdict, reason)| Finding::without_numbers(verdict, reason));
        if finding.value.is_some_and(|value| !value.is_finite()) {
            let reason = "what it compares is not a number: a sample is zero where it divides".to_owned();
            return Finding::without_numbers(Verdict::NotMeasured, reason);
        }
        finding
    }

    /// The figures a reference names, in the order of `along`'s places; several only if `along` tells them apart.
    fn figures(&self, wanted: &FigureRef, along: Option<&str>) -> Result<Vec<&Figure>, Unjudged> {
        let mut found: Vec<&Figure> = self
            .figures
            .iter()
            .filter(|figure| {
                figure.name == wanted.figure
                    && figure.variant == wanted.variant
                    && wanted.at.iter().all(|(axis, place)| figure.at.get(axis) == Some(place))
            })
            .filter(|figure| along.is_none_or(|axis| figure.at.contains_key(axis)))
            .collect();
        let name = describe(&wanted.figure, wanted.variant.as_deref(), &wanted.at);
        if found.is_empty() {
            let absent = self
                .absent
                .iter()
                .find(|absent| absent.what == wanted.figure || Some(&absent.what) == wanted.variant.as_ref());
            return Err(match absent {
                Some(absent) => (Verdict::NotApplicable, absent.why.clone()),
                None => (Verdict::NotMeasured, format!("there is no figure `{name}`")),
            });
        }
        if let Some(axis) = along {
            found.sort_by(|a, b| a.at.get(axis).cmp(&b.at.get(axis)));
        }
        let same_place = |pair: &[&Figure]| match along {
            Some(axis) => pair[0].at.get(axis) == pair[1].at.get(axis),
            None => true,
        };
        if found.windows(2).any(same_place) {
            let reason = format!("`{name}` names several figures; name more axes");
            return Err((Verdict::NotMeasured, reason));
        }
        Ok(found)
    }

    /// The quantity's value; the reference must name exactly one figure.
    pub fn value(&self, quantity: &Quantity) -> Result<Interval, String> {
        let points = self.series(quantity, None).map_err(|(_, reason)| reason)?;
        Ok(points[0].1)
    }

    /// The observation that a quantity is; none for a ratio, or a figure that is none.
    pub fn observation(&self, quantity: &Quantity) -> Option<&Figure> {
        let Quantity::Figure(figure) = quantity else { return None };
        self.figures(figure, None).ok()?.first().copied().filter(|figure| figure.kind == Kind::Observation)
    }

    /// The unit in which a quantity's value is; none for a ratio.
    pub fn unit(&self, quantity: &Quantity) -> Option<crate::figure::Unit> {
        match quantity {
            Quantity::Ratio { .. } => None,
            Quantity::Figure(figure) => self.figures(figure, None).ok()?.first().map(|figure| figure.unit),
        }
    }

    /// A quantity at every place of `along` (at one place, if there is no axis). Never empty.
    fn series(
        &self,
        quantity: &Quantity,
        along: Option<&str>,
    ) -> Result<Vec<(Option<Coordinate>, Interval)>, Unjudged> {
        match quantity {
            Quantity::Figure(figure) => self.points(figure, along),
            Quantity::Ratio { ratio: RatioOf { of, to } } => {
                let below = self.points(to, along)?;
                let ratios: Vec<_> = self
                    .points(of, along)?
                    .into_iter()
                    .filter_map(|(place, above)| {
                        let (_, below) = below.iter().find(|(other, _)| *other == place)?;
                        Some((place, above.over(*below)))
                    })
                    .collect();
                if ratios.is_empty() {
                    let reason =
                        format!("`{}` and `{}` were measured at no common place", of.figure, to.figure);
                    return Err((Verdict::NotMeasured, reason));
                }
                Ok(ratios)
            }
        }
    }

    fn points(
        &self,
        wanted: &FigureRef,
        along: Option<&str>,
    ) -> Result<Vec<(Option<Coordinate>, Interval)>, Unjudged> {
        self.figures(wanted, along)?
            .into_iter()
            .map(|figure| {
                let summary = figure.summary().ok_or_else(|| {
                    (Verdict::NotMeasured, format!("`{}` has no samples", figure.describe()))
                })?;
                let (low, high) = match figure.kind {
                    Kind::Spread => summary.extremes,
                    _ => summary.session_range(),
                };
                let place = along.and_then(|axis| figure.at.get(axis).cloned());
                Ok((place, Interval { value: summary.median, low, high }))
            })
            .collect()
    }

    fn predicate(&self, predicate: &Predicate) -> Result<Finding, Unjudged> {
        match predicate {
            Predicate::Faster { of, than, at_least, each } => {
                let ratio = Quantity::Ratio { ratio: RatioOf { of: than.clone(), to: of.clone() } };
                self.threshold(&ratio, each.as_deref(), *at_least, Side::Above)
            }
            Predicate::AtLeast { of, threshold, each } => {
                self.threshold(of, each.as_deref(), *threshold, Side::Above)
            }
            Predicate::AtMost { of, threshold, each } => {
                self.threshold(of, each.as_deref(), *threshold, Side::Below)
            }
            Predicate::Within { of, to, percent, each } => {
                let ratio = Quantity::Ratio { ratio: RatioOf { of: of.clone(), to: to.clone() } };
                self.threshold(&ratio, each.as_deref(), percent / 100.0, Side::AroundOne)
            }
            Predicate::Flat { of, along, from, until, percent } => {
                flat(&self.stretch(of, along, *from, *until)?, *percent)
            }
            Predicate::Rises { of, along, from, until, factor } => {
                Ok(rises(&self.stretch(of, along, *from, *until)?, *factor))
            }
            Predicate::Scales { of, along, from, until, exponent, tolerance } => {
                Ok(scales(&self.stretch(of, along, *from, *until)?, *exponent, *tolerance))
            }
            Predicate::Equal { of, to, number, each } => {
                self.equal(of, to.as_ref(), *number, each.as_deref())
            }
            Predicate::Observed { of } => self.observed(of),
            Predicate::NeverObserved { of, tries } => self.never_observed(of, *tries),
            Predicate::All { parts } => self.all(parts),
        }
    }

    fn threshold(
        &self,
        of: &Quantity,
        each: Option<&str>,
        threshold: f64,
        side: Side,
    ) -> Result<Finding, Unjudged> {
        let findings = self.series(of, each)?.into_iter().map(|(place, interval)| Finding {
            verdict: side.verdict(interval, threshold),
            value: Some(interval.value),
            interval: Some((interval.low, interval.high)),
            threshold: Some(threshold),
            place,
            reason: None,
        });
        worst(findings, |finding| {
            let value = finding.value.unwrap_or(f64::NAN);
            side.room(value, threshold)
        })
    }

    /// The series from the place `from` to the place `until`, both included; at least two places, else it was
    /// not measured.
    fn stretch(
        &self,
        of: &Quantity,
        along: &str,
        from: Option<u64>,
        until: Option<u64>,
    ) -> Result<Vec<(f64, Interval)>, Unjudged> {
        let stretch = from.unwrap_or(0)..=until.unwrap_or(u64::MAX);
        let points: Vec<(f64, Interval)> = self
            .series(of, Some(along))?
            .into_iter()
            .filter_map(|(place, interval)| match place {
                Some(Coordinate::Number(n)) if stretch.contains(&n) => Some((n as f64, interval)),
                _ => None,
            })
            .collect();
        if points.len() < 2 {
            let reason = format!("it takes two places on the axis `{along}`; there are {}", points.len());
            return Err((Verdict::NotMeasured, reason));
        }
        Ok(points)
    }

    fn equal(
        &self,
        of: &FigureRef,
        to: Option<&FigureRef>,
        number: Option<f64>,
        each: Option<&str>,
    ) -> Result<Finding, Unjudged> {
        let left = self.points(of, each)?;
        let right = match (to, number) {
            (Some(to), None) => self.points(to, each)?,
            (None, Some(number)) => left
                .iter()
                .map(|(place, _)| (place.clone(), Interval { value: number, low: number, high: number }))
                .collect(),
            _ => {
                let reason = "`equal` takes either `to` or `number`".to_owned();
                return Err((Verdict::NotMeasured, reason));
            }
        };
        let mut findings = Vec::new();
        for (place, a) in left {
            let Some((_, b)) = right.iter().find(|(other, _)| *other == place) else { continue };
            let same = a.low == a.high && b.low == b.high && a.value == b.value;
            let verdict = if same { Verdict::Holds } else { Verdict::Fails };
            findings.push(Finding { place, ..numbers(verdict, a, b.value) });
        }
        worst(findings.into_iter(), |_| 0.0)
    }

    fn tries(&self, of: &FigureRef) -> Result<(u64, u64), Unjudged> {
        let figure = self.figures(of, None)?[0];
        figure
            .tries()
            .ok_or_else(|| (Verdict::NotMeasured, format!("`{}` is not an observation", figure.describe())))
    }

    fn observed(&self, of: &FigureRef) -> Result<Finding, Unjudged> {
        let (seen, tries) = self.tries(of)?;
        let verdict = match (seen, tries) {
            (_, 0) => return Err((Verdict::NotMeasured, "no try was informative".to_owned())),
            (0, _) => Verdict::Fails,
            _ => Verdict::Holds,
        };
        let seen = seen as f64;
        Ok(numbers(verdict, Interval { value: seen, low: seen, high: seen }, 1.0))
    }

    fn never_observed(&self, of: &FigureRef, least: u64) -> Result<Finding, Unjudged> {
        let (seen, tries) = self.tries(of)?;
        if seen == 0 && tries < least {
            return Err((Verdict::NotMeasured, format!("{tries} informative tries are fewer than {least}")));
        }
        let verdict = if seen == 0 { Verdict::Holds } else { Verdict::Fails };
        let seen = seen as f64;
        Ok(numbers(verdict, Interval { value: seen, low: seen, high: seen }, 0.0))
    }

    fn all(&self, parts: &[Predicate]) -> Result<Finding, Unjudged> {
        let mut findings = Vec::new();
        for part in parts {
            findings.push(self.predicate(part)?);
        }
        worst(findings.into_iter(), |_| 0.0)
    }
}

/// Along a stretch, the largest at most `percent` above the smallest.
fn flat(points: &[(f64, Interval)], percent: f64) -> Result<Finding, Unjudged> {
    if points.is_empty() {
        return Err((Verdict::NotMeasured, "there is nothing along the axis".to_owned()));
    }
    let most = |number: fn(&Interval) -> f64| points.iter().map(|(_, i)| number(i)).fold(f64::MIN, f64::max);
    let least = |number: fn(&Interval) -> f64| points.iter().map(|(_, i)| number(i)).fold(f64::MAX, f64::min);
    // A place in the middle counts as well, if its sessions reach beyond the others.
    let spread = Interval {
        value: most(|i| i.value) / least(|i| i.value),
        low: (most(|i| i.low) / least(|i| i.high)).max(1.0),
        high: most(|i| i.high) / least(|i| i.low),
    };
    let threshold = 1.0 + percent / 100.0;
    Ok(numbers(Side::Below.verdict(spread, threshold), spread, threshold))
}

/// Along a stretch of at least two places, every one above the one before, the last `factor` times the first.
fn rises(points: &[(f64, Interval)], factor: f64) -> Finding {
    let growth = points[points.len() - 1].1.over(points[0].1);
    let steps = points.windows(2).map(|pair| Side::Above.verdict(pair[1].1.over(pair[0].1), 1.0));
    let verdict = steps
        .chain([Side::Above.verdict(growth, factor)])
        .max_by_key(|v| severity(*v))
        .unwrap_or(Verdict::Fails);
    numbers(verdict, growth, factor)
}

/// Along a stretch of at least two places, growth as the `exponent`-th power.
fn scales(points: &[(f64, Interval)], exponent: f64, tolerance: f64) -> Finding {
    // A least-squares slope weighs each place by its distance from the middle one, so the steepest line the
    // sessions allow takes the lowest before it and the highest after it.
    let logs = |choose: fn(&Interval, bool) -> f64| {
        let middle = points.iter().map(|(x, _)| x.ln()).sum::<f64>() / points.len() as f64;
        points.iter().map(|(x, y)| (x.ln(), choose(y, x.ln() > middle).ln())).collect::<Vec<_>>()
    };
    let value = least_squares_slope(&logs(|y, _| y.value));
    let low = least_squares_slope(&logs(|y, after| if after { y.low } else { y.high }));
    let high = least_squares_slope(&logs(|y, after| if after { y.high } else { y.low }));
    let interval = Interval { value, low, high };
    let inside = |x: f64| (x - exponent).abs() <= tolerance;
    let verdict = match (inside(interval.low), inside(interval.high)) {
        (true, true) => Verdict::Holds,
        (false, false) if !inside(value) => Verdict::Fails,
        _ => Verdict::TooClose,
    };
    numbers(verdict, interval, exponent)
}

/// On which side of the threshold a claim wants the interval.
#[derive(Clone, Copy)]
enum Side {
    Above,
    Below,
    /// At most the threshold away from 1.
    AroundOne,
}

impl Side {
    fn verdict(self, interval: Interval, threshold: f64) -> Verdict {
        let right = |x: f64| match self {
            Side::Above => x >= threshold,
            Side::Below => x <= threshold,
            Side::AroundOne => (x - 1.0).abs() <= threshold,
        };
        match (right(interval.low), right(interval.high)) {
            (true, true) => Verdict::Holds,
            // Outside at both ends; around 1 the ends may lie on either side of the target.
            (false, false) if !right(interval.value) && !straddles(self, interval) => Verdict::Fails,
            _ => Verdict::TooClose,
        }
    }

    /// How far on the right side a value is; larger is safer.
    fn room(self, value: f64, threshold: f64) -> f64 {
        match self {
            Side::Above => value / threshold,
            Side::Below => threshold / value,
            Side::AroundOne => -(value - 1.0).abs(),
        }
    }
}

fn straddles(side: Side, interval: Interval) -> bool {
    matches!(side, Side::AroundOne) && interval.low < 1.0 && interval.high > 1.0
}

fn numbers(verdict: Verdict, interval: Interval, threshold: f64) -> Finding {
    Finding {
        verdict,
        value: Some(interval.value),
        interval: Some((interval.low, interval.high)),
        threshold: Some(threshold),
        place: None,
        reason: None,
    }
}

/// How much a verdict decides a conjunction: one failure settles it.
fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Holds => 0,
        Verdict::NotMeasured => 1,
        Verdict::NotApplicable => 2,
        Verdict::TooClose => 3,
        Verdict::Fails => 4,
    }
}

/// The finding that decides: the worst verdict, and of those the one with the least room.
fn worst(
    findings: impl Iterator<Item = Finding>,
    room: impl Fn(&Finding) -> f64,
) -> Result<Finding, Unjudged> {
    findings
        .reduce(|a, b| {
            let (sa, sb) = (severity(a.verdict), severity(b.verdict));
            if sb > sa || (sb == sa && room(&b) < room(&a)) { b } else { a }
        })
        .ok_or_else(|| {
            (Verdict::NotMeasured, "there is no place at which both sides were measured".to_owned())
        })
}

/// Major and minor of a compute capability; 0.0 if it is not one, so that nothing is claimed of it.
fn capability(text: &str) -> (u32, u32) {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

fn least_squares_slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let variance: f64 = points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    covariance / variance
}
