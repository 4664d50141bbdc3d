//! Numbers that users may give as a share of a whole.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Up,
    Down,
}

/// `3` is three, `"25%"` a quarter of the whole. What is neither, validation has kept out; it counts as none.
pub(crate) fn of(amount: Option<&IntOrString>, whole: i32, round: Round) -> i32 {
    match amount {
        None => 0,
        Some(IntOrString::Int(number)) => *number,
        Some(IntOrString::String(text)) => {
            let percent = text.strip_suffix('%').and_then(|text| text.parse::<i64>().ok());
            let hundredths = percent.unwrap_or_default() * i64::from(whole);
            let share = match round {
                Round::Up => (hundredths + 99).div_euclid(100),
                Round::Down => hundredths.div_euclid(100),
            };
            i32::try_from(share).unwrap_or(i32::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_as_asked_and_numbers_stay() {
        let share = IntOrString::String("25%".into());
        assert_eq!(of(Some(&share), 10, Round::Up), 3);
        assert_eq!(of(Some(&share), 10, Round::Down), 2);
        assert_eq!(of(Some(&share), 8, Round::Up), 2);
        assert_eq!(of(Some(&IntOrString::Int(7)), 1, Round::Up), 7);
        assert_eq!(of(None, 10, Round::Up), 0);
    }
}
