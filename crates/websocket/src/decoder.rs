//! Bytes to events. Bytes come in whatever pieces the network cut them into.

use bytes::{Buf as _, Bytes, BytesMut};

use crate::{
    BINARY, CLOSE, CONTINUATION, Event, FIN, LONGEST_CONTROL, MASKED, PING, PONG, Side, TEXT, WebSocketError,
};

#[derive(Default)]
pub struct Decoder {
    buffer: BytesMut,
    from: Side,
    /// The data frame whose payload is still coming.
    open: Option<Open>,
    /// A message has begun and not ended.
    in_message: bool,
}

struct Open {
    left: u64,
    mask: [u8; 4],
    /// How far into the payload the next byte is, by which it is unmasked.
    offset: usize,
    is_first: bool,
    is_last: bool,
}

struct Head {
    opcode: u8,
    is_final: bool,
    length: u64,
    mask: [u8; 4],
    /// How many bytes the head itself takes.
    size: usize,
}

impl Decoder {
    /// Reads what this side sends; by default it is the client.
    pub fn of(from: Side) -> Self {
        Self {
            from,
            ..Self::default()
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next event, or `None` until more bytes come.
    pub fn decode(&mut self) -> Result<Option<Event>, WebSocketError> {
        loop {
            if let Some(open) = self.open.take() {
                return Ok(self.piece(open));
            }
            let Some(head) = Head::read(&self.buffer, self.from)? else {
                return Ok(None);
            };
            if head.opcode < CLOSE {
                self.begin(&head)?;
                continue;
            }
            let Some(payload) = self.control(&head)? else {
                return Ok(None);
            };
            match head.opcode {
                CLOSE => return Ok(Some(Event::Close)),
                PING => return Ok(Some(Event::Ping(payload))),
                // An answer to a ping we did not send, which is allowed.
                PONG => {}
                other => return Err(WebSocketError::Opcode(other)),
            }
        }
    }

    fn begin(&mut self, head: &Head) -> Result<(), WebSocketError> {
        let is_first = match head.opcode {
            TEXT | BINARY => true,
            CONTINUATION => false,
            other => return Err(WebSocketError::Opcode(other)),
        };
        if is_first == self.in_message {
            return Err(WebSocketError::Order);
        }
        self.in_message = !head.is_final;
        self.buffer.advance(head.size);
        self.open = Some(Open {
            left: head.length,
            mask: head.mask,
            offset: 0,
            is_first,
            is_last: head.is_final,
        });
        Ok(())
    }

    /// What has come of a data frame.
    fn piece(&mut self, mut open: Open) -> Option<Event> {
        let here = usize::try_from(open.left).map_or(self.buffer.len(), |left| left.min(self.buffer.len()));
        if here == 0 && open.left > 0 {
            self.open = Some(open);
            return None;
        }
        let mut bytes = self.buffer.split_to(here);
        unmask(&mut bytes, open.mask, open.offset);
        open.left -= here as u64;
        let event = Event::Piece {
            bytes: bytes.freeze(),
            is_first: open.is_first,
            is_last: open.is_last && open.left == 0,
        };
        if open.left > 0 {
            self.open = Some(Open {
                offset: (open.offset + here) % 4,
                is_first: false,
                ..open
            });
        }
        Some(event)
    }

    /// The payload of a control frame, which comes whole.
    fn control(&mut self, head: &Head) -> Result<Option<Bytes>, WebSocketError> {
        if !head.is_final || head.length > LONGEST_CONTROL {
            return Err(WebSocketError::Control);
        }
        let length = head.length as usize;
        if self.buffer.len() < head.size + length {
            return Ok(None);
        }
        self.buffer.advance(head.size);
        let mut payload = self.buffer.split_to(length);
        unmask(&mut payload, head.mask, 0);
        Ok(Some(payload.freeze()))
    }
}

impl Head {
    fn read(buffer: &[u8], from: Side) -> Result<Option<Self>, WebSocketError> {
        let Some([first, second]) = buffer.first_chunk::<2>().copied() else {
            return Ok(None);
        };
        if first & 0x70 != 0 {
            return Err(WebSocketError::Reserved);
        }
        let mask_size = match (from, second & MASKED) {
            (Side::Client, MASKED) => 4,
            (Side::Client, _) => return Err(WebSocketError::Unmasked),
            (Side::Server, 0) => 0,
            (Side::Server, _) => return Err(WebSocketError::Masked),
        };
        let rest = &buffer[2..];
        let (length, length_size) = match second & 0x7f {
            126 => (
                rest.first_chunk::<2>()
                    .map(|bytes| u64::from(u16::from_be_bytes(*bytes))),
                2,
            ),
            127 => (rest.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes)), 8),
            short => (Some(u64::from(short)), 0),
        };
        let mask = match mask_size {
            0 => Some([0; 4]),
            _ => rest
                .get(length_size..)
                .and_then(|rest| rest.first_chunk())
                .copied(),
        };
        let (Some(length), Some(mask)) = (length, mask) else {
            return Ok(None);
        };
        if length > i64::MAX as u64 {
            return Err(WebSocketError::Length);
        }
        Ok(Some(Self {
            opcode: first & 0x0f,
            is_final: first & FIN != 0,
            length,
            mask,
            size: 2 + length_size + mask_size,
        }))
    }
}

/// Takes a mask off, or puts it on, which is the same.
pub(crate) fn unmask(bytes: &mut [u8], mask: [u8; 4], offset: usize) {
    for (byte, key) in bytes.iter_mut().zip(mask.iter().cycle().skip(offset % 4)) {
        *byte ^= key;
    }
}
