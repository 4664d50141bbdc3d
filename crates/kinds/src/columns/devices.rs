//! Devices: what nodes offer and what pods claim.

use serde_json::Value;

use super::{
    AGE, NAME, Table,
    row::{Row, cells},
    string,
};
use crate::read::{get, has, list, text};

/// Device classes and claim templates.
pub(super) static NAME_AND_AGE: Table = Table {
    columns: &[NAME, AGE],
    cells: |row| cells![row.name(), row.age()],
};

pub(super) static RESOURCE_CLAIM: Table = Table {
    columns: &[
        NAME,
        string("State", "Whether the claim is pending, allocated or in use."),
        AGE,
    ],
    cells: |row| cells![row.name(), claim_state(row), row.age()],
};

fn claim_state(row: &Row<'_>) -> &'static str {
    let reserved = !list(row.status(), "reservedFor").is_empty();
    match (row.is_deleted(), has(row.status(), "allocation"), reserved) {
        (false, false, _) => "pending",
        (true, false, _) => "deleted",
        (false, true, false) => "allocated",
        (false, true, true) => "allocated,reserved",
        (true, true, false) => "deleted,allocated",
        (true, true, true) => "deleted,allocated,reserved",
    }
}

pub(super) static RESOURCE_SLICE: Table = Table {
    columns: &[
        NAME,
        string("Node", "Node the devices are on."),
        string("Driver", "Driver that offers the devices."),
        string("Pool", "Pool the slice is part of."),
        AGE,
    ],
    cells: |row| {
        let spec = row.spec();
        let pool = get(spec, "pool");
        cells![
            row.name(),
            text(spec, "nodeName"),
            text(spec, "driver"),
            text(pool, "name"),
            row.age()
        ]
    },
};

pub(super) static DEVICE_TAINT_RULE: Table = Table {
    columns: &[
        NAME,
        string("Key", "Key of the taint."),
        string("Value", "Value of the taint."),
        string("Effect", "What the taint does to pods."),
        string("TimeAdded", "Time since the taint was added."),
        AGE,
    ],
    cells: |row| {
        let taint = get(row.spec(), "taint");
        let added = match get(taint, "timeAdded") {
            Value::Null => String::new(),
            time => row.since(time),
        };
        cells![
            row.name(),
            text(taint, "key"),
            text(taint, "value"),
            text(taint, "effect"),
            added,
            row.age()
        ]
    },
};
