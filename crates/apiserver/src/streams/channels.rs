//! Streams as numbered channels of a WebSocket: the first byte of each message is the channel's
//! number. Which channels there are is agreed beforehand, so they are all open from the start.

use std::collections::VecDeque;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::{Buf as _, Bytes};
use websocket::Kind;

use super::multiplex::{Decode, Encode, Event, Id, Outgoing, Protocol, ProtocolError, Purpose};

/// The channel on which version 5 says that another has ended.
const CLOSE: u8 = 255;
const NORMAL_CLOSURE: u16 = 1000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// Messages are text: the number as a digit, then base64.
    pub base64: bool,
    /// The client can end a channel without ending the connection.
    pub closes: bool,
}

pub(super) fn protocol(form: Form, channels: Vec<Purpose>) -> Protocol {
    let count = channels.len() as u8;
    let opens = (0..).zip(channels).map(|(id, purpose)| Event::Open(id, purpose));
    Protocol {
        decoder: Box::new(Decoder {
            frames: websocket::Decoder::default(),
            form,
            count,
            opens: opens.collect(),
            message: Message::Head,
        }),
        encoder: Box::new(Encoder(form)),
    }
}

struct Decoder {
    frames: websocket::Decoder,
    form: Form,
    count: u8,
    opens: VecDeque<Event>,
    message: Message,
}

/// How far a message has been read.
#[derive(Debug)]
enum Message {
    /// Its first byte is to come.
    Head,
    /// For a channel, with the characters of base64 that do not make a byte yet.
    Body(u8, Vec<u8>),
    /// It says which channel has ended.
    Close,
    /// It is for nobody.
    Skip,
}

impl Decode for Decoder {
    fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
    }

    fn next(&mut self) -> Result<Option<Event>, ProtocolError> {
        if let Some(open) = self.opens.pop_front() {
            return Ok(Some(open));
        }
        while let Some(event) = self.frames.decode()? {
            let event = match event {
                websocket::Event::Piece { bytes, is_last, .. } => self.piece(bytes, is_last)?,
                websocket::Event::Ping(payload) => Some(Event::Answer(Outgoing::Pong(payload))),
                websocket::Event::Close => Some(Event::Goodbye),
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }
}

impl Decoder {
    fn piece(&mut self, mut bytes: Bytes, is_last: bool) -> Result<Option<Event>, ProtocolError> {
        if matches!(self.message, Message::Head) && !bytes.is_empty() {
            self.message = self.head(bytes.get_u8());
        }
        let event = match &mut self.message {
            Message::Head | Message::Skip => None,
            Message::Close => bytes
                .first()
                .filter(|channel| **channel < self.count)
                .map(|channel| Event::End(Id::from(*channel))),
            Message::Body(channel, rest) => {
                let data = if self.form.base64 {
                    plain(*channel, rest, &bytes, is_last)?
                } else {
                    bytes
                };
                (!data.is_empty()).then_some(Event::Data(Id::from(*channel), data))
            }
        };
        if is_last {
            self.message = Message::Head;
        }
        Ok(event)
    }

    fn head(&self, first: u8) -> Message {
        let channel = if self.form.base64 {
            first.wrapping_sub(b'0')
        } else {
            first
        };
        match channel {
            CLOSE if self.form.closes => Message::Close,
            known if known < self.count => Message::Body(known, Vec::new()),
            _ => Message::Skip,
        }
    }
}

/// Decodes as many characters as make whole bytes, and keeps the rest for the next piece.
fn plain(channel: u8, rest: &mut Vec<u8>, characters: &[u8], is_last: bool) -> Result<Bytes, ProtocolError> {
    rest.extend_from_slice(characters);
    let whole = if is_last {
        rest.len()
    } else {
        rest.len() - rest.len() % 4
    };
    let plain = BASE64_STANDARD
        .decode(&rest[..whole])
        .map_err(|_| ProtocolError::Channel(channel))?;
    rest.drain(..whole);
    Ok(plain.into())
}

struct Encoder(Form);

impl Encode for Encoder {
    fn encode(&mut self, outgoing: Outgoing) -> Bytes {
        match outgoing {
            Outgoing::Data(channel, bytes) if self.0.base64 => {
                let text = BASE64_STANDARD.encode(bytes);
                websocket::message(Kind::Text, &[&[b'0' + channel as u8], text.as_bytes()])
            }
            Outgoing::Data(channel, bytes) => websocket::message(Kind::Binary, &[&[channel as u8], &bytes]),
            Outgoing::Pong(payload) => websocket::pong(&payload),
            Outgoing::Goodbye => websocket::close(NORMAL_CLOSURE),
            // Channels are there from the start and end with the connection.
            Outgoing::Accept(_) | Outgoing::End(_) | Outgoing::Reset(_) | Outgoing::Ping(_) => Bytes::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short message as a client sends it, with a mask of zeros.
    fn sent(payload: &[u8]) -> Vec<u8> {
        let head = [0x82, 0x80 | payload.len() as u8, 0, 0, 0, 0];
        [&head, payload].concat()
    }

    fn events(form: Form, messages: &[&[u8]], step: usize) -> Vec<Event> {
        let purposes = ["stdin", "stdout"].map(|kind| Purpose {
            kind: kind.to_owned(),
            ..Purpose::default()
        });
        let mut decoder = protocol(form, purposes.to_vec()).decoder;
        let bytes: Vec<u8> = messages.iter().flat_map(|message| sent(message)).collect();
        let mut events = Vec::new();
        for piece in bytes.chunks(step) {
            decoder.push(piece);
            while let Some(event) = decoder.next().unwrap() {
                if !matches!(event, Event::Open(..)) {
                    events.push(event);
                }
            }
        }
        events
    }

    #[test]
    fn the_first_byte_names_the_channel() {
        assert_eq!(
            events(Form::default(), &[b"\0ab", b"\x07lost", b"", b"\x01c"], 100),
            [
                Event::Data(0, Bytes::from_static(b"ab")),
                Event::Data(1, Bytes::from_static(b"c"))
            ]
        );
    }

    #[test]
    fn only_version_five_ends_a_channel() {
        let closes = Form {
            closes: true,
            ..Form::default()
        };
        assert_eq!(events(closes, &[b"\xff\x00", b"\xff\x09"], 1), [Event::End(0)]);
        assert_eq!(events(Form::default(), &[b"\xff\x00"], 1), []);
    }

    #[test]
    fn base64_is_read_in_whatever_pieces_it_comes() {
        let form = Form {
            base64: true,
            ..Form::default()
        };
        for step in 1..20 {
            let got: Vec<u8> = events(form, &[b"0aGVsbG8gd29ybGQ="], step)
                .into_iter()
                .flat_map(|event| match event {
                    Event::Data(0, bytes) => bytes.to_vec(),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(got, b"hello world", "in steps of {step}");
        }
        let mut encoder = protocol(form, Vec::new()).encoder;
        let frame = encoder.encode(Outgoing::Data(1, Bytes::from_static(b"\n")));
        assert_eq!(&frame[2..], b"1Cg==");
    }
}
