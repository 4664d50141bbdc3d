//! Names of content by its hash: `sha256:…`.

use std::{
    fmt,
    io::{self, Read},
    str::FromStr,
};

use ring::digest::{Context, SHA256, SHA512};
use serde::{Deserialize, Serialize};

/// The hash of some bytes, and how it was made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Algorithm {
    Sha256,
    Sha512,
}

impl Algorithm {
    fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    fn hex_length(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }
}

/// Why a text is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    #[error("invalid checksum digest format")]
    Format,
    #[error("unsupported digest algorithm")]
    Algorithm,
    #[error("invalid checksum digest length")]
    Length,
}

impl Digest {
    pub fn sha256(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(bytes);
        hasher.finish()
    }

    /// The algorithm's name, as in the path of a blob.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm.name()
    }

    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// Where a layout keeps it: `blobs/sha256/…`.
    pub(crate) fn blob_path(&self) -> String {
        format!("blobs/{}/{}", self.algorithm(), self.hex)
    }

    /// Whether these bytes have this hash.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        let mut hasher = self.hasher();
        hasher.update(bytes);
        hasher.finish() == *self
    }

    /// Computes hashes of this one's kind.
    pub(crate) fn hasher(&self) -> Hasher {
        Hasher::new(self.algorithm)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let (algorithm, hex) = text.split_once(':').ok_or(DigestError::Format)?;
        let algorithm = match algorithm {
            "sha256" => Algorithm::Sha256,
            "sha512" => Algorithm::Sha512,
            _ => return Err(DigestError::Algorithm),
        };
        if !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(DigestError::Format);
        }
        if hex.len() != algorithm.hex_length() {
            return Err(DigestError::Length);
        }
        Ok(Self {
            algorithm,
            hex: hex.to_owned(),
        })
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.algorithm.name(), self.hex)
    }
}

/// A hash in the making.
#[derive(Clone)]
pub(crate) struct Hasher {
    algorithm: Algorithm,
    context: Context,
}

impl Hasher {
    fn new(algorithm: Algorithm) -> Self {
        let context = match algorithm {
            Algorithm::Sha256 => Context::new(&SHA256),
            Algorithm::Sha512 => Context::new(&SHA512),
        };
        Self { algorithm, context }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        let hash = self.context.finish();
        Digest {
            algorithm: self.algorithm,
            hex: hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// Hashes what is read through it.
pub(crate) struct HashingReader<R> {
    inner: R,
    hasher: Hasher,
}

impl<R: Read> HashingReader<R> {
    pub(crate) fn new(inner: R, like: &Digest) -> Self {
        Self {
            inner,
            hasher: like.hasher(),
        }
    }

    /// Reads what is left; the hash of everything.
    pub(crate) fn finish(mut self) -> io::Result<Digest> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(self.hasher.finish())
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..length]);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_digest_names_content() {
        let digest: Digest = EMPTY.parse().unwrap();
        assert_eq!(digest, Digest::sha256(b""));
        assert_eq!(digest.to_string(), EMPTY);
        assert!(digest.is_of(b""));
        assert!(!digest.is_of(b"x"));
    }

    #[test]
    fn what_could_be_a_path_is_no_digest() {
        let error = |text: &str| text.parse::<Digest>().unwrap_err();
        assert_eq!(error("sha256:../../etc"), DigestError::Format);
        assert_eq!(error("md5:00"), DigestError::Algorithm);
        assert_eq!(error("sha256:00"), DigestError::Length);
        assert_eq!(error("latest"), DigestError::Format);
    }
}
