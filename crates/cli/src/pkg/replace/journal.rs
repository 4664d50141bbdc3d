//! What is about to be done to several files, noted where it is done. A command that is killed in between leaves the
//! note, and the next one that comes by finishes what was begun: either no file had been touched, or all new contents
//! were there.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::advised;

/// The note. It is locked for as long as its writer lives.
pub(in super::super) const NAME: &str = ".trainyard-edit";
/// How the names of new contents begin that wait beside their files.
const PREFIX: &str = ".trainyard-edit-";
/// The line behind which all new contents are on disk.
const READY: &str = "ready";
/// So often the note may be taken away between being made and being locked.
const ATTEMPTS: usize = 100;

/// A file that is to get a new content; both relative to the folder of the note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) file: PathBuf,
    pub(super) new: PathBuf,
    /// What the file had before, as a hash; nothing where it is new.
    pub(super) before: Option<String>,
}

/// A note of one's own. When it goes, so does all that waits beside files.
#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
    note: File,
    entries: Vec<Entry>,
}

/// What an earlier command had begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Found {
    Nothing,
    /// Somebody is at it.
    Busy,
    /// No file had been changed, and none is.
    Undone,
    /// So many files were still to be changed, and are now.
    Finished(usize),
}

impl Journal {
    /// Notes what is to be done to files below a folder.
    pub(super) fn begin(folder: &Path, files: &[(PathBuf, Option<String>)]) -> Result<Self> {
        let unwritable = || format!("cannot write in the folder `{}`", folder.display());
        let note = own(folder).with_context(unwritable)?;
        let Some(note) = note else {
            return Err(advised(
                format!("another command is changing files in `{}`", folder.display()),
                "wait until it has ended, and try again",
            ));
        };
        let attempt = fastrand::u64(..);
        let entries = files.iter().enumerate().map(|(number, (path, before))| {
            let file = path.strip_prefix(folder).unwrap_or(path).to_owned();
            Entry {
                new: file.with_file_name(format!("{PREFIX}{attempt:016x}-{number}")),
                before: before.clone(),
                file,
            }
        });
        let mut journal = Self {
            folder: folder.to_owned(),
            note,
            entries: entries.collect(),
        };
        let text = serde_json::to_string(&journal.entries).with_context(unwritable)?;
        journal.write(&text).with_context(unwritable)?;
        Ok(journal)
    }

    /// Where the new contents of the files go, in their order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = PathBuf> {
        self.entries.iter().map(|entry| self.folder.join(&entry.new))
    }

    /// All new contents are there: from here on it can be finished by whoever comes by.
    pub(super) fn is_ready(&mut self) -> io::Result<()> {
        self.write(READY)?;
        File::open(&self.folder)?.sync_all()
    }

    /// It is not to be finished any more.
    pub(super) fn give_up(&self) {
        let _ = self.note.set_len(0);
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        self.note.write_all(format!("{line}\n").as_bytes())?;
        self.note.sync_all()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        for new in self.waiting() {
            let _ = fs::remove_file(new);
        }
        let _ = fs::remove_file(self.folder.join(NAME));
    }
}

/// Finishes or undoes what a command that is no more had begun in a folder.
pub(in super::super) fn recover(folder: &Path) -> Result<Found> {
    let path = folder.join(NAME);
    let unusable = || {
        format!(
            "cannot finish what an earlier command began (`{}`)",
            path.display()
        )
    };
    let mut note = match OpenOptions::new().read(true).open(&path) {
        Ok(note) => note,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error).with_context(unusable),
    };
    if !note.metadata().with_context(unusable)?.is_file() {
        return Err(anyhow!("`{}` is no regular file", path.display()));
    }
    if flock(&note, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(Found::Busy);
    }
    if !is_at(&note, &path) {
        return Ok(Found::Nothing);
    }
    let mut text = String::new();
    note.read_to_string(&mut text).with_context(unusable)?;
    let found = match read(&text) {
        // Nothing waits before the first line is whole.
        None => Found::Undone,
        Some((entries, is_ready)) => {
            let wrong = entries.iter().find(|entry| !is_ours(folder, entry));
            if let Some(wrong) = wrong {
                return Err(advised(
                    format!("`{}` names `{}`", path.display(), wrong.file.display()),
                    "no command of trainyard has written this file; remove it",
                ));
            }
            finish(folder, &entries, is_ready).with_context(unusable)?
        }
    };
    fs::remove_file(&path).with_context(unusable)?;
    Ok(found)
}

/// Makes and locks the note; none if somebody else has it.
fn own(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join(NAME);
    for _ in 0..ATTEMPTS {
        let note = match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(note) => note,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(error),
        };
        // Whoever looks for what others left may have it for a moment.
        if flock(&note, FlockOperation::NonBlockingLockExclusive).is_ok() && is_at(&note, &path) {
            return Ok(Some(note));
        }
    }
    Ok(None)
}

/// Whether a file that was opened is still the one with this name.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let opened = file.metadata().map(identity).ok();
    opened.is_some() && opened == fs::symlink_metadata(path).map(identity).ok()
}

/// What was to be done, and whether all was there for it.
fn read(text: &str) -> Option<(Vec<Entry>, bool)> {
    let (entries, rest) = text.split_once('\n')?;
    Some((serde_json::from_str(entries).ok()?, rest.starts_with(READY)))
}

