//! Messages on a pipe: their length, then as many bytes of JSON.

use std::io;

/// Requests and replies are bounded by what is in them; more than this is nonsense.
pub(crate) const MOST: usize = 8 * 1024 * 1024;

pub(crate) fn header(length: usize) -> [u8; 4] {
    (length as u32).to_le_bytes()
}

pub(crate) fn length(header: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(header) as usize;
    if length > MOST {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a message is too long",
        ));
    }
    Ok(length)
}
