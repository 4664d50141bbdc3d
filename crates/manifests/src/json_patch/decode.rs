//! From a JSON value to the operations of a patch, with the errors of the API server's decoder.

use serde_json::{Map, Value};

use super::{JsonPatchError, MAX_OPERATIONS, Outcome};
use crate::field::quoted;
use crate::json::go_kind;

const FIELDS: [&str; 4] = ["from", "op", "path", "value"];

/// One step of a patch, as it stands there.
pub(super) struct Operation<'p> {
    pub(super) op: &'p str,
    pub(super) path: Option<&'p str>,
    pub(super) from: Option<&'p str>,
    pub(super) value: Option<&'p Value>,
}

impl<'p> Operation<'p> {
    pub(super) fn value_or_null(&self) -> Value {
        self.value.cloned().unwrap_or_default()
    }

    pub(super) fn required_path(&self, op: &str) -> Outcome<&'p str> {
        self.path.ok_or_else(|| {
            format!("{op} operation failed to decode path: operation missing path field: missing value")
        })
    }

    pub(super) fn required_from(&self, op: &str) -> Outcome<&'p str> {
        self.from.ok_or_else(|| {
            format!("{op} operation failed to decode from: operation, missing from field: missing value")
        })
    }
}

pub(super) fn operations(patch: &Value) -> Result<Vec<Operation<'_>>, JsonPatchError> {
    let operations = match patch {
        Value::Null => return Ok(Vec::new()),
        Value::Array(operations) => operations,
        other => return Err(wrong_type(other, "value of type []handlers.jsonPatchOp")),
    };
    let decoded = operations.iter().map(operation).collect::<Result<Vec<_>, _>>()?;
    if decoded.len() > MAX_OPERATIONS {
        return Err(JsonPatchError::TooManyOperations(decoded.len()));
    }
    Ok(decoded)
}

/// What field validation has to say about a patch: fields that no operation has.
pub fn unknown_fields(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().map(Vec::as_slice).unwrap_or_default();
    let fields = operations.iter().enumerate().flat_map(|(index, operation)| {
        operation
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .map(move |name| (index, name))
    });
    fields
        .filter(|(_, name)| !FIELDS.contains(&name.as_str()))
        .map(|(index, name)| format!("unknown field {}", quoted(&format!("[{index}].{name}"))))
        .collect()
}

fn operation(value: &Value) -> Result<Operation<'_>, JsonPatchError> {
    let object = match value {
        Value::Null => None,
        Value::Object(object) => Some(object),
        other => return Err(wrong_type(other, "value of type handlers.jsonPatchOp")),
    };
    Ok(Operation {
        op: text(object, "op")?.unwrap_or("unknown"),
        path: text(object, "path")?,
        from: text(object, "from")?,
        value: object.and_then(|object| object.get("value")),
    })
}

fn text<'p>(object: Option<&'p Map<String, Value>>, field: &str) -> Result<Option<&'p str>, JsonPatchError> {
    match object.and_then(|object| object.get(field)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong_type(
            other,
            &format!("struct field jsonPatchOp.{field} of type string"),
        )),
    }
}

fn wrong_type(value: &Value, wanted: &str) -> JsonPatchError {
    JsonPatchError::Malformed(format!(
        "json: cannot unmarshal {} into Go {wanted}",
        go_kind(value)
    ))
}
