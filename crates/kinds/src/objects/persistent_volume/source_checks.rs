//! What each kind of storage behind a volume must say.

use manifests::field::FieldError;

use crate::{
    names,
    objects::{
        csi,
        field::{Errors, Field},
    },
};

pub(super) fn require(source: &Field<'_>, fields: &[&str], errors: &mut Errors) {
    for field in fields {
        source.child(field).require(errors);
    }
}

pub(super) fn check_host_path(source: &Field<'_>, errors: &mut Errors) {
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
        check_no_backsteps(&path, errors);
        source.child("type").optional_one_of(&TYPES, errors);
    }
}

pub(super) fn check_no_backsteps(path: &Field<'_>, errors: &mut Errors) {
    if path.text().split('/').any(|part| part == "..") {
        path.invalid("must not contain '..'", errors);
    }
}

pub(super) fn check_disk(source: &Field<'_>, name: &str, errors: &mut Errors) {
    source.child(name).require(errors);
    let partition = source.child("partition");
    if !(0..=255).contains(&partition.int().unwrap_or_default()) {
        partition.invalid("must be between 1 and 255, inclusive", errors);
    }
}

pub(super) fn check_glusterfs(source: &Field<'_>, errors: &mut Errors) {
    require(source, &["endpoints", "path"], errors);
    let namespace = source.child("endpointsNamespace");
    if namespace.is_set() && namespace.is_empty() {
        namespace.invalid(
            "if the endpointnamespace is set, it must be a valid namespace name",
            errors,
        );
    } else if namespace.is_set() {
        namespace.syntax(names::dns_label, errors);
    }
}

pub(super) fn check_flocker(source: &Field<'_>, errors: &mut Errors) {
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

pub(super) fn check_nfs(source: &Field<'_>, errors: &mut Errors) {
    require(source, &["server", "path"], errors);
    let path = source.child("path");
    if !path.text().starts_with('/') {
        path.invalid_as(path.text(), "must be an absolute path", errors);
    }
}

pub(super) fn check_quobyte(source: &Field<'_>, errors: &mut Errors) {
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
        for _ in registry.text().split(',').filter(|pair| !pair.contains(':')) {
            registry.invalid(PAIRS, errors);
        }
    }
    source.child("volume").require(errors);
}

pub(super) fn check_iscsi(source: &Field<'_>, errors: &mut Errors) {
    source.child("targetPortal").require(errors);
    let name = source.child("iqn");
    if name.require(errors) && !is_iscsi_name(name.text()) {
        name.invalid("must be valid format", errors);
    }
    source.child("lun").in_range(0, 255, errors);
    let secret = source.child("secretRef");
    let authenticates = source.child("chapAuthDiscovery").flag() || source.child("chapAuthSession").flag();
    if authenticates && !secret.is_set() {
        secret.required(errors);
    }
    if secret.is_set() {
        source.child("secretRef.name").require(errors);
    }
    let initiator = source.child("initiatorName");
    if initiator.is_set() && !is_iscsi_name(initiator.text()) {
        source
            .renamed("initiatorname")
            .invalid_as(initiator.text(), "must be valid format", errors);
    }
}

pub(super) fn check_initiator_length(source: &Field<'_>, volume_name: &str, errors: &mut Errors) {
    let portal = source.child("targetPortal").text();
    if source.child("initiatorName").is_set() && volume_name.len() + 1 + portal.len() > 64 {
        source.renamed("targetportal").invalid_as(
            portal,
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.",
            errors,
        );
    }
}

/// `iqn.2001-04.com.example:disk`, `eui.0123456789ABCDEF` or `naa.` with 32 characters.
fn is_iscsi_name(name: &str) -> bool {
    let word = |text: &str, length| text.len() == length && text.chars().all(|c| c.is_ascii_alphanumeric());
    if let Some(rest) = name.strip_prefix("iqn.") {
        let Some((authority, target)) = rest.split_once(':') else {
            return false;
        };
        let bytes = authority.as_bytes();
        let digits = |range: std::ops::Range<usize>| {
            bytes
                .get(range)
                .is_some_and(|part| part.iter().all(u8::is_ascii_digit))
        };
        return digits(0..4)
            && bytes.get(4) == Some(&b'-')
            && digits(5..7)
            && bytes.get(7) == Some(&b'.')
            && bytes.len() > 8
            && bytes[8..]
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || b"-.".contains(b))
            && !target.is_empty()
            && !target.contains(|c: char| c.is_whitespace() || ",;*&$|".contains(c));
    }
    let after_any = |rest: &str, length| {
        rest.chars()
            .next()
            .is_some_and(|c| word(&rest[c.len_utf8()..], length))
    };
    name.strip_prefix("eui").is_some_and(|rest| after_any(rest, 16))
        || name.strip_prefix("naa").is_some_and(|rest| after_any(rest, 32))
}

pub(super) fn check_cinder(source: &Field<'_>, errors: &mut Errors) {
    source.child("volumeID").require(errors);
    check_secret_reference(source, errors);
}

pub(super) fn check_secret_reference(source: &Field<'_>, errors: &mut Errors) {
    if source.child("secretRef").is_set() {
        require(source, &["secretRef.name", "secretRef.namespace"], errors);
    }
}

pub(super) fn check_fibre_channel(source: &Field<'_>, errors: &mut Errors) {
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

pub(super) fn check_flex(source: &Field<'_>, errors: &mut Errors) {
    source.child("driver").require(errors);
    for (key, option) in source.child("options").entries() {
        let owner = key.split_once('/').map_or(key, |(owner, _)| owner);
        let owner = format!(".{}", owner.to_lowercase());
        if owner.ends_with(".kubernetes.io") || owner.ends_with(".k8s.io") {
            option.invalid_as(key, "kubernetes.io and k8s.io namespaces are reserved", errors);
        }
    }
}

pub(super) fn check_azure_file(source: &Field<'_>, errors: &mut Errors) {
    require(source, &["secretName", "shareName"], errors);
    let namespace = source.child("secretNamespace");
    if namespace.is_set() {
        namespace.require(errors);
    }
}

pub(super) fn check_azure_disk(source: &Field<'_>, errors: &mut Errors) {
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

pub(super) fn check_local(source: &Field<'_>, errors: &mut Errors) {
    let path = source.child("path");
    if path.require(errors) {
        check_no_backsteps(&path, errors);
    }
}

pub(super) fn check_storage_os(source: &Field<'_>, errors: &mut Errors) {
    source
        .child("volumeName")
        .require_syntax(names::dns_label, errors);
    source
        .child("volumeNamespace")
        .optional_syntax(names::dns_label, errors);
    check_secret_reference(source, errors);
}

pub(super) fn check_csi(source: &Field<'_>, errors: &mut Errors) {
    const SECRETS: [&str; 4] = [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ];
    csi::validate_driver_name(&source.child("driver"), errors);
    source.child("volumeHandle").require(errors);
    for secret in SECRETS {
        let secret = source.child(secret);
        if secret.is_set() {
            secret.child("name").require_syntax(names::dns_subdomain, errors);
            secret.child("namespace").require_syntax(names::dns_label, errors);
        }
    }
}
