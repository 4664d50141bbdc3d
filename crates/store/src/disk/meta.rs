//! What the file says about itself: its format, the cluster it belongs to, the last revision, and in
//! which run of the machine it was last written.

use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, Table, TableDefinition};

use super::error::OpenError;

pub(super) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

const FORMAT: &str = "format";
const CLUSTER: &str = "cluster";
const REVISION: &str = "revision";
const BOOT: &str = "boot";
/// The format of the file as a whole. Raise it for changes an older version would misread.
const FORMAT_VERSION: u32 = 1;
/// Revisions start above zero, which clients take for "any".
const FIRST_REVISION: u64 = 1;

pub(super) struct Meta {
    pub(super) cluster_id: String,
    pub(super) revision: u64,
    /// Empty where the machine does not tell its runs apart.
    pub(super) boot_id: String,
}

/// Names this run of the machine: what was written in it can be torn only by damage, while what an
/// earlier run left may have been cut short by a power failure.
pub(super) fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim_end().to_owned()
}

pub(super) fn initialise(meta: &mut Table<'_, &str, &[u8]>) -> Result<(), redb::StorageError> {
    meta.insert(FORMAT, FORMAT_VERSION.to_le_bytes().as_slice())?;
    meta.insert(CLUSTER, uuid::Uuid::new_v4().to_string().as_bytes())?;
    set_revision(meta, FIRST_REVISION)
}

pub(super) fn set_revision(
    meta: &mut Table<'_, &str, &[u8]>,
    revision: u64,
) -> Result<(), redb::StorageError> {
    meta.insert(REVISION, revision.to_le_bytes().as_slice())?;
    Ok(())
}

pub(super) fn set_boot_id(
    meta: &mut Table<'_, &str, &[u8]>,
    boot_id: &str,
) -> Result<(), redb::StorageError> {
    meta.insert(BOOT, boot_id.as_bytes())?;
    Ok(())
}

/// What an open file says about itself.
pub(super) fn of(database: &Database, path: &Path) -> Result<Meta, OpenError> {
    let transaction = database
        .begin_read()
        .map_err(|error| OpenError::engine(path, error))?;
    let table = transaction
        .open_table(META)
        .map_err(|error| OpenError::table(path, error))?;
    read(&table, path)
}

pub(super) fn read(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
    path: &Path,
) -> Result<Meta, OpenError> {
    let value = |name: &str| -> Result<Vec<u8>, OpenError> {
        let entry = meta.get(name).map_err(|error| OpenError::engine(path, error))?;
        let entry = entry.ok_or_else(|| OpenError::NotAStore {
            path: path.to_owned(),
        })?;
        Ok(entry.value().to_vec())
    };
    let unreadable = |name: &str| OpenError::damaged(path, format!("its {name} is unreadable"), Vec::new());

    let format = value(FORMAT)?
        .try_into()
        .map(u32::from_le_bytes)
        .map_err(|_| unreadable(FORMAT))?;
    if format > FORMAT_VERSION {
        let (path, supported) = (path.to_owned(), FORMAT_VERSION);
        return Err(OpenError::NewerFormat {
            path,
            found: format,
            supported,
        });
    }
    let cluster_id = String::from_utf8(value(CLUSTER)?).map_err(|_| unreadable(CLUSTER))?;
    let revision = value(REVISION)?
        .try_into()
        .map(u64::from_le_bytes)
        .map_err(|_| unreadable(REVISION))?;
    let boot_id = meta.get(BOOT).map_err(|error| OpenError::engine(path, error))?;
    let boot_id = boot_id.map(|entry| String::from_utf8_lossy(entry.value()).into_owned());
    Ok(Meta {
        cluster_id,
        revision,
        boot_id: boot_id.unwrap_or_default(),
    })
}
