//! Custom resources as the registry sees them: one served version of one definition.

use std::{borrow::Cow, sync::Arc};

use jiff::Timestamp;
use kinds::{names, object_meta, strategy::Strategy};
use manifests::field::{FieldError, Path};
use schemas::{
    Place,
    crd::{self, CustomKind},
};
use serde_json::{Value, json};
use store::{Collection, TooOld};

use crate::{
    conversion::Converter,
    kind::{Definition, Kind, Subresource},
    object,
};

/// The rules of definitions themselves.
pub(crate) static DEFINITION_STRATEGY: Strategy = Strategy {
    default: crd::default,
    prepare_for_create: crd::prepare_for_create,
    prepare_for_update: crd::prepare_for_update,
    validate: crd::validate,
    validate_update: crd::validate_update,
    prepare_for_status_update: crd::prepare_for_status_update,
    validate_status_update: |new, _, errors| crd::validate_status_update(new, errors),
    warnings_on_create: |new| crd::warnings(new, None),
    warnings_on_update: |new, old| crd::warnings(new, Some(old)),
    name_syntax: names::dns_subdomain,
    ..Strategy::NONE
};

/// Where a kind keeps its size: of the spec, of the status, and the selector's text.
pub(crate) struct ScalePaths {
    pub(crate) spec: Vec<String>,
    pub(crate) status: Vec<String>,
    pub(crate) selector: Option<Vec<String>>,
}

/// One version of a custom kind.
pub struct CustomVersion {
    kind: Arc<CustomKind>,
    /// Which of the kind's versions this is.
    index: usize,
    /// Objects written after this revision have the form of today's schema.
    changed_at: u64,
    /// Who converts from and to the stored version, where versions differ in more than their name.
    converter: Option<Arc<Converter>>,
}

/// The kinds a definition serves, one a version. `changed_at` is the revision at
/// which it came into its present form.
pub(crate) fn kinds(definition: &Value, changed_at: u64) -> Vec<Arc<Kind>> {
    rows(definition, changed_at).map(Arc::new).collect()
}

/// The kinds of a definition whose objects nobody writes.
pub(crate) fn read_only_kinds(definition: &Value) -> Vec<Arc<Kind>> {
    let read_only = |kind: Kind| Kind {
        verbs: vec!["get", "list"],
        ..kind
    };
    rows(definition, 0).map(read_only).map(Arc::new).collect()
}

fn rows(definition: &Value, changed_at: u64) -> impl Iterator<Item = Kind> {
    let custom = Arc::new(CustomKind::of(definition));
    let converter = Converter::of(definition).map(Arc::new);
    (0..custom.versions.len())
        .filter({
            let custom = custom.clone();
            move |index| custom.versions[*index].served
        })
        .map(move |index| row(&custom, index, changed_at, converter.clone()))
}

