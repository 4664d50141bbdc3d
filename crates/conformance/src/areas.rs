//! The checks, a file per area.

mod apply;
mod create;
mod defaults;
mod delete;
mod discovery;
mod dry_run;
mod field_validation;
mod health;
mod list;
mod openapi;
mod patch;
mod selectors;
mod subresources;
mod update;
mod validation;
mod watch;

use crate::Check;

/// Every check, area by area.
pub fn checks() -> impl Iterator<Item = Check> {
    let areas = [
        discovery::CHECKS,
        health::CHECKS,
        openapi::CHECKS,
        create::CHECKS,
        list::CHECKS,
        selectors::CHECKS,
        watch::CHECKS,
        update::CHECKS,
        patch::CHECKS,
        apply::CHECKS,
        apply::lists::CHECKS,
        delete::CHECKS,
        subresources::CHECKS,
        subresources::pods::CHECKS,
        subresources::certificates::CHECKS,
        dry_run::CHECKS,
        defaults::CHECKS,
        field_validation::CHECKS,
    ];
    areas.into_iter().chain(validation::CHECKS).flatten().copied()
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
