//! What is in use: a container's layers stay for as long as its lease, whatever happens to the names
//! of its image or to the process that took it.

use std::{collections::BTreeSet, fs, io};

use serde::{Deserialize, Serialize};

use super::{Store, error::StoreError, files};
use crate::{digest::Digest, image::Image};

/// Something that uses an image until it is released.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Chosen by whoever took it, for example from a pod's uid and a container's name.
    pub name: String,
    pub image: Digest,
    layers: Vec<Digest>,
}

impl Store {
    /// Keeps an image's layers until [`Store::release`]. Taking a lease again replaces it. Returns
    /// whether the image was still whole when it was taken.
    pub fn lease(&self, name: &str, image: &Image) -> Result<bool, StoreError> {
        let path = self.dir().join("leases").join(checked(name)?);
        let lease = Lease {
            name: name.to_owned(),
            image: image.id.clone(),
            layers: image.chain.clone(),
        };
        let text = serde_json::to_vec(&lease)
            .map_err(io::Error::from)
            .map_err(files::cannot_write(&path))?;
        let _lock = self.lock()?;
        files::write(&path, &text)?;
        Ok(image.layers.iter().all(|layer| layer.is_dir()))
    }

    /// Ends a lease, and removes what nobody needs any more. Releasing twice is no error.
    pub fn release(&self, name: &str) -> Result<(), StoreError> {
        let path = self.dir().join("leases").join(checked(name)?);
        let lock = self.lock()?;
        if !path.exists() {
            return Ok(());
        }
        files::remove_file(&path)?;
        self.collect(lock)
    }

    /// All leases, so that those whose holders are gone can be released.
    pub fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        let folder = self.dir().join("leases");
        let mut leases = Vec::new();
        for name in files::names(&folder)? {
            if files::is_temporary(&name) {
                continue;
            }
            let path = folder.join(name);
            let text = match fs::read(&path) {
                Ok(text) => text,
                // Released meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(StoreError::Read { path, source }),
            };
            leases
                .push(serde_json::from_slice(&text).map_err(|source| StoreError::Damaged { path, source })?);
        }
        leases.sort_by(|a: &Lease, b: &Lease| a.name.cmp(&b.name));
        Ok(leases)
    }

    pub(super) fn leased_layers(&self) -> Result<BTreeSet<Digest>, StoreError> {
        Ok(self
            .leases()?
            .into_iter()
            .flat_map(|lease| lease.layers)
            .collect())
    }

    /// The leases that need the topmost of these layers.
    pub(super) fn users_of(&self, layers: &[Digest]) -> Result<Vec<String>, StoreError> {
        let leases = self.leases()?.into_iter();
        Ok(leases
            .filter(|lease| lease.layers.last().is_some_and(|top| layers.contains(top)))
            .map(|lease| lease.name)
            .collect())
    }
}

/// The name as that of a file.
fn checked(name: &str) -> Result<&str, StoreError> {
    let is_good = !name.is_empty()
        && name.len() <= 200
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if is_good {
        Ok(name)
    } else {
        Err(StoreError::LeaseName(name.to_owned()))
    }
}
