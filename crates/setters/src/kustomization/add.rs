//! `edit add`, of paths and patches.

use super::{Found, Patch, PathField, file::File, set::build_options};
use crate::{
    Problem,
    document::{Document, Fragment, Id},
};

pub(super) fn paths(
    file: &mut File,
    field: PathField,
    patterns: &[String],
    found: &Found,
    notes: &mut Vec<String>,
) -> Result<bool, Problem> {
    let element = field.element();
    if patterns.is_empty() {
        return Err(Problem::new(format!("must specify a {element} file")));
    }
    let mut is_found = false;
    for pattern in patterns {
        let paths = found.get(pattern).map(Vec::as_slice).unwrap_or_default();
        // The reference fails where objects are missed, and only there.
        if paths.is_empty() && matches!(field, PathField::Generators | PathField::Transformers) {
            notes.push(format!("{pattern} has no match"));
            continue;
        }
        if paths.is_empty() {
            return Err(
                Problem::new(format!("{pattern} has no match")).hint("paths are relative to the folder")
            );
        }
        is_found = true;
        for path in paths {
            if file.texts(field.name()).contains(path) {
                notes.push(format!("{element} {path} already in kustomization file"));
            } else if path != file.path() {
                file.append(field.name(), Fragment::text(path))?;
            }
        }
    }
    Ok(is_found)
}

pub(super) fn bases(file: &mut File, arguments: &[String], found: &Found) -> Result<bool, Problem> {
    let [argument] = arguments else {
        return Err(Problem::new("must specify a base directory"));
    };
    for base in argument.split(',') {
        if found.get(base).is_none_or(Vec::is_empty) {
            return Err(Problem::new(format!("{base} does not exist")));
        }
        if file.texts("resources").iter().any(|resource| resource == base) {
            let message = format!("base {base} already in kustomization file");
            return Err(Problem::new(message).in_file(file.path()));
        }
        file.append("resources", Fragment::text(base))?;
    }
    Ok(true)
}

pub(super) fn patch(file: &mut File, patch: &Patch, notes: &mut Vec<String>) -> Result<bool, Problem> {
    patch.check()?;
    if patch.path.is_none() && patch.patch.is_none() {
        return Err(Problem::new("must provide either patch or path"));
    }
    if file
        .items("patches")
        .into_iter()
        .any(|item| patch.is(file.document(), item))
    {
        notes.push("the patch is already in the kustomization file".to_owned());
        return Ok(false);
    }
    let text = |text: &Option<String>| text.as_ref().map(Fragment::text);
    let target = patch
        .target
        .iter()
        .map(|(key, value)| (key.clone(), Fragment::text(value)));
    let target = Fragment::Map(target.collect());
    let element = Fragment::map([
        ("patch", text(&patch.patch)),
        ("path", text(&patch.path)),
        ("target", (!patch.target.is_empty()).then_some(target)),
    ]);
    file.append("patches", element)?;
    Ok(true)
}

impl Patch {
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.path.is_some() && self.patch.is_some() {
            return Err(Problem::new("patch and path can't be set at the same time"));
        }
        Ok(())
    }

    /// Whether an element of `patches` says the same.
    pub(super) fn is(&self, document: &Document, item: Id) -> bool {
        let is_text = |key: &str, text: &Option<String>| {
            document.text_at(item, &[key]) == text.as_deref().unwrap_or_default()
        };
        let target = document.get(item, "target");
        let given = target.map(|target| document.entries(target)).unwrap_or_default();
        let is_given = |(key, value): (&String, &String)| document.text_at(item, &["target", key]) == value;
        is_text("path", &self.path)
            && is_text("patch", &self.patch)
            && given.len() == self.target.len()
            && self.target.iter().all(is_given)
    }
}

pub(super) fn build_metadata(file: &mut File, arguments: &[String]) -> Result<bool, Problem> {
    for option in build_options(arguments)? {
        if file.texts("buildMetadata").contains(&option) {
            let message = format!("buildMetadata option {option} already in kustomization file");
            return Err(Problem::new(message).in_file(file.path()));
        }
        file.append("buildMetadata", Fragment::text(option))?;
    }
    Ok(true)
}
