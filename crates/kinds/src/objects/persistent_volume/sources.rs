//! Where a volume comes from: one of many kinds of storage, most of them no longer served by
//! anything but still accepted.

use manifests::field::FieldError;
use serde_json::{Map, Value, json};

use crate::{
    names,
    objects::{
        compare::same,
        field::{Errors, Field},
        shown::{Member, Type},
    },
    read,
};

/// The sources as the server's own type writes them.
pub(super) static SHOWN: [Member; 22] = [
    Member("gcePersistentDisk", "GCEPersistentDisk", Type::Raised),
    Member("awsElasticBlockStore", "AWSElasticBlockStore", Type::Raised),
    Member(
        "hostPath",
        "HostPath",
        Type::Pointer(&[
            Member("path", "Path", Type::Text),
            Member("type", "Type", Type::Any),
        ]),
    ),
    Member("glusterfs", "Glusterfs", Type::Raised),
    Member(
        "nfs",
        "NFS",
        Type::Pointer(&[
            Member("server", "Server", Type::Text),
            Member("path", "Path", Type::Text),
            Member("readOnly", "ReadOnly", Type::Truth),
        ]),
    ),
    Member("rbd", "RBD", Type::Raised),
    Member("quobyte", "Quobyte", Type::Raised),
    Member("iscsi", "ISCSI", Type::Raised),
    Member("flexVolume", "FlexVolume", Type::Raised),
    Member("cinder", "Cinder", Type::Raised),
    Member("cephfs", "CephFS", Type::Raised),
    Member("fc", "FC", Type::Raised),
    Member("flocker", "Flocker", Type::Raised),
    Member("azureFile", "AzureFile", Type::Raised),
    Member("vsphereVolume", "VsphereVolume", Type::Raised),
    Member("azureDisk", "AzureDisk", Type::Raised),
    Member("photonPersistentDisk", "PhotonPersistentDisk", Type::Raised),
    Member("portworxVolume", "PortworxVolume", Type::Raised),
    Member("scaleIO", "ScaleIO", Type::Raised),
    Member(
        "local",
        "Local",
        Type::Pointer(&[
            Member("path", "Path", Type::Text),
            Member("fsType", "FSType", Type::Any),
        ]),
    ),
    Member("storageos", "StorageOS", Type::Raised),
    Member(
        "csi",
        "CSI",
        Type::Pointer(&[
            Member("driver", "Driver", Type::Text),
            Member("volumeHandle", "VolumeHandle", Type::Text),
            Member("readOnly", "ReadOnly", Type::Truth),
            Member("fsType", "FSType", Type::Text),
            Member("volumeAttributes", "VolumeAttributes", Type::Any),
            Member(
                "controllerPublishSecretRef",
                "ControllerPublishSecretRef",
                Type::Raised,
            ),
            Member("nodeStageSecretRef", "NodeStageSecretRef", Type::Raised),
            Member("nodePublishSecretRef", "NodePublishSecretRef", Type::Raised),
            Member(
                "controllerExpandSecretRef",
                "ControllerExpandSecretRef",
                Type::Raised,
            ),
            Member("nodeExpandSecretRef", "NodeExpandSecretRef", Type::Raised),
        ]),
    ),
];

