//! What must be right about claims themselves, on whatever GPU they are judged: names, braces, figures. And laws.

use std::collections::BTreeSet;

use crate::claim::{Claim, Claims, FigureRef, Predicate, Quantity, Verdict};
use crate::judge::Evidence;
use crate::manifest::LabEntry;
use crate::record::SCHEMA;

/// What makes a number before it a measured one.
const UNITS: [&str; 18] = [
    "ns", "µs", "us", "ms", "s", "GB/s", "TB/s", "MB/s", "GHz", "MHz", "W", "×", "x", "times", "cycles", "%",
    "/s", "seconds",
];

/// Names that a wording may put in braces where the claim was decided.
const DECIDED: [&str; 4] = ["value", "low", "high", "threshold"];

/// What is wrong with a lab's claims; empty if nothing is.
pub fn faults(claims: &Claims, lab: &LabEntry) -> Vec<String> {
    let mut faults = Vec::new();
    if claims.schema != SCHEMA {
        faults.push(format!("the claims' schema is {}, this program reads {SCHEMA}", claims.schema));
    }
    let mut seen = BTreeSet::new();
    for claim in &claims.claims {
        if !seen.insert(&claim.id) {
            faults.push(format!("claim `{}` stands there twice; give one of them another id", claim.id));
        }
        let own = wording_faults(claim).into_iter().chain(figure_faults(claim, lab));
        faults.extend(own.map(|fault| format!("claim `{}`: {fault}", claim.id)));
    }
    faults
}

/// Laws that do not hold on this evidence: each is a fault of the record or of the law.
pub fn broken_laws(claims: &Claims, evidence: &Evidence) -> Vec<String> {
    let laws = claims.claims.iter().filter(|claim| claim.law);
    laws.filter_map(|claim| {
        let finding = evidence.judge(claim);
        if !matches!(finding.verdict, Verdict::Fails | Verdict::TooClose) {
            return None;
        }
        let number =
            |n: Option<f64>| n.map_or("no number".to_owned(), |n: f64| crate::units::three_digits(n));
        let place = finding.place.map_or(String::new(), |place| format!(" at {place}"));
        Some(format!(
            "the law `{}` is broken on {}{place}, {} against {}: {} Find the error in the record or in the law",
            claim.id,
            evidence.gpu.name,
            number(finding.value),
            number(finding.threshold),
            claim.statement,
        ))
    })
    .collect()
}

fn wording_faults(claim: &Claim) -> Vec<String> {
    let mut faults = Vec::new();
    let place = has_place(&claim.predicate);
    let decided = [
        ("holds", &claim.wording.holds),
        ("fails", &claim.wording.fails),
        ("too_close", &claim.wording.too_close),
    ];
    for (verdict, text) in decided {
        for name in braces(text) {
            let known =
                DECIDED.contains(&name) || (name == "place" && place) || claim.show.contains_key(name);
            if !known {
                faults.push(format!("its wording `{verdict}` names `{{{name}}}`, which it does not have"));
            }
        }
    }
    let undecided =
        [("not_applicable", &claim.wording.not_applicable), ("not_measured", &claim.wording.not_measured)];
    for (verdict, text) in undecided {
        if braces(text) != ["reason"] {
            faults.push(format!("its wording `{verdict}` must name `{{reason}}`, and nothing else"));
        }
    }
    for text in claim.wording.all() {
        if let Some(typed) = typed_figure(text) {
            faults.push(format!("`{typed}` is typed into a wording; name a figure under `show` instead"));
        }
    }
    faults
}

fn figure_faults(claim: &Claim, lab: &LabEntry) -> Vec<String> {
    let compared = references(&claim.predicate);
    let mut faults: Vec<String> = compared.iter().filter_map(|figure| unknown(figure, lab)).collect();
    for (name, quantity) in &claim.show {
        for shown in of_quantity(quantity) {
            // Otherwise the claim could be decided on a GPU for which there is nothing to show.
            let companion =
                compared.iter().any(|figure| figure.variant == shown.variant || shown.variant.is_none());
            if !companion {
                faults.push(format!("`{{{name}}}` shows a variant that the predicate does not compare"));
            }
            faults.extend(unknown(shown, lab));
        }
    }
    faults
}

fn unknown(figure: &FigureRef, lab: &LabEntry) -> Option<String> {
    let Some(entry) = lab.figures.iter().find(|entry| entry.name == figure.figure) else {
        let known: Vec<&str> = lab.figures.iter().map(|entry| entry.name.as_str()).collect();
        return Some(format!("the lab makes no figure `{}`; it makes {}", figure.figure, known.join(", ")));
    };
    let variant = figure.variant.as_ref()?;
    // An optional figure may be a peer's, whose names are no variants.
    let known = entry.optional || lab.variants.iter().any(|entry| entry.name == *variant);
    (!known).then(|| format!("the lab has no variant `{variant}`"))
}

/// All figures a predicate compares.
fn references(predicate: &Predicate) -> Vec<&FigureRef> {
    match predicate {
        Predicate::Faster { of, than: other, .. } | Predicate::Within { of, to: other, .. } => {
            vec![of, other]
        }
        Predicate::AtLeast { of, .. }
        | Predicate::AtMost { of, .. }
        | Predicate::Flat { of, .. }
        | Predicate::Rises { of, .. }
        | Predicate::Scales { of, .. } => of_quantity(of),
        Predicate::Equal { of, to, .. } => std::iter::once(of).chain(to).collect(),
        Predicate::Observed { of } | Predicate::NeverObserved { of, .. } => vec![of],
        Predicate::All { parts } => parts.iter().flat_map(references).collect(),
    }
}

fn of_quantity(quantity: &Quantity) -> Vec<&FigureRef> {
    match quantity {
        Quantity::Figure(figure) => vec![figure],
        Quantity::Ratio { ratio } => vec![&ratio.of, &ratio.to],
    }
}

/// Whether every finding of the predicate says at which place it was decided.
fn has_place(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Faster { each, .. }
        | Predicate::AtLeast { each, .. }
        | Predicate::AtMost { each, .. }
        | Predicate::Within { each, .. }
        | Predicate::Equal { each, .. } => each.is_some(),
        Predicate::All { parts } => parts.iter().all(has_place),
        _ => false,
    }
}

/// The names in braces, in order.
fn braces(text: &str) -> Vec<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

/// The first number with a unit that is typed into `text` outside braces and backticks.
pub fn typed_figure(text: &str) -> Option<String> {
    let prose: Vec<&str> = text.split('`').step_by(2).collect();
    for stretch in prose {
        let mut words = stretch.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let word = word.trim_matches(|c: char| "().,;:'\"".contains(c));
            let end =
                word.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(word.len());
            let (number, attached) = word.split_at(end);
            if !number.contains(|c: char| c.is_ascii_digit()) {
                continue;
            }
            let next = words.peek().map_or("", |next| next.trim_matches(|c: char| "().,;:'\"".contains(c)));
            let unit = if attached.is_empty() { next } else { attached };
            if UNITS.contains(&unit) {
                return Some(format!("{number} {unit}"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_found() {
        assert_eq!(typed_figure("it takes 17.5 µs here").as_deref(), Some("17.5 µs"));
        assert_eq!(typed_figure("it is 79× faster").as_deref(), Some("79 ×"));
        assert_eq!(typed_figure("(within 8 %)").as_deref(), Some("8 %"));
        assert_eq!(typed_figure("256 threads, 4,096 elements, {value} times, `5 ns`"), None);
    }
}
