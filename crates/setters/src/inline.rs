//! Setters of the first kind, which are defined nowhere but in the comments of their fields:
//! `# {"type":"integer","x-kustomize":{"setter":{"name":"replicas","value":"3"}}}`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    CreateSetter, Outcome, Package, Problem,
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
        if all_fields(&document)
            .iter()
            .any(|field| !setters(field).is_empty())
        {
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
    let kind = meta["type"]
        .as_array()
        .map_or(&meta["type"], |types| types.first().unwrap_or(&Value::Null));
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
            vec![
                setter.name,
                description,
                setter.value,
                setter.kind,
                count.to_string(),
                setter.set_by,
            ]
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
        let Some(setter) = named.filter(|setter| setter.value != value && current.contains(&setter.value))
        else {
            continue;
        };
        let new = if setter.is_partial {
            current.replace(&setter.value, value)
        } else {
            value.to_owned()
        };
        check(&setter.kind, &new).map_err(|message| document.problem(path, field.id, message))?;
        let target = if setter.kind == "string" {
            Target::Text
        } else {
            Target::Plain
        };
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
        "boolean"
            if ![
                "1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False",
            ]
            .contains(&value) =>
        {
            Err(format!("value must be a bool: {}", problem("ParseBool")))
        }
        _ => Ok(()),
    }
}

/// The comment with the new value in it.
fn rewrite_comment(document: &Document, field: &Field, set: &Set, value: &str) -> Option<Edit> {
    let Some(Marker::Inline(mut meta)) = field.marker.clone() else {
        return None;
    };
    if let Some(description) = &set.description {
        meta["description"] = json!(description);
    }
    let extension = &mut meta["x-kustomize"];
    if let Some(set_by) = &set.set_by {
        extension["setBy"] = json!(set_by);
    }
    let partial = extension["partialSetters"].as_array_mut();
    for setter in partial
        .into_iter()
        .flatten()
        .filter(|setter| setter["name"] == set.name.as_str())
    {
        setter["value"] = json!(value);
    }
    if extension["setter"]["name"] == set.name.as_str() {
        extension["setter"]["value"] = json!(value);
    }
    let (comment, _) = document.comment_place(field.id);
    Some(Edit::replace(comment?, written(&meta)))
}

/// The comment of a field, its parts in the order they always have.
fn written(meta: &Value) -> String {
    let parts = |value: &Value, names: &[&str]| {
        let given = names.iter().filter(|name| !value[**name].is_null());
        given
            .map(|name| format!("\"{name}\":{}", value[*name]))
            .collect::<Vec<_>>()
            .join(",")
    };
    let extension = parts(&meta["x-kustomize"], &["setBy", "partialSetters", "setter"]);
    let schema = parts(meta, &["description", "type"]);
    format!("# {{{schema},\"x-kustomize\":{{{extension}}}}}")
}

/// Marks the fields that have the value, or a part of it, as setters of this kind.
pub(crate) fn create(package: &Package, create: &CreateSetter) -> Outcome {
    let mut outcome = Outcome::default();
    for path in files(package) {
        let document = match package.document(path) {
            Ok(document) => document,
            Err(problem) => return Outcome::failed(problem),
        };
        let edits: Vec<Edit> = all_fields(&document)
            .iter()
            .filter_map(|field| create_in(&document, field, create))
            .collect();
        if !edits.is_empty() {
            outcome
                .edits
                .insert(path.to_owned(), apply(document.text(), edits));
        }
    }
    outcome
}

fn create_in(document: &Document, field: &Field, create: &CreateSetter) -> Option<Edit> {
    let name = field.path.rsplit('.').next().unwrap_or_default();
    let value = create.value.as_deref().unwrap_or_default();
    let current = document.value(field.id)?;
    let is_value = if create.partial {
        current.contains(value)
    } else {
        current == value
    };
    if !is_value || create.field.as_deref().is_some_and(|field| field != name) {
        return None;
    }
    let mut meta = match &field.marker {
        Some(Marker::Inline(meta)) => meta.clone(),
        _ => json!({"x-kustomize": {}}),
    };
    meta["type"] = json!(create.kind.as_deref().unwrap_or_default());
    if let Some(description) = &create.description {
        meta["description"] = json!(description);
    }
    let extension = meta["x-kustomize"].as_object_mut()?;
    match &create.set_by {
        Some(set_by) => drop(extension.insert("setBy".to_owned(), json!(set_by))),
        None => drop(extension.remove("setBy")),
    }
    let setter = json!({"name": create.name, "value": value});
    if create.partial {
        let partial = extension
            .entry("partialSetters")
            .or_insert_with(|| json!([]))
            .as_array_mut()?;
        match partial.iter_mut().find(|one| one["name"] == create.name.as_str()) {
            Some(one) => *one = setter,
            None => partial.push(setter),
        }
    } else {
        extension.remove("partialSetters");
        extension.insert("setter".to_owned(), setter);
    }
    let (comment, end) = document.comment_place(field.id);
    let written = written(&meta);
    Some(comment.map_or_else(
        || document.comment_edit(end, &written),
        |old| Edit::replace(old, written.clone()),
    ))
}
