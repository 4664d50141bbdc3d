//! Frames to bytes.

use bytes::{BufMut as _, Bytes, BytesMut};

use crate::{
    FIN, Frame, GOAWAY, Headers, PING, RST_STREAM, SYN_REPLY, SYN_STREAM, VERSION, headers::Deflater,
};

/// The largest piece of data in one frame.
const LARGEST_DATA: usize = 32 << 10;

pub struct Encoder {
    deflater: Deflater,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            deflater: Deflater::new(),
        }
    }
}

impl Encoder {
    pub fn encode(&mut self, frame: &Frame) -> Bytes {
        let mut out = BytesMut::new();
        match frame {
            Frame::Open {
                stream,
                is_last,
                headers,
            } => {
                // No associated stream, the default priority, no credentials.
                let mut payload = stream.to_be_bytes().to_vec();
                payload.extend([0; 6]);
                self.with_headers(&mut out, SYN_STREAM, *is_last, payload, headers);
            }
            Frame::Reply {
                stream,
                is_last,
                headers,
            } => {
                self.with_headers(
                    &mut out,
                    SYN_REPLY,
                    *is_last,
                    stream.to_be_bytes().to_vec(),
                    headers,
                );
            }
            Frame::Reset { stream, status } => {
                let payload = [stream.to_be_bytes(), status.to_be_bytes()].concat();
                control(&mut out, RST_STREAM, 0, &payload);
            }
            Frame::Ping { id } => control(&mut out, PING, 0, &id.to_be_bytes()),
            Frame::GoAway { last } => control(&mut out, GOAWAY, 0, &[last.to_be_bytes(), [0; 4]].concat()),
            Frame::Data {
                stream,
                is_last,
                bytes,
            } => data(&mut out, *stream, *is_last, bytes),
        }
        out.freeze()
    }

    fn with_headers(
        &mut self,
        out: &mut BytesMut,
        kind: u16,
        is_last: bool,
        mut payload: Vec<u8>,
        headers: &Headers,
    ) {
        payload.extend(self.deflater.write(headers));
        control(out, kind, u8::from(is_last) * FIN, &payload);
    }
}

fn control(out: &mut BytesMut, kind: u16, flags: u8, payload: &[u8]) {
    out.put_u16(0x8000 | VERSION);
    out.put_u16(kind);
    length(out, flags, payload.len());
    out.put_slice(payload);
}

fn data(out: &mut BytesMut, stream: u32, is_last: bool, bytes: &Bytes) {
    let mut rest: &[u8] = bytes;
    loop {
        let (piece, after) = rest.split_at(rest.len().min(LARGEST_DATA));
        let ends = is_last && after.is_empty();
        out.put_u32(stream & 0x7fff_ffff);
        length(out, u8::from(ends) * FIN, piece.len());
        out.put_slice(piece);
        rest = after;
        if rest.is_empty() {
            return;
        }
    }
}

fn length(out: &mut BytesMut, flags: u8, length: usize) {
    let length = u32::try_from(length).unwrap_or(u32::MAX) & 0x00ff_ffff;
    out.put_u32(u32::from(flags) << 24 | length);
}
