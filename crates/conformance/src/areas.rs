//! The checks, a file per area.

mod create;
mod discovery;
mod health;
mod list;
mod openapi;
mod selectors;
mod watch;

use crate::Check;

/// Every check, area by area.
pub fn checks() -> impl Iterator<Item = Check> {
    [discovery::CHECKS, health::CHECKS, openapi::CHECKS, create::CHECKS, list::CHECKS, selectors::CHECKS, watch::CHECKS].into_iter().flatten().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own() {
        let mut seen = BTreeSet::new();
        for check in checks() {
            assert!(seen.insert((check.area, check.name)), "`{}: {}` is there twice", check.area, check.name);
        }
    }

    #[test]
    fn a_name_is_a_sentence_that_fits_into_a_table() {
        for check in checks() {
            assert!(check.name.contains(' ') && !check.name.ends_with('.'), "`{}`", check.name);
            assert!(!check.name.contains('|'), "`{}`", check.name);
        }
    }
}
