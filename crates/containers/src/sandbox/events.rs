//! What the sandbox waits for.

use std::{collections::HashMap, os::fd::AsFd};

use nix::{
    errno::Errno,
    sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
};

/// Names a registered descriptor until it is removed; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Token(u64);

/// What a ready descriptor means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Signals,
    Listener,
    Connection,
    /// A container's first process reports how its start went.
    Start(String),
    /// The same for a further process, by its pid.
    ExecStart(i32),
    /// A container wrote to standard output (0) or error (1).
    Output(String, usize),
}

#[derive(Debug)]
pub(super) struct Events {
    epoll: Epoll,
    sources: HashMap<Token, Source>,
    last: u64,
}

impl Events {
    pub(super) fn new() -> nix::Result<Self> {
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            sources: HashMap::new(),
            last: 0,
        })
    }

    pub(super) fn add(&mut self, descriptor: impl AsFd, source: Source) -> nix::Result<Token> {
        self.last += 1;
        let token = Token(self.last);
        self.epoll
            .add(descriptor, EpollEvent::new(EpollFlags::EPOLLIN, token.0))?;
        self.sources.insert(token, source);
        Ok(token)
    }

    /// Whether to wait for room to write as well.
    pub(super) fn want_room(&self, descriptor: impl AsFd, token: Token, wanted: bool) -> nix::Result<()> {
        let room = if wanted {
            EpollFlags::EPOLLOUT
        } else {
            EpollFlags::empty()
        };
        self.epoll.modify(
            descriptor,
            &mut EpollEvent::new(EpollFlags::EPOLLIN | room, token.0),
        )
    }

    pub(super) fn remove(&mut self, descriptor: impl AsFd, token: Token) {
        self.sources.remove(&token);
        // Fails only for descriptors that are not registered, which is what is wanted.
        let _ = self.epoll.delete(descriptor);
    }

    /// Waits until something is ready.
    pub(super) fn wait(&self) -> nix::Result<Vec<Token>> {
        let mut events = [EpollEvent::empty(); 64];
        match self.epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(count) => Ok(events[..count].iter().map(|event| Token(event.data())).collect()),
            Err(Errno::EINTR) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// None if it was removed since it was ready.
    pub(super) fn source(&self, token: Token) -> Option<Source> {
        self.sources.get(&token).cloned()
    }
}
