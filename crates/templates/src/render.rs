//! From a template and values to objects: text with tokens, read as YAML, and then the values put in.

mod fill;
mod map;
pub(crate) mod shell;

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use minijinja::UndefinedBehavior;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    inputs::Inputs,
    limits::OUTPUT_BYTES,
    problem::{Place, Problem},
    template::{Template, Written, engine_value, failure, line_ends, plain},
    tokens,
};
use fill::Filler;
pub(crate) use fill::Use;
use map::Map;

/// What became of a template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rendered {
    pub objects: Vec<Value>,
    /// Where each object comes from, in the same order.
    pub sources: Vec<Origin>,
}

/// Where an object comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Where in the template it begins.
    pub place: Place,
    /// Where each of its fields is written, by JSON pointer; empty unless it was asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Place>,
}

impl Origin {
    /// Where a field is written, or what it is in.
    pub fn of(&self, pointer: &str) -> &Place {
        let mut pointer = pointer;
        loop {
            if let Some(place) = self.fields.get(pointer) {
                return place;
            }
            match pointer.rsplit_once('/') {
                Some((above, _)) => pointer = above,
                None => return &self.place,
            }
        }
    }
}

/// Makes the objects of a task. Every problem has the place in the template; none has a value.
pub fn render(template: &Template, inputs: &Inputs) -> Result<Rendered, Vec<Problem>> {
    objects(template, inputs, false)
}

/// The same, with the place of every field.
pub fn render_traced(template: &Template, inputs: &Inputs) -> Result<Rendered, Vec<Problem>> {
    objects(template, inputs, true)
}

/// The objects of values that are as the template sees them: with `global` and `configs`, or without.
pub fn render_context(template: &Template, context: &Value) -> Result<Rendered, Vec<Problem>> {
    let mut context = context.clone();
    tokens::hide(&mut context);
    fill(template, &context, false).map(|(rendered, _)| rendered)
}

/// What Jinja2 would print, for comparisons with it: `undefined` is `lenient`, `strict`, `chainable` or `semi-strict`.
#[doc(hidden)]
pub fn plain_text(text: &str, values: &Value, undefined: &str) -> Result<String, String> {
    let undefined = match undefined {
        "strict" => UndefinedBehavior::Strict,
        "chainable" => UndefinedBehavior::Chainable,
        "semi-strict" => UndefinedBehavior::SemiStrict,
        _ => UndefinedBehavior::Lenient,
    };
    let environment = plain(undefined);
    let text = line_ends(text);
    let template = environment
        .template_from_str(&text)
        .map_err(|error| error.to_string())?;
    template
        .render(engine_value(values))
        .map_err(|error| error.to_string())
}

fn objects(template: &Template, inputs: &Inputs, traced: bool) -> Result<Rendered, Vec<Problem>> {
    let context = inputs.hidden().map_err(|problem| vec![*problem])?;
    fill(template, &context, traced).map(|(rendered, _)| rendered)
}

fn fill(template: &Template, context: &Value, traced: bool) -> Result<(Rendered, Vec<Use>), Vec<Problem>> {
    let (text, written) = text(template, context).map_err(|problem| vec![*problem])?;
    let map = Map::new(template, &text);
    Filler::new(&map, &written.0, traced).documents()
}

/// The same, with every place that a value came to.
pub(crate) fn trial(template: &Template, inputs: &Inputs) -> Result<(Rendered, Vec<Use>), Vec<Problem>> {
    let context = inputs.hidden().map_err(|problem| vec![*problem])?;
    fill(template, &context, true)
}

/// The variable that a tag begins with: `process.train.number` of `{{ process.train.number or 1 }}`.
pub(crate) fn variable(tag: &str) -> Option<&str> {
    let inside = tag
        .strip_prefix("{{")?
        .trim_start_matches(['-', '+'])
        .trim_start();
    let end = inside.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')));
    let path = &inside[..end.unwrap_or(inside.len())];
    let path = path.strip_suffix(".get").unwrap_or(path);
    path.starts_with(|c: char| c.is_alphabetic() || c == '_')
        .then_some(path)
}

/// What the template writes, with tokens, and the values of these.
fn text(template: &Template, context: &Value) -> Result<(String, Written), Box<Problem>> {
    let failed = |error: &minijinja::Error| {
        let mut secrets = Vec::new();
        texts(context, &mut secrets);
        Box::new(failure(template.sources(), error, &secrets))
    };
    let compiled = template
        .environment()
        .get_template(template.name())
        .map_err(|error| failed(&error))?;
    let mut output = Limited(Vec::with_capacity(template.text().len() * 2));
    let values = engine_value(context);
    let mut captured = compiled
        .render_captured_to(values, &mut output)
        .map_err(|error| failed(&error))?;
    let written = captured.with_state_mut(|state| {
        state
            .get_extension_mut::<Written>()
            .map(std::mem::take)
            .unwrap_or_default()
    });
    let text = String::from_utf8(output.0)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok((text, written))
}

/// Texts of values that errors could quote.
fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) if text.chars().count() > 2 => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        _ => {}
    }
}

/// As much as a template may write.
struct Limited(Vec<u8>);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > OUTPUT_BYTES {
            return Err(io::Error::other("too much"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
