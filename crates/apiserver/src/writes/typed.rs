//! From what a client sent to an object of the right kind: type checked, unknown fields dealt with,
//! defaults filled in.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Writer, faults::Repeated, options::FieldValidation};
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
        let content_type = negotiate::content_type(&self.call.headers);
        let Decoded { mut value, repeated } = body::decode(content_type, bytes, &kind.kind)?;
        if kind.is_custom() && kinds::read::text(&value, "kind").is_empty() {
            return Err(body::missing_kind(&kind.kind, bytes));
        }
        if !kind.is_custom() && kinds::read::text(&value, "apiVersion").ends_with('/') {
            let sent_kind = kinds::read::text(&value, "kind");
            return Err(body::missing_version(sent_kind, &kind.kind, bytes));
        }
        check_type(kind, &mut value)?;
        self.complete(value, repeated)
    }

    /// Checks fields, and fills in defaults, of an object whose type is known to be right.
    pub(crate) fn complete(&mut self, value: Value, repeated: Repeated<'_>) -> Result<Value> {
        let kind = &self.call.kind;
        self.decode(value, repeated)
            .map_err(|why| body::unfit(&kind.api_version, &kind.kind, &kind.kind, &why))
    }

    /// The same, but the caller says in its own way what is wrong.
    pub(crate) fn decode(&mut self, mut value: Value, repeated: Repeated<'_>) -> Result<Value, String> {
        let kind = &self.call.kind;
        match &kind.definition {
            Definition::BuiltIn(built_in) => {
                let unknown =
                    body::normalize(built_in.shape, &mut value).map_err(|error| error.to_string())?;
                self.report(repeated, unknown)?;
            }
            // A schema looks at the fields only after all of them were read.
            Definition::Custom(custom) => {
                let unknown = custom.prune(&mut value)?.into_iter();
                let unknown = unknown.map(|path| format!("unknown field \"{path}\"")).collect();
                self.report(repeated.before_fields(), unknown)?;
            }
        }
        let kind = &self.call.kind;
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
        let decoded = self.decode(value, Repeated::default());
        self.options.field_validation = asked;
        decoded
    }

    /// Tells of fields nobody knows and of keys given twice, as loudly as the client asked for.
    fn report(&mut self, repeated: Repeated<'_>, unknown: Vec<String>) -> Result<(), String> {
        if repeated.is_empty() && unknown.is_empty() {
            return Ok(());
        }
        match self.options.field_validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => self.warn(repeated.warnings(unknown)),
            FieldValidation::Strict => return Err(repeated.error(unknown)),
        }
        Ok(())
    }
}

/// Fills in a missing type, and refuses a wrong one.
fn check_type(kind: &Kind, value: &mut Value) -> Result<()> {
    let sent_version = kinds::read::text(value, "apiVersion").to_owned();
    let sent_kind = kinds::read::text(value, "kind").to_owned();
    // Only custom resources must say what they are.
    if kind.is_custom() && sent_version != kind.api_version {
        return Err(another_version(kind, &sent_version));
    }
    if kind.is_custom() && sent_kind != kind.kind {
        let error = FieldError::invalid(
            &Path::new("kind"),
            &json!(sent_kind),
            format!("must be {}", kind.kind),
        );
        return Err(ApiError::invalid(
            &kind.group,
            &sent_kind,
            object::name(value),
            &[error],
        ));
    }
    check_sent_type(kind, &sent_version, &sent_kind)?;
    value["kind"] = kind.kind.as_ref().into();
    value["apiVersion"] = kind.api_version.as_ref().into();
    Ok(())
}

fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Refuses another type than the kind's.
fn check_sent_type(kind: &Kind, sent_version: &str, sent_kind: &str) -> Result<()> {
    match mismatch(kind, sent_version, sent_kind) {
        None => Ok(()),
        Some(Mismatch::Version) => Err(another_version(kind, sent_version)),
        Some(Mismatch::Type(why)) => {
            let sent_version = non_empty(sent_version).unwrap_or(&kind.api_version);
            let sent_kind = non_empty(sent_kind).unwrap_or(&kind.kind);
            Err(body::unfit(sent_version, sent_kind, &kind.kind, &why))
        }
    }
}

/// Why something of a type is not of a kind.
pub(super) enum Mismatch {
    /// Nobody knows the type, or it cannot be turned into the kind.
    Type(String),
    /// It belongs to another path.
    Version,
}

/// What is wrong with the type an object says it has. What it does not say is right.
pub(super) fn mismatch(kind: &Kind, sent_version: &str, sent_kind: &str) -> Option<Mismatch> {
    let sent_version = non_empty(sent_version).unwrap_or(&kind.api_version);
    let sent_kind = non_empty(sent_kind).unwrap_or(&kind.kind);
    if sent_version == kind.api_version && sent_kind == kind.kind {
        return None;
    }
    if !kind.is_custom() && kinds::resources::type_of(sent_version, sent_kind).is_none() {
        return Some(Mismatch::Type(body::not_registered(sent_version, sent_kind)));
    }
    if sent_kind != kind.kind {
        let package = sent_version.rsplit('/').next().unwrap_or_default();
        return Some(Mismatch::Type(format!(
            "converting ({package}.{sent_kind}) to ({}.{}): unknown conversion",
            kind.go_package(),
            kind.kind
        )));
    }
    Some(Mismatch::Version)
}

pub(super) fn another_version(kind: &Kind, sent: &str) -> ApiError {
    ApiError::bad_request(format!(
        "the API version in the data ({sent}) does not match the expected API version ({})",
        kind.api_version
    ))
}

/// The namespace of an object must be the one in the path, or be left out. What has none loses it.
pub(crate) fn settle_namespace(kind: &Kind, request_namespace: &str, object: &mut Value) -> Result<()> {
    let sent = object::namespace(object);
    if !kind.namespaced {
        if !sent.is_empty() {
            object::set_meta(object, "namespace", None);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refusal(version: &str, kind: &str) -> String {
        let kinds = crate::built_in::kinds();
        let config_map = kinds.iter().find(|it| it.is("", "ConfigMap")).unwrap();
        check_sent_type(config_map, version, kind).map_or_else(|error| error.message, |()| String::new())
    }

    #[test]
    fn only_the_type_of_the_path_is_taken() {
        assert_eq!(refusal("v1", "ConfigMap"), "");
        assert_eq!(refusal("", ""), "");
        assert_eq!(
            refusal("v2", ""),
            "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"v2\" in scheme \"pkg/runtime/scheme.go:110\""
        );
        assert_eq!(
            refusal("v1", "Secret"),
            "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion"
        );
    }

    #[test]
    fn another_version_of_the_kind_belongs_to_another_path() {
        let kinds = crate::built_in::kinds();
        let autoscaler = kinds
            .iter()
            .find(|it| it.api_version == "autoscaling/v1")
            .unwrap();
        let error = check_sent_type(autoscaler, "autoscaling/v2", "HorizontalPodAutoscaler").unwrap_err();
        assert_eq!(
            error.message,
            "the API version in the data (autoscaling/v2) does not match the expected API version (autoscaling/v1)"
        );
    }
}
