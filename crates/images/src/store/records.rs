//! Which images there are and what they are called.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{error::StoreError, files};
use crate::{digest::Digest, reference::Reference};

const FILE: &str = "images.json";

/// All images by id, which is the digest of their configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Records {
    #[serde(default)]
    pub(crate) images: BTreeMap<Digest, Record>,
}

/// What is known of one image.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Whole names with tags.
    #[serde(default)]
    pub(crate) names: BTreeSet<String>,
    /// Whole names with the digests by which registries know it.
    #[serde(default)]
    pub(crate) digests: BTreeSet<String>,
    /// Chain ids from the bottom up.
    pub(crate) layers: Vec<Digest>,
    /// Of the layers as they were transferred, and the configuration.
    pub(crate) size: u64,
    /// When it was first added, RFC 3339.
    pub(crate) added: String,
}

/// Names that went, and the image if it was the last of them.
type Gone = (Vec<String>, Option<(Digest, Record)>);

impl Records {
    /// By digest if the reference has one, else by name.
    pub(crate) fn find(&self, reference: &Reference) -> Option<(&Digest, &Record)> {
        let name = key(reference);
        self.images.iter().find(|(_, record)| match reference.digest() {
            Some(_) => record.digests.contains(&name),
            None => record.names.contains(&name),
        })
    }

    /// Adds an image, or more names to one. A name means one image: an older one loses it.
    pub(crate) fn add(&mut self, id: &Digest, record: Record) {
        for (other, older) in &mut self.images {
            if other != id {
                older.names.retain(|name| !record.names.contains(name));
            }
        }
        match self.images.get_mut(id) {
            Some(known) => {
                known.names.extend(record.names);
                known.digests.extend(record.digests);
            }
            None => drop(self.images.insert(id.clone(), record)),
        }
    }

    pub(crate) fn remove(&mut self, reference: &Reference) -> Option<Gone> {
        let id = self.find(reference)?.0.clone();
        let name = key(reference);
        let record = self.images.get_mut(&id)?;
        record.names.remove(&name);
        record.digests.remove(&name);
        if record.names.is_empty() {
            let mut gone = self.remove_id(&id)?;
            gone.0 = vec![name];
            return Some(gone);
        }
        Some((vec![name], None))
    }

    pub(crate) fn remove_id(&mut self, id: &Digest) -> Option<Gone> {
        let record = self.images.remove(id)?;
        Some((record.names.iter().cloned().collect(), Some((id.clone(), record))))
    }
}

/// What an image is looked up by. Beside a digest a tag means nothing.
pub(crate) fn key(reference: &Reference) -> String {
    match reference.digest() {
        Some(digest) => reference.with_digest(digest),
        None => reference.to_string(),
    }
}

pub(super) fn read(dir: &Path) -> Result<Records, StoreError> {
    let path = dir.join(FILE);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|source| StoreError::Damaged { path, source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Records::default()),
        Err(source) => Err(StoreError::Read { path, source }),
    }
}

pub(super) fn write(dir: &Path, records: &Records) -> Result<(), StoreError> {
    let path = dir.join(FILE);
    let text = serde_json::to_vec_pretty(records)
        .map_err(io::Error::from)
        .map_err(files::cannot_write(&path))?;
    files::write(&path, &text)
}
