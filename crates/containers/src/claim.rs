//! Whoever starts a sandbox in a folder, or clears one away, does it alone. An agent that is killed leaves
//! the start of a sandbox under way: nothing in the folder tells of it yet, and the next agent must neither
//! start another beside it nor take the folder away from under it.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
};

const FILE: &str = "sandbox.lock";

/// Held until dropped, by everybody who has inherited it.
#[derive(Debug)]
pub(crate) struct Claim {
    _file: File,
}

impl Claim {
    /// Waits for whoever has the folder now. A start comes to its end whatever happens to who asked for it.
    pub(crate) fn wait(dir: &Path) -> io::Result<Self> {
        let path = dir.join(FILE);
        loop {
            let file = File::options().create(true).append(true).open(&path)?;
            file.lock()?;
            if is_at(&file, &path)? {
                return Ok(Self { _file: file });
            }
        }
    }
}

/// Whether the file was not removed, with its folder, while we waited for it.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_claimed_by_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let claim = Claim::wait(dir.path()).unwrap();
        let other = File::open(dir.path().join(FILE)).unwrap();
        assert!(other.try_lock().is_err());
        drop(claim);
        other.try_lock().unwrap();
    }

    #[test]
    fn a_folder_that_went_away_meanwhile_is_not_claimed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        drop(Claim::wait(dir.path()).unwrap());
        let opened_before = File::open(&path).unwrap();
        assert!(is_at(&opened_before, &path).unwrap());
        fs::remove_dir_all(dir.path()).unwrap();
        assert!(!is_at(&opened_before, &path).unwrap());
        let refused = Claim::wait(dir.path()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotFound);
    }
}
