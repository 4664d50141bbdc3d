//! A log over a WebSocket: each message is a piece of it, and what the client says is not listened to.

use std::pin::pin;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use websocket::Kind;

use super::{nothing_yet, open};
use crate::{
    call::Call,
    error::{ApiError, Result},
    in_flight,
    response::Answer,
    streams::{
        Incoming, connections,
        multiplex::{Decode, Encode, Event, Outgoing, Protocol, ProtocolError, Purpose, Streams},
        upgrade::{self, Wanted},
    },
};

const BINARY: &str = "binary.k8s.io";
const BASE64: &str = "base64.binary.k8s.io";
const NORMAL_CLOSURE: u16 = 1000;

pub(in crate::streams) async fn answer(call: &Call, incoming: Incoming) -> Result<Answer> {
    let Some(pieces) = open(call).await? else {
        return Ok(nothing_yet());
    };
    let (Wanted::WebSocket { key, protocols }, Some(upgrade)) =
        (Wanted::read(&call.headers)?, incoming.upgrade)
    else {
        return Err(ApiError::bad_request("Upgrade request required"));
    };
    let version = match version(&protocols) {
        Ok(version) => version,
        Err(refusal) => return Ok(refusal.into_answer()),
    };
    let Some(place) = call.api.connections.enter() else {
        return Ok(in_flight::too_many_requests());
    };
    let protocol = one_way(version == BASE64);
    connections::carry(call.api.clone(), upgrade, place, protocol, move |streams| {
        send(streams, pieces)
    });
    Ok(upgrade::to_websocket(&key, version))
}

/// Without any protocol, bytes are sent as they are.
fn version(offered: &[String]) -> Result<&'static str, upgrade::Refusal> {
    if offered.is_empty() {
        return Ok("");
    }
    upgrade::first_known(offered, &[BINARY, BASE64])
}

async fn send(mut streams: Streams, pieces: impl Stream<Item = Bytes>) {
    let Some(stream) = streams.accept().await else {
        return;
    };
    // An empty message says that the log begins.
    let mut next = Some(Bytes::new());
    let mut pieces = pin!(pieces);
    while let Some(piece) = next {
        if stream.output.send(piece).await.is_err() {
            return;
        }
        next = pieces.next().await;
    }
}

/// One stream, from the server to the client.
fn one_way(base64: bool) -> Protocol {
    Protocol {
        decoder: Box::new(Decoder {
            frames: websocket::Decoder::default(),
            is_open: false,
        }),
        encoder: Box::new(Encoder { base64 }),
    }
}

struct Decoder {
    frames: websocket::Decoder,
    is_open: bool,
}

impl Decode for Decoder {
    fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
    }

    fn next(&mut self) -> Result<Option<Event>, ProtocolError> {
        if !std::mem::replace(&mut self.is_open, true) {
            return Ok(Some(Event::Open(0, Purpose::default())));
        }
        while let Some(event) = self.frames.decode()? {
            match event {
                websocket::Event::Piece { .. } => {}
                websocket::Event::Ping(payload) => {
                    return Ok(Some(Event::Answer(Outgoing::Pong(payload))));
                }
                websocket::Event::Close => return Ok(Some(Event::Goodbye)),
            }
        }
        Ok(None)
    }
}

struct Encoder {
    base64: bool,
}

impl Encode for Encoder {
    fn encode(&mut self, outgoing: Outgoing) -> Bytes {
        match outgoing {
            Outgoing::Data(_, bytes) if self.base64 => {
                websocket::message(Kind::Text, &[BASE64_STANDARD.encode(bytes).as_bytes()])
            }
            Outgoing::Data(_, bytes) => websocket::message(Kind::Binary, &[&bytes]),
            Outgoing::Pong(payload) => websocket::pong(&payload),
            Outgoing::Goodbye => websocket::close(NORMAL_CLOSURE),
            // The stream is there from the start and ends with the connection.
            Outgoing::Accept(_) | Outgoing::End(_) | Outgoing::Reset(_) | Outgoing::Ping(_) => Bytes::new(),
        }
    }
}
