//! Resource quantities (`500m`, `1Gi`, `2e3`): exact values and the canonical text the API stores.

use std::{cmp::Ordering, fmt};

/// An amount, exact to a billionth, with the family of suffixes it was written in.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Binary,
    Decimal,
    Exponent,
}

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
pub struct ParseError;

const NANO: i128 = 1_000_000_000;
/// Amounts beyond this are clamped, as the API does with what does not fit 64 bits.
const MAX: i128 = i64::MAX as i128 * NANO;

impl Quantity {
    pub const ZERO: Self = Self {
        nano: 0,
        format: Format::Decimal,
    };

    /// Reads a quantity as the API server does: more than nano precision is rounded up.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let (negative, digits) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let end = digits
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(digits.len());
        let (number, suffix) = digits.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return Err(ParseError);
        }
        let (scale, format) = Scale::parse(suffix)?;
        let mut nano = scale.apply(whole, fraction);
        if negative {
            nano = -nano;
        }
        Ok(Self {
            nano: nano.clamp(-MAX, MAX),
            format,
        })
    }

    /// A plain number.
    pub fn from_int(value: i64) -> Self {
        Self {
            nano: i128::from(value) * NANO,
            format: Format::Decimal,
        }
    }

    /// The amount rounded up to a whole number.
    pub fn value(&self) -> i64 {
        div_up(self.nano, NANO) as i64
    }

    /// The amount in thousandths, rounded up.
    pub fn milli_value(&self) -> i64 {
        div_up(self.nano, NANO / 1000).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    pub fn is_zero(&self) -> bool {
        self.nano == 0
    }

    pub fn is_negative(&self) -> bool {
        self.nano < 0
    }

    /// Whether the amount has no fraction.
    pub fn is_whole(&self) -> bool {
        self.nano % NANO == 0
    }

    /// The amount rounded up to a thousandth, in its own format.
    #[must_use]
    pub fn rounded_up_to_milli(self) -> Self {
        Self {
            nano: div_up(self.nano, NANO / 1000) * (NANO / 1000),
            format: self.format,
        }
    }

    /// The sum, in the format of the first amount (or of the second when the first is zero).
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let format = if self.nano == 0 { other.format } else { self.format };
        Self {
            nano: (self.nano + other.nano).clamp(-MAX, MAX),
            format,
        }
    }

    /// The difference, in the format of the first amount (or of the second when the first is zero).
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let format = if self.nano == 0 { other.format } else { self.format };
        Self {
            nano: (self.nano - other.nano).clamp(-MAX, MAX),
            format,
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

/// The canonical text: no fraction, the largest suffix that keeps the value exact.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nano == 0 {
            return f.write_str("0");
        }
        let below_one_ki = self.nano.abs() < 1024 * NANO;
        if self.format == Format::Binary && !below_one_ki && self.is_whole() {
            let mut value = self.nano / NANO;
            let mut power = 0;
            while power < BINARY.len() - 1 && value % 1024 == 0 {
                value /= 1024;
                power += 1;
            }
            return write!(f, "{value}{}", BINARY[power]);
        }
        // Binary amounts below 1Ki or with a fraction are written with decimal suffixes.
        let mut value = self.nano;
        let mut exponent = -9_i32;
        while exponent < 18 && value % 1000 == 0 {
            value /= 1000;
            exponent += 3;
        }
        if self.format == Format::Exponent {
            return if exponent == 0 {
                write!(f, "{value}")
            } else {
                write!(f, "{value}e{exponent}")
            };
        }
        write!(f, "{value}{}", DECIMAL[((exponent + 9) / 3) as usize])
    }
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

enum Scale {
    TwoTo(u32),
    TenTo(i32),
}

