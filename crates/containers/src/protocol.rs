//! Requests and answers on a sandbox's socket: a length, then JSON; file descriptors travel with the
//! first byte. One request a connection; `Watch`, `Exec` and `Attach` keep it open.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    spec::Container,
    state::{Exit, State, Usage},
};

/// Longer messages are a mistake.
const MAX_MESSAGE: usize = 16 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Start(Box<Container>),
    Signal {
        container: String,
        signal: i32,
    },
    /// With pipes for the wanted streams in the order input, output, error; none of them with a tty.
    Exec(Exec),
    Attach {
        container: String,
    },
    /// Ends the process of an earlier `Exec` on this connection.
    Kill,
    Watch,
    Usage,
    /// An unconnected TCP socket of the pod's network, for connections to its loopback.
    Socket,
    /// Kills what runs, cleans up and ends the sandbox.
    Stop,
}

/// A further process in a running container, with the container's environment and credentials.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each stream is wanted or not")]
pub struct Exec {
    pub container: String,
    pub argv: Vec<String>,
    pub tty: bool,
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Response {
    Done,
    /// With the terminal's other end, if there is one.
    Started,
    /// With the wanted streams: input (if the container has one), output, error.
    Attached {
        stdin: bool,
        tty: bool,
    },
    Failed(Failure),
    State(State),
    Usage(BTreeMap<String, Usage>),
    /// With the socket.
    Socket,
    Exited(Exit),
}

/// Why something was not done, in words for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// There is no such program in the container.
    CommandNotFound,
    /// The program is there but cannot be run.
    CommandNotExecutable,
    /// The container could not be set up as asked.
    Setup,
    /// A part of a volume could not be opened or made.
    Part,
    /// No container of this name runs.
    NotRunning,
    /// A container of this name runs already.
    AlreadyRunning,
    /// The request makes no sense.
    Invalid,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// What a shell would exit with.
    pub fn exit_code(&self) -> i32 {
        match self.kind {
            FailureKind::CommandNotFound => 127,
            FailureKind::CommandNotExecutable => 126,
            _ => 128,
        }
    }
}

/// A message as it goes over the socket.
pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    // These types have string keys and no failing serializers.
    let _ = serde_json::to_writer(&mut bytes, message);
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// Takes the first whole message out of what was received.
pub(crate) fn decode<T: DeserializeOwned>(received: &mut Vec<u8>) -> Result<Option<T>, Malformed> {
    let Some(header) = received.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*header) as usize;
    if length > MAX_MESSAGE {
        return Err(Malformed(format!("a message of {length} bytes")));
    }
    if received.len() < 4 + length {
        return Ok(None);
    }
    let message =
        serde_json::from_slice(&received[4..4 + length]).map_err(|error| Malformed(error.to_string()));
    received.drain(..4 + length);
    message.map(Some)
}

#[derive(Debug, thiserror::Error)]
#[error("the other side does not speak this protocol: {0}")]
pub(crate) struct Malformed(String);

#[cfg(test)]
mod tests {
    use super::{Request, decode, encode};

    #[test]
    fn a_message_arrives_whole_in_whatever_pieces_it_was_sent() {
        let mut sent = encode(&Request::Signal {
            container: "main".to_owned(),
            signal: 15,
        });
        sent.extend(encode(&Request::Watch));
        let mut received = Vec::new();
        let mut messages = Vec::new();
        for byte in sent {
            received.push(byte);
            while let Some(request) = decode::<Request>(&mut received).unwrap() {
                messages.push(request);
            }
        }
        assert!(matches!(
            &messages[..],
            [Request::Signal { signal: 15, .. }, Request::Watch]
        ));
        assert!(received.is_empty());
    }
}
