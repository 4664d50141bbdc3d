//! How a layer is packed, told by its first bytes: media types are not always right.

use std::io::{self, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const REFUSED: [(&[u8], &str); 2] = [(b"BZh", "bzip2"), (b"\xfd7zXZ\0", "xz")];
const BUFFER: usize = 128 << 10;

/// The bytes as they were before packing.
pub(crate) fn unpacked<'a>(mut packed: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut head = Vec::with_capacity(8);
    packed.by_ref().take(6).read_to_end(&mut head)?;
    let kind = kind(&head)?;
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(head).chain(packed));
    Ok(match kind {
        Kind::Plain => Box::new(whole),
        Kind::Gzip => Box::new(MultiGzDecoder::new(whole)),
        Kind::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(whole)?),
    })
}

/// Whether these first bytes of a file say that it is packed.
pub(crate) fn is_packed(head: &[u8]) -> io::Result<bool> {
    kind(head).map(|kind| kind != Kind::Plain)
}

#[derive(PartialEq, Eq)]
enum Kind {
    Plain,
    Gzip,
    Zstd,
}

fn kind(head: &[u8]) -> io::Result<Kind> {
    if let Some((_, name)) = REFUSED.iter().find(|(magic, _)| head.starts_with(magic)) {
        let message = format!("{name} is no compression of images; gzip and zstd are");
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    Ok(if head.starts_with(&GZIP) {
        Kind::Gzip
    } else if head.starts_with(&ZSTD) {
        Kind::Zstd
    } else {
        Kind::Plain
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn read(packed: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        unpacked(packed).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn every_packing_is_undone() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"hello ").unwrap();
        let mut several = gzip.finish().unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"world").unwrap();
        several.extend(gzip.finish().unwrap());
        assert_eq!(read(&several), b"hello world");
        assert_eq!(read(&zstd::encode_all(&b"hello"[..], 1).unwrap()), b"hello");
        assert_eq!(read(b"hello"), b"hello");
        assert_eq!(read(b""), b"");
    }

    #[test]
    fn other_packings_are_refused_by_name() {
        let error = unpacked(&b"\xfd7zXZ\0..."[..]).err().unwrap();
        assert!(error.to_string().contains("xz"), "{error}");
    }
}
