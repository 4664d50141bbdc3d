//! Claims made from templates: for ephemeral volumes of a pod.

use manifests::field::{FieldError, Path, quoted};
use serde_json::{Value, json};

use super::super::Options;
use crate::{checks::Errors, names, object_meta, objects::persistent_volume_claim, read::get};

pub(super) fn validate_ephemeral(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    let template = get(source, "volumeClaimTemplate");
    let path = path.child("volumeClaimTemplate");
    if template.is_null() {
        errors.push(FieldError::required(&path, ""));
        return;
    }
    object_meta::validate_template(get(template, "metadata"), &path.child("metadata"), errors);
    persistent_volume_claim::validate_template_spec(get(template, "spec"), &path.child("spec"), errors);
}

/// The claim is named after the pod and the volume.
pub(super) fn validate_claim_name(volume: &str, pod_name: &str, path: &Path, errors: &mut Errors) {
    if pod_name.is_empty() || volume.is_empty() {
        return;
    }
    let claim = format!("{pod_name}-{volume}");
    for message in names::dns_subdomain(&claim) {
        let detail = format!("PVC name {}: {message}", quoted(&claim));
        errors.push(FieldError::invalid(&path.child("name"), &json!(volume), detail));
    }
}
