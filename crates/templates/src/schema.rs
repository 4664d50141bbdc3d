//! What users fill in: which values a definition wants, whether filled ones are right, and a form to fill them in.
//!
//! A definition says it in words (`(Required) Number of step …`, an example) or with a JSON Schema. Either way there is
//! one tree of [`Field`]s for forms and advice, and one JSON Schema that decides.

mod field;
mod form;
mod from_json_schema;
mod judge;
mod learn;
mod sentences;

use jsonschema::{PatternOptions, Validator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use field::Field;
pub use form::{Choice, Form, FormField, Widget};

use crate::{
    limits::{DEFINITION_TEXT_BYTES, VALUES_BYTES},
    problem::{Code, Problem},
};

/// What a definition says of the values it wants.
#[derive(Clone, Copy, Debug, Default)]
pub struct Definition<'a> {
    /// `user_values_description`: YAML whose leaves begin with `(Required)` or `(Optional)`.
    pub description: &'a str,
    /// `user_values_example`: YAML.
    pub example: &'a str,
    /// `values_schema`: a JSON Schema that replaces what the description would say.
    pub schema: Option<&'a Value>,
}

/// One thing to say about filled values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// Where in the values, as a JSON pointer.
    pub pointer: String,
    pub message: String,
    /// What the definition says of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A value that would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// `/process/train/saveStep: is required`
impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pointer = if self.pointer.is_empty() {
            "the values"
        } else {
            &self.pointer
        };
        write!(f, "{pointer}: {}", self.message)?;
        if let Some(description) = &self.description {
            write!(f, " ({description})")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

/// Everything there is to say about filled values, at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// With one of these nothing is made.
    pub errors: Vec<Fault>,
    /// What looks like a mistake but may be meant.
    pub warnings: Vec<Fault>,
}

impl Verdict {
    pub fn is_fine(&self) -> bool {
        self.errors.is_empty()
    }
}

/// What the values of a definition must be like.
pub struct Schema {
    root: Field,
    json: Value,
    example: Value,
    validator: Validator,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema")
            .field("json", &self.json)
            .finish_non_exhaustive()
    }
}

impl Schema {
    /// Learns it from a definition's own words, or takes the schema it brings.
    pub fn of_definition(definition: &Definition<'_>) -> Result<Self, Vec<Problem>> {
        let example = yaml("user_values_example", definition.example)?;
        let root = if let Some(schema) = definition.schema {
            from_json_schema::read(schema).map_err(|problem| vec![*problem])?
        } else {
            sized("user_values_description", definition.description)?;
            learn::learn(definition.description, &example)?
        };
        let json = definition.schema.cloned().unwrap_or_else(|| root.json_schema());
        let validator = compile(&json).map_err(|problem| vec![*problem])?;
        let example = if example.is_null() { root.sample() } else { example };
        Ok(Self {
            root,
            json,
            example,
            validator,
        })
    }

    /// The JSON Schema (2020-12).
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// The definition's own example, or one made of its descriptions.
    pub fn example(&self) -> &Value {
        &self.example
    }

    /// Everything that is wrong with filled values, and everything that looks wrong.
    pub fn validate(&self, values: &Value) -> Verdict {
        judge::judge(self, values)
    }

    /// A form that asks for the values.
    pub fn form(&self) -> Form {
        form::form(&self.root)
    }

    /// What is known of the value at a path with dots, as templates have it.
    pub(crate) fn field(&self, path: &str) -> Option<&Field> {
        path.split('.')
            .try_fold(&self.root, |field, name| field.child(name))
    }

    pub(crate) fn root(&self) -> &Field {
        &self.root
    }
}

fn sized(what: &str, text: &str) -> Result<(), Vec<Problem>> {
    if text.len() <= DEFINITION_TEXT_BYTES {
        return Ok(());
    }
    let message = format!(
        "{what} has {} bytes; {DEFINITION_TEXT_BYTES} is the most",
        text.len()
    );
    Err(vec![Problem::new(Code::Limit, message)])
}

/// Reads a text of a definition: `user_values_example`, `system_values`. An empty one is null.
pub fn yaml(what: &str, text: &str) -> Result<Value, Vec<Problem>> {
    sized(what, text)?;
    let parsed = manifests::yaml::parse(text.as_bytes()).map_err(|error| {
        let line = usize::try_from(error.line.max(1)).unwrap_or(1);
        let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let column = usize::try_from(error.column.max(1)).unwrap_or(1) - 1;
        vec![Problem::new(Code::Definition, error.message).at(what, text, before + column)]
    })?;
    if let Some(duplicate) = parsed.duplicates.first() {
        return Err(vec![Problem::new(
            Code::Definition,
            format!("{what}: {duplicate}"),
        )]);
    }
    match parsed.value {
        value @ (Value::Null | Value::Object(_)) => Ok(value),
        _ => Err(vec![Problem::new(
            Code::Definition,
            format!("{what} must be a mapping"),
        )]),
    }
}

fn compile(schema: &Value) -> Result<Validator, Box<Problem>> {
    let wrong = |message: String| Box::new(Problem::new(Code::Definition, message));
    if schema.to_string().len() > VALUES_BYTES {
        return Err(wrong(format!("values_schema has more than {VALUES_BYTES} bytes")));
    }
    jsonschema::options()
        .offline()
        // Linear in the text, whatever the pattern.
        .with_pattern_options(PatternOptions::regex().size_limit(1 << 20))
        .with_format(field::QUANTITY, field::is_quantity)
        .should_validate_formats(true)
        .should_ignore_unknown_formats(true)
        .build(schema)
        .map_err(|error| {
            let place = error.instance_path().as_str();
            let place = if place.is_empty() {
                "values_schema".to_owned()
            } else {
                format!("values_schema at {place}")
            };
            wrong(format!("{place}: {error}"))
        })
}

/// An empty definition wants nothing.
pub(crate) fn anything() -> Value {
    json!({"type": "object"})
}

#[cfg(test)]
mod tests;
