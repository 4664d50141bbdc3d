//! Header blocks: compressed by one zlib stream a direction for the whole connection.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::{Headers, LARGEST_CONTROL, SpdyError, dictionary::dictionary};

pub(crate) struct Inflater {
    zlib: Decompress,
}

impl Inflater {
    pub(crate) fn new() -> Self {
        Self {
            zlib: Decompress::new(true),
        }
    }

    pub(crate) fn read(&mut self, mut block: &[u8]) -> Result<Headers, SpdyError> {
        let mut plain = Vec::with_capacity(block.len() * 4);
        while !block.is_empty() {
            if plain.len() >= LARGEST_CONTROL {
                return Err(SpdyError::TooLarge(plain.len()));
            }
            plain.reserve(4096);
            let (read, written) = (self.zlib.total_in(), self.zlib.total_out());
            match self.zlib.decompress_vec(block, &mut plain, FlushDecompress::Sync) {
                Ok(Status::StreamEnd) => return Err(SpdyError::Compression),
                Ok(_) => {}
                Err(error) if error.needs_dictionary().is_some() => {
                    self.zlib
                        .set_dictionary(&dictionary())
                        .map_err(|_| SpdyError::Compression)?;
                }
                Err(_) => return Err(SpdyError::Compression),
            }
            let consumed = usize::try_from(self.zlib.total_in() - read).unwrap_or(block.len());
            let is_stuck = consumed == 0 && self.zlib.total_out() == written && read > 0;
            if is_stuck {
                return Err(SpdyError::Compression);
            }
            block = block.get(consumed..).unwrap_or_default();
        }
        parse(&plain).ok_or(SpdyError::Headers)
    }
}

fn parse(mut plain: &[u8]) -> Option<Headers> {
    let count = take_length(&mut plain)?;
    (0..count)
        .map(|_| {
            let name = take_text(&mut plain)?;
            Some((name, take_text(&mut plain)?))
        })
        .collect()
}

fn take_length(plain: &mut &[u8]) -> Option<usize> {
    let (length, rest) = plain.split_first_chunk::<4>()?;
    *plain = rest;
    usize::try_from(u32::from_be_bytes(*length)).ok()
}

fn take_text(plain: &mut &[u8]) -> Option<String> {
    let length = take_length(plain)?;
    let (text, rest) = plain.split_at_checked(length)?;
    *plain = rest;
    String::from_utf8(text.to_vec()).ok()
}

pub(crate) struct Deflater {
    zlib: Compress,
}

impl Deflater {
    pub(crate) fn new() -> Self {
        let mut zlib = Compress::new(Compression::default(), true);
        // A fresh stream takes any dictionary.
        let _ = zlib.set_dictionary(&dictionary());
        Self { zlib }
    }

    pub(crate) fn write(&mut self, headers: &Headers) -> Vec<u8> {
        let mut plain = Vec::new();
        let mut put = |length: usize| plain.extend(u32::try_from(length).unwrap_or_default().to_be_bytes());
        put(headers.len());
        for (name, value) in headers {
            for text in [name, value] {
                plain.extend(u32::try_from(text.len()).unwrap_or_default().to_be_bytes());
                plain.extend(text.as_bytes());
            }
        }
        let mut block = Vec::with_capacity(plain.len() + 64);
        let start = self.zlib.total_in();
        loop {
            let done = usize::try_from(self.zlib.total_in() - start).unwrap_or(plain.len());
            block.reserve(256);
            let before = block.len();
            let status = self
                .zlib
                .compress_vec(&plain[done..], &mut block, FlushCompress::Sync);
            let is_flushed = done == plain.len() || block.len() < block.capacity();
            if status.is_err() || (is_flushed && block.len() >= before) {
                return block;
            }
        }
    }
}
