//! Validation of the metadata, kind and version of resources embedded in others.

use manifests::{
    field::{FieldError, Path},
    names,
};
use serde_json::{Value, json};

use super::decode::{Invalid, decode};

const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Checks what is common to all resources in one that is embedded: `x-kubernetes-embedded-resource`.
pub(crate) fn validate_embedded(resource: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    for field in ["apiVersion", "kind"] {
        match resource.get(field) {
            None => errors.push(FieldError::required(&path.child(field), "")),
            Some(Value::String(text)) => {
                let complaint = if text.is_empty() {
                    Some("must not be empty".to_owned())
                } else if field == "apiVersion" {
                    api_version(text)
                } else {
                    kind(text)
                };
                if let Some(complaint) = complaint {
                    errors.push(FieldError::invalid(&path.child(field), &json!(text), complaint));
                }
            }
            Some(other) => errors.push(FieldError::invalid(&path.child(field), other, "must be a string")),
        }
    }
    if let Some(metadata) = resource.get("metadata") {
        validate_metadata(metadata, &path.child("metadata"), errors);
    }
}

fn api_version(text: &str) -> Option<String> {
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

pub(crate) fn kind(text: &str) -> Option<String> {
    let complaints = names::dns1035_label(&text.to_lowercase());
    (!complaints.is_empty()).then(|| {
        format!(
            "may have mixed case, but should otherwise match: {}",
            complaints.join(",")
        )
    })
}

fn validate_metadata(metadata: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let mut decoded = metadata.clone();
    if let Err(complaint) = decode(&mut decoded, Invalid::Refused, &mut Vec::new()) {
        errors.push(FieldError::invalid(path, metadata, complaint));
        return;
    }
    let text = |field: &str| decoded.get(field).and_then(Value::as_str).unwrap_or_default();
    let mut complain = |field: &str, value: &str, complaints: Vec<String>| {
        let complaints = complaints.into_iter();
        errors.extend(complaints.map(|text| FieldError::invalid(&path.child(field), &json!(value), text)));
    };
    let generate_name = text("generateName");
    if !matches!(generate_name, "." | "..") {
        complain("generateName", generate_name, names::path_segment(generate_name));
    }
    complain("name", text("name"), names::path_segment(text("name")));
    if !text("namespace").is_empty() {
        complain(
            "namespace",
            text("namespace"),
            names::dns_label(text("namespace")),
        );
    }
    if let Some(generation) = decoded.get("generation").filter(|value| value.as_i64() < Some(0)) {
        let complaint = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(
            &path.child("generation"),
            generation,
            complaint,
        ));
    }
    validate_labels(&decoded["labels"], &path.child("labels"), errors);
    validate_annotations(&decoded["annotations"], &path.child("annotations"), errors);
    validate_owners(
        &decoded["ownerReferences"],
        &path.child("ownerReferences"),
        errors,
    );
    validate_finalizers(&decoded["finalizers"], &path.child("finalizers"), errors);
}

fn validate_labels(labels: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        let keys = names::qualified_name(key)
            .into_iter()
            .map(|text| (json!(key), text));
        let values = names::label_value(value.as_str().unwrap_or_default());
        let values = values.into_iter().map(|text| (value.clone(), text));
        errors.extend(
            keys.chain(values)
                .map(|(value, text)| FieldError::invalid(path, &value, text)),
        );
    }
}

fn validate_annotations(annotations: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        let complaints = names::qualified_name(&key.to_lowercase()).into_iter();
        errors.extend(complaints.map(|text| FieldError::invalid(path, &json!(key), text)));
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::too_long(path, ANNOTATIONS_LIMIT));
    }
}

fn validate_owners(owners: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let mut controller: Option<String> = None;
    for owner in owners.as_array().into_iter().flatten() {
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        if text("apiVersion").rsplit('/').next().is_none_or(str::is_empty) {
            let complaint = "version must not be empty";
            errors.push(FieldError::invalid(
                &path.child("apiVersion"),
                &json!(text("apiVersion")),
                complaint,
            ));
        }
        for field in ["kind", "name", "uid"] {
            if text(field).is_empty() {
                errors.push(FieldError::invalid(
                    &path.child(field),
                    &json!(""),
                    "must not be empty",
                ));
            }
        }
        if owner.get("controller").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        let name = format!("{}/{}", text("kind"), text("name"));
        match &controller {
            None => controller = Some(name),
            Some(first) => errors.push(FieldError::invalid(
                path,
                owners,
                format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                ),
            )),
        }
    }
}

fn validate_finalizers(finalizers: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let names: Vec<&str> = finalizers
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for name in &names {
        let complaints = names::qualified_name(name).into_iter();
        errors.extend(complaints.map(|text| FieldError::invalid(path, &json!(name), text)));
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        let complaint = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, finalizers, complaint));
    }
}

/// Whether a text is an RFC 3339 time, in the words of Go's `time.Parse`.
pub(super) fn time(text: &str) -> Result<(), String> {
    const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
    const PARTS: [(&str, usize, u32, u32); 6] = [
        ("2006", 4, 0, 9999),
        ("01", 2, 1, 12),
        ("02", 2, 1, 31),
        ("15", 2, 0, 23),
        ("04", 2, 0, 59),
        ("05", 2, 0, 59),
    ];
    const SEPARATORS: [&str; 6] = ["-", "-", "T", ":", ":", ""];
    const NAMES: [&str; 6] = ["year", "month", "day", "hour", "minute", "second"];
    let unreadable = |rest: &str, part: &str| {
        format!("parsing time {text:?} as {LAYOUT:?}: cannot parse {rest:?} as {part:?}")
    };
    let mut rest = text;
    for (i, (part, width, low, high)) in PARTS.into_iter().enumerate() {
        let digits = rest
            .get(..width)
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        let number: u32 = digits
            .and_then(|d| d.parse().ok())
            .ok_or_else(|| unreadable(rest, part))?;
        if !(low..=high).contains(&number) {
            return Err(format!("parsing time {text:?}: {} out of range", NAMES[i]));
        }
        rest = &rest[width..];
        rest = rest
            .strip_prefix(SEPARATORS[i])
            .ok_or_else(|| unreadable(rest, SEPARATORS[i]))?;
    }
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    if rest == "Z" || is_offset(rest) {
        Ok(())
    } else {
        Err(unreadable(rest, "Z07:00"))
    }
}

fn is_offset(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 6
        && matches!(bytes[0], b'+' | b'-')
        && bytes[3] == b':'
        && [1, 2, 4, 5].iter().all(|&i| bytes[i].is_ascii_digit())
}
