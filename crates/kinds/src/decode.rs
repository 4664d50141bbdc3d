//! Brings a JSON value into the form the API gives to a built-in type: unknown fields dropped and
//! named, scalars checked, empty values left out or written as the API does, quantities and times
//! in their canonical text. One pass, in place.

mod base64;
mod position;
mod restore;
pub(crate) mod scalar;
pub(crate) mod time;

use manifests::json::go_kind;
use serde_json::{Map, Value};

use self::position::Position;
pub use self::restore::restore_error;
use crate::{
    quantity,
    types::{self, Field, Form, Struct, TypeRef},
};

/// Why a value does not fit its type, in the words of the real server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("json: cannot unmarshal {value} into Go {target}")]
    WrongType {
        /// What was given: `string`, `number 1.5`.
        value: String,
        /// What it was for: `struct field DeploymentSpec.spec.replicas of type int32`.
        target: String,
    },
    #[error(transparent)]
    Quantity(#[from] quantity::ParseError),
    #[error(transparent)]
    Time(#[from] time::ParseError),
    #[error("illegal base64 data at input byte {0}")]
    Base64(usize),
    #[error("boolean or JSON schema expected")]
    SchemaOrBool,
}

/// The real server stops counting here.
const MAX_UNKNOWN: usize = 100;

/// Normalizes a value of the type and answers with its unknown fields, each as the real server
/// words it: `unknown field "spec.containers[0].foo"`.
pub fn normalize(ty: TypeRef, value: &mut Value) -> Result<Vec<String>, DecodeError> {
    let mut decoder = Decoder::default();
    decoder.value(&Position::ROOT, ty, value)?;
    let unknown = decoder.unknown.iter();
    Ok(unknown
        .map(|field| format!("unknown field {}", manifests::field::quoted(&field.path)))
        .collect())
}

/// Everything about a value that does not fit its type, for those who want to know all of it at once. What does
/// not fit is left out of the value.
pub fn faults(ty: TypeRef, value: &mut Value) -> Faults {
    let mut decoder = Decoder {
        misfits: Some(Vec::new()),
        ..Decoder::default()
    };
    // With a list to put them on, no misfit is left to end the work.
    let _ = decoder.value(&Position::ROOT, ty, value);
    Faults {
        unknown: decoder.unknown,
        misfits: decoder.misfits.unwrap_or_default(),
    }
}

#[derive(Clone, Debug, Default)]
pub struct Faults {
    pub unknown: Vec<Unknown>,
    pub misfits: Vec<Misfit>,
}

impl Faults {
    pub fn is_empty(&self) -> bool {
        self.unknown.is_empty() && self.misfits.is_empty()
    }
}

/// A field that its type does not have.
#[derive(Clone, Debug)]
pub struct Unknown {
    pub path: String,
    /// The fields it has.
    pub owner: &'static Struct,
}

/// A value that is none of its field's type.
#[derive(Clone, Debug)]
pub struct Misfit {
    pub path: String,
    pub value: Value,
    /// What the field holds: `int64`, `[]string`.
    pub wanted: String,
    pub error: DecodeError,
}

#[derive(Default)]
struct Decoder {
    unknown: Vec<Unknown>,
    /// Where misfits are noted, unless the first one ends it all.
    misfits: Option<Vec<Misfit>>,
}

impl Decoder {
    fn value(&mut self, at: &Position<'_>, ty: TypeRef, value: &mut Value) -> Result<(), DecodeError> {
        let result = self.fit(at, ty, value);
        match (result, &mut self.misfits) {
            (Err(error), Some(misfits)) => {
                misfits.push(Misfit {
                    path: at.path(),
                    value: std::mem::replace(value, ty.zero()),
                    wanted: ty.go_name(),
                    error,
                });
                Ok(())
            }
            (result, _) => result,
        }
    }

    fn fit(&mut self, at: &Position<'_>, ty: TypeRef, value: &mut Value) -> Result<(), DecodeError> {
        match (ty.form(), &mut *value) {
            (Form::Struct(described), Value::Object(map)) => self.object(at, described, map),
            (Form::List(element), Value::Array(items)) => self.list(at, element, items),
            (Form::Map(element), Value::Object(map)) => self.map(at, element, map),
            (Form::Struct(_) | Form::List(_) | Form::Map(_), other) => {
                Err(at.mismatch(go_kind(other), &ty.go_name()))
            }
            (Form::SchemaOrArray | Form::SchemaOrBool | Form::SchemaOrStringArray, _) => {
                self.schema(at, ty.form(), value)
            }
            _ => scalar::normalize(at, ty, value),
        }
    }

    fn object(
        &mut self,
        at: &Position<'_>,
        described: &'static Struct,
        map: &mut Map<String, Value>,
    ) -> Result<(), DecodeError> {
        let mut result = Ok(());
        map.retain(|name, value| {
            let Some(field) = described.field(name) else {
                self.unknown_field(at, described, name);
                return false;
            };
            if result.is_err() {
                return true;
            }
            match self.field(&at.field(described, field.name), described, field, value) {
                Ok(keep) => keep,
                Err(error) => {
                    result = Err(error);
                    true
                }
            }
        });
        described.complete(map);
        result
    }

    /// Normalizes the value of a field and tells whether it is written at all.
    fn field(
        &mut self,
        at: &Position<'_>,
        owner: &Struct,
        field: &Field,
        value: &mut Value,
    ) -> Result<bool, DecodeError> {
        if value.is_null() {
            *value = field.ty.zero();
            return Ok(field.is_written);
        }
        self.value(at, field.ty, value)?;
        // Free JSON is the user's own: an empty object in it is not nothing.
        if field.ty.is_pointer() || matches!(field.ty.form(), Form::RawExtension) {
            return Ok(true);
        }
        // Stored as protobuf, which cannot tell an empty list from none.
        if field.is_written && is_empty(value) && field.ty.as_struct().is_none() && !owner.keeps_empty_lists()
        {
            *value = Value::Null;
        }
        Ok(field.is_written || !is_zero(value))
    }

    fn list(&mut self, at: &Position<'_>, element: TypeRef, items: &mut [Value]) -> Result<(), DecodeError> {
        for (index, item) in items.iter_mut().enumerate() {
            self.element(&at.index(index), element, item)?;
        }
        Ok(())
    }

    fn map(
        &mut self,
        at: &Position<'_>,
        element: TypeRef,
        map: &mut Map<String, Value>,
    ) -> Result<(), DecodeError> {
        for (key, value) in map.iter_mut() {
            self.element(&at.key(key), element, value)?;
        }
        Ok(())
    }

    fn element(&mut self, at: &Position<'_>, element: TypeRef, value: &mut Value) -> Result<(), DecodeError> {
        if !value.is_null() {
            return self.value(at, element, value);
        }
        *value = match element.form() {
            Form::Bytes => Value::String(String::new()),
            Form::List(_) if element.is_wrapped() => Value::Array(Vec::new()),
            _ => element.zero(),
        };
        Ok(())
    }

    /// A JSON schema where something simpler may stand in its place. The real server reads it
    /// apart: what is unknown inside is dropped without a word.
    fn schema(&mut self, at: &Position<'_>, form: Form, value: &mut Value) -> Result<(), DecodeError> {
        let Some(schema) = types::json_schema() else {
            return Ok(());
        };
        let at = at.hidden();
        match (form, &mut *value) {
            (_, Value::Object(_)) => self.value(&at, schema, value),
            (Form::SchemaOrBool, Value::Bool(_)) => Ok(()),
            (Form::SchemaOrBool, _) => Err(DecodeError::SchemaOrBool),
            (Form::SchemaOrArray, Value::Array(items)) if !items.is_empty() => self.list(&at, schema, items),
            (Form::SchemaOrStringArray, Value::Array(items)) if !items.is_empty() => {
                items.iter_mut().try_for_each(|item| string_item(&at, item))
            }
            _ => {
                *value = Value::Null;
                Ok(())
            }
        }
    }

    fn unknown_field(&mut self, at: &Position<'_>, owner: &'static Struct, name: &str) {
        if self.unknown.len() < MAX_UNKNOWN
            && let Some(path) = at.path_of_unknown(name)
        {
            self.unknown.push(Unknown { path, owner });
        }
    }
}

fn string_item(at: &Position<'_>, item: &mut Value) -> Result<(), DecodeError> {
    match item {
        Value::String(_) => {}
        Value::Null => *item = Value::String(String::new()),
        other => return Err(at.mismatch(go_kind(other), "string")),
    }
    Ok(())
}

/// Whether Go's `omitempty` leaves a scalar, list or map out.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        _ => is_empty(value),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
