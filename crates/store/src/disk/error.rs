//! What can go wrong with the file, in the words the operator of the store needs.

use std::any::Any;
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
    #[error("the store `{}` has format {found}, but this version reads up to {supported}", path.display())]
    NewerFormat {
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
            Self::NewerFormat { .. } => Some("run the version that wrote it, or a newer one"),
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

    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn damaged(path: &Path, reason: impl Into<String>, records: Vec<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.into(),
            records,
        }
    }

    /// A table that is missing or has another shape was made by another program.
    pub(super) fn table(path: &Path, error: redb::TableError) -> Self {
        match error {
            redb::TableError::Storage(error) => Self::engine(path, error),
            _ => Self::NotAStore {
                path: path.to_owned(),
            },
        }
    }

    /// Sorts the engine's errors by what the operator can do.
    pub(super) fn engine(path: &Path, error: impl Into<redb::Error>) -> Self {
        let path = path.to_owned();
        match error.into() {
            redb::Error::DatabaseAlreadyOpen => Self::Locked { path },
            // The engine's way of saying that the first bytes are not its own.
            redb::Error::Io(source) if source.kind() == io::ErrorKind::InvalidData => {
                Self::NotAStore { path }
            }
            redb::Error::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                Self::damaged(&path, "the file ends too early", Vec::new())
            }
            redb::Error::Io(source) => Self::Io { path, source },
            redb::Error::Corrupted(reason) => Self::damaged(&path, lower_first(&reason), Vec::new()),
            other => Self::damaged(&path, lower_first(&other.to_string()), Vec::new()),
        }
    }
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(characters).collect()
    })
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
pub enum DiskError {
    #[error("cannot write the store `{}`", path.display())]
    Commit {
        path: PathBuf,
        #[source]
        source: Box<redb::Error>,
    },
    #[error("cannot reopen the store after a failed write")]
    Reopen(#[source] OpenError),
    #[error("the store's engine gave up: {0}")]
    Engine(String),
}

impl DiskError {
    /// Whether freeing space would help.
    pub fn is_full(&self) -> bool {
        let source = match self {
            Self::Commit { source, .. } => match &**source {
                redb::Error::Io(source) => source,
                _ => return false,
            },
            Self::Reopen(OpenError::Io { source, .. }) => source,
            _ => return false,
        };
        let kinds = [
            io::ErrorKind::StorageFull,
            io::ErrorKind::QuotaExceeded,
            io::ErrorKind::FileTooLarge,
        ];
        kinds.contains(&source.kind())
    }
}

/// The message of a caught panic.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
        .to_owned()
}
