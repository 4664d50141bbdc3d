//! Disks: local, in clouds, and over storage networks.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::super::Options;
use crate::{
    checks::{Errors, one_of_if_set, range_error, require},
    read::{flag, get, has, int, list, text},
};

pub(super) fn validate_gce_disk(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require(source, "pdName", path, errors);
    validate_partition(source, path, errors);
}

pub(super) fn validate_aws_store(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require(source, "volumeID", path, errors);
    validate_partition(source, path, errors);
}

fn validate_partition(source: &Value, path: &Path, errors: &mut Errors) {
    if let Some(partition) = int(source, "partition").filter(|partition| !(0..=255).contains(partition)) {
        errors.push(FieldError::invalid(
            &path.child("partition"),
            &json!(partition),
            range_error(1, 255),
        ));
    }
}

pub(super) fn validate_fibre_channel(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    let names = list(source, "targetWWNs");
    let has_ids = !list(source, "wwids").is_empty();
    let names_path = || path.child("targetWWNs");
    if names.is_empty() && !has_ids {
        let detail = "must specify either targetWWNs or wwids, but not both";
        errors.push(FieldError::required(&names_path(), detail));
    }
    if !names.is_empty() && has_ids {
        let detail = "targetWWNs and wwids can not be specified simultaneously";
        errors.push(FieldError::invalid(
            &names_path(),
            get(source, "targetWWNs"),
            detail,
        ));
    }
    if !names.is_empty() && !has(source, "lun") {
        let detail = "lun is required if targetWWNs is specified";
        errors.push(FieldError::required(&path.child("lun"), detail));
    } else if !names.is_empty() {
        validate_lun(source, path, errors);
    }
}

fn validate_lun(source: &Value, path: &Path, errors: &mut Errors) {
    if let Some(lun) = int(source, "lun").filter(|lun| !(0..=255).contains(lun)) {
        errors.push(FieldError::invalid(
            &path.child("lun"),
            &json!(lun),
            range_error(0, 255),
        ));
    }
}

pub(super) fn validate_iscsi(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require(source, "targetPortal", path, errors);
    if require(source, "iqn", path, errors) {
        validate_qualified_name(text(source, "iqn"), || path.child("iqn"), errors);
    }
    validate_lun(source, path, errors);
    let authenticates = flag(source, "chapAuthDiscovery") || flag(source, "chapAuthSession");
    if authenticates && !has(source, "secretRef") {
        errors.push(FieldError::required(&path.child("secretRef"), ""));
    }
    if let Some(name) = get(source, "initiatorName").as_str() {
        validate_qualified_name(name, || path.child("initiatorname"), errors);
    }
}

fn validate_qualified_name(name: &str, path: impl FnOnce() -> Path, errors: &mut Errors) {
    let alphanumeric = |text: &str, length: usize| {
        text.chars().count() == length + 1 && text.chars().skip(1).all(|c| c.is_ascii_alphanumeric())
    };
    let fine = match name.get(..3) {
        Some("iqn") => is_iscsi_name(name),
        Some("eui") => alphanumeric(&name[3..], 16),
        Some("naa") => alphanumeric(&name[3..], 32),
        _ => {
            let detail = "must be valid format starting with iqn, eui, or naa";
            errors.push(FieldError::invalid(&path(), &json!(name), detail));
            return;
        }
    };
    if !fine {
        errors.push(FieldError::invalid(&path(), &json!(name), "must be valid format"));
    }
}

/// `iqn.2001-04.com.example:storage`: a date, a reversed domain, and a name of one's own.
fn is_iscsi_name(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("iqn.") else {
        return false;
    };
    let Some((authority, own)) = rest.split_once(':') else {
        return false;
    };
    let date = authority.as_bytes();
    let digits = |range: std::ops::Range<usize>| date[range].iter().all(u8::is_ascii_digit);
    date.len() > 8
        && digits(0..4)
        && date[4] == b'-'
        && digits(5..7)
        && date[7] == b'.'
        && authority[8..]
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
        && !own.is_empty()
        && !own.contains(|c: char| matches!(c, ',' | ';' | '*' | '&' | '$' | '|') || c.is_ascii_whitespace())
}

/// The name of the volume becomes part of a name with a limit.
pub(super) fn validate_iscsi_name(source: &Value, name: &str, path: &Path, errors: &mut Errors) {
    let length = name.len() + 1 + text(source, "targetPortal").len();
    if has(source, "initiatorName") && length > 64 {
        let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        errors.push(FieldError::invalid(&path.child("name"), &json!(name), detail));
    }
}

pub(super) fn validate_azure_disk(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    const MANAGED: &str =
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    require(source, "diskName", path, errors);
    require(source, "diskURI", path, errors);
    one_of_if_set(
        source,
        "cachingMode",
        &["None", "ReadOnly", "ReadWrite"],
        path,
        errors,
    );
    one_of_if_set(source, "kind", &["Dedicated", "Managed", "Shared"], path, errors);
    let uri = text(source, "diskURI");
    let (prefix, example) = match get(source, "kind").as_str() {
        None => return,
        Some("Managed") => ("/subscriptions/", MANAGED),
        Some(_) => ("https://", BLOB),
    };
    if !uri.starts_with(prefix) {
        errors.push(FieldError::not_supported(
            &path.child("diskURI"),
            &json!(uri),
            &[example],
        ));
    }
}
