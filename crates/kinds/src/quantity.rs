//! Resource quantities (`500m`, `1Gi`, `2e3`): exact amounts, and the text the API keeps for them.

mod amount;
mod parse;
mod spelling;
mod suffix;
#[cfg(test)]
mod tests;

use std::{cmp::Ordering, fmt};

use self::{amount::Amount, spelling::Spelling, suffix::Format};

pub use parse::ParseError;

/// An amount, exact to a billionth and to 38 digits, with the family of suffixes it was written in.
#[derive(Clone, Copy)]
pub struct Quantity {
    amount: Amount,
    format: Format,
    /// The text it was read from, where the API keeps that text: `1.125` is not rewritten to `1125m`.
    spelling: Option<Spelling>,
}

impl Quantity {
    pub const ZERO: Self = Self::new(Amount::ZERO, Format::Decimal);

    const fn new(amount: Amount, format: Format) -> Self {
        Self {
            amount,
            format,
            spelling: None,
        }
    }

    /// Reads a quantity as the API server does: more than nano precision is rounded up.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text)
    }

    /// A plain number.
    pub const fn from_int(value: i64) -> Self {
        Self::new(Amount::whole(value), Format::Decimal)
    }

    /// The amount rounded up to a whole number, or the closest number there is.
    pub fn value(&self) -> i64 {
        self.amount.in_units(0)
    }

    /// The amount in thousandths, rounded up, or the closest number there is.
    pub fn milli_value(&self) -> i64 {
        self.amount.in_units(-3)
    }

    pub fn is_zero(&self) -> bool {
        self.amount.sign() == Ordering::Equal
    }

    pub fn is_negative(&self) -> bool {
        self.amount.sign() == Ordering::Less
    }

    /// Whether the amount has no fraction.
    pub fn is_whole(&self) -> bool {
        !self.amount.has_fraction()
    }

    /// The amount rounded up to a whole number, in its own format.
    #[must_use]
    pub fn rounded_up(self) -> Self {
        self.rounded_up_to(0)
    }

    /// The amount rounded up to a thousandth, in its own format.
    #[must_use]
    pub fn rounded_up_to_milli(self) -> Self {
        self.rounded_up_to(-3)
    }

    fn rounded_up_to(self, unit: i32) -> Self {
        match self.amount.rounded_up_to(unit) {
            Some(rounded) => Self::new(rounded, self.format),
            None => self,
        }
    }

    /// The sum, in the format of the first amount (or of the second when the first is zero).
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self::new(self.amount.plus(other.amount), self.format_with(other))
    }

    /// The difference, in the format of the first amount (or of the second when the first is zero).
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self::new(self.amount.plus(other.amount.negated()), self.format_with(other))
    }

    /// So many times the amount.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        let amount = Amount {
            mantissa: self.amount.mantissa.saturating_mul(count.into()),
            exponent: self.amount.exponent,
        };
        Self::new(amount, self.format)
    }

    fn format_with(self, other: Self) -> Format {
        if self.is_zero() { other.format } else { self.format }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
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
        self.amount.cmp(other.amount)
    }
}

/// The text as it was written where the API keeps that, else the canonical one: no fraction, and the
/// largest suffix that keeps the amount exact.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(spelling) = &self.spelling {
            return f.write_str(spelling.as_str());
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        // Binary amounts below 1Ki or with a fraction are written with decimal suffixes.
        match self.amount.as_whole() {
            Some(whole) if self.format == Format::Binary && whole.abs() >= 1024 => suffix::binary(f, whole),
            _ => suffix::decimal(f, self.amount, self.format == Format::Exponent),
        }
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Quantity({self})")
    }
}
