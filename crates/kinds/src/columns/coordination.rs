//! Leases and those who stand for them.

use super::{AGE, NAME, Table, row::cells, string};
use crate::read::text;

pub(super) static LEASE: Table = Table {
    columns: &[NAME, string("Holder", "Who holds the lease."), AGE],
    cells: |row| cells![row.name(), text(row.spec(), "holderIdentity"), row.age()],
};

pub(super) static LEASE_CANDIDATE: Table = Table {
    columns: &[
        NAME,
        string("LeaseName", "Lease the candidate stands for."),
        string("BinaryVersion", "Version of the candidate's program."),
        string("EmulationVersion", "Version the candidate behaves as."),
        AGE,
    ],
    cells: |row| {
        let spec = row.spec();
        cells![
            row.name(),
            text(spec, "leaseName"),
            text(spec, "binaryVersion"),
            text(spec, "emulationVersion"),
            row.age(),
        ]
    },
};
