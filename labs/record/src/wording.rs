//! Claims in words: the sentence for a verdict with its numbers filled in, and the predicate it rests on.

use crate::claim::{Claim, FigureRef, Finding, Predicate, Quantity, Verdict};
use crate::figure::{At, Unit};
use crate::judge::Evidence;
use crate::statistics::AGREEMENT;
use crate::table::{EMPTY, cell, coordinate};
use crate::units;

/// How a finding's numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// A ratio: `79.1×`.
    Times,
    /// How far a ratio is from 1: `2.1 %`.
    Difference,
    /// In a figure's unit.
    In(Unit),
}

/// A finding's numbers as text, each in the form that its predicate asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// What was compared with the threshold.
    pub value: String,
    /// The interval over the sessions' medians.
    pub interval: (String, String),
    /// The threshold.
    pub threshold: String,
}

/// The sentence for the finding's verdict, its braces filled.
///
/// Braces may hold `value`, `low`, `high`, `threshold`, `place`, `reason` and the names under the claim's `show`.
///
/// # Errors
/// A name in braces that is none of these, or whose figure the evidence lacks although the claim was decided.
pub fn sentence(claim: &Claim, finding: &Finding, evidence: &Evidence) -> Result<String, String> {
    let numbers = numbers(claim, finding, evidence);
    let decided = !matches!(finding.verdict, Verdict::NotApplicable | Verdict::NotMeasured);
    fill(claim.wording.of(finding.verdict), |name| {
        let number = |pick: fn(&Numbers) -> &String| numbers.as_ref().map(|all| pick(all).clone());
        let known = match name {
            "value" => number(|n| &n.value),
            "low" => number(|n| &n.interval.0),
            "high" => number(|n| &n.interval.1),
            "threshold" => number(|n| &n.threshold),
            "place" => finding.place.as_ref().map(coordinate),
            "reason" => finding.reason.clone(),
            shown => {
                let Some(quantity) = claim.show.get(shown) else {
                    let names: Vec<&str> = claim.show.keys().map(String::as_str).collect();
                    return Err(format!(
                        "claim `{}`: its wording names `{{{shown}}}`; there are value, low, high, threshold, place, reason{}{}",
                        claim.id,
                        if names.is_empty() { "" } else { ", " },
                        names.join(", "),
                    ));
                };
                match evidence.value(quantity) {
                    Ok(value) => {
                        Some(shown_quantity(quantity, value.value, (value.low, value.high), evidence))
                    }
                    Err(_) if !decided => None,
                    Err(why) => return Err(format!("claim `{}`: `{{{shown}}}`: {why}", claim.id)),
                }
            }
        };
        match known {
            Some(text) => Ok(text),
            None if !decided => Ok(EMPTY.to_owned()),
            None => Err(format!("claim `{}`: this finding has no `{{{name}}}`", claim.id)),
        }
    })
}

/// The sentence of a claim that there is no record to judge it on, with the reason.
///
/// # Errors
/// A brace that is not closed.
pub fn without_record(claim: &Claim, reason: &str) -> Result<String, String> {
    fill(&claim.wording.not_measured, |name| {
        Ok(if name == "reason" { reason.to_owned() } else { EMPTY.to_owned() })
    })
}

/// The finding's numbers as text; none if it has none.
pub fn numbers(claim: &Claim, finding: &Finding, evidence: &Evidence) -> Option<Numbers> {
    let (value, (low, high), threshold) = (finding.value?, finding.interval?, finding.threshold?);
    let measure = measure(deciding_part(claim, finding, evidence), evidence);
    let show = |number| show(number, measure, true);
    let threshold = match deciding_part(claim, finding, evidence) {
        // Kept as a fraction, while the value is a ratio.
        Predicate::Within { .. } => threshold + 1.0,
        _ => threshold,
    };
    let threshold = units::without_idle_zeros(&self::show(threshold, measure, false));
    Some(Numbers { value: show(value), interval: (show(low), show(high)), threshold })
}

