//! Defaults of a schema are filled in where a custom resource says nothing.

use serde_json::Value;

use crate::structural::Structural;

/// Fills in the defaults of the schema. A null where the schema allows none counts as nothing said.
pub fn default(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(entries) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else {
                    continue;
                };
                if entries
                    .get(name)
                    .is_none_or(|value| value.is_null() && !property.nullable)
                {
                    entries.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in entries.iter_mut() {
                match schema.properties.get(name) {
                    Some(property) => self::default(value, property),
                    None => {
                        if let Some(additional) = schema.additional_schema() {
                            default_or_null(value, additional);
                        }
                    }
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for item in items {
                    default_or_null(item, schema);
                }
            }
        }
        _ => {}
    }
}

fn default_or_null(value: &mut Value, schema: &Structural) {
    if value.is_null() && !schema.nullable {
        *value = schema.default.clone().unwrap_or_default();
    }
    default(value, schema);
}

/// Removes nulls where the schema neither allows null nor has a default to put in its place.
pub fn drop_nulls(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(entries) => entries.retain(|name, value| {
            let Some(schema) = schema.field(name) else {
                return true;
            };
            if value.is_null() && !schema.nullable && schema.default.is_none() {
                return false;
            }
            drop_nulls(value, schema);
            true
        }),
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for item in items {
                    drop_nulls(item, schema);
                }
            }
        }
        _ => {}
    }
}
