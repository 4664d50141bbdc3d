//! Volumes and the claims on them.

use serde_json::Value;

use super::{
    AGE, Column, NAME, Table,
    row::{Row, UNSET, cells, quantity, text_or},
    string, wide,
};
use crate::read::{at, get, has, list, text};

const ACCESS_MODES: [(&str, &str); 4] = [
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
];

pub(super) static PERSISTENT_VOLUME: Table = Table {
    columns: VOLUME_COLUMNS,
    cells: volume_cells,
};

const VOLUME_COLUMNS: &[Column] = &[
    NAME,
    string("Capacity", "Size of the volume."),
    string("Access Modes", "Ways the volume can be mounted."),
    string(
        "Reclaim Policy",
        "What happens to the volume when its claim goes.",
    ),
    string("Status", "Whether the volume is claimed."),
    string("Claim", "Claim the volume belongs to."),
    string("StorageClass", "Class the volume is of."),
    string("VolumeAttributesClass", "Class of the attributes the volume has."),
    string("Reason", "Why the volume failed."),
    AGE,
    wide(string(
        "VolumeMode",
        "Whether the volume is a file system or a block device.",
    )),
];

fn volume_cells(row: &Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    cells![
        row.name(),
        quantity(at(spec, &["capacity", "storage"])),
        access_modes(spec),
        text(spec, "persistentVolumeReclaimPolicy"),
        phase(row),
        claim(spec),
        storage_class(row),
        text_or(spec, "volumeAttributesClassName", UNSET),
        text(status, "reason"),
        row.age(),
        text_or(spec, "volumeMode", UNSET),
    ]
}

fn claim(spec: &Value) -> String {
    let claim = get(spec, "claimRef");
    if claim.is_null() {
        return String::new();
    }
    format!("{}/{}", text(claim, "namespace"), text(claim, "name"))
}

pub(super) static PERSISTENT_VOLUME_CLAIM: Table = Table {
    columns: CLAIM_COLUMNS,
    cells: claim_cells,
};

const CLAIM_COLUMNS: &[Column] = &[
    NAME,
    string("Status", "Whether the claim has a volume."),
    string("Volume", "Volume the claim has."),
    string("Capacity", "Size of the claimed volume."),
    string("Access Modes", "Ways the claimed volume can be mounted."),
    string("StorageClass", "Class of the volume asked for."),
    string("VolumeAttributesClass", "Class of the attributes asked for."),
    AGE,
    wide(string(
        "VolumeMode",
        "Whether a file system or a block device is asked for.",
    )),
];

fn claim_cells(row: &Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let volume = text(spec, "volumeName");
    let (capacity, modes) = if volume.is_empty() {
        (String::new(), String::new())
    } else {
        (
            quantity(at(status, &["capacity", "storage"])),
            access_modes(status),
        )
    };
    cells![
        row.name(),
        phase(row),
        volume,
        capacity,
        modes,
        storage_class(row),
        text_or(spec, "volumeAttributesClassName", UNSET),
        row.age(),
        text_or(spec, "volumeMode", UNSET),
    ]
}

fn phase<'a>(row: &Row<'a>) -> &'a str {
    if row.is_deleted() {
        "Terminating"
    } else {
        text(row.status(), "phase")
    }
}

/// The annotation that named the class before there was a field still goes first.
fn storage_class<'a>(row: &Row<'a>) -> &'a str {
    let annotations = get(row.metadata(), "annotations");
    let key = "volume.beta.kubernetes.io/storage-class";
    if has(annotations, key) {
        text(annotations, key)
    } else {
        text(row.spec(), "storageClassName")
    }
}

fn access_modes(holder: &Value) -> String {
    let modes = list(holder, "accessModes");
    let given = |(mode, short)| modes.iter().any(|given| *given == mode).then_some(short);
    ACCESS_MODES
        .into_iter()
        .filter_map(given)
        .collect::<Vec<_>>()
        .join(",")
}
