//! Validation of a definition.

use manifests::{
    field::{ErrorKind, FieldError, Path},
    names as syntax,
};
use serde_json::{Value, json};

use super::{
    conversion, names,
    props::{any, at, flag, list, text},
    versions::{self, Shared},
};

/// What an update is not held to because the definition already broke it.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
pub(super) struct Options<'a> {
    pub(super) review_versions: bool,
    pub(super) schema_required: bool,
    pub(super) valid_types: bool,
    pub(super) pruned_defaults: bool,
    pub(super) atomic_sets: bool,
    pub(super) map_keys: bool,
    pub(super) structural: bool,
    /// The definition before the update: the cost of rules in schemas that stay is not looked at.
    pub(super) old: Option<&'a Value>,
}

impl Options<'_> {
    pub(super) const STRICT: Options<'static> = Options {
        review_versions: true,
        schema_required: true,
        valid_types: true,
        pruned_defaults: true,
        atomic_sets: true,
        map_keys: true,
        structural: true,
        old: None,
    };
}

/// Validates a new definition. The metadata is validated by the caller, but for the name, which
/// follows from the spec.
pub fn validate(crd: &Value, errors: &mut Vec<FieldError>) {
    let spec = at(crd, &["spec"]);
    let name = at(crd, &["metadata", "name"]).as_str().unwrap_or_default();
    let expected = format!(
        "{}.{}",
        at(spec, &["names", "plural"]).as_str().unwrap_or_default(),
        text(spec, "group")
    );
    if name != expected {
        let path = Path::new("metadata").child("name");
        errors.push(FieldError::invalid(
            &path,
            &json!(name),
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    validate_spec(spec, &Options::STRICT, errors);
    validate_status(crd, errors);
    names::validate_approval(crd, None, errors);
    validate_preserve(crd, errors);
}

pub(super) fn validate_spec(spec: &Value, options: &Options<'_>, errors: &mut Vec<FieldError>) {
    let path = Path::new("spec");
    validate_group(text(spec, "group"), &path.child("group"), errors);
    match text(spec, "scope") {
        "" => errors.push(FieldError::required(&path.child("scope"), "")),
        "Cluster" | "Namespaced" => {}
        other => {
            let supported = ["Cluster", "Namespaced"];
            errors.push(FieldError::not_supported(
                &path.child("scope"),
                &json!(other),
                &supported,
            ));
        }
    }
    let shared = Shared::of(spec);
    versions::validate_presence(spec, options, errors);
    if flag(spec, "preserveUnknownFields")
        && schemas_of(spec).any(|s| any(s, &|s| super::props::default(s).is_some()))
    {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid(
            &path.child("preserveUnknownFields"),
            &json!(true),
            detail,
        ));
    }
    versions::validate(spec, &shared, options, errors);
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(at(spec, &["names"]), field).is_empty() {
            errors.push(FieldError::required(&path.child("names").child(field), ""));
        }
    }
    names::validate(at(spec, &["names"]), &path.child("names"), errors);
    versions::validate_shared(spec, &shared, options, errors);
    let strategy = at(spec, &["conversion", "strategy"]).as_str().unwrap_or_default();
    if !matches!(strategy, "" | "None") && flag(spec, "preserveUnknownFields") {
        let path = path.child("conversion").child("strategy");
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid(&path, &json!(strategy), detail));
    }
    conversion::validate(
        at(spec, &["conversion"]),
        options.review_versions,
        &path.child("conversion"),
        errors,
    );
}

fn validate_group(group: &str, path: &Path, errors: &mut Vec<FieldError>) {
    if group.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let complaints = syntax::dns_subdomain(group);
    if !complaints.is_empty() {
        errors.push(FieldError::invalid(path, &json!(group), complaints.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(
            path,
            &json!(group),
            "should be a domain with at least one dot",
        ));
    }
}

pub(super) fn validate_status(crd: &Value, errors: &mut Vec<FieldError>) {
    let status = at(crd, &["status"]);
    names::validate(
        at(status, &["acceptedNames"]),
        &Path::new("status").child("acceptedNames"),
        errors,
    );
    let path = Path::new("status").child("storedVersions");
    let stored = list(status, "storedVersions");
    if stored.is_empty() {
        errors.push(FieldError {
            kind: ErrorKind::Invalid,
            field: path.as_str().to_owned(),
            value: if at(status, &["storedVersions"]).is_array() {
                "[]"
            } else {
                "null"
            }
            .to_owned(),
            detail: "must have at least one stored version".to_owned(),
        });
        return;
    }
    let versions = list(at(crd, &["spec"]), "versions");
    for version in versions.iter().filter(|version| flag(version, "storage")) {
        let name = text(version, "name");
        if !stored.iter().any(|stored| *stored == name) {
            errors.push(FieldError::invalid(
                &path,
                &json!(stored),
                format!("must have the storage version {name}"),
            ));
        }
    }
    for (i, stored) in stored.iter().enumerate() {
        let name = stored.as_str().unwrap_or_default();
        if !versions.iter().any(|version| text(version, "name") == name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            errors.push(FieldError::invalid(&path.index(i), stored, detail));
        }
    }
}

pub(super) fn validate_preserve(crd: &Value, errors: &mut Vec<FieldError>) {
    if flag(at(crd, &["spec"]), "preserveUnknownFields") {
        let path = Path::new("spec").child("preserveUnknownFields");
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid(&path, &json!(true), detail));
    }
}

/// The schemas of all versions.
pub(super) fn schemas(crd: &Value) -> impl Iterator<Item = &Value> {
    schemas_of(at(crd, &["spec"]))
}

fn schemas_of(spec: &Value) -> impl Iterator<Item = &Value> {
    list(spec, "versions")
        .iter()
        .map(|version| at(version, &["schema", "openAPIV3Schema"]))
        .filter(|s| s.is_object())
}
