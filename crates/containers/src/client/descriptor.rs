//! One end of a pipe or terminal, for asynchronous reading and writing.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    pin::Pin,
    task::{Context, Poll, ready},
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    unistd::{read, write},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, unix::AsyncFd};

use crate::system;

/// Closes with the value. A terminal whose program is gone reads as ended.
#[derive(Debug)]
pub struct Descriptor(AsyncFd<OwnedFd>);

impl Descriptor {
    /// For anything that can be waited for.
    pub fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let flags = OFlag::from_bits_retain(fcntl(&descriptor, FcntlArg::F_GETFL)?);
        fcntl(&descriptor, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        Ok(Self(system::watch(descriptor)?))
    }

    /// A second handle on the same end.
    pub fn try_clone(&self) -> io::Result<Self> {
        Self::new(self.0.get_ref().try_clone()?)
    }

    /// For terminals only.
    pub fn resize(&self, rows: u16, columns: u16) -> io::Result<()> {
        Ok(system::set_window_size(self, rows, columns)?)
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }
}

impl AsyncRead for Descriptor {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.0.poll_read_ready(context))?;
            let unfilled = buffer.initialize_unfilled();
            match guard.try_io(|descriptor| Ok(read(descriptor.get_ref(), unfilled)?)) {
                Ok(Ok(count)) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(error)) if error.raw_os_error() == Some(Errno::EIO as i32) => {
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for Descriptor {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_write_ready(context))?;
            match guard.try_io(|descriptor| Ok(write(descriptor.get_ref(), bytes)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return Poll::Ready(result),
                Err(_would_block) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Only dropping it closes it.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
