//! Kinds that are asked and answered but never stored, and the small bodies of subresources.

use manifests::field::{FieldError, Path};
use serde_json::Value;

use super::field::{Errors, Field};
use crate::{checks::same, read, strategy::Strategy};

const MIN_TOKEN_SECONDS: i64 = 600;
const BOTH: &str = "cannot be specified in combination with resourceAttributes";
const NEITHER: &str = "exactly one of nonResourceAttributes or resourceAttributes must be specified";

pub(crate) static TOKEN_REQUEST: Strategy = Strategy {
    default: |request| {
        read::default(super::spec_mut(request), "expirationSeconds", 3600);
    },
    prepare_for_create: super::clear_status,
    validate: |request, errors| {
        let root = Field::root(request);
        let seconds = root.child("spec.expirationSeconds");
        match seconds.int().unwrap_or_default() {
            ..MIN_TOKEN_SECONDS => seconds.invalid("may not specify a duration less than 10 minutes", errors),
            number if number > 1 << 32 => {
                seconds.invalid("may not specify a duration larger than 2^32 seconds", errors);
            }
            _ => {}
        }
    },
    ..Strategy::NONE
};

/// Bodies without rules. A TokenReview without a token is a bad request, which is for the caller to
/// say.
pub(crate) static UNCHECKED: Strategy = Strategy::NONE;

pub(crate) static SUBJECT_ACCESS_REVIEW: Strategy = Strategy {
    validate: |review, errors| {
        validate_attributes(review, true, errors);
        validate_metadata(review, &[], "must be empty", errors);
    },
    ..Strategy::NONE
};

pub(crate) static SELF_SUBJECT_ACCESS_REVIEW: Strategy = Strategy {
    validate: |review, errors| {
        validate_attributes(review, false, errors);
        validate_metadata(review, &[], "must be empty", errors);
    },
    ..Strategy::NONE
};

pub(crate) static LOCAL_SUBJECT_ACCESS_REVIEW: Strategy = Strategy {
    validate: |review, errors| {
        validate_attributes(review, true, errors);
        validate_metadata(
            review,
            &["namespace"],
            "must be empty except for namespace",
            errors,
        );
        let root = Field::root(review);
        let namespace = root.child("spec.resourceAttributes.namespace");
        let own = read::text(read::get(review, "metadata"), "namespace");
        if root.child("spec.resourceAttributes").is_set() && namespace.text() != own {
            namespace.invalid_as(namespace.text(), "must match metadata.namespace", errors);
        }
        let url = root.child("spec.nonResourceAttributes");
        if url.is_set() {
            url.invalid_shown(
                "NonResourceAttributes",
                "disallowed on this kind of request",
                errors,
            );
        }
    },
    ..Strategy::NONE
};

/// The body of `scale`.
pub(crate) static SCALE: Strategy = Strategy {
    validate: |scale, errors| {
        Field::root(scale).child("spec.replicas").not_negative(errors);
    },
    validate_update: |scale, _, errors| {
        Field::root(scale).child("spec.replicas").not_negative(errors);
    },
    ..Strategy::NONE
};

/// The body of a pod's `binding`.
pub(crate) static BINDING: Strategy = Strategy {
    validate: |binding, errors| {
        let root = Field::root(binding);
        let kind = root.child("target.kind");
        if !["", "Node"].contains(&kind.text()) {
            kind.not_supported(&["Node", "<empty>"], errors);
        }
        root.child("target.name").require(errors);
    },
    ..Strategy::NONE
};

fn validate_attributes(review: &Value, names_subject: bool, errors: &mut Errors) {
    let root = Field::root(review);
    let spec = root.child("spec");
    let (resource, url) = (
        spec.child("resourceAttributes"),
        spec.child("nonResourceAttributes"),
    );
    match (resource.is_set(), url.is_set()) {
        (true, true) => url.invalid_shown("NonResourceAttributes", BOTH, errors),
        (false, false) => resource.invalid(NEITHER, errors),
        _ => {}
    }
    let user = spec.child("user");
    if names_subject && user.is_empty() && spec.child("groups").is_empty() {
        user.invalid_as(
            user.text(),
            "at least one of user or group must be specified",
            errors,
        );
    }
    for selector in ["fieldSelector", "labelSelector"] {
        let selector = resource.child(selector);
        if selector.is_set() {
            validate_selector(&selector, errors);
        }
    }
}

fn validate_selector(selector: &Field<'_>, errors: &mut Errors) {
    let (raw, requirements) = (selector.child("rawSelector"), selector.child("requirements"));
    match (raw.is_empty(), requirements.is_empty()) {
        (false, false) => raw.invalid("may not specified at the same time as requirements", errors),
        (true, true) => {
            let detail = format!(
                "when {} is specified, requirements or rawSelector is required",
                selector.path()
            );
            requirements.required_because(&detail, errors);
        }
        _ => {}
    }
}

fn validate_metadata(review: &Value, except: &[&str], detail: &str, errors: &mut Errors) {
    let metadata = read::get(review, "metadata");
    let unexpected = metadata.as_object().into_iter().flatten().any(|(field, value)| {
        field != "managedFields" && !except.contains(&field.as_str()) && !same(value, &Value::Null)
    });
    if unexpected {
        errors.push(FieldError::invalid(&Path::new("metadata"), metadata, detail));
    }
}
