//! Following a running container.

use super::{Sandbox, connection::Connection, descriptor::Descriptor, error::Error};
use crate::protocol::{Request, Response};

/// A container's streams from now on. Output ends with the container, or when it was not read for
/// so long that a pipe is full.
#[derive(Debug)]
pub struct Attachment {
    /// Absent if the container has no input. With a terminal it can be resized.
    pub stdin: Option<Descriptor>,
    pub stdout: Descriptor,
    /// Absent with a terminal.
    pub stderr: Option<Descriptor>,
    pub tty: bool,
}

impl Sandbox {
    pub async fn attach(&self, container: &str) -> Result<Attachment, Error> {
        let mut connection = Connection::open(self.dir()).await?;
        connection
            .send(
                &Request::Attach {
                    container: container.to_owned(),
                },
                &[],
            )
            .await?;
        let (stdin, tty) = match connection.receive().await? {
            Response::Attached { stdin, tty } => (stdin, tty),
            other => return Err(Error::unexpected(other)),
        };
        let mut descriptors = std::mem::take(&mut connection.descriptors).into_iter();
        let mut next = || {
            descriptors
                .next()
                .map(Descriptor::new)
                .transpose()
                .map_err(Error::Streams)
        };
        let stdin = if stdin { next()? } else { None };
        let stdout = next()?.ok_or_else(|| Error::Unexpected("an attachment without output".to_owned()))?;
        Ok(Attachment {
            stdin,
            stdout,
            stderr: next()?,
            tty,
        })
    }
}
