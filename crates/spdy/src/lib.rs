//! SPDY/3.1, as much of it as clients use for port-forward: streams with headers, data, pings and
//! resets. Flow control and settings are ignored, as the clients do.

mod decoder;
mod dictionary;
mod encoder;
mod headers;

#[cfg(test)]
mod tests;

use bytes::Bytes;

pub use decoder::Decoder;
pub use encoder::Encoder;

/// Names are lower case, as on the wire.
pub type Headers = Vec<(String, String)>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The other side opens a stream; with `is_last` it will send nothing on it.
    Open {
        stream: u32,
        is_last: bool,
        headers: Headers,
    },
    /// The answer to an opened stream.
    Reply {
        stream: u32,
        is_last: bool,
        headers: Headers,
    },
    /// A piece of a stream, not necessarily as it was cut by the sender.
    Data {
        stream: u32,
        is_last: bool,
        bytes: Bytes,
    },
    Reset {
        stream: u32,
        status: u32,
    },
    Ping {
        id: u32,
    },
    GoAway {
        last: u32,
    },
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpdyError {
    #[error("the peer speaks SPDY/{0}, not SPDY/3")]
    Version(u16),
    #[error("a frame of {0} bytes is larger than any we take")]
    TooLarge(usize),
    #[error("a frame of type {0} is cut short")]
    Short(u16),
    #[error("headers cannot be decompressed")]
    Compression,
    #[error("headers are not well formed")]
    Headers,
}

const VERSION: u16 = 3;
const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const GOAWAY: u16 = 7;
const FIN: u8 = 1;

/// The largest control frame we take; data passes through in pieces and needs no limit.
const LARGEST_CONTROL: usize = 64 << 10;
