//! Setters of the first kind, which are defined nowhere but in the comments of their fields:
//! `# {"type":"integer","x-kustomize":{"setter":{"name":"replicas","value":"3"}}}`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    Outcome, Package, Problem,
    document::{Document, Edit, Target, apply},
    fields::{Field, fields},
    marker::Marker,
    package::Scope,
    set::Set,
    table::{Frame, render},
};

/// A setter as a comment has it.
struct Inline {
    name: String,
    value: String,
    kind: String,
    description: String,
    set_by: String,
    /// Only a part of the field is its value.
    is_partial: bool,
}

/// Whether any field has one. If so, commands know no others.
pub(crate) fn is_used(package: &Package) -> Result<bool, Problem> {
    for path in files(package) {
        let document = package.document(path)?;
        if all_fields(&document).iter().any(|field| !setters(field).is_empty()) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn files(package: &Package) -> Vec<&str> {
    let root = Scope {
        folder: String::new(),
        definitions: None,
    };
    package.all_resources(&root)
}

fn all_fields(document: &Document) -> Vec<Field> {
    let roots = document.roots().iter();
    let all = roots.flat_map(|root| fields(document, *root));
    all.filter(|field| document.scalar(field.id).is_some()).collect()
}

fn setters(field: &Field) -> Vec<Inline> {
    let Some(Marker::Inline(meta)) = &field.marker else {
        return Vec::new();
    };
    let extension = &meta["x-kustomize"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = meta["type"].as_array().map_or(&meta["type"], |types| types.first().unwrap_or(&Value::Null));
    let setter = |setter: &Value, is_partial: bool| Inline {
        name: text(&setter["name"]),
        value: text(&setter["value"]),
        kind: text(kind),
        description: text(&meta["description"]),
        set_by: text(&extension["setBy"]),
        is_partial,
    };
    if extension["setter"].is_object() {
        return vec![setter(&extension["setter"], false)];
    }
    let partial = extension["partialSetters"].as_array().into_iter().flatten();
    partial.map(|one| setter(one, true)).collect()
}

/// The table of them.
pub(crate) fn list(package: &Package, name: Option<&str>) -> Outcome {
    let mut found: BTreeMap<String, (Inline, usize)> = BTreeMap::new();
    for path in files(package) {
        let document = match package.document(path) {
            Ok(document) => document,
            Err(problem) => return Outcome::failed(problem),
        };
        for setter in all_fields(&document).iter().flat_map(setters) {
            if name.is_none_or(|name| name == setter.name) {
                found.entry(setter.name.clone()).or_insert((setter, 0)).1 += 1;
            }
        }
    }
    let rows: Vec<Vec<String>> = found
        .into_values()
        .map(|(setter, count)| {
            let description = format!("'{}'", setter.description);
            vec![setter.name, description, setter.value, setter.kind, count.to_string(), setter.set_by]
        })
        .collect();
    let header = ["NAME", "DESCRIPTION", "VALUE", "TYPE", "COUNT", "SETBY"];
    Outcome {
        output: render(&header, &rows, Frame::Plain),
        is_nothing_found: rows.is_empty(),
        ..Outcome::default()
    }
}

pub(crate) fn set(package: &Package, set: &Set) -> Outcome {
    let mut outcome = Outcome::default();
    let mut count = 0;
    for path in files(package) {
        match set_in(package, path, set) {
            Ok((0, _)) => {}
            Ok((changed, text)) => {
                count += changed;
                outcome.edits.insert(path.to_owned(), text);
            }
            Err(problem) => return Outcome::failed(problem),
        }
    }
    outcome.output = format!("set {count} fields\n");
    outcome
}

fn set_in(package: &Package, path: &str, set: &Set) -> Result<(usize, String), Problem> {
    let document = package.document(path)?;
    let value = set.values.first().map(String::as_str).unwrap_or_default();
    let mut edits = Vec::new();
    let mut count = 0;
    for field in all_fields(&document) {
        let current = document.value(field.id).unwrap_or_default();
        let named = setters(&field).into_iter().find(|setter| setter.name == set.name);
        // The value in the comment says which part of the field is set.
        let Some(setter) = named.filter(|setter| setter.value != value && current.contains(&setter.value)) else {
            continue;
        };
        let new = match setter.is_partial {
            true => current.replace(&setter.value, value),
            false => value.to_owned(),
        };
        check(&setter.kind, &new).map_err(|message| document.problem(path, field.id, message))?;
        let target = if setter.kind == "string" { Target::Text } else { Target::Plain };
        edits.extend(document.replace_scalar(field.id, &new, target));
        edits.extend(rewrite_comment(&document, &field, set, value));
        count += 1;
    }
    Ok((count, apply(document.text(), edits)))
}

fn check(kind: &str, value: &str) -> Result<(), String> {
    let problem = |function: &str| format!("strconv.{function}: parsing {value:?}: invalid syntax");
    match kind {
        "integer" if value.parse::<i64>().is_err() => {
            Err(format!("value must be an int: {}", problem("Atoi")))
        }
        "boolean" if !["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"].contains(&value) => {
            Err(format!("value must be a bool: {}", problem("ParseBool")))
        }
        _ => Ok(()),
    }
}

/// The comment with the new value in it.
fn rewrite_comment(document: &Document, field: &Field, set: &Set, value: &str) -> Option<Edit> {
    let (comment, _) = document.comment_place(field.id);
    let comment = comment?;
    let Some(Marker::Inline(mut meta)) = Marker::parse(&document.text()[comment.clone()]) else {
        return None;
    };
    if let Some(description) = &set.description {
        meta["description"] = json!(description);
    }
    let mut extension = meta.as_object_mut()?.remove("x-kustomize")?;
    if let Some(set_by) = &set.set_by {
        extension["setBy"] = json!(set_by);
    }
    let partial = extension["partialSetters"].as_array_mut();
    for setter in partial.into_iter().flatten().filter(|setter| setter["name"] == set.name.as_str()) {
        setter["value"] = json!(value);
    }
    if extension["setter"]["name"] == set.name.as_str() {
        extension["setter"]["value"] = json!(value);
    }
    let parts = ["setBy", "partialSetters", "setter"].into_iter();
    let parts = parts.filter(|part| !extension[part].is_null());
    let parts: Vec<String> = parts.map(|part| format!("\"{part}\":{}", extension[part])).collect();
    let mut fields: Vec<String> = meta
        .as_object()?
        .iter()
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    fields.push(format!("\"x-kustomize\":{{{}}}", parts.join(",")));
    Some(Edit::replace(comment, format!("# {{{}}}", fields.join(","))))
}
