//! Why the store could not do its work.

use std::{io, path::PathBuf};

use crate::digest::Digest;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot lock `{path}`")]
    Lock { path: PathBuf, source: io::Error },
    #[error("`{path}` is damaged")]
    Damaged {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("the configuration of image {id} has an unknown form")]
    Config { id: Digest, source: serde_json::Error },
    #[error("image {id} vanished while it was added")]
    Vanished { id: Digest },
    #[error("`{0}` cannot be the name of a lease")]
    LeaseName(String),
}
