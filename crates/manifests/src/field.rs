//! Field paths and the errors that name them, worded as Kubernetes words them.

use std::fmt::{self, Write as _};

use serde_json::Value;
use smallvec::SmallVec;

/// The name of a field as users read it in errors: `spec.containers[0].name`, `data[key]`.
///
/// Validation makes many of them, nearly all for nothing: those of usual length allocate nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(SmallVec<[u8; 96]>);

impl Path {
    /// The path of the document itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// A path that starts at the named top-level field.
    pub fn new(name: &str) -> Self {
        Self(SmallVec::from_slice(name.as_bytes()))
    }

    /// The field `name` below this one.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() {
            return Self::new(name);
        }
        self.extended(&[".", name])
    }

    /// The item of a list.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.extended(&["[", &index.to_string(), "]"])
    }

    /// The entry of a map.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.extended(&["[", key, "]"])
    }

    fn extended(&self, parts: &[&str]) -> Self {
        let mut path = SmallVec::from_slice(&self.0);
        for part in parts {
            path.extend_from_slice(part.as_bytes());
        }
        Self(path)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The classes of field errors; each has its own wording and its own machine-readable reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    Internal,
    TypeInvalid,
}

impl ErrorKind {
    /// The `reason` of a cause in a Status.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }
}

/// One thing wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    pub kind: ErrorKind,
    pub field: String,
    /// The offending value, already in the words of the message; empty when the message has none.
    pub value: String,
    pub detail: String,
}

impl FieldError {
    pub fn required(path: &Path, detail: impl Into<String>) -> Self {
        Self::with_text(ErrorKind::Required, path, String::new(), detail)
    }

    pub fn forbidden(path: &Path, detail: impl Into<String>) -> Self {
        Self::with_text(ErrorKind::Forbidden, path, String::new(), detail)
    }

    pub fn invalid(path: &Path, value: &Value, detail: impl Into<String>) -> Self {
        Self::with_text(ErrorKind::Invalid, path, shown(value), detail)
    }

    /// An invalid value that is too large or too obvious to show.
    pub fn invalid_unshown(path: &Path, detail: impl Into<String>) -> Self {
        Self::with_text(ErrorKind::Invalid, path, String::new(), detail)
    }

    pub fn type_invalid(path: &Path, value: &Value, detail: impl Into<String>) -> Self {
        Self::with_text(ErrorKind::TypeInvalid, path, shown(value), detail)
    }

    pub fn duplicate(path: &Path, value: &Value) -> Self {
        Self::with_text(ErrorKind::Duplicate, path, shown(value), "")
    }

    pub fn not_found(path: &Path, value: &Value) -> Self {
        Self::with_text(ErrorKind::NotFound, path, shown(value), "")
    }

    /// A value outside of a closed list; the list is shown in the order given.
    pub fn not_supported(path: &Path, value: &Value, supported: &[&str]) -> Self {
        let mut detail = String::new();
        for (i, choice) in supported.iter().enumerate() {
            let _ = write!(
                detail,
                "{}{choice:?}",
                if i == 0 { "supported values: " } else { ", " }
            );
        }
        Self::with_text(ErrorKind::NotSupported, path, shown(value), detail)
    }

    pub fn too_long(path: &Path, max: usize) -> Self {
        Self::with_text(
            ErrorKind::TooLong,
            path,
            String::new(),
            format!("may not be more than {max} bytes"),
        )
    }

    pub fn too_many(path: &Path, actual: usize, max: usize) -> Self {
        let items = if max == 1 { "item" } else { "items" };
        Self::with_text(
            ErrorKind::TooMany,
            path,
            actual.to_string(),
            format!("must have at most {max} {items}"),
        )
    }

    pub fn internal(path: &Path, detail: impl Into<String>) -> Self {
        Self::with_text(ErrorKind::Internal, path, String::new(), detail)
    }

    fn with_text(kind: ErrorKind, path: &Path, value: String, detail: impl Into<String>) -> Self {
        Self {
            kind,
            field: path.as_str().to_owned(),
            value,
            detail: detail.into(),
        }
    }

    /// The message of the cause: everything but the field's name.
    pub fn body(&self) -> String {
        let mut text = self.kind.label().to_owned();
        match self.kind {
            ErrorKind::Required | ErrorKind::Forbidden | ErrorKind::TooLong | ErrorKind::Internal => {}
            // A value that is left out; an empty text would be two quotes.
            _ if self.value.is_empty() => {}
            _ => {
                text.push_str(": ");
                text.push_str(&self.value);
            }
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// Values in messages: strings quoted, scalars plain, everything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Null => "null".to_owned(),
        other => other.to_string(),
    }
}

/// A string in double quotes, escaped as Go's `%q` does.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if c.is_control() && (c as u32) < 0x80 => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_read_as_the_real_servers() {
        let path = Path::new("spec").child("containers").index(0).child("name");
        assert_eq!(
            FieldError::required(&path, "").to_string(),
            "spec.containers[0].name: Required value"
        );
        assert_eq!(
            FieldError::invalid(&path, &json!("A"), "must be lower case").to_string(),
            "spec.containers[0].name: Invalid value: \"A\": must be lower case"
        );
        assert_eq!(
            FieldError::not_supported(&Path::new("type"), &json!("x"), &["A", "B"]).to_string(),
            "type: Unsupported value: \"x\": supported values: \"A\", \"B\""
        );
        assert_eq!(
            FieldError::too_many(&Path::new("a"), 3, 1).to_string(),
            "a: Too many: 3: must have at most 1 item"
        );
    }
}
