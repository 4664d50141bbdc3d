//! What commands read from files: values, definitions and templates, in JSON or YAML, or a template as it is.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use manifests::yaml;
use serde_json::{Value, json};

use crate::advised;

/// The text of a file; `-` is standard input.
pub(super) fn text(path: &Path) -> Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("cannot read standard input")?;
        return Ok(text);
    }
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

/// The mapping in a file of JSON or YAML.
pub(super) fn mapping(path: &Path) -> Result<Value> {
    let text = text(path)?;
    let read =
        yaml::parse(text.as_bytes()).with_context(|| format!("`{}` cannot be read", path.display()))?;
    if !read.value.is_object() {
        return Err(advised(
            format!("`{}` has no mapping of names and values", path.display()),
            "JSON or YAML of one object is meant",
        ));
    }
    Ok(read.value)
}

/// What the service is sent for an object of Kubernetes, if it is one of these kinds; else the value as it is.
pub(super) fn unwrapped(value: Value, kind: &str) -> Value {
    if value["kind"] != kind || !value["spec"].is_object() {
        return value;
    }
    let mut spec = value["spec"].clone();
    if spec["name"].is_null() {
        spec["name"] = value["metadata"]["name"].clone();
    }
    spec
}

/// A template: an object with its text, or the text itself.
pub(super) fn template(path: &Path, name: Option<&str>) -> Result<Value> {
    template_of(path, &text(path)?, name)
}

/// The same of a file that was read.
pub(super) fn template_of(path: &Path, text: &str, name: Option<&str>) -> Result<Value> {
    let read = yaml::parse(text.as_bytes()).ok().map(|read| read.value);
    let mut template = match read {
        Some(value) if value["kind"] == "TaskTemplate" => renamed(unwrapped(value, "TaskTemplate")),
        Some(value) if value["template"].is_string() => value,
        _ => json!({"template": text}),
    };
    if let Some(name) = name {
        template["name"] = json!(name);
    }
    if template["name"].is_null() {
        let stem = stem(path)
            .ok_or_else(|| advised("the template has no name", "give it one with `--name NAME`"))?;
        template["name"] = json!(stem);
    }
    Ok(template)
}

/// Fields of the object as the service calls them.
fn renamed(mut spec: Value) -> Value {
    for (theirs, ours) in [
        ("requiredValues", "required_values"),
        ("allowedKinds", "allowed_kinds"),
    ] {
        if let Some(value) = spec.as_object_mut().and_then(|spec| spec.remove(theirs)) {
            spec[ours] = value;
        }
    }
    spec
}

/// `countdown-task` of `dir/countdown-task.yaml.j2`.
fn stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = name.split('.').next()?;
    (!stem.is_empty() && stem != "-").then(|| stem.to_owned())
}

/// The option of commands that read a file.
#[derive(Debug, clap::Args)]
pub(super) struct File {
    /// A file in JSON or YAML; `-` is standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(super) filename: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Value {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        template(&path, None).unwrap()
    }

    #[test]
    fn a_template_is_its_text_or_an_object() {
        let jinja = "{% if a %}\nb: {{ c }}\n{% endif %}\n";
        assert_eq!(
            read("count.yaml.j2", jinja),
            json!({"name": "count", "template": jinja})
        );
        let object =
            "kind: TaskTemplate\nmetadata: {name: count}\nspec: {template: t, allowedKinds: [Job]}\n";
        assert_eq!(
            read("x.yaml", object),
            json!({"name": "count", "template": "t", "allowed_kinds": ["Job"]})
        );
        assert_eq!(
            read("x.json", r#"{"name": "n", "template": "t"}"#),
            json!({"name": "n", "template": "t"})
        );
        // A template without a variable is YAML, too.
        let plain = "kind: Job\nmetadata: {name: x}\n";
        assert_eq!(
            read("plain.yaml", plain),
            json!({"name": "plain", "template": plain})
        );
    }

    #[test]
    fn a_definition_may_be_an_object() {
        let object =
            json!({"kind": "TaskDefinition", "metadata": {"name": "n"}, "spec": {"task_template_name": "t"}});
        assert_eq!(
            unwrapped(object, "TaskDefinition"),
            json!({"name": "n", "task_template_name": "t"})
        );
    }
}
