//! JSON patches (RFC 6902) for the objects a selector is for.

use manifests::{json_patch, yaml};
use serde_json::Value;

use super::{Transformer, select::Matcher};
use crate::build::{
    decode::Text,
    kustomization::Selector,
    node::{At, Content, Map, Node, from_value, to_value},
    problem::{Outcome, Problem},
    resource::Resource,
    resources::Resources,
    root::Root,
    session::Session,
};

/// `patchesJson6902`.
pub(in super::super) struct JsonPatches {
    target: Matcher,
    patch: JsonPatch,
}

/// Operations, and where they stand.
#[derive(Clone)]
pub(super) struct JsonPatch {
    pub(super) operations: Value,
    pub(super) at: At,
}

impl JsonPatch {
    fn first_line(&self) -> At {
        At {
            line: self.at.line.max(1),
            column: self.at.column.max(1),
            ..self.at
        }
    }
}

impl JsonPatches {
    pub(in super::super) fn new(
        root: &Root<'_, '_>,
        target: Option<&Selector>,
        path: Option<&Text>,
        inline: Option<&Text>,
        at: At,
    ) -> Outcome<Self> {
        let Some(target) = target.filter(|target| !target.exact.name.is_empty()) else {
            return Err(Problem::new("a JSON patch needs the name of its target")
                .at(at)
                .help("add `target: {kind: …, name: …}`"));
        };
        let inline = inline.filter(|inline| !inline.text.is_empty());
        let (text, at) = match (path, inline) {
            (Some(_), Some(_)) => {
                return Err(Problem::new("the patch has both a path and operations")
                    .at(at)
                    .help("keep one of `path` and `patch`"));
            }
            (None, None) => return Err(Problem::new("there is no patch in it").at(at)),
            (Some(path), None) => root.read_text(path)?,
            (None, Some(inline)) => (inline.text.clone(), inline.at),
        };
        let operations = parse(&text).map_err(|message| not_a_patch(&message, at))?;
        if operations.as_array().is_none_or(Vec::is_empty) {
            return Err(Problem::new("the patch is empty").at(at));
        }
        Ok(Self {
            target: Matcher::new(target)?,
            patch: JsonPatch { operations, at },
        })
    }
}

impl Transformer for JsonPatches {
    fn transform(&self, resources: &mut Resources, session: &Session<'_>) -> Outcome {
        for index in self.target.select(resources) {
            let resource = &mut resources.rename()[index];
            apply(resource, session, &self.patch)?;
        }
        Ok(())
    }
}

pub(super) fn not_a_patch(message: &str, at: At) -> Problem {
    Problem::new(format!("it is not a JSON patch: {message}"))
        .at(at)
        .help("a JSON patch is a list of operations: `- {op: replace, path: /spec/replicas, value: 3}`; one that begins \
             with `[` is JSON, with every name in quotes")
}

/// The operations of a text. It is JSON when it begins with a bracket, otherwise YAML.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let value = if text.starts_with('[') {
        serde_json::from_str(text).map_err(|error| error.to_string())?
    } else {
        yaml::parse(text.as_bytes())
            .map_err(|error| error.to_string())?
            .value
    };
    match &value {
        Value::Null => Ok(value),
        Value::Array(operations) if operations.iter().all(|it| it.is_object() || it.is_null()) => Ok(value),
        Value::Array(_) => Err("an operation is not a map".to_owned()),
        _ => Err("it is not a list".to_owned()),
    }
}

pub(super) fn apply(resource: &mut Resource, session: &Session<'_>, patch: &JsonPatch) -> Outcome {
    if resource.has_notes() {
        make_annotations(resource);
    }
    let mut value = to_value(&resource.node)?;
    json_patch::apply(&mut value, &patch.operations).map_err(|error| {
        Problem::new(format!("the patch does not fit {}: {error}", resource.id()))
            .at(patch.at)
            .object(resource.node.at)
            .help("a path must lead through what is there; `add` makes only its last part")
    })?;
    if !value.is_object() {
        return Err(Problem::new(format!("nothing would be left of {}", resource.id())).at(patch.at));
    }
    let before = std::mem::replace(&mut resource.node, from_value(value));
    resource.links.clear();
    resource.node.place_after(&before, patch.first_line());
    resource.make_texts("annotations");
    resource.look_up_scope(&mut session.schemas());
    Ok(())
}

/// The reference keeps notes in annotations, so these are there for a patch to add to.
fn make_annotations(resource: &mut Resource) {
    if let Some(metadata) = resource.metadata_mut() {
        let annotations = metadata.get_or_insert("annotations", Node::map);
        if annotations.is_null() {
            annotations.content = Content::Map(Map::default());
        }
    }
}
