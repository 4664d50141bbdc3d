//! One field of an object under validation: its value and where it stands. Paths are written out
//! only when there is something to complain about, so a good object costs no allocations.

use manifests::field::{FieldError, Path};
use serde_json::Value;

pub(crate) use crate::checks::{Errors, IMMUTABLE, NOT_NEGATIVE};
use crate::{checks, internal_form, names::Syntax, read};

/// A value together with the fields that lead to it.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) value: &'a Value,
    place: Place<'a>,
}

#[derive(Clone, Copy)]
enum Place<'a> {
    Root,
    Path(&'a Path),
    Child(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
    Key(&'a Place<'a>, &'a str),
}

impl Place<'_> {
    fn path(&self) -> Path {
        match self {
            Self::Root => Path::root(),
            Self::Path(path) => (*path).clone(),
            Self::Child(parent, name) => parent.path().child(name),
            Self::Index(parent, index) => parent.path().index(*index),
            Self::Key(parent, key) => parent.path().key(key),
        }
    }
}

/// Navigation.
impl<'a> Field<'a> {
    /// The object itself.
    pub(crate) fn root(value: &'a Value) -> Self {
        Self {
            value,
            place: Place::Root,
        }
    }

    /// A value that stands at a path somebody else wrote.
    pub(crate) fn at(value: &'a Value, path: &'a Path) -> Self {
        Self {
            value,
            place: Place::Path(path),
        }
    }

    /// A value whose path is a single name.
    pub(crate) fn top_level(value: &'a Value, name: &'a str) -> Self {
        Self {
            value,
            place: Place::Child(&Place::Root, name),
        }
    }

    /// A field below this one; `spec.ports` walks two steps.
    pub(crate) fn child(&'a self, name: &'a str) -> Self {
        let value = name.split('.').fold(self.value, read::get);
        Self {
            value,
            place: Place::Child(&self.place, name),
        }
    }

    /// This value under another name: some errors name a field the API does not have.
    pub(crate) fn renamed(&'a self, name: &'a str) -> Self {
        Self {
            value: self.value,
            place: Place::Child(&self.place, name),
        }
    }

    /// The entry of a map, named by its key.
    pub(crate) fn key(&'a self, key: &'a str) -> Self {
        Self {
            value: read::get(self.value, key),
            place: Place::Key(&self.place, key),
        }
    }

    pub(crate) fn items(&'a self) -> impl Iterator<Item = Self> {
        self.list().iter().enumerate().map(|(index, value)| Self {
            value,
            place: Place::Index(&self.place, index),
        })
    }

    pub(crate) fn entries(&'a self) -> impl Iterator<Item = (&'a str, Self)> {
        self.value.as_object().into_iter().flatten().map(|(key, value)| {
            (
                key.as_str(),
                Self {
                    value,
                    place: Place::Key(&self.place, key),
                },
            )
        })
    }

    pub(crate) fn path(&self) -> Path {
        self.place.path()
    }
}

/// Reading.
impl<'a> Field<'a> {
    pub(crate) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    pub(crate) fn int(&self) -> Option<i64> {
        self.value.as_i64()
    }

    pub(crate) fn flag(&self) -> bool {
        self.value.as_bool().unwrap_or_default()
    }

    pub(crate) fn list(&self) -> &'a [Value] {
        self.value.as_array().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether the field is missing or holds the empty value of its type.
    pub(crate) fn is_empty(&self) -> bool {
        match self.value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(entries) => entries.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// Complaints.
impl Field<'_> {
    pub(crate) fn required(&self, errors: &mut Errors) {
        self.required_because("", errors);
    }

    pub(crate) fn required_because(&self, detail: &str, errors: &mut Errors) {
        errors.push(FieldError::required(&self.path(), detail));
    }

    pub(crate) fn forbidden(&self, detail: &str, errors: &mut Errors) {
        errors.push(FieldError::forbidden(&self.path(), detail));
    }

    pub(crate) fn invalid(&self, detail: impl Into<String>, errors: &mut Errors) {
        errors.push(FieldError::invalid(&self.path(), self.value, detail));
    }

    /// An invalid value that is shown in other words than the field holds.
    pub(crate) fn invalid_as(&self, shown: impl Into<Value>, detail: impl Into<String>, errors: &mut Errors) {
        errors.push(FieldError::invalid(&self.path(), &shown.into(), detail));
    }

    /// An invalid value that is shown as the real server's own type has it.
    pub(crate) fn invalid_shown(&self, kind: &str, detail: &str, errors: &mut Errors) {
        errors.push(internal_form::invalid(&self.path(), self.value, kind, detail));
    }

    pub(crate) fn duplicate(&self, errors: &mut Errors) {
        errors.push(FieldError::duplicate(&self.path(), self.value));
    }

    pub(crate) fn duplicate_as(&self, shown: impl Into<Value>, errors: &mut Errors) {
        errors.push(FieldError::duplicate(&self.path(), &shown.into()));
    }

    /// A duplicate that is shown as the real server's own type has it.
    pub(crate) fn duplicate_shown(&self, kind: &str, errors: &mut Errors) {
        let error = FieldError::duplicate(&self.path(), &Value::Null);
        errors.push(FieldError {
            value: internal_form::compact(self.value, kind),
            ..error
        });
    }

    pub(crate) fn not_supported(&self, supported: &[&str], errors: &mut Errors) {
        errors.push(FieldError::not_supported(
            &self.path(),
            &self.text().into(),
            supported,
        ));
    }

    /// An unsupported value that is shown in other words than the field holds.
    pub(crate) fn not_supported_as(&self, shown: &Value, supported: &[&str], errors: &mut Errors) {
        errors.push(FieldError::not_supported(&self.path(), shown, supported));
    }

    pub(crate) fn too_long(&self, max: usize, errors: &mut Errors) {
        errors.push(FieldError::too_long(&self.path(), max));
    }

    pub(crate) fn too_many(&self, max: usize, errors: &mut Errors) {
        errors.push(FieldError::too_many(&self.path(), self.list().len(), max));
    }
}

/// Checks that many kinds share. Each answers whether the field is fine.
impl Field<'_> {
    /// The field is there and not empty.
    pub(crate) fn require(&self, errors: &mut Errors) -> bool {
        if self.is_empty() {
            self.required(errors);
        }
        !self.is_empty()
    }

    /// The text is one of a closed list; a missing field is not.
    pub(crate) fn one_of(&self, supported: &[&str], errors: &mut Errors) -> bool {
        let fine = supported.contains(&self.text());
        if !fine {
            self.not_supported(supported, errors);
        }
        fine
    }

    /// The field is there and one of a closed list.
    pub(crate) fn require_one_of(&self, supported: &[&str], errors: &mut Errors) -> bool {
        self.require(errors) && self.one_of(supported, errors)
    }

    /// The field is missing or one of a closed list.
    pub(crate) fn optional_one_of(&self, supported: &[&str], errors: &mut Errors) -> bool {
        !self.is_set() || self.one_of(supported, errors)
    }

    pub(crate) fn syntax(&self, syntax: Syntax, errors: &mut Errors) -> bool {
        self.named(self.text(), syntax, errors)
    }

    /// What the field goes by, such as the key of an entry, follows a syntax.
    pub(crate) fn named(&self, name: &str, syntax: Syntax, errors: &mut Errors) -> bool {
        let complaints = syntax(name);
        let fine = complaints.is_empty();
        for complaint in complaints {
            self.invalid_as(name, complaint, errors);
        }
        fine
    }

    /// The field is there and its text has the right syntax.
    pub(crate) fn require_syntax(&self, syntax: Syntax, errors: &mut Errors) -> bool {
        self.require(errors) && self.syntax(syntax, errors)
    }

    /// The field is missing, empty or its text has the right syntax.
    pub(crate) fn optional_syntax(&self, syntax: Syntax, errors: &mut Errors) -> bool {
        self.is_empty() || self.syntax(syntax, errors)
    }

    pub(crate) fn in_range(&self, low: i64, high: i64, errors: &mut Errors) -> bool {
        let number = self.int().unwrap_or_default();
        let fine = (low..=high).contains(&number);
        if !fine {
            self.invalid_as(
                number,
                format!("must be between {low} and {high}, inclusive"),
                errors,
            );
        }
        fine
    }

    pub(crate) fn port_number(&self, errors: &mut Errors) -> bool {
        self.in_range(1, 65535, errors)
    }

    /// No two items say the same; complaints name the later one.
    pub(crate) fn unique_items(&self, errors: &mut Errors) {
        let mut seen = std::collections::BTreeSet::new();
        for item in self.items() {
            if !seen.insert(item.value.as_str().unwrap_or_default()) {
                item.duplicate(errors);
            }
        }
    }

    /// No two items have the same text in the named field.
    pub(crate) fn unique_by(&self, key: &str, errors: &mut Errors) {
        let mut seen = std::collections::BTreeSet::new();
        for item in self.items() {
            if !seen.insert(read::text(item.value, key)) {
                item.child(key).duplicate(errors);
            }
        }
    }

    /// A list of at most so many items.
    pub(crate) fn at_most(&self, max: usize, errors: &mut Errors) {
        if self.list().len() > max {
            self.too_many(max, errors);
        }
    }

    pub(crate) fn not_negative(&self, errors: &mut Errors) -> bool {
        let number = self.int().unwrap_or_default();
        if number < 0 {
            self.invalid_as(number, NOT_NEGATIVE, errors);
        }
        number >= 0
    }

    pub(crate) fn positive(&self, errors: &mut Errors) -> bool {
        let number = self.int().unwrap_or_default();
        if number <= 0 {
            self.invalid_as(number, "must be greater than zero", errors);
        }
        number > 0
    }

    /// The field says what it said before.
    pub(crate) fn immutable(&self, old: &Value, errors: &mut Errors) -> bool {
        let fine = checks::same(self.value, old);
        if !fine {
            self.invalid(IMMUTABLE, errors);
        }
        fine
    }
}