const VERBS: &[&str] = &[
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
const SUBRESOURCE_VERBS: &[&str] = &["get", "patch", "update"];

fn row(custom: &Arc<CustomKind>, index: usize, changed_at: u64, converter: Option<Arc<Converter>>) -> Kind {
    let version = &custom.versions[index];
    let api_version = format!("{}/{}", custom.group, version.name);
    let mut subresources = Vec::new();
    if version.status {
        subresources.push(Subresource {
            name: "status",
            group: "",
            version: "",
            kind: custom.kind.clone().into(),
            verbs: SUBRESOURCE_VERBS,
        });
    }
    if version.scale.is_some() {
        subresources.push(Subresource {
            name: "scale",
            group: "autoscaling",
            version: "v1",
            kind: "Scale".into(),
            verbs: SUBRESOURCE_VERBS,
        });
    }
    Kind {
        group: custom.group.clone().into(),
        version: version.name.clone().into(),
        prefix: object::type_prefix(&api_version, &custom.kind),
        api_version: api_version.into(),
        kind: custom.kind.clone().into(),
        list_kind: custom.list_kind.clone(),
        plural: custom.plural.clone().into(),
        singular: custom.singular.clone().into(),
        short_names: custom.short_names.iter().cloned().map(Cow::Owned).collect(),
        categories: custom.categories.iter().cloned().map(Cow::Owned).collect(),
        namespaced: custom.namespaced,
        verbs: VERBS.to_vec(),
        subresources,
        collection: Collection::new(&custom.group, &custom.plural),
        blank: json!({}),
        definition: Definition::Custom(Arc::new(CustomVersion {
            kind: custom.clone(),
            index,
            changed_at,
            converter,
        })),
    }
}

impl CustomVersion {
    fn version(&self) -> &crd::CustomVersion {
        &self.kind.versions[self.index]
    }

    /// The schemas OpenAPI documents publish of this version: of the kind and of its list.
    pub(crate) fn openapi(&self, format: schemas::openapi::Format) -> [(String, Value); 2] {
        schemas::openapi::schemas(&self.kind, self.version(), format)
    }

    pub(crate) fn deprecation_warning(&self) -> Option<&str> {
        self.version().deprecation_warning.as_deref()
    }

    /// Whether the definition is being deleted, and its objects with it.
    pub(crate) fn group_priority(&self) -> i64 {
        self.kind.group_priority
    }

    pub(crate) fn is_terminating(&self) -> bool {
        self.kind.terminating
    }

    /// Whether an object written at this revision already has the form of today's schema.
    pub(crate) fn is_current(&self, revision: u64) -> bool {
        revision > self.changed_at
    }

    /// What happened before the definition had its present form cannot be followed.
    pub(crate) fn check_history(&self, after: u64) -> Result<(), TooOld> {
        if after >= self.changed_at {
            return Ok(());
        }
        Err(TooOld {
            requested: after,
            oldest: self.changed_at,
        })
    }

    /// Brings an object into the form its own version has today: without what the schema does not
    /// know, and with its defaults.
    pub(crate) fn settle(&self, object: &mut Value) -> Result<(), String> {
        let schema = self.schema_of(object)?;
        schemas::prune(object, schema);
        schemas::default(object, schema);
        Ok(())
    }

    /// Drops from a converted object what its version does not know.
    pub(crate) fn fit(&self, object: &mut Value) -> Result<(), String> {
        let schema = self.schema_of(object)?;
        schemas::coerce(object, schema).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// The schema of the version an object is of.
    fn schema_of(&self, object: &Value) -> Result<&schemas::Structural, String> {
        let api_version = kinds::read::text(object, "apiVersion");
        let version = self.version_called(api_version);
        let unknown = || format!("request to convert CR from an invalid group/version: {api_version}");
        Ok(version.ok_or_else(unknown)?.schema())
    }

    fn version_called(&self, api_version: &str) -> Option<&crd::CustomVersion> {
        let (group, version) = api_version.split_once('/')?;
        self.kind.version(version).filter(|_| group == self.kind.group)
    }

    pub(crate) fn converter(&self) -> Option<&Converter> {
        self.converter.as_deref()
    }

    pub(crate) fn storage_version(&self) -> &str {
        &self.kind.storage_version
    }

    pub(crate) fn storage_api_version(&self) -> String {
        format!("{}/{}", self.kind.group, self.kind.storage_version)
    }

    pub(crate) fn selectable_fields(&self) -> Vec<String> {
        self.version()
            .selectable_fields
            .iter()
            .map(|field| field.name.clone())
            .collect()
    }

    pub(crate) fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let cells = self.version().columns.cells(object, |time| {
            let since: Timestamp = time.parse().ok()?;
            Some(kinds::columns::duration::human_duration(
                now.duration_since(since),
            ))
        });
        std::iter::once(object::name(object).into())
            .chain(cells)
            .collect()
    }

    pub(crate) fn column_definitions(&self) -> Value {
        let name = json!({
            "name": "Name", "type": "string", "format": "name", "description": "The name of the object.", "priority": 0,
        });
        std::iter::once(name)
            .chain(self.version().columns.definitions().cloned())
            .collect()
    }

    /// Drops what the schema does not know; the paths of what was dropped.
    pub(crate) fn prune(&self, value: &mut Value) -> Result<Vec<String>, String> {
        schemas::coerce(value, self.version().schema()).map_err(|error| error.to_string())
    }

    pub(crate) fn default(&self, value: &mut Value) {
        schemas::default(value, self.version().schema());
    }

    pub(crate) fn prepare_for_create(&self, object: &mut Value) {
        if self.version().status
            && let Value::Object(fields) = object
        {
            fields.remove("status");
        }
    }

    pub(crate) fn prepare_for_update(&self, new: &mut Value, old: &Value) {
        if self.version().status {
            copy_field(new, old, "status");
        }
    }

    /// The status endpoint changes the status and its ownership, nothing else.
    pub(crate) fn prepare_for_status_update(new: &mut Value, old: &Value) {
        let status = new.get_mut("status").map(Value::take);
        let managed = new.pointer("/metadata/managedFields").cloned();
        *new = old.clone();
        object::set_meta(new, "managedFields", managed);
        if let Value::Object(fields) = new {
            match status {
                Some(status) => fields.insert("status".to_owned(), status),
                None => fields.remove("status"),
            };
        }
    }

    pub(crate) fn validate(&self, object: &Value, errors: &mut Vec<FieldError>) {
        self.validate_metadata(object, errors);
        let before = errors.len();
        schemas::validate(object, self.version().schema(), errors);
        self.validate_scale(object, before, errors);
    }

    /// Validates a change; rules that fail on what did not change come back as warnings.
    pub(crate) fn validate_update(
        &self,
        new: &Value,
        old: &Value,
        status: bool,
        errors: &mut Vec<FieldError>,
    ) -> Vec<String> {
        object_meta::validate_any_update(
            kinds::read::get(new, "metadata"),
            kinds::read::get(old, "metadata"),
            &Path::new("metadata"),
            errors,
        );
        let (schema, before) = (self.version().schema(), errors.len());
        let warnings = if status {
            schemas::validate_status_update(new, old, schema, errors)
        } else {
            schemas::validate_update(new, old, schema, errors)
        };
        self.validate_scale(new, before, errors);
        warnings
    }

    /// Checks the fields a scale is read from, and puts what is wrong with them before the note that
    /// rules were not checked, where the real server has it.
    fn validate_scale(&self, object: &Value, before: usize, errors: &mut Vec<FieldError>) {
        let Some(scale) = &self.version().scale else {
            return;
        };
        let note = errors[before..].iter().position(|error| error.field == "<nil>");
        let notes = note.map(|at| errors.split_off(before + at)).unwrap_or_default();
        scale.validate(object, errors);
        errors.extend(notes);
    }

    fn validate_metadata(&self, object: &Value, errors: &mut Vec<FieldError>) {
        object_meta::validate_any(
            kinds::read::get(object, "metadata"),
            self.kind.namespaced,
            names::dns_subdomain,
            &Path::new("metadata"),
            errors,
        );
    }

    /// Where the scale is.
    pub(crate) fn scale_paths(&self) -> Option<ScalePaths> {
        let scale = self.version().scale.as_ref()?;
        let split = |path: &str| {
            path.trim_start_matches('.')
                .split('.')
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        Some(ScalePaths {
            spec: split(&scale.spec_replicas),
            status: split(&scale.status_replicas),
            selector: scale.label_selector.as_deref().map(split),
        })
    }

    pub(crate) fn schema(&self) -> &schemas::Structural {
        self.version().schema()
    }

    /// The schema as server-side apply reads it.
    pub(crate) fn place(&self) -> Place<'_> {
        Place::root(self.version().schema())
    }

    /// The schema of another of the kind's versions, as server-side apply reads it.
    pub(crate) fn place_in(&self, api_version: &str) -> Option<Place<'_>> {
        let version = self.version_called(api_version)?;
        Some(Place::root(version.schema()))
    }
}

