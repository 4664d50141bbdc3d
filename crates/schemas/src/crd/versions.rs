//! The versions of a definition. What all versions have in common is validated once, under the
//! names it had when definitions had one version: `spec.validation`, `spec.subresources`, ...

use manifests::{
    field::{ErrorKind, FieldError, Path},
    names,
};
use serde_json::{Value, json};

use super::{
    columns, internal, openapi_schema,
    props::{at, flag, list, text},
    validate::Options,
};
use crate::{
    cel::rules::field_path,
    structural::{Kind, Structural},
};

const MAX_SELECTABLE_FIELDS: usize = 8;

/// Which fields are the same in all versions.
pub(super) struct Shared {
    fields: Vec<&'static str>,
}

impl Shared {
    pub(super) fn of(spec: &Value) -> Self {
        let versions = list(spec, "versions");
        let same = |field: &&'static str| match versions.split_first() {
            Some((first, rest)) => rest
                .iter()
                .all(|version| at(version, &[field]) == at(first, &[field])),
            None => false,
        };
        let fields = [
            "schema",
            "subresources",
            "additionalPrinterColumns",
            "selectableFields",
        ];
        Self {
            fields: fields.into_iter().filter(same).collect(),
        }
    }

    fn has(&self, field: &str) -> bool {
        self.fields.contains(&field)
    }
}

/// Every version has a schema.
pub(super) fn validate_presence(spec: &Value, options: &Options<'_>, errors: &mut Vec<FieldError>) {
    for (i, version) in list(spec, "versions").iter().enumerate() {
        if at(version, &["schema", "openAPIV3Schema"]).is_object() {
            continue;
        }
        let path = Path::new("spec")
            .child("versions")
            .index(i)
            .child("schema")
            .child("openAPIV3Schema");
        if options.schema_required {
            errors.push(FieldError::required(&path, ""));
        } else if flag(version, "served") && !flag(spec, "preserveUnknownFields") {
            errors.push(FieldError::required(
                &path,
                "because otherwise all fields are pruned",
            ));
        }
    }
}

pub(super) fn validate(spec: &Value, shared: &Shared, options: &Options<'_>, errors: &mut Vec<FieldError>) {
    let path = Path::new("spec").child("versions");
    let versions = list(spec, "versions");
    let mut seen = Vec::new();
    for (i, version) in versions.iter().enumerate() {
        let name = text(version, "name");
        seen.push(name);
        let complaints = names::dns1035_label(name);
        if !complaints.is_empty() {
            errors.push(FieldError::invalid(
                &path.index(i).child("name"),
                &json!(name),
                complaints.join(","),
            ));
        }
        validate_version(version, shared, options, &path.index(i), errors);
    }
    let mut about_all = |detail: &str| {
        errors.push(FieldError {
            kind: ErrorKind::Invalid,
            field: path.as_str().to_owned(),
            value: match at(spec, &["versions"]) {
                Value::Null => "null".to_owned(),
                _ => internal::versions(versions, &shared.fields),
            },
            detail: detail.to_owned(),
        });
    };
    seen.sort_unstable();
    if seen.windows(2).any(|pair| pair[0] == pair[1]) {
        about_all("must contain unique version names");
    }
    if versions.iter().filter(|version| flag(version, "storage")).count() != 1 {
        about_all("must have exactly one version marked as storage version");
    }
    // The first version also stands for the definition as a whole.
    if let Some(first) = versions
        .first()
        .map(|version| text(version, "name"))
        .filter(|name| !name.is_empty())
    {
        let complaints = names::dns1035_label(first);
        if !complaints.is_empty() {
            let path = Path::new("spec").child("version");
            errors.push(FieldError::invalid(&path, &json!(first), complaints.join(",")));
        }
    }
}

