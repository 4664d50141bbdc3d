//! The protobuf wire format: tags and payloads, borrowed from the input.

use crate::types::Form;

use super::ProtobufError;

/// Reads the fields of one message.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

/// The payload of one field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'a [u8]),
}

pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const BYTES: u8 = 2;
const GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next field, or nothing at the end. Groups, which no API type has, are skipped.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Payload<'a>)>, ProtobufError> {
        while !self.is_empty() {
            let (tag, wire_type) = self.tag()?;
            match wire_type {
                GROUP => self.skip_group()?,
                END_GROUP => return Err(ProtobufError::IllegalWireType(END_GROUP)),
                _ => return Ok(Some((tag, self.payload(wire_type)?))),
            }
        }
        Ok(None)
    }

    pub(super) fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.bytes.split_first().ok_or(ProtobufError::Truncated)?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ProtobufError::Overflow)
    }

    fn tag(&mut self) -> Result<(u32, u8), ProtobufError> {
        let key = self.varint()?;
        let tag = u32::try_from(key >> 3).map_err(|_| ProtobufError::Overflow)?;
        Ok((tag, (key & 7) as u8))
    }

    fn payload(&mut self, wire_type: u8) -> Result<Payload<'a>, ProtobufError> {
        Ok(match wire_type {
            VARINT => Payload::Varint(self.varint()?),
            FIXED64 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
            FIXED32 => {
                self.array::<4>()?;
                Payload::Fixed32
            }
            BYTES => {
                let length = usize::try_from(self.varint()?).map_err(|_| ProtobufError::Overflow)?;
                let (bytes, rest) = self
                    .bytes
                    .split_at_checked(length)
                    .ok_or(ProtobufError::Truncated)?;
                self.bytes = rest;
                Payload::Bytes(bytes)
            }
            other => return Err(ProtobufError::IllegalWireType(other)),
        })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtobufError> {
        let (bytes, rest) = self.bytes.split_first_chunk().ok_or(ProtobufError::Truncated)?;
        self.bytes = rest;
        Ok(*bytes)
    }

    /// Skips to the end of the group that was just opened, counting instead of recursing.
    fn skip_group(&mut self) -> Result<(), ProtobufError> {
        let mut open = 1_usize;
        while open > 0 {
            match self.tag()?.1 {
                GROUP => open += 1,
                END_GROUP => open -= 1,
                wire_type => {
                    self.payload(wire_type)?;
                }
            }
        }
        Ok(())
    }
}

impl<'a> Payload<'a> {
    /// What a map's value is when its entry leaves it out.
    pub(super) fn empty(form: Form) -> Self {
        match form {
            Form::Bool | Form::Int32 | Form::Int64 => Self::Varint(0),
            Form::Double => Self::Fixed64(0),
            _ => Self::Bytes(&[]),
        }
    }

    pub(super) fn bytes(self, field: &'static str) -> Result<&'a [u8], ProtobufError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            other => Err(other.wrong(field)),
        }
    }

    /// Text; what is not UTF-8 is replaced, as Go does when it writes JSON.
    pub(super) fn text(self, field: &'static str) -> Result<String, ProtobufError> {
        self.bytes(field)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    pub(super) fn number(self, field: &'static str) -> Result<u64, ProtobufError> {
        match self {
            Self::Varint(value) => Ok(value),
            other => Err(other.wrong(field)),
        }
    }

    pub(super) fn double(self, field: &'static str) -> Result<f64, ProtobufError> {
        match self {
            Self::Fixed64(bits) => Ok(f64::from_bits(bits)),
            other => Err(other.wrong(field)),
        }
    }

    fn wrong(self, field: &'static str) -> ProtobufError {
        let wire_type = match self {
            Self::Varint(_) => VARINT,
            Self::Fixed64(_) => FIXED64,
            Self::Fixed32 => FIXED32,
            Self::Bytes(_) => BYTES,
        };
        ProtobufError::WrongWireType { field, wire_type }
    }
}
