//! The second version as protobuf, which is how Go clients ask for it.
//!
//! The messages are those of gnostic's `openapi.v2`; only the fields that documents here have are in
//! the tables. What has no fixed type (extensions, defaults, enumerations) travels as YAML text, and
//! JSON is YAML.

mod messages;

use serde_json::Value;

use self::messages::{INFO, PATH_ITEM, SCHEMA};
use super::document::{Document, info, security, security_definitions};

/// The fields of a message, by their JSON names.
struct Message {
    fields: &'static [(&'static str, u32, Shape)],
    /// The number of the field for members that start with `x-`.
    extensions: u32,
}

/// How a JSON value is written.
enum Shape {
    Text,
    Flag,
    Integer,
    Number,
    /// Any value at all.
    Any,
    Object(&'static Message),
    List(&'static Shape),
    /// An object with free keys: one message with a name and a value for each.
    Entries(&'static Shape),
    /// In a message of its own, at this number.
    Within(u32, &'static Shape),
    /// As the value itself tells.
    Chosen(fn(&Value) -> &'static Shape),
}

impl Document<'_> {
    /// The document as `application/com.github.proto-openapi.spec.v2.v1.0+protobuf`. Only the second
    /// version has such a form.
    pub fn to_protobuf(&self) -> Vec<u8> {
        let mut out = Vec::new();
        bytes(&mut out, 1, b"2.0");
        write(&mut out, 2, &info(), &Shape::Object(&INFO));
        nest(&mut out, 8, |out| {
            for (path, item) in self.paths() {
                entry(out, 2, path, &item, &Shape::Object(&PATH_ITEM));
            }
        });
        nest(&mut out, 9, |out| {
            for (name, schema) in self.schemas() {
                entry(out, 1, name, &schema, &Shape::Object(&SCHEMA));
            }
        });
        write(&mut out, 12, &security(), &messages::SECURITY);
        write(
            &mut out,
            13,
            &security_definitions(),
            &messages::SECURITY_DEFINITIONS,
        );
        out
    }
}

/// Writes a value as the field with this number.
fn write(out: &mut Vec<u8>, number: u32, value: &Value, shape: &Shape) {
    match shape {
        Shape::Text => bytes(out, number, value.as_str().unwrap_or_default().as_bytes()),
        Shape::Flag => varint_field(out, number, u64::from(value == true)),
        Shape::Integer => varint_field(out, number, value.as_i64().unwrap_or_default() as u64),
        Shape::Number => {
            varint(out, u64::from(number) << 3 | 1);
            out.extend(value.as_f64().unwrap_or_default().to_le_bytes());
        }
        Shape::Any => nest(out, number, |out| bytes(out, 2, value.to_string().as_bytes())),
        Shape::Object(message) => nest(out, number, |out| write_members(out, value, message)),
        Shape::List(item) => {
            for value in value.as_array().into_iter().flatten() {
                write(out, number, value, item);
            }
        }
        Shape::Entries(shape) => {
            for (name, value) in value.as_object().into_iter().flatten() {
                entry(out, number, name, value, shape);
            }
        }
        Shape::Within(inner, shape) => nest(out, number, |out| write(out, *inner, value, shape)),
        Shape::Chosen(choose) => write(out, number, value, choose(value)),
    }
}

fn write_members(out: &mut Vec<u8>, value: &Value, message: &Message) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let known = message.fields.iter().find(|(known, ..)| known == name);
        if let Some((_, number, shape)) = known {
            write(out, *number, value, shape);
        } else if name.starts_with("x-") {
            entry(out, message.extensions, name, value, &Shape::Any);
        }
    }
}

/// A message with a name and a value.
fn entry(out: &mut Vec<u8>, number: u32, name: &str, value: &Value, shape: &Shape) {
    nest(out, number, |out| {
        bytes(out, 1, name.as_bytes());
        write(out, 2, value, shape);
    });
}

/// A message as the field with this number.
fn nest(out: &mut Vec<u8>, number: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    fill(&mut inner);
    bytes(out, number, &inner);
}

fn bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    varint(out, u64::from(number) << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn varint_field(out: &mut Vec<u8>, number: u32, value: u64) {
    varint(out, u64::from(number) << 3);
    varint(out, value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_written_under_their_numbers() {
        let mut out = Vec::new();
        let schema = json!({"type": "string", "required": ["a"], "x-b": 1});
        write_members(&mut out, &schema, &SCHEMA);
        let required = [0x9a, 0x01, 1, b'a'];
        let ty = [0xb2, 0x01, 8, 0x0a, 6, b's', b't', b'r', b'i', b'n', b'g'];
        let extension = [0xfa, 0x01, 10, 0x0a, 3, b'x', b'-', b'b', 0x12, 3, 0x12, 1, b'1'];
        assert_eq!(out, [&required[..], &ty, &extension].concat());
    }

    #[test]
    fn long_messages_have_long_lengths() {
        let mut out = Vec::new();
        bytes(&mut out, 9, &[0; 300]);
        assert_eq!(out[..3], [0x4a, 0xac, 0x02]);
    }
}
