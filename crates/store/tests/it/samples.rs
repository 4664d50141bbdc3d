//! Small things every test needs: bodies, and a store in a directory of its own.

use std::path::PathBuf;

use store::{Body, Collection, Key, Object, Options, Store, WriteResult};
use tempfile::TempDir;

pub(crate) fn pods() -> Collection {
    Collection::new("", "pods")
}

pub(crate) fn key(name: &str) -> Key {
    Key::new("default", name)
}

/// A body that says `value`, with room for its revision in the middle.
pub(crate) fn body(value: &str) -> Body {
    let before = r#"{"metadata":{"resourceVersion":""#;
    Body::new(
        format!(r#"{before}"}},"value":"{value}"}}"#).into_bytes(),
        before.len(),
    )
}

/// What [`body`] was given.
pub(crate) fn value(object: &Object) -> String {
    let json = std::str::from_utf8(object.json()).unwrap();
    let before = format!(
        r#"{{"metadata":{{"resourceVersion":"{}"}},"value":""#,
        object.revision()
    );
    json.strip_prefix(&before)
        .unwrap()
        .strip_suffix("\"}")
        .unwrap()
        .to_owned()
}

pub(crate) fn revision(result: WriteResult) -> u64 {
    result.unwrap().revision()
}

/// A place for a store that goes away with the test.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
        }
    }

    /// A place without a disk's slowness, for tests that open hundreds of files.
    pub(crate) fn in_memory() -> Self {
        TempDir::new_in("/dev/shm").map_or_else(|_| Self::new(), |directory| Self { directory })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("store.db")
    }

    /// The names of all files next to the store, and its own.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn open(&self) -> Store {
        self.open_with(Options::default())
    }

    pub(crate) fn open_with(&self, options: Options) -> Store {
        Store::open(&self.path(), options).unwrap()
    }
}
