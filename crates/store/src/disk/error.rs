//! What can go wrong with the file, in the words the operator of the store needs.

use std::io;
use std::path::{Path, PathBuf};

/// Why a store did not open. Nothing has been thrown away.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot open the store `{}`", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the store `{}` is in use by another process", path.display())]
    Locked { path: PathBuf },
    #[error("`{}` is not a store", path.display())]
    NotAStore { path: PathBuf },
    #[error("the store `{}` has format {found}, but this version reads format {supported}", path.display())]
    OtherFormat {
        path: PathBuf,
        found: u32,
        supported: u32,
    },
    #[error("the store `{}` is damaged: {reason}{}", path.display(), naming(records))]
    Damaged {
        path: PathBuf,
        reason: String,
        /// The damaged records that could be told apart, as `collection namespace name`.
        records: Vec<String>,
    },
}

impl OpenError {
    /// What the operator can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    Some("the file must be readable and writable by this user")
                }
                io::ErrorKind::StorageFull => Some("free some space on its file system"),
                _ => None,
            },
            Self::Locked { .. } => Some("stop the other process, or choose another data directory"),
            Self::NotAStore { .. } => Some("move the file away, or choose another data directory"),
            Self::OtherFormat { .. } => {
                Some("run the version that wrote it, or choose another data directory")
            }
            Self::Damaged { records, .. } if records.is_empty() => Some("restore a copy of the file"),
            Self::Damaged { .. } => {
                Some("restore a copy of the file, or open it without the damaged records")
            }
        }
    }

    /// Whether the store would open without the records that are damaged.
    pub fn is_partial(&self) -> bool {
        matches!(self, Self::Damaged { records, .. } if !records.is_empty())
    }

    /// What the system said of a file. Only a lock that another process holds would block.
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::WouldBlock => Self::Locked { path },
            _ => Self::Io { path, source },
        }
    }

    pub(super) fn damaged(path: &Path, reason: impl Into<String>, records: Vec<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.into(),
            records,
        }
    }
}

fn naming(records: &[String]) -> String {
    const NAMED: usize = 5;
    let named = records
        .iter()
        .take(NAMED)
        .map(|record| format!("`{record}`"))
        .collect::<Vec<_>>()
        .join(", ");
    match records.len() {
        0 => String::new(),
        count if count > NAMED => format!(" ({named} and {} more)", count - NAMED),
        _ => format!(" ({named})"),
    }
}

/// Why a write could not be made durable.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the store `{}`", path.display())]
pub struct DiskError {
    pub(super) path: PathBuf,
    pub(super) source: io::Error,
}

impl DiskError {
    /// Whether freeing space would help.
    pub fn is_full(&self) -> bool {
        let kinds = [
            io::ErrorKind::StorageFull,
            io::ErrorKind::QuotaExceeded,
            io::ErrorKind::FileTooLarge,
        ];
        kinds.contains(&self.source.kind())
    }
}
