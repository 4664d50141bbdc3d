//! Which process namespace a new process belongs to, and the first process of a shared one.

use std::{fs::File, path::Path, thread, time::Duration};

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
    process::process_namespace,
    seccomp::Filters,
};
use crate::{spec::Sandbox, system};

/// Forks into namespaces. The sandbox itself never leaves its own.
#[derive(Debug)]
pub(super) struct ProcessNamespaces {
    own: Option<File>,
    /// The namespace all containers share, kept by its first process.
    shared: Option<File>,
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
        let shared = spec.share_processes.then(|| share(&own, surroundings));
        Ok(Self {
            shared: shared.transpose()?,
            own: Some(own),
        })
    }

    pub(super) fn fork(&self, into: ForkInto, child: impl FnOnce() -> i32) -> nix::Result<Pid> {
        let Some(own) = &self.own else {
            return system::fork(child);
        };
        let mut child = Some(child);
        // The copy that runs has the child's function; ours keeps it for another attempt.
        let mut attempt = || {
            match (into, &self.shared) {
                (ForkInto::Container, None) => unshare(CloneFlags::CLONE_NEWPID)?,
                (ForkInto::Container, Some(shared)) => setns(shared, CloneFlags::CLONE_NEWPID)?,
                (ForkInto::Beside(pid), _) => join(&process_namespace(pid, "pid"))?,
            }
            let forked = system::fork(|| child.take().map_or(255, |child| child()));
            setns(own, CloneFlags::CLONE_NEWPID)?;
            forked
        };
        match into {
            ForkInto::Container => patiently(attempt),
            // Where the first process of a namespace has ended there is no memory for others, ever.
            ForkInto::Beside(_) => attempt(),
        }
    }
}

/// Tries again for a moment where the kernel is short of something: a start that fails costs a job one of its
/// restarts.
fn patiently<T>(mut attempt: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    for wait in [1, 10, 100] {
        match attempt() {
            Err(Errno::ENOMEM | Errno::EAGAIN) => thread::sleep(Duration::from_millis(wait)),
            outcome => return outcome,
        }
    }
    attempt()
}

fn join(path: &Path) -> nix::Result<()> {
    let namespace = File::open(path).map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))?;
    setns(namespace, CloneFlags::CLONE_NEWPID)
}

/// Makes a namespace with its first process. It is opened from here: nobody may look into that process.
fn share(own: &File, surroundings: &Surroundings) -> Result<File, SetupError> {
    let filters = Filters::only(&IDLE).doing(|| "filter system calls")?;
    unshare(CloneFlags::CLONE_NEWPID).doing(|| "make a shared process namespace")?;
    system::fork(|| idle(surroundings, &filters)).doing(|| "fork the first process")?;
    let shared = File::open("/proc/self/ns/pid_for_children").doing(|| "open the shared process namespace");
    setns(own, CloneFlags::CLONE_NEWPID).doing(|| "return to our process namespace")?;
    shared
}

/// All that burying orphans takes.
const IDLE: [&str; 8] = [
    "exit",
    "exit_group",
    "pause",
    "ppoll",
    "restart_syscall",
    "rt_sigreturn",
    "wait4",
    "waitid",
];

/// The first process of a shared namespace: buries orphans, sees nothing, may do nothing. All containers
/// see it, and one that may trace processes can make it do what it may: it has no files, no rights and
/// hardly a system call.
fn idle(surroundings: &Surroundings, filters: &Filters) -> i32 {
    if leave_everything(surroundings, filters).is_err() {
        return 1;
    }
    loop {
        if wait() == Err(Errno::ECHILD) {
            pause();
        }
    }
}

fn leave_everything(surroundings: &Surroundings, filters: &Filters) -> nix::Result<()> {
    prctl::set_dumpable(false)?;
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
    system::close_all();
    for set in [
        caps::CapSet::Bounding,
        caps::CapSet::Effective,
        caps::CapSet::Permitted,
    ] {
        caps::clear(None, set).map_err(|_| Errno::EPERM)?;
    }
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    prctl::set_no_new_privs()?;
    filters.install()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_refuses_for_a_moment_is_tried_again_and_what_it_forbids_is_not() {
        let mut attempts = 0;
        let outcome = patiently(|| {
            attempts += 1;
            if attempts < 3 {
                Err(Errno::ENOMEM)
            } else {
                Ok(attempts)
            }
        });
        assert_eq!(outcome, Ok(3));
        let mut attempts = 0;
        let refused: nix::Result<()> = patiently(|| {
            attempts += 1;
            Err(Errno::EPERM)
        });
        assert_eq!((refused, attempts), (Err(Errno::EPERM), 1));
    }
}
