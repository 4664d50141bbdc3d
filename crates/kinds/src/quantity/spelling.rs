//! A short text by value, so that quantities stay cheap to copy.

const CAPACITY: usize = 23;

/// How a quantity was written.
#[derive(Clone, Copy)]
pub(super) struct Spelling {
    bytes: [u8; CAPACITY],
    length: u8,
}

impl Spelling {
    /// The text, unless it is so long that it has zeros or signs nobody needs.
    pub(super) fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; CAPACITY];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self {
            bytes,
            length: text.len() as u8,
        })
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length.into()]).unwrap_or_default()
    }
}
