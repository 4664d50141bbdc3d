//! From what a client sent to an object of the right kind: type checked, unknown fields dealt with,
//! defaults filled in.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Writer, options::FieldValidation};
use crate::{
    body::{self, Decoded},
    error::{ApiError, Result},
    kind::{Definition, Kind},
    negotiate, object,
};

impl Writer<'_> {
    /// The object in a request body, ready to be admitted.
    pub(crate) fn read_object(&mut self, bytes: &[u8]) -> Result<Value> {
        let kind = &self.call.kind;
        let Decoded {
            mut value,
            duplicates,
        } = body::decode(negotiate::content_type(&self.call.headers), bytes, &kind.kind)?;
        if kind.is_custom() && kinds::read::text(&value, "kind").is_empty() {
            return Err(body::missing_kind(&kind.kind, bytes));
        }
        check_type(kind, &mut value)?;
        self.complete(value, duplicates)
    }

    /// Checks fields, and fills in defaults, of an object whose type is known to be right.
    pub(crate) fn complete(&mut self, value: Value, duplicates: Vec<String>) -> Result<Value> {
        let kind = &self.call.kind;
        self.decode(value, duplicates)
            .map_err(|why| cannot_be_handled(kind, &why))
    }

    /// The same, but the caller says in its own way what is wrong.
    pub(crate) fn decode(&mut self, mut value: Value, duplicates: Vec<String>) -> Result<Value, String> {
        let kind = &self.call.kind;
        let complaints = match &kind.definition {
            Definition::BuiltIn(built_in) => {
                let unknown = body::normalize(built_in.shape, &mut value);
                let unknown = unknown.map_err(|error| error.to_string())?;
                [unknown, duplicates].concat()
            }
            // A schema looks at the fields only after all of them were read.
            Definition::Custom(custom) => {
                let unknown = custom.prune(&mut value)?;
                let unknown = unknown.iter().map(|path| format!("unknown field \"{path}\""));
                duplicates.into_iter().chain(unknown).collect()
            }
        };
        self.report(complaints)?;
        kind.default(&mut value);
        // The type is part of the object whatever the client left out.
        value["kind"] = kind.kind.as_ref().into();
        value["apiVersion"] = kind.api_version.as_ref().into();
        Ok(value)
    }

    /// Brings an object that admission changed back into form. What nobody knows is dropped silently:
    /// it was not the user who sent it.
    pub(crate) fn decode_silently(&mut self, value: Value) -> Result<Value, String> {
        let asked = std::mem::replace(&mut self.options.field_validation, FieldValidation::Ignore);
        let decoded = self.decode(value, Vec::new());
        self.options.field_validation = asked;
        decoded
    }

    /// Tells of fields nobody knows and of keys given twice, as loudly as the client asked for.
    fn report(&mut self, complaints: Vec<String>) -> Result<(), String> {
        if complaints.is_empty() {
            return Ok(());
        }
        match self.options.field_validation {
            FieldValidation::Ignore => Ok(()),
            FieldValidation::Warn => {
                self.warn(complaints);
                Ok(())
            }
            FieldValidation::Strict => Err(format!("strict decoding error: {}", complaints.join(", "))),
        }
    }
}

fn cannot_be_handled(kind: &Kind, why: &str) -> ApiError {
    ApiError::bad_request(format!(
        "{} in version \"{}\" cannot be handled as a {}: {why}",
        kind.kind, kind.version, kind.kind
    ))
}

/// Fills in a missing type, and refuses a wrong one.
fn check_type(kind: &Kind, value: &mut Value) -> Result<()> {
    let sent_version = kinds::read::text(value, "apiVersion").to_owned();
    let sent_kind = kinds::read::text(value, "kind").to_owned();
    // Only custom resources must say what they are.
    if (kind.is_custom() || !sent_version.is_empty()) && sent_version != kind.api_version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({sent_version}) does not match the expected API version ({})",
            kind.api_version
        )));
    }
    if !sent_kind.is_empty() && sent_kind != kind.kind {
        return Err(another_kind(kind, &sent_kind, object::name(value)));
    }
    value["kind"] = kind.kind.as_ref().into();
    value["apiVersion"] = kind.api_version.as_ref().into();
    Ok(())
}

/// A built-in kind cannot be read as another; a custom one can, but breaks its first rule.
fn another_kind(kind: &Kind, sent: &str, name: &str) -> ApiError {
    if kind.is_custom() {
        let detail = format!("must be {}", kind.kind);
        let error = FieldError::invalid(&Path::new("kind"), &json!(sent), detail);
        return ApiError::invalid(&kind.group, sent, name, &[error]);
    }
    ApiError::bad_request(format!(
        "{sent} in version \"{}\" cannot be handled as a {}: converting ({}.{sent}) to ({}.{}): unknown conversion",
        kind.version,
        kind.kind,
        kind.version,
        internal_package(kind),
        kind.kind
    ))
}

/// The Go package of the internal form, as conversion errors name it.
fn internal_package(kind: &Kind) -> &str {
    match kind.group.split('.').next().unwrap_or_default() {
        "" => "core",
        group => group,
    }
}

/// The namespace of an object must be the one in the path, or be left out.
pub(crate) fn settle_namespace(kind: &Kind, request_namespace: &str, object: &mut Value) -> Result<()> {
    let sent = object::namespace(object);
    if !kind.namespaced {
        if !sent.is_empty() {
            return Err(ApiError::invalid(
                &kind.group,
                &kind.kind,
                object::name(object),
                &[FieldError::forbidden(
                    &Path::new("metadata").child("namespace"),
                    "not allowed on this type",
                )],
            ));
        }
        return Ok(());
    }
    if sent.is_empty() {
        object::set_meta(object, "namespace", Some(request_namespace.into()));
        return Ok(());
    }
    if sent != request_namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Drops metadata that only the server writes from an object to be created.
pub(crate) fn wipe_system_metadata(object: &mut Value) {
    let meta = object::meta_mut(object);
    for field in [
        "resourceVersion",
        "selfLink",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        meta.remove(field);
    }
}

/// Metadata that only the server writes, as a new object has it.
pub(crate) fn stamp_new(object: &mut Value, timestamp: &str) {
    wipe_system_metadata(object);
    let meta = object::meta_mut(object);
    meta.insert("uid".to_owned(), uuid::Uuid::new_v4().to_string().into());
    meta.insert("creationTimestamp".to_owned(), json!(timestamp));
}
