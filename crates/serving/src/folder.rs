//! Models in folders: which versions there are, and their files.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use saved_model::Files;

/// The file of a SavedModel.
const SAVED_MODEL: &str = "saved_model.pb";

/// Files of one version.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// Whether it is a model in ONNX; a SavedModel beside it comes first.
    pub(crate) fn is_onnx(&self) -> bool {
        !self.0.join(SAVED_MODEL).exists() && self.0.join(onnx_model::FILE).is_file()
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        fs::read(self.0.join(path))
    }

    fn read_range(&self, path: &str, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let file = File::open(self.0.join(path))?;
        // A damaged index may ask for more than there is, and memory is not given out for that.
        if file.metadata()?.len() < offset.saturating_add(length as u64) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}

/// The versions below a folder: folders whose names are numbers. A folder that is itself a model is its only version.
pub(crate) fn versions(base: &Path) -> io::Result<BTreeMap<u64, PathBuf>> {
    let mut versions = BTreeMap::new();
    for entry in fs::read_dir(base)? {
        let path = entry?.path();
        if let Some(version) = number(&path)
            && path.is_dir()
        {
            versions.insert(version, path);
        }
    }
    if versions.is_empty() && is_model(base) {
        versions.insert(number(base).unwrap_or(1), base.to_owned());
    }
    Ok(versions)
}

/// Whether a folder is itself a version of a model.
fn is_model(folder: &Path) -> bool {
    [SAVED_MODEL, onnx_model::FILE]
        .iter()
        .any(|file| folder.join(file).is_file())
}

/// Only digits: `+7` and `007` are no versions, or two folders would be the same one.
fn number(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let version: u64 = name.parse().ok()?;
    // On the wire versions are signed.
    (version.to_string() == name && i64::try_from(version).is_ok()).then_some(version)
}

/// The name of the model in a folder, where the user gives none.
pub fn model_name(base: &Path) -> Option<String> {
    let named = match number(base) {
        Some(_) if is_model(base) => base.parent()?,
        _ => base,
    };
    Some(named.file_name()?.to_str()?.to_owned())
}

/// What changes whenever somebody writes to a version: sizes and times of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    files: u64,
    bytes: u64,
    newest: (i64, i64),
}

pub(crate) fn look(folder: &Path) -> Look {
    let mut seen = Look::default();
    // Models have their files at most two folders deep; what is below is nobody's business here.
    add(folder, 3, &mut seen);
    seen
}

fn add(folder: &Path, depth: u32, seen: &mut Look) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        seen.files += 1;
        seen.newest = seen.newest.max((metadata.mtime(), metadata.mtime_nsec()));
        if metadata.is_dir() && depth > 0 {
            add(&path, depth - 1, seen);
        } else {
            seen.bytes += metadata.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_folders_named_by_numbers() {
        let base = tempfile::tempdir().unwrap();
        for name in ["1", "12", "007", "draft-3", "latest", "-4"] {
            fs::create_dir(base.path().join(name)).unwrap();
        }
        fs::write(base.path().join("5"), "a file").unwrap();
        let found: Vec<u64> = versions(base.path()).unwrap().into_keys().collect();
        assert_eq!(found, [1, 12]);
    }

    #[test]
    fn a_folder_that_is_a_model_is_its_only_version() {
        let base = tempfile::tempdir().unwrap();
        let model = base.path().join("digits/3");
        fs::create_dir_all(&model).unwrap();
        fs::write(model.join("saved_model.pb"), "").unwrap();
        assert_eq!(versions(&model).unwrap(), BTreeMap::from([(3, model.clone())]));
        assert_eq!(model_name(&model).as_deref(), Some("digits"));
        assert_eq!(model_name(&base.path().join("digits")).as_deref(), Some("digits"));
    }

    #[test]
    fn whatever_is_written_to_a_version_is_seen() {
        let base = tempfile::tempdir().unwrap();
        let before = look(base.path());
        fs::create_dir(base.path().join("variables")).unwrap();
        let between = look(base.path());
        fs::write(base.path().join("variables/variables.index"), "index").unwrap();
        let after = look(base.path());
        assert!(before != between && between != after);
        assert_eq!(after, look(base.path()));
    }

    #[test]
    fn more_than_there_is_cannot_be_read() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("file"), "12345").unwrap();
        let folder = Folder(base.path().to_owned());
        assert_eq!(folder.read_range("file", 1, 3).unwrap(), b"234");
        assert!(folder.read_range("file", 1, usize::MAX).is_err());
    }
}
