//! Where servers are run, and how the load generator is told of them.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use rustix::fs::statfs;
use tempfile::TempDir;

use crate::servers::Server;

const TMPFS: i64 = 0x0102_1994;

/// A folder for data and logs, removed when it goes out of scope unless it is to be kept.
pub(super) struct Work {
    pub(super) path: PathBuf,
    _folder: Option<TempDir>,
}

impl Work {
    pub(super) fn new(keep: bool) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("trainyard-bench-").tempdir()?;
        let path = folder.path().to_owned();
        // In memory neither side would wait for a disk.
        let found = statfs(&path).context("cannot look at the file system of the temporary folder")?;
        if found.f_type == TMPFS {
            bail!(
                "`{}` is in memory; set TMPDIR to a folder on a disk",
                path.display()
            );
        }
        let folder = if keep {
            eprintln!("data and logs: {}", folder.keep().display());
            None
        } else {
            Some(folder)
        };
        Ok(Self {
            path,
            _folder: folder,
        })
    }
}

/// `NAME=URL,TOKEN,CA-FILE`
pub(super) fn argument(server: &dyn Server) -> Result<String> {
    Ok(format!(
        "{}={},{},{}",
        server.name(),
        server.url(),
        server.token()?,
        server.authority().display()
    ))
}
