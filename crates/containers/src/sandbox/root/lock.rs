//! Mounts that stay. Whoever may mount could take away what covers the host's folders, or make them
//! writable. The kernel locks the mounts that a namespace got from a more privileged one: nobody in it
//! unmounts, moves or loosens them, whatever rights it has. What it mounts itself is not locked.

use std::{
    fs::File,
    os::{fd::AsFd as _, unix::net::UnixStream},
};

use nix::{
    errno::Errno,
    sched::{CloneFlags, setns, unshare},
    sys::wait::{WaitStatus, waitpid},
};

use crate::{
    sandbox::error::{Doing as _, SetupError},
    system,
};

/// Moves this process to a locked copy of its mounts. Its own rights stay what they are: only the copy
/// belongs to a user namespace below ours, which has nobody in it.
pub(super) fn lock() -> Result<(), SetupError> {
    enter_copy().doing(|| "lock the mounts of a container that may mount")
}

fn enter_copy() -> nix::Result<()> {
    let refused = |error: std::io::Error| Errno::from_raw(error.raw_os_error().unwrap_or_default());
    let (ours, theirs) = UnixStream::pair().map_err(refused)?;
    // Whoever enters a user namespace cannot come back, so another does.
    let helper = system::fork(|| hand_over_copy(&theirs).err().map_or(0, |errno| errno as i32))?;
    match waitpid(helper, None)? {
        WaitStatus::Exited(_, 0) => {}
        WaitStatus::Exited(_, code) => return Err(Errno::from_raw(code)),
        _ => return Err(Errno::EINTR),
    }
    let mut copies = Vec::new();
    system::receive_with_descriptors(&ours, &mut [0], &mut copies)?;
    let copy = copies.pop().ok_or(Errno::EBADF)?;
    setns(copy, CloneFlags::CLONE_NEWNS)
}

fn hand_over_copy(to: &UnixStream) -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    let copy = File::open("/proc/self/ns/mnt")
        .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or_default()))?;
    system::send_with_descriptors(to, &[0], &[copy.as_fd()]).map(drop)
}
