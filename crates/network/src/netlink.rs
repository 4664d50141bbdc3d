//! Netlink messages and the socket they go through: just as much as links, addresses, routes and one
//! small packet filter need. Many requests travel in one send, which is what makes a pod's start cheap.

pub(crate) mod filter;
pub(crate) mod route;

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

use nix::{
    errno::Errno,
    libc,
    sys::socket::{
        AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
    },
};

/// Bytes of a message's header: length, type, flags, sequence number, sender.
const HEADER: usize = 16;
/// Messages and attributes start at multiples of this.
const ALIGNMENT: usize = 4;

/// What the kernel made of one request of a batch that it refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot {request}")]
    Refused { request: &'static str, source: Errno },
    #[error("cannot talk to the kernel")]
    Socket(#[from] io::Error),
    #[error("the kernel's answer is cut short")]
    Short,
}

impl Error {
    /// The code with which the kernel refused, if it did.
    pub(crate) fn code(&self) -> Option<Errno> {
        match self {
            Self::Refused { source, .. } => Some(*source),
            Self::Socket(_) | Self::Short => None,
        }
    }
}

/// One request: what is asked, in words for errors and in bytes for the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    request: &'static str,
    bytes: Vec<u8>,
}

impl Message {
    pub(crate) fn new(request: &'static str, kind: u16, flags: i32, family_header: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags as u16).to_ne_bytes());
        bytes.extend_from_slice(family_header);
        Self { request, bytes }
    }

    pub(crate) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        self.push(kind, value);
        self
    }

    pub(crate) fn text(self, kind: u16, value: &str) -> Self {
        let terminated: Vec<u8> = value.bytes().chain([0]).collect();
        self.attribute(kind, &terminated)
    }

    /// An attribute whose value is a list of attributes.
    pub(crate) fn nested(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        self.push(kind | libc::NLA_F_NESTED as u16, &[]);
        let mut filled = fill(self);
        let length = (filled.bytes.len() - start) as u16;
        filled.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        filled
    }

    /// Bytes that are no attribute, for headers inside attributes.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn push(&mut self, kind: u16, value: &[u8]) {
        let length = (value.len() + ALIGNMENT) as u16;
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
    }

    fn expects_answer(&self) -> bool {
        u16::from_ne_bytes([self.bytes[6], self.bytes[7]]) & libc::NLM_F_ACK as u16 != 0
    }

    fn append_to(&self, batch: &mut Vec<u8>, sequence: u32) {
        let start = batch.len();
        batch.extend_from_slice(&self.bytes);
        let length = self.bytes.len() as u32;
        batch[start..start + 4].copy_from_slice(&length.to_ne_bytes());
        batch[start + 8..start + 12].copy_from_slice(&sequence.to_ne_bytes());
        batch.resize(batch.len().next_multiple_of(ALIGNMENT), 0);
    }
}

/// A connection to the kernel. It speaks for the network namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

impl Socket {
    /// For links, addresses and routes.
    pub(crate) fn route() -> Result<Self, Error> {
        Self::open(SockProtocol::NetlinkRoute)
    }

    /// For the packet filter.
    pub(crate) fn filter() -> Result<Self, Error> {
        Self::open(SockProtocol::NetlinkNetFilter)
    }

    fn open(protocol: SockProtocol) -> Result<Self, Error> {
        let fd = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            protocol,
        )
        .map_err(io::Error::from)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0)).map_err(io::Error::from)?;
        Ok(Self(fd))
    }

    /// Sends all messages at once and waits until each is acknowledged. The first refusal is the
    /// answer; later messages may have been carried out all the same.
    pub(crate) fn execute(&self, messages: &[Message]) -> Result<(), Error> {
        if messages.is_empty() {
            return Ok(());
        }
        let mut batch = Vec::new();
        for (sequence, message) in messages.iter().enumerate() {
            message.append_to(&mut batch, sequence as u32);
        }
        send(self.0.as_raw_fd(), &batch, MsgFlags::empty()).map_err(io::Error::from)?;
        let mut expected = messages.iter().filter(|message| message.expects_answer()).count();
        let mut refusal = None;
        let mut buffer = vec![0; 32 << 10];
        while expected > 0 {
            let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty()).map_err(io::Error::from)?;
            for (sequence, code) in acknowledgements(&buffer[..length])? {
                expected = expected.saturating_sub(1);
                let message = messages.get(sequence as usize);
                if let (Some(source), None, Some(message)) = (code, &refusal, message) {
                    refusal = Some(Error::Refused {
                        request: message.request,
                        source,
                    });
                }
            }
        }
        refusal.map_or(Ok(()), Err)
    }
}

/// The sequence numbers answered in what the kernel sent, each with its refusal if it was one.
fn acknowledgements(mut bytes: &[u8]) -> Result<Vec<(u32, Option<Errno>)>, Error> {
    let mut answers = Vec::new();
    while !bytes.is_empty() {
        let number = |at: usize| -> Result<u32, Error> {
            let field = bytes.get(at..at + 4).ok_or(Error::Short)?;
            Ok(u32::from_ne_bytes([field[0], field[1], field[2], field[3]]))
        };
        let length = number(0)? as usize;
        if length < HEADER {
            return Err(Error::Short);
        }
        if number(4)? as u16 == libc::NLMSG_ERROR as u16 {
            let code = number(HEADER)? as i32;
            answers.push((number(8)?, (code != 0).then(|| Errno::from_raw(-code))));
        }
        bytes = bytes
            .get(length.next_multiple_of(ALIGNMENT)..)
            .unwrap_or_default();
    }
    Ok(answers)
}

#[cfg(test)]
mod tests;
