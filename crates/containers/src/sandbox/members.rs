//! Which processes belong to a container. In a process namespace of its own the kernel knows and
//! kills them with the first one; elsewhere their mount namespace or their session tells.

use std::{fs, thread, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::containers::Running;
use crate::{processes, state::Usage};

/// How often, two milliseconds apart, killed processes are looked for before they are given up.
const LOOKS: usize = 50;

/// Kills what is left of a container whose first process has ended, and waits a moment for it to be
/// gone: whoever hears of the end may take the volumes away. `sandbox` is our own number.
pub(super) fn kill_left_behind(running: &Running, sandbox: i32) {
    let depth = processes::numbers(sandbox).len();
    for _ in 0..LOOKS {
        let left: Vec<_> = members(running)
            .into_iter()
            .filter(|pid| !processes::is_zombie(*pid))
            .collect();
        if left.is_empty() {
            return;
        }
        for pid in left {
            // What the host calls 4711 has another number in the sandbox's namespace.
            if let Some(number) = processes::numbers(pid).get(depth.saturating_sub(1)) {
                let _ = kill(Pid::from_raw(*number), Signal::SIGKILL);
            }
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// What a container's processes use together, where no control group counts.
pub(super) fn usage(running: &Running) -> Usage {
    members(running)
        .into_iter()
        .filter_map(processes::usage)
        .fold(Usage::default(), |sum, one| Usage {
            cpu_nanoseconds: sum.cpu_nanoseconds + one.cpu_nanoseconds,
            memory_bytes: sum.memory_bytes + one.memory_bytes,
            pids: sum.pids + one.pids,
        })
}

/// Names a process's mount namespace.
pub(super) fn mount_namespace(pid: i32) -> Option<String> {
    Some(
        fs::read_link(format!("/proc/{pid}/ns/mnt"))
            .ok()?
            .to_str()?
            .to_owned(),
    )
}

fn members(running: &Running) -> Vec<i32> {
    let Some(leader) = running.pid else {
        return Vec::new();
    };
    let belongs = |pid: &i32| match &running.mount_namespace {
        Some(namespace) => mount_namespace(*pid).as_ref() == Some(namespace),
        None => processes::session(*pid) == Some(leader),
    };
    processes::all().into_iter().filter(belongs).collect()
}
