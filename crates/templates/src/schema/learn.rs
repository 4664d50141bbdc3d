//! From a description in words to fields. `(Required) Number of step to save checkpoint` says that a value is wanted and
//! what for; which type it has is learned from the example, or from a default that the words name.

use manifests::yaml::{Content, Documents, Index, Meaning, Node, Tree, resolve};
use serde_json::Value;

use super::field::{Field, Shape, Variant, is_quantity};
use crate::{
    limits::PROBLEMS,
    problem::{Code, Problem},
};

const WHAT: &str = "user_values_description";

/// Names whose values are amounts.
const AMOUNTS: [&str; 4] = ["cpu", "memory", "storage", "ephemeral-storage"];

pub(super) fn learn(description: &str, example: &Value) -> Result<Field, Vec<Problem>> {
    let mut documents = Documents::new(description);
    let tree = documents.next().map_err(|error| {
        let offset = offset(description, error.line, error.column);
        vec![Problem::new(Code::Definition, error.message).at(WHAT, description, offset)]
    })?;
    let Some(tree) = tree else {
        return Ok(from_example("", example));
    };
    let mut learner = Learner {
        text: description,
        tree: &tree,
        nodes: 0,
        problems: Vec::new(),
    };
    let root = learner.field("", tree.root, example);
    learner.problems.truncate(PROBLEMS);
    if !learner.problems.is_empty() {
        return Err(learner.problems);
    }
    match root.shape {
        Shape::Mapping(_) | Shape::Any => Ok(root),
        _ => Err(vec![Problem::new(
            Code::Definition,
            format!("{WHAT} must be a mapping"),
        )]),
    }
}

struct Learner<'t> {
    text: &'t str,
    tree: &'t Tree<'t>,
    nodes: usize,
    problems: Vec<Problem>,
}

impl Learner<'_> {
    fn refuse(&mut self, node: &Node<'_>, message: &str, hint: &str) {
        let offset = offset(self.text, node.place.line, node.place.column);
        let problem = Problem::new(Code::Definition, message).at(WHAT, self.text, offset);
        self.problems.push(problem.hint(hint));
    }

    fn field(&mut self, name: &str, index: Index, example: &Value) -> Field {
        let node = &self.tree.nodes[index];
        self.nodes += 1;
        if self.nodes > 10_000 {
            self.refuse(node, "the description has too many fields", "describe less");
            return Field::new(name, Shape::Any);
        }
        match &node.content {
            Content::Alias(target) => self.field(name, *target, example),
            Content::Mapping(pairs) => self.mapping(name, pairs, example),
            Content::Sequence(items) => self.list(name, items, example),
            Content::Scalar(scalar) => match scalar.meaning() {
                // Nothing is said: anything may come.
                Ok(Meaning::Null) => Field {
                    example: (!example.is_null()).then(|| example.clone()),
                    ..Field::new(name, Shape::Any)
                },
                Ok(Meaning::Text(text)) => match Words::read(&text) {
                    Some(words) => words.field(name, example),
                    None => self.unmarked(name, node),
                },
                _ => self.unmarked(name, node),
            },
        }
    }

    fn unmarked(&mut self, name: &str, node: &Node<'_>) -> Field {
        self.refuse(
            node,
            "a description must begin with `(Required)` or `(Optional)`",
            "say which it is: `(Optional) Batch size, default is 100`",
        );
        Field::new(name, Shape::Any)
    }

    fn mapping(&mut self, name: &str, pairs: &[(Index, Index)], example: &Value) -> Field {
        let mut fields: Vec<Field> = Vec::new();
        for (key, value) in pairs {
            let node = &self.tree.nodes[*key];
            let Some(key) = self.key(*key) else {
                self.refuse(node, "the name of a value must be a text", "put it in quotes");
                continue;
            };
            if fields.iter().any(|field| field.name == key) {
                self.refuse(node, "a value is described twice", "leave one out");
                continue;
            }
            let example = example.get(&key).unwrap_or(&Value::Null);
            fields.push(self.field(&key, *value, example));
        }
        // What only the example has is known, too.
        for (key, value) in example.as_object().into_iter().flatten() {
            if !fields.iter().any(|field| field.name == *key) {
                fields.push(from_example(key, value));
            }
        }
        Field {
            required: fields.iter().any(|field| field.required),
            ..Field::new(name, Shape::Mapping(fields))
        }
    }

    fn key(&self, index: Index) -> Option<String> {
        match &self.tree.nodes[index].content {
            Content::Scalar(scalar) => scalar.meaning().ok()?.into_key().ok(),
            Content::Alias(target) => self.key(*target),
            _ => None,
        }
    }

    fn list(&mut self, name: &str, items: &[Index], example: &Value) -> Field {
        let examples = example.as_array().cloned().unwrap_or_default();
        let of = |index: usize| examples.get(index).cloned().unwrap_or_default();
        let fields: Vec<Field> = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.field("", *item, &of(index)))
            .collect();
        let required = fields.iter().any(|field| field.required);
        let shape = match (variants(&fields), fields.len()) {
            (Some(shape), _) => shape,
            (None, 0) => Shape::List(Box::new(Field::new("", Shape::Any))),
            (None, 1) => Shape::List(Box::new(
                fields
                    .into_iter()
                    .next()
                    .unwrap_or_else(|| Field::new("", Shape::Any)),
            )),
            (None, _) => Shape::Places(fields),
        };
        Field {
            required,
            example: example.is_array().then(|| example.clone()),
            ..Field::new(name, shape)
        }
    }
}

