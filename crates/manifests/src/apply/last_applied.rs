//! The annotation in which client-side `kubectl apply` keeps what it applied.
//!
//! An apply by the manager `kubectl` takes over the fields that the annotation says were applied
//! from the client, and keeps the annotation up to date for clients that still read it.

use serde_json::{Map, Value};

use super::{
    Write, compare::compare, field_set::FieldSet, go_text::write_json, mentioned::mentioned,
    validate::validate,
};
use crate::shape::Shape;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How many bytes the annotations of an object may have.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// The manager that moves objects from client-side to server-side apply.
pub(super) const KUBECTL: &str = "kubectl";

/// The fields that were applied from the client and still have the applied values.
pub(super) fn fields<S: Shape>(live: &Value, write: &Write<'_, S>) -> Option<FieldSet> {
    let applied: Value = serde_json::from_str(annotation(live)?).ok()?;
    if applied["apiVersion"].as_str() != Some(write.api_version) || applied["kind"].as_str().is_none() {
        return None;
    }
    validate(live, write.shape).ok()?;
    validate(&applied, write.shape).ok()?;
    let mut fields = mentioned(&applied, write.shape);
    let changes = compare(&applied, live, write.shape).ok()?;
    fields.subtract(&changes.modified);
    fields.subtract(&changes.added);
    fields.subtract(&changes.removed);
    Some(fields)
}

/// Puts the applied configuration into the annotation of an object that has one.
pub(super) fn refresh(object: &mut Value, applied: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let text = without_annotation(applied);
    let Some(annotations) = object["metadata"]["annotations"].as_object_mut() else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), Value::String(text));
    if size(annotations) > MAX_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    }
}

fn annotation(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][ANNOTATION]
        .as_str()
        .filter(|text| !text.is_empty())
}

fn without_annotation(applied: &Value) -> String {
    let mut applied = applied.clone();
    if let Some(annotations) = applied
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
    }
    let mut text = String::new();
    write_json(&mut text, &applied);
    text.push('\n');
    text
}

fn size(annotations: &Map<String, Value>) -> usize {
    annotations
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_that_would_be_too_large_goes() {
        let mut object = serde_json::json!({"metadata": {"annotations": {ANNOTATION: "{}", "a": "b"}}});
        let applied = serde_json::json!({"data": "x".repeat(MAX_ANNOTATIONS)});
        refresh(&mut object, &applied);
        assert_eq!(object["metadata"]["annotations"], serde_json::json!({"a": "b"}));
    }
}
