//! Setters and substitutions as a Krmfile defines them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    Problem,
    document::{Document, Id},
    marker::Marker,
};

pub(crate) const SETTER_PREFIX: &str = "io.k8s.cli.setters.";
pub(crate) const SUBSTITUTION_PREFIX: &str = "io.k8s.cli.substitutions.";
pub(crate) const EXTENSION: &str = "x-k8s-cli";

/// The definitions of a package.
pub(crate) struct Definitions {
    file: String,
    document: Document,
    definitions: BTreeMap<String, Value>,
}

/// A setter, and the schema its values must fit.
#[derive(Clone, Debug)]
pub(crate) struct Setter {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) list_values: Vec<String>,
    pub(crate) enum_values: BTreeMap<String, String>,
    pub(crate) schema: Value,
}

impl Setter {
    /// What is written into fields: of a choice, what it stands for.
    pub(crate) fn field_value(&self) -> &str {
        self.enum_values.get(&self.value).unwrap_or(&self.value)
    }
}

/// A value made of the values of others.
#[derive(Clone, Debug)]
pub(crate) struct Substitution {
    pub(crate) name: String,
    pub(crate) pattern: String,
    pub(crate) values: Vec<Part>,
}

/// What takes the place of a marker in a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) marker: String,
    pub(crate) reference: String,
}

/// What a marker stands for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extension {
    pub(crate) setter: Option<Setter>,
    pub(crate) substitution: Option<Substitution>,
}

impl Definitions {
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, Problem> {
        let document = Document::parse(file, text)?;
        let parsed = manifests::yaml::parse(text.as_bytes()).map_err(|error| {
            Problem::new(error.to_string()).at(file, error.line.max(1), error.column.max(1))
        })?;
        let definitions = match &parsed.value["openAPI"]["definitions"] {
            Value::Object(definitions) => definitions.clone().into_iter().collect(),
            Value::Null => BTreeMap::new(),
            _ => return Err(Problem::new("openAPI.definitions must be a mapping").in_file(file)),
        };
        Ok(Self {
            file: file.to_owned(),
            document,
            definitions,
        })
    }

    pub(crate) fn contains(&self, key: &str) -> bool {
        self.definitions.contains_key(key)
    }

    pub(crate) fn contains_setter(&self, name: &str) -> bool {
        self.contains(&format!("{SETTER_PREFIX}{name}"))
    }

    pub(crate) fn contains_substitution(&self, name: &str) -> bool {
        self.contains(&format!("{SUBSTITUTION_PREFIX}{name}"))
    }

