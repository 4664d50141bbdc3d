//! New contents for several files, all or none. Each is written beside its file and takes its place by a rename, so
//! that nobody ever sees half of one; if one cannot take its place, those before it get back what they had. What a
//! command that was killed in between had begun, the next one finishes.

mod journal;

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Error, Result, anyhow};
use ring::digest::{SHA256, digest};

use journal::Journal;
pub(super) use journal::{Found, NAME as JOURNAL, recover};

/// What a file that is not there yet may be to others, before the user's own mask.
const NEW: u32 = 0o666;
/// So many files are brought to disk one by one, which takes a disk some milliseconds each. More are brought there
/// with all that their file systems hold.
const ONE_BY_ONE: usize = 16;

/// A file that is to be changed.
#[derive(Debug)]
struct Replacement {
    path: PathBuf,
    new: String,
    /// What there was; nothing where the file is new.
    old: Option<Vec<u8>>,
}

/// New contents that are not yet in their places.
#[derive(Debug, Default)]
pub(super) struct Replacements(Vec<Replacement>);

impl Replacements {
    /// Notes a content for a file. `expected` is what the change was made from: a file that somebody else has
    /// changed since is left alone.
    pub(super) fn add(&mut self, path: &Path, expected: Option<&str>, content: &str) -> Result<()> {
        let old = read_if_there(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        if expected.is_some_and(|expected| old.as_deref() != Some(expected.as_bytes())) {
            return Err(changed_meanwhile(path));
        }
        self.0.push(Replacement {
            path: std::path::absolute(path).context("cannot find the working directory")?,
            new: content.to_owned(),
            old,
        });
        Ok(())
    }

    /// Puts all of them in their places.
    pub(super) fn commit(self) -> Result<()> {
        let Some(folder) = common_folder(&self.0) else {
            return Ok(());
        };
        recover(&folder)?;
        let files: Vec<_> = self
            .0
            .iter()
            .map(|replacement| (replacement.path.clone(), replacement.old.as_deref().map(hash)))
            .collect();
        let mut journal = Journal::begin(&folder, &files)?;
        let one_by_one = files.len() <= ONE_BY_ONE;
        let mut folders = BTreeSet::new();
        for (Replacement { path, new, old }, waiting) in self.0.iter().zip(journal.waiting()) {
            if hash_of(path)? != old.as_deref().map(hash) {
                return Err(changed_meanwhile(path));
            }
            write(&waiting, new.as_bytes(), path)
                .and_then(|file| if one_by_one { file.sync_all() } else { Ok(()) })
                .with_context(|| format!("cannot write beside `{}`", path.display()))?;
            folders.extend(path.parent().map(Path::to_owned));
        }
        let synced = if one_by_one {
            let mut folders = folders.iter();
            folders.try_for_each(|folder| File::open(folder)?.sync_all())
        } else {
            sync_file_systems(&folders)
        };
        synced
            .and_then(|()| journal.is_ready())
            .with_context(|| format!("cannot write in the folder `{}`", folder.display()))?;
        let waiting: Vec<PathBuf> = journal.waiting().collect();
        for (index, (Replacement { path, .. }, waiting)) in self.0.iter().zip(&waiting).enumerate() {
            if let Err(error) = fs::rename(waiting, path) {
                journal.give_up();
                let error = Error::new(error).context(format!("cannot write `{}`", path.display()));
                return Err(put_back(&self.0[..index], error));
            }
        }
        Ok(())
    }
}

fn changed_meanwhile(path: &Path) -> Error {
    anyhow!("`{}` has been changed meanwhile", path.display())
}

/// The folder that all of them are in or below.
fn common_folder(replacements: &[Replacement]) -> Option<PathBuf> {
    let mut folders = replacements
        .iter()
        .filter_map(|replacement| replacement.path.parent());
    let first = folders.next()?;
    let is_above_all = |folder: &&Path| replacements.iter().all(|other| other.path.starts_with(folder));
    first.ancestors().find(is_above_all).map(Path::to_owned)
}

fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What tells a content from others; none of a file that is not there.
fn hash_of(path: &Path) -> Result<Option<String>> {
    let content = read_if_there(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(content.as_deref().map(hash))
}

fn hash(content: &[u8]) -> String {
    let digest = digest(&SHA256, content);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Brings all there is of the folders to disk.
fn sync_file_systems(folders: &BTreeSet<PathBuf>) -> io::Result<()> {
    let mut synced = BTreeSet::new();
    for folder in folders {
        let folder = File::open(folder)?;
        if synced.insert(folder.metadata()?.dev()) {
            rustix::fs::syncfs(&folder)?;
        }
    }
    Ok(())
}

/// A content with the mode and owner of a file; it may not be on disk yet.
fn write(new: &Path, content: &[u8], path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(NEW).open(new)?;
    file.write_all(content)?;
    if let Ok(metadata) = fs::metadata(path) {
        file.set_permissions(metadata.permissions())?;
        // Whoever may not give files away owns what they write, as with any editor.
        let _ = std::os::unix::fs::fchown(&file, Some(metadata.uid()), Some(metadata.gid()));
    }
    Ok(file)
}

/// Undoes what was done; what cannot be undone is told.
fn put_back(done: &[Replacement], mut error: Error) -> Error {
    for Replacement { path, old, .. } in done.iter().rev() {
        let back = match old {
            Some(old) => {
                let beside = path.with_file_name(format!(".trainyard-back-{}", std::process::id()));
                let written = write(&beside, old, path).and_then(|file| file.sync_all());
                let back = written.and_then(|()| fs::rename(&beside, path));
                back.inspect_err(|_| drop(fs::remove_file(&beside)))
            }
            None => fs::remove_file(path),
        };
        if let Err(also) = back {
            error = error.context(format!("`{}` could not be put back: {also}", path.display()));
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

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
        assert!(!folder.path().join(JOURNAL).exists());
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

    #[test]
    fn what_was_done_before_a_failure_is_undone() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["old.yaml", "new.yaml"].map(|name| folder.path().join(name));
        fs::write(&old, "a: 1\n").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o604)).unwrap();
        let mut replacements = Replacements::default();
        for path in [&old, &new] {
            replacements.add(path, None, "a: 2\n").unwrap();
            fs::write(path, "a: 2\n").unwrap();
        }
        let error = put_back(&replacements.0, anyhow!("a third could not be written"));
        assert_eq!(error.to_string(), "a third could not be written");
        assert_eq!(fs::read_to_string(&old).unwrap(), "a: 1\n");
        assert_eq!(fs::metadata(&old).unwrap().mode() & 0o777, 0o604);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "and nothing else"
        );
    }

    #[test]
    fn many_files_are_changed_together() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..=ONE_BY_ONE)
            .map(|number| folder.path().join(format!("{number}/a.yaml")))
            .collect();
        let mut replacements = Replacements::default();
        for path in &paths {
            fs::create_dir(path.parent().unwrap()).unwrap();
            replacements.add(path, None, "a: 2\n").unwrap();
        }
        replacements.commit().unwrap();
        for path in &paths {
            assert_eq!(fs::read_to_string(path).unwrap(), "a: 2\n");
            assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        }
    }

    #[test]
    fn files_of_different_folders_are_changed_together() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a/b/one.yaml", "a/c/two.yaml"].map(|name| folder.path().join(name));
        let mut replacements = Replacements::default();
        for path in &paths {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            replacements.add(path, None, "a: 2\n").unwrap();
        }
        assert_eq!(common_folder(&replacements.0), Some(folder.path().join("a")));
        replacements.commit().unwrap();
        assert!(
            paths
                .iter()
                .all(|path| fs::read_to_string(path).unwrap() == "a: 2\n")
        );
        assert_eq!(fs::read_dir(folder.path().join("a")).unwrap().count(), 2);
    }
}
