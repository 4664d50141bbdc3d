//! The program behind `trainyard __sandbox DIR`: one pod's namespaces, containers, logs and control
//! socket. It has one thread and no asynchronous runtime, so that it may fork and change namespaces.

mod attach;
mod command;
mod connection;
mod containers;
mod credentials;
mod error;
mod events;
mod exec;
mod init;
mod launch;
mod logs;
mod members;
mod namespaces;
mod output;
mod process;
mod reap;
mod report;
mod root;
mod seccomp;
mod server;
mod stdio;

use std::{ffi::OsStr, io::Write as _, path::Path, process::ExitCode};

/// Starts the sandbox described by `dir/sandbox.json` in the background and returns when it answers
/// on `dir/sandbox.sock`. What goes wrong before that is said on standard error. `asked_by` is the number of the
/// process that waits for it: without that one nothing is started.
pub fn main(dir: &Path, asked_by: &OsStr) -> ExitCode {
    match launch::launch(dir, asked_by) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::from(2)
        }
    }
}