/// The predicate as a phrase: what must be so for the claim to hold. Names stand in backticks.
pub fn predicate(predicate: &Predicate) -> String {
    match predicate {
        Predicate::Faster { of, than, at_least, each } => {
            let ratio = format!("{} over {}", reference(than), reference(of));
            format!("{ratio} is at least {}{}", times(*at_least), at_each(each))
        }
        Predicate::AtLeast { of, threshold, each } => {
            format!("{} is at least {}{}", quantity(of), bare(of, *threshold), at_each(each))
        }
        Predicate::AtMost { of, threshold, each } => {
            format!("{} is at most {}{}", quantity(of), bare(of, *threshold), at_each(each))
        }
        Predicate::Within { of, to, percent, each } => {
            let within = plain(*percent);
            format!("{} is within {within} % of {}{}", reference(of), reference(to), at_each(each))
        }
        Predicate::Flat { of, along, from, until, percent } => {
            let most = plain(*percent);
            format!(
                "{} {}: the largest is at most {most} % above the smallest",
                quantity(of),
                stretch(along, *from, *until)
            )
        }
        Predicate::Rises { of, along, from, until, factor } => format!(
            "{} {}: every place is above the one before, and the last is at least {} the first",
            quantity(of),
            stretch(along, *from, *until),
            times(*factor),
        ),
        Predicate::Scales { of, along, from, until, exponent, tolerance } => format!(
            "{} {}: the exponent of the fitted power is {} ± {}",
            quantity(of),
            stretch(along, *from, *until),
            plain(*exponent),
            plain(*tolerance),
        ),
        Predicate::Equal { of, to, number, each } => {
            format!(
                "every sample of {} equals {}{}",
                reference(of),
                other_side(to.as_ref(), *number),
                at_each(each)
            )
        }
        Predicate::Observed { of } => format!("{} is seen at least once", reference(of)),
        Predicate::NeverObserved { of, tries } => {
            format!(
                "{} is never seen in at least {} informative tries",
                reference(of),
                units::count(*tries as f64)
            )
        }
        Predicate::All { parts } => parts.iter().map(self::predicate).collect::<Vec<_>>().join("; and "),
    }
}

/// Of a conjunction the part that gave the finding: it says in which unit the numbers are.
fn deciding_part<'a>(claim: &'a Claim, finding: &Finding, evidence: &Evidence) -> &'a Predicate {
    fn search<'a>(
        claim: &Claim,
        part: &'a Predicate,
        finding: &Finding,
        evidence: &Evidence,
    ) -> &'a Predicate {
        let Predicate::All { parts } = part else { return part };
        let gave = parts.iter().find(|part| {
            let alone = Claim { predicate: (*part).clone(), ..claim.clone() };
            evidence.judge(&alone) == *finding
        });
        gave.map_or(part, |inner| search(claim, inner, finding, evidence))
    }
    search(claim, &claim.predicate, finding, evidence)
}

fn measure(predicate: &Predicate, evidence: &Evidence) -> Measure {
    let unit = |of: &FigureRef| {
        let figure = evidence.figures.iter().find(|figure| figure.name == of.figure);
        Measure::In(figure.map_or(Unit::One, |figure| figure.unit))
    };
    match predicate {
        Predicate::Faster { .. } | Predicate::Rises { .. } => Measure::Times,
        Predicate::Within { .. } | Predicate::Flat { .. } => Measure::Difference,
        Predicate::AtLeast { of: Quantity::Figure(of), .. }
        | Predicate::AtMost { of: Quantity::Figure(of), .. }
        | Predicate::Equal { of, .. } => unit(of),
        Predicate::AtLeast { .. } | Predicate::AtMost { .. } => Measure::Times,
        Predicate::Observed { .. } | Predicate::NeverObserved { .. } => Measure::In(Unit::Count),
        Predicate::Scales { .. } | Predicate::All { .. } => Measure::In(Unit::One),
    }
}

