//! The second version as protobuf, which is how Go clients ask for it.
//!
//! The messages are those of gnostic's `openapi.v2`; only the fields that documents here have are in
//! the tables. What has no fixed type (extensions, defaults, enumerations) travels as YAML text, and
//! JSON is YAML.

mod messages;

use serde_json::Value;

use self::messages::{INFO, PATH_ITEM, SCHEMA};
use super::document::{Document, info, security, security_definitions};
use crate::protobuf::Writer;

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
        let mut out = Writer::default();
        out.data(1, b"2.0");
        write(&mut out, 2, &info(), &Shape::Object(&INFO));
        out.nested(8, |out| {
            for (path, item) in self.paths() {
                entry(out, 2, path, &item, &Shape::Object(&PATH_ITEM));
            }
        });
        out.nested(9, |out| {
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
        out.into_bytes()
    }
}

/// Writes a value as the field with this number.
fn write(out: &mut Writer, number: u32, value: &Value, shape: &Shape) {
    match shape {
        Shape::Text => out.data(number, value.as_str().unwrap_or_default().as_bytes()),
        Shape::Flag => out.number(number, u64::from(value == true)),
        Shape::Integer => out.number(number, value.as_i64().unwrap_or_default() as u64),
        Shape::Number => out.double(number, value.as_f64().unwrap_or_default()),
        Shape::Any => out.nested(number, |out| out.data(2, value.to_string().as_bytes())),
        Shape::Object(message) => out.nested(number, |out| write_members(out, value, message)),
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
        Shape::Within(inner, shape) => out.nested(number, |out| write(out, *inner, value, shape)),
        Shape::Chosen(choose) => write(out, number, value, choose(value)),
    }
}

fn write_members(out: &mut Writer, value: &Value, message: &Message) {
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
fn entry(out: &mut Writer, number: u32, name: &str, value: &Value, shape: &Shape) {
    out.nested(number, |out| {
        out.data(1, name.as_bytes());
        write(out, 2, value, shape);
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_written_under_their_numbers() {
        let mut out = Writer::default();
        let schema = json!({"type": "string", "required": ["a"], "x-b": 1});
        write_members(&mut out, &schema, &SCHEMA);
        let required = [0x9a, 0x01, 1, b'a'];
        let ty = [0xb2, 0x01, 8, 0x0a, 6, b's', b't', b'r', b'i', b'n', b'g'];
        let extension = [0xfa, 0x01, 10, 0x0a, 3, b'x', b'-', b'b', 0x12, 3, 0x12, 1, b'1'];
        assert_eq!(out.into_bytes(), [&required[..], &ty, &extension].concat());
    }
}
