//! Kubernetes protobuf bodies, decoded by the type table to the JSON the API would write for them, and encoded from it.
//!
//! Requests come as protobuf, and watches of another server; our answers are always JSON.
//! Lengths are checked against the input and nesting is bounded: any bytes give a value or an error.

mod encode;
mod special;
mod wire;
mod writer;

use serde_json::{Map, Value};

pub use self::encode::encode_object;
use self::wire::{Payload, Reader};
pub(crate) use self::writer::Writer;
use crate::{
    decode::is_zero,
    quantity, resources,
    types::{Field, Form, Struct, TypeRef, Wire},
};

/// Why bytes are not an object.
#[derive(Debug, thiserror::Error)]
pub enum ProtobufError {
    #[error("empty data")]
    Empty,
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoEnvelope,
    #[error("no kind \"{kind}\" is registered for version \"{api_version}\"")]
    UnknownKind { api_version: String, kind: String },
    #[error("unexpected EOF")]
    Truncated,
    #[error("proto: integer overflow")]
    Overflow,
    #[error("proto: wrong wireType = {wire_type} for field {field}")]
    WrongWireType { field: &'static str, wire_type: u8 },
    #[error("proto: illegal wireType {0}")]
    IllegalWireType(u8),
    #[error("proto: messages are nested too deeply")]
    TooDeep,
    #[error("proto: too many messages")]
    TooMany,
    #[error("proto: the time {0} is outside of the years 1 to 9999")]
    Time(i64),
    #[error(transparent)]
    Quantity(#[from] quantity::ParseError),
    #[error("an embedded object is not JSON")]
    Json(#[source] serde_json::Error),
}

/// What is around an object: its kind, and its bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    pub api_version: String,
    pub kind: String,
    pub raw: &'a [u8],
}

/// Deeper than any real object; each level costs stack.
const MAX_DEPTH: u32 = 64;
/// More than any object that fits a request has; an empty message of two bytes becomes an object
/// hundreds of bytes large.
const MAX_MESSAGES: u32 = 100_000;

const MAGIC: &[u8] = b"k8s\0";

/// Decodes a whole body: its `apiVersion`, its `kind` and the object, as JSON.
pub fn decode_object(bytes: &[u8]) -> Result<(String, String, Value), ProtobufError> {
    decode_object_without(bytes, &[])
}

/// The same without fields that nobody reads, such as `spec` or `metadata.managedFields`: their bytes are passed over.
pub fn decode_object_without(
    bytes: &[u8],
    unread: &[&str],
) -> Result<(String, String, Value), ProtobufError> {
    let Envelope {
        api_version,
        kind,
        raw,
    } = envelope(bytes)?;
    let Some(ty) = resources::type_of(&api_version, &kind) else {
        return Err(ProtobufError::UnknownKind { api_version, kind });
    };
    let mut value = Decoder::new(unread).value(ty, "object", Payload::Bytes(raw))?;
    if let Value::Object(map) = &mut value {
        map.insert("apiVersion".to_owned(), Value::from(api_version.as_str()));
        map.insert("kind".to_owned(), Value::from(kind.as_str()));
    }
    Ok((api_version, kind, value))
}

/// Opens the envelope of a body, for a caller that knows better what kind to expect.
pub fn envelope(bytes: &[u8]) -> Result<Envelope<'_>, ProtobufError> {
    if bytes.is_empty() {
        return Err(ProtobufError::Empty);
    }
    let message = bytes.strip_prefix(MAGIC).ok_or(ProtobufError::NoEnvelope)?;
    let mut envelope = Envelope {
        api_version: String::new(),
        kind: String::new(),
        raw: &[],
    };
    let mut reader = Reader::new(message);
    while let Some((tag, payload)) = reader.next()? {
        match (tag, payload) {
            (1, Payload::Bytes(type_meta)) => {
                let mut reader = Reader::new(type_meta);
                while let Some((tag, payload)) = reader.next()? {
                    match tag {
                        1 => envelope.api_version = payload.text("apiVersion")?,
                        2 => envelope.kind = payload.text("kind")?,
                        _ => {}
                    }
                }
            }
            (2, Payload::Bytes(raw)) => envelope.raw = raw,
            _ => {}
        }
    }
    Ok(envelope)
}

/// Decodes a message of a known type, as JSON.
pub fn decode(ty: TypeRef, raw: &[u8]) -> Result<Value, ProtobufError> {
    Decoder::new(&[]).value(ty, "object", Payload::Bytes(raw))
}

/// Opens an event of a watch: its type, and the body that is its object.
pub fn watch_event(bytes: &[u8]) -> Result<(String, &[u8]), ProtobufError> {
    let (mut kind, mut object) = (String::new(), &[][..]);
    let mut reader = Reader::new(bytes);
    while let Some((tag, payload)) = reader.next()? {
        match (tag, payload) {
            (1, payload) => kind = payload.text("type")?,
            (2, Payload::Bytes(extension)) => {
                let mut reader = Reader::new(extension);
                while let Some((tag, payload)) = reader.next()? {
                    if let (1, Payload::Bytes(raw)) = (tag, payload) {
                        object = raw;
                    }
                }
            }
            _ => {}
        }
    }
    Ok((kind, object))
}

struct Decoder<'a> {
    depth: u32,
    messages: u32,
    /// Paths of fields to pass over.
    unread: &'a [&'a str],
    /// Where in the object: the field at the top that is being read.
    top: &'static str,
}