fn validate_version(
    version: &Value,
    shared: &Shared,
    options: &Options<'_>,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    for complaint in deprecation_complaints(version) {
        let warning = at(version, &["deprecationWarning"]);
        errors.push(FieldError::invalid(
            &path.child("deprecationWarning"),
            warning,
            complaint,
        ));
    }
    let own = |field: &str| {
        if shared.has(field) {
            None
        } else {
            version.get(field)
        }
    };
    if let Some(schema) = own("schema") {
        let status = at(version, &["subresources", "status"]).is_object();
        let unchanged = is_unchanged(version, options);
        openapi_schema::validate(schema, status, options, unchanged, &path.child("schema"), errors);
    }
    if let Some(subresources) = own("subresources") {
        columns::validate_subresources(subresources, &path.child("subresources"), errors);
    }
    for (i, column) in own("additionalPrinterColumns")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        columns::validate(column, &path.child("additionalPrinterColumns").index(i), errors);
    }
    if let Some(fields) = own("selectableFields")
        .and_then(Value::as_array)
        .filter(|fields| !fields.is_empty())
    {
        let path = path.child("selectableFields");
        // Schemas in common leave the version itself without one.
        if shared.has("schema") || !at(version, &["schema", "openAPIV3Schema"]).is_object() {
            let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.push(FieldError::invalid(&path, &json!(""), detail));
        } else {
            let schema = Structural::without_rules(at(version, &["schema", "openAPIV3Schema"]));
            validate_selectable(fields, &schema, &path, errors);
        }
    }
}

/// What all versions have in common.
pub(super) fn validate_shared(
    spec: &Value,
    shared: &Shared,
    options: &Options<'_>,
    errors: &mut Vec<FieldError>,
) {
    let path = Path::new("spec");
    let versions = list(spec, "versions");
    let Some(first) = versions.first() else { return };
    let common = |field: &str| if shared.has(field) { first.get(field) } else { None };
    if let Some(schema) = common("schema") {
        let status = versions
            .iter()
            .any(|version| at(version, &["subresources", "status"]).is_object());
        let unchanged = is_unchanged(first, options);
        openapi_schema::validate(
            schema,
            status,
            options,
            unchanged,
            &path.child("validation"),
            errors,
        );
    }
    if let Some(subresources) = common("subresources") {
        columns::validate_subresources(subresources, &path.child("subresources"), errors);
    }
    for (i, column) in common("additionalPrinterColumns")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        columns::validate(column, &path.child("additionalPrinterColumns").index(i), errors);
    }
    if let Some(fields) = common("selectableFields")
        .and_then(Value::as_array)
        .filter(|fields| !fields.is_empty())
    {
        let path = path.child("selectableFields");
        match common("schema") {
            None => {
                let detail = "may only be set when validations.schema is included";
                errors.push(FieldError::invalid(&path, &json!(""), detail));
            }
            Some(schema) => {
                let schema = Structural::without_rules(at(schema, &["openAPIV3Schema"]));
                validate_selectable(fields, &schema, &path, errors);
            }
        }
    }
}

/// Whether the schema of the version was the same before the update.
fn is_unchanged(version: &Value, options: &Options<'_>) -> bool {
    let Some(old) = options.old else { return false };
    let versions = list(at(old, &["spec"]), "versions");
    let before = versions
        .iter()
        .find(|before| text(before, "name") == text(version, "name"));
    before.is_some_and(|before| at(before, &["schema"]) == at(version, &["schema"]))
}

fn deprecation_complaints(version: &Value) -> Vec<String> {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else {
        return Vec::new();
    };
    if !flag(version, "deprecated") {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut complaints = Vec::new();
    if warning.len() > 256 {
        complaints.push("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        complaints.push("must not be an empty string".to_owned());
    }
    let odd = |c: char| c.is_control() || (c.is_whitespace() && c != ' ');
    if let Some((i, _)) = warning.char_indices().find(|(_, c)| odd(*c)) {
        complaints.push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {i}"
        ));
    }
    complaints
}

fn validate_selectable(fields: &[Value], schema: &Structural, path: &Path, errors: &mut Vec<FieldError>) {
    let mut seen: Vec<String> = Vec::new();
    for (i, field) in fields.iter().enumerate() {
        let path = path.index(i).child("jsonPath");
        let json_path = text(field, "jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let mut invalid = |detail: String| errors.push(FieldError::invalid(&path, &json!(json_path), detail));
        let (found, place) = match field_path(json_path, schema, false) {
            Ok(found) => found,
            Err(complaint) => {
                invalid(format!("is an invalid path: {complaint}"));
                continue;
            }
        };
        if found.as_str().split(['.', '[']).next() == Some("metadata") {
            invalid("must not point to fields in metadata".to_owned());
        }
        if !matches!(place.kind, Some(Kind::String | Kind::Boolean | Kind::Integer)) {
            invalid("must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.".to_owned());
        }
        if seen.iter().any(|known| known == found.as_str()) {
            errors.push(FieldError::duplicate(&path, &json!(json_path)));
        } else {
            seen.push(found.as_str().to_owned());
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        errors.push(FieldError::too_many(path, seen.len(), MAX_SELECTABLE_FIELDS));
    }
}
