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

/// How a child ends that was to have a disk of its own and may not.
pub(crate) const NO_DISK: i32 = 77;

/// The command that runs `test` as a child on a store in `directory`, on which a disk of 8 MB is mounted.
pub(crate) fn on_small_disk(test: &str, directory: &Path) -> Command {
    let mount = r#"mount -t tmpfs -o size=8m tmpfs "$STORE_TEST_DISK" || exit 77; exec "$0" "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    command.env("STORE_TEST_DISK", directory);
    command.env(PATH, directory.join("store.db"));
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
