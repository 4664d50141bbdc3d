//! One TLS connection, and what has been read from it but not yet consumed.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
    time::{Duration, Instant},
};

use rustls::{ClientConfig, ClientConnection, StreamOwned};
use rustls_pki_types::ServerName;

use crate::Head;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: StreamOwned<ClientConnection, TcpStream>,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(host: &str, port: u16, config: Arc<ClientConfig>) -> io::Result<Self> {
        let socket = TcpStream::connect((host, port))?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(Duration::from_secs(30)))?;
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        Ok(Self {
            stream: StreamOwned::new(session, socket),
            buffer: Vec::new(),
        })
    }

    /// Sends a request. A failure shows in reading the answer: a server may refuse a body before
    /// it has read all of it, and then the answer counts, not the broken pipe.
    pub(crate) fn send(&mut self, request: &[u8]) {
        let _ = self.stream.write_all(request).and_then(|()| self.stream.flush());
    }

    pub(crate) fn read_head(&mut self, deadline: Instant) -> io::Result<Head> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let head = self.take(end + 4);
                return Head::parse(&head);
            }
            if self.fill(deadline)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads a line that ends in `\r\n`, without its end.
    pub(crate) fn read_line(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let mut line = self.take(end + 2);
                line.truncate(end);
                return Ok(line);
            }
            if self.fill(deadline)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(crate) fn read_exactly(&mut self, count: usize, deadline: Instant) -> io::Result<Vec<u8>> {
        while self.buffer.len() < count {
            if self.fill(deadline)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.take(count))
    }

    /// Whatever comes next; empty at the end of the connection.
    pub(crate) fn read_some(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        if self.buffer.is_empty() {
            self.fill(deadline)?;
        }
        Ok(std::mem::take(&mut self.buffer))
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let rest = self.buffer.split_off(count);
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Reads once into the buffer. What was read before stays there when the deadline passes.
    fn fill(&mut self, deadline: Instant) -> io::Result<usize> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.sock.set_read_timeout(Some(left))?;
        let mut chunk = [0; 16 * 1024];
        match self.stream.read(&mut chunk) {
            Ok(count) => {
                self.buffer.extend_from_slice(&chunk[..count]);
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ErrorKind::TimedOut.into()),
            // Some servers close without saying goodbye in TLS first.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
            Err(error) => Err(error),
        }
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}
