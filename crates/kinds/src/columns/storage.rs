//! Classes of storage, and the drivers behind them.

use serde_json::Value;

use super::{
    AGE, Column, NAME, Table, boolean, integer,
    row::{NONE, Row, UNSET, cells, count, joined_field, joined_texts, or, text_or},
    string,
};
use crate::read::{flag, get, has, list, text};

const DEFAULT_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

pub(super) static STORAGE_CLASS: Table = Table {
    columns: &[
        NAME,
        string("Provisioner", "Driver that makes volumes of this class."),
        string("ReclaimPolicy", "What happens to a volume when its claim goes."),
        string(
            "VolumeBindingMode",
            "Whether volumes are made at once or for the first pod.",
        ),
        string("AllowVolumeExpansion", "Whether volumes may grow."),
        AGE,
    ],
    cells: |row| {
        cells![
            class_name(row),
            text(row.object, "provisioner"),
            text_or(row.object, "reclaimPolicy", "Delete"),
            text_or(row.object, "volumeBindingMode", "Immediate"),
            flag(row.object, "allowVolumeExpansion"),
            row.age(),
        ]
    },
};

fn class_name(row: &Row<'_>) -> String {
    let annotations = get(row.metadata(), "annotations");
    let is_default = DEFAULT_CLASS.iter().any(|key| text(annotations, key) == "true");
    format!("{}{}", row.name(), if is_default { " (default)" } else { "" })
}

pub(super) static VOLUME_ATTRIBUTES_CLASS: Table = Table {
    columns: &[
        NAME,
        string("DriverName", "Driver that knows the attributes."),
        AGE,
    ],
    cells: |row| cells![row.name(), text(row.object, "driverName"), row.age()],
};

pub(super) static VOLUME_ATTACHMENT: Table = Table {
    columns: &[
        NAME,
        Column {
            format: "name",
            ..string("Attacher", "Driver that attaches the volume.")
        },
        string("PV", "Volume to attach."),
        string("Node", "Node to attach it to."),
        boolean("Attached", "Whether it is attached."),
        AGE,
    ],
    cells: |row| {
        let spec = row.spec();
        cells![
            row.name(),
            text(spec, "attacher"),
            text(get(spec, "source"), "persistentVolumeName"),
            text(spec, "nodeName"),
            flag(row.status(), "attached"),
            row.age(),
        ]
    },
};

pub(super) static CSI_NODE: Table = Table {
    columns: &[
        NAME,
        integer("Drivers", "Number of storage drivers on the node."),
        AGE,
    ],
    cells: |row| cells![row.name(), count(row.spec(), "drivers"), row.age()],
};

pub(super) static CSI_DRIVER: Table = Table {
    columns: &[
        NAME,
        boolean(
            "AttachRequired",
            "Whether volumes are attached before they are mounted.",
        ),
        boolean(
            "PodInfoOnMount",
            "Whether the driver is told of the pod on mounting.",
        ),
        boolean(
            "StorageCapacity",
            "Whether the driver says how much room there is.",
        ),
        string("TokenRequests", "Audiences of the tokens the driver is given."),
        boolean(
            "RequiresRepublish",
            "Whether mounts are renewed from time to time.",
        ),
        string("Modes", "Kinds of volumes the driver has."),
        AGE,
    ],
    cells: |row| {
        let spec = row.spec();
        cells![
            row.name(),
            get(spec, "attachRequired").as_bool().unwrap_or(true),
            flag(spec, "podInfoOnMount"),
            flag(spec, "storageCapacity"),
            token_audiences(spec),
            flag(spec, "requiresRepublish"),
            or(&joined_texts(list(spec, "volumeLifecycleModes")), NONE),
            row.age(),
        ]
    },
};

fn token_audiences(spec: &Value) -> String {
    if has(spec, "tokenRequests") {
        joined_field(list(spec, "tokenRequests"), "audience")
    } else {
        UNSET.to_owned()
    }
}
