//! The whole of ours: a server whose pods and network are processes that outlive it.

use std::{
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::Result;

use super::{Ours, start_and_wait};
use crate::{processes::Background, run};

/// A cluster that runs. Everything of it ends when it goes out of scope.
pub(crate) struct Cluster {
    binary: PathBuf,
    data: PathBuf,
    _parts: Vec<Background>,
}

impl Cluster {
    pub(crate) fn start(server: &Ours, patience: Duration) -> Result<Self> {
        Ok(Self {
            _parts: start_and_wait(server, patience)?,
            binary: server.binary().to_owned(),
            data: server.data(),
        })
    }

    /// All of its processes: those whose command line names its folder.
    pub(crate) fn processes(&self) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            let pid = entry.file_name().to_string_lossy().parse();
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if let Ok(pid) = pid
                && names(&line, &self.data)
            {
                found.push(pid);
            }
        }
        Ok(found)
    }

    pub(crate) fn stop(self) -> Result<()> {
        run::check(&mut self.down())
    }

    fn down(&self) -> Command {
        let mut down = Command::new(&self.binary);
        down.args(["down", "--data-dir"]).arg(&self.data);
        down
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // After an orderly stop there is nothing left to do, and it says so.
        let _ = self.down().output();
    }
}

/// Whether one of the arguments is the folder or in it.
fn names(command_line: &[u8], folder: &Path) -> bool {
    let mut arguments = command_line.split(|byte| *byte == 0);
    arguments.any(|argument| Path::new(std::ffi::OsStr::from_bytes(argument)).starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_belongs_to_a_cluster_whose_folder_it_was_given() {
        let data = Path::new("/srv/data");
        assert!(names(b"trainyard\0up\0--data-dir\0/srv/data\0", data));
        assert!(names(b"trainyard\0__network\0/srv/data/network\0", data));
        assert!(!names(b"trainyard\0up\0--data-dir\0/srv/data2\0", data));
    }
}
