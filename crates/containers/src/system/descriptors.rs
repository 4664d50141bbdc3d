//! File descriptors over sockets, and none left behind.

use std::{
    io::{self, IoSlice, IoSliceMut},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd as _, OwnedFd},
};

use nix::{
    cmsg_space, libc,
    sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg},
};
use tokio::io::unix::AsyncFd;

/// Sends what fits of `bytes`, and all of `descriptors` with its first byte.
pub(crate) fn send_with_descriptors(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> nix::Result<usize> {
    let raw: Vec<_> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&raw)];
    let messages = if raw.is_empty() { &[][..] } else { &rights[..] };
    let flags = MsgFlags::MSG_NOSIGNAL;
    sendmsg::<()>(
        socket.as_fd().as_raw_fd(),
        &[IoSlice::new(bytes)],
        messages,
        flags,
        None,
    )
}

/// Receives into `buffer`; descriptors that came along are added to `descriptors`.
pub(crate) fn receive_with_descriptors(
    socket: impl AsFd,
    buffer: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> nix::Result<usize> {
    let mut control = cmsg_space!([libc::c_int; 8]);
    let mut slices = [IoSliceMut::new(buffer)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(socket.as_fd().as_raw_fd(), &mut slices, Some(&mut control), flags)?;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = control {
            // SAFETY: the kernel has just made these descriptors for us; nobody else knows them.
            descriptors.extend(raw.into_iter().map(|raw| unsafe { OwnedFd::from_raw_fd(raw) }));
        }
    }
    Ok(message.bytes)
}

/// Readies a descriptor for asynchronous use.
pub(crate) fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` names the same open file until it is dropped, with the `AsyncFd` around it.
    Ok(unsafe { AsyncFd::register(descriptor) }?)
}

/// Closes whatever a careless ancestor left open.
pub(crate) fn close_all_above_stderr() {
    // SAFETY: called first thing in the process, before it opens anything of its own.
    unsafe { close_from(3) }
}

/// Leaves a process without any file, for one that will never use one again.
pub(crate) fn close_all() {
    // SAFETY: by its contract nothing of this process is used afterwards.
    unsafe { close_from(0) }
}

/// # Safety
/// Nothing owns a descriptor from `first` on, or its owner is never used again.
unsafe fn close_from(first: libc::c_int) {
    // SAFETY: as the caller promises.
    if unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) } == 0 {
        return;
    }
    // Kernels before 5.9.
    // SAFETY: reads a number.
    let limit = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) };
    for descriptor in first..libc::c_int::try_from(limit).unwrap_or(libc::c_int::MAX) {
        // SAFETY: as the caller promises.
        unsafe { libc::close(descriptor) };
    }
}
