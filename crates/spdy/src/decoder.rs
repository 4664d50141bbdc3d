//! Bytes to frames. Bytes come in whatever pieces the network or a WebSocket cut them into.

use bytes::{Buf as _, Bytes, BytesMut};

use crate::{
    FIN, Frame, GOAWAY, LARGEST_CONTROL, PING, RST_STREAM, SYN_REPLY, SYN_STREAM, SpdyError, VERSION,
    headers::Inflater,
};

const HEAD: usize = 8;

pub struct Decoder {
    buffer: BytesMut,
    inflater: Inflater,
    /// The data frame whose bytes are still coming.
    open: Option<Open>,
}

struct Open {
    stream: u32,
    is_last: bool,
    left: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            buffer: BytesMut::new(),
            inflater: Inflater::new(),
            open: None,
        }
    }
}

impl Decoder {
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame, or `None` until more bytes come.
    pub fn decode(&mut self) -> Result<Option<Frame>, SpdyError> {
        loop {
            if let Some(open) = self.open.take() {
                return Ok(self.piece(open));
            }
            let Some(head) = self.buffer.first_chunk::<HEAD>().copied() else {
                return Ok(None);
            };
            let [first, second, third, fourth, flags, length @ ..] = head;
            let length = length
                .iter()
                .fold(0, |length, byte| length << 8 | usize::from(*byte));
            if first & 0x80 == 0 {
                self.buffer.advance(HEAD);
                self.open = Some(Open {
                    stream: u32::from_be_bytes([first, second, third, fourth]),
                    is_last: flags & FIN != 0,
                    left: length,
                });
                continue;
            }
            let version = u16::from_be_bytes([first & 0x7f, second]);
            let kind = u16::from_be_bytes([third, fourth]);
            if version != VERSION {
                return Err(SpdyError::Version(version));
            }
            if length > LARGEST_CONTROL {
                return Err(SpdyError::TooLarge(length));
            }
            if self.buffer.len() < HEAD + length {
                return Ok(None);
            }
            self.buffer.advance(HEAD);
            let payload = self.buffer.split_to(length).freeze();
            if let Some(frame) = self.control(kind, flags, payload)? {
                return Ok(Some(frame));
            }
        }
    }

    /// What has come of a data frame, so that no more than one piece is ever held.
    fn piece(&mut self, open: Open) -> Option<Frame> {
        let here = self.buffer.len().min(open.left);
        let left = open.left - here;
        if here == 0 && left > 0 {
            self.open = Some(open);
            return None;
        }
        let bytes: Bytes = self.buffer.split_to(here).freeze();
        let (stream, is_last) = (open.stream, open.is_last && left == 0);
        if left > 0 {
            self.open = Some(Open { left, ..open });
        }
        Some(Frame::Data {
            stream,
            is_last,
            bytes,
        })
    }

    fn control(&mut self, kind: u16, flags: u8, payload: Bytes) -> Result<Option<Frame>, SpdyError> {
        let number = |at: usize| {
            let bytes = payload.get(at..at + 4).and_then(|bytes| bytes.first_chunk::<4>());
            bytes
                .map(|bytes| u32::from_be_bytes(*bytes))
                .ok_or(SpdyError::Short(kind))
        };
        let stream = |at: usize| number(at).map(|id| id & 0x7fff_ffff);
        let is_last = flags & FIN != 0;
        Ok(Some(match kind {
            SYN_STREAM => Frame::Open {
                stream: stream(0)?,
                is_last,
                headers: self
                    .inflater
                    .read(payload.get(10..).ok_or(SpdyError::Short(kind))?)?,
            },
            SYN_REPLY => Frame::Reply {
                stream: stream(0)?,
                is_last,
                headers: self
                    .inflater
                    .read(payload.get(4..).ok_or(SpdyError::Short(kind))?)?,
            },
            RST_STREAM => Frame::Reset {
                stream: stream(0)?,
                status: number(4)?,
            },
            PING => Frame::Ping { id: number(0)? },
            GOAWAY => Frame::GoAway { last: stream(0)? },
            // Settings, more headers, window updates and credentials change nothing for us.
            _ => return Ok(None),
        }))
    }
}