fn copy_field(new: &mut Value, old: &Value, field: &str) {
    if let Value::Object(fields) = new {
        match old.get(field) {
            Some(value) => fields.insert(field.to_owned(), value.clone()),
            None => fields.remove(field),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(name: &str, storage: bool, properties: &Value) -> Value {
        let schema =
            json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}});
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
    }

    fn definition() -> Value {
        let text = json!({"type": "string"});
        json!({"spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [
                version("v1", true, &json!({"both": text, "stored": {"type": "string", "default": "by v1"}})),
                version("v1beta1", false, &json!({"both": text, "late": {"type": "string", "default": "by v1beta1"}})),
            ],
        }})
    }

    fn widget(version: &str, spec: &Value) -> Value {
        json!({"apiVersion": format!("example.com/{version}"), "kind": "Widget", "metadata": {"name": "a"}, "spec": spec})
    }

    #[test]
    fn an_object_takes_the_form_of_the_version_it_says_it_is() {
        for kind in kinds(&definition(), 0) {
            let custom = kind.custom().unwrap();
            let mut stored = widget("v1", &json!({"both": "x", "late": "lost"}));
            custom.settle(&mut stored).unwrap();
            assert_eq!(stored["spec"], json!({"both": "x", "stored": "by v1"}));
            let mut shown = widget("v1beta1", &json!({"both": "x", "stored": "by v1"}));
            custom.fit(&mut shown).unwrap();
            assert_eq!(
                shown["spec"],
                json!({"both": "x"}),
                "and has no defaults of a version it is only read in"
            );
        }
    }

    #[test]
    fn an_object_of_a_version_nobody_knows_is_refused() {
        let kinds = kinds(&definition(), 0);
        let custom = kinds[0].custom().unwrap();
        assert_eq!(
            custom.settle(&mut widget("v0", &json!({}))).unwrap_err(),
            "request to convert CR from an invalid group/version: example.com/v0"
        );
        assert!(custom.place_in("example.com/v1beta1").is_some());
        assert!(custom.place_in("other.com/v1beta1").is_none());
    }
}
