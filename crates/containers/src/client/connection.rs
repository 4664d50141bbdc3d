//! One conversation with a sandbox.

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd as _, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use serde::Serialize;
use tokio::{io::Interest, net::UnixStream};

use super::error::Error;
use crate::{
    protocol::{Response, decode, encode},
    system,
};

#[derive(Debug)]
pub(super) struct Connection {
    dir: PathBuf,
    socket: UnixStream,
    received: Vec<u8>,
    /// What came with the messages received so far.
    pub(super) descriptors: Vec<OwnedFd>,
}

impl Connection {
    pub(super) async fn open(dir: &Path) -> Result<Self, Error> {
        let gone = |error: io::Error| Error::Gone {
            dir: dir.to_owned(),
            reason: error.to_string(),
        };
        // Addresses are short, paths are not: the folder is named by an open descriptor.
        let folder = File::open(dir).map_err(gone)?;
        let address = format!("/proc/self/fd/{}/sandbox.sock", folder.as_raw_fd());
        let socket = UnixStream::connect(address).await.map_err(gone)?;
        Ok(Self {
            dir: dir.to_owned(),
            socket,
            received: Vec::new(),
            descriptors: Vec::new(),
        })
    }

    pub(super) async fn send(
        &mut self,
        message: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), Error> {
        let (bytes, mut sent) = (encode(message), 0);
        while sent < bytes.len() {
            let along = if sent == 0 { descriptors } else { &[] };
            let send = || {
                Ok(system::send_with_descriptors(
                    &self.socket,
                    &bytes[sent..],
                    along,
                )?)
            };
            sent += self
                .socket
                .async_io(Interest::WRITABLE, send)
                .await
                .map_err(|source| self.talk(source))?;
        }
        Ok(())
    }

    /// The next answer; a refusal is an error.
    pub(super) async fn receive(&mut self) -> Result<Response, Error> {
        let mut buffer = vec![0; 16 << 10];
        loop {
            match decode(&mut self.received) {
                Ok(Some(Response::Failed(failure))) => return Err(Error::Refused(failure)),
                Ok(Some(response)) => return Ok(response),
                Ok(None) => {}
                Err(error) => return Err(self.talk(io::Error::other(error))),
            }
            let mut descriptors = Vec::new();
            let receive = || {
                Ok(system::receive_with_descriptors(
                    &self.socket,
                    &mut buffer,
                    &mut descriptors,
                )?)
            };
            let count = self.socket.async_io(Interest::READABLE, receive).await;
            self.descriptors.append(&mut descriptors);
            match count {
                Ok(0) => return Err(self.talk(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(source) => return Err(self.talk(source)),
            }
        }
    }

    fn talk(&self, source: io::Error) -> Error {
        Error::Talk {
            dir: self.dir.clone(),
            source,
        }
    }
}
