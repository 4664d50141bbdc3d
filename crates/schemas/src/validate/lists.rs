//! Items of a set differ, items of a map list differ in their keys.

use std::collections::HashMap;

use manifests::field::{FieldError, Path};
use serde_json::{Map, Value};

use crate::{
    structural::{ListType, Structural},
    trail::Trail,
};

pub(super) fn validate(object: &Value, schema: &Structural, errors: &mut Vec<FieldError>) {
    walk(object, schema, &Trail::ROOT, errors);
}

pub(super) fn has_duplicates(object: &Value, schema: &Structural) -> bool {
    let mut errors = Vec::new();
    validate(object, schema, &mut errors);
    !errors.is_empty()
}

fn walk(value: &Value, schema: &Structural, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                if let Some(schema) = schema.additional_schema() {
                    walk(value, schema, &trail.key(name), errors);
                }
                if let Some(property) = schema.properties.get(name) {
                    walk(value, property, &trail.field(name), errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.list {
                ListType::Atomic => {}
                ListType::Set => complain(items.iter().cloned(), trail, errors),
                ListType::Map => validate_map(items, schema, trail, errors),
            }
            if let Some(schema) = &schema.items {
                for (i, item) in items.iter().enumerate() {
                    walk(item, schema, &trail.index(i), errors);
                }
            }
        }
        _ => {}
    }
}

fn validate_map(items: &[Value], schema: &Structural, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    if let Some(i) = items.iter().position(|item| !item.is_object() && !item.is_null()) {
        let path = trail.index(i).path(&Path::root());
        let complaint = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(&path, &items[i], complaint));
        return;
    }
    let key = |item: &Value| {
        let present = |name: &&'static str| Some(((*name).to_owned(), item.get(name)?.clone()));
        Value::Object(schema.list_keys.iter().filter_map(present).collect::<Map<_, _>>())
    };
    complain(items.iter().map(key), trail, errors);
}

/// Names each value that is there again, at its second appearance.
fn complain(values: impl Iterator<Item = Value>, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    let mut times_seen: HashMap<Value, usize> = HashMap::new();
    for (i, value) in values.enumerate() {
        match times_seen.get_mut(&value) {
            None => {
                times_seen.insert(value, 1);
            }
            Some(times) => {
                *times += 1;
                if *times == 2 {
                    errors.push(FieldError::duplicate(&trail.index(i).path(&Path::root()), &value));
                }
            }
        }
    }
}
