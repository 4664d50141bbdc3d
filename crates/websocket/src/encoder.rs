//! Events to bytes. Messages are one frame each. Frames are a server's, which are not masked;
//! `masked` makes a client's of them.

use bytes::{BufMut as _, Bytes, BytesMut};

use crate::{BINARY, CLOSE, FIN, Kind, MASKED, PING, PONG, TEXT, decoder::unmask};

/// A whole message, of parts that need not lie together.
pub fn message(kind: Kind, parts: &[&[u8]]) -> Bytes {
    let opcode = match kind {
        Kind::Text => TEXT,
        Kind::Binary => BINARY,
    };
    frame(opcode, parts)
}

/// Asks the other side for a sign of life.
pub fn ping() -> Bytes {
    frame(PING, &[])
}

/// The answer to a ping.
pub fn pong(payload: &[u8]) -> Bytes {
    frame(PONG, &[payload])
}

/// Goodbye, with a reason by number.
pub fn close(code: u16) -> Bytes {
    frame(CLOSE, &[&code.to_be_bytes()])
}

/// A frame as a client sends it, with a key that nobody can foresee.
pub fn masked(frame: &[u8], key: [u8; 4]) -> Bytes {
    let [first, second, rest @ ..] = frame else {
        return Bytes::new();
    };
    let length_size = match second {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let (length, payload) = rest.split_at(length_size);
    let mut out = BytesMut::with_capacity(frame.len() + key.len());
    out.put_slice(&[*first, second | MASKED]);
    out.put_slice(length);
    out.put_slice(&key);
    let start = out.len();
    out.put_slice(payload);
    unmask(&mut out[start..], key, 0);
    out.freeze()
}

fn frame(opcode: u8, parts: &[&[u8]]) -> Bytes {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = BytesMut::with_capacity(length + 10);
    out.put_u8(FIN | opcode);
    match length {
        0..=125 => out.put_u8(length as u8),
        126..=0xffff => {
            out.put_u8(126);
            out.put_u16(length as u16);
        }
        _ => {
            out.put_u8(127);
            out.put_u64(length as u64);
        }
    }
    for part in parts {
        out.put_slice(part);
    }
    out.freeze()
}
