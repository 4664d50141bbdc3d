//! How one built-in kind differs from every other, as a row of functions the API server calls around
//! each write. What all kinds share (uid, generation, resourceVersion) is the server's own work.

use manifests::field::FieldError;
use serde_json::Value;

use crate::names;

/// How one built-in kind differs from every other: a row of functions.
pub struct Strategy {
    /// Fills in what the user left out.
    pub default: fn(&mut Value),
    /// Drops what users may not set on creation (mostly status) and sets what the server owns.
    pub prepare_for_create: fn(&mut Value),
    /// Carries over from the old object what this endpoint may not change: `(new, old)`.
    pub prepare_for_update: fn(&mut Value, &Value),
    pub validate: fn(&Value, &mut Vec<FieldError>),
    /// `(new, old, errors)`.
    pub validate_update: fn(&Value, &Value, &mut Vec<FieldError>),
    /// As `prepare_for_update`, for writes to the status subresource.
    pub prepare_for_status_update: fn(&mut Value, &Value),
    pub validate_status_update: fn(&Value, &Value, &mut Vec<FieldError>),
    /// The texts of `Warning` headers.
    pub warnings_on_create: fn(&Value) -> Vec<String>,
    /// `(new, old)`.
    pub warnings_on_update: fn(&Value, &Value) -> Vec<String>,
    pub name_syntax: names::Syntax,
    /// Whoever changes a new object on the server's side leaves it in the form it is stored in, so that
    /// nobody has to look for what is out of form: for what is created by the thousand.
    pub stays_in_form: bool,
}

impl Strategy {
    /// Does nothing and accepts everything; kinds override fields with `..Strategy::NONE`.
    pub const NONE: Self = Self {
        default: |_| {},
        prepare_for_create: |_| {},
        prepare_for_update: |_, _| {},
        validate: |_, _| {},
        validate_update: |_, _, _| {},
        prepare_for_status_update: |_, _| {},
        validate_status_update: |_, _, _| {},
        warnings_on_create: |_| Vec::new(),
        warnings_on_update: |_, _| Vec::new(),
        name_syntax: names::dns_subdomain,
        stays_in_form: false,
    };
}
