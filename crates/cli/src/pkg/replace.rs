//! New contents for several files, all or none. Each is written beside its file and takes its place by a rename, so
//! that nobody ever sees half of one; if one cannot take its place, those before it get back what they had.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Error, Result, anyhow};
use tempfile::NamedTempFile;

/// What a file that is not there yet may be to others, before the user's own mask.
const NEW: u32 = 0o666;

/// A file that waits for its place.
#[derive(Debug)]
struct Replacement {
    path: PathBuf,
    new: NamedTempFile,
    /// What there was; nothing where the file is new.
    old: Option<Vec<u8>>,
}

/// New contents that are written, but not yet in their places.
#[derive(Debug, Default)]
pub(super) struct Replacements(Vec<Replacement>);

impl Replacements {
    /// Writes a content beside a file. `expected` is what the change was made from: a file that somebody else has
    /// changed since is left alone.
    pub(super) fn add(&mut self, path: &Path, expected: Option<&str>, content: &str) -> Result<()> {
        let old = read_if_there(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        if expected.is_some_and(|expected| old.as_deref() != Some(expected.as_bytes())) {
            return Err(anyhow!("`{}` has been changed meanwhile", path.display()));
        }
        let new = beside(path, content.as_bytes())?;
        self.0.push(Replacement {
            path: path.to_owned(),
            new,
            old,
        });
        Ok(())
    }

    /// Puts all of them in their places.
    pub(super) fn commit(self) -> Result<()> {
        let mut done: Vec<(PathBuf, Option<Vec<u8>>)> = Vec::new();
        for Replacement { path, new, old } in self.0 {
            if let Err(error) = new.persist(&path) {
                let error = Error::new(error.error).context(format!("cannot write `{}`", path.display()));
                return Err(put_back(&done, error));
            }
            done.push((path, old));
        }
        Ok(())
    }
}

fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A content in the folder of a file, with the file's mode and owner.
fn beside(path: &Path, content: &[u8]) -> Result<NamedTempFile> {
    let write = || -> io::Result<NamedTempFile> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut new = tempfile::Builder::new()
            .prefix(".trainyard-")
            .permissions(fs::Permissions::from_mode(NEW))
            .tempfile_in(folder.unwrap_or(Path::new(".")))?;
        new.write_all(content)?;
        if let Ok(metadata) = fs::metadata(path) {
            new.as_file().set_permissions(metadata.permissions())?;
            // Whoever may not give files away owns what they write, as with any editor.
            let _ = std::os::unix::fs::fchown(new.as_file(), Some(metadata.uid()), Some(metadata.gid()));
        }
        new.as_file().sync_all()?;
        Ok(new)
    };
    write().with_context(|| format!("cannot write beside `{}`", path.display()))
}

/// Undoes what was done; what cannot be undone is told.
fn put_back(done: &[(PathBuf, Option<Vec<u8>>)], mut error: Error) -> Error {
    for (path, old) in done.iter().rev() {
        let back = match old {
            Some(old) => beside(path, old).and_then(|file| Ok(file.persist(path).map(drop)?)),
            None => fs::remove_file(path).map_err(Error::from),
        };
        if let Err(also) = back {
            error = error.context(format!("`{}` could not be put back: {also:#}", path.display()));
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_kept_and_nothing_is_left_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        fs::write(&path, "a: 1\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let mut replacements = Replacements::default();
        replacements.add(&path, Some("a: 1\n"), "a: 2\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a: 1\n", "not yet");
        replacements.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a: 2\n");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn when_one_cannot_be_written_all_are_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new, bad] = ["old.yaml", "new.yaml", "bad.yaml"].map(|name| folder.path().join(name));
        fs::write(&old, "a: 1\n").unwrap();
        let mut replacements = Replacements::default();
        for path in [&old, &new, &bad] {
            replacements.add(path, None, "a: 2\n").unwrap();
        }
        // A folder that is not empty cannot be replaced by a file.
        fs::create_dir_all(bad.join("full")).unwrap();
        let error = replacements.commit().unwrap_err();
        assert!(error.to_string().contains("bad.yaml"), "{error:#}");
        assert_eq!(fs::read_to_string(&old).unwrap(), "a: 1\n");
        assert!(!new.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_that_was_changed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        fs::write(&path, "a: 3\n").unwrap();
        let mut replacements = Replacements::default();
        let error = replacements.add(&path, Some("a: 1\n"), "a: 2\n").unwrap_err();
        assert!(error.to_string().contains("changed meanwhile"), "{error:#}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "a: 3\n");
    }
}
