//! The one network interface a sandbox cares about.

use std::os::fd::AsRawFd as _;

use nix::{
    errno::Errno,
    libc,
    sys::socket::{AddressFamily, SockFlag, SockType, socket},
};

/// Brings up `lo` in this process's network namespace.
pub(crate) fn bring_loopback_up() -> nix::Result<()> {
    let socket = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    // SAFETY: all-zero bytes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads one `ifreq`.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    Errno::result(result).map(drop)
}
