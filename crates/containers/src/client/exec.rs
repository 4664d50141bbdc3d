//! A further process in a running container.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use nix::{fcntl::OFlag, unistd::pipe2};

use super::{Sandbox, connection::Connection, descriptor::Descriptor, error::Error};
use crate::{
    protocol::{Exec, Request, Response},
    state::Exit,
};

/// A process that runs. Dropping it closes its streams and leaves the process to them.
#[derive(Debug)]
pub struct Execution {
    connection: Connection,
    /// Dropped, it is the end of the process's input. With a terminal the same as `stdout`.
    pub stdin: Option<Descriptor>,
    pub stdout: Option<Descriptor>,
    pub stderr: Option<Descriptor>,
}

impl Sandbox {
    /// Starts it; returns when its program runs, or with the reason why it does not.
    pub async fn exec(&self, exec: &Exec) -> Result<Execution, Error> {
        let mut connection = Connection::open(self.dir()).await?;
        let pipes = Pipes::open(exec).map_err(Error::Streams)?;
        let theirs: Vec<_> = pipes.theirs.iter().map(|end| end.as_fd()).collect();
        connection.send(&Request::Exec(exec.clone()), &theirs).await?;
        match connection.receive().await? {
            Response::Started => {}
            other => return Err(Error::unexpected(other)),
        }
        let Pipes {
            theirs,
            mut stdin,
            mut stdout,
            stderr,
        } = pipes;
        drop(theirs);
        if let Some(terminal) = connection.descriptors.pop() {
            let terminal = Descriptor::new(terminal).map_err(Error::Streams)?;
            stdin = exec
                .stdin
                .then(|| terminal.try_clone())
                .transpose()
                .map_err(Error::Streams)?;
            stdout = Some(terminal);
        }
        Ok(Execution {
            connection,
            stdin,
            stdout,
            stderr,
        })
    }
}

impl Execution {
    /// Waits for its end.
    pub async fn wait(&mut self) -> Result<Exit, Error> {
        match self.connection.receive().await? {
            Response::Exited(exit) => Ok(exit),
            other => Err(Error::unexpected(other)),
        }
    }

    /// Kills it; `wait` tells when it is gone.
    pub async fn kill(&mut self) -> Result<(), Error> {
        self.connection.send(&Request::Kill, &[]).await
    }

    /// For processes with a terminal.
    pub fn resize(&self, rows: u16, columns: u16) -> io::Result<()> {
        self.stdout
            .as_ref()
            .map_or(Ok(()), |terminal| terminal.resize(rows, columns))
    }
}

/// Both ends of the streams that were asked for.
#[derive(Debug, Default)]
struct Pipes {
    theirs: Vec<OwnedFd>,
    stdin: Option<Descriptor>,
    stdout: Option<Descriptor>,
    stderr: Option<Descriptor>,
}

impl Pipes {
    fn open(exec: &Exec) -> io::Result<Self> {
        let mut pipes = Self::default();
        if exec.tty {
            return Ok(pipes);
        }
        if exec.stdin {
            let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
            pipes.theirs.push(read);
            pipes.stdin = Some(Descriptor::new(write)?);
        }
        for (wanted, ours) in [(exec.stdout, &mut pipes.stdout), (exec.stderr, &mut pipes.stderr)] {
            if wanted {
                let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
                pipes.theirs.push(write);
                *ours = Some(Descriptor::new(read)?);
            }
        }
        Ok(pipes)
    }
}
