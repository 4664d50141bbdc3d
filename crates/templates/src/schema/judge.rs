//! Filled values against a schema: every error, and every entry that nobody knows.

use std::collections::BTreeSet;

use jsonschema::error::ValidationErrorKind as Kind;
use manifests::spelling::nearest;
use serde_json::Value;

use super::{
    Fault, Schema, Verdict,
    field::{Field, Shape},
    sentences::sentence,
};
use crate::{limits::PROBLEMS, policy::escaped};

/// What every task may say of itself, whatever its definition asks for.
const OF_TASKS: [&str; 5] = ["taskDef", "description", "name", "creator", "endpoints"];

/// What endpoints may have, whatever their definition asks for.
const OF_ENDPOINTS: [&str; 3] = ["endpoint", "type", "headers"];

/// What is made by the service, whoever fills it in.
const RESERVED: [&str; 2] = ["global", "configs"];

pub(super) fn judge(schema: &Schema, values: &Value) -> Verdict {
    let mut errors = errors(schema, values);
    errors.truncate(PROBLEMS);
    let mut warnings = Vec::new();
    unknown(schema.root(), values, "", &mut warnings);
    warnings.truncate(PROBLEMS);
    Verdict { errors, warnings }
}

fn errors(schema: &Schema, values: &Value) -> Vec<Fault> {
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for error in schema.validator.iter_errors(values).take(10 * PROBLEMS) {
        let mut pointer = error.instance_path().as_str().to_owned();
        if let Kind::Required { property } = error.kind() {
            pointer = format!("{pointer}/{}", escaped(property.as_str().unwrap_or_default()));
        }
        let (mut message, hint) = sentence(error.kind(), error.instance());
        let found = find(schema.root(), &pointer, values);
        if matches!(error.kind(), Kind::Contains)
            && let Some(Shape::Variants { key, variants }) = found.as_ref().map(|field| &field.shape)
        {
            let missing = variants
                .iter()
                .find(|variant| variant.required && !has(error.instance(), key, &variant.tag));
            if let Some(missing) = missing {
                message = format!("needs an item whose `{key}` is `{}`", missing.tag);
            }
        }
        if seen.insert((pointer.clone(), message.clone())) {
            faults.push(Fault {
                pointer,
                message,
                description: found
                    .map(|field| field.description.clone())
                    .filter(|text| !text.is_empty()),
                example: found.and_then(|field| field.example.clone().or_else(|| field.default.clone())),
                hint,
            });
        }
    }
    faults
}

fn has(list: &Value, key: &str, tag: &str) -> bool {
    let mut items = list.as_array().into_iter().flatten();
    items.any(|item| item.get(key).and_then(Value::as_str) == Some(tag))
}

/// The field that a pointer into the values leads to.
fn find<'f>(root: &'f Field, pointer: &str, values: &Value) -> Option<&'f Field> {
    let mut field = root;
    let mut above = String::new();
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        above = format!("{above}/{step}");
        field = match &field.shape {
            Shape::Mapping(_) => field.child(&name)?,
            Shape::List(item) => item,
            Shape::Places(items) => items.get(name.parse::<usize>().ok()?)?,
            Shape::Variants { key, variants } => {
                let tag = values.pointer(&above)?.get(key)?.as_str()?;
                &variants.iter().find(|variant| variant.tag == tag)?.item
            }
            _ => return None,
        };
    }
    Some(field)
}

/// Entries that no field is for.
fn unknown(field: &Field, value: &Value, pointer: &str, warnings: &mut Vec<Fault>) {
    match (&field.shape, value) {
        (Shape::Mapping(fields), Value::Object(entries)) => {
            for (name, entry) in entries {
                let pointer = format!("{pointer}/{}", escaped(name));
                match field.child(name) {
                    Some(child) => unknown(child, entry, &pointer, warnings),
                    None => warnings.extend(stranger(fields, entries, name, &pointer)),
                }
            }
        }
        (Shape::List(item), Value::Array(items)) => {
            for (index, value) in items.iter().enumerate() {
                unknown(item, value, &format!("{pointer}/{index}"), warnings);
            }
        }
        (Shape::Places(fields), Value::Array(items)) => {
            for (index, (field, value)) in fields.iter().zip(items).enumerate() {
                unknown(field, value, &format!("{pointer}/{index}"), warnings);
            }
        }
        (Shape::Variants { key, variants }, Value::Array(items)) => {
            for (index, value) in items.iter().enumerate() {
                let tag = value.get(key).and_then(Value::as_str);
                let variant = variants.iter().find(|variant| Some(variant.tag.as_str()) == tag);
                if let Some(variant) = variant {
                    unknown(&variant.item, value, &format!("{pointer}/{index}"), warnings);
                }
            }
        }
        _ => {}
    }
}

fn stranger(
    fields: &[Field],
    entries: &serde_json::Map<String, Value>,
    name: &str,
    pointer: &str,
) -> Option<Fault> {
    let is_top = pointer.matches('/').count() == 1;
    let is_endpoint = pointer.starts_with("/endpoints/") && pointer.matches('/').count() == 3;
    if is_top && OF_TASKS.contains(&name) || is_endpoint && OF_ENDPOINTS.contains(&name) {
        return None;
    }
    let fault = |message: &str, hint: Option<String>| Fault {
        pointer: pointer.to_owned(),
        message: message.to_owned(),
        description: None,
        example: None,
        hint,
    };
    if is_top && RESERVED.contains(&name) {
        return Some(fault(
            "is made by the service; what you filled in is not used",
            None,
        ));
    }
    let missing = fields
        .iter()
        .map(|field| field.name.as_str())
        .filter(|name| !entries.contains_key(*name));
    let hint = nearest(name, missing).map(|near| format!("did you mean `{near}`?"));
    Some(fault(
        "is not known to the definition; it is passed on as it is",
        hint,
    ))
}
