//! A definition as a server needs it: names, scope, and per version the schema,
//! subresources, columns and selectable fields.

use std::sync::OnceLock;

use manifests::{
    api_versions::rank,
    field::{FieldError, Path},
    json,
    json_path::JsonPath,
};
use serde_json::{Value, json};

use super::{
    columns::Columns,
    prepare::storage_version,
    props::{at, flag, list, text, texts},
};
use crate::{golang, structural::Structural};

/// The kind a definition defines.
#[derive(Debug)]
pub struct CustomKind {
    pub group: String,
    pub kind: String,
    pub list_kind: String,
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    /// Its group's place in discovery; of several definitions of a group the highest counts.
    pub group_priority: i64,
    pub namespaced: bool,
    /// Whether the definition is being deleted.
    pub terminating: bool,
    pub storage_version: String,
    pub versions: Vec<CustomVersion>,
}

/// What a definition says of its group's place in discovery. Clients take the first group where several have a
/// resource of one name. Other servers do not know it and give every custom group the usual place.
const GROUP_PRIORITY: &str = "trainyard.dev/group-priority";
const USUAL_PRIORITY: i64 = 1000;
/// Built-in groups stay before custom ones.
const HIGHEST_PRIORITY: i64 = 9000;

fn group_priority(definition: &Value) -> i64 {
    let said = definition["metadata"]["annotations"][GROUP_PRIORITY].as_str();
    said.and_then(|text| text.parse().ok())
        .filter(|priority| (1..=HIGHEST_PRIORITY).contains(priority))
        .unwrap_or(USUAL_PRIORITY)
}

/// One version of a custom kind.
#[derive(Debug)]
pub struct CustomVersion {
    pub name: String,
    pub served: bool,
    pub storage: bool,
    /// The warning clients get, for a deprecated version.
    pub deprecation_warning: Option<String>,
    /// Whether the status is written on its own.
    pub status: bool,
    pub scale: Option<Scale>,
    pub columns: Columns,
    pub selectable_fields: Vec<SelectableField>,
    /// The schema as written, as JSON; as a tree it would take ten times as much memory.
    written: Box<[u8]>,
    /// Made when the first object meets it: most kinds of most clusters have no objects.
    compiled: OnceLock<Structural>,
}

/// Where the scale subresource finds its numbers.
#[derive(Clone, Debug)]
pub struct Scale {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub label_selector: Option<String>,
}

/// A field that list and watch can select by.
#[derive(Debug)]
pub struct SelectableField {
    /// Its name in selectors: `spec.color`.
    pub name: String,
    path: JsonPath,
}

impl SelectableField {
    /// The value of the field as selectors compare it; empty when it is not there.
    pub fn value(&self, object: &Value) -> String {
        match self.path.find(object).first() {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => golang::plain(number),
            Some(Value::Null) | None => String::new(),
            Some(other) => golang::json(other),
        }
    }
}

impl CustomKind {
    /// Reads a definition that has been validated. Names are those that were accepted
    /// or, before that, those that are asked for.
    pub fn of(crd: &Value) -> Self {
        let spec = at(crd, &["spec"]);
        let accepted = at(crd, &["status", "acceptedNames"]);
        let names = if text(accepted, "kind").is_empty() {
            at(spec, &["names"])
        } else {
            accepted
        };
        let owned = |field: &str| text(names, field).to_owned();
        let group = text(spec, "group");
        let versions = list(spec, "versions");
        Self {
            group: group.to_owned(),
            kind: owned("kind"),
            list_kind: owned("listKind"),
            plural: owned("plural"),
            singular: owned("singular"),
            short_names: texts(names, "shortNames").map(str::to_owned).collect(),
            categories: texts(names, "categories").map(str::to_owned).collect(),
            group_priority: group_priority(crd),
            namespaced: text(spec, "scope") == "Namespaced",
            terminating: !text(at(crd, &["metadata"]), "deletionTimestamp").is_empty(),
            storage_version: storage_version(crd).unwrap_or_default().to_owned(),
            versions: versions
                .iter()
                .map(|version| {
                    let warning = deprecation_warning(version, versions, group, text(names, "kind"));
                    CustomVersion::of(version, warning)
                })
                .collect(),
        }
    }

    pub fn version(&self, name: &str) -> Option<&CustomVersion> {
        self.versions.iter().find(|version| version.name == name)
    }
}

impl CustomVersion {
    fn of(version: &Value, deprecation_warning: Option<String>) -> Self {
        let name = text(version, "name");
        let scale = version
            .pointer("/subresources/scale")
            .filter(|scale| scale.is_object())
            .map(|scale| Scale {
                spec_replicas: text(scale, "specReplicasPath").to_owned(),
                status_replicas: text(scale, "statusReplicasPath").to_owned(),
                label_selector: scale
                    .get("labelSelectorPath")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            });
        let selectable = list(version, "selectableFields").iter().filter_map(|field| {
            let path = text(field, "jsonPath");
            let name = path.strip_prefix('.').unwrap_or(path).to_owned();
            Some(SelectableField {
                name,
                path: JsonPath::parse(path).ok()?,
            })
        });
        Self {
            name: name.to_owned(),
            served: flag(version, "served"),
            storage: flag(version, "storage"),
            deprecation_warning,
            status: at(version, &["subresources", "status"]).is_object(),
            scale,
            columns: Columns::of(version),
            selectable_fields: selectable.collect(),
            written: at(version, &["schema", "openAPIV3Schema"])
                .to_string()
                .into_bytes()
                .into(),
            compiled: OnceLock::new(),
        }
    }

