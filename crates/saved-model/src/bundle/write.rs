//! Writing the values of variables, as TensorFlow reads them.

use std::collections::BTreeMap;

use prost::Message as _;

use super::{masked, table};
use crate::{
    proto::{BundleEntry, BundleHeader, TensorShapeProto, VersionDef},
    tensor::Tensor,
};

/// An index and one shard. Text has no place in it: none of our models has variables of text.
pub(crate) fn write(variables: &BTreeMap<String, Tensor>) -> (Vec<u8>, Vec<u8>) {
    let mut shard = Vec::new();
    let mut entries = vec![(b"".as_slice(), header())];
    for (name, tensor) in variables {
        let bytes = tensor.to_bytes().unwrap_or_default();
        let sizes: Vec<i64> = tensor.shape().iter().map(|size| *size as i64).collect();
        let entry = BundleEntry {
            dtype: tensor.dtype().number(),
            shape: Some(TensorShapeProto::of(&sizes)),
            shard_id: 0,
            offset: shard.len() as i64,
            size: bytes.len() as i64,
            crc32c: masked(crc32c::crc32c(&bytes)),
            slices: Vec::new(),
        };
        shard.extend_from_slice(&bytes);
        entries.push((name.as_bytes(), entry.encode_to_vec()));
    }
    (table::write(entries.into_iter()), shard)
}

fn header() -> Vec<u8> {
    let header = BundleHeader {
        num_shards: 1,
        endianness: 0,
        version: Some(VersionDef {
            producer: 1,
            min_consumer: 0,
        }),
    };
    header.encode_to_vec()
}
