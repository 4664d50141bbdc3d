//! Following a running container: its output from now on, and its input.

use std::os::fd::OwnedFd;

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    unistd::pipe2,
};

use super::{error::Doing as _, events::Token, server::Server};
use crate::{
    protocol::{Failure, Response},
    spec::Stdin,
};

/// How far a client may fall behind before it is dropped.
const BACKLOG: i32 = 1 << 20;

impl Server {
    pub(super) fn attach(&mut self, token: Token, name: &str) -> Result<(), Failure> {
        self.running(name)?;
        let Some(running) = self.containers.get_mut(name) else {
            return Ok(());
        };
        let mut sent = Vec::new();
        let input = match running.spec.stdin {
            // Its end is the end of the container's input.
            Stdin::Once => running.input.take(),
            Stdin::Open | Stdin::None => running
                .input
                .as_ref()
                .map(OwnedFd::try_clone)
                .transpose()
                .doing(|| "share the input")?,
        };
        let (stdin, tty) = (input.is_some(), running.spec.tty);
        sent.extend(input);
        let mut kept = Vec::new();
        for _ in &running.output.streams {
            let (read, write) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).doing(|| "make a pipe")?;
            // A smaller backlog is only less comfortable.
            let _ = fcntl(&write, FcntlArg::F_SETPIPE_SZ(BACKLOG));
            sent.push(read);
            kept.push(write);
        }
        running.output.follow(kept);
        self.reply_with(token, &Response::Attached { stdin, tty }, sent);
        Ok(())
    }
}
