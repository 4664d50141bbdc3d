//! Reads quantities with the leniency of the API server, which takes `+5`, `007`, `.5` and even `Ki`.

use super::{
    Quantity,
    amount::Amount,
    spelling::Spelling,
    suffix::{self, Format, Scale},
};

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    #[error("unable to parse numeric part of quantity")]
    Number,
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// The power of ten of the smallest amount; finer ones are rounded up to it.
const NANO: i32 = -9;
/// Binary amounts beyond this are clamped.
const MAX_BINARY: i128 = i64::MAX as i128;

pub(super) fn quantity(text: &str) -> Result<Quantity, ParseError> {
    let written = Written::split(text).ok_or(ParseError::Format)?;
    let (scale, mut format) = suffix::parse(written.suffix).ok_or(ParseError::Suffix)?;
    let is_short = written.is_short(scale);
    if !written.has_digits && !is_short {
        return Err(ParseError::Number);
    }
    let mut amount = match scale {
        Scale::TenTo(exponent) => written.decimal(exponent),
        Scale::TwoTo(bits) => written.binary(bits),
    };
    if format == Format::Binary && amount.sign().is_gt() && amount.cmp(Amount::whole(1)).is_lt() {
        format = Format::Decimal;
    }
    if written.is_negative {
        amount = amount.negated();
    }
    let spelling = if is_short && written.is_kept(scale) {
        Spelling::new(text)
    } else {
        None
    };
    Ok(Quantity {
        amount,
        format,
        spelling,
    })
}

/// The parts of a text.
struct Written<'a> {
    is_negative: bool,
    /// Without leading zeros.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    has_digits: bool,
}

impl<'a> Written<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let significant = unsigned.trim_start_matches('0');
        let (whole, rest) = split_digits(significant);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        let exponent = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let is_well_formed = !text.is_empty() && exponent.bytes().all(|byte| byte.is_ascii_digit());
        is_well_formed.then_some(Self {
            is_negative: text.starts_with('-'),
            whole,
            fraction,
            suffix,
            has_digits: significant.len() < unsigned.len() || !whole.is_empty() || !fraction.is_empty(),
        })
    }

    fn digits(&self) -> impl DoubleEndedIterator<Item = i128> {
        self.whole
            .bytes()
            .chain(self.fraction.bytes())
            .map(|byte| i128::from(byte - b'0'))
    }

    /// Whether the API server reads this without big numbers. Only such texts are kept as written.
    fn is_short(&self, scale: Scale) -> bool {
        let whole = self.whole.len().max(1);
        match scale {
            Scale::TenTo(exponent) => {
                let fraction = self.fraction.len() as i32;
                whole + self.fraction.len() <= 18 && exponent.saturating_sub(fraction) >= NANO
            }
            Scale::TwoTo(bits) => self.fraction.is_empty() && whole as u32 + bits * 3 / 10 <= 14,
        }
    }

    /// Whether the text is taken for canonical. The test is rough: `1.125` and `+5` pass it.
    fn is_kept(&self, scale: Scale) -> bool {
        match scale {
            Scale::TenTo(exponent) => {
                let exponent = exponent.wrapping_sub(self.fraction.len() as i32);
                let last_three_are_zero =
                    self.digits().rev().take(3).filter(|digit| *digit == 0).count() == 3;
                exponent % 3 == 0 && !self.whole.is_empty() && !last_three_are_zero
            }
            Scale::TwoTo(_) => self.digits().fold(0, |value, digit| value * 10 + digit) % 8 != 0,
        }
    }

    /// The digits times a power of ten, rounded up to a billionth and to 38 digits.
    fn decimal(&self, exponent: i32) -> Amount {
        let (mut mantissa, mut dropped, mut is_rounded) = (0_i128, 0_i32, false);
        for digit in self.digits() {
            match mantissa.checked_mul(10).and_then(|tens| tens.checked_add(digit)) {
                Some(longer) if dropped == 0 => mantissa = longer,
                _ => {
                    dropped += 1;
                    is_rounded |= digit != 0;
                }
            }
        }
        let exponent = exponent
            .saturating_sub(self.fraction.len() as i32)
            .saturating_add(dropped);
        let amount = Amount { mantissa, exponent };
        let mut rounded = amount.rounded_up_to(NANO).unwrap_or(amount);
        if is_rounded && rounded.cmp(amount).is_eq() {
            rounded.mantissa = rounded.mantissa.saturating_add(1);
        }
        rounded
    }

    /// The digits times a power of two, rounded up to a billionth and clamped.
    fn binary(&self, bits: u32) -> Amount {
        let whole = self
            .whole
            .parse::<i128>()
            .unwrap_or(i128::from(!self.whole.is_empty()) * i128::MAX);
        let whole = whole.saturating_mul(1 << bits).min(MAX_BINARY);
        if self.fraction.is_empty() || whole == MAX_BINARY {
            return Amount {
                mantissa: whole,
                exponent: 0,
            };
        }
        // From the last digit to the first, each step divides by ten: exact, however many there are.
        let unit = (1 << bits) * 1_000_000_000_i128;
        let (mut nano, mut is_rounded) = (0, false);
        for digit in self.fraction.bytes().rev() {
            let tenths = i128::from(digit - b'0') * unit + nano;
            nano = tenths / 10;
            is_rounded |= tenths % 10 != 0;
        }
        let nano = whole * 1_000_000_000 + nano + i128::from(is_rounded);
        Amount {
            mantissa: nano.min(MAX_BINARY * 1_000_000_000),
            exponent: NANO,
        }
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}
