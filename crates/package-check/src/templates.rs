//! Templates of pods in objects whose definition leaves them open.

use kinds::types;
use serde_json::Value;

use crate::{complaints::Complaints, pod_specs::pod_specs};

/// Looks at the types of all fields, and tells whether they fit.
pub(crate) fn check(object: &Value, complaints: &mut Complaints<'_>) -> bool {
    let Some(shape) = types::by_name("io.k8s.api.core.v1.PodSpec") else {
        return true;
    };
    let mut fits = true;
    for (path, spec) in pod_specs(object) {
        let faults = kinds::decode::faults(shape, &mut spec.clone());
        complaints.faults(&path, &faults);
        fits &= faults.misfits.is_empty();
    }
    fits
}
