//! Files with holes: which parts of a file an archive holds. There are four ways to say it.

use std::io::{self, Read};

use super::pax::{Extensions, number};

/// Where in the file the next bytes of the archive belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) offset: u64,
    pub(super) length: u64,
}

const BLOCK: usize = 512;
/// More would be a file made to be expensive.
const MAX_SEGMENTS: usize = 1 << 20;

/// The segments extended headers tell of, and how many bytes of the member's data the list took.
pub(super) fn from_extensions(
    extensions: &Extensions,
    data: &mut impl Read,
) -> io::Result<Option<(Vec<Segment>, u64)>> {
    if extensions.get("GNU.sparse.major") == Some(b"1") {
        return from_data(data).map(Some);
    }
    let numbers = match extensions.get("GNU.sparse.map") {
        Some(map) => map
            .split(|byte| *byte == b',')
            .map(number)
            .collect::<Option<Vec<u64>>>()
            .ok_or_else(malformed)?,
        None if extensions.sparse_pairs.is_empty() => return Ok(None),
        None => extensions.sparse_pairs.clone(),
    };
    Ok(Some((pairs(&numbers)?, 0)))
}

/// The newest way: numbers, one a line, before the data itself, filled up to whole blocks.
fn from_data(data: &mut impl Read) -> io::Result<(Vec<Segment>, u64)> {
    let mut numbers = Vec::new();
    let mut digits = Vec::new();
    let mut taken = 0;
    let mut block = [0; BLOCK];
    loop {
        data.read_exact(&mut block)?;
        taken += BLOCK as u64;
        for byte in block {
            if byte != b'\n' {
                digits.push(byte);
                continue;
            }
            numbers.push(number(&digits).ok_or_else(malformed)?);
            digits.clear();
            let wanted = usize::try_from(numbers[0]).unwrap_or(usize::MAX);
            if wanted > MAX_SEGMENTS {
                return Err(malformed());
            }
            if numbers.len() == 1 + 2 * wanted {
                return Ok((pairs(&numbers[1..])?, taken));
            }
        }
        if digits.len() > 20 {
            return Err(malformed());
        }
    }
}

fn pairs(numbers: &[u64]) -> io::Result<Vec<Segment>> {
    let (pairs, rest) = numbers.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(malformed());
    }
    Ok(pairs
        .iter()
        .map(|[offset, length]| Segment {
            offset: *offset,
            length: *length,
        })
        .collect())
}

/// Whether the segments follow each other inside the file and use up what is stored.
pub(super) fn check(segments: &[Segment], size: u64, stored: u64) -> io::Result<()> {
    let mut end = 0;
    let mut sum = 0_u64;
    for segment in segments {
        let next = segment.offset.checked_add(segment.length);
        match next {
            Some(next) if segment.offset >= end && next <= size => end = next,
            _ => return Err(malformed()),
        }
        sum += segment.length;
    }
    if sum == stored { Ok(()) } else { Err(malformed()) }
}

pub(super) fn malformed() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the map of a sparse file is malformed",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_before_the_data_fills_whole_blocks() {
        let mut data = b"2\n0\n5\n4096\n3\n".to_vec();
        data.resize(BLOCK, 0);
        data.extend(b"helloend");
        let (segments, taken) = from_data(&mut data.as_slice()).unwrap();
        assert_eq!(taken, 512);
        assert_eq!(
            segments[1],
            Segment {
                offset: 4096,
                length: 3
            }
        );
        check(&segments, 5000, 8).unwrap();
    }

    #[test]
    fn segments_stay_in_order_and_inside_the_file() {
        let check = |numbers: &[u64], size, stored| check(&pairs(numbers).unwrap(), size, stored);
        assert!(check(&[0, 5, 4, 5], 100, 10).is_err());
        assert!(check(&[0, 5, 98, 5], 100, 10).is_err());
        assert!(check(&[u64::MAX, 5], 100, 5).is_err());
        assert!(check(&[0, 5], 100, 6).is_err());
    }
}
