//! JSON merge patch (RFC 7386) with the reading of the API server: nulls inside of new values are
//! dropped, also in the objects of new lists.

use serde_json::{Map, Value};

use crate::json::go_kind;

/// The patch is at fault; the API server answers 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergePatchError {
    #[error(
        "error decoding patch: json: cannot unmarshal {0} into Go value of type map[string]interface {{}}"
    )]
    NotAnObject(&'static str),
    #[error("Invalid JSON Patch")]
    Null,
}

/// Changes the document as the patch says.
pub fn apply(document: &mut Value, patch: &Value) -> Result<(), MergePatchError> {
    match patch {
        Value::Object(patch) => merge(document, patch),
        Value::Null => return Err(MergePatchError::Null),
        other => return Err(MergePatchError::NotAnObject(go_kind(other))),
    }
    Ok(())
}

fn merge(document: &mut Value, patch: &Map<String, Value>) {
    let Value::Object(object) = document else {
        *document = Value::Object(without_nulls(patch));
        return;
    };
    for (name, value) in patch {
        match (object.get_mut(name), value) {
            (_, Value::Null) => {
                object.remove(name);
            }
            (Some(current @ Value::Object(_)), Value::Object(patch)) => merge(current, patch),
            (Some(current @ Value::Object(_)), value) => *current = value.clone(),
            (_, value) => {
                object.insert(name.clone(), pruned(value));
            }
        }
    }
}

fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(without_nulls(object)),
        Value::Array(items) => Value::Array(items.iter().map(pruned).collect()),
        scalar => scalar.clone(),
    }
}

fn without_nulls(object: &Map<String, Value>) -> Map<String, Value> {
    let kept = object.iter().filter(|(_, value)| !value.is_null());
    kept.map(|(name, value)| (name.clone(), pruned(value))).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::{check_cases, never_panics};

    #[test]
    fn documents_change_as_in_the_real_server() {
        check_cases(include_str!("../testdata/merge_patch.json"), |case| {
            let mut document = case["original"].clone();
            super::apply(&mut document, &case["patch"]).map_err(|error| error.to_string())?;
            Ok(document)
        });
    }

    #[test]
    fn any_patch_is_applied_or_refused() {
        never_panics(|document, patch| {
            let _ = super::apply(&mut document.clone(), patch);
        });
    }
}
