//! Scalars, and the messages that JSON writes as something else than an object of their fields.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{
    Decoder, ProtobufError,
    wire::{Payload, Reader},
};
use crate::{
    decode::{
        scalar::number,
        time::{self, Precision},
    },
    quantity::Quantity,
    types::{self, Form},
};

/// A value without fields of its own.
pub(super) fn value(form: Form, name: &'static str, payload: Payload<'_>) -> Result<Value, ProtobufError> {
    Ok(match form {
        Form::String => Value::String(payload.text(name)?),
        Form::Bool => Value::Bool(payload.number(name)? != 0),
        Form::Int32 => Value::from(payload.number(name)? as i32),
        Form::Int64 => Value::from(payload.number(name)? as i64),
        Form::Double => number(payload.double(name)?),
        Form::Bytes => Value::String(STANDARD.encode(payload.bytes(name)?)),
        Form::Quantity => quantity(payload.bytes(name)?)?,
        Form::IntOrString => int_or_string(payload.bytes(name)?)?,
        Form::Time => moment(payload.bytes(name)?, Precision::Seconds)?,
        Form::MicroTime => moment(payload.bytes(name)?, Precision::Micros)?,
        Form::RawExtension | Form::FieldsV1 | Form::Json => raw(payload.bytes(name)?)?,
        // Structs, lists, maps and schemas recurse and are read by the decoder.
        _ => Value::Null,
    })
}

/// `{string = 1}`
fn quantity(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut quantity = Quantity::ZERO;
    let mut reader = Reader::new(bytes);
    while let Some((tag, payload)) = reader.next()? {
        if tag == 1 {
            quantity = Quantity::parse(&payload.text("string")?)?;
        }
    }
    Ok(Value::String(quantity.to_string()))
}

/// `{type = 1, intVal = 2, strVal = 3}`
fn int_or_string(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    let mut reader = Reader::new(bytes);
    while let Some((tag, payload)) = reader.next()? {
        match tag {
            1 => is_text = payload.number("type")? == 1,
            2 => number = payload.number("intVal")? as i32,
            3 => text = payload.text("strVal")?,
            _ => {}
        }
    }
    Ok(if is_text {
        Value::String(text)
    } else {
        Value::from(number)
    })
}

/// `{seconds = 1, nanos = 2}`; no bytes at all are no time.
fn moment(bytes: &[u8], precision: Precision) -> Result<Value, ProtobufError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(bytes);
    while let Some((tag, payload)) = reader.next()? {
        match tag {
            1 => seconds = payload.number("seconds")? as i64,
            2 => nanos = payload.number("nanos")? as i32,
            _ => {}
        }
    }
    time::from_unix(seconds, nanos, precision).ok_or(ProtobufError::Time(seconds))
}

/// `{raw = 1}`: JSON inside of protobuf.
fn raw(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut raw: &[u8] = &[];
    let mut reader = Reader::new(bytes);
    while let Some((tag, payload)) = reader.next()? {
        if tag == 1 {
            raw = payload.bytes("raw")?;
        }
    }
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(raw).map_err(ProtobufError::Json)
}

impl Decoder<'_> {
    /// `{schema = 1, jSONSchemas = 2}`, `{allows = 1, schema = 2}` or `{schema = 1, property = 2}`.
    pub(super) fn schema(&mut self, form: Form, bytes: &[u8]) -> Result<Value, ProtobufError> {
        let Some(schema) = types::json_schema() else {
            return Ok(Value::Null);
        };
        let mut allows = false;
        let mut found = None;
        let mut items = Vec::new();
        let mut reader = Reader::new(bytes);
        while let Some((tag, payload)) = reader.next()? {
            match (form, tag) {
                (Form::SchemaOrBool, 1) => allows = payload.number("allows")? != 0,
                (Form::SchemaOrBool, 2) | (_, 1) => found = Some(self.value(schema, "schema", payload)?),
                (Form::SchemaOrArray, 2) => items.push(self.value(schema, "jSONSchemas", payload)?),
                (_, 2) => items.push(Value::String(payload.text("property")?)),
                _ => {}
            }
        }
        let simple = if form == Form::SchemaOrBool {
            Value::Bool(allows)
        } else {
            Value::Null
        };
        Ok(if items.is_empty() {
            found.unwrap_or(simple)
        } else {
            Value::Array(items)
        })
    }
}