fn show(number: f64, measure: Measure, signed: bool) -> String {
    let text = match measure {
        Measure::Times => units::times(number),
        Measure::In(unit) => units::quantity(number, unit),
        Measure::Difference => units::percent((number - 1.0).abs()).map(|size| match number < 1.0 {
            true if signed => format!("−{size}"),
            false if signed && number > 1.0 => format!("+{size}"),
            _ => size,
        }),
    };
    text.unwrap_or_else(|| EMPTY.to_owned())
}

fn shown_quantity(quantity: &Quantity, value: f64, (low, high): (f64, f64), evidence: &Evidence) -> String {
    if let Some(observation) = evidence.observation(quantity) {
        return cell(observation);
    }
    let measure = evidence.unit(quantity).map_or(Measure::Times, Measure::In);
    if high > low + AGREEMENT * low.abs() {
        return format!("{} to {}", show(low, measure, false), show(high, measure, false));
    }
    show(value, measure, false)
}

fn fill(wording: &str, mut value: impl FnMut(&str) -> Result<String, String>) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = wording;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after
            .split_once('}')
            .ok_or_else(|| format!("a brace is not closed in the wording `{wording}`"))?;
        text += before;
        text += &value(name)?;
        rest = behind;
    }
    Ok(text + rest)
}

fn quantity(of: &Quantity) -> String {
    match of {
        Quantity::Figure(figure) => reference(figure),
        Quantity::Ratio { ratio } => format!("{} over {}", reference(&ratio.of), reference(&ratio.to)),
    }
}

fn reference(of: &FigureRef) -> String {
    let variant = of.variant.as_ref().map_or(String::new(), |variant| format!(" of `{variant}`"));
    format!("`{}`{variant}{}", of.figure, places(&of.at))
}

fn places(at: &At) -> String {
    if at.is_empty() {
        return String::new();
    }
    let places: Vec<String> =
        at.iter().map(|(axis, place)| format!("{axis} {}", coordinate(place))).collect();
    format!(" ({})", places.join(", "))
}

/// A threshold on a figure or a ratio; the figure's unit is known to the evidence alone.
fn bare(of: &Quantity, threshold: f64) -> String {
    match of {
        Quantity::Ratio { .. } => times(threshold),
        Quantity::Figure(_) => plain(threshold),
    }
}

fn at_each(each: &Option<String>) -> String {
    each.as_ref().map_or(String::new(), |axis| format!(", at every place of `{axis}`"))
}

fn other_side(to: Option<&FigureRef>, number: Option<f64>) -> String {
    match (to, number) {
        (Some(to), _) => reference(to),
        (None, Some(number)) => units::count(number),
        (None, None) => "nothing (the claim names neither figure nor number)".to_owned(),
    }
}

fn stretch(along: &str, from: Option<u64>, until: Option<u64>) -> String {
    let place = |place: u64| units::count(place as f64);
    match (from, until) {
        (None, None) => format!("along `{along}`"),
        (Some(from), None) => format!("along `{along}` from {} on", place(from)),
        (None, Some(until)) => format!("along `{along}` up to {}", place(until)),
        (Some(from), Some(until)) => format!("along `{along}` from {} to {}", place(from), place(until)),
    }
}

fn times(number: f64) -> String {
    format!("{}×", plain(number))
}

