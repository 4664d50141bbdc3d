//! Which versions of a model to load and which to drop: a pure function of what is there, what has become of it, and
//! what the user wants.

use std::collections::{BTreeMap, BTreeSet};

/// Which of the versions in a folder are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// So many of the highest.
    Latest(usize),
    All,
    /// These, whatever else is there.
    Only(BTreeSet<u64>),
}

/// What has become of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Available,
    /// It was refused. It may be right by now, so it is worth another try, or it is not.
    Refused {
        is_due: bool,
    },
}

/// What to do next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The highest first.
    pub(crate) load: Vec<u64>,
    pub(crate) drop: Vec<u64>,
}

/// A version goes when everything that is to replace it answers, so there is never none where there was one.
/// One that was refused counts as if it were not there, but for the tries to load it.
pub(crate) fn plan(present: &BTreeSet<u64>, stages: &BTreeMap<u64, Stage>, policy: &Policy) -> Plan {
    let stage = |version: &u64| stages.get(version).copied();
    let worth_a_try = present
        .iter()
        .filter(|version| !matches!(stage(version), Some(Stage::Refused { is_due: false })));
    let load = chosen(worth_a_try, policy)
        .into_iter()
        .rev()
        .filter(|version| stage(version) != Some(Stage::Available))
        .collect();
    let sound = present
        .iter()
        .filter(|version| !matches!(stage(version), Some(Stage::Refused { .. })));
    let wanted = chosen(sound, policy);
    let are_there = wanted
        .iter()
        .all(|version| stage(version) == Some(Stage::Available));
    let available = stages.iter().filter(|(_, stage)| **stage == Stage::Available);
    let drop = if wanted.is_empty() || !are_there {
        Vec::new()
    } else {
        available
            .map(|(version, _)| *version)
            .filter(|version| !wanted.contains(version))
            .collect()
    };
    Plan { load, drop }
}

/// Those of some versions that a policy wants.
pub(crate) fn chosen<'a>(
    versions: impl DoubleEndedIterator<Item = &'a u64>,
    policy: &Policy,
) -> BTreeSet<u64> {
    match policy {
        Policy::Latest(count) => versions.rev().take(*count).copied().collect(),
        Policy::All => versions.copied().collect(),
        Policy::Only(only) => versions
            .filter(|version| only.contains(version))
            .copied()
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DUE: Stage = Stage::Refused { is_due: true };
    const NOT_DUE: Stage = Stage::Refused { is_due: false };

    fn check(present: &[u64], stages: &[(u64, Stage)], policy: Policy, load: &[u64], drop: &[u64]) {
        let found = plan(
            &present.iter().copied().collect(),
            &stages.iter().copied().collect(),
            &policy,
        );
        assert_eq!((&*found.load, &*found.drop), (load, drop));
    }

    #[test]
    fn the_highest_is_loaded_and_replaces_what_is_there_once_it_answers() {
        check(&[1, 2], &[], Policy::Latest(1), &[2], &[]);
        check(&[1, 2], &[(1, Stage::Available)], Policy::Latest(1), &[2], &[]);
        let both = [(1, Stage::Available), (2, Stage::Available)];
        check(&[1, 2], &both, Policy::Latest(1), &[], &[1]);
    }

    #[test]
    fn the_one_before_a_refused_one_is_served() {
        check(&[1, 2], &[(2, NOT_DUE)], Policy::Latest(1), &[1], &[]);
        let stages = [(1, Stage::Available), (2, NOT_DUE)];
        check(&[1, 2], &stages, Policy::Latest(1), &[], &[]);
        let stages = [(1, Stage::Available), (2, DUE)];
        check(&[1, 2], &stages, Policy::Latest(1), &[2], &[]);
    }

    #[test]
    fn a_deleted_version_goes_once_another_answers_and_the_last_stays() {
        check(&[1], &[(2, Stage::Available)], Policy::Latest(1), &[1], &[]);
        let both = [(1, Stage::Available), (2, Stage::Available)];
        check(&[1], &both, Policy::Latest(1), &[], &[2]);
        check(&[], &[(2, Stage::Available)], Policy::Latest(1), &[], &[]);
    }

    #[test]
    fn all_and_chosen_versions_are_served_beside_each_other() {
        check(&[1, 2, 3], &[], Policy::All, &[3, 2, 1], &[]);
        let only = Policy::Only(BTreeSet::from([1, 9]));
        check(&[1, 2, 3], &[], only, &[1], &[]);
    }

    proptest! {
        /// Whatever happens: something that answers is never given up for nothing.
        #[test]
        fn there_is_never_none_where_there_was_one(
            present in proptest::collection::btree_set(1_u64..6, 0..5),
            stages in proptest::collection::btree_map(
                1_u64..6,
                prop_oneof![Just(Stage::Available), Just(DUE), Just(NOT_DUE)],
                0..5,
            ),
            count in 1_usize..3,
        ) {
            let plan = plan(&present, &stages, &Policy::Latest(count));
            let available = stages.values().filter(|stage| **stage == Stage::Available).count();
            prop_assert!(available == 0 || plan.drop.len() < available);
            prop_assert!(plan.load.len() <= count);
        }
    }
}
