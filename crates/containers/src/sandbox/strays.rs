//! Processes that outlive their container's first one. In a process namespace of its own the kernel
//! kills them; elsewhere they are known by their mount namespace or their session.

use std::fs;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::containers::Running;
use crate::processes;

/// Kills what is left of a container whose first process has ended. `sandbox` is our own number.
pub(super) fn kill_left_behind(running: &Running, sandbox: i32) {
    let Some(leader) = running.pid else { return };
    let depth = processes::numbers(sandbox).len();
    for pid in processes::all().into_iter().filter(|pid| *pid != leader && *pid != sandbox) {
        let theirs = match &running.mount_namespace {
            Some(namespace) => mount_namespace(pid).as_ref() == Some(namespace),
            None => processes::session(pid) == Some(leader),
        };
        // What the host calls 4711 has another number in the sandbox's namespace, or none.
        let here = theirs.then(|| processes::numbers(pid)).and_then(|numbers| numbers.get(depth - 1).copied());
        if let Some(number) = here {
            let _ = kill(Pid::from_raw(number), Signal::SIGKILL);
        }
    }
}

/// Names a process's mount namespace.
pub(super) fn mount_namespace(pid: i32) -> Option<String> {
    Some(fs::read_link(format!("/proc/{pid}/ns/mnt")).ok()?.to_str()?.to_owned())
}
