//! The head of an answer, and its body in whatever framing it comes.

use std::{
    io::{self, ErrorKind},
    time::Instant,
};

use crate::Connection;

/// Status and headers.
#[derive(Clone, Debug, Default)]
pub struct Head {
    pub status: u16,
    pub headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn parse(bytes: &[u8]) -> io::Result<Self> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .and_then(|code| code.parse().ok());
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Ok(Self {
            status: status.ok_or(ErrorKind::InvalidData)?,
            headers,
        })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

#[derive(Debug)]
enum Framing {
    Chunked,
    Length(usize),
    UntilClose,
    Finished,
}

/// The body of an answer, read as it comes.
#[derive(Debug)]
pub struct Body {
    connection: Connection,
    framing: Framing,
}

impl Body {
    pub(crate) fn new(connection: Connection, head: &Head, no_body: bool) -> Self {
        let length = head
            .header("content-length")
            .and_then(|length| length.parse().ok());
        let framing = if no_body || matches!(head.status, 204 | 304) {
            Framing::Finished
        } else if head
            .header("transfer-encoding")
            .is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
        {
            Framing::Chunked
        } else {
            length.map_or(Framing::UntilClose, Framing::Length)
        };
        Self { connection, framing }
    }

    pub(crate) fn read_to_end(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(part) = self.next(deadline)? {
            all.extend_from_slice(&part);
        }
        Ok(all)
    }

    /// The next part, or none at the end.
    pub fn next(&mut self, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
        let part = match self.framing {
            Framing::Finished => return Ok(None),
            Framing::Length(0) => Vec::new(),
            Framing::Length(length) => self.connection.read_exactly(length, deadline)?,
            Framing::UntilClose => self.connection.read_some(deadline)?,
            Framing::Chunked => self.next_chunk(deadline)?,
        };
        if matches!(self.framing, Framing::Length(_)) || part.is_empty() {
            self.framing = Framing::Finished;
        }
        Ok((!part.is_empty()).then_some(part))
    }

    fn next_chunk(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        let line = self.connection.read_line(deadline)?;
        let size = std::str::from_utf8(&line)
            .ok()
            .and_then(|text| usize::from_str_radix(text.trim(), 16).ok());
        let size = size.ok_or(ErrorKind::InvalidData)?;
        // The rest of a chunk follows at once: a deadline between its size and its end is not worth resuming.
        let mut chunk = self.connection.read_exactly(size + 2, deadline.max(soon()))?;
        chunk.truncate(size);
        Ok(chunk)
    }

    /// The connection, when another request may follow on it.
    pub(crate) fn into_reusable(self, head: &Head) -> Option<Connection> {
        let closing = head
            .header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        (matches!(self.framing, Framing::Finished) && !closing).then_some(self.connection)
    }
}

fn soon() -> Instant {
    Instant::now() + std::time::Duration::from_secs(5)
}