impl<'a> Decoder<'a> {
    fn new(unread: &'a [&'a str]) -> Self {
        Self {
            depth: 0,
            messages: 0,
            unread,
            top: "",
        }
    }

    /// Whether nobody reads a field at the present depth.
    fn is_unread(&mut self, name: &'static str) -> bool {
        if self.unread.is_empty() {
            return false;
        }
        match self.depth {
            1 => {
                self.top = name;
                self.unread.contains(&name)
            }
            2 => self
                .unread
                .iter()
                .any(|path| path.split_once('.') == Some((self.top, name))),
            _ => false,
        }
    }

    /// Reads all fields of a message into an object, then adds those that are always written.
    fn message(
        &mut self,
        described: &'static Struct,
        bytes: &[u8],
        map: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        self.fields(described, bytes, map)?;
        described.complete(map);
        Ok(())
    }

    fn fields(
        &mut self,
        described: &'static Struct,
        bytes: &[u8],
        map: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        self.enter()?;
        let mut reader = Reader::new(bytes);
        while let Some((tag, payload)) = reader.next()? {
            match described.at_tag(tag) {
                Some(Wire::Field(field)) => self.field(field, payload, map)?,
                Some(Wire::Inline(inner)) => self.fields(inner, payload.bytes(inner.name)?, map)?,
                None => {}
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn enter(&mut self) -> Result<(), ProtobufError> {
        self.depth += 1;
        self.messages += 1;
        if self.depth > MAX_DEPTH {
            return Err(ProtobufError::TooDeep);
        }
        if self.messages > MAX_MESSAGES {
            return Err(ProtobufError::TooMany);
        }
        Ok(())
    }

    /// Puts one occurrence of a field into the object: lists and maps grow, messages merge, of
    /// anything else the last one counts.
    fn field(
        &mut self,
        field: &'static Field,
        payload: Payload<'_>,
        map: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        let name = field.name;
        if self.is_unread(name) {
            return Ok(());
        }
        match field.ty.form() {
            Form::List(element) if !field.ty.is_wrapped() => {
                let items = array(map.entry(name).or_insert_with(|| Value::Array(Vec::new())));
                self.items(element, name, payload, items)
            }
            Form::Map(element) => {
                let entries = object(map.entry(name).or_insert_with(|| Value::Object(Map::new())));
                self.entry(element, name, payload, entries)
            }
            Form::Struct(described) => {
                let inner = object(map.entry(name).or_insert_with(|| Value::Object(Map::new())));
                self.message(described, payload.bytes(name)?, inner)
            }
            _ => {
                let value = self.value(field.ty, name, payload)?;
                if field.is_written || field.ty.is_pointer() || !is_zero(&value) {
                    map.insert(name.to_owned(), value);
                } else {
                    map.remove(name);
                }
                Ok(())
            }
        }
    }

    /// One item of a list, or several numbers packed into one field.
    fn items(
        &mut self,
        element: TypeRef,
        name: &'static str,
        payload: Payload<'_>,
        items: &mut Vec<Value>,
    ) -> Result<(), ProtobufError> {
        let numeric = matches!(element.form(), Form::Int32 | Form::Int64 | Form::Bool);
        if let (true, Payload::Bytes(packed)) = (numeric, payload) {
            let mut reader = Reader::new(packed);
            while !reader.is_empty() {
                let number = Payload::Varint(reader.varint()?);
                items.push(self.value(element, name, number)?);
            }
            return Ok(());
        }
        items.push(self.value(element, name, payload)?);
        Ok(())
    }

    /// One entry of a map: a message with the key and the value.
    fn entry(
        &mut self,
        element: TypeRef,
        name: &'static str,
        payload: Payload<'_>,
        entries: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        let mut key = String::new();
        let mut value = None;
        let mut reader = Reader::new(payload.bytes(name)?);
        while let Some((tag, payload)) = reader.next()? {
            match tag {
                1 => key = payload.text(name)?,
                2 => value = Some(self.value(element, name, payload)?),
                _ => {}
            }
        }
        let value = match value {
            Some(value) => value,
            None => self.value(element, name, Payload::empty(element.form()))?,
        };
        entries.insert(key, value);
        Ok(())
    }

    fn value(
        &mut self,
        ty: TypeRef,
        name: &'static str,
        payload: Payload<'_>,
    ) -> Result<Value, ProtobufError> {
        Ok(match ty.form() {
            Form::Struct(described) => {
                let mut map = Map::new();
                self.message(described, payload.bytes(name)?, &mut map)?;
                Value::Object(map)
            }
            // Go has a few lists that are messages of their own.
            Form::List(element) => {
                let mut items = Vec::new();
                let mut reader = Reader::new(payload.bytes(name)?);
                while let Some((tag, payload)) = reader.next()? {
                    if tag == 1 {
                        self.items(element, name, payload, &mut items)?;
                    }
                }
                Value::Array(items)
            }
            Form::SchemaOrArray | Form::SchemaOrBool | Form::SchemaOrStringArray => {
                self.schema(ty.form(), payload.bytes(name)?)?
            }
            form => special::value(form, name, payload)?,
        })
    }
}

fn array(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    let Value::Array(items) = value else {
        unreachable!("made an array above")
    };
    items
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(map) = value else {
        unreachable!("made an object above")
    };
    map
}

#[cfg(test)]
mod tests;
