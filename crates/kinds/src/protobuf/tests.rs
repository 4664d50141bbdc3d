use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::*;
use crate::{decode::normalize, types};

/// Objects of our own, encoded by the real client libraries.
pub(super) fn vectors() -> Vec<(Vec<u8>, Value)> {
    let mut lines = include_str!("vectors.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut vectors = Vec::new();
    while let (Some(encoded), Some(expected)) = (lines.next(), lines.next()) {
        vectors.push((
            STANDARD.decode(encoded).unwrap(),
            serde_json::from_str(expected).unwrap(),
        ));
    }
    vectors
}

/// A small generator, so that the noise is the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

#[test]
fn what_real_clients_encode_is_decoded() {
    assert!(vectors().len() > 15);
    for (encoded, expected) in vectors() {
        let (api_version, kind, value) = decode_object(&encoded).unwrap();
        assert_eq!(value, expected, "{kind}");
        assert_eq!(
            (&*api_version, &*kind),
            (
                expected["apiVersion"].as_str().unwrap(),
                expected["kind"].as_str().unwrap()
            )
        );
    }
}

#[test]
fn what_is_decoded_is_already_normal() {
    for (encoded, _) in vectors() {
        let (api_version, kind, value) = decode_object(&encoded).unwrap();
        let mut again = value.clone();
        let unknown = normalize(resources::type_of(&api_version, &kind).unwrap(), &mut again).unwrap();
        assert_eq!((again, unknown), (value, vec![]), "{kind}");
    }
}

#[test]
fn what_nobody_reads_is_passed_over_and_nothing_else() {
    for (encoded, mut expected) in vectors() {
        let read = decode_object_without(&encoded, &["spec", "metadata.labels"]);
        let (_, kind, mut value) = read.unwrap();
        if let Some(metadata) = expected.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            metadata.remove("labels");
        }
        expected.as_object_mut().unwrap().remove("spec");
        // What is always written is written of an empty one, too.
        value.as_object_mut().unwrap().remove("spec");
        assert_eq!(value, expected, "{kind}");
    }
}

#[test]
fn damaged_bytes_never_panic() {
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    for (encoded, _) in vectors() {
        for length in 0..encoded.len() {
            let _ = decode_object(&encoded[..length]);
            let _ = watch_event(&encoded[..length]);
        }
        for _ in 0..2000 {
            let mut damaged = encoded.clone();
            for _ in 0..=noise.below(4) {
                let at = noise.below(damaged.len());
                damaged[at] = noise.next() as u8;
            }
            let _ = decode_object(&damaged);
            let _ = decode_object_without(&damaged, &["spec", "metadata.labels"]);
        }
    }
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut noise = Noise(7);
    for described in types::structs() {
        for _ in 0..40 {
            let bytes: Vec<u8> = (0..noise.below(60)).map(|_| noise.next() as u8).collect();
            let _ = decode(described.type_ref(), &bytes);
        }
    }
}

#[test]
fn nesting_is_bounded() {
    let schema = types::json_schema().unwrap();
    // `not` (tag 28) is a schema inside of a schema, as deep as wanted.
    let mut bytes = Vec::new();
    for _ in 0..1000 {
        let mut outer = vec![0xe2, 0x01];
        let mut length = bytes.len();
        while length >= 0x80 {
            outer.push(length as u8 | 0x80);
            length >>= 7;
        }
        outer.push(length as u8);
        outer.append(&mut bytes);
        bytes = outer;
    }
    assert!(matches!(decode(schema, &bytes), Err(ProtobufError::TooDeep)));
}

#[test]
fn small_input_cannot_become_a_large_object() {
    let bytes = [2 << 3 | 2, 0].repeat(1_000_000);
    let pod_spec = types::by_name("io.k8s.api.core.v1.PodSpec").unwrap();
    assert!(matches!(decode(pod_spec, &bytes), Err(ProtobufError::TooMany)));
}

#[test]
fn a_body_says_what_it_is() {
    assert!(matches!(decode_object(b"{}"), Err(ProtobufError::NoEnvelope)));
    let body = b"k8s\0\x0a\x0b\x0a\x02v9\x12\x05Thing\x12\x00";
    let error = decode_object(body).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"no kind "Thing" is registered for version "v9""#
    );
    assert_eq!(envelope(body).unwrap().kind, "Thing");
}

#[test]
fn the_last_scalar_counts_and_lists_grow() {
    let meta = types::by_name("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta").unwrap();
    let bytes = b"\x0a\x01a\x0a\x01b\x72\x01x\x72\x01y";
    assert_eq!(
        decode(meta, bytes).unwrap(),
        json!({"name": "b", "finalizers": ["x", "y"]})
    );
}

#[test]
fn a_wrong_wire_type_names_the_field() {
    let meta = types::by_name("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta").unwrap();
    let error = decode(meta, b"\x08\x01").unwrap_err();
    assert_eq!(error.to_string(), "proto: wrong wireType = 0 for field name");
}
