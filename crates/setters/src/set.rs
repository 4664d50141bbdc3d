//! `set`: another value for a setter, in its definition and in every field that has it.

use std::collections::BTreeMap;

use crate::{
    Outcome, Package, Problem,
    definitions::{Definitions, EXTENSION, SETTER_PREFIX, Setter},
    document::{Document, Edit, Fragment, Target, apply, is_non_string},
    draft::Draft,
    fields::{Field, FieldType, fields},
    inline, kpt,
    outcome::{Change, Reach, on_packages},
    package::Scope,
    schema,
};

#[derive(Clone, Debug, Default)]
pub struct Set {
    pub name: String,
    /// One, or for a list any number. None asks which value there is, of setters of the first kind.
    pub values: Vec<String>,
    /// Who sets it; nobody when it is not given.
    pub set_by: Option<String>,
    pub description: Option<String>,
    /// Also in the packages below.
    pub recurse: bool,
}

impl Set {
    pub fn run(&self, package: &Package) -> Outcome {
        match inline::is_used(package) {
            Err(problem) => Outcome::failed(problem),
            Ok(_) if self.values.is_empty() => inline::list(package, Some(&self.name)),
            Ok(true) => inline::set(package, self),
            Ok(false) => on_packages(package, Reach::Defined, self.recurse, |scope| {
                self.set(package, scope)
            }),
        }
    }

    fn set(&self, package: &Package, scope: &Scope) -> Result<Change, Problem> {
        let Some(file) = scope.definitions.as_deref() else {
            return Err(not_found(&self.name));
        };
        let text = package.text(file).unwrap_or_default();
        let before = Definitions::read(file, text)?;
        if !before.contains_setter(&self.name) && kpt::has_setters(package, scope)? {
            return kpt::set(package, scope, &self.name, &self.values);
        }
        let text = self.define(&before, file, text)?;
        let definitions = Definitions::read(file, &text)?;
        let (count, mut edits) = set_fields(&marked(package, scope)?, &definitions, &self.name)?;
        edits.insert(file.to_owned(), text);
        Ok(Change {
            message: format!("set {count} field(s)\n"),
            edits,
        })
    }

    /// The file of the definitions, with the new value.
    fn define(&self, definitions: &Definitions, file: &str, text: &str) -> Result<String, Problem> {
        let key = format!("{SETTER_PREFIX}{}", self.name);
        let definition = ["openAPI", "definitions", &key];
        let setter = [&definition[..], &[EXTENSION, "setter"]].concat();
        let at = |field: &'static str| [&setter[..], &[field]].concat();
        let mut draft = Draft::new(file, text)?;
        if draft.find(&setter).is_none() {
            return Err(not_found(&self.name).in_file(file));
        }
        self.check_choice(definitions, &draft, &at("enumValues"))?;
        let value = self.values.first().cloned().unwrap_or_default();
        let document = draft.document();
        let kind = draft
            .root()
            .map(|root| document.text_at(root, &[&definition[..], &["type"]].concat()));
        if kind == Some("array") {
            draft.remove(&at("value"))?;
            let values = self.values.iter().cloned().map(Fragment::Quoted);
            draft.put(&at("listValues"), Fragment::List(values.collect()))?;
        } else {
            draft.put(&at("value"), Fragment::Quoted(value))?;
        }
        match &self.set_by {
            Some(name) => draft.put(&at("setBy"), Fragment::text(name))?,
            None => draft.remove(&at("setBy"))?,
        }
        draft.put(&at("isSet"), Fragment::Plain("true".to_owned()))?;
        if let Some(description) = &self.description {
            let path = [&definition[..], &["description"]].concat();
            draft.put(&path, Fragment::text(description))?;
        }
        Ok(draft.text())
    }

    /// Of a choice, only what there is to choose from.
    fn check_choice(&self, definitions: &Definitions, draft: &Draft, path: &[&str]) -> Result<(), Problem> {
        let Some(choices) = draft.find(path) else {
            return Ok(());
        };
        let document = draft.document();
        let keys = document.entries(choices).iter();
        let keys: Vec<&str> = keys.filter_map(|entry| document.value(entry.key)).collect();
        let value = self.values.first().map(String::as_str).unwrap_or_default();
        if keys.contains(&value) {
            return Ok(());
        }
        let possible = keys.join(",");
        let message = format!(
            "{value} does not match the possible values for {}: [{possible}]",
            self.name
        );
        Err(definitions.problem(path, message))
    }
}

