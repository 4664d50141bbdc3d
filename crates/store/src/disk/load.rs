//! Reading every record of the file, and telling the sound ones from the damaged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable};

use super::error::OpenError;
use super::meta::{self, META};
use super::{OBJECTS, record};
use crate::list::Objects;
use crate::name::Collection;

/// Everything the file holds.
pub(crate) struct Loaded {
    pub(crate) collections: BTreeMap<Collection, Objects>,
    pub(crate) revision: u64,
    pub(crate) cluster_id: String,
    pub(super) boot_id: String,
    /// The keys of the records that are not what was once written.
    pub(super) damaged: Vec<String>,
    pub(super) live_bytes: u64,
}

pub(super) fn load(database: &Database, path: &Path) -> Result<Loaded, OpenError> {
    let transaction = database
        .begin_read()
        .map_err(|error| OpenError::engine(path, error))?;
    let meta = meta::read(
        &transaction
            .open_table(META)
            .map_err(|error| OpenError::table(path, error))?,
        path,
    )?;
    let mut loaded = Loaded {
        collections: BTreeMap::new(),
        revision: meta.revision,
        cluster_id: meta.cluster_id,
        boot_id: meta.boot_id,
        damaged: Vec::new(),
        live_bytes: 0,
    };
    let objects = transaction
        .open_table(OBJECTS)
        .map_err(|error| OpenError::table(path, error))?;
    loaded
        .take_all(&objects)
        .map_err(|error| OpenError::engine(path, error))?;
    Ok(loaded)
}

impl Loaded {
    fn take_all(
        &mut self,
        objects: &impl ReadableTable<&'static str, &'static [u8]>,
    ) -> Result<(), redb::StorageError> {
        let mut last = String::new();
        for entry in objects.iter()? {
            let (key, value) = entry?;
            let (key, value) = (key.value(), value.value());
            // A damaged tree could otherwise be walked in circles.
            if key <= last.as_str() {
                return Err(redb::StorageError::Corrupted(
                    "records are out of order".to_owned(),
                ));
            }
            key.clone_into(&mut last);
            self.take(key, value);
        }
        Ok(())
    }

    fn take(&mut self, key: &str, value: &[u8]) {
        self.live_bytes += (key.len() + value.len()) as u64;
        let decoded = record::split_key(key).and_then(|(collection, joined)| {
            let object = record::decode(key, joined, value)?;
            (object.revision() <= self.revision).then_some((collection, object))
        });
        let Some((collection, object)) = decoded else {
            self.damaged.push(key.to_owned());
            return;
        };
        let objects = self.collections.entry(Collection::from(collection)).or_default();
        objects.insert(object.key().clone(), Arc::new(object));
    }
}
