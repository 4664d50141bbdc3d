//! Complaints about one object: each finds the place of its field.

use kinds::decode::{Faults, Misfit, Unknown};
use manifests::{
    field::{ErrorKind, FieldError},
    spelling::nearest,
};
use packages::{Place, TracedObject};
use serde_json::Value;

use crate::finding::{Finding, Severity, Subject};

const NOT_TEXT: &str =
    "write it without quotes; a var always gives text, so set the field itself, by a patch or a setter";

pub(crate) struct Complaints<'o> {
    object: &'o TracedObject,
    findings: Vec<Finding>,
}

impl<'o> Complaints<'o> {
    pub(crate) fn about(object: &'o TracedObject) -> Self {
        Self {
            object,
            findings: Vec::new(),
        }
    }

    pub(crate) fn into_findings(self) -> Vec<Finding> {
        self.findings
    }

    /// What a kind's own rules say.
    pub(crate) fn broken_rules(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        for error in errors {
            let hint = hint(&error).map(str::to_owned);
            self.add(Severity::Error, &error.field, error.body(), hint);
        }
    }

    /// What somebody else says of a field.
    pub(crate) fn broken(&mut self, field: &str, message: String) {
        self.add(Severity::Error, field, message, None);
    }

    /// What does not fit a type; `path` is that of the value.
    pub(crate) fn faults(&mut self, path: &str, faults: &Faults) {
        for Unknown { path: field, owner } in &faults.unknown {
            let name = field.rsplit('.').next().unwrap_or(field);
            let known = owner.fields().iter().map(|field| field.name);
            self.unknown(&below(path, field), nearest(name, known));
        }
        for misfit in &faults.misfits {
            let hint = is_number_as_text(misfit).then(|| NOT_TEXT.to_owned());
            let (field, message) = (below(path, &misfit.path), told(misfit));
            self.add(Severity::Error, &field, message, hint);
        }
    }

    /// A field that the kind does not have, and the one that may be meant.
    pub(crate) fn unknown(&mut self, field: &str, meant: Option<&str>) {
        let hint = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "take it out: the API server drops it, or refuses the object".to_owned(),
        };
        let place = self.object.source.place_of_name(field);
        let finding = self.finding(Severity::Error, place, "there is no such field".to_owned());
        self.findings.push(Finding {
            field: Some(field.to_owned()),
            hint: Some(hint),
            ..finding
        });
    }

    pub(crate) fn warn(&mut self, field: &str, message: String, hint: String) {
        self.add(Severity::Warning, field, message, Some(hint));
    }

    pub(crate) fn refuse(&mut self, field: &str, message: String, hint: String) {
        self.add(Severity::Error, field, message, Some(hint));
    }

    fn add(&mut self, severity: Severity, field: &str, message: String, hint: Option<String>) {
        let place = self.object.source.place_of(field);
        let finding = self.finding(severity, place, message);
        self.findings.push(Finding {
            field: (!field.is_empty()).then(|| field.to_owned()),
            hint,
            ..finding
        });
    }

    fn finding(&self, severity: Severity, place: Option<Place>, message: String) -> Finding {
        Finding {
            severity,
            place,
            subject: Some(Subject::of(&self.object.value)),
            field: None,
            message,
            hint: None,
        }
    }
}

pub(crate) fn below(path: &str, field: &str) -> String {
    match (path, field) {
        ("", field) => field.to_owned(),
        (path, "") => path.to_owned(),
        (path, field) if field.starts_with('[') => format!("{path}{field}"),
        (path, field) => format!("{path}.{field}"),
    }
}

/// What to do about some of the things that rules say.
fn hint(error: &FieldError) -> Option<&'static str> {
    let wants_number = ["integer", "number", "boolean"].iter().any(|name| {
        error
            .detail
            .contains(&format!("must be of type {name}: \"string\""))
    });
    match error.kind {
        ErrorKind::TypeInvalid | ErrorKind::Invalid if wants_number => Some(NOT_TEXT),
        ErrorKind::Invalid if error.field == "metadata.name" => Some(
            "names are made of lower case letters, digits and `-`, and begin and end with a letter or digit",
        ),
        _ => None,
    }
}

fn told(misfit: &Misfit) -> String {
    let value = match &misfit.value {
        Value::Object(_) => "a map".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) => format!("the text {}", manifests::field::quoted(text)),
        scalar => scalar.to_string(),
    };
    match &misfit.error {
        kinds::decode::DecodeError::WrongType { .. } => {
            format!("{value} is there, and {} is needed", misfit.wanted)
        }
        error => format!("{value} is there: {error}"),
    }
}

fn is_number_as_text(misfit: &Misfit) -> bool {
    let is_meant = |text: &str| match misfit.wanted.as_str() {
        "bool" => text.parse::<bool>().is_ok(),
        "int32" | "int64" | "float64" => text.parse::<f64>().is_ok(),
        _ => false,
    };
    misfit.value.as_str().is_some_and(is_meant)
}
