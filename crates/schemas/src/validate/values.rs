//! Values against types and value validations. The real server uses a general JSON schema
//! validator here; its habits (which alternative of an `anyOf` gets blamed, what a format does to
//! the type check) are part of the messages people see.

mod alternatives;
mod numbers;

use std::collections::HashSet;

use manifests::field::{ErrorKind, FieldError, Path};
use serde_json::{Map, Value};

use super::ratchet::{Old, unchanged};
use crate::{
    golang,
    structural::{Additional, Checks, Kind, Pattern, Structural},
    trail::Trail,
};

/// Validates `value`; with an `old` value, errors in places that did not change are dropped.
pub(super) fn validate(
    value: &Value,
    schema: &Structural,
    old: Option<&Value>,
    base: &Path,
    errors: &mut Vec<FieldError>,
) {
    let mut found = Vec::new();
    let old = old.map(|old| Old { value: old, schema });
    Validator { base }.check(value, schema, old, &Trail::ROOT, &mut found);
    let mut seen = HashSet::new();
    errors.extend(
        found
            .into_iter()
            .filter(|error| seen.insert((error.kind.reason(), error.to_string()))),
    );
}

struct Validator<'a> {
    base: &'a Path,
}

impl Validator<'_> {
    /// Appends what is wrong and answers with the number of checks that went well, which decides
    /// what alternative of an `anyOf` is reported when none fits.
    fn check(
        &self,
        value: &Value,
        schema: &Structural,
        old: Option<Old<'_>>,
        trail: &Trail<'_>,
        errors: &mut Vec<FieldError>,
    ) -> usize {
        let before = errors.len();
        let matches = self.check_all(value, schema, old, trail, errors);
        if errors.len() > before && old.is_some_and(|old| unchanged(value, old.value, old.schema)) {
            errors.truncate(before);
        }
        matches
    }

    fn check_all(
        &self,
        value: &Value,
        schema: &Structural,
        old: Option<Old<'_>>,
        trail: &Trail<'_>,
        errors: &mut Vec<FieldError>,
    ) -> usize {
        let checks = schema.checks();
        let mut matches = 0;
        match self.type_error(value, schema, trail) {
            Some(error) => errors.push(error),
            None => matches += 1,
        }
        if value.is_null() {
            self.check_choices(value, checks, trail, errors);
            return matches;
        }
        let typed = schema.kind.is_some() || schema.int_or_string || checks.format.is_some();
        // The type check counts as one more when it applies; alternatives and choices always do.
        matches = if typed { matches + 1 } else { 0 } + 4;
        matches += self.check_alternatives(value, checks, old, trail, errors);
        match value {
            Value::String(text) => {
                self.check_text(text, checks, trail, errors);
                matches += 1 + usize::from(checks.format.is_some());
            }
            Value::Number(number) => {
                numbers::check(number, checks, |error| errors.push(self.placed(error, trail)));
                matches += 2;
            }
            Value::Array(items) => {
                matches += 2 + self.check_items(items, schema, old, trail, errors);
            }
            Value::Object(entries) => {
                matches += 1 + self.check_entries(entries, schema, old, trail, errors);
            }
            _ => {}
        }
        self.check_choices(value, checks, trail, errors);
        matches
    }

    fn type_error(&self, value: &Value, schema: &Structural, trail: &Trail<'_>) -> Option<FieldError> {
        let accepts = |kind: Kind| match (schema.int_or_string, schema.kind) {
            (true, _) => matches!(kind, Kind::Integer | Kind::String),
            (false, own) => own == Some(kind),
        };
        let untyped = schema.kind.is_none() && !schema.int_or_string;
        let actual = match value {
            Value::Null if untyped || schema.nullable => return None,
            Value::Null => "null",
            other => actual_type(other),
        };
        let checks = schema.checks();
        let whole = || value.as_f64().is_some_and(numbers::is_whole);
        let fits = Kind::named(actual).is_some_and(accepts)
            || (actual == "number" && accepts(Kind::Integer) && whole())
            || (actual == "integer" && accepts(Kind::Number));
        if fits || (untyped && checks.format.is_none()) {
            return None;
        }
        let sequence = value.is_string() || value.is_array();
        if checks.format.is_some() && !value.is_null() {
            if !sequence {
                let format = match actual {
                    "integer" => "int64",
                    "number" => "float64",
                    _ => "",
                };
                return Some(self.wrong_type(&checks.format_name, format, trail));
            }
            if !accepts(Kind::Number) && !accepts(Kind::Integer) {
                return None;
            }
        }
        let wanted = if schema.int_or_string {
            "integer,string"
        } else {
            schema.kind.map_or("", Kind::name)
        };
        Some(self.wrong_type(wanted, actual, trail))
    }

    fn wrong_type(&self, wanted: &str, actual: &str, trail: &Trail<'_>) -> FieldError {
        let actual = manifests::field::quoted(actual);
        self.placed(
            Problem::of(
                ErrorKind::TypeInvalid,
                actual.clone(),
                format!("must be of type {wanted}: {actual}"),
            ),
            trail,
        )
    }

    fn check_text(&self, text: &str, checks: &Checks, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
        if let Some(problem) = text_problem(text, checks) {
            errors.push(self.placed(problem, trail));
        }
        if checks.format.is_some_and(|format| !format.accepts(text)) {
            errors.push(self.wrong_type(&checks.format_name, text, trail));
        }
    }

    fn check_choices(&self, value: &Value, checks: &Checks, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
        if checks.choices.is_empty() || checks.choices.iter().any(|choice| is_choice(value, choice)) {
            return;
        }
        let shown = |choice: &Value| match choice {
            Value::String(text) => manifests::field::quoted(text),
            other => manifests::field::quoted(&golang::json(other)),
        };
        let choices: Vec<String> = checks.choices.iter().map(shown).collect();
        errors.push(FieldError {
            kind: ErrorKind::NotSupported,
            field: self.field(trail),
            value: golang::shown(value),
            detail: format!("supported values: {}", choices.join(", ")),
        });
    }

    fn check_items(
        &self,
        items: &[Value],
        schema: &Structural,
        old: Option<Old<'_>>,
        trail: &Trail<'_>,
        errors: &mut Vec<FieldError>,
    ) -> usize {
        let mut matches = 0;
        if let Some(item_schema) = &schema.items {
            let index = old.and_then(|old| Some((old, old.schema.index(old.value.as_array()?)?)));
            for (i, item) in items.iter().enumerate() {
                let old = index
                    .as_ref()
                    .and_then(|(old, index)| old.item(old.schema.lookup(item, index)));
                matches += self.check(item, item_schema, old, &trail.index(i), errors);
            }
        }
        let checks = schema.checks();
        if let Some(min) = checks.min_items.filter(|min| (items.len() as i64) < *min) {
            let text = format!("should have at least {min} items");
            errors.push(self.placed(
                Problem::of(ErrorKind::Invalid, items.len().to_string(), text),
                trail,
            ));
        }
        if let Some(max) = checks.max_items.filter(|max| (items.len() as i64) > *max) {
            errors.push(self.too_many(items.len(), max, trail));
        }
        if checks.unique_items && items.iter().collect::<HashSet<_>>().len() < items.len() {
            let text = "shouldn't contain duplicates".to_owned();
            errors.push(self.placed(Problem::of(ErrorKind::Invalid, "\"\"".to_owned(), text), trail));
        }
        matches
    }

    fn check_entries(
        &self,
        entries: &Map<String, Value>,
        schema: &Structural,
        old: Option<Old<'_>>,
        trail: &Trail<'_>,
        errors: &mut Vec<FieldError>,
    ) -> usize {
        let checks = schema.checks();
        let size = entries.len() as i64;
        if let Some(min) = checks.min_properties.filter(|min| size < *min) {
            let text = format!("should have at least {min} properties");
            errors.push(self.placed(Problem::of(ErrorKind::Invalid, size.to_string(), text), trail));
        }
        if let Some(max) = checks.max_properties.filter(|max| size > *max) {
            errors.push(self.too_many(entries.len(), max, trail));
        }
        let mut matches = 0;
        for (name, value) in entries {
            // Old and new were both converted to the version at hand, so type fields never change.
            let own = trail.is_root() && matches!(name.as_str(), "kind" | "apiVersion");
            let old = old.filter(|_| !own).and_then(|old| old.field(name));
            if let Some(property) = schema.properties.get(name) {
                matches += self.check(value, property, old, &trail.field(name), errors);
                continue;
            }
            match &schema.additional {
                Some(Additional::Schema(schema)) => {
                    matches += self.check(value, schema, old, &trail.key(name), errors);
                }
                Some(Additional::Nothing) => errors.push(self.forbidden_property(name, trail)),
                _ => {}
            }
        }
        for name in checks.required.iter().filter(|name| !entries.contains_key(*name)) {
            let field = self.field(&trail.field(name));
            errors.push(FieldError {
                kind: ErrorKind::Required,
                field,
                value: String::new(),
                detail: String::new(),
            });
        }
        matches
    }

    fn too_many(&self, actual: usize, max: i64, trail: &Trail<'_>) -> FieldError {
        let items = if max == 1 { "item" } else { "items" };
        FieldError {
            kind: ErrorKind::TooMany,
            field: self.field(trail),
            value: actual.to_string(),
            detail: format!("must have at most {max} {items}"),
        }
    }

    fn forbidden_property(&self, name: &str, trail: &Trail<'_>) -> FieldError {
        FieldError {
            kind: ErrorKind::Invalid,
            field: self.field(trail),
            value: manifests::field::quoted(name),
            detail: format!("{}.{name} in body is a forbidden property", trail.dotted()),
        }
    }

    fn placed(&self, problem: Problem, trail: &Trail<'_>) -> FieldError {
        let detail = match problem.kind {
            ErrorKind::TooLong => problem.text,
            _ if problem.bare => problem.text.replace("{}", &trail.dotted()),
            _ => format!("{} in body {}", trail.dotted(), problem.text),
        };
        FieldError {
            kind: problem.kind,
            field: self.field(trail),
            value: problem.value,
            detail,
        }
    }

    fn field(&self, trail: &Trail<'_>) -> String {
        let dotted = trail.dotted();
        match (self.base.as_str(), dotted.as_str()) {
            ("", "") => "<nil>".to_owned(),
            (_, "") => self.base.as_str().to_owned(),
            _ => self.base.child(&dotted).as_str().to_owned(),
        }
    }
}

