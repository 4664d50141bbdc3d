//! Extended headers: what the plain ones have no room for. Values are bytes and may hold anything, so
//! records are told apart by their lengths alone.

use std::{collections::BTreeMap, io};

/// What extended headers say about a member.
#[derive(Debug, Clone, Default)]
pub(super) struct Extensions {
    records: BTreeMap<Vec<u8>, Vec<u8>>,
    /// `GNU.sparse.offset` and `GNU.sparse.numbytes` come once a segment; their order is their meaning.
    pub(super) sparse_pairs: Vec<u64>,
}

impl Extensions {
    /// Adds the records of a header; later ones replace earlier ones, an empty value removes.
    pub(super) fn add(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (key, value, rest) = record(bytes).ok_or_else(malformed)?;
            bytes = rest;
            match key {
                b"GNU.sparse.offset" | b"GNU.sparse.numbytes" => {
                    self.sparse_pairs.push(number(value).ok_or_else(malformed)?);
                }
                _ if value.is_empty() => drop(self.records.remove(key)),
                _ => drop(self.records.insert(key.to_vec(), value.to_vec())),
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, key: &str) -> Option<&[u8]> {
        self.records.get(key.as_bytes()).map(Vec::as_slice)
    }

    pub(super) fn number(&self, key: &str) -> io::Result<Option<u64>> {
        self.get(key)
            .map(|value| number(value).ok_or_else(malformed))
            .transpose()
    }

    /// Seconds and nanoseconds since 1970.
    pub(super) fn time(&self, key: &str) -> Option<(i64, u32)> {
        let text = str::from_utf8(self.get(key)?).ok()?;
        let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
        let (whole, nanoseconds): (i64, u32) = (seconds.parse().ok()?, digits.parse().ok()?);
        // A fraction counts away from zero, nanoseconds always forwards.
        Some(match (seconds.starts_with('-'), nanoseconds) {
            (true, 1..) => (whole - 1, 1_000_000_000 - nanoseconds),
            _ => (whole, nanoseconds),
        })
    }

    /// Extended attributes, but those by which overlayfs would be misled.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        const PREFIX: &[u8] = b"SCHILY.xattr.";
        self.records
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(PREFIX)?, value.as_slice())))
            .filter(|(name, _)| !name.starts_with(b"trusted.overlay.") && !name.starts_with(b"user.overlay."))
    }
}

/// One record `LENGTH KEY=VALUE\n`, and what follows it.
fn record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = bytes.iter().take(20).position(|byte| *byte == b' ')?;
    let length = usize::try_from(number(&bytes[..space])?).ok()?;
    if length <= space + 1 || length > bytes.len() {
        return None;
    }
    let body = bytes[space + 1..length].strip_suffix(b"\n")?;
    let equals = body.iter().position(|byte| *byte == b'=')?;
    Some((&body[..equals], &body[equals + 1..], &bytes[length..]))
}

pub(super) fn number(digits: &[u8]) -> Option<u64> {
    str::from_utf8(digits).ok()?.parse().ok()
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an extended header is malformed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> io::Result<Extensions> {
        let mut extensions = Extensions::default();
        extensions.add(text).map(|()| extensions)
    }

    /// Short enough for a length of two digits.
    fn one(key: &str, value: &str) -> String {
        format!("{} {key}={value}\n", key.len() + value.len() + 5)
    }

    #[test]
    fn values_may_hold_line_ends() {
        let text = one("SCHILY.xattr.user.a", "x\n9 path=/");
        let extensions = parse(text.as_bytes()).unwrap();
        let attributes: Vec<_> = extensions.attributes().collect();
        assert_eq!(attributes, [(&b"user.a"[..], &b"x\n9 path=/"[..])]);
        assert!(extensions.get("path").is_none());
    }

    #[test]
    fn times_have_fractions_and_may_be_long_ago() {
        let time = |value: &str| parse(one("mtime", value).as_bytes()).unwrap().time("mtime");
        assert_eq!(time("15.25"), Some((15, 250_000_000)));
        assert_eq!(time("-1.25"), Some((-2, 750_000_000)));
        assert_eq!(time("7.000000"), Some((7, 0)));
    }

    #[test]
    fn damaged_records_are_refused() {
        for text in [
            &b"5 a=b"[..],
            b"99 a=b\n",
            b"0 a=b\n",
            b"x a=b\n",
            b"6 aab\n",
            b"\n",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
