//! The parameters every write understands: dry run, field manager, field validation.

use kinds::object_meta;
use manifests::field::{FieldError, Path};
use serde_json::json;

use crate::{
    error::{ApiError, Result},
    query::Query,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    pub dry_run: bool,
    pub force: bool,
    pub field_validation: FieldValidation,
}

/// What happens to fields nobody knows and keys given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

impl WriteOptions {
    /// Reads the options of a write; `kind` is how errors name them (`CreateOptions`).
    pub(crate) fn read(query: &Query, kind: &str) -> Result<Self> {
        let mut errors = Vec::new();
        let dry_run = dry_run(query.all("dryRun"), &mut errors);
        let field_validation = match query.text("fieldValidation") {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                errors.push(FieldError::not_supported(
                    &Path::new("fieldValidation"),
                    &json!(other),
                    &["", "Ignore", "Strict", "Warn"],
                ));
                FieldValidation::Warn
            }
        };
        if let Some(manager) = query.text("fieldManager") {
            object_meta::validate_field_manager(manager, || Path::new("fieldManager"), &mut errors);
        }
        if !errors.is_empty() {
            return Err(ApiError::invalid("meta.k8s.io", kind, "", &errors));
        }
        Ok(Self {
            dry_run,
            force: query.flag("force"),
            field_validation,
        })
    }
}

/// Whether the values of `dryRun` ask for one; only `All` is known.
pub(crate) fn dry_run<'a>(values: impl Iterator<Item = &'a str>, errors: &mut Vec<FieldError>) -> bool {
    let mut asked = false;
    for value in values {
        asked = true;
        if value != "All" {
            errors.push(FieldError::not_supported(
                &Path::new("dryRun"),
                &json!([value]),
                &["All"],
            ));
        }
    }
    asked
}
