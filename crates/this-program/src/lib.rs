//! The program this process runs, also when its file is gone or is another by now.
//!
//! A cluster starts processes of its own program for as long as it lives, and people remove and replace programs
//! under it. What it starts then must be what it was itself started from: it talks to its processes in words that
//! another version may not know.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use tokio::process::Command;

/// What the system runs this process from, whatever has become of the name.
const THIS: &str = "/proc/self/exe";

/// A program that can be started again.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    /// Whether this process runs it.
    is_this: bool,
}

impl Program {
    /// The program that has this name now.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let is_this = is_this(&path);
        Self { path, is_this }
    }

    /// Its name when it was looked up.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A command that runs it, under its name.
    pub fn command(&self) -> Command {
        if !self.is_this || is_this(&self.path) {
            return Command::new(&self.path);
        }
        let mut command = Command::new(THIS);
        command.arg0(&self.path);
        command
    }
}

fn is_this(path: &Path) -> bool {
    let same = || -> io::Result<bool> {
        let (named, running) = (fs::metadata(path)?, fs::metadata(THIS)?);
        Ok((named.dev(), named.ino()) == (running.dev(), running.ino()))
    };
    same().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_program_is_run_by_its_name_while_it_has_one() {
        let this = std::env::current_exe().unwrap();
        for path in [this, PathBuf::from("/bin/sh"), PathBuf::from("/nothing/here")] {
            let command = Program::at(&path).command();
            assert_eq!(command.as_std().get_program(), path.as_os_str());
        }
    }

    #[test]
    fn this_program_is_run_when_its_name_is_gone_or_is_another_s() {
        for path in ["/nothing/here", "/bin/sh"] {
            let program = Program {
                path: path.into(),
                is_this: true,
            };
            assert_eq!(program.command().as_std().get_program(), OsStr::new(THIS));
        }
    }
}
