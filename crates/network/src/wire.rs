//! What is asked of the process and what it answers: JSON with its length before it, and sometimes an
//! open socket or namespace beside it. One request and one answer a connection.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    net::{Ipv4Addr, SocketAddrV4},
    os::fd::{BorrowedFd, OwnedFd},
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, Interest},
    net::UnixStream,
};

use crate::{
    description::Description,
    problem::Problem,
    table::{Protocol, Table},
};

/// A table of 20 000 services is a tenth of this.
const LARGEST: usize = 256 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// The pod's network namespace is that of a process, or is passed beside the request.
    Attach {
        pod: String,
        process: Option<u32>,
    },
    Detach {
        pod: String,
    },
    SetTable(Table),
    Dial {
        to: SocketAddrV4,
        protocol: Protocol,
    },
    Describe,
    Stop,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Attached(Ipv4Addr),
    /// The socket is passed beside the answer.
    Connected,
    Described(Description),
    /// The table is in force but for this.
    Set(Vec<Problem>),
    Done,
    Failed(Failure),
}

/// Why not, in words, and as the operating system's code where there is one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) code: Option<i32>,
}

pub(crate) async fn send<T: Serialize>(
    stream: &mut UnixStream,
    value: &T,
    passed: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let bytes = serde_json::to_vec(value)?;
    let length = (bytes.len() as u32).to_ne_bytes();
    let sent = stream
        .async_io(Interest::WRITABLE, || send_length(stream, length, passed))
        .await?;
    stream.write_all(&length[sent..]).await?;
    stream.write_all(&bytes).await
}

pub(crate) async fn receive<T: DeserializeOwned>(
    stream: &mut UnixStream,
) -> io::Result<(T, Option<OwnedFd>)> {
    let mut length = [0; 4];
    let (read, passed) = stream
        .async_io(Interest::READABLE, || receive_length(stream, &mut length))
        .await?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    stream.read_exact(&mut length[read..]).await?;
    let length = u32::from_ne_bytes(length) as usize;
    if length > LARGEST {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the message is too long",
        ));
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await?;
    Ok((serde_json::from_slice(&bytes)?, passed))
}

fn send_length(stream: &UnixStream, length: [u8; 4], passed: Option<BorrowedFd<'_>>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let passed = passed.map(|passed| [passed]);
    if let Some(passed) = &passed {
        beside.push(SendAncillaryMessage::ScmRights(passed));
    }
    Ok(rustix::net::sendmsg(
        stream,
        &[IoSlice::new(&length)],
        &mut beside,
        SendFlags::NOSIGNAL,
    )?)
}

fn receive_length(stream: &UnixStream, length: &mut [u8; 4]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::net::recvmsg(
        stream,
        &mut [IoSliceMut::new(length)],
        &mut beside,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let passed = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut passed) => passed.next(),
        _ => None,
    });
    Ok((received.bytes, passed))
}
