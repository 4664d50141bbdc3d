//! Files on disk that change all at once: a reader sees the old set or the new one, never a mixture.
//!
//! The files lie in a hidden folder with a time in its name; `..data` points to it, and what users see
//! are links through `..data`. Replacing that one link replaces everything.

use std::{
    fs, io,
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown, symlink,
    },
    path::{Component, Path, PathBuf},
};

use super::{
    content::File,
    ownership::{self, Ownership},
};

const CURRENT: &str = "..data";
const NEXT: &str = "..data_tmp";

#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    #[error("`{0}` is not a path inside the volume")]
    Path(String),
    #[error("cannot write `{path}`")]
    Io { path: PathBuf, source: io::Error },
}

/// Makes the folder hold exactly these files. `stamp` must differ from call to call. Returns whether
/// anything had to change.
pub(super) fn write(
    folder: &Path,
    files: &[File],
    stamp: &str,
    ownership: &Ownership,
) -> Result<bool, WriteError> {
    for file in files {
        check(&file.path)?;
    }
    if holds(folder, files, ownership) {
        return Ok(false);
    }
    let before = fs::read_link(folder.join(CURRENT)).ok();
    let name = format!("..{stamp}");
    let inside = folder.join(&name);
    for file in files {
        write_file(&inside, file)?;
    }
    at(&inside, fs::create_dir_all(&inside))?;
    at(
        &inside,
        fs::set_permissions(&inside, fs::Permissions::from_mode(0o755)),
    )?;
    at(&inside, ownership::give_to_group(&inside, ownership, true))?;
    let next = folder.join(NEXT);
    let _ = fs::remove_file(&next);
    at(&next, symlink(&name, &next))?;
    at(&next, fs::rename(&next, folder.join(CURRENT)))?;
    link(folder, files)?;
    if let Some(before) = before.filter(|before| before.as_os_str() != name.as_str()) {
        let _ = fs::remove_dir_all(folder.join(before));
    }
    Ok(true)
}

/// Nothing that leaves the folder, and nothing that looks like our own links.
fn check(path: &str) -> Result<(), WriteError> {
    let mut components = Path::new(path).components();
    let is_inside = components
        .clone()
        .all(|component| matches!(component, Component::Normal(_)));
    let is_ours = components
        .next()
        .is_none_or(|first| first.as_os_str().to_string_lossy().starts_with(".."));
    if is_inside && !is_ours {
        Ok(())
    } else {
        Err(WriteError::Path(path.to_owned()))
    }
}

fn holds(folder: &Path, files: &[File], ownership: &Ownership) -> bool {
    let current = folder.join(CURRENT);
    let is_same = |file: &File| {
        let path = current.join(&file.path);
        let has_rights = fs::metadata(&path).is_ok_and(|metadata| {
            metadata.permissions().mode() & 0o7777 == ownership.mode(file.mode, true)
                && file.owner.is_none_or(|owner| owner == metadata.uid())
                && ownership.group.is_none_or(|group| group == metadata.gid())
        });
        has_rights && fs::read(&path).is_ok_and(|bytes| bytes == file.bytes)
    };
    current.exists() && count(&current) == files.len() && files.iter().all(is_same)
}

fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count(&entry.path()),
            _ => 1,
        })
        .sum()
}

fn write_file(inside: &Path, file: &File) -> Result<(), WriteError> {
    let path = inside.join(&file.path);
    if let Some(parent) = path.parent() {
        let mut folders = fs::DirBuilder::new();
        at(parent, folders.recursive(true).mode(0o755).create(parent))?;
    }
    let mut options = fs::OpenOptions::new();
    let opened = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path);
    let mut target = at(&path, opened)?;
    at(&path, io::Write::write_all(&mut target, &file.bytes))?;
    if file.owner.is_some() {
        at(&path, fchown(&target, file.owner, None))?;
    }
    // Whatever the process's mask is, the mode is the one that was asked for.
    at(
        &path,
        target.set_permissions(fs::Permissions::from_mode(file.mode)),
    )
}

/// What users see: a link for each first part of a path, and none for what is gone.
fn link(folder: &Path, files: &[File]) -> Result<(), WriteError> {
    let firsts = files
        .iter()
        .filter_map(|file| Path::new(&file.path).components().next());
    let wanted: std::collections::BTreeSet<_> = firsts.map(|first| first.as_os_str().to_owned()).collect();
    for name in &wanted {
        let path = folder.join(name);
        if fs::symlink_metadata(&path).is_err() {
            at(&path, symlink(Path::new(CURRENT).join(name), &path))?;
        }
    }
    let entries = at(folder, fs::read_dir(folder))?.flatten();
    for entry in entries {
        let name = entry.file_name();
        let is_ours = name.to_string_lossy().starts_with("..");
        if !is_ours && !wanted.contains(&name) {
            at(&entry.path(), fs::remove_file(entry.path()))?;
        }
    }
    Ok(())
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, WriteError> {
    result.map_err(|source| WriteError::Io {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File {
            path: path.to_owned(),
            bytes: text.as_bytes().to_vec(),
            mode: 0o440,
            owner: None,
        }
    }

    fn write(folder: &Path, files: &[File], stamp: &str) -> Result<bool, WriteError> {
        super::write(folder, files, stamp, &Ownership::default())
    }

    fn read(folder: &Path, path: &str) -> Option<String> {
        fs::read_to_string(folder.join(path)).ok()
    }

    #[test]
    fn files_change_together_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert!(write(path, &[file("a", "1"), file("sub/b", "1")], "one").unwrap());
        assert_eq!(read(path, "sub/b").as_deref(), Some("1"));
        let mode = fs::metadata(path.join("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o440);
        assert!(!write(path, &[file("a", "1"), file("sub/b", "1")], "two").unwrap());
        assert!(write(path, &[file("a", "2")], "three").unwrap());
        assert_eq!(read(path, "a").as_deref(), Some("2"));
        assert_eq!(read(path, "sub/b"), None);
        assert!(!path.join("..one").exists());
    }

    #[test]
    fn a_volume_may_be_empty() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &[file("a", "1")], "one").unwrap();
        write(folder.path(), &[], "two").unwrap();
        assert_eq!(read(folder.path(), "a"), None);
    }

    #[test]
    fn nothing_is_written_outside() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["../x", "/x", "a/../../x", "..data", ""] {
            assert!(matches!(
                write(folder.path(), &[file(path, "")], "s"),
                Err(WriteError::Path(_))
            ));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
