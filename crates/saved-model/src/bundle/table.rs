//! A sorted table of keys and values, as LevelDB writes them: blocks, an index of the blocks, a footer.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes};

use super::masked;

const MAGIC: u64 = 0xdb47_7524_8b80_fb57;
pub(super) const FOOTER: usize = 48;
const TRAILER: usize = 5;

/// Everything a table has. It is small: names and places, not values.
pub(super) fn read(file: &Bytes) -> Result<BTreeMap<Vec<u8>, Bytes>, &'static str> {
    let start = file.len().checked_sub(FOOTER).ok_or("it is cut off")?;
    let mut footer = file.slice(start..);
    let magic = footer.slice(FOOTER - 8..).get_u64_le();
    if magic != MAGIC {
        return Err("it does not end as an index does");
    }
    let _metaindex = handle(&mut footer)?;
    let index = block(file, handle(&mut footer)?)?;
    let mut table = BTreeMap::new();
    entries(index, &mut |_, mut place| {
        entries(block(file, handle(&mut place)?)?, &mut |key, value| {
            table.insert(key.to_vec(), value);
            Ok(())
        })
    })?;
    Ok(table)
}

/// Where a block is.
fn handle(bytes: &mut Bytes) -> Result<(usize, usize), &'static str> {
    let mut number = || {
        prost::encoding::decode_varint(bytes)
            .ok()
            .and_then(|number| usize::try_from(number).ok())
    };
    number().zip(number()).ok_or("a place in it is not one")
}

/// The content of a block, after its checksum.
fn block(file: &Bytes, (offset, size): (usize, usize)) -> Result<Bytes, &'static str> {
    let end = offset
        .checked_add(size)
        .filter(|end| end.checked_add(TRAILER).is_some_and(|end| end <= file.len()));
    let end = end.ok_or("a block lies outside of it")?;
    let stored = file.slice(end + 1..end + TRAILER).get_u32_le();
    if masked(crc32c::crc32c(&file[offset..=end])) != stored {
        return Err("a block does not match its checksum");
    }
    if file[end] != 0 {
        return Err("a block is compressed");
    }
    Ok(file.slice(offset..end))
}

type Each<'a> = dyn FnMut(&[u8], Bytes) -> Result<(), &'static str> + 'a;

/// Calls `each` for every entry of a block. Keys leave out what they share with the one before.
fn entries(block: Bytes, each: &mut Each<'_>) -> Result<(), &'static str> {
    const CUT_OFF: &str = "a block is cut off";
    let counted = block.len().checked_sub(4).ok_or(CUT_OFF)?;
    let restarts = block.slice(counted..).get_u32_le() as usize;
    let end = restarts
        .checked_mul(4)
        .and_then(|size| counted.checked_sub(size))
        .ok_or(CUT_OFF)?;
    let mut rest = block.slice(..end);
    let mut key = Vec::new();
    while rest.has_remaining() {
        let mut number = || {
            let number = prost::encoding::decode_varint(&mut rest).map_err(|_| CUT_OFF)?;
            usize::try_from(number).map_err(|_| CUT_OFF)
        };
        let (shared, own, length) = (number()?, number()?, number()?);
        if shared > key.len() || own > rest.len() || length > rest.len() - own {
            return Err(CUT_OFF);
        }
        key.truncate(shared);
        key.extend_from_slice(&rest.split_to(own));
        let value = rest.split_to(length);
        each(&key, value)?;
    }
    Ok(())
}

/// A table of these entries, which are sorted: one block of them, an index of it, a footer.
pub(super) fn write<'a>(all: impl Iterator<Item = (&'a [u8], Vec<u8>)>) -> Vec<u8> {
    let mut file = Vec::new();
    let mut last = Vec::new();
    let mut content = Vec::new();
    for (key, value) in all {
        put(&mut content, key, &value);
        last = key.to_vec();
    }
    let data = finish(&mut file, content);
    let metaindex = finish(&mut file, Vec::new());
    let mut content = Vec::new();
    put(&mut content, &last, &data);
    let index = finish(&mut file, content);
    let mut footer = [metaindex, index].concat();
    footer.resize(FOOTER - 8, 0);
    file.extend_from_slice(&footer);
    file.extend_from_slice(&MAGIC.to_le_bytes());
    file
}

fn put(content: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    for number in [0, key.len(), value.len()] {
        prost::encoding::encode_varint(number as u64, content);
    }
    content.extend_from_slice(key);
    content.extend_from_slice(value);
}

/// Adds a block to a file and says where it is. Nothing is shared between keys, so its one restart is its beginning.
fn finish(file: &mut Vec<u8>, mut content: Vec<u8>) -> Vec<u8> {
    content.extend_from_slice(&0_u32.to_le_bytes());
    content.extend_from_slice(&1_u32.to_le_bytes());
    let mut place = Vec::new();
    prost::encoding::encode_varint(file.len() as u64, &mut place);
    prost::encoding::encode_varint(content.len() as u64, &mut place);
    content.push(0);
    let sum = masked(crc32c::crc32c(&content));
    file.extend_from_slice(&content);
    file.extend_from_slice(&sum.to_le_bytes());
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        write([(b"".as_slice(), vec![1]), (b"a", vec![2, 3]), (b"ab", vec![])].into_iter())
    }

    #[test]
    fn what_was_written_is_read() {
        let table = read(&file().into()).unwrap();
        let wanted = [
            (b"".to_vec(), vec![1]),
            (b"a".to_vec(), vec![2, 3]),
            (b"ab".to_vec(), vec![]),
        ];
        assert!(
            table
                .iter()
                .map(|(key, value)| (key.clone(), value.to_vec()))
                .eq(wanted)
        );
    }

    #[test]
    fn keys_may_share_their_beginning_with_the_one_before() {
        let mut block = Vec::new();
        block.extend_from_slice(&[0, 3, 1, b'a', b'b', b'c', 1]);
        block.extend_from_slice(&[2, 1, 1, b'd', 2]);
        block.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
        let mut keys = Vec::new();
        entries(block.into(), &mut |key, value| {
            keys.push((key.to_vec(), value.to_vec()));
            Ok(())
        })
        .unwrap();
        assert_eq!(keys, [(b"abc".to_vec(), vec![1]), (b"abd".to_vec(), vec![2])]);
    }

    #[test]
    fn a_changed_byte_is_noticed_wherever_it_is() {
        let whole = file();
        let before = read(&whole.clone().into()).unwrap();
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 0x40;
            // What is between the places of the footer and its end is not used by anybody.
            assert!(
                read(&changed.into()).ok().is_none_or(|table| table == before),
                "byte {place}"
            );
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_noticed() {
        let whole = file();
        for length in 0..whole.len() {
            assert!(read(&whole[..length].to_vec().into()).is_err());
        }
    }
}
