//! WebSocket frames (RFC 6455) as both sides read and write them. Messages pass through in the pieces
//! they come in, so that one of any length costs no more memory than a short one.

mod decoder;
mod encoder;

#[cfg(test)]
mod tests;

use bytes::Bytes;

pub use decoder::Decoder;
pub use encoder::{close, masked, message, ping, pong};

/// Who sends: a client's frames are masked, a server's are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    #[default]
    Client,
    Server,
}

/// What a message says it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Binary,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A piece of a message, not necessarily as it was cut by the sender; it may be empty.
    Piece {
        bytes: Bytes,
        is_first: bool,
        is_last: bool,
    },
    Ping(Bytes),
    /// The other side says goodbye.
    Close,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebSocketError {
    #[error("a client's frame must be masked")]
    Unmasked,
    #[error("a server's frame must not be masked")]
    Masked,
    #[error("a frame has reserved bits set")]
    Reserved,
    #[error("a frame has the unknown opcode {0}")]
    Opcode(u8),
    #[error("a control frame is too long or cut in pieces")]
    Control,
    #[error("a message begins inside another, or goes on without a beginning")]
    Order,
    #[error("a frame's length is no length")]
    Length,
}

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;

/// The longest payload of a control frame.
const LONGEST_CONTROL: u64 = 125;
