//! Exact decimal numbers: 38 digits times a power of ten.

use std::cmp::Ordering;

/// `mantissa * 10^exponent`. Amounts that are read have no digits below a billionth.
#[derive(Clone, Copy)]
pub(super) struct Amount {
    pub(super) mantissa: i128,
    pub(super) exponent: i32,
}

impl Amount {
    pub(super) const ZERO: Self = Self::whole(0);

    pub(super) const fn whole(value: i64) -> Self {
        Self {
            mantissa: value as i128,
            exponent: 0,
        }
    }

    pub(super) fn sign(self) -> Ordering {
        self.mantissa.cmp(&0)
    }

    pub(super) fn negated(self) -> Self {
        Self {
            mantissa: self.mantissa.saturating_neg(),
            exponent: self.exponent,
        }
    }

    pub(super) fn has_fraction(self) -> bool {
        let places = self.exponent.unsigned_abs();
        self.exponent < 0 && power_of_ten(places).is_none_or(|by| self.mantissa % by != 0)
    }

    /// The number, if it has no fraction and fits.
    pub(super) fn as_whole(self) -> Option<i128> {
        let places = self.exponent.unsigned_abs();
        if self.exponent >= 0 {
            return shifted_up(self.mantissa, places);
        }
        let by = power_of_ten(places)?;
        (self.mantissa % by == 0).then_some(self.mantissa / by)
    }

    /// How many times `10^unit`, rounded away from zero; what does not fit becomes the largest that does.
    pub(super) fn in_units(self, unit: i32) -> i64 {
        let places = self.exponent.saturating_sub(unit);
        let count = if places >= 0 {
            shifted_up(self.mantissa, places.unsigned_abs())
                .unwrap_or_else(|| self.mantissa.saturating_mul(i128::MAX))
        } else {
            shifted_down(self.mantissa, places.unsigned_abs())
        };
        count.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// The amount as a multiple of `10^unit`, rounded away from zero; none if it is written as one.
    pub(super) fn rounded_up_to(self, unit: i32) -> Option<Self> {
        (self.exponent < unit).then(|| Self {
            mantissa: shifted_down(self.mantissa, self.exponent.abs_diff(unit)),
            exponent: unit,
        })
    }

    /// The sum; where 38 digits do not hold both, the one with the smaller unit is lost.
    pub(super) fn plus(self, other: Self) -> Self {
        self.checked_plus(other)
            .or_else(|| self.reduced().checked_plus(other.reduced()))
            .unwrap_or(if self.exponent > other.exponent {
                self
            } else {
                other
            })
    }

    fn checked_plus(self, other: Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        let left = shifted_up(self.mantissa, self.exponent.abs_diff(exponent))?;
        let right = shifted_up(other.mantissa, other.exponent.abs_diff(exponent))?;
        Some(Self {
            mantissa: left.checked_add(right)?,
            exponent,
        })
    }

    pub(super) fn cmp(self, other: Self) -> Ordering {
        if self.exponent < other.exponent {
            return other.cmp(self).reverse();
        }
        match shifted_up(self.mantissa, self.exponent.abs_diff(other.exponent)) {
            Some(mantissa) => mantissa.cmp(&other.mantissa),
            // Too large to be written in the other's unit, and so larger than it, or smaller if negative.
            None => self.sign(),
        }
    }

    /// The same amount with all factors of ten moved to the exponent.
    pub(super) fn reduced(mut self) -> Self {
        while self.mantissa != 0 && self.mantissa % 10 == 0 {
            self.mantissa /= 10;
            self.exponent = self.exponent.saturating_add(1);
        }
        self
    }
}

fn power_of_ten(places: u32) -> Option<i128> {
    10_i128.checked_pow(places)
}

fn shifted_up(mantissa: i128, places: u32) -> Option<i128> {
    match (mantissa, places) {
        (_, 0) | (0, _) => Some(mantissa),
        _ => power_of_ten(places)?.checked_mul(mantissa),
    }
}

/// Division by a power of ten that rounds away from zero.
fn shifted_down(mantissa: i128, places: u32) -> i128 {
    let Some(by) = power_of_ten(places) else {
        return mantissa.signum();
    };
    mantissa / by + (mantissa % by).signum()
}