/// Items that all have a field described by one word, each by another, are told apart by it.
fn variants(items: &[Field]) -> Option<Shape> {
    let tag = |field: &Field| -> Option<String> {
        let is_word = |text: &str| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        };
        is_word(&field.description).then(|| field.description.clone())
    };
    let first = items.first()?;
    let key = first
        .fields()
        .iter()
        .find(|candidate| {
            let tags: Option<Vec<String>> = items
                .iter()
                .map(|item| item.child(&candidate.name).and_then(tag))
                .collect();
            tags.is_some_and(|mut tags| {
                tags.sort();
                tags.windows(2).all(|pair| pair[0] != pair[1])
            })
        })?
        .name
        .clone();
    let variants = items.iter().filter_map(|item| {
        let teller = item.child(&key)?;
        let (tag, required) = (teller.description.clone(), teller.required);
        let mut item = item.clone();
        if let Shape::Mapping(fields) = &mut item.shape {
            for field in fields.iter_mut().filter(|field| field.name == key) {
                field.shape = Shape::Choice(vec![tag.clone().into()]);
                field.example = Some(tag.clone().into());
            }
        }
        Some(Variant { tag, required, item })
    });
    let variants = variants.collect();
    Some(Shape::Variants { key, variants })
}

/// What an example shows of a value that nobody describes.
fn from_example(name: &str, example: &Value) -> Field {
    let shape = match example {
        Value::Object(fields) => Shape::Mapping(
            fields
                .iter()
                .map(|(name, value)| from_example(name, value))
                .collect(),
        ),
        Value::Array(_) => Shape::List(Box::new(Field::new("", Shape::Any))),
        other => scalar_shape(name, Some(other)),
    };
    Field {
        example: (!example.is_null()).then(|| example.clone()),
        ..Field::new(name, shape)
    }
}

fn scalar_shape(name: &str, sample: Option<&Value>) -> Shape {
    match sample {
        Some(Value::Bool(_)) => Shape::Boolean,
        Some(Value::Number(_)) if AMOUNTS.contains(&name) => Shape::Quantity,
        Some(Value::Number(number)) if number.is_f64() => Shape::Number,
        Some(Value::Number(_)) => Shape::Integer,
        Some(Value::String(text)) if is_amount(name, text) => Shape::Quantity,
        Some(Value::String(_)) => Shape::Text,
        _ if AMOUNTS.contains(&name) => Shape::Quantity,
        _ => Shape::Any,
    }
}

