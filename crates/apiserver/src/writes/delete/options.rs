//! How an object is to be deleted: what clients may ask for.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    body,
    error::{ApiError, Result},
    query::Query,
    writes::options,
};

/// What happens to the objects that name this one as their owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// How an object is to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    pub grace: Option<i64>,
    pub propagation: Option<Propagation>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub dry_run: bool,
    /// `orphanDependents: false`, the old spelling, is answered with 202.
    pub legacy_background: bool,
}

impl DeleteOptions {
    /// Options come in the body or, where there is none, as query parameters.
    pub(crate) fn read(query: &Query, content_type: &str, bytes: &[u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Self::from_value(&options_from_query(query)?);
        }
        Self::from_value(&body::decode_delete_options(content_type, bytes)?)
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self> {
        let mut errors = Vec::new();
        let dry_run = options::dry_run(
            kinds::read::list(value, "dryRun")
                .iter()
                .filter_map(Value::as_str),
            &mut errors,
        );
        let path = Path::new("propagationPolicy");
        let orphan = value.get("orphanDependents").and_then(Value::as_bool);
        let propagation = match value.get("propagationPolicy").and_then(Value::as_str) {
            None => orphan.map(|orphan| {
                if orphan {
                    Propagation::Orphan
                } else {
                    Propagation::Background
                }
            }),
            Some(_) if orphan.is_some() => {
                errors.push(FieldError::invalid(
                    &path,
                    &value["propagationPolicy"],
                    "orphanDependents and deletionPropagation cannot be both set",
                ));
                None
            }
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(other) => {
                errors.push(FieldError::not_supported(
                    &path,
                    &json!(other),
                    &["Foreground", "Background", "Orphan", "nil"],
                ));
                None
            }
        };
        if !errors.is_empty() {
            return Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
        }
        let precondition = |name: &str| {
            value
                .pointer(&format!("/preconditions/{name}"))
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        Ok(Self {
            grace: value
                .get("gracePeriodSeconds")
                .and_then(Value::as_i64)
                .map(|grace| if grace < 0 { 1 } else { grace }),
            propagation,
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            dry_run,
            legacy_background: orphan == Some(false),
        })
    }
}

impl DeleteOptions {
    /// The options as an object, as admission is told them.
    pub(crate) fn to_value(&self) -> Value {
        let mut options = json!({});
        if let Some(grace) = self.grace {
            options["gracePeriodSeconds"] = grace.into();
        }
        match self.propagation {
            Some(Propagation::Background) if self.legacy_background => {
                options["orphanDependents"] = false.into();
            }
            Some(propagation) => options["propagationPolicy"] = propagation.name().into(),
            None => {}
        }
        for (field, text) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
            if let Some(text) = text {
                options["preconditions"][field] = text.as_str().into();
            }
        }
        if self.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        options
    }
}

impl Propagation {
    fn name(self) -> &'static str {
        match self {
            Self::Orphan => "Orphan",
            Self::Background => "Background",
            Self::Foreground => "Foreground",
        }
    }
}

fn options_from_query(query: &Query) -> Result<Value> {
    let mut options = json!({});
    if let Some(grace) = query.int("gracePeriodSeconds")? {
        options["gracePeriodSeconds"] = grace.into();
    }
    if let Some(policy) = query.text("propagationPolicy") {
        options["propagationPolicy"] = policy.into();
    }
    if let Some(orphan) = query.optional_flag("orphanDependents") {
        options["orphanDependents"] = orphan.into();
    }
    let dry_run: Vec<&str> = query.all("dryRun").collect();
    if !dry_run.is_empty() {
        options["dryRun"] = json!(dry_run);
    }
    Ok(options)
}
