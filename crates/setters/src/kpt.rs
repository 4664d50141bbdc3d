//! Setters of kpt from version 1 on: `# kpt-set: ${name}` beside fields, and the values in what the function
//! `apply-setters` is given by the Kptfile.

use std::collections::BTreeMap;

use crate::{
    Package, Problem,
    create_substitution::markers,
    document::{Document, Edit, Fragment, Id, Target, apply},
    draft::Draft,
    fields::{Field, fields},
    list::Listed,
    marker::Marker,
    outcome::Change,
    package::{Scope, join},
    set::not_found,
};

/// Where the values are: a mapping in a file.
struct Source {
    file: String,
    document: Document,
    values: Id,
}

/// Where a Kptfile says that its values are; none when it asks for no setters.
fn source(package: &Package, scope: &Scope) -> Result<Option<Source>, Problem> {
    let Some(file) = scope
        .definitions
        .as_deref()
        .filter(|file| file.ends_with("Kptfile"))
    else {
        return Ok(None);
    };
    let document = package.document(file)?;
    let mutators = document
        .roots()
        .first()
        .and_then(|root| document.find(*root, &["pipeline", "mutators"]));
    let mutators = mutators
        .map(|mutators| document.items(mutators))
        .unwrap_or_default();
    let setters = mutators
        .iter()
        .find(|item| document.text_at(item.value, &["image"]).contains("apply-setters"));
    let Some(setters) = setters.map(|item| item.value) else {
        return Ok(None);
    };
    if let Some(values) = document.get(setters, "configMap") {
        return Ok(Some(Source {
            file: file.to_owned(),
            document,
            values,
        }));
    }
    let path = join(&scope.folder, document.text_at(setters, &["configPath"]));
    if !package.contains(&path) {
        return Ok(None);
    }
    let document = package.document(&path)?;
    let values = document
        .roots()
        .first()
        .and_then(|root| document.get(*root, "data"));
    Ok(values.map(|values| Source {
        file: path,
        document,
        values,
    }))
}

impl Source {
    fn values(&self) -> BTreeMap<String, String> {
        let text = |id: Id| self.document.value(id).unwrap_or_default().to_owned();
        let entries = self.document.entries(self.values).iter();
        entries
            .map(|entry| (text(entry.key), text(entry.value)))
            .collect()
    }
}

pub(crate) fn has_setters(package: &Package, scope: &Scope) -> Result<bool, Problem> {
    Ok(source(package, scope)?.is_some())
}

pub(crate) fn setters(package: &Package, scope: &Scope, only: Option<&str>) -> Result<Vec<Listed>, Problem> {
    let Some(source) = source(package, scope)? else {
        return Ok(Vec::new());
    };
    let values = source.values();
    let mut setters = Vec::new();
    for (name, value) in values
        .iter()
        .filter(|(name, _)| only.is_none_or(|only| only == name.as_str()))
    {
        let mut count = 0;
        for path in package.resources(scope) {
            let document = package.document(path)?;
            let all = document.roots().iter().flat_map(|root| fields(&document, *root));
            count += all.filter(|field| mentions(field, name)).count();
        }
        setters.push(Listed {
            name: name.clone(),
            value: value.clone(),
            set_by: String::new(),
            description: String::new(),
            count,
            required: false,
            is_set: true,
        });
    }
    Ok(setters)
}

pub(crate) fn set(
    package: &Package,
    scope: &Scope,
    name: &str,
    values: &[String],
) -> Result<Change, Problem> {
    let Some(source) = source(package, scope)? else {
        return Err(not_found(name));
    };
    let mut known = source.values();
    if !known.contains_key(name) {
        return Err(not_found(name).in_file(&source.file));
    }
    let value = match values {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    known.insert(name.to_owned(), value.clone());
    let mut change = Change::message("");
    let mut count = 0;
    for path in package.resources(scope) {
        // The values are no field of their own.
        if path == source.file {
            continue;
        }
        let document = package.document(path)?;
        let mut edits = Vec::new();
        for field in document.roots().iter().flat_map(|root| fields(&document, *root)) {
            if mentions(&field, name) {
                edits.extend(set_field(path, &document, &field, &known)?);
                count += 1;
            }
        }
        if !edits.is_empty() {
            change
                .edits
                .insert(path.to_owned(), apply(document.text(), edits));
        }
    }
    let mut draft = Draft::new(&source.file, source.document.text())?;
    draft.put_below(source.values, &[name], Fragment::text(value))?;
    change.edits.insert(source.file, draft.text());
    change.message = format!("set {count} field(s)\n");
    Ok(change)
}

fn mentions(field: &Field, name: &str) -> bool {
    matches!(&field.marker, Some(Marker::Pattern(pattern)) if pattern.contains(&format!("${{{name}}}")))
}

fn set_field(
    file: &str,
    document: &Document,
    field: &Field,
    values: &BTreeMap<String, String>,
) -> Result<Vec<Edit>, Problem> {
    let Some(Marker::Pattern(pattern)) = &field.marker else {
        return Ok(Vec::new());
    };
    let (mut text, mut rest) = (String::new(), pattern.as_str());
    for marker in markers(pattern) {
        let name = marker.trim_start_matches("${").trim_end_matches('}');
        let Some(value) = values.get(name) else {
            let message = format!("values for setters [{marker}] must be provided");
            return Err(document
                .problem(file, field.id, message)
                .hint("add it to the values of `apply-setters`"));
        };
        // A value may look like a marker, and is none.
        let (before, behind) = rest.split_once(marker).unwrap_or((rest, ""));
        text.push_str(before);
        text.push_str(value);
        rest = behind;
    }
    text.push_str(rest);
    if document.scalar(field.id).is_some() {
        return Ok(document
            .replace_scalar(field.id, &text, Target::AsBefore)
            .into_iter()
            .collect());
    }
    let parsed = manifests::yaml::parse(text.as_bytes()).map_err(|error| Problem::new(error.to_string()))?;
    let (Some(entry), Some(items)) = (field.entry, parsed.value.as_array()) else {
        let message = format!("the value of a list must be a list, not {text}");
        return Err(document
            .problem(file, field.id, message)
            .hint("write it as `[a, b]`"));
    };
    let items = items.iter().map(Fragment::from).collect();
    Ok(document.replace_value(&entry, &Fragment::List(items)))
}
