//! The values of a model's variables: an index, which is a sorted table, and shards with the values as they lie in
//! memory. Every block and every tensor has a checksum, and each is checked.

mod table;
mod write;

use std::collections::BTreeMap;

use bytes::{Buf as _, Bytes};
use prost::Message as _;

pub(crate) use write::write;

use crate::{
    files::Files,
    proto::{BundleEntry, BundleHeader},
    tensor::{DType, Element as _, Shape, Tensor, count},
};

/// What is wrong with the files of the variables.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("`{path}` cannot be read")]
    Unreadable {
        path: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("`{path}` is damaged: {what}")]
    Damaged { path: String, what: String },
    #[error("`{path}` has no values for the variable `{name}`")]
    Missing { path: String, name: String },
    #[error("`{path}` has the variable `{name}` in a form that is not supported: {what}")]
    Unsupported {
        path: String,
        name: String,
        what: String,
    },
}

/// Checksums are stored masked, so that one over data with checksums in it is still worth something.
pub(crate) fn masked(sum: u32) -> u32 {
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The variables of a model, by name.
pub(crate) struct Bundle<'a> {
    files: &'a dyn Files,
    prefix: String,
    shards: i32,
    entries: BTreeMap<Vec<u8>, Bytes>,
}

impl<'a> Bundle<'a> {
    /// Opens the bundle whose files begin with `prefix`.
    pub(crate) fn open(files: &'a dyn Files, prefix: &str) -> Result<Self, BundleError> {
        let path = format!("{prefix}.index");
        let damaged = |what: String| BundleError::Damaged {
            path: path.clone(),
            what,
        };
        let index = files.read(&path).map_err(|cause| BundleError::Unreadable {
            path: path.clone(),
            cause,
        })?;
        let mut entries = table::read(&Bytes::from(index)).map_err(|what| damaged(what.to_owned()))?;
        let header = entries
            .remove(b"".as_slice())
            .ok_or_else(|| damaged("it has no header".to_owned()))?;
        let header = BundleHeader::decode(header).map_err(|error| damaged(error.to_string()))?;
        if header.endianness != 0 {
            return Err(damaged(
                "it was written by a machine with the big end first".to_owned(),
            ));
        }
        Ok(Self {
            files,
            prefix: prefix.to_owned(),
            shards: header.num_shards,
            entries,
        })
    }

    /// The values of one variable.
    pub(crate) fn tensor(&self, name: &str) -> Result<Tensor, BundleError> {
        let index = || format!("{}.index", self.prefix);
        let entry = self
            .entries
            .get(name.as_bytes())
            .ok_or_else(|| BundleError::Missing {
                path: index(),
                name: name.to_owned(),
            })?;
        let entry = BundleEntry::decode(entry.clone()).map_err(|error| BundleError::Damaged {
            path: index(),
            what: format!("the entry of `{name}`: {error}"),
        })?;
        let unsupported = |what: &str| BundleError::Unsupported {
            path: index(),
            name: name.to_owned(),
            what: what.to_owned(),
        };
        if !entry.slices.is_empty() {
            return Err(unsupported("it was saved in pieces"));
        }
        let dtype = DType::from_number(entry.dtype)
            .filter(|dtype| *dtype != DType::List)
            .ok_or_else(|| unsupported(DType::name_of(entry.dtype)))?;
        let shape = entry.shape.iter().flat_map(|shape| &shape.dim);
        let shape: Option<Shape> = shape.map(|dim| usize::try_from(dim.size).ok()).collect();
        let shape = shape
            .filter(|shape| count(shape).is_some())
            .ok_or_else(|| unsupported("its shape is not one"))?;
        let path = format!("{}.data-{:05}-of-{:05}", self.prefix, entry.shard_id, self.shards);
        let bytes = self.bytes(&path, &entry)?;
        Self::values(dtype, shape, bytes, &entry).map_err(|what| BundleError::Damaged {
            path,
            what: format!("`{name}`: {what}"),
        })
    }

    fn bytes(&self, path: &str, entry: &BundleEntry) -> Result<Bytes, BundleError> {
        let place = u64::try_from(entry.offset)
            .ok()
            .zip(usize::try_from(entry.size).ok());
        let (offset, size) = place.ok_or_else(|| BundleError::Damaged {
            path: path.to_owned(),
            what: "a place before its beginning".to_owned(),
        })?;
        let bytes = self.files.read_range(path, offset, size);
        bytes.map(Bytes::from).map_err(|cause| BundleError::Unreadable {
            path: path.to_owned(),
            cause,
        })
    }

    fn values(dtype: DType, shape: Shape, bytes: Bytes, entry: &BundleEntry) -> Result<Tensor, String> {
        if dtype == DType::Text {
            return text(shape, bytes, entry.crc32c);
        }
        if masked(crc32c::crc32c(&bytes)) != entry.crc32c {
            return Err("the values do not match their checksum".to_owned());
        }
        Tensor::from_bytes(dtype, shape, &bytes).map_err(|error| error.to_string())
    }
}

/// Text is stored as all the lengths, a checksum of them, and all the characters.
fn text(shape: Shape, mut bytes: Bytes, wanted: u32) -> Result<Tensor, String> {
    let texts = count(&shape).unwrap_or_default();
    let cut_off = || "the text is cut off".to_owned();
    // Each length takes a byte at least; the shape may promise anything.
    if bytes.len() < texts {
        return Err(cut_off());
    }
    let mut lengths = Vec::with_capacity(texts);
    let mut sum = 0;
    for _ in 0..texts {
        let length = prost::encoding::decode_varint(&mut bytes).map_err(|_| cut_off())?;
        sum = match u32::try_from(length) {
            Ok(short) => crc32c::crc32c_append(sum, &short.to_le_bytes()),
            Err(_) => crc32c::crc32c_append(sum, &length.to_le_bytes()),
        };
        lengths.push(usize::try_from(length).map_err(|_| cut_off())?);
    }
    let stored = bytes.try_get_u32_le().map_err(|_| cut_off())?;
    if stored != masked(sum) {
        return Err("the lengths of the text do not match their checksum".to_owned());
    }
    sum = crc32c::crc32c_append(sum, &stored.to_le_bytes());
    sum = crc32c::crc32c_append(sum, &bytes);
    if wanted != masked(sum) {
        return Err("the text does not match its checksum".to_owned());
    }
    let mut values = Vec::with_capacity(texts);
    for length in lengths {
        if bytes.len() < length {
            return Err(cut_off());
        }
        values.push(bytes.split_to(length));
    }
    Tensor::from_parts(shape, Bytes::data(values.into())).ok_or_else(cut_off)
}
