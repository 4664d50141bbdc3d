//! Disks over iSCSI. Unlike persistent volumes, pods hear which prefixes a name may have.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::super::Options;
use crate::{
    checks::{Errors, range_error, require},
    read::{flag, get, has, int, text},
    volume_sources::{LONG_PORTAL, is_iscsi_name},
};

pub(super) fn validate(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require(source, "targetPortal", path, errors);
    if require(source, "iqn", path, errors) {
        validate_qualified_name(text(source, "iqn"), || path.child("iqn"), errors);
    }
    if let Some(lun) = int(source, "lun").filter(|lun| !(0..=255).contains(lun)) {
        let detail = range_error(0, 255);
        errors.push(FieldError::invalid(&path.child("lun"), &json!(lun), detail));
    }
    let authenticates = flag(source, "chapAuthDiscovery") || flag(source, "chapAuthSession");
    if authenticates && !has(source, "secretRef") {
        errors.push(FieldError::required(&path.child("secretRef"), ""));
    }
    if let Some(name) = get(source, "initiatorName").as_str() {
        validate_qualified_name(name, || path.child("initiatorname"), errors);
    }
}

fn validate_qualified_name(name: &str, path: impl FnOnce() -> Path, errors: &mut Errors) {
    let has_prefix = ["iqn", "eui", "naa"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    let detail = if !has_prefix {
        "must be valid format starting with iqn, eui, or naa"
    } else if !is_iscsi_name(name) {
        "must be valid format"
    } else {
        return;
    };
    errors.push(FieldError::invalid(&path(), &json!(name), detail));
}

/// The name of the volume becomes part of a name with a limit.
pub(super) fn validate_name(source: &Value, name: &str, path: &Path, errors: &mut Errors) {
    let length = name.len() + 1 + text(source, "targetPortal").len();
    if has(source, "initiatorName") && length > 64 {
        errors.push(FieldError::invalid(
            &path.child("name"),
            &json!(name),
            LONG_PORTAL,
        ));
    }
}
