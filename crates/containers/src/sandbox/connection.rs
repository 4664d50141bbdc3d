//! One client of the control socket. Nothing here waits: what cannot be sent now is kept.

use std::{
    collections::VecDeque,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use nix::errno::Errno;

use crate::{
    protocol::{Request, Response, decode, encode},
    system,
};

#[derive(Debug)]
pub(super) struct Connection {
    socket: UnixStream,
    received: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    outgoing: VecDeque<Outgoing>,
    /// Wants to hear of each change of state.
    pub(super) watches: bool,
    /// The process it had executed, as this sandbox numbers it.
    pub(super) executes: Option<i32>,
    /// Closed once everything is sent.
    pub(super) ends: bool,
}

#[derive(Debug)]
struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    descriptors: Vec<OwnedFd>,
}

/// What came in.
#[derive(Debug)]
pub(super) enum Incoming {
    Request(Box<Request>, Vec<OwnedFd>),
    /// Nothing whole yet.
    Pending,
    Closed,
}

impl Connection {
    pub(super) fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            received: Vec::new(),
            descriptors: Vec::new(),
            outgoing: VecDeque::new(),
            watches: false,
            executes: None,
            ends: false,
        }
    }

    pub(super) fn receive(&mut self) -> Incoming {
        let mut buffer = [0; 16 << 10];
        loop {
            match decode(&mut self.received) {
                Ok(Some(request)) => {
                    return Incoming::Request(request, std::mem::take(&mut self.descriptors));
                }
                Ok(None) => {}
                Err(_) => return Incoming::Closed,
            }
            match system::receive_with_descriptors(&self.socket, &mut buffer, &mut self.descriptors) {
                Ok(0) => return Incoming::Closed,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(Errno::EAGAIN | Errno::EINTR) => return Incoming::Pending,
                Err(_) => return Incoming::Closed,
            }
        }
    }

    pub(super) fn send(&mut self, response: &Response, descriptors: Vec<OwnedFd>) {
        // A watcher that is slow gets the newest state, not all of them.
        if self.watches {
            self.outgoing.truncate(1);
        }
        self.outgoing.push_back(Outgoing {
            bytes: encode(response),
            sent: 0,
            descriptors,
        });
        self.flush();
    }

    /// Sends what can be sent without waiting.
    pub(super) fn flush(&mut self) {
        while let Some(message) = self.outgoing.front_mut() {
            let borrowed: Vec<_> = message.descriptors.iter().map(AsFd::as_fd).collect();
            match system::send_with_descriptors(&self.socket, &message.bytes[message.sent..], &borrowed) {
                Ok(count) => {
                    message.sent += count;
                    message.descriptors.clear();
                    if message.sent == message.bytes.len() {
                        self.outgoing.pop_front();
                    }
                }
                Err(Errno::EAGAIN) => return,
                Err(Errno::EINTR) => {}
                Err(_) => {
                    self.outgoing.clear();
                    self.ends = true;
                }
            }
        }
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.outgoing.is_empty()
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
