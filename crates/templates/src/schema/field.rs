//! One value that users fill in, and those inside of it.

use serde_json::{Map, Value, json};

/// The format of amounts: `500m`, `2Gi`, `1`.
pub(super) const QUANTITY: &str = "quantity";

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// What the definition says of it, without the marker.
    pub(crate) description: String,
    pub(crate) required: bool,
    pub(crate) shape: Shape,
    pub(crate) default: Option<Value>,
    pub(crate) example: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Nothing is known of it.
    Any,
    Text,
    Integer,
    Number,
    Boolean,
    Quantity,
    Choice(Vec<Value>),
    /// In the order in which they are described.
    Mapping(Vec<Field>),
    List(Box<Field>),
    /// A list whose items say by one of their fields what they are.
    Variants {
        key: String,
        variants: Vec<Variant>,
    },
    /// A list whose places have a meaning.
    Places(Vec<Field>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    /// What the telling field says.
    pub(crate) tag: String,
    /// Whether the list must have one.
    pub(crate) required: bool,
    pub(crate) item: Field,
}

impl Field {
    pub(crate) fn new(name: impl Into<String>, shape: Shape) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            required: false,
            shape,
            default: None,
            example: None,
        }
    }

    pub(crate) fn fields(&self) -> &[Field] {
        match &self.shape {
            Shape::Mapping(fields) => fields,
            _ => &[],
        }
    }

    pub(crate) fn child(&self, name: &str) -> Option<&Field> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// Whether texts of any kind may come here.
    pub(crate) fn may_be_text(&self) -> bool {
        matches!(self.shape, Shape::Any | Shape::Text)
    }

    pub(crate) fn json_schema(&self) -> Value {
        let mut schema = match &self.shape {
            Shape::Any => json!({}),
            Shape::Text if self.required => json!({"type": "string", "minLength": 1}),
            Shape::Text => json!({"type": "string"}),
            Shape::Integer => json!({"type": "integer"}),
            Shape::Number => json!({"type": "number"}),
            Shape::Boolean => json!({"type": "boolean"}),
            Shape::Quantity => json!({"type": ["string", "number"], "format": QUANTITY}),
            Shape::Choice(values) => json!({"enum": values}),
            Shape::Mapping(fields) => mapping(fields),
            Shape::List(item) => json!({"type": "array", "items": item.json_schema()}),
            Shape::Variants { key, variants } => variants_schema(key, variants),
            Shape::Places(items) => {
                let items: Vec<Value> = items.iter().map(Field::json_schema).collect();
                json!({"type": "array", "prefixItems": items})
            }
        };
        if let Some(schema) = schema.as_object_mut() {
            if !self.description.is_empty() {
                schema.insert("description".to_owned(), self.description.clone().into());
            }
            if let Some(default) = &self.default {
                schema.insert("default".to_owned(), default.clone());
            }
            if let Some(example) = self
                .example
                .as_ref()
                .filter(|value| !value.is_object() && !value.is_array())
            {
                schema.insert("examples".to_owned(), json!([example]));
            }
        }
        schema
    }

    /// A value that would do.
    pub(crate) fn sample(&self) -> Value {
        if let Some(value) = self.example.as_ref().or(self.default.as_ref()) {
            return value.clone();
        }
        match &self.shape {
            Shape::Any => json!({}),
            Shape::Text => "text".into(),
            Shape::Integer | Shape::Number => 1.into(),
            Shape::Boolean => false.into(),
            Shape::Quantity => "1".into(),
            Shape::Choice(values) => values.first().cloned().unwrap_or_default(),
            Shape::Mapping(fields) => {
                let entries = fields.iter().map(|field| (field.name.clone(), field.sample()));
                Value::Object(entries.collect::<Map<String, Value>>())
            }
            Shape::List(item) => json!([item.sample()]),
            Shape::Variants { variants, .. } => {
                variants.iter().map(|variant| variant.item.sample()).collect()
            }
            Shape::Places(items) => items.iter().map(Field::sample).collect(),
        }
    }
}

fn mapping(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| (field.name.clone(), field.json_schema()))
        .collect();
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name.as_str())
        .collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

fn variants_schema(key: &str, variants: &[Variant]) -> Value {
    let tags: Vec<&str> = variants.iter().map(|variant| variant.tag.as_str()).collect();
    let is = |tag: &str| json!({"type": "object", "required": [key], "properties": {key: {"const": tag}}});
    let rules: Vec<Value> = variants
        .iter()
        .map(|variant| json!({"if": is(&variant.tag), "then": variant.item.json_schema()}))
        .collect();
    let needed: Vec<Value> = variants
        .iter()
        .filter(|variant| variant.required)
        .map(|variant| json!({"contains": is(&variant.tag)}))
        .collect();
    let mut schema = json!({
        "type": "array",
        "items": {"type": "object", "required": [key], "properties": {key: {"enum": tags}}, "allOf": rules},
    });
    if !needed.is_empty() {
        schema["allOf"] = needed.into();
    }
    schema
}

/// Whether Kubernetes takes a text as an amount.
pub(super) fn is_quantity(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-'));
    let number = &text[..text.len() - unit.len()];
    let exponent = unit.strip_prefix(['e', 'E']);
    let is_unit = matches!(
        unit,
        "" | "n" | "u" | "m" | "k" | "M" | "G" | "T" | "P" | "E" | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei"
    ) || exponent.is_some_and(|exponent| exponent.parse::<i8>().is_ok());
    is_unit && number.parse::<f64>().is_ok_and(|number| number >= 0.0)
}
