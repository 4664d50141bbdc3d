//! What each kind of storage must say, in volumes of pods and in persistent volumes alike.

use manifests::field::FieldError;

use crate::field::{Errors, Field};

/// The name of a volume becomes part of an iSCSI name, which has a limit.
pub(crate) const LONG_PORTAL: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

pub(crate) fn require(source: &Field<'_>, fields: &[&str], errors: &mut Errors) {
    for field in fields {
        source.child(field).require(errors);
    }
}

pub(crate) fn validate_host_path(source: &Field<'_>, errors: &mut Errors) {
    const TYPES: [&str; 8] = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let path = source.child("path");
    if path.require(errors) {
        validate_no_backsteps(&path, errors);
        source.child("type").optional_one_of(&TYPES, errors);
    }
}

/// Whether a path has a `..` segment.
pub(crate) fn has_backstep(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

pub(crate) fn validate_no_backsteps(path: &Field<'_>, errors: &mut Errors) {
    if has_backstep(path.text()) {
        path.invalid("must not contain '..'", errors);
    }
}

pub(crate) fn validate_disk(source: &Field<'_>, name: &str, errors: &mut Errors) {
    source.child(name).require(errors);
    let partition = source.child("partition");
    if !(0..=255).contains(&partition.int().unwrap_or_default()) {
        partition.invalid("must be between 1 and 255, inclusive", errors);
    }
}

pub(crate) fn validate_flocker(source: &Field<'_>, errors: &mut Errors) {
    let (name, uuid) = (source.child("datasetName"), source.child("datasetUUID"));
    if name.is_empty() && uuid.is_empty() {
        source.required_because("one of datasetName and datasetUUID is required", errors);
    }
    if !name.is_empty() && !uuid.is_empty() {
        source.invalid_as(
            "resource",
            "datasetName and datasetUUID can not be specified simultaneously",
            errors,
        );
    }
    if name.text().contains('/') {
        name.invalid("must not contain '/'", errors);
    }
}

pub(crate) fn validate_nfs(source: &Field<'_>, errors: &mut Errors) {
    require(source, &["server", "path"], errors);
    let path = source.child("path");
    if !path.text().starts_with('/') {
        path.invalid_as(path.text(), "must be an absolute path", errors);
    }
}

pub(crate) fn validate_quobyte(source: &Field<'_>, errors: &mut Errors) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let (registry, tenant) = (source.child("registry"), source.child("tenant"));
    if registry.is_empty() {
        registry.required_because(PAIRS, errors);
    } else if tenant.text().len() >= 65 {
        tenant.required_because(
            "must be a UUID and may not exceed a length of 64 characters",
            errors,
        );
    } else {
        for _ in registry.text().split(',').filter(|pair| !is_host_and_port(pair)) {
            registry.invalid(PAIRS, errors);
        }
    }
    source.child("volume").require(errors);
}

fn is_host_and_port(pair: &str) -> bool {
    match pair.rsplit_once(':') {
        Some((host, _)) if host.starts_with('[') => host.ends_with(']'),
        Some((host, _)) => !host.contains([':', '[', ']']),
        None => false,
    }
}

/// `iqn.2001-04.com.example:disk`, `eui.0123456789ABCDEF` or `naa.` with 32 characters.
pub(crate) fn is_iscsi_name(name: &str) -> bool {
    let dotted = |rest: &str, length: usize| {
        rest.chars().count() == length + 1 && rest.chars().skip(1).all(|c| c.is_ascii_alphanumeric())
    };
    match name.get(..3) {
        Some("iqn") => is_qualified_iscsi_name(name),
        Some("eui") => dotted(&name[3..], 16),
        Some("naa") => dotted(&name[3..], 32),
        _ => false,
    }
}

/// A date, a reversed domain, and a name of one's own.
fn is_qualified_iscsi_name(name: &str) -> bool {
    let Some((authority, own)) = name.strip_prefix("iqn.").and_then(|rest| rest.split_once(':')) else {
        return false;
    };
    let date = authority.as_bytes();
    let digits = |range: std::ops::Range<usize>| date[range].iter().all(u8::is_ascii_digit);
    date.len() > 8
        && digits(0..4)
        && date[4] == b'-'
        && digits(5..7)
        && date[7] == b'.'
        && date[8..]
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"-.".contains(b))
        && !own.is_empty()
        && !own.contains(|c: char| c.is_ascii_whitespace() || ",;*&$|".contains(c))
}

pub(crate) fn validate_fibre_channel(source: &Field<'_>, errors: &mut Errors) {
    let (names, ids, lun) = (
        source.child("targetWWNs"),
        source.child("wwids"),
        source.child("lun"),
    );
    if names.is_empty() && ids.is_empty() {
        names.required_because("must specify either targetWWNs or wwids, but not both", errors);
    }
    if !names.is_empty() && !ids.is_empty() {
        names.invalid("targetWWNs and wwids can not be specified simultaneously", errors);
    }
    if !names.is_empty() {
        if lun.is_set() {
            lun.in_range(0, 255, errors);
        } else {
            lun.required_because("lun is required if targetWWNs is specified", errors);
        }
    }
}

pub(crate) fn validate_flex(source: &Field<'_>, errors: &mut Errors) {
    source.child("driver").require(errors);
    for (key, option) in source.child("options").entries() {
        let owner = key.split_once('/').map_or(key, |(owner, _)| owner);
        let owner = format!(".{}", owner.to_lowercase());
        if owner.ends_with(".kubernetes.io") || owner.ends_with(".k8s.io") {
            option.invalid_as(key, "kubernetes.io and k8s.io namespaces are reserved", errors);
        }
    }
}

pub(crate) fn validate_azure_disk(source: &Field<'_>, errors: &mut Errors) {
    const MANAGED: &str =
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    require(source, &["diskName", "diskURI"], errors);
    source
        .child("cachingMode")
        .optional_one_of(&["None", "ReadOnly", "ReadWrite"], errors);
    let (kind, uri) = (source.child("kind"), source.child("diskURI"));
    kind.optional_one_of(&["Dedicated", "Managed", "Shared"], errors);
    if kind.is_set() {
        let (prefix, form) = if kind.text() == "Managed" {
            ("/subscriptions/", MANAGED)
        } else {
            ("https://", BLOB)
        };
        if !uri.text().starts_with(prefix) {
            errors.push(FieldError::not_supported(
                &uri.path(),
                &uri.text().into(),
                &[form],
            ));
        }
    }
}