/// What is wrong with a value, before it is known where the value is.
struct Problem {
    kind: ErrorKind,
    value: String,
    text: String,
    /// The text has its own place for the path instead of starting with it.
    bare: bool,
}

impl Problem {
    fn of(kind: ErrorKind, value: String, text: String) -> Self {
        Self {
            kind,
            value,
            text,
            bare: false,
        }
    }
}

fn text_problem(text: &str, checks: &Checks) -> Option<Problem> {
    let length = text.chars().count() as i64;
    if let Some(max) = checks.max_length.filter(|max| length > *max) {
        let bytes = if max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max} {bytes}");
        return Some(Problem::of(ErrorKind::TooLong, String::new(), detail));
    }
    let quoted = || manifests::field::quoted(text);
    if let Some(min) = checks.min_length.filter(|min| length < *min) {
        let detail = format!("should be at least {min} chars long");
        return Some(Problem::of(ErrorKind::Invalid, quoted(), detail));
    }
    let Pattern { text: pattern, regex } = checks.pattern.as_ref()?;
    let detail = match regex {
        Ok(regex) if regex.is_match(text) => return None,
        Ok(_) => format!("should match '{pattern}'"),
        Err(error) => format!("should match '{pattern}, but pattern is invalid: {error}'"),
    };
    Some(Problem::of(ErrorKind::Invalid, quoted(), detail))
}

fn actual_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Numbers are compared in the type of the choice, which truncates.
fn is_choice(value: &Value, choice: &Value) -> bool {
    match (value, choice) {
        (Value::Null, _) => false,
        (Value::Number(value), Value::Number(choice)) => match choice.as_i64() {
            Some(choice) => value.as_i64().or(value.as_f64().map(|f| f as i64)) == Some(choice),
            None => value.as_f64() == choice.as_f64(),
        },
        _ => value == choice,
    }
}