/// `2000m`, `512Mi`; a number alone only where the name says that it is an amount.
fn is_amount(name: &str, text: &str) -> bool {
    let has_unit =
        text.ends_with(|c: char| c.is_ascii_alphabetic()) && text.starts_with(|c: char| c.is_ascii_digit());
    is_quantity(text) && (has_unit || AMOUNTS.contains(&name))
}

/// A leaf of a description, taken apart.
struct Words {
    required: bool,
    description: String,
    default: Option<Value>,
}

impl Words {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (marker, rest) = text.strip_prefix('(')?.split_once(')')?;
        let required = match marker.trim().to_ascii_lowercase().as_str() {
            "required" => true,
            "optional" => false,
            _ => return None,
        };
        let description = rest.trim().trim_end_matches(',').to_owned();
        Some(Self {
            required,
            default: default(&description),
            description,
        })
    }

    fn field(self, name: &str, example: &Value) -> Field {
        let shape = match (example, &self.default) {
            (Value::Object(_) | Value::Array(_), _) => from_example(name, example).shape,
            (Value::Null, default) => scalar_shape(name, default.as_ref()),
            (example, _) => scalar_shape(name, Some(example)),
        };
        // An example of whole numbers with a default of fractions is of numbers.
        let shape = match (shape, &self.default) {
            (Shape::Integer, Some(Value::Number(number))) if number.is_f64() => Shape::Number,
            (shape, _) => shape,
        };
        Field {
            name: name.to_owned(),
            description: self.description,
            required: self.required,
            shape,
            default: self.default,
            example: (!example.is_null()).then(|| example.clone()),
        }
    }
}

/// `default is 1000`, ``default `500m` ``, `default: 5`, `defaults to true`, `(default 0.5)`.
fn default(description: &str) -> Option<Value> {
    let lower = description.to_ascii_lowercase();
    let at = lower.rfind("default")?;
    let rest = description[at + "default".len()..].trim_start();
    let rest = rest.strip_prefix('s').unwrap_or(rest).trim_start();
    let rest = rest.strip_prefix("value").unwrap_or(rest).trim_start();
    let rest = ["is ", "to ", "=", ":"]
        .iter()
        .find_map(|word| rest.strip_prefix(word))
        .unwrap_or(rest)
        .trim_start();
    for quote in ['`', '"', '\''] {
        if let Some(quoted) = rest.strip_prefix(quote) {
            let (text, _) = quoted.split_once(quote)?;
            return Some(meaning(text));
        }
    }
    let word = rest.split([' ', ',', ';', ')']).next()?.trim_end_matches('.');
    // Without a sign or quotes only what can be nothing but a value counts.
    match meaning(word) {
        Value::String(text) if !is_amount("", &text) => None,
        Value::Null => None,
        value => Some(value),
    }
}

fn meaning(text: &str) -> Value {
    match resolve(text) {
        // Letters that YAML once read as booleans are letters here.
        Meaning::Bool(_) if !matches!(text.to_ascii_lowercase().as_str(), "true" | "false") => text.into(),
        meaning => meaning.into_value().unwrap_or_else(|_| text.into()),
    }
}

fn offset(text: &str, line: u64, column: u64) -> usize {
    let before = usize::try_from(line.max(1)).unwrap_or(1) - 1;
    let start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let column = usize::try_from(column.max(1)).unwrap_or(1) - 1;
    let rest = &text[start.min(text.len())..];
    start + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_are_found_in_words() {
        let cases = [
            ("Max step to train, default is 1000", Some(json!(1000))),
            ("CPU resource default `500m`", Some(json!("500m"))),
            ("Rate (default 0.5)", Some(json!(0.5))),
            ("Defaults to true.", Some(json!(true))),
            ("default: 5", Some(json!(5))),
            ("default value is \"no\"", Some(json!("no"))),
            ("the default is whatever fits", None),
            ("nothing", None),
            ("by default", None),
        ];
        for (text, expected) in cases {
            assert_eq!(default(text), expected, "{text}");
        }
    }
}
