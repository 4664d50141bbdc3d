//! `delete-setter` and `delete-subst`: the definition and its markers go, the values stay.

use crate::{
    Outcome, Package, Problem,
    definitions::{Definitions, SETTER_PREFIX, SUBSTITUTION_PREFIX},
    document::{Document, Edit, apply},
    draft::Draft,
    fields::{Field, fields},
    marker::Marker,
    outcome::{Change, Reach, on_packages},
    package::Scope,
};

#[derive(Clone, Debug, Default)]
pub struct DeleteSetter {
    pub name: String,
    /// Also in the packages below.
    pub recurse: bool,
}

#[derive(Clone, Debug, Default)]
pub struct DeleteSubstitution {
    pub name: String,
    /// Also in the packages below.
    pub recurse: bool,
}

impl DeleteSetter {
    pub fn run(&self, package: &Package) -> Outcome {
        run(package, self.recurse, "setter", SETTER_PREFIX, &self.name)
    }
}

impl DeleteSubstitution {
    pub fn run(&self, package: &Package) -> Outcome {
        run(
            package,
            self.recurse,
            "substitution",
            SUBSTITUTION_PREFIX,
            &self.name,
        )
    }
}

fn run(package: &Package, recurse: bool, kind: &str, prefix: &str, name: &str) -> Outcome {
    on_packages(package, Reach::Defined, recurse, |scope| {
        delete(package, scope, kind, prefix, name)
    })
}

fn delete(package: &Package, scope: &Scope, kind: &str, prefix: &str, name: &str) -> Result<Change, Problem> {
    let file = scope.definitions.as_deref().unwrap_or_default();
    let text = package.text(file).unwrap_or_default();
    let definitions = Definitions::read(file, text)?;
    let key = format!("{prefix}{name}");
    if !definitions.contains(&key) {
        return Err(Problem::new(format!("{kind} {name:?} does not exist")).in_file(file));
    }
    if let Some(user) = user(&definitions, &key) {
        let message = format!(
            "{kind} {name:?} is used in substitution {user:?}, please delete the parent substitution first"
        );
        return Err(definitions.problem(&["openAPI", "definitions", &key], message));
    }
    let mut change = Change::message(format!("deleted {kind} {name:?}\n"));
    change.edits.insert(file.to_owned(), undefine(file, text, &key)?);
    for path in package.resources(scope) {
        let document = package.document(path)?;
        let all = document.roots().iter().flat_map(|root| fields(&document, *root));
        let edits: Vec<Edit> = all
            .filter_map(|field| unmark(&document, &field, &definitions, &key))
            .collect();
        if !edits.is_empty() {
            change
                .edits
                .insert(path.to_owned(), apply(document.text(), edits));
        }
    }
    Ok(change)
}

/// The name of a substitution that refers to a definition.
fn user(definitions: &Definitions, key: &str) -> Option<String> {
    let mut substitutions = definitions.with_prefix(SUBSTITUTION_PREFIX);
    substitutions.find_map(|(name, _)| {
        let extension = definitions
            .extension(&format!("{SUBSTITUTION_PREFIX}{name}"))
            .ok()?;
        let substitution = extension.substitution?;
        let refers = substitution
            .values
            .iter()
            .any(|part| part.reference.ends_with(key));
        refers.then_some(substitution.name)
    })
}

/// The file without a definition, nor what is empty without it.
fn undefine(file: &str, text: &str, key: &str) -> Result<String, Problem> {
    let mut draft = Draft::new(file, text)?;
    let is_only = |draft: &Draft, path: &[&str]| {
        draft
            .find(path)
            .is_some_and(|found| draft.document().entries(found).len() == 1)
    };
    if !is_only(&draft, &["openAPI", "definitions"]) {
        draft.remove(&["openAPI", "definitions", key])?;
    } else if !is_only(&draft, &["openAPI"]) {
        draft.remove(&["openAPI", "definitions"])?;
    } else {
        draft.remove(&["openAPI"])?;
    }
    Ok(draft.text())
}

/// Removes the comment that ties a field to a definition.
fn unmark(document: &Document, field: &Field, definitions: &Definitions, key: &str) -> Option<Edit> {
    let marker = field.marker.as_ref()?;
    if definitions.key_of(marker).as_deref() != Some(key) {
        return None;
    }
    let (comment, _) = document.comment_place(field.id);
    let comment = comment
        .filter(|comment| Marker::parse(&document.text()[comment.clone()]).as_ref() == Some(marker))?;
    let before = document.text()[..comment.start]
        .trim_end_matches([' ', '\t'])
        .len();
    Some(Edit::remove(before..comment.end))
}