    /// The definitions whose keys begin with a prefix, with what follows it.
    pub(crate) fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let named = move |(key, value): (&'a String, &'a Value)| Some((key.strip_prefix(prefix)?, value));
        self.definitions.iter().filter_map(named)
    }

    /// The key of the definition a marker means; none when there is no such definition.
    pub(crate) fn key_of(&self, marker: &Marker) -> Option<String> {
        match marker {
            Marker::Named(name) => [SETTER_PREFIX, SUBSTITUTION_PREFIX]
                .iter()
                .map(|prefix| format!("{prefix}{name}"))
                .find(|key| self.contains(key)),
            Marker::Reference(key) => self.contains(key).then(|| key.clone()),
            Marker::Pattern(_) | Marker::Inline(_) => None,
        }
    }

    pub(crate) fn resolve(&self, marker: &Marker) -> Result<Option<Extension>, Problem> {
        self.key_of(marker).map(|key| self.extension(&key)).transpose()
    }

    /// What stands behind a key.
    pub(crate) fn extension(&self, key: &str) -> Result<Extension, Problem> {
        let Some(definition) = self.definitions.get(key) else {
            return Err(self.problem(&[], format!("object has no key {key:?}")));
        };
        let extension = &definition[EXTENSION];
        let setter = extension
            .get("setter")
            .map(|setter| self.setter(key, setter, definition));
        let substitution = extension
            .get("substitution")
            .map(|substitution| self.substitution(key, substitution));
        Ok(Extension {
            setter: setter.transpose()?,
            substitution: substitution.transpose()?,
        })
    }

    fn setter(&self, key: &str, setter: &Value, definition: &Value) -> Result<Setter, Problem> {
        let text = |field: &str| self.text(key, &["setter", field], &setter[field]);
        let list = setter["listValues"].as_array().into_iter().flatten();
        let list = list.map(|value| self.text(key, &["setter", "listValues"], value));
        let choices = setter["enumValues"].as_object().into_iter().flatten();
        let choices = choices.map(|(choice, value)| {
            let value = self.text(key, &["setter", "enumValues", choice], value)?;
            Ok((choice.clone(), value))
        });
        Ok(Setter {
            name: text("name")?,
            value: text("value")?,
            list_values: list.collect::<Result<_, _>>()?,
            enum_values: choices.collect::<Result<_, _>>()?,
            schema: definition.clone(),
        })
    }

    fn substitution(&self, key: &str, substitution: &Value) -> Result<Substitution, Problem> {
        let text = |field: &str| self.text(key, &["substitution", field], &substitution[field]);
        let values = substitution["values"].as_array().into_iter().flatten();
        let part = |part: &Value| {
            let text = |field: &str| self.text(key, &["substitution", "values"], &part[field]);
            Ok(Part {
                marker: text("marker")?,
                reference: text("ref")?,
            })
        };
        Ok(Substitution {
            name: text("name")?,
            pattern: text("pattern")?,
            values: values.map(part).collect::<Result<_, Problem>>()?,
        })
    }

    /// Values of setters are texts, whatever they look like.
    fn text(&self, key: &str, path: &[&str], value: &Value) -> Result<String, Problem> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Null => Ok(String::new()),
            other => {
                let mut place = vec!["openAPI", "definitions", key, EXTENSION];
                place.extend(path);
                let message = format!("{} of {key} must be a string, not {other}", path.join("."));
                Err(self.problem(&place, message).hint("write it in quotes"))
            }
        }
    }

    /// A complaint about what is at a path, or as near to it as there is anything.
    pub(crate) fn problem(&self, path: &[&str], message: impl Into<String>) -> Problem {
        let Some(&root) = self.document.roots().first() else {
            return Problem::new(message).in_file(&self.file);
        };
        let step = |at: Id, key: &&str| self.document.get(at, key).ok_or(at);
        let nearest = path.iter().try_fold(root, step).unwrap_or_else(|nearest| nearest);
        self.document.problem(&self.file, nearest, message)
    }

    /// The value a substitution comes to, and whether a setter is part of it. All setters in it must fit
    /// their schemas.
    pub(crate) fn substitute(
        &self,
        substitution: &Substitution,
        is_part: &dyn Fn(&str) -> bool,
    ) -> Result<(String, bool), Problem> {
        self.substitute_within(substitution, is_part, &mut Vec::new())
    }

    fn substitute_within(
        &self,
        substitution: &Substitution,
        is_part: &dyn Fn(&str) -> bool,
        visited: &mut Vec<String>,
    ) -> Result<(String, bool), Problem> {
        self.enter(substitution, visited)?;
        let mut value = substitution.pattern.clone();
        let mut has_part = false;
        for part in &substitution.values {
            let extension = self.part(substitution, part)?;
            let text = match (&extension.substitution, &extension.setter) {
                (Some(inner), _) => {
                    let (text, has) = self.substitute_within(inner, is_part, visited)?;
                    has_part |= has;
                    text
                }
                (None, Some(setter)) => {
                    self.check(setter)?;
                    has_part |= is_part(&setter.name);
                    setter.field_value().to_owned()
                }
                (None, None) => continue,
            };
            value = value.replace(&part.marker, &text);
        }
        Ok((value, has_part))
    }

    /// Whether a substitution, or one it refers to, comes by itself again.
    pub(crate) fn check_cycles(&self, key: &str) -> Result<(), Problem> {
        self.check_cycles_within(key, &mut Vec::new())
    }

    fn check_cycles_within(&self, key: &str, visited: &mut Vec<String>) -> Result<(), Problem> {
        let Some(substitution) = self.extension(key)?.substitution else {
            return Ok(());
        };
        self.enter(&substitution, visited)?;
        for part in &substitution.values {
            self.part(&substitution, part)?;
            self.check_cycles_within(definition_key(&part.reference), visited)?;
        }
        Ok(())
    }

    fn enter(&self, substitution: &Substitution, visited: &mut Vec<String>) -> Result<(), Problem> {
        let key = format!("{SUBSTITUTION_PREFIX}{}", substitution.name);
        if visited.contains(&substitution.name) {
            let message = format!("cyclic substitution detected with name {}", substitution.name);
            return Err(self.problem(&["openAPI", "definitions", &key], message));
        }
        visited.push(substitution.name.clone());
        Ok(())
    }

    fn part(&self, substitution: &Substitution, part: &Part) -> Result<Extension, Problem> {
        if part.reference.is_empty() {
            let key = format!("{SUBSTITUTION_PREFIX}{}", substitution.name);
            let message = format!("missing reference on substitution {}", substitution.name);
            return Err(self.problem(&["openAPI", "definitions", &key], message));
        }
        self.extension(definition_key(&part.reference))
    }

    /// Whether the value of a setter fits its schema.
    pub(crate) fn check(&self, setter: &Setter) -> Result<(), Problem> {
        let key = format!("{SETTER_PREFIX}{}", setter.name);
        crate::schema::check(setter).map_err(|message| {
            let path = ["openAPI", "definitions", &key, EXTENSION, "setter", "value"];
            self.problem(&path, message)
        })
    }
}

fn definition_key(reference: &str) -> &str {
    reference.strip_prefix("#/definitions/").unwrap_or(reference)
}
