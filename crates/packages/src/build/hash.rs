//! The suffix of generated names, which changes when the content does.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{
    node::{Node, to_value},
    problem::{Outcome, Problem},
    resource::Resource,
    resources::Resources,
};

const LENGTH: usize = 10;

/// Gives the objects that need it a suffix made of their content.
pub(super) fn add_hashes(resources: &mut Resources) -> Outcome {
    if !resources.iter().any(|resource| resource.needs_hash) {
        return Ok(());
    }
    for resource in resources
        .rename()
        .iter_mut()
        .filter(|resource| resource.needs_hash)
    {
        let hash = hash(resource)?;
        resource.store_id();
        let name = format!("{}-{hash}", resource.name());
        resource.set_name(&name);
    }
    Ok(())
}

fn hash(resource: &Resource) -> Outcome<String> {
    let content = match resource.kind() {
        "ConfigMap" => content(&resource.node, "ConfigMap", &["data"], "binaryData")?,
        "Secret" => content(&resource.node, "Secret", &["data", "type"], "stringData")?,
        kind => {
            return Err(
                Problem::new(format!("a {kind} cannot have a suffix made of its content"))
                    .at(resource.node.at)
                    .help("only ConfigMaps and Secrets can: set `disableNameSuffixHash`"),
            );
        }
    };
    let digest = Sha256::digest(go_json(&content));
    let hexadecimal = digest.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
    Ok(hexadecimal.take(LENGTH).map(letter).collect())
}

/// Digits of names: no vowels, and none that look like one another.
fn letter(digit: u8) -> char {
    const LETTERS: &[u8; 16] = b"gh2k456789mbcdtf";
    char::from(LETTERS[usize::from(digit)])
}

/// What is hashed. The name is always empty: the reference looks for it in the wrong place, and has for so
/// long that names depend on it.
fn content(node: &Node, kind: &str, fields: &[&str], optional: &str) -> Outcome<Value> {
    let mut content = Map::new();
    content.insert("kind".to_owned(), kind.into());
    content.insert("name".to_owned(), "".into());
    for field in fields {
        content.insert((*field).to_owned(), field_value(node, field)?);
    }
    let value = field_value(node, optional)?;
    if value.is_object() {
        content.insert(optional.to_owned(), value);
    }
    Ok(Value::Object(content))
}

/// A missing field is empty text.
fn field_value(node: &Node, field: &str) -> Outcome<Value> {
    match node.get(field) {
        None => Ok("".into()),
        Some(node) if node.as_scalar().is_some() => Ok(node.text().into()),
        Some(node) => to_value(node),
    }
}

/// JSON as Go writes it: keys are sorted, and some characters are escaped for the sake of HTML.
fn go_json(value: &Value) -> String {
    let mut out = String::with_capacity(256);
    for character in value.to_string().chars() {
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            _ => out.push(character),
        }
    }
    out
}
