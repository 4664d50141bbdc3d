//! Which process namespace a new process belongs to, and the first process of a shared one.

use std::{fs::File, path::PathBuf};

use nix::{
    errno::Errno,
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, setns, unshare},
    sys::{prctl, signal::Signal, wait::wait},
    unistd::{Pid, chdir, pause, pivot_root},
};

use super::{
    error::{Doing as _, SetupError},
    namespaces::Surroundings,
    process::{self, process_namespace},
};
use crate::{processes, spec::Sandbox, system};

/// Forks into namespaces. The sandbox itself never leaves its own.
#[derive(Debug)]
pub(super) struct ProcessNamespaces {
    own: Option<File>,
    /// The namespace all containers share, kept by its first process.
    shared: Option<PathBuf>,
}

/// Where to fork.
#[derive(Debug, Clone, Copy)]
pub(super) enum ForkInto {
    /// A container's place: a new namespace, or the shared one.
    Container,
    /// The namespace of this process, by its number on the host.
    Beside(i32),
}

impl ProcessNamespaces {
    pub(super) fn prepare(spec: &Sandbox, surroundings: &Surroundings) -> Result<Self, SetupError> {
        if !surroundings.isolated || spec.host_pid {
            return Ok(Self {
                own: None,
                shared: None,
            });
        }
        let own = File::open("/proc/self/ns/pid").doing(|| "open our process namespace")?;
        let mut namespaces = Self {
            own: Some(own),
            shared: None,
        };
        if spec.share_processes {
            let first = namespaces
                .fork(ForkInto::Container, || idle(surroundings))
                .doing(|| "fork the first process")?;
            // In the sandbox's own namespace numbers differ from the host's; its child is found by both.
            namespaces.shared = Some(process_namespace(host_pid_of(first)?, "pid"));
        }
        Ok(namespaces)
    }

    pub(super) fn fork(&self, into: ForkInto, child: impl FnOnce() -> i32) -> nix::Result<Pid> {
        let Some(own) = &self.own else {
            return system::fork(child);
        };
        match (into, &self.shared) {
            (ForkInto::Container, None) => unshare(CloneFlags::CLONE_NEWPID)?,
            (ForkInto::Container, Some(shared)) => join(shared)?,
            (ForkInto::Beside(pid), _) => join(&process_namespace(pid, "pid"))?,
        }
        let forked = system::fork(child);
        setns(own, CloneFlags::CLONE_NEWPID)?;
        forked
    }
}

fn join(path: &PathBuf) -> nix::Result<()> {
    let namespace = File::open(path).map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))?;
    setns(namespace, CloneFlags::CLONE_NEWPID)
}

/// The host's number of a child that this sandbox knows by another.
fn host_pid_of(child: Pid) -> Result<i32, SetupError> {
    let own = process::own_pid()?;
    let depth = processes::numbers(own).len();
    // Other sandboxes have processes of the same number, but no children of ours.
    let is_child = |pid: &i32| {
        processes::parent(*pid) == Some(own)
            && processes::numbers(*pid).get(depth - 1) == Some(&child.as_raw())
    };
    processes::all()
        .into_iter()
        .find(is_child)
        .ok_or(Errno::ESRCH)
        .doing(|| "find the first process")
}

/// The first process of a shared namespace: buries orphans, sees nothing, may do nothing.
fn idle(surroundings: &Surroundings) -> i32 {
    if leave_everything(surroundings).is_err() {
        return 1;
    }
    loop {
        if wait() == Err(Errno::ECHILD) {
            pause();
        }
    }
}

fn leave_everything(surroundings: &Surroundings) -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(
        None::<&str>,
        "/",
        None::<&str>,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        None::<&str>,
    )?;
    mount(
        Some("tmpfs"),
        &surroundings.staging,
        Some("tmpfs"),
        MsFlags::MS_RDONLY,
        None::<&str>,
    )?;
    chdir(&surroundings.staging)?;
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    let _ = system::close_all_above_stderr();
    for set in [
        caps::CapSet::Bounding,
        caps::CapSet::Effective,
        caps::CapSet::Permitted,
    ] {
        caps::clear(None, set).map_err(|_| Errno::EPERM)?;
    }
    prctl::set_pdeathsig(Signal::SIGKILL)
}