    pub fn schema(&self) -> &Structural {
        self.compiled.get_or_init(|| Structural::new(&self.openapi()))
    }

    /// The schema as written, for OpenAPI documents.
    pub fn openapi(&self) -> Value {
        json::read_own(&self.written).unwrap_or_default()
    }
}

/// The warning of a deprecated version: the definition's own or, without one, what to use instead.
fn deprecation_warning(version: &Value, all: &[Value], group: &str, kind: &str) -> Option<String> {
    if !flag(version, "deprecated") {
        return None;
    }
    if let Some(Value::String(warning)) = version.get("deprecationWarning") {
        return Some(warning.clone());
    }
    let name = text(version, "name");
    let better = all
        .iter()
        .filter(|other| flag(other, "served") && !flag(other, "deprecated"))
        .map(|other| text(other, "name"))
        .filter(|other| rank(other) > rank(name))
        .max_by_key(|other| rank(other));
    let hint = better.map(|better| format!("; use {group}/{better} {kind}"));
    Some(format!(
        "{group}/{name} {kind} is deprecated{}",
        hint.unwrap_or_default()
    ))
}

impl Scale {
    /// Checks what the scale subresource would show of an object.
    pub fn validate(&self, object: &Value, errors: &mut Vec<FieldError>) {
        for path in [&self.spec_replicas, &self.status_replicas] {
            match lookup(object, path) {
                Ok(None) => {}
                Ok(Some(Value::Number(number))) if number.is_i64() => {
                    let replicas = number.as_i64().unwrap_or_default();
                    let detail = if replicas < 0 {
                        "should be a non-negative integer".to_owned()
                    } else if replicas > i64::from(i32::MAX) {
                        format!("should be less than or equal to {}", i32::MAX)
                    } else {
                        continue;
                    };
                    errors.push(FieldError::invalid(&Path::new(path), &json!(replicas), detail));
                }
                Ok(Some(other)) => {
                    let detail = accessor_error(path, other, "int64");
                    errors.push(FieldError::invalid(&Path::new(path), &json!(0), detail));
                }
                Err(detail) => errors.push(FieldError::invalid(&Path::new(path), &json!(0), detail)),
            }
        }
        if let Some(path) = &self.label_selector {
            let detail = match lookup(object, path) {
                Ok(None | Some(Value::String(_))) => return,
                Ok(Some(other)) => accessor_error(path, other, "string"),
                Err(detail) => detail,
            };
            errors.push(FieldError::invalid(&Path::new(path), &json!(""), detail));
        }
    }
}

/// The value at a dotted path; an error when something on the way is no object.
fn lookup<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    let path = path.strip_prefix('.').unwrap_or(path);
    for (i, field) in path.split('.').enumerate() {
        let Some(entries) = value.as_object() else {
            let so_far: Vec<&str> = path.split('.').take(i).collect();
            return Err(accessor_error(
                &so_far.join("."),
                value,
                "map[string]interface {}",
            ));
        };
        match entries.get(field) {
            Some(below) => value = below,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

fn accessor_error(path: &str, value: &Value, wanted: &str) -> String {
    let actual = match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    let path = path.strip_prefix('.').unwrap_or(path);
    let shown = golang::go_value(value);
    format!(".{path} accessor error: {shown} is of the type {actual}, expected {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_shared_between_threads() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<CustomKind>();
    }

    #[test]
    fn a_deprecated_version_names_the_best_one_to_use() {
        let version =
            |name: &str, deprecated: bool| json!({"name": name, "served": true, "deprecated": deprecated});
        let versions = json!([
            version("v1alpha1", false),
            version("v1beta1", true),
            version("v1beta2", false),
            version("v1", false),
            version("v2", true),
        ]);
        let definition = json!({"spec": {
            "group": "example.com", "names": {"kind": "Widget"}, "versions": versions,
        }});
        let kind = CustomKind::of(&definition);
        let warning = |name: &str| kind.version(name)?.deprecation_warning.as_deref();
        assert_eq!(
            warning("v1beta1"),
            Some("example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget")
        );
        assert_eq!(warning("v2"), Some("example.com/v2 Widget is deprecated"));
        assert_eq!(warning("v1"), None);
    }

    #[test]
    fn selectable_fields_read_as_text() {
        let version =
            json!({"name": "v1", "selectableFields": [{"jsonPath": ".spec.n"}, {"jsonPath": ".spec.t"}]});
        let kind = CustomKind::of(&json!({"spec": {"versions": [version]}}));
        let fields = &kind.versions[0].selectable_fields;
        let object = json!({"spec": {"n": 3}});
        let values: Vec<_> = fields
            .iter()
            .map(|field| (field.name.as_str(), field.value(&object)))
            .collect();
        assert_eq!(values, [("spec.n", "3".to_owned()), ("spec.t", String::new())]);
    }
}