/// Whether an entry is one that is written here: a package that comes from elsewhere may bring any.
fn is_ours(folder: &Path, entry: &Entry) -> bool {
    let is_plain = |path: &Path| {
        path.components()
            .all(|component| matches!(component, Component::Normal(_)))
    };
    let name = entry.new.file_name().unwrap_or_default().to_string_lossy();
    let below = |path: &Path| {
        let within = fs::canonicalize(folder.join(path.parent()?)).ok()?;
        within.starts_with(fs::canonicalize(folder).ok()?).then_some(())
    };
    is_plain(&entry.file)
        && is_plain(&entry.new)
        && entry.file.parent() == entry.new.parent()
        && name.starts_with(PREFIX)
        && below(&entry.file).is_some()
}

fn finish(folder: &Path, entries: &[Entry], is_ready: bool) -> Result<Found> {
    let mut changed = 0;
    for entry in entries {
        let (file, new) = (folder.join(&entry.file), folder.join(&entry.new));
        if !fs::symlink_metadata(&new).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        // What somebody has written since is theirs.
        if is_ready && super::hash_of(&file)? == entry.before {
            fs::rename(&new, &file)?;
            changed += 1;
        } else {
            fs::remove_file(&new)?;
        }
    }
    Ok(if is_ready {
        Found::Finished(changed)
    } else {
        Found::Undone
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "a: 1\n";

    /// A folder with two files, and what a command has noted to do to them.
    fn begun() -> (tempfile::TempDir, Journal) {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        let files = ["a.yaml", "sub/b.yaml"].map(|name| {
            let path = root.join(name);
            fs::write(&path, OLD).unwrap();
            let before = super::super::hash_of(&path).unwrap();
            (path, before)
        });
        let journal = Journal::begin(&root, &files).unwrap();
        for new in journal.waiting() {
            fs::write(new, "a: 2\n").unwrap();
        }
        (folder, journal)
    }

    /// What a kill leaves: the lock is gone, everything else is as it was.
    fn killed(journal: Journal) {
        let note = journal.note.try_clone().unwrap();
        flock(&note, FlockOperation::Unlock).unwrap();
        std::mem::forget(journal);
    }

    #[track_caller]
    fn holds(folder: &Path, expected: &str) {
        for name in ["a.yaml", "sub/b.yaml"] {
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), expected, "{name}");
        }
        for folder in [folder, &folder.join("sub")] {
            let hidden = fs::read_dir(folder).unwrap().filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_string_lossy().starts_with('.')
            });
            assert_eq!(hidden.count(), 0, "nothing is left in {}", folder.display());
        }
    }

    #[test]
    fn killed_before_all_is_written_nothing_is_done() {
        let (folder, journal) = begun();
        killed(journal);
        assert_eq!(recover(folder.path()).unwrap(), Found::Undone);
        holds(folder.path(), OLD);
        assert_eq!(recover(folder.path()).unwrap(), Found::Nothing);
    }

    #[test]
    fn killed_between_two_files_the_rest_is_done() {
        let (folder, mut journal) = begun();
        journal.is_ready().unwrap();
        let first = journal.waiting().next().unwrap();
        fs::rename(first, folder.path().join("a.yaml")).unwrap();
        killed(journal);
        assert_eq!(recover(folder.path()).unwrap(), Found::Finished(1));
        holds(folder.path(), "a: 2\n");
    }

    #[test]
    fn killed_while_it_takes_notes_nothing_is_done() {
        let (folder, journal) = begun();
        for new in journal.waiting() {
            fs::remove_file(new).unwrap();
        }
        journal.note.set_len(7).unwrap();
        killed(journal);
        assert_eq!(recover(folder.path()).unwrap(), Found::Undone);
        holds(folder.path(), OLD);
    }

    #[test]
    fn what_somebody_wrote_since_is_left() {
        let (folder, mut journal) = begun();
        journal.is_ready().unwrap();
        killed(journal);
        fs::write(folder.path().join("a.yaml"), "a: 3\n").unwrap();
        assert_eq!(recover(folder.path()).unwrap(), Found::Finished(1));
        assert_eq!(
            fs::read_to_string(folder.path().join("a.yaml")).unwrap(),
            "a: 3\n"
        );
        assert_eq!(
            fs::read_to_string(folder.path().join("sub/b.yaml")).unwrap(),
            "a: 2\n"
        );
    }

    #[test]
    fn two_commands_do_not_meet() {
        let (folder, journal) = begun();
        assert_eq!(recover(folder.path()).unwrap(), Found::Busy);
        let root = fs::canonicalize(folder.path()).unwrap();
        let error = Journal::begin(&root, &[]).unwrap_err();
        assert!(
            error.to_string().starts_with("another command is changing"),
            "{error:#}"
        );
        drop(journal);
        holds(folder.path(), OLD);
    }

    #[test]
    fn a_note_of_somebody_else_moves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        let package = folder.path().join("package");
        fs::create_dir(&package).unwrap();
        fs::write(&outside, OLD).unwrap();
        std::os::unix::fs::symlink(folder.path(), package.join("link")).unwrap();
        fs::write(package.join(".trainyard-edit-1-0"), "a: 2\n").unwrap();
        fs::write(folder.path().join(".trainyard-edit-1-0"), "a: 2\n").unwrap();
        let before = super::super::hash_of(&outside).unwrap().unwrap();
        for (file, new) in [
            ("../outside", "../.trainyard-edit-1-0"),
            ("link/outside", "link/.trainyard-edit-1-0"),
            ("../outside", ".trainyard-edit-1-0"),
            ("a.yaml", "b.yaml"),
        ] {
            let entries = serde_json::json!([{"file": file, "new": new, "before": before}]);
            fs::write(package.join(NAME), format!("{entries}\nready\n")).unwrap();
            let error = recover(&package).unwrap_err();
            assert!(error.to_string().contains(file), "{error:#}");
            assert_eq!(fs::read_to_string(&outside).unwrap(), OLD);
        }
    }
}
