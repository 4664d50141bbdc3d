//! The Pod Security Standards: what a pod may ask for at each level, in the words of the real server.
//! Which level a namespace has stands in its labels; what follows from a violation is for admission.

mod existing;
mod host;
mod policy;
mod privileges;
mod profiles;
mod subject;
mod templates;
mod users;
mod volumes;
mod wording;

#[cfg(test)]
mod tests;

use serde_json::Value;

pub use self::{
    existing::warnings_about_existing,
    policy::{Level, Policies, Policy, Version, policies},
    templates::{is_significant_update, template_of},
};
use self::{policy::Version::Minor, subject::Subject};

/// Why a pod breaks a policy: a rule, and where it is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub reason: String,
    pub detail: String,
}

impl Violation {
    fn new(reason: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            detail: detail.into(),
        }
    }
}

/// One rule of the standards.
struct Check {
    level: Level,
    /// The first version of the standards that has it.
    since: Version,
    /// From this version on the restricted level has a stricter rule instead.
    superseded: Option<Version>,
    find: fn(&Subject<'_>) -> Option<Violation>,
}

const fn baseline(minor: u32, find: fn(&Subject<'_>) -> Option<Violation>) -> Check {
    Check {
        level: Level::Baseline,
        since: Minor(minor),
        superseded: None,
        find,
    }
}

const fn restricted(minor: u32, find: fn(&Subject<'_>) -> Option<Violation>) -> Check {
    Check {
        level: Level::Restricted,
        ..baseline(minor, find)
    }
}

/// In the order in which violations are told.
const CHECKS: [Check; 18] = [
    baseline(0, profiles::app_armor),
    Check {
        superseded: Some(Minor(22)),
        ..baseline(0, privileges::added_capabilities)
    },
    baseline(0, host::namespaces),
    Check {
        superseded: Some(Minor(0)),
        ..baseline(0, volumes::host_paths)
    },
    baseline(0, host::ports),
    baseline(34, host::probes_and_lifecycle),
    baseline(0, privileges::privileged),
    baseline(0, privileges::proc_mount),
    baseline(0, profiles::se_linux),
    Check {
        superseded: Some(Minor(19)),
        ..baseline(0, profiles::seccomp)
    },
    baseline(0, host::kernel_parameters),
    baseline(0, host::windows_processes),
    restricted(8, privileges::escalation),
    restricted(22, privileges::dropped_capabilities),
    restricted(0, volumes::restricted_types),
    restricted(0, users::run_as_non_root),
    restricted(23, users::run_as_user),
    restricted(19, profiles::required_seccomp),
];

impl Check {
    fn belongs_to(&self, policy: Policy) -> bool {
        let superseded = policy.level == Level::Restricted
            && self
                .superseded
                .is_some_and(|superseded| policy.version >= superseded);
        policy.level >= self.level && policy.version >= self.since && !superseded
    }
}

/// What in a pod, given by its metadata and spec, a policy does not allow.
pub fn violations(policy: Policy, metadata: &Value, spec: &Value) -> Vec<Violation> {
    let subject = Subject {
        metadata,
        spec,
        version: policy.version,
    };
    CHECKS
        .iter()
        .filter(|check| check.belongs_to(policy))
        .filter_map(|check| (check.find)(&subject))
        .collect()
}

/// The violations in one line, with where they are: about one pod.
pub fn describe(violations: &[Violation]) -> String {
    let described: Vec<String> = violations
        .iter()
        .map(|Violation { reason, detail }| format!("{reason} ({detail})"))
        .collect();
    described.join(", ")
}

/// The broken rules in one line: about many pods that break the same.
fn reasons(violations: &[Violation]) -> String {
    let reasons: Vec<&str> = violations
        .iter()
        .map(|violation| violation.reason.as_str())
        .collect();
    reasons.join(", ")
}