/// A number as its author wrote it.
fn plain(number: f64) -> String {
    if number.fract() == 0.0 { units::count(number) } else { number.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Wording;
    use crate::figure::{Figure, Kind, Samples};
    use crate::record::Gpu;

    fn time(variant: &str, sessions: &[f64]) -> Figure {
        Figure {
            name: "time".to_owned(),
            variant: Some(variant.to_owned()),
            at: At::from([("size".to_owned(), 4096.into())]),
            unit: Unit::Nanoseconds,
            kind: Kind::Duration,
            median: None,
            samples: sessions.iter().map(|ns| Samples::Numbers(vec![*ns])).collect(),
            set_aside: Vec::new(),
        }
    }

    fn claim(predicate: &str, holds: &str) -> Claim {
        let text = format!(
            "id: c\nstatement: s\npredicate: {predicate}\nshow: {{fast: {{figure: time, variant: fast}}}}\nwording:\n  \
             holds: '{holds}'\n  fails: '{holds}'\n  too_close: near\n  not_applicable: 'no: {{reason}}'\n  not_measured: 'none: {{reason}} {{fast}}'\n"
        );
        serde_yaml::from_str(&text).unwrap()
    }

    fn say(predicate: &str, holds: &str) -> Result<String, String> {
        let gpu = Gpu {
            name: "G".to_owned(),
            compute_capability: "9.0".to_owned(),
            sms: 1,
            l2_bytes: 1,
            memory_bytes: 1,
            ecc: None,
        };
        let figures = [time("slow", &[17_500.0, 17_600.0]), time("fast", &[4_700.0])];
        let evidence = Evidence { gpu: &gpu, figures: &figures, absent: &[] };
        let claim = claim(predicate, holds);
        sentence(&claim, &evidence.judge(&claim), &evidence)
    }

    const FASTER: &str =
        "{is: faster, of: {figure: time, variant: fast}, than: {figure: time, variant: slow}, at_least: 3}";

    #[test]
    fn braces_are_filled() {
        let said = say(FASTER, "{fast}, {value} ({low} to {high}) of {threshold}").unwrap();
        assert_eq!(said, "4.70 µs, 3.73× (3.72× to 3.74×) of 3×");
    }

    #[test]
    fn differences_are_signed() {
        let within =
            "{is: within, of: {figure: time, variant: fast}, to: {figure: time, variant: slow}, percent: 8}";
        assert_eq!(say(within, "{value} of {threshold}").unwrap(), "−73.2 % of 8 %");
        let all = format!("{{is: all, parts: [{FASTER}, {within}]}}");
        assert_eq!(say(&all, "{value}").unwrap(), "−73.2 %");
    }

    #[test]
    fn an_observation_is_shown_with_its_tries() {
        let shown = |seen| {
            let counted = Figure {
                kind: Kind::Observation,
                unit: Unit::One,
                samples: vec![Samples::Tries { seen, of: 1_000 }, Samples::Tries { seen: 0, of: 500 }],
                ..time("fast", &[])
            };
            let gpu = Gpu {
                name: "G".to_owned(),
                compute_capability: "9.0".to_owned(),
                sms: 1,
                l2_bytes: 1,
                memory_bytes: 1,
                ecc: None,
            };
            let figures = [counted];
            let evidence = Evidence { gpu: &gpu, figures: &figures, absent: &[] };
            let claim = claim("{is: observed, of: {figure: time, variant: fast}}", "{fast}");
            sentence(&claim, &evidence.judge(&claim), &evidence).unwrap()
        };
        assert_eq!(shown(2), "2 of 1,500");
        assert_eq!(shown(0), "0 of 1,500 (under 0.00200)");
    }

    #[test]
    fn a_wrong_name_is_refused_with_the_right_ones() {
        let error = say(FASTER, "{fats}").unwrap_err();
        assert!(error.contains("`{fats}`") && error.ends_with("reason, fast"), "{error}");
        assert!(say(FASTER, "{place}").unwrap_err().contains("has no `{place}`"));
        assert!(say(FASTER, "{value").unwrap_err().contains("not closed"));
    }

    #[test]
    fn what_was_not_measured_needs_no_number() {
        let none = "{is: at_least, of: {figure: bandwidth}, threshold: 3}";
        assert_eq!(say(none, "-").unwrap(), "none: there is no figure `bandwidth` 4.70 µs");
        assert_eq!(without_record(&claim(none, "-"), "no record").unwrap(), "none: no record –");
    }

    #[test]
    fn predicates_in_words() {
        let claim = claim(
            "{is: flat, of: {figure: time, variant: fast, at: {cache: hot}}, along: size, from: 65536, percent: 5.5}",
            "",
        );
        assert_eq!(
            predicate(&claim.predicate),
            "`time` of `fast` (cache hot) along `size` from 65,536 on: the largest is at most 5.5 % above the smallest"
        );
        let _: Wording = claim.wording;
    }
}
