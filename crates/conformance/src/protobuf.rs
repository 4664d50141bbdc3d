//! Just enough of a protobuf encoder to write a few Kubernetes objects by their field numbers.

/// A message in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn varint(mut self, field: u32, value: u64) -> Self {
        self.key(field, 0);
        self.number(value);
        self
    }

    pub(crate) fn text(self, field: u32, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    pub(crate) fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.key(field, 2);
        self.number(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub(crate) fn message(self, field: u32, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    /// An entry of a map from text to text.
    pub(crate) fn entry(self, field: u32, key: &str, value: &str) -> Self {
        self.message(field, &Self::new().text(1, key).text(2, value))
    }

    /// The message as a request body: magic bytes, and around it what it is.
    pub(crate) fn envelope(&self, version: &str, kind: &str) -> Vec<u8> {
        let unknown = Self::new()
            .message(1, &Self::new().text(1, version).text(2, kind))
            .message(2, self);
        [b"k8s\0", unknown.0.as_slice()].concat()
    }

    fn key(&mut self, field: u32, wire_type: u32) {
        self.number(u64::from(field << 3 | wire_type));
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// ObjectMeta with a name.
pub(crate) fn metadata(name: &str) -> Message {
    Message::new().text(1, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_map_is_written_as_client_go_writes_it() {
        let message = Message::new().message(1, &metadata("a")).entry(2, "k", "v");
        let expected =
            b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x0d\x0a\x03\x0a\x01a\x12\x06\x0a\x01k\x12\x01v";
        assert_eq!(message.envelope("v1", "ConfigMap"), expected);
    }

    #[test]
    fn large_numbers_take_several_bytes() {
        assert_eq!(Message::new().varint(1, 300).0, [0x08, 0xac, 0x02]);
    }
}
