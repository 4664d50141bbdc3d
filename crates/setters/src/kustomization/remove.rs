//! `edit remove`, of paths and patches.

use regex::Regex;

use super::{Patch, PathField, file::File, set::build_options};
use crate::Problem;

pub(super) fn paths(file: &mut File, field: PathField, patterns: &[String]) -> Result<bool, Problem> {
    if patterns.is_empty() {
        return Err(Problem::new(format!("must specify a {} file", field.element())));
    }
    let patterns: Vec<Regex> = patterns
        .iter()
        .map(|pattern| glob(pattern))
        .collect::<Result<_, _>>()?;
    let is_meant = |path: &String| patterns.iter().any(|pattern| pattern.is_match(path));
    let mut is_changed = false;
    while let Some(index) = file.texts(field.name()).iter().position(is_meant) {
        file.remove_item(field.name(), index)?;
        is_changed = true;
    }
    Ok(is_changed)
}

/// A pattern of a path, in which `*` and `?` do not match slashes.
fn glob(pattern: &str) -> Result<Regex, Problem> {
    let mut expression = String::from("^");
    for c in pattern.chars() {
        match c {
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '[' | ']' | '-' => expression.push(c),
            c => expression.push_str(&regex::escape(&c.to_string())),
        }
    }
    expression.push('$');
    Regex::new(&expression).map_err(|_| Problem::new(format!("syntax error in pattern {pattern:?}")))
}

pub(super) fn patch(file: &mut File, patch: &Patch, notes: &mut Vec<String>) -> Result<bool, Problem> {
    patch.check()?;
    let mut is_changed = false;
    while let Some(index) = file
        .items("patches")
        .into_iter()
        .position(|item| patch.is(file.document(), item))
    {
        file.remove_item("patches", index)?;
        is_changed = true;
    }
    if !is_changed {
        notes.push("the patch doesn't exist in the kustomization file".to_owned());
    }
    Ok(is_changed)
}

pub(super) fn build_metadata(file: &mut File, arguments: &[String]) -> Result<bool, Problem> {
    for option in build_options(arguments)? {
        // What is not there is no error, as in the reference.
        while let Some(index) = file.texts("buildMetadata").iter().position(|one| *one == option) {
            file.remove_item("buildMetadata", index)?;
        }
    }
    Ok(true)
}
