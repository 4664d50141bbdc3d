//! Where files come from. The caller has a disk, an archive or a map; packages only ask.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

/// Files and folders by their absolute paths.
pub trait Files {
    /// Where a path leads once every link on the way is followed.
    fn resolve(&self, path: &Path) -> Result<Entry, FileError>;

    fn read(&self, path: &Path) -> Result<Vec<u8>, FileError>;
}

/// What is at a path, without links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    File(PathBuf),
    Folder(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("there is no such file or folder")]
    NotFound,
    /// Permissions, loops of links, a disk that fails.
    #[error("{0}")]
    Unreadable(String),
}

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl MemoryFiles {
    /// Adds a file; its folders come with it.
    #[must_use]
    pub fn with(mut self, path: &str, content: &str) -> Self {
        self.files.insert(PathBuf::from(path), content.into());
        self
    }
}

impl Files for MemoryFiles {
    fn resolve(&self, path: &Path) -> Result<Entry, FileError> {
        let path = normal(path);
        if self.files.contains_key(&path) {
            return Ok(Entry::File(path));
        }
        if self.files.keys().any(|file| file.starts_with(&path)) {
            return Ok(Entry::Folder(path));
        }
        Err(FileError::NotFound)
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        self.files.get(&normal(path)).cloned().ok_or(FileError::NotFound)
    }
}

/// A path without `.` and `..`.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => {
                normal.pop();
            }
            Component::ParentDir if normal.has_root() => {}
            other => normal.push(other),
        }
    }
    normal
}
