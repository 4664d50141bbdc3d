//! What can be wrong with a strategic merge patch, in the words of the API server. Those words
//! print values as Go's `%v` does.

use std::fmt;

use serde_json::Value;

use super::{DIRECTIVE, ELEMENT_ORDER, Object};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrategicMergeError {
    #[error("json: cannot unmarshal {0} into Go value of type map[string]interface {{}}")]
    NotAnObject(&'static str),
    #[error("invalid patch format of primitive list")]
    BadPrimitiveList,
    #[error("invalid patch format of retainKeys")]
    BadRetainKeys,
    #[error("invalid patch format of setElementOrder list")]
    BadElementOrder,
    #[error("lists of lists are not supported")]
    ListOfLists,
    #[error("no elements in any of the given slices")]
    NoElements,
    #[error("list element types are not identical: {lists}")]
    MixedElements { lists: String },
    #[error("map: {item} does not contain declared merge key: {key}")]
    NoMergeKey { item: String, key: String },
    #[error("cannot merge lists without merge key for {0}")]
    NoMergeKeyDeclared(String),
    #[error("merging lists cannot yet be specified in the patch")]
    MergeDirectiveInList,
    #[error("unknown patch type: {directive} in map: {item}")]
    UnknownDirective { directive: String, item: String },
    #[error("The order in patch list:\n{patch}\n doesn't match {ELEMENT_ORDER} list:\n{order}\n")]
    OrderMismatch { patch: String, order: String },
    #[error("value for key {0} is not a map")]
    NotAMap(usize),
    #[error("expected a {expected}, but received a {actual}")]
    WrongType {
        expected: &'static str,
        actual: &'static str,
    },
    #[error("unable to find api field in struct {type_name} for the json field {field:?}")]
    UnknownField { type_name: String, field: String },
}

impl StrategicMergeError {
    /// What the API server answers with. Only some errors are recognised as the client's.
    pub fn status_code(&self) -> u16 {
        match self {
            Self::NotAnObject(_) | Self::BadPrimitiveList | Self::BadRetainKeys | Self::BadElementOrder => {
                400
            }
            Self::ListOfLists => 422,
            _ => 500,
        }
    }

    pub(super) fn no_merge_key(item: &Object, key: &str) -> Self {
        Self::NoMergeKey {
            item: Printed::map(item),
            key: key.to_owned(),
        }
    }

    pub(super) fn unknown_directive(item: &Object) -> Self {
        let directive = item
            .get(DIRECTIVE)
            .map(|directive| Printed(directive).to_string());
        Self::UnknownDirective {
            directive: directive.unwrap_or_default(),
            item: Printed::map(item),
        }
    }

    pub(super) fn mixed_elements(original: &[Value], patch: &[Value]) -> Self {
        let lists = format!("[{} {}]", Printed::list(original), Printed::list(patch));
        Self::MixedElements { lists }
    }

    pub(super) fn order_mismatch(patch: &[Value], order: &[Value]) -> Self {
        Self::OrderMismatch {
            patch: Printed::list(patch),
            order: Printed::list(order),
        }
    }

    pub(super) fn wrong_type(expected: &'static str, actual: &Value) -> Self {
        let actual = match actual {
            Value::Null => "%!s(<nil>)",
            Value::Bool(_) => "bool",
            Value::Number(number) if number.is_f64() => "float64",
            Value::Number(_) => "int64",
            Value::String(_) => "string",
            Value::Array(_) => "[]interface {}",
            Value::Object(_) => "map[string]interface {}",
        };
        Self::WrongType { expected, actual }
    }
}

/// A value as Go's `%v` prints it, which is how errors about a patched object show the patch.
pub fn go_printed(value: &Value) -> String {
    Printed(value).to_string()
}

/// A value as Go's `%v` prints it: `map[env:[map[name:a]] name:c]`.
struct Printed<'v>(&'v Value);

impl Printed<'_> {
    fn map(object: &Object) -> String {
        let fields: Vec<_> = object
            .iter()
            .map(|(name, value)| format!("{name}:{}", Printed(value)))
            .collect();
        format!("map[{}]", fields.join(" "))
    }

    fn list(items: &[Value]) -> String {
        let items: Vec<_> = items.iter().map(|item| Printed(item).to_string()).collect();
        format!("[{}]", items.join(" "))
    }
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("<nil>"),
            Value::String(text) => f.write_str(text),
            Value::Array(items) => f.write_str(&Self::list(items)),
            Value::Object(object) => f.write_str(&Self::map(object)),
            scalar => write!(f, "{scalar}"),
        }
    }
}
