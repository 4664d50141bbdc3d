//! Standard streams as numbered channels of a WebSocket, as a client sees them; and the status that a
//! command ends with.

use hyper::body::Bytes;
use serde_json::Value;
use websocket::{Decoder, Event, Kind, Side, WebSocketError};

const INPUT: u8 = 0;
const OUTPUT: u8 = 1;
const ERRORS: u8 = 2;
const STATUS: u8 = 3;
/// Says that another channel has ended.
const CLOSE: u8 = 255;

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Exited(u8),
    /// Without an exit code, with the reason.
    Failed(String),
}

/// What the server says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Output(Bytes),
    Errors(Bytes),
    Ended(Outcome),
    Ping(Bytes),
    Goodbye,
}

/// A frame of input, still to be masked.
pub(super) fn input(bytes: &[u8]) -> Bytes {
    websocket::message(Kind::Binary, &[&[INPUT], bytes])
}

/// There is no more input.
pub(super) fn end_of_input() -> Bytes {
    websocket::message(Kind::Binary, &[&[CLOSE, INPUT]])
}

/// Turns bytes into what they say.
pub(super) struct Reader {
    frames: Decoder,
    /// The channel of the message that is being read.
    channel: Option<u8>,
    status: Vec<u8>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            frames: Decoder::of(Side::Server),
            channel: None,
            status: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
    }

    /// The next thing said, or `None` until more bytes come.
    pub(super) fn next(&mut self) -> Result<Option<Said>, WebSocketError> {
        while let Some(event) = self.frames.decode()? {
            let said = match event {
                Event::Piece { bytes, is_last, .. } => self.piece(bytes, is_last),
                Event::Ping(payload) => Some(Said::Ping(payload)),
                Event::Close => Some(Said::Goodbye),
            };
            if said.is_some() {
                return Ok(said);
            }
        }
        Ok(None)
    }

    fn piece(&mut self, mut bytes: Bytes, is_last: bool) -> Option<Said> {
        if self.channel.is_none() && !bytes.is_empty() {
            self.channel = bytes.split_to(1).first().copied();
        }
        let channel = self.channel;
        if is_last {
            self.channel = None;
        }
        match channel {
            // A message without content says that a channel is there.
            Some(OUTPUT) if !bytes.is_empty() => Some(Said::Output(bytes)),
            Some(ERRORS) if !bytes.is_empty() => Some(Said::Errors(bytes)),
            Some(STATUS) => {
                self.status.extend_from_slice(&bytes);
                let is_whole = is_last && !self.status.is_empty();
                is_whole.then(|| Said::Ended(outcome(&self.status)))
            }
            _ => None,
        }
    }
}

fn outcome(status: &[u8]) -> Outcome {
    let shown = || Outcome::Failed(String::from_utf8_lossy(status).into_owned());
    let Ok(status) = serde_json::from_slice::<Value>(status) else {
        return shown();
    };
    if status["status"] == "Success" {
        return Outcome::Exited(0);
    }
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    let code = causes
        .filter(|cause| cause["reason"] == "ExitCode")
        .find_map(|cause| cause["message"].as_str()?.parse::<i32>().ok());
    match (code, status["message"].as_str()) {
        // The low byte is what a parent gets to see of any exit code.
        (Some(code), _) => Outcome::Exited(code as u8),
        (None, Some(message)) => Outcome::Failed(message.to_owned()),
        (None, None) => shown(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that is said by these messages, whose bytes come in steps.
    fn said(messages: &[&[u8]], step: usize) -> Vec<Said> {
        let frames = messages
            .iter()
            .map(|message| websocket::message(Kind::Binary, &[message]));
        let bytes: Vec<u8> = frames.flatten().collect();
        let mut reader = Reader::new();
        let mut said = Vec::new();
        for piece in bytes.chunks(step) {
            reader.push(piece);
            while let Some(next) = reader.next().unwrap() {
                said.push(next);
            }
        }
        said
    }

    #[test]
    fn output_and_errors_are_told_apart() {
        assert_eq!(
            said(&[b"\x01", b"\x01out", b"\x02err", b"\x09?"], 100),
            [
                Said::Output(Bytes::from_static(b"out")),
                Said::Errors(Bytes::from_static(b"err"))
            ]
        );
    }

    #[test]
    fn the_status_is_read_whole_however_it_is_cut() {
        let exit = br#"{"status":"Failure","reason":"NonZeroExitCode","message":"m","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}"#;
        let message = [&[STATUS][..], exit].concat();
        for step in 1..message.len() + 4 {
            assert_eq!(said(&[&message], step), [Said::Ended(Outcome::Exited(7))]);
        }
    }

    #[test]
    fn a_command_exits_or_fails_with_a_reason() {
        assert_eq!(outcome(br#"{"status":"Success"}"#), Outcome::Exited(0));
        assert_eq!(
            outcome(br#"{"status":"Failure","message":"Internal error occurred: gone"}"#),
            Outcome::Failed("Internal error occurred: gone".to_owned())
        );
        assert_eq!(outcome(b"gone"), Outcome::Failed("gone".to_owned()));
    }
}