type Check = fn(&Field<'_>, &mut Errors);

/// One kind of storage.
struct Source {
    /// Its field in the spec.
    field: &'static str,
    /// How complaints about a second kind name it, where that differs.
    crowded: &'static str,
    /// How complaints about its fields name it, where that differs.
    reported: &'static str,
    check: Check,
    takes_mount_options: bool,
}

const fn source(field: &'static str, check: Check) -> Source {
    Source {
        field,
        crowded: field,
        reported: field,
        check,
        takes_mount_options: false,
    }
}

const fn mounted(field: &'static str, check: Check) -> Source {
    Source {
        takes_mount_options: true,
        ..source(field, check)
    }
}

/// In the order the real server looks at them.
const SOURCES: [Source; 22] = [
    source("hostPath", check_host_path),
    Source {
        reported: "persistentDisk",
        ..mounted("gcePersistentDisk", |f, e| check_disk(f, "pdName", e))
    },
    mounted("awsElasticBlockStore", |f, e| check_disk(f, "volumeID", e)),
    mounted("glusterfs", check_glusterfs),
    source("flocker", check_flocker),
    mounted("nfs", check_nfs),
    mounted("rbd", |f, e| require(f, &["monitors", "image"], e)),
    mounted("quobyte", check_quobyte),
    Source {
        crowded: "cephFS",
        ..mounted("cephfs", |f, e| require(f, &["monitors"], e))
    },
    mounted("iscsi", check_iscsi),
    mounted("cinder", check_cinder),
    source("fc", check_fibre_channel),
    source("flexVolume", check_flex),
    mounted("azureFile", check_azure_file),
    mounted("vsphereVolume", |f, e| require(f, &["volumePath"], e)),
    mounted("photonPersistentDisk", |f, e| require(f, &["pdID"], e)),
    source("portworxVolume", |f, e| require(f, &["volumeID"], e)),
    mounted("azureDisk", check_azure_disk),
    source("scaleIO", |f, e| {
        require(f, &["gateway", "system", "volumeName"], e);
    }),
    source("local", check_local),
    source("storageos", check_storage_os),
    source("csi", check_csi),
];

const DEPRECATED: [(&str, &str, &str); 6] = [
    (
        "cephfs",
        "cephfs",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "scaleIO",
        "scaleIO",
        "deprecated in v1.16, non-functional in v1.22+",
    ),
    (
        "storageos",
        "storageOS",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "glusterfs",
        "glusterfs",
        "deprecated in v1.25, non-functional in v1.26+",
    ),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

pub(super) fn validate(spec: &Field<'_>, volume_name: &str, errors: &mut Errors) {
    let mut found = 0;
    for source in &SOURCES {
        let field = spec.child(source.field);
        if !field.is_set() {
            continue;
        }
        found += 1;
        // A flexVolume never minds company.
        if found > 1 && source.field != "flexVolume" {
            spec.renamed(source.crowded)
                .forbidden("may not specify more than 1 volume type", errors);
            continue;
        }
        let path = spec.path().child(source.reported);
        (source.check)(&Field::at(field.value, &path), errors);
        if source.field == "iscsi" {
            check_initiator_length(&field, volume_name, errors);
        }
        if source.field == "local" && !spec.child("nodeAffinity").is_set() {
            spec.child("nodeAffinity")
                .required_because("Local volume requires node affinity", errors);
        }
    }
    if found == 0 {
        spec.required_because("must specify a volume type", errors);
    }
}

pub(super) fn takes_mount_options(spec: &Field<'_>) -> bool {
    SOURCES
        .iter()
        .any(|source| source.takes_mount_options && spec.child(source.field).is_set())
}

/// The part of a spec that says where the volume comes from.
pub(super) fn of(spec: &Value) -> Value {
    let fields = SOURCES.iter().filter(|source| read::has(spec, source.field));
    Value::Object(
        fields
            .map(|source| (source.field.to_owned(), read::get(spec, source.field).clone()))
            .collect::<Map<_, _>>(),
    )
}

/// A volume may get the secret for its expansion later.
pub(super) fn is_same(new: &Value, old: &Value) -> bool {
    let late_secret = |source| read::at(source, &["csi", "controllerExpandSecretRef"]);
    if late_secret(new).is_null() || !late_secret(old).is_null() {
        return same(new, old);
    }
    let mut without = new.clone();
    if let Some(Value::Object(csi)) = without.get_mut("csi") {
        csi.remove("controllerExpandSecretRef");
    }
    same(&without, old)
}

pub(super) fn warnings(spec: &Value) -> impl Iterator<Item = String> {
    DEPRECATED
        .iter()
        .filter(|(field, _, _)| read::has(spec, field))
        .map(|(_, shown, message)| format!("spec.{shown}: {message}"))
}

pub(super) fn default(spec: &mut Value) {
    let defaults: [(&str, Value); 5] = [
        ("hostPath", json!({"type": ""})),
        (
            "rbd",
            json!({"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}),
        ),
        ("iscsi", json!({"iscsiInterface": "default"})),
        (
            "azureDisk",
            json!({"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": false, "kind": "Shared"}),
        ),
        (
            "scaleIO",
            json!({"storageMode": "ThinProvisioned", "fsType": "xfs"}),
        ),
    ];
    for (source, fields) in defaults {
        let (Some(source), Value::Object(fields)) = (spec.get_mut(source), fields) else {
            continue;
        };
        for (name, value) in fields {
            read::default(source, &name, value);
        }
    }
}

fn require(source: &Field<'_>, fields: &[&str], errors: &mut Errors) {
    for field in fields {
        source.child(field).require(errors);
    }
}

fn check_host_path(source: &Field<'_>, errors: &mut Errors) {
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

fn check_no_backsteps(path: &Field<'_>, errors: &mut Errors) {
    if path.text().split('/').any(|part| part == "..") {
        path.invalid("must not contain '..'", errors);
    }
}

fn check_disk(source: &Field<'_>, name: &str, errors: &mut Errors) {
    source.child(name).require(errors);
    let partition = source.child("partition");
    if !(0..=255).contains(&partition.int().unwrap_or_default()) {
        partition.invalid("must be between 1 and 255, inclusive", errors);
    }
}

fn check_glusterfs(source: &Field<'_>, errors: &mut Errors) {
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

fn check_flocker(source: &Field<'_>, errors: &mut Errors) {
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

fn check_nfs(source: &Field<'_>, errors: &mut Errors) {
    require(source, &["server", "path"], errors);
    let path = source.child("path");
    if !path.text().starts_with('/') {
        path.invalid_as(path.text(), "must be an absolute path", errors);
    }
}

fn check_quobyte(source: &Field<'_>, errors: &mut Errors) {
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

fn check_iscsi(source: &Field<'_>, errors: &mut Errors) {
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

fn check_initiator_length(source: &Field<'_>, volume_name: &str, errors: &mut Errors) {
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

fn check_cinder(source: &Field<'_>, errors: &mut Errors) {
    source.child("volumeID").require(errors);
    check_secret_reference(source, errors);
}

fn check_secret_reference(source: &Field<'_>, errors: &mut Errors) {
    if source.child("secretRef").is_set() {
        require(source, &["secretRef.name", "secretRef.namespace"], errors);
    }
}

fn check_fibre_channel(source: &Field<'_>, errors: &mut Errors) {
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

fn check_flex(source: &Field<'_>, errors: &mut Errors) {
    source.child("driver").require(errors);
    for (key, option) in source.child("options").entries() {
        let owner = key.split_once('/').map_or(key, |(owner, _)| owner);
        let owner = format!(".{}", owner.to_lowercase());
        if owner.ends_with(".kubernetes.io") || owner.ends_with(".k8s.io") {
            option.invalid_as(key, "kubernetes.io and k8s.io namespaces are reserved", errors);
        }
    }
}

fn check_azure_file(source: &Field<'_>, errors: &mut Errors) {
    require(source, &["secretName", "shareName"], errors);
    let namespace = source.child("secretNamespace");
    if namespace.is_set() {
        namespace.require(errors);
    }
}

fn check_azure_disk(source: &Field<'_>, errors: &mut Errors) {
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

fn check_local(source: &Field<'_>, errors: &mut Errors) {
    let path = source.child("path");
    if path.require(errors) {
        check_no_backsteps(&path, errors);
    }
}

fn check_storage_os(source: &Field<'_>, errors: &mut Errors) {
    source
        .child("volumeName")
        .require_syntax(names::dns_label, errors);
    source
        .child("volumeNamespace")
        .optional_syntax(names::dns_label, errors);
    check_secret_reference(source, errors);
}

fn check_csi(source: &Field<'_>, errors: &mut Errors) {
    const SECRETS: [&str; 4] = [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ];
    crate::objects::csi::validate_driver_name(&source.child("driver"), errors);
    source.child("volumeHandle").require(errors);
    for secret in SECRETS {
        let secret = source.child(secret);
        if secret.is_set() {
            secret.child("name").require_syntax(names::dns_subdomain, errors);
            secret.child("namespace").require_syntax(names::dns_label, errors);
        }
    }
}
