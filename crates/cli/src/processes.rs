//! The processes a cluster is made of beside `up`: this program once more, started by itself.

use std::{ffi::OsString, path::Path, process::ExitCode};

/// Runs the process that the arguments ask for, if they ask for one. Call it before anything else: such
/// a process makes namespaces, which only a program with a single thread can.
pub fn process(arguments: &[OsString], start_log: impl FnOnce()) -> Option<ExitCode> {
    let [_, kind, rest @ ..] = arguments else {
        return None;
    };
    match (kind.to_str()?, rest) {
        ("__sandbox", [folder, asked_by]) => Some(cluster::sandbox_process(Path::new(folder), asked_by)),
        ("__network", [folder]) => {
            start_log();
            Some(cluster::network_process(Path::new(folder)))
        }
        ("__render", limits) => {
            let limits: Vec<&str> = limits.iter().filter_map(|limit| limit.to_str()).collect();
            Some(render_worker::process(&limits))
        }
        _ => None,
    }
}
