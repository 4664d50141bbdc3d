//! The suffixes of quantities, and numbers written with them.

use std::fmt;

use super::amount::Amount;

/// The family of suffixes a quantity is written with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Binary,
    Decimal,
    Exponent,
}

/// What a suffix multiplies by.
#[derive(Clone, Copy)]
pub(super) enum Scale {
    TwoTo(u32),
    TenTo(i32),
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

pub(super) fn parse(suffix: &str) -> Option<(Scale, Format)> {
    if let Some(index) = DECIMAL.iter().position(|name| *name == suffix) {
        return Some((Scale::TenTo(index as i32 * 3 - 9), Format::Decimal));
    }
    if let Some(index) = BINARY.iter().position(|name| *name == suffix) {
        return Some((Scale::TwoTo(index as u32 * 10), Format::Binary));
    }
    let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((Scale::TenTo(exponent as i32), Format::Exponent))
}

/// A whole number in the largest binary unit that divides it.
pub(super) fn binary(f: &mut fmt::Formatter<'_>, mut whole: i128) -> fmt::Result {
    let mut power = 0;
    while whole % 1024 == 0 {
        whole /= 1024;
        power += 1;
    }
    write!(f, "{whole}{}", BINARY.get(power).unwrap_or(&""))
}

/// An amount in the largest power of a thousand that divides it.
pub(super) fn decimal(f: &mut fmt::Formatter<'_>, amount: Amount, as_exponent: bool) -> fmt::Result {
    let Amount { mantissa, exponent } = amount.reduced();
    let zeros = &"00"[..exponent.rem_euclid(3) as usize];
    let power = exponent.div_euclid(3);
    write!(f, "{mantissa}{zeros}")?;
    match power {
        0 => Ok(()),
        _ if as_exponent => write!(f, "e{}", power * 3),
        // Beyond `E` the API knows no suffix and writes none: 1000E reads back as 1.
        _ => f.write_str(DECIMAL.get((power + 3) as usize).unwrap_or(&"")),
    }
}
