//! The run policy, also where older operators had its fields: directly in the specification.

use resources::{RunPolicy, definitions::OLD_LAYOUT};
use serde::{Deserialize as _, de::DeserializeOwned};
use serde_json::Value;

use crate::job::{CleanPodPolicy, MpiVersion, Policy, Warning};

/// The launcher of a v1alpha2 job is tried so often when nothing else is said.
const V1ALPHA2_BACKOFF_LIMIT: i32 = 6;

pub(super) fn read(
    spec: &Value,
    policy: RunPolicy,
    mpi_version: Option<MpiVersion>,
    warnings: &mut Vec<Warning>,
) -> Policy {
    let flat = Flat { spec };
    warnings.extend(flat.warning(&policy, own_fields(mpi_version)));
    let clean = policy.clean_pod_policy.or_else(|| flat.text("cleanPodPolicy"));
    let default_limit = (mpi_version == Some(MpiVersion::V1Alpha2)).then_some(V1ALPHA2_BACKOFF_LIMIT);
    let backoff_limit = policy
        .backoff_limit
        .or_else(|| flat.number("backoffLimit").map(|limit| limit as i32));
    Policy {
        clean: clean.as_deref().and_then(CleanPodPolicy::named),
        ttl_seconds: policy
            .ttl_seconds_after_finished
            .map(i64::from)
            .or_else(|| flat.number("ttlSecondsAfterFinished")),
        deadline_seconds: policy
            .active_deadline_seconds
            .or_else(|| flat.number("activeDeadlineSeconds")),
        backoff_limit: backoff_limit.or(default_limit),
        scheduling: policy
            .scheduling_policy
            .or_else(|| flat.read("schedulingPolicy"))
            .unwrap_or_default(),
        suspend: policy.suspend.unwrap_or_default(),
        managed_by: policy.managed_by,
    }
}

/// Fields that a version of MPIJob has where others have them no more.
fn own_fields(mpi_version: Option<MpiVersion>) -> &'static [&'static str] {
    match mpi_version {
        Some(MpiVersion::V1Alpha2) => &["cleanPodPolicy", "backoffLimit", "activeDeadlineSeconds"],
        Some(MpiVersion::V1) => &["cleanPodPolicy"],
        Some(MpiVersion::V2Beta1) | None => &[],
    }
}

/// Fields of the run policy that stand directly in the specification.
struct Flat<'a> {
    spec: &'a Value,
}

impl Flat<'_> {
    fn text(&self, field: &str) -> Option<String> {
        self.spec[field].as_str().map(str::to_owned)
    }

    fn number(&self, field: &str) -> Option<i64> {
        self.spec[field].as_i64()
    }

    fn read<T: DeserializeOwned>(&self, field: &str) -> Option<T> {
        Option::deserialize(&self.spec[field]).ok().flatten()
    }

    fn warning(&self, policy: &RunPolicy, own: &[&str]) -> Option<Warning> {
        let found: Vec<&str> = OLD_LAYOUT
            .into_iter()
            .filter(|field| !own.contains(field) && !self.spec[*field].is_null())
            .collect();
        if found.is_empty() {
            return None;
        }
        let fields = found.join("`, `spec.");
        let unused = if *policy == RunPolicy::default() {
            ""
        } else {
            " where that says nothing"
        };
        Some(Warning {
            reason: "OldLayout",
            message: format!("`spec.{fields}` is an old layout and read as part of `spec.runPolicy`{unused}"),
        })
    }
}
