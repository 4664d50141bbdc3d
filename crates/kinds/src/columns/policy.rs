//! Limits on what may run, and what goes first.

use serde_json::Value;

use super::{
    AGE, NAME, Table, boolean, integer,
    row::{Row, cells, number, quantity},
    string,
};
use crate::read::{entries, flag, get, text};

pub(super) static POD_DISRUPTION_BUDGET: Table = Table {
    columns: &[
        NAME,
        string("Min Available", "Pods that must stay, as a number or a share."),
        string(
            "Max Unavailable",
            "Pods that may be missing, as a number or a share.",
        ),
        integer("Allowed Disruptions", "Pods that may be evicted now."),
        AGE,
    ],
    cells: |row| {
        cells![
            row.name(),
            number_or_share(get(row.spec(), "minAvailable")),
            number_or_share(get(row.spec(), "maxUnavailable")),
            number(row.status(), "disruptionsAllowed"),
            row.age(),
        ]
    },
};

fn number_or_share(value: &Value) -> String {
    match value {
        Value::String(share) => share.clone(),
        Value::Number(number) => number.to_string(),
        _ => "N/A".to_owned(),
    }
}

pub(super) static RESOURCE_QUOTA: Table = Table {
    columns: &[
        NAME,
        string(
            "Request",
            "Requests and objects counted, of how many are allowed.",
        ),
        string("Limit", "Limits counted, of how much is allowed."),
        AGE,
    ],
    cells: |row| {
        cells![
            row.name(),
            used_of_hard(row, |name| !is_limit(name)),
            used_of_hard(row, is_limit),
            row.age()
        ]
    },
};

/// `cpu: 1/4, pods: 3/10`, for the resources of one column.
fn used_of_hard(row: &Row<'_>, belongs: impl Fn(&str) -> bool) -> String {
    let used = get(row.status(), "used");
    entries(row.status(), "hard")
        .filter(|(name, _)| belongs(name))
        .map(|(name, hard)| format!("{name}: {}/{}", quantity(get(used, name)), quantity(hard)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn is_limit(name: &str) -> bool {
    name.starts_with("limits.")
}

pub(super) static PRIORITY_CLASS: Table = Table {
    columns: &[
        NAME,
        integer("Value", "Priority of the pods of this class; higher goes first."),
        boolean("Global-Default", "Whether pods without a class get this one."),
        AGE,
        string(
            "PreemptionPolicy",
            "Whether pods of this class may push others out.",
        ),
    ],
    cells: |row| {
        cells![
            row.name(),
            number(row.object, "value"),
            flag(row.object, "globalDefault"),
            row.age(),
            text(row.object, "preemptionPolicy"),
        ]
    },
};
