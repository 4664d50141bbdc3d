//! Pseudo-terminals of a given devpts instance.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsFd, AsRawFd as _, OwnedFd},
        unix::fs::OpenOptionsExt as _,
    },
    path::Path,
};

use nix::{errno::Errno, libc};

/// The controlling end, and the number its other end has under `/dev/pts`.
#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) controller: OwnedFd,
    pub(crate) number: u32,
}

/// Makes a terminal of the instance that `multiplexer` (its `ptmx`) belongs to.
pub(crate) fn open_terminal(multiplexer: &Path) -> io::Result<Terminal> {
    let flags = libc::O_NOCTTY | libc::O_CLOEXEC;
    let file: File = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(multiplexer)?;
    let (unlock, mut number): (libc::c_int, libc::c_uint) = (0, 0);
    // SAFETY: each call reads or writes the one integer it is given.
    unsafe {
        Errno::result(libc::ioctl(file.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlock))?;
        Errno::result(libc::ioctl(file.as_raw_fd(), libc::TIOCGPTN, &raw mut number))?;
    }
    Ok(Terminal {
        controller: file.into(),
        number,
    })
}

/// Makes `terminal` the controlling one of this session, whose leader the caller must be.
pub(crate) fn set_controlling_terminal(terminal: impl AsFd) -> nix::Result<()> {
    // SAFETY: the argument is a plain number: do not steal it from another session.
    let result = unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCSCTTY, 0) };
    Errno::result(result).map(drop)
}

pub(crate) fn set_window_size(terminal: impl AsFd, rows: u16, columns: u16) -> nix::Result<()> {
    let size = libc::winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: TIOCSWINSZ reads one `winsize`.
    let result = unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    Errno::result(result).map(drop)
}
