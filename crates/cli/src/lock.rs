//! One server a directory: an exclusive lock that ends with the process, however it ends.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Seek as _, Write as _},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use anyhow::{Context as _, Result};
use rustix::fs::{FlockOperation, flock};

use crate::{advised, data_dir::ClusterDir};

/// Held for as long as the server runs.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

const FILE: &str = "lock";

impl Lock {
    /// Takes the directory, or says who has it.
    pub(crate) fn take(dir: &ClusterDir) -> Result<Self> {
        let path = dir.path.join(FILE);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot open `{}`", path.display()))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(in_use(dir, holder.trim()));
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "{}", std::process::id()))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(Self { _file: file })
    }
}

/// The process that holds the directory, if one does.
pub(crate) fn holder(dir: &Path) -> Option<u32> {
    let mut file = OpenOptions::new().read(true).open(dir.join(FILE)).ok()?;
    if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn in_use(dir: &ClusterDir, holder: &str) -> anyhow::Error {
    let program = std::fs::read_to_string(format!("/proc/{holder}/comm")).unwrap_or_default();
    let program = if program.trim().is_empty() {
        String::new()
    } else {
        format!(" ({})", program.trim())
    };
    advised(
        format!("`{}` is in use by process {holder}{program}", dir.path.display()),
        format!(
            "`{}` shows it, `{}` stops it",
            dir.command("status"),
            dir.command("down")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_learns_who_was_first() {
        let folder = tempfile::tempdir().unwrap();
        let dir = ClusterDir::at(folder.path());
        assert_eq!(holder(&dir.path), None);
        let lock = Lock::take(&dir).unwrap();
        let error = Lock::take(&dir).unwrap_err();
        assert!(
            error.to_string().contains(&std::process::id().to_string()),
            "{error}"
        );
        assert_eq!(holder(&dir.path), Some(std::process::id()));
        drop(lock);
        Lock::take(&dir).unwrap();
    }
}
