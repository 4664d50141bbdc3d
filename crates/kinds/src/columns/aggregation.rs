//! The API about itself: its parts, their health and how their objects are stored.

use serde_json::Value;

use super::{
    AGE, NAME, Table,
    row::{UNSET, cells, condition, first_few, or, text_or},
    string,
};
use crate::read::{get, list, text};

pub(super) static API_SERVICE: Table = Table {
    columns: &[
        NAME,
        string("Service", "Service that serves this part of the API."),
        string("Available", "Whether this part of the API can be reached."),
        AGE,
    ],
    cells: |row| {
        cells![
            row.name(),
            backing_service(row.spec()),
            availability(row.status()),
            row.age()
        ]
    },
};

fn backing_service(spec: &Value) -> String {
    let service = get(spec, "service");
    if service.is_null() {
        return "Local".to_owned();
    }
    format!("{}/{}", text(service, "namespace"), text(service, "name"))
}

fn availability(status: &Value) -> String {
    let Some(condition) = condition(status, "Available") else {
        return "Unknown".to_owned();
    };
    match (text(condition, "status"), text(condition, "reason")) {
        (status @ "True", _) | (status, "") => status.to_owned(),
        (status, reason) => format!("{status} ({reason})"),
    }
}

pub(super) static COMPONENT_STATUS: Table = Table {
    columns: &[
        NAME,
        string("Status", "Whether the component is healthy."),
        string("Message", "What the component says."),
        string("Error", "What went wrong."),
    ],
    cells: |row| {
        let Some(healthy) = condition(row.object, "Healthy") else {
            return cells![row.name(), "Unknown", "", ""];
        };
        let status = if text(healthy, "status") == "True" {
            "Healthy"
        } else {
            "Unhealthy"
        };
        cells![
            row.name(),
            status,
            text(healthy, "message"),
            text(healthy, "error")
        ]
    },
};

pub(super) static STATUS: Table = Table {
    columns: &[
        string("Status", "Success or Failure."),
        string("Reason", "Short word for why."),
        string("Message", "What happened, for people."),
    ],
    cells: |row| {
        let status = row.object;
        cells![
            text(status, "status"),
            text(status, "reason"),
            text(status, "message")
        ]
    },
};

pub(super) static STORAGE_VERSION: Table = Table {
    columns: &[
        NAME,
        string("CommonEncodingVersion", "Version all servers write."),
        string("StorageVersions", "Version each server writes."),
        AGE,
    ],
    cells: |row| {
        let status = row.status();
        let versions = first_few(list(status, "storageVersions").iter(), 3, ",", |server| {
            format!(
                "{}={}",
                text(server, "apiServerID"),
                text(server, "encodingVersion")
            )
        });
        cells![
            row.name(),
            text_or(status, "commonEncodingVersion", UNSET),
            or(&versions, UNSET),
            row.age()
        ]
    },
};

pub(super) static STORAGE_VERSION_MIGRATION: Table = Table {
    columns: &[
        string("Name", "Name of the object."),
        string("Resource", "Resource whose objects are rewritten."),
    ],
    cells: |row| {
        let resource = get(row.spec(), "resource");
        let (name, version) = (text(resource, "resource"), text(resource, "version"));
        cells![
            row.name(),
            format!("{name}.{version}.{}", text(resource, "group"))
        ]
    },
};
