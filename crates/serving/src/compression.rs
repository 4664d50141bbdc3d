//! Requests that come compressed, and how large they may become.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::{MultiGzDecoder, ZlibDecoder};

use crate::failure::{Code, Failure, Outcome};

/// What is understood, as gRPC tells it.
pub(crate) const ENCODINGS: &str = "identity,deflate,gzip";
const PIECE: usize = 64 * 1024;

/// Unpacks bytes by an encoding of HTTP. A few bytes may become very many, so whoever asks is told of each piece
/// before it is kept, and may refuse it.
pub(crate) fn unpacked(
    encoding: &str,
    bytes: &[u8],
    mut may_take: impl FnMut(usize) -> Outcome<()>,
) -> Outcome<Bytes> {
    let mut reader: Box<dyn std::io::Read + '_> = match encoding {
        "gzip" | "x-gzip" => Box::new(MultiGzDecoder::new(bytes)),
        "deflate" => Box::new(ZlibDecoder::new(bytes)),
        other => {
            return Err(Failure::new(
                Code::Unimplemented,
                format!("requests compressed by `{other}` are not read here, only gzip and deflate"),
            ));
        }
    };
    let mut whole = Vec::new();
    loop {
        let before = whole.len();
        let read = reader.by_ref().take(PIECE as u64).read_to_end(&mut whole);
        read.map_err(|error| Failure::invalid(format!("the request cannot be unpacked: {error}")))?;
        if whole.len() == before {
            return Ok(whole.into());
        }
        may_take(whole.len() - before)?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{
        Compression,
        write::{GzEncoder, ZlibEncoder},
    };

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        let text = b"plum ".repeat(50_000);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&text).unwrap();
        let deflated = encoder.finish().unwrap();
        assert_eq!(unpacked("gzip", &gzip(&text), |_| Ok(())).unwrap(), text);
        assert_eq!(unpacked("deflate", &deflated, |_| Ok(())).unwrap(), text);
        assert_eq!(
            unpacked("br", &text, |_| Ok(())).unwrap_err().code,
            Code::Unimplemented
        );
        let cut = unpacked("gzip", &gzip(&text)[..40], |_| Ok(())).unwrap_err();
        assert_eq!(cut.code, Code::InvalidArgument);
    }

    #[test]
    fn a_bomb_is_stopped_early() {
        let bomb = gzip(&vec![0; 64 << 20]);
        let mut taken = 0;
        let stopped = unpacked("gzip", &bomb, |more| {
            taken += more;
            if taken > 1 << 20 {
                Err(Failure::invalid("enough"))
            } else {
                Ok(())
            }
        });
        assert_eq!(stopped.unwrap_err().message, "enough");
        assert!(taken <= (1 << 20) + PIECE);
    }
}
