//! How a new process tells the sandbox that it became its program, or why not: the pipe's other end
//! is closed by a successful `execve`.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::OwnedFd,
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    unistd::pipe2,
};
use serde::{Deserialize, Serialize};

use super::events::{Events, Source, Token};
use crate::protocol::{Failure, FailureKind};

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The process's number on the host.
    Pid(i32),
    Failed(Failure),
}

impl Report {
    pub(super) fn send(&self, to: &mut File) -> io::Result<()> {
        to.write_all(&serde_json::to_vec(self)?)
    }
}

/// The sandbox's end.
#[derive(Debug)]
pub(super) struct ReportPipe {
    file: File,
    token: Token,
    text: Vec<u8>,
}

impl ReportPipe {
    /// The end to listen on, and the one for the process.
    pub(super) fn make() -> nix::Result<(OwnedFd, OwnedFd)> {
        let (listen, tell) = pipe2(OFlag::O_CLOEXEC)?;
        fcntl(&listen, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok((listen, tell))
    }

    pub(super) fn listen(end: OwnedFd, source: Source, events: &mut Events) -> nix::Result<Self> {
        let token = events.add(&end, source)?;
        Ok(Self {
            file: File::from(end),
            token,
            text: Vec::new(),
        })
    }

    /// The process's number or its failure; none while it is still on its way.
    pub(super) fn hear(&mut self, events: &mut Events) -> Option<Result<i32, Failure>> {
        match self.file.read_to_end(&mut self.text) {
            Ok(_) => {
                events.remove(&self.file, self.token);
                Some(understand(&self.text))
            }
            Err(_) => None,
        }
    }
}

/// Why a process that never told anything did not run.
pub(super) fn killed_early() -> Failure {
    Failure::new(
        FailureKind::Setup,
        "the process was killed before its program started",
    )
}

/// Nothing after the number means that the program runs.
fn understand(text: &[u8]) -> Result<i32, Failure> {
    let mut pid = None;
    for report in serde_json::Deserializer::from_slice(text).into_iter::<Report>() {
        match report {
            Ok(Report::Pid(number)) => pid = Some(number),
            Ok(Report::Failed(failure)) => return Err(failure),
            Err(_) => break,
        }
    }
    pid.ok_or_else(killed_early)
}

#[cfg(test)]
mod tests {
    use super::understand;
    use crate::protocol::FailureKind;

    #[test]
    fn silence_after_the_number_is_success() {
        assert_eq!(understand(br#"{"Pid":42}"#), Ok(42));
        assert_eq!(understand(b"").unwrap_err().kind, FailureKind::Setup);
        let failed = br#"{"Pid":42}{"Failed":{"kind":"CommandNotFound","message":"no"}}"#;
        assert_eq!(understand(failed).unwrap_err().kind, FailureKind::CommandNotFound);
    }
}
