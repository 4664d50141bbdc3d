//! Templates of pods, as workloads carry them.

use manifests::field::{FieldError, Path};
use serde_json::Value;

use super::{Options, annotations, defaults, disabled, spec, warnings};
use crate::{
    checks::Errors,
    label_selector::validate_labels,
    object_meta::validate_annotations,
    read::{get, list},
};

/// Fills in what the user left out of a template.
pub fn default(template: &mut Value) {
    defaults::template(template);
}

/// Drops fields that are not switched on, unless the old template has them.
pub fn drop_disabled(template: &mut Value, old: &Value) {
    if let Some(spec) = template.get_mut("spec") {
        disabled::drop(spec, get(old, "spec"));
    }
}

/// Checks a template; `path` is that of the template.
pub fn validate(template: &Value, options: Options, path: &Path, errors: &mut Errors) {
    let (meta, pod_spec) = (get(template, "metadata"), get(template, "spec"));
    let spec_path = path.child("spec");
    validate_meta(template, options, path, errors);
    spec::validate(pod_spec, None, options, &spec_path, errors);
    annotations::validate_agreement(meta, pod_spec, &spec_path, errors);
    if !list(pod_spec, "ephemeralContainers").is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(
            &spec_path.child("ephemeralContainers"),
            detail,
        ));
    }
}

/// Checks labels and annotations. The real server leaves `metadata` out of their paths.
pub fn validate_meta(template: &Value, options: Options, path: &Path, errors: &mut Errors) {
    let (meta, pod_spec) = (get(template, "metadata"), get(template, "spec"));
    let annotations = get(meta, "annotations");
    validate_labels(get(meta, "labels"), &path.child("labels"), errors);
    let path = path.child("annotations");
    validate_annotations(annotations, &path, errors);
    annotations::validate(
        annotations,
        pod_spec,
        options.allow_invalid_deletion_cost,
        &path,
        errors,
    );
}

/// What to tell about a template; `path` is that of the template.
pub fn warnings(template: &Value, path: &Path) -> Vec<String> {
    warnings::of_template(template, path)
}