impl Scale {
    fn parse(suffix: &str) -> Result<(Self, Format), ParseError> {
        if let Some(power) = BINARY.iter().position(|name| *name == suffix && !name.is_empty()) {
            return Ok((Self::TwoTo(10 * power as u32), Format::Binary));
        }
        if let Some(power) = DECIMAL.iter().position(|name| *name == suffix) {
            return Ok((Self::TenTo(power as i32 * 3 - 9), Format::Decimal));
        }
        let exponent = suffix.strip_prefix(['e', 'E']).ok_or(ParseError)?;
        let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
        let exponent: i32 = exponent.parse().map_err(|_| ParseError)?;
        Ok((Self::TenTo(exponent), Format::Exponent))
    }

    /// `whole.fraction` times this scale, in billionths, rounded away from zero.
    fn apply(&self, whole: &str, fraction: &str) -> i128 {
        let digits = format!("{whole}{fraction}");
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return 0;
        }
        let point = fraction.len() as i32;
        match *self {
            Self::TenTo(exponent) => shift_ten(digits, 9 + exponent - point),
            Self::TwoTo(bits) => {
                // 2^60 * 10^9 leaves room for 18 digits in an i128; longer numbers are over the clamp
                // or below a billionth anyway.
                if digits.len() as i32 - point > 20 {
                    return MAX;
                }
                let kept = digits.len().min(30);
                let Ok(number) = digits[..kept].parse::<i128>() else {
                    return MAX;
                };
                let dropped = (digits.len() - kept) as i32;
                let Some(scaled) = number.checked_mul(1 << bits) else {
                    return MAX;
                };
                shift(scaled, 9 - point + dropped)
            }
        }
    }
}

fn shift_ten(digits: &str, exponent: i32) -> i128 {
    if digits.len() as i32 + exponent > 30 {
        return MAX;
    }
    if digits.len() as i32 + exponent < 0 {
        return 1;
    }
    // Digits beyond 30 lie below a billionth here; one more nonzero digit still rounds up.
    let kept = digits.len().min(36);
    let number = digits[..kept].parse::<i128>().unwrap_or(MAX);
    shift(number, exponent + (digits.len() - kept) as i32)
}

fn shift(number: i128, exponent: i32) -> i128 {
    if exponent >= 0 {
        return 10_i128
            .checked_pow(exponent as u32)
            .and_then(|scale| number.checked_mul(scale))
            .unwrap_or(MAX)
            .min(MAX);
    }
    match 10_i128.checked_pow(exponent.unsigned_abs()) {
        Some(scale) => div_up(number, scale).min(MAX),
        None => 1,
    }
}

/// Division that rounds away from zero.
fn div_up(value: i128, by: i128) -> i128 {
    let quotient = value / by;
    match value % by {
        0 => quotient,
        rest => quotient + rest.signum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn canonical(text: &str, expected: &str) {
        assert_eq!(Quantity::parse(text).unwrap().to_string(), expected, "for {text}");
    }

    #[test]
    fn text_is_canonical() {
        canonical("1000m", "1");
        canonical("0.5", "500m");
        canonical("1500m", "1500m");
        canonical("1024Ki", "1Mi");
        canonical("1000Ki", "1000Ki");
        canonical("1.5Gi", "1536Mi");
        canonical("1000", "1k");
        canonical("2e3", "2e3");
        canonical("512Ki", "512Ki");
        canonical("0.5Ki", "512");
        canonical("0", "0");
        canonical("-3", "-3");
        canonical("100M", "100M");
        canonical("0.1n", "1n");
        canonical("1e6", "1e6");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "1.2.3", "abc", "1Zi", "1 Gi", "--1", "1e", "."] {
            assert!(Quantity::parse(text).is_err(), "for {text:?}");
        }
    }

    #[test]
    fn amounts_compare_and_round() {
        let parse = |text| Quantity::parse(text).unwrap();
        assert!(parse("1Gi") > parse("1G"));
        assert_eq!(parse("1"), parse("1000m"));
        assert_eq!(parse("100m").value(), 1);
        assert_eq!(parse("250m").milli_value(), 250);
        assert_eq!(parse("1Gi").plus(parse("1Gi")).to_string(), "2Gi");
    }
}
