//! Common labels and annotations: set, added and removed by key.

use manifests::names;

use super::file::File;
use crate::{Problem, document::Fragment};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataField {
    Labels,
    Annotations,
}

impl MetadataField {
    fn name(self) -> &'static str {
        match self {
            Self::Labels => "commonLabels",
            Self::Annotations => "commonAnnotations",
        }
    }

    fn element(self) -> &'static str {
        match self {
            Self::Labels => "label",
            Self::Annotations => "annotation",
        }
    }
}

/// Labels that do not become part of selectors.
#[derive(Clone, Copy)]
pub(super) struct Labels {
    pub(super) without_selector: bool,
    pub(super) include_templates: bool,
}

pub(super) fn set(
    file: &mut File,
    field: MetadataField,
    arguments: &[String],
    notes: &mut Vec<String>,
) -> Result<bool, Problem> {
    for (key, value) in pairs(field, arguments, notes)? {
        if field == MetadataField::Annotations && !is_key(&key) {
            let problem = Problem::new(format!("invalid annotation key: {key:?}"));
            return Err(problem.hint("a key is a name, with a domain and a slash before it or not"));
        }
        file.put(&[field.name(), &key], Fragment::text(value))?;
    }
    Ok(true)
}

pub(super) fn add(
    file: &mut File,
    field: MetadataField,
    arguments: &[String],
    force: bool,
    labels: Labels,
    notes: &mut Vec<String>,
) -> Result<bool, Problem> {
    if labels.include_templates && !labels.without_selector {
        let message = "--without-selector flag must be specified for --include-templates to work";
        return Err(Problem::new(message));
    }
    let pairs = pairs(field, arguments, notes)?;
    // As in the reference, which looks at keys only where they are set.
    for (key, _) in pairs.iter().filter(|(key, _)| !is_key(key)) {
        let element = field.element();
        notes.push(format!(
            "{key:?} is not a valid key of {} {element}: a cluster will refuse it",
            if field == MetadataField::Annotations {
                "an"
            } else {
                "a"
            }
        ));
    }
    if labels.without_selector {
        let pairs = pairs.into_iter().map(|(key, value)| (key, Fragment::text(value)));
        let templates = labels
            .include_templates
            .then(|| Fragment::Plain("true".to_owned()));
        let label = Fragment::map([
            ("includeTemplates", templates),
            ("pairs", Some(Fragment::Map(pairs.collect()))),
        ]);
        file.append("labels", label)?;
        return Ok(true);
    }
    for (key, value) in pairs {
        let current = file.find(field.name());
        let is_there = current.is_some_and(|current| file.document().get(current, &key).is_some());
        if is_there && !force {
            let message = format!("{} {key} already in kustomization file", field.element());
            return Err(Problem::new(message)
                .in_file(file.path())
                .hint("`--force` overwrites it"));
        }
        file.put(&[field.name(), &key], Fragment::text(value))?;
    }
    Ok(true)
}

pub(super) fn remove(
    file: &mut File,
    field: MetadataField,
    arguments: &[String],
    ignore_missing: bool,
) -> Result<bool, Problem> {
    let element = field.element();
    let argument = match arguments {
        [one] => one,
        [] => return Err(Problem::new(format!("must specify {element}"))),
        _ => {
            return Err(Problem::new(format!(
                "{element}s must be comma-separated, with no spaces"
            )));
        }
    };
    if file.find(field.name()).is_none() && !ignore_missing {
        let message = format!("{} is not defined in kustomization file", field.name());
        return Err(Problem::new(message).in_file(file.path()));
    }
    for key in argument.split(',') {
        if key.is_empty() {
            return Err(Problem::new(format!(
                "invalid {element}: '{key}' (name is empty)"
            )));
        }
        let current = file.find(field.name());
        let is_there = current.is_some_and(|current| file.document().get(current, key).is_some());
        if !is_there && !ignore_missing {
            let message = format!("{element} {key} is not defined in kustomization file");
            return Err(Problem::new(message).in_file(file.path()));
        }
        if is_there {
            file.remove(&[field.name(), key])?;
        }
    }
    Ok(true)
}

fn is_key(key: &str) -> bool {
    names::qualified_name(key).is_empty()
}

/// `KEY:VALUE`, the value in quotes or not; without a colon it is empty.
fn pairs(
    field: MetadataField,
    arguments: &[String],
    notes: &mut Vec<String>,
) -> Result<Vec<(String, String)>, Problem> {
    let element = field.element();
    if arguments.is_empty() {
        return Err(Problem::new(format!("must specify {element}")));
    }
    let mut pairs = Vec::new();
    for argument in arguments {
        let (key, value) = argument.split_once(':').unwrap_or((argument, ""));
        if key.is_empty() {
            let message = format!("invalid {element}: '{argument}' (need k:v pair where v may be quoted)");
            return Err(Problem::new(message));
        }
        let value = value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'))
            .unwrap_or(value);
        if field == MetadataField::Labels && !names::label_value(value).is_empty() {
            notes.push(format!(
                "{value:?} is not a valid value of a label: a cluster will refuse it"
            ));
        }
        pairs.push((key.to_owned(), value.to_owned()));
    }
    Ok(pairs)
}
