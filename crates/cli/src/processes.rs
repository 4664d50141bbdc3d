//! The processes a cluster is made of beside `up`: this program once more, started by itself.

use std::{ffi::OsString, path::Path, process::ExitCode};

/// Runs the process that the arguments ask for, if they ask for one. Call it before anything else: such
/// a process makes namespaces, which only a program with a single thread can.
pub fn process(arguments: &[OsString], start_log: impl FnOnce()) -> Option<ExitCode> {
    let [_, kind, folder] = arguments else { return None };
    let folder = Path::new(folder);
    match kind.to_str()? {
        "__sandbox" => Some(cluster::sandbox_process(folder)),
        "__network" => {
            start_log();
            Some(cluster::network_process(folder))
        }
        _ => None,
    }
}
