//! A schema as a form: what to ask for, in which order, and with what.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::field::{Field, Shape};

/// What to ask a user for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Form {
    pub fields: Vec<FormField>,
}

/// What a value is typed into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Widget {
    Text,
    /// Text that is not shown.
    Secret,
    Integer,
    Number,
    Checkbox,
    /// An amount with a unit.
    Quantity,
    /// One of `choices`.
    Select,
    /// The `fields` inside of it.
    Group,
    /// Any number of `items`.
    List,
    /// Any number of items, each of one of `variants`.
    Variants,
    /// Anything, as JSON or YAML.
    Json,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormField {
    /// Where the value goes, as a JSON pointer; `-` stands for an item of a list.
    pub pointer: String,
    pub name: String,
    /// The name as people write it: `Max step` of `maxStep`.
    pub label: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub required: bool,
    pub widget: Widget,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FormField>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Choice>,
}

/// One form of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// What the telling field says.
    pub tag: String,
    /// Whether the list must have one.
    pub required: bool,
    pub fields: Vec<FormField>,
}

pub(super) fn form(root: &Field) -> Form {
    Form {
        fields: fields(root, ""),
    }
}

fn fields(field: &Field, pointer: &str) -> Vec<FormField> {
    let inside = field.fields().iter();
    inside
        .map(|field| {
            form_field(
                field,
                &format!("{pointer}/{}", crate::policy::escaped(&field.name)),
            )
        })
        .collect()
}

fn form_field(field: &Field, pointer: &str) -> FormField {
    let widget = match &field.shape {
        Shape::Any => Widget::Json,
        Shape::Text if is_secret(&field.name) => Widget::Secret,
        Shape::Text => Widget::Text,
        Shape::Integer => Widget::Integer,
        Shape::Number => Widget::Number,
        Shape::Boolean => Widget::Checkbox,
        Shape::Quantity => Widget::Quantity,
        Shape::Choice(_) => Widget::Select,
        Shape::Mapping(_) => Widget::Group,
        Shape::List(_) | Shape::Places(_) => Widget::List,
        Shape::Variants { .. } => Widget::Variants,
    };
    let item = format!("{pointer}/-");
    let (inside, variants) = match &field.shape {
        Shape::Mapping(_) => (fields(field, pointer), Vec::new()),
        Shape::List(of) if !of.fields().is_empty() => (fields(of, &item), Vec::new()),
        Shape::List(of) => (vec![form_field(of, &item)], Vec::new()),
        Shape::Places(items) => {
            let places = items.iter().enumerate();
            (
                places
                    .map(|(index, field)| form_field(field, &format!("{pointer}/{index}")))
                    .collect(),
                Vec::new(),
            )
        }
        Shape::Variants { variants, .. } => {
            let choices = variants.iter().map(|variant| Choice {
                tag: variant.tag.clone(),
                required: variant.required,
                fields: fields(&variant.item, &item),
            });
            (Vec::new(), choices.collect())
        }
        _ => (Vec::new(), Vec::new()),
    };
    let is_whole = matches!(widget, Widget::Group | Widget::List | Widget::Variants);
    FormField {
        pointer: pointer.to_owned(),
        name: field.name.clone(),
        label: label(&field.name),
        description: field.description.clone(),
        required: field.required,
        widget,
        default: field.default.clone(),
        example: field
            .example
            .clone()
            .filter(|_| !is_whole && widget != Widget::Secret),
        choices: match &field.shape {
            Shape::Choice(values) => values.clone(),
            _ => Vec::new(),
        },
        fields: inside,
        variants,
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    ["password", "passwd", "secret", "token", "apikey", "credential"]
        .iter()
        .any(|word| name.contains(word))
}

/// `maxStep` and `max_step` become `Max step`; `CPU` stays.
fn label(name: &str) -> String {
    let mut label = String::new();
    let mut before: Option<char> = None;
    for c in name.chars() {
        match (before, c) {
            (_, '_' | '-' | '.') => label.push(' '),
            (Some(last), c) if last.is_lowercase() && c.is_uppercase() => {
                label.push(' ');
                label.extend(c.to_lowercase());
            }
            (None, c) => label.extend(c.to_uppercase()),
            (_, c) => label.push(c),
        }
        before = Some(c);
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_labels() {
        for (name, expected) in [
            ("maxStep", "Max step"),
            ("x-api-key", "X api key"),
            ("cpu", "Cpu"),
            ("URL", "URL"),
        ] {
            assert_eq!(label(name), expected);
        }
    }
}
