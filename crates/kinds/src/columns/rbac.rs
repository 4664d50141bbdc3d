//! Who is given which role.

use serde_json::Value;

use super::{
    AGE, Column, NAME, Table,
    row::{Row, cells},
    string, wide,
};
use crate::read::{get, list, text};

pub(super) static BINDING: Table = Table {
    columns: COLUMNS,
    cells,
};

const COLUMNS: &[Column] = &[
    NAME,
    string("Role", "Role that is given."),
    AGE,
    wide(string("Users", "Users it is given to.")),
    wide(string("Groups", "Groups it is given to.")),
    wide(string("ServiceAccounts", "Service accounts it is given to.")),
];

fn cells(row: &Row<'_>) -> Vec<Value> {
    let role = get(row.object, "roleRef");
    cells![
        row.name(),
        format!("{}/{}", text(role, "kind"), text(role, "name")),
        row.age(),
        subjects(row, "User", |subject| text(subject, "name").to_owned()),
        subjects(row, "Group", |subject| text(subject, "name").to_owned()),
        subjects(row, "ServiceAccount", |subject| {
            format!("{}/{}", text(subject, "namespace"), text(subject, "name"))
        }),
    ]
}

fn subjects(row: &Row<'_>, kind: &str, show: impl Fn(&Value) -> String) -> String {
    let of_kind = list(row.object, "subjects")
        .iter()
        .filter(|subject| text(subject, "kind") == kind);
    of_kind.map(show).collect::<Vec<_>>().join(", ")
}
