//! A process's three streams: pipes to the sandbox or a client, or a terminal.

use std::{
    fs::{File, OpenOptions},
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    sys::stat::{FileStat, SFlag, fstat},
    unistd::{Uid, dup2_stderr, dup2_stdin, dup2_stdout, fchown, isatty, pipe2},
};

use super::{
    error::{Doing as _, SetupError},
    namespaces::Surroundings,
};
use crate::{
    spec::{Container, Stdin},
    system::{self, Terminal},
};

/// What a process is started with.
#[derive(Debug)]
pub(super) enum Stdio {
    Streams {
        stdin: OwnedFd,
        stdout: OwnedFd,
        stderr: OwnedFd,
    },
    /// The number of a terminal under `/dev/pts`.
    Terminal(u32),
}

/// What the sandbox keeps of a container's streams.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Written by whoever attaches.
    pub(super) input: Option<OwnedFd>,
    /// Read by the sandbox: standard output and error, or the terminal.
    pub(super) outputs: Vec<OwnedFd>,
}

/// The streams of a container, by its specification.
pub(super) fn open(spec: &Container, surroundings: &Surroundings) -> io::Result<(Stdio, Kept)> {
    if spec.tty {
        let Terminal { controller, number } = open_terminal(surroundings)?;
        let input = (spec.stdin != Stdin::None)
            .then(|| controller.try_clone())
            .transpose()?;
        return Ok((
            Stdio::Terminal(number),
            Kept {
                input,
                outputs: vec![controller],
            },
        ));
    }
    let (stdin, input) = match spec.stdin {
        Stdin::None => (nothing()?, None),
        Stdin::Open | Stdin::Once => pipe().map(|(read, write)| (read, Some(write)))?,
    };
    let ((read_stdout, stdout), (read_stderr, stderr)) = (pipe()?, pipe()?);
    for output in [&read_stdout, &read_stderr] {
        fcntl(output, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    }
    Ok((
        Stdio::Streams {
            stdin,
            stdout,
            stderr,
        },
        Kept {
            input,
            outputs: vec![read_stdout, read_stderr],
        },
    ))
}

/// A terminal whose controlling end does not block.
pub(super) fn open_terminal(surroundings: &Surroundings) -> io::Result<Terminal> {
    let multiplexer = if surroundings.isolated {
        surroundings.terminals.join("ptmx")
    } else {
        "/dev/ptmx".into()
    };
    let terminal = system::open_terminal(&multiplexer)?;
    fcntl(
        &terminal.controller,
        FcntlArg::F_SETFL(OFlag::O_RDWR | OFlag::O_NONBLOCK),
    )?;
    Ok(terminal)
}

/// Reads nothing, swallows everything.
pub(super) fn nothing() -> io::Result<OwnedFd> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map(OwnedFd::from)
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe2(OFlag::O_CLOEXEC)?)
}

/// Makes these the streams of this process, which leads its session.
pub(super) fn take(stdio: &Stdio, user: u32) -> Result<(), SetupError> {
    match stdio {
        Stdio::Streams {
            stdin,
            stdout,
            stderr,
        } => become_standard(stdin, stdout, stderr, user),
        Stdio::Terminal(number) => {
            let path = format!("/dev/pts/{number}");
            let terminal: File = OpenOptions::new()
                .read(true)
                .write(true)
                .open(&path)
                .doing(|| format!("open `{path}`"))?;
            system::set_controlling_terminal(&terminal).doing(|| "take the terminal")?;
            become_standard(&terminal, &terminal, &terminal, user)
        }
    }
}

fn become_standard(
    stdin: impl AsFd,
    stdout: impl AsFd,
    stderr: impl AsFd,
    user: u32,
) -> Result<(), SetupError> {
    for stream in [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()] {
        if is_ours(stream) {
            // So that the program may open `/dev/stdout`. Refused where the user has no other ids:
            // then the stream is theirs anyway.
            let _ = fchown(stream, Some(Uid::from_raw(user)), None);
        }
    }
    dup2_stdin(stdin)
        .and_then(|()| dup2_stdout(stdout))
        .and_then(|()| dup2_stderr(stderr))
        .doing(|| "set the standard streams")
}

/// Pipes and terminals were made for this process; `/dev/null` is everybody's.
fn is_ours(stream: BorrowedFd<'_>) -> bool {
    let is_pipe = |status: FileStat| status.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFIFO.bits();
    isatty(stream).unwrap_or(false) || fstat(stream).is_ok_and(is_pipe)
}
