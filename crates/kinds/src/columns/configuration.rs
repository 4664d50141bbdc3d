//! Namespaces and the configuration kept in them.

use super::{
    AGE, NAME, Table,
    row::{cells, count},
    string,
};
use crate::read::text;

pub(super) static NAMESPACE: Table = Table {
    columns: &[
        NAME,
        string("Status", "Whether the namespace is in use or being emptied."),
        AGE,
    ],
    cells: |row| cells![row.name(), text(row.status(), "phase"), row.age()],
};

pub(super) static CONFIG_MAP: Table = Table {
    columns: &[
        NAME,
        string("Data", "Number of entries, binary ones included."),
        AGE,
    ],
    cells: |row| {
        let entries = count(row.object, "data") + count(row.object, "binaryData");
        cells![row.name(), entries, row.age()]
    },
};

pub(super) static SECRET: Table = Table {
    columns: &[
        NAME,
        string("Type", "What the secret is for."),
        string("Data", "Number of entries."),
        AGE,
    ],
    cells: |row| {
        cells![
            row.name(),
            text(row.object, "type"),
            count(row.object, "data"),
            row.age()
        ]
    },
};

pub(super) static SERVICE_ACCOUNT: Table = Table {
    columns: &[
        NAME,
        string("Secrets", "Number of secrets the account's pods may use."),
        AGE,
    ],
    cells: |row| cells![row.name(), count(row.object, "secrets"), row.age()],
};
