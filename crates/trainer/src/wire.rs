//! What workers say to each other before the numbers flow: one line of JSON a message.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
};

use serde::{Serialize, de::DeserializeOwned};

/// A line longer than this is not from a worker of ours.
const LONGEST: u64 = 1 << 20;

pub(crate) fn say(mut stream: &TcpStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Reads one line and not a byte more: numbers may follow.
pub(crate) fn hear<M: DeserializeOwned>(stream: &TcpStream) -> io::Result<M> {
    let mut line = Vec::new();
    BufReader::with_capacity(1, stream)
        .take(LONGEST)
        .read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&line)?)
}
