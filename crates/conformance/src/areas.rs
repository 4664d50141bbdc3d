//! The checks, a file per area.

mod access;
mod accounts;
mod aggregation;
mod apply;
mod bad_input;
mod create;
mod custom;
mod defaults;
mod delete;
mod discovery;
mod dry_run;
mod events;
mod field_validation;
mod garbage;
mod health;
mod list;
mod namespaces;
mod negotiation;
mod openapi;
mod patch;
mod pod_security;
mod policies;
mod protobuf_bodies;
mod quota;
mod selectors;
mod services;
mod storage;
mod subresources;
mod tables;
mod update;
mod validation;
mod watch;
mod webhooks;

use crate::Check;

/// Every check, area by area.
pub fn checks() -> impl Iterator<Item = Check> {
    let areas = [
        discovery::CHECKS,
        aggregation::CHECKS,
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
        defaults::workloads::CHECKS,
        defaults::networking::CHECKS,
        defaults::cluster::CHECKS,
        tables::CHECKS,
        tables::kinds::CHECKS,
        field_validation::CHECKS,
        negotiation::CHECKS,
        protobuf_bodies::CHECKS,
        bad_input::CHECKS,
        events::CHECKS,
        namespaces::CHECKS,
        garbage::CHECKS,
        quota::CHECKS,
        services::CHECKS,
        storage::CHECKS,
        accounts::CHECKS,
        access::CHECKS,
        access::reviews::CHECKS,
        webhooks::CHECKS,
        policies::CHECKS,
        pod_security::CHECKS,
    ];
    areas
        .into_iter()
        .chain(validation::CHECKS)
        .chain(custom::CHECKS)
        .flatten()
        .copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own() {
        let mut seen = BTreeSet::new();
        for check in checks() {
            assert!(
                seen.insert((check.area, check.name)),
                "`{}: {}` is there twice",
                check.area,
                check.name
            );
        }
    }

    #[test]
    fn a_name_is_a_sentence_that_fits_into_a_table() {
        for check in checks() {
            assert!(
                check.name.contains(' ') && !check.name.ends_with('.'),
                "`{}`",
                check.name
            );
            assert!(!check.name.contains('|'), "`{}`", check.name);
        }
    }
}
