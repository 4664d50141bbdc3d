//! The three patch types that need nothing but a document: they do what their standards say.

use kinds::{resources, types};
use manifests::{json::MAX_DEPTH, json_patch, merge_patch, strategic_merge};
use serde_json::{Value, json};

use super::{json::depth, pair};
use crate::cost;

pub(super) fn json_patch(input: &[u8]) {
    let Some((document, patch)) = pair(input) else {
        return;
    };
    let mut patched = document.clone();
    let outcome = cost::within(input.len(), 200_000, || json_patch::apply(&mut patched, &patch));
    assert!(depth(&patched) <= MAX_DEPTH + 1);
    if let Some(expected) = by_the_standard(document, &patch)
        && depth(&expected) < MAX_DEPTH
    {
        assert_eq!(outcome, Ok(()), "refused, but the standard allows it: {patch}");
        assert_eq!(patched, expected, "{patch}");
    }
}

/// RFC 6902, read strictly; `None` where it refuses, and for the few things the API server reads in
/// another way.
fn by_the_standard(mut document: Value, patch: &Value) -> Option<Value> {
    for operation in patch.as_array()? {
        let text = |field: &str| operation.get(field)?.as_str();
        if operation.get("from").is_some_and(|from| !from.is_string()) {
            return None;
        }
        let path = text("path").filter(|path| path.starts_with('/'))?;
        match text("op")? {
            "add" => insert(&mut document, path, operation.get("value")?.clone())?,
            "remove" => drop(take(&mut document, path)?),
            "replace" => *document.pointer_mut(path)? = operation.get("value")?.clone(),
            "test" if document.pointer(path)? != operation.get("value")? => return None,
            "test" => {}
            "copy" => {
                let from = text("from").filter(|from| from.starts_with('/'))?;
                let value = document.pointer(from)?.clone();
                insert(&mut document, path, value)?;
            }
            "move" => {
                let from = text("from").filter(|from| from.starts_with('/'))?;
                if path.starts_with(&format!("{from}/")) {
                    return None;
                }
                let value = take(&mut document, from)?;
                insert(&mut document, path, value)?;
            }
            _ => return None,
        }
    }
    Some(document)
}

fn insert(document: &mut Value, path: &str, value: Value) -> Option<()> {
    let (parent, key) = path.rsplit_once('/')?;
    match document.pointer_mut(parent)? {
        Value::Object(fields) => drop(fields.insert(unescaped(key), value)),
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let index = index(key).filter(|index| *index <= items.len())?;
            items.insert(index, value);
        }
        _ => return None,
    }
    Some(())
}

fn take(document: &mut Value, path: &str) -> Option<Value> {
    let (parent, key) = path.rsplit_once('/')?;
    match document.pointer_mut(parent)? {
        Value::Object(fields) => fields.remove(&unescaped(key)),
        Value::Array(items) => {
            let index = index(key).filter(|index| *index < items.len())?;
            Some(items.remove(index))
        }
        _ => None,
    }
}

fn index(key: &str) -> Option<usize> {
    let is_plain = key == "0" || !key.starts_with(['0', '+']);
    key.parse().ok().filter(|_| is_plain)
}

fn unescaped(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}

pub(super) fn merge_patch(input: &[u8]) {
    let Some((document, patch)) = pair(input) else {
        return;
    };
    let mut patched = document.clone();
    if merge_patch::apply(&mut patched, &patch).is_err() {
        return;
    }
    assert_eq!(patched, merged(document, &patch));
}

/// RFC 7386, but that nulls do not come into a document by way of lists either, unless the list takes
/// the place of an object.
fn merged(target: Value, patch: &Value) -> Value {
    match (target, patch) {
        (Value::Object(mut fields), Value::Object(changes)) => {
            for (name, change) in changes {
                let old = fields.remove(name);
                if !change.is_null() {
                    fields.insert(name.clone(), merged(old.unwrap_or_default(), change));
                }
            }
            Value::Object(fields)
        }
        (Value::Object(_), list) => list.clone(),
        (_, new) => without_nulls(new.clone()),
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        scalar => scalar,
    }
}

pub(super) fn strategic_merge(input: &[u8]) {
    let Some((document, patch)) = pair(input) else {
        return;
    };
    let text = |field: &str| document[field].as_str().unwrap_or_default();
    let Some(shape) = resources::type_of(text("apiVersion"), text("kind")) else {
        return;
    };
    let apply = |document: Value, patch: Value| strategic_merge::apply(document, patch, shape);
    if document.is_object() {
        assert_eq!(
            apply(document.clone(), json!({})),
            Ok(document.clone()),
            "an empty patch"
        );
    }
    let outcome = cost::within(input.len(), 100_000, || apply(document, patch.clone()));
    let Ok(patched) = outcome else { return };
    check_typed(shape, patched);
}

/// What a patch made of an object is read by its type, or refused.
fn check_typed(shape: types::TypeRef, mut object: Value) {
    let _ = kinds::decode::normalize(shape, &mut object);
}
