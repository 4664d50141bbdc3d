//! Runs one test of this binary as a process of its own, which may be killed or starved.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const PATH: &str = "STORE_TEST_CHILD";

/// The command that runs `test` as a child on the store at `path`.
pub(crate) fn command(test: &str, path: &Path) -> Command {
    // A full disk is played by a limit on the file size, whose signal only a shell can ignore for us.
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(PATH, path);
    command
}

/// The path given to a child; `None` in the parent, where the child's test has nothing to do.
pub(crate) fn path() -> Option<PathBuf> {
    std::env::var_os(PATH).map(PathBuf::from)
}

/// A number from the environment, for longer runs than everyone should wait for.
pub(crate) fn count(variable: &str, default: u64) -> u64 {
    let given = std::env::var_os(variable).map(OsString::into_string);
    given.map_or(default, |given| given.unwrap().parse().unwrap())
}
