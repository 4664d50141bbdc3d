//! The fields of messages, written one after the other.

use super::wire::{BYTES, FIXED64, VARINT};

#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Goes on after what there is.
    pub(crate) fn after(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
        }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn number(&mut self, tag: u32, number: u64) {
        self.key(tag, VARINT);
        self.varint(number);
    }

    pub(crate) fn double(&mut self, tag: u32, number: f64) {
        self.key(tag, FIXED64);
        self.bytes.extend(number.to_le_bytes());
    }

    pub(crate) fn data(&mut self, tag: u32, data: &[u8]) {
        self.key(tag, BYTES);
        self.varint(data.len() as u64);
        self.bytes.extend_from_slice(data);
    }

    /// A message as a field of this one.
    pub(crate) fn nested<T>(&mut self, tag: u32, fill: impl FnOnce(&mut Self) -> T) -> T {
        self.key(tag, BYTES);
        let start = self.bytes.len();
        let filled = fill(self);
        let end = self.bytes.len();
        self.varint((end - start) as u64);
        // The length goes to the front of what it is the length of.
        let length = self.bytes.len() - end;
        self.bytes[start..].rotate_right(length);
        filled
    }

    fn key(&mut self, tag: u32, wire_type: u8) {
        self.varint(u64::from(tag) << 3 | u64::from(wire_type));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_have_long_lengths() {
        let mut writer = Writer::after(b"k8s\0");
        writer.nested(9, |inner| inner.data(1, &[7; 300]));
        let bytes = writer.into_bytes();
        assert_eq!(bytes[..7], [b'k', b'8', b's', 0, 0x4a, 0xaf, 0x02]);
        assert_eq!(bytes[7..11], [0x0a, 0xac, 0x02, 7]);
        assert_eq!(bytes.len(), 7 + 3 + 300);
    }
}
