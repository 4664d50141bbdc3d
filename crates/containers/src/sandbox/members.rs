//! Which processes belong to a container. In a process namespace of its own the kernel knows and
//! kills them with the first one; elsewhere their mount namespace or their session tells.

use std::{
    fs::{self, File},
    path::PathBuf,
    thread,
    time::Duration,
};

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

/// The mount namespace of a container. It is held because its name is a number that the kernel gives to the
/// next namespace at once: processes of another pod would be taken for what this one left behind.
#[derive(Debug)]
pub(super) struct MountNamespace {
    name: PathBuf,
    _held: File,
}

impl MountNamespace {
    pub(super) fn of(pid: i32) -> Option<Self> {
        let held = File::open(namespace_of(pid)).ok()?;
        let name = fs::read_link(namespace_of(pid)).ok()?;
        Some(Self { name, _held: held })
    }

    fn has(&self, pid: i32) -> bool {
        fs::read_link(namespace_of(pid)).is_ok_and(|name| name == self.name)
    }
}

fn namespace_of(pid: i32) -> String {
    format!("/proc/{pid}/ns/mnt")
}

fn members(running: &Running) -> Vec<i32> {
    let Some(leader) = running.pid else {
        return Vec::new();
    };
    let belongs = |pid: &i32| match &running.mount_namespace {
        Some(namespace) => namespace.has(*pid),
        None => processes::session(*pid) == Some(leader),
    };
    processes::all().into_iter().filter(belongs).collect()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader},
        process::{Child, Command, Stdio},
    };

    use super::*;

    /// A process in a mount namespace of its own; ends when dropped.
    struct Apart(Child);

    impl Apart {
        /// Where this user may have one.
        fn start() -> Option<Self> {
            let own_user: &[&str] = if nix::unistd::geteuid().is_root() {
                &[]
            } else {
                &["--user", "--map-root-user"]
            };
            let child = Command::new("unshare")
                .args(own_user)
                .args(["--mount", "sh", "-c", "echo here; exec sleep 1000"])
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .ok()?;
            let mut apart = Self(child);
            let mut line = String::new();
            let output = apart.0.stdout.take()?;
            BufReader::new(output).read_line(&mut line).ok()?;
            (line == "here\n").then_some(apart)
        }

        fn pid(&self) -> i32 {
            self.0.id().cast_signed()
        }
    }

    impl Drop for Apart {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn the_next_namespace_is_not_taken_for_one_that_has_ended() {
        let Some(first) = Apart::start() else {
            return println!("skipped: no mount namespaces here");
        };
        let namespace = MountNamespace::of(first.pid()).unwrap();
        assert!(namespace.has(first.pid()));
        drop(first);
        for _ in 0..20 {
            let next = Apart::start().unwrap();
            assert!(!namespace.has(next.pid()));
        }
    }
}
