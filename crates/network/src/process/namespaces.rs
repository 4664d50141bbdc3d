//! Network namespaces: one for the node, and visits to those of the pods.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
    thread,
};

use nix::sched::{CloneFlags, setns, unshare};

/// Makes a network namespace; it lives as long as something holds it open.
///
/// A thread of its own moves there and ends, so that the caller stays where it is.
pub(crate) fn new_network() -> io::Result<File> {
    on_own_thread(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        File::open("/proc/thread-self/ns/net")
    })
}

/// The network namespace of a process.
pub(crate) fn of_process(pid: u32) -> io::Result<File> {
    File::open(format!("/proc/{pid}/ns/net"))
}

/// Moves the calling thread into a network namespace.
pub(crate) fn enter(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(setns(namespace, CloneFlags::CLONE_NEWNET)?)
}

/// Runs `work` in a network namespace, on a thread that is never used for anything else.
pub(crate) fn within<T: Send>(
    namespace: &impl AsFd,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let namespace = namespace.as_fd();
    on_own_thread(move || {
        enter(namespace)?;
        work()
    })
}

fn on_own_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        // The usual stack: a build without optimisation needs more than 64 KiB, and only what is used takes memory.
        let thread = thread::Builder::new().spawn_scoped(scope, work)?;
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
    })
}
