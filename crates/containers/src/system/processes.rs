//! Forking, signals, and what a process does to itself for good.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::{
    errno::Errno,
    libc,
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    sys::{
        signal::{SigHandler, SigSet, Signal, signal},
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid},
};
use seccompiler::sock_filter;

/// Runs `child` in a new process, which ends with its result. For single-threaded programs.
pub(crate) fn fork(child: impl FnOnce() -> i32) -> nix::Result<Pid> {
    // SAFETY: sandboxes and their launchers have one thread, so no lock is held across the fork.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let code = catch_unwind(AssertUnwindSafe(child)).unwrap_or(255);
            // SAFETY: ends the process at once; the parent's exit handlers and buffers are not ours.
            unsafe { libc::_exit(code) }
        }
    }
}

/// Whether these namespaces can be made and used, tried by a child that then ends.
pub(crate) fn try_unshare(flags: CloneFlags) -> nix::Result<()> {
    // SAFETY: the caller may have threads; the child only makes system calls and allocates nothing.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => match waitpid(child, None)? {
            WaitStatus::Exited(_, 0) => Ok(()),
            WaitStatus::Exited(_, code) => Err(Errno::from_raw(code)),
            _ => Err(Errno::EPERM),
        },
        ForkResult::Child => {
            // Some systems let anybody make a user namespace but give no rights in it: a mount tells.
            let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
            let tried =
                unshare(flags).and_then(|()| mount(None::<&str>, "/", None::<&str>, private, None::<&str>));
            // SAFETY: as in `fork`.
            unsafe { libc::_exit(tried.err().map_or(0, |errno| errno as i32)) }
        }
    }
}

/// Gives a process about to `execve` the signal handling every program expects at its start.
pub(crate) fn reset_signals() -> nix::Result<()> {
    for ignorable in Signal::iterator().filter(|one| !matches!(one, Signal::SIGKILL | Signal::SIGSTOP)) {
        // SAFETY: the default action runs no code of ours.
        unsafe { signal(ignorable, SigHandler::SigDfl) }?;
    }
    SigSet::empty().thread_set_mask()
}

/// Puts a system call filter on this process and its future children. Needs either
/// `no_new_privileges` or the right to administer the user namespace.
pub(crate) fn install_filter(filter: &[sock_filter]) -> nix::Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno::E2BIG)?,
        // The two structures have the same C layout.
        filter: filter.as_ptr().cast_mut().cast(),
    };
    // SAFETY: `program` and the filter it points to live until the kernel has copied them.
    let result = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
            0,
            0,
        )
    };
    Errno::result(result).map(drop)
}

pub(crate) fn set_domain_name(name: &str) -> nix::Result<()> {
    // SAFETY: the kernel reads exactly the given number of bytes.
    let result = unsafe { libc::setdomainname(name.as_ptr().cast(), name.len()) };
    Errno::result(result).map(drop)
}
