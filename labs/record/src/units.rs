//! Numbers for people: three significant digits, a unit that fits.

use crate::figure::Unit;

/// A number in its unit, scaled so that it reads well: 17,500 ns is `17.5 µs`. None if it is not finite.
pub fn quantity(value: f64, unit: Unit) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    Some(match unit {
        Unit::Nanoseconds => scaled(value, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")]),
        Unit::GigabytesPerSecond => scaled(value, &[(1e3, "TB/s"), (1.0, "GB/s"), (1e-3, "MB/s")]),
        Unit::PerSecond => scaled(value, &[(1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")]),
        Unit::Cycles => format!("{} cycles", three_digits(value)),
        Unit::Bytes => bytes(value),
        Unit::Count => count(value),
        Unit::One => three_digits(value),
    })
}

/// How many times: `79×`, `1.04×`.
pub fn times(ratio: f64) -> Option<String> {
    ratio.is_finite().then(|| format!("{}×", three_digits(ratio)))
}

/// A fraction as percent: 0.0039 is `0.39 %`.
pub fn percent(fraction: f64) -> Option<String> {
    fraction.is_finite().then(|| format!("{} %", three_digits(fraction * 100.0)))
}

/// A whole number with commas; one that is not whole keeps three digits.
pub fn count(value: f64) -> String {
    if value.fract() != 0.0 || value.abs() >= 1e18 {
        return three_digits(value);
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("−{text}") } else { text }
}

/// Three significant digits, thousands with commas, very large and small ones as a power of ten.
pub fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounded first: 0.9997 has the magnitude of 1.00.
    let rounded = format!("{value:.2e}");
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let magnitude: i32 = exponent.parse().unwrap_or(0);
    match magnitude {
        -4..=-1 => format!("{value:.*}", (2 - magnitude) as usize),
        0 => format!("{value:.2}"),
        1 => format!("{value:.1}"),
        2..=8 => count(value.round()),
        _ => format!("{mantissa} × 10{}", superscript(exponent)),
    }
}

/// `8.00 %` as `8 %`: a number that was chosen, a threshold or a tick, has no digits to spare.
pub fn without_idle_zeros(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if !number.contains('.') {
        return text.to_owned();
    }
    format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

fn scaled(value: f64, steps: &[(f64, &str)]) -> String {
    let fits = |(size, _): &&(f64, &str)| value.abs() >= *size * 0.9995;
    match steps.iter().find(fits).or(steps.last()) {
        Some((size, name)) => format!("{} {name}", three_digits(value / size)),
        None => three_digits(value),
    }
}

fn bytes(value: f64) -> String {
    const STEPS: [(f64, &str); 4] =
        [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
    match STEPS.iter().find(|(size, _)| value.abs() >= *size) {
        Some((1.0, name)) => format!("{} {name}", count(value)),
        Some((size, name)) => format!("{} {name}", three_digits(value / size)),
        None => format!("{} B", count(value)),
    }
}

fn superscript(exponent: &str) -> String {
    exponent
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            digit => digit.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(digit),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let ns = |value| quantity(value, Unit::Nanoseconds).unwrap();
        assert_eq!(ns(17_500.0), "17.5 µs");
        assert_eq!(ns(13_173_400.0), "13.2 ms");
        assert_eq!(ns(999.7), "1.00 µs");
        assert_eq!(ns(4.0), "4.00 ns");
        assert_eq!(quantity(4_300.0, Unit::GigabytesPerSecond).unwrap(), "4.30 TB/s");
        assert_eq!(quantity(16_384.0, Unit::Count).unwrap(), "16,384");
        assert_eq!(quantity(62_914_560.0, Unit::Bytes).unwrap(), "60.0 MiB");
        assert_eq!(times(79.07).unwrap(), "79.1×");
        assert_eq!(percent(0.0039).unwrap(), "0.390 %");
        assert_eq!(three_digits(1.5e-7), "1.50 × 10⁻⁷");
        assert_eq!(three_digits(0.0), "0");
        assert_eq!(without_idle_zeros("8.00 %"), "8 %");
        assert_eq!(without_idle_zeros("2.50×"), "2.5×");
        assert_eq!(without_idle_zeros("100 ns"), "100 ns");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(quantity(f64::NAN, Unit::Nanoseconds), None);
        assert_eq!(times(f64::INFINITY), None);
    }
}
