//! ConfigMap: keys that make file names, at most 1 MiB, and a switch that freezes it.

use base64::Engine as _;
use manifests::field::{FieldError, Path};
use serde_json::Value;

use super::field::{Errors, Field};
use crate::{checks::same, read, strategy::Strategy};

/// The most a ConfigMap or Secret may hold, in bytes.
pub(crate) const MAX_SIZE: usize = 1024 * 1024;

pub(crate) const FROZEN: &str = "field is immutable when `immutable` is set";

pub(crate) static STRATEGY: Strategy = Strategy {
    validate,
    validate_update,
    ..Strategy::NONE
};

fn validate(config_map: &Value, errors: &mut Errors) {
    let root = Field::root(config_map);
    let mut size = 0;
    for (key, entry) in root.child("data").entries() {
        validate_key(key, &entry, errors);
        if read::get(config_map, "binaryData").get(key).is_some() {
            entry.invalid_as(key, "duplicate of key present in binaryData", errors);
        }
        size += entry.text().len();
    }
    for (key, entry) in root.child("binaryData").entries() {
        validate_key(key, &entry, errors);
        size += decoded_len(entry.text());
    }
    if size > MAX_SIZE {
        // About the object as a whole, whose path the real server writes as an empty key.
        errors.push(FieldError::too_long(&Path::root().key(""), MAX_SIZE));
    }
}

fn validate_update(config_map: &Value, old: &Value, errors: &mut Errors) {
    validate_frozen(config_map, old, &["data", "binaryData"], errors);
    validate(config_map, errors);
}

/// Once `immutable` is set, neither it nor the named fields change.
pub(crate) fn validate_frozen(object: &Value, old: &Value, fields: &[&str], errors: &mut Errors) {
    if !read::flag(old, "immutable") {
        return;
    }
    if !read::flag(object, "immutable") {
        Field::root(object).child("immutable").forbidden(FROZEN, errors);
    }
    for field in fields {
        if !same(read::get(object, field), read::get(old, field)) {
            Field::root(object).child(field).forbidden(FROZEN, errors);
        }
    }
}

pub(crate) fn validate_key(key: &str, entry: &Field<'_>, errors: &mut Errors) {
    entry.named(key, super::syntax::config_key, errors);
}

/// How many bytes a base64 text holds, without decoding it.
pub(crate) fn decoded_len(text: &str) -> usize {
    let text = text.trim_end_matches('=');
    text.len() * 3 / 4
}

pub(crate) fn decode(text: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap_or_default()
}
