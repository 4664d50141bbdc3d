//! Where a volume comes from: one of many kinds of storage, most of them no longer served by
//! anything but still accepted.

use serde_json::{Map, Value, json};

use super::source_checks::{
    validate_azure_file, validate_cinder, validate_csi, validate_glusterfs, validate_initiator_length,
    validate_iscsi, validate_local, validate_storage_os,
};
use crate::{
    checks::same,
    field::{Errors, Field},
    read,
    volume_sources::{
        require, validate_azure_disk, validate_disk, validate_fibre_channel, validate_flex, validate_flocker,
        validate_host_path, validate_nfs, validate_quobyte,
    },
};

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
    source("hostPath", validate_host_path),
    Source {
        reported: "persistentDisk",
        ..mounted("gcePersistentDisk", |f, e| validate_disk(f, "pdName", e))
    },
    mounted("awsElasticBlockStore", |f, e| validate_disk(f, "volumeID", e)),
    mounted("glusterfs", validate_glusterfs),
    source("flocker", validate_flocker),
    mounted("nfs", validate_nfs),
    mounted("rbd", |f, e| require(f, &["monitors", "image"], e)),
    mounted("quobyte", validate_quobyte),
    Source {
        crowded: "cephFS",
        ..mounted("cephfs", |f, e| require(f, &["monitors"], e))
    },
    mounted("iscsi", validate_iscsi),
    mounted("cinder", validate_cinder),
    source("fc", validate_fibre_channel),
    source("flexVolume", validate_flex),
    mounted("azureFile", validate_azure_file),
    mounted("vsphereVolume", |f, e| require(f, &["volumePath"], e)),
    mounted("photonPersistentDisk", |f, e| require(f, &["pdID"], e)),
    source("portworxVolume", |f, e| require(f, &["volumeID"], e)),
    mounted("azureDisk", validate_azure_disk),
    source("scaleIO", |f, e| {
        require(f, &["gateway", "system", "volumeName"], e);
    }),
    source("local", validate_local),
    source("storageos", validate_storage_os),
    source("csi", validate_csi),
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
            validate_initiator_length(&field, volume_name, errors);
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
