//! Events to bytes. A server's frames are not masked, and its messages are one frame each.

use bytes::{BufMut as _, Bytes, BytesMut};

use crate::{BINARY, CLOSE, FIN, Kind, PONG, TEXT};

/// A whole message, of parts that need not lie together.
pub fn message(kind: Kind, parts: &[&[u8]]) -> Bytes {
    let opcode = match kind {
        Kind::Text => TEXT,
        Kind::Binary => BINARY,
    };
    frame(opcode, parts)
}

/// The answer to a ping.
pub fn pong(payload: &[u8]) -> Bytes {
    frame(PONG, &[payload])
}

/// Goodbye, with a reason by number.
pub fn close(code: u16) -> Bytes {
    frame(CLOSE, &[&code.to_be_bytes()])
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
