//! Streams of SPDY/3.1, on the bare connection or inside the messages of a WebSocket.

use std::collections::VecDeque;

use bytes::Bytes;
use spdy::{Frame, Headers};
use websocket::Kind;

use super::multiplex::{Decode, Encode, Event, Outgoing, Protocol, ProtocolError, Purpose};

/// `CANCEL`, as the usual library resets streams.
const CANCEL: u32 = 5;
const NORMAL_CLOSURE: u16 = 1000;
/// Longer headers are cut: they name a port, a number or one of six words.
const LONGEST_HEADER: usize = 256;

pub(super) fn protocol() -> Protocol {
    Protocol {
        decoder: Box::new(Decoder::default()),
        encoder: Box::new(Encoder::default()),
    }
}

/// The same inside binary messages, whose bounds mean nothing.
pub(super) fn tunneled() -> Protocol {
    Protocol {
        decoder: Box::new(TunnelDecoder::default()),
        encoder: Box::new(TunnelEncoder::default()),
    }
}

#[derive(Default)]
struct Decoder {
    frames: spdy::Decoder,
    /// What a frame means beside its first meaning.
    next: VecDeque<Event>,
}

impl Decode for Decoder {
    fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
    }

    fn next(&mut self) -> Result<Option<Event>, ProtocolError> {
        loop {
            if let Some(event) = self.next.pop_front() {
                return Ok(Some(event));
            }
            match self.frames.decode()? {
                Some(frame) => self.read(frame),
                None => return Ok(None),
            }
        }
    }
}

impl Decoder {
    fn read(&mut self, frame: Frame) {
        let (event, ended) = match frame {
            Frame::Open {
                stream,
                is_last,
                headers,
            } => (Event::Open(stream, purpose(&headers)), is_last.then_some(stream)),
            Frame::Data {
                stream,
                is_last,
                bytes,
            } => (Event::Data(stream, bytes), is_last.then_some(stream)),
            Frame::Reset { stream, .. } => (Event::Reset(stream), None),
            Frame::Ping { id } => (Event::Answer(Outgoing::Ping(id)), None),
            Frame::GoAway { .. } => (Event::Goodbye, None),
            // We open no streams that could be answered.
            Frame::Reply { .. } => return,
        };
        self.next.push_back(event);
        self.next.extend(ended.map(Event::End));
    }
}

fn purpose(headers: &Headers) -> Purpose {
    let header = |name: &str| {
        let value = headers.iter().find(|(key, _)| key == name);
        value
            .map(|(_, value)| value.chars().take(LONGEST_HEADER).collect())
            .unwrap_or_default()
    };
    Purpose {
        kind: header("streamtype"),
        port: header("port"),
        request: header("requestid"),
    }
}

#[derive(Default)]
struct Encoder(spdy::Encoder);

impl Encode for Encoder {
    fn encode(&mut self, outgoing: Outgoing) -> Bytes {
        let frame = match outgoing {
            Outgoing::Accept(stream) => Frame::Reply {
                stream,
                is_last: false,
                headers: Vec::new(),
            },
            Outgoing::Data(stream, bytes) => Frame::Data {
                stream,
                is_last: false,
                bytes,
            },
            Outgoing::End(stream) => Frame::Data {
                stream,
                is_last: true,
                bytes: Bytes::new(),
            },
            Outgoing::Reset(stream) => Frame::Reset {
                stream,
                status: CANCEL,
            },
            Outgoing::Ping(id) => Frame::Ping { id },
            Outgoing::Goodbye => Frame::GoAway { last: 0 },
            Outgoing::Pong(_) => return Bytes::new(),
        };
        self.0.encode(&frame)
    }
}

#[derive(Default)]
struct TunnelDecoder {
    frames: websocket::Decoder,
    inside: Decoder,
}

impl Decode for TunnelDecoder {
    fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
    }

    fn next(&mut self) -> Result<Option<Event>, ProtocolError> {
        loop {
            if let Some(event) = self.inside.next()? {
                return Ok(Some(event));
            }
            match self.frames.decode()? {
                Some(websocket::Event::Piece { bytes, .. }) => self.inside.push(&bytes),
                Some(websocket::Event::Ping(payload)) => {
                    return Ok(Some(Event::Answer(Outgoing::Pong(payload))));
                }
                Some(websocket::Event::Close) => return Ok(Some(Event::Goodbye)),
                None => return Ok(None),
            }
        }
    }
}

#[derive(Default)]
struct TunnelEncoder(Encoder);

impl Encode for TunnelEncoder {
    fn encode(&mut self, outgoing: Outgoing) -> Bytes {
        match outgoing {
            Outgoing::Pong(payload) => websocket::pong(&payload),
            Outgoing::Goodbye => {
                let inside = self.0.encode(Outgoing::Goodbye);
                let last = websocket::message(Kind::Binary, &[&inside]);
                [last, websocket::close(NORMAL_CLOSURE)].concat().into()
            }
            other => websocket::message(Kind::Binary, &[&self.0.encode(other)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_says_what_it_is_for() {
        let mut client = spdy::Encoder::default();
        let headers = [("streamtype", "data"), ("port", "80"), ("requestid", "7")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let sent = client.encode(&Frame::Open {
            stream: 3,
            is_last: true,
            headers: headers.to_vec(),
        });
        let mut decoder = protocol().decoder;
        decoder.push(&sent);
        let purpose = Purpose {
            kind: "data".to_owned(),
            port: "80".to_owned(),
            request: "7".to_owned(),
        };
        assert_eq!(decoder.next().unwrap(), Some(Event::Open(3, purpose)));
        assert_eq!(decoder.next().unwrap(), Some(Event::End(3)));
        assert_eq!(decoder.next().unwrap(), None);
    }
}
