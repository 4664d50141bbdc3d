//! A user on the first day: an empty home, a clone of the repository, and no cluster.

use std::{
    fs,
    os::unix::fs::{chown, symlink},
    path::Path,
    process::Command,
};

use tempfile::TempDir;

use crate::{Shell, User, binary, server::NOBODY};

/// An empty home with a clone in it. A cluster that was started in this home is stopped in the end.
#[derive(Debug)]
pub struct Newcomer {
    home: TempDir,
    user: User,
}

impl Newcomer {
    #[track_caller]
    pub fn new(user: User) -> Self {
        let home = TempDir::new().expect("a temporary folder can be made");
        // The files of the clone that documents name. Its script `trainyard` builds the program and runs it; tests have
        // built it already.
        let clone = home.path().join("trainyard");
        fs::create_dir(&clone).expect("a folder can be made");
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        for folder in ["docs", "examples"] {
            let from = root.join(folder).canonicalize().expect("the folder is there");
            symlink(from, clone.join(folder)).expect("a folder can be linked");
        }
        symlink(binary(), clone.join("trainyard")).expect("the program can be linked");
        let newcomer = Self { home, user };
        let bin = newcomer.home().join(".cargo/bin");
        fs::create_dir_all(&bin).expect("a folder can be made");
        newcomer.own(newcomer.home());
        newcomer.own(&clone);
        newcomer.own(&bin);
        newcomer
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A terminal in the clone, with `trainyard` installed and these programs besides.
    #[track_caller]
    pub fn terminal(&self, programs: &[(&str, &Path)]) -> Shell<'_> {
        let shell = Shell::terminal(self.home(), self.user, &[("trainyard", binary())]);
        for (name, program) in programs {
            // The folder they are kept in may be closed to this user, so a link to it is not enough.
            let own = self.home().join(".cargo/bin").join(name);
            fs::hard_link(program, &own)
                .or_else(|_| fs::copy(program, &own).map(drop))
                .expect("a program can be copied");
        }
        shell.ok("cd trainyard");
        shell
    }

    /// Writes a file into the home, with folders as needed.
    #[track_caller]
    pub fn write(&self, path: &str, text: &str) {
        let path = self.home().join(path);
        let folder = path.parent().expect("a file is in a folder");
        fs::create_dir_all(folder).expect("a folder can be made");
        fs::write(&path, text).expect("a file can be written");
        self.own(folder);
        self.own(&path);
    }

    fn own(&self, path: &Path) {
        if self.user == User::Nobody {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("the tests are run by root");
        }
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        let data = self.home().join(".local/share/trainyard");
        if data.exists() {
            let mut down = Command::new(binary());
            let _ = down.args(["down", "--data-dir"]).arg(data).output();
        }
    }
}
