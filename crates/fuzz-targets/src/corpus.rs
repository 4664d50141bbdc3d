//! Inputs to begin with: small documents of our own, one file a target.

use base64::{Engine as _, prelude::BASE64_STANDARD};

/// The examples of a file, which are separated by empty lines.
pub(crate) fn examples(text: &str) -> Vec<Vec<u8>> {
    text.split("\n\n")
        .map(|example| example.trim_end_matches('\n').as_bytes().to_vec())
        .collect()
}

/// Objects of every sort, encoded by the real client libraries: the protobuf form and the JSON.
fn encoded_objects() -> impl Iterator<Item = (&'static str, &'static str)> {
    let text = include_str!("../../kinds/src/protobuf/vectors.txt");
    let mut lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    std::iter::from_fn(move || Some((lines.next()?, lines.next()?)))
}

pub(crate) fn protobuf() -> Vec<Vec<u8>> {
    encoded_objects()
        .map(|(encoded, _)| BASE64_STANDARD.decode(encoded).unwrap())
        .collect()
}

/// The same objects as JSON, beside the examples of a file.
pub(crate) fn objects_and(text: &str) -> Vec<Vec<u8>> {
    let objects = encoded_objects().map(|(_, json)| json.as_bytes().to_vec());
    objects.chain(examples(text)).collect()
}
