//! Nodes, and the runtimes they offer.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    AGE, Column, NAME, Table,
    row::{NONE, Row, UNKNOWN, cells, joined, or},
    string, wide,
};
use crate::read::{entries, flag, get, list, text};

pub(super) static NODE: Table = Table {
    columns: NODE_COLUMNS,
    cells: node_cells,
};

const NODE_COLUMNS: &[Column] = &[
    NAME,
    string("Status", "Whether the node is ready and takes new pods."),
    string("Roles", "Roles the node is labelled with."),
    AGE,
    string("Version", "Version of the node's agent."),
    wide(string("Internal-IP", "Address inside the cluster's network.")),
    wide(string("External-IP", "Address outside the cluster's network.")),
    wide(string("OS-Image", "Operating system of the node.")),
    wide(string("Kernel-Version", "Kernel of the node.")),
    wide(string(
        "Container-Runtime",
        "Name and version of the container runtime.",
    )),
];

fn node_cells(row: &Row<'_>) -> Vec<Value> {
    let info = get(row.status(), "nodeInfo");
    cells![
        row.name(),
        status(row),
        roles(row.metadata()),
        row.age(),
        text(info, "kubeletVersion"),
        address(row.status(), "InternalIP"),
        address(row.status(), "ExternalIP"),
        or(text(info, "osImage"), UNKNOWN),
        or(text(info, "kernelVersion"), UNKNOWN),
        or(text(info, "containerRuntimeVersion"), UNKNOWN),
    ]
}

fn status(row: &Row<'_>) -> String {
    let ready = list(row.status(), "conditions")
        .iter()
        .rfind(|condition| text(condition, "type") == "Ready");
    let ready = match ready {
        None => "Unknown",
        Some(condition) if text(condition, "status") == "True" => "Ready",
        Some(_) => "NotReady",
    };
    let scheduling = if flag(row.spec(), "unschedulable") {
        ",SchedulingDisabled"
    } else {
        ""
    };
    format!("{ready}{scheduling}")
}

/// Roles stand in label keys (`node-role.kubernetes.io/gpu`) or in the value of `kubernetes.io/role`.
fn roles(metadata: &Value) -> String {
    let role = |(key, value): (&'_ String, &'_ Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role.to_owned()),
        None if key == "kubernetes.io/role" => value.as_str().map(str::to_owned),
        None => None,
    };
    let roles: BTreeSet<String> = entries(metadata, "labels")
        .filter_map(role)
        .filter(|role| !role.is_empty())
        .collect();
    or(&joined(roles.iter().map(String::as_str), ","), NONE).to_owned()
}

fn address<'a>(status: &'a Value, r#type: &str) -> &'a str {
    let address = list(status, "addresses")
        .iter()
        .find(|address| text(address, "type") == r#type);
    address.map_or(NONE, |address| text(address, "address"))
}

pub(super) static RUNTIME_CLASS: Table = Table {
    columns: &[
        NAME,
        string("Handler", "Runtime configuration that runs pods of this class."),
        AGE,
    ],
    cells: |row| cells![row.name(), text(row.object, "handler"), row.age()],
};
