//! Defaults are values of their schema: nothing unknown in them, and no rule against them.

use manifests::field::{ErrorKind, FieldError, Path};
use serde_json::{Map, Value, json};

use super::props::{default, entries, flag, object};
use crate::{
    cel::rules::Rules,
    golang,
    metadata::Invalid,
    prune::{coerce_part, prune_part},
    structural::Structural,
    validate::{validate_embedded_at, validate_part},
};

pub(super) fn validate(schema: &Value, must_be_pruned: bool, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let resource = Resource {
        schema,
        steps: Vec::new(),
    };
    walk(schema, &resource, true, false, must_be_pruned, path, &mut errors);
    errors
}

/// The resource a place belongs to, and the way to it.
#[derive(Clone)]
struct Resource<'a> {
    schema: &'a Value,
    steps: Vec<Option<String>>,
}

impl Resource<'_> {
    /// A resource with nothing in it but the value at the end of the way.
    fn around(&self, value: &Value) -> Value {
        let mut resource = self
            .steps
            .iter()
            .rev()
            .fold(value.clone(), |inner, step| match step {
                Some(field) => Value::Object(Map::from_iter([(field.clone(), inner)])),
                None => json!([inner]),
            });
        if let Some(resource) = resource.as_object_mut() {
            resource.entry("kind").or_insert_with(|| json!("Validation"));
            resource
                .entry("apiVersion")
                .or_insert_with(|| json!("validation/v1"));
        }
        resource
    }

    fn below(&self, step: Option<&str>) -> Self {
        let mut below = self.clone();
        below.steps.push(step.map(str::to_owned));
        below
    }
}

fn walk(
    schema: &Value,
    resource: &Resource<'_>,
    is_root: bool,
    in_meta: bool,
    must_be_pruned: bool,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let is_resource = is_root || flag(schema, "x-kubernetes-embedded-resource");
    let own = Resource {
        schema,
        steps: Vec::new(),
    };
    let (resource, in_meta) = if is_resource {
        (&own, false)
    } else {
        (resource, in_meta)
    };
    if let Some(value) = default(schema) {
        let path = path.child("default");
        if in_meta {
            validate_in_meta(schema, value, resource, &path, errors);
        } else {
            validate_default(schema, value, is_resource, must_be_pruned, &path, errors);
        }
    }
    if let Some(items) = object(schema, "items") {
        walk(
            items,
            &resource.below(None),
            false,
            in_meta,
            must_be_pruned,
            &path.child("items"),
            errors,
        );
    }
    for (name, property) in entries(schema, "properties") {
        let in_meta = in_meta || (is_resource && matches!(name.as_str(), "metadata" | "apiVersion" | "kind"));
        let path = path.child("properties").key(name);
        walk(
            property,
            &resource.below(Some(name)),
            false,
            in_meta,
            must_be_pruned,
            &path,
            errors,
        );
    }
}

fn validate_default(
    schema: &Value,
    value: &Value,
    is_resource: bool,
    must_be_pruned: bool,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let structural = Structural::without_rules(schema);
    let mut pruned = value.clone();
    prune_part(&mut pruned, &structural, is_resource);
    if must_be_pruned && pruned != *value {
        errors.push(FieldError::invalid(path, value, "must not have unknown fields"));
    }
    let mut coerced = value.clone();
    if let Err(error) = coerce_part(&mut coerced, &structural, is_resource, Invalid::Refused) {
        let field = path.child(&error.field).as_str().to_owned();
        errors.push(FieldError { field, ..error });
        return;
    }
    let before = errors.len();
    validate_embedded_at(value, &structural, is_resource, path, errors);
    validate_value(schema, value, &structural, is_resource, before, path, errors);
}

/// Metadata is validated as part of a resource.
fn validate_in_meta(
    schema: &Value,
    value: &Value,
    resource: &Resource<'_>,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let whole = Structural::without_rules(resource.schema);
    let mut object = resource.around(value);
    let refuse = |complaint: String| FieldError {
        kind: ErrorKind::Invalid,
        field: path.as_str().to_owned(),
        value: golang::shown(value),
        detail: format!("must result in valid metadata: {complaint}"),
    };
    if let Err(error) = coerce_part(&mut object, &whole, true, Invalid::Refused) {
        errors.push(refuse(error.to_string()));
        return;
    }
    let mut found = Vec::new();
    validate_embedded_at(&object, &whole, true, &Path::root(), &mut found);
    if !found.is_empty() {
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        let all = if texts.len() == 1 {
            texts.concat()
        } else {
            format!("[{}]", texts.join(", "))
        };
        errors.push(refuse(all));
        return;
    }
    let before = errors.len();
    validate_value(
        schema,
        value,
        &Structural::without_rules(schema),
        false,
        before,
        path,
        errors,
    );
}

fn validate_value(
    schema: &Value,
    value: &Value,
    structural: &Structural,
    is_resource: bool,
    before: usize,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    if errors.len() > before {
        return;
    }
    validate_part(value, structural, path, errors);
    if errors.len() > before {
        return;
    }
    let Some(rules) = Rules::compile(schema, structural, is_resource) else {
        return;
    };
    rules.validate(value, Some(value), structural, path, errors);
    if errors.len() == before {
        rules.validate(value, None, structural, path, errors);
    }
}