pub(crate) fn not_found(name: &str) -> Problem {
    Problem::new(format!("setter {name:?} is not found"))
        .hint("`trainyard pkg list-setters` shows those there are")
}

/// A file, and its fields that have a marker.
pub(crate) struct Marked {
    path: String,
    document: Document,
    fields: Vec<Field>,
}

/// The files of a package, read once for any number of setters.
pub(crate) fn marked(package: &Package, scope: &Scope) -> Result<Vec<Marked>, Problem> {
    let files = package.resources(scope).into_iter();
    let marked = files.map(|path| {
        let document = package.document(path)?;
        let all = document.roots().iter().flat_map(|root| fields(&document, *root));
        let fields = all.filter(|field| field.marker.is_some()).collect();
        Ok(Marked {
            path: path.to_owned(),
            document,
            fields,
        })
    });
    marked.collect()
}

/// Writes the value of a setter into the fields it is for. Says how many they are, and how their files become.
fn set_fields(
    files: &[Marked],
    definitions: &Definitions,
    name: &str,
) -> Result<(usize, BTreeMap<String, String>), Problem> {
    let mut count = 0;
    let mut edits = BTreeMap::new();
    for file in files {
        let changes = changes(file, definitions, name)?;
        if !changes.is_empty() {
            count += changes.len();
            let text = apply(file.document.text(), changes.into_iter().flatten().collect());
            // Nothing is written that cannot be read again.
            Document::parse(&file.path, &text)?;
            edits.insert(file.path.clone(), text);
        }
    }
    Ok((count, edits))
}

/// How many fields a setter is for.
pub(crate) fn count_fields(
    files: &[Marked],
    definitions: &Definitions,
    name: &str,
) -> Result<usize, Problem> {
    files
        .iter()
        .map(|file| Ok(changes(file, definitions, name)?.len()))
        .sum()
}

/// For each field the setter is for, the edits that write it.
fn changes(file: &Marked, definitions: &Definitions, name: &str) -> Result<Vec<Vec<Edit>>, Problem> {
    let changes = file.fields.iter();
    let changes = changes.map(|field| change(&file.document, field, definitions, name));
    changes.filter_map(Result::transpose).collect()
}

fn change(
    document: &Document,
    field: &Field,
    definitions: &Definitions,
    name: &str,
) -> Result<Option<Vec<Edit>>, Problem> {
    let Some(marker) = &field.marker else {
        return Ok(None);
    };
    let Some(extension) = definitions.resolve(marker)? else {
        return Ok(None);
    };
    let setter = extension.setter.filter(|setter| setter.name == name);
    if document.is_sequence(field.id) {
        let setter = setter.filter(|setter| !setter.list_values.is_empty());
        return setter
            .map(|setter| set_list(document, field, definitions, &setter))
            .transpose();
    }
    // The values of a list are for lists.
    if let Some(setter) = setter.filter(|setter| setter.list_values.is_empty()) {
        definitions.check(&setter)?;
        let value = setter.field_value();
        let edit = document.replace_scalar(field.id, value, target(&setter, field, value));
        return Ok(edit.map(|edit| vec![edit]));
    }
    let Some(substitution) = extension.substitution else {
        return Ok(None);
    };
    let (value, has_part) = definitions.substitute(&substitution, &|part| part == name)?;
    let edit = document
        .replace_scalar(field.id, &value, Target::Text)
        .filter(|_| has_part);
    Ok(edit.map(|edit| vec![edit]))
}

/// What the value must be read as: what the setter says, or else what Kubernetes says of the field, or else what
/// it was before.
fn target(setter: &Setter, field: &Field, value: &str) -> Target {
    let is_choice = setter.enum_values.contains_key(&setter.value);
    let kind = match schema::has_type(&setter.schema) {
        _ if is_choice => None,
        true => schema::scalar_type(&setter.schema).map(FieldType::named),
        false => field.kind,
    };
    match kind {
        Some(FieldType::String) if is_non_string(value) => Target::Text,
        Some(FieldType::NonString) if is_non_string(value) => Target::Plain,
        _ => Target::AsBefore,
    }
}

fn set_list(
    document: &Document,
    field: &Field,
    definitions: &Definitions,
    setter: &Setter,
) -> Result<Vec<Edit>, Problem> {
    definitions.check(setter)?;
    let values = setter.list_values.iter().cloned().map(Fragment::Quoted);
    let list = Fragment::List(values.collect());
    Ok(field
        .entry
        .map_or_else(Vec::new, |entry| document.replace_value(&entry, &list)))
}
