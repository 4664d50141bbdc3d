//! Moves what comes from one connection to the other, both ways, without looking at it.
//!
//! Data goes from socket to socket through a pipe of the kernel. A pipe is borrowed while data is on its
//! way: idle connections hold no memory, and a slow reader holds up its own writer only.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use nix::{
    fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice},
    sys::socket::{setsockopt, sockopt},
    unistd::pipe2,
};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncWriteExt as _, Interest},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
};

/// How much one pipe holds at most.
const PIPE: usize = 256 << 10;
/// Pipes kept for the next connection.
const MOST_IDLE_PIPES: usize = 64;
/// A peer that says nothing is asked whether it is still there after this many seconds.
const KEEP_ALIVE: u32 = 120;

/// Joins two connections until both have ended. An error on either resets both.
pub(crate) async fn join(mut one: TcpStream, mut other: TcpStream) {
    for stream in [&one, &other] {
        let _ = stream.set_nodelay(true);
        let _ = setsockopt(stream, sockopt::KeepAlive, &true);
        let _ = setsockopt(stream, sockopt::TcpKeepIdle, &KEEP_ALIVE);
    }
    let (mut one_in, mut one_out) = one.split();
    let (mut other_in, mut other_out) = other.split();
    let there = forward(&mut one_in, &mut other_out);
    let back = forward(&mut other_in, &mut one_out);
    if let Err(error) = tokio::try_join!(there, back) {
        tracing::debug!(%error, "a relayed connection broke");
        let _ = one.set_zero_linger();
        let _ = other.set_zero_linger();
    }
}

/// Moves everything one way; the end of one is the end of the other.
async fn forward(from: &mut ReadHalf<'_>, to: &mut WriteHalf<'_>) -> io::Result<()> {
    loop {
        from.readable().await?;
        let pipe = Pipe::borrow()?;
        match pipe.fill(from.as_ref()) {
            Ok(0) => {
                pipe.give_back();
                return to.shutdown().await;
            }
            Ok(length) => {
                pipe.drain(to.as_ref(), length).await?;
                pipe.give_back();
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => pipe.give_back(),
            Err(error) => return Err(error),
        }
    }
}

/// An empty pipe between uses.
struct Pipe {
    end: OwnedFd,
    start: OwnedFd,
}

static IDLE: Mutex<Vec<Pipe>> = Mutex::new(Vec::new());

impl Pipe {
    fn borrow() -> io::Result<Self> {
        if let Some(pipe) = IDLE.lock().pop() {
            return Ok(pipe);
        }
        let (end, start) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        // A user with very many pipes gets small ones, which do as well.
        let _ = fcntl(&start, FcntlArg::F_SETPIPE_SZ(PIPE as i32));
        Ok(Self { end, start })
    }

    /// Only an empty pipe may be given back.
    fn give_back(self) {
        let mut idle = IDLE.lock();
        if idle.len() < MOST_IDLE_PIPES {
            idle.push(self);
        }
    }

    fn fill(&self, from: &TcpStream) -> io::Result<usize> {
        from.try_io(Interest::READABLE, || move_bytes(from, &self.start, PIPE))
    }

    async fn drain(&self, to: &TcpStream, mut length: usize) -> io::Result<()> {
        while length > 0 {
            length -= to
                .async_io(Interest::WRITABLE, || move_bytes(&self.end, to, length))
                .await?;
        }
        Ok(())
    }
}

fn move_bytes(from: impl AsFd, to: impl AsFd, length: usize) -> io::Result<usize> {
    let flags = SpliceFFlags::SPLICE_F_MOVE | SpliceFFlags::SPLICE_F_NONBLOCK;
    Ok(splice(from, None, to, None, length, flags)?)
}
