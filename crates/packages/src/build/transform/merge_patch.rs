//! Strategic merge patches: objects in part, merged into those they are for.

use super::Transformer;
use crate::build::{
    decode::Text,
    links, merge,
    node::Node,
    objects::{inline_objects, objects},
    problem::{Outcome, Problem},
    resource::Resource,
    resources::Resources,
    root::Root,
    session::Session,
};

/// `patchesStrategicMerge`: each patch is for the object it is called like.
pub(in super::super) struct MergePatches {
    patches: Vec<Resource>,
}

impl MergePatches {
    /// Entries are patches, or files of some.
    pub(in super::super) fn new(root: &Root<'_, '_>, paths: &[Text], inline: Option<&Text>) -> Outcome<Self> {
        let mut patches = Vec::new();
        for path in paths {
            match inline_objects(root.session, &path.text, path.at) {
                Ok(found) => patches.extend(found),
                Err(_) => patches.extend(load(root, path)?),
            }
        }
        if let Some(inline) = inline {
            patches.extend(inline_objects(root.session, &inline.text, inline.at)?);
        }
        if patches.is_empty() {
            let at = paths.first().or(inline).map(|text| text.at).unwrap_or_default();
            return Err(Problem::new("there is no patch in it").at(at));
        }
        Ok(Self { patches })
    }
}

fn load(root: &Root<'_, '_>, path: &Text) -> Outcome<Vec<Resource>> {
    let file = root.file(path)?;
    let documents = root.session.documents(&file, path.at)?;
    objects(root.session, &documents)
}

impl Transformer for MergePatches {
    fn transform(&self, resources: &mut Resources, session: &Session<'_>) -> Outcome {
        for patch in &self.patches {
            let target = resources.target_of(patch)?;
            apply_to(resources, session, &[target], patch, Allowed::default())?;
        }
        Ok(())
    }
}

/// What a patch may change besides content.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowed {
    pub(super) name: bool,
    pub(super) kind: bool,
}

/// Applies one patch to some objects. It takes on their apiVersion; its labels and annotations are made
/// text before, as in the reference, so null does not remove them.
pub(super) fn apply_to(
    resources: &mut Resources,
    session: &Session<'_>,
    targets: &[usize],
    patch: &Resource,
    allowed: Allowed,
) -> Outcome {
    for target in targets {
        let mut copy = patch.clone();
        copy.make_texts("labels");
        copy.make_texts("annotations");
        let (name, namespace) = (patch.name().to_owned(), patch.namespace().to_owned());
        copy.set_name(&name);
        copy.set_namespace(&namespace);
        let resource = resources.get_mut(*target);
        if let Some(map) = copy.node.as_map_mut() {
            map.set("apiVersion", Node::bare(resource.api_version()));
        }
        apply(resource, session, copy.node, allowed)?;
        if allowed.name || allowed.kind {
            resources.rename();
        }
    }
    resources.drop_empty();
    resources.check_ids()
}

/// Merges a patch into one object, which keeps its namespace, and its name and kind unless these may
/// change.
pub(super) fn apply(
    resource: &mut Resource,
    session: &Session<'_>,
    patch: Node,
    allowed: Allowed,
) -> Outcome {
    let (name, namespace) = (resource.name().to_owned(), resource.namespace().to_owned());
    let kind = resource.kind().to_owned();
    if allowed.name || allowed.kind {
        resource.store_id();
    }
    if drops_annotations(&patch) {
        resource.forget_notes();
    }
    if !merge::merge(&session.definitions(), &mut resource.node, patch)? {
        resource.node = Node::map();
    }
    if resource.node.is_empty() {
        return Ok(());
    }
    if !allowed.kind {
        resource.set_kind(&kind);
    }
    if !allowed.name {
        resource.set_name(&name);
    }
    resource.set_namespace(&namespace);
    links::follow(resource);
    resource.look_up_scope(&mut session.schemas());
    Ok(())
}

/// Whether a patch takes all annotations away, and with them what the reference has noted in them.
fn drops_annotations(patch: &Node) -> bool {
    let replaces = |node: &Node| {
        let directive = node.get("$patch").map_or("", Node::text);
        node.is_null() || matches!(directive, "replace" | "delete")
    };
    let metadata = patch.get("metadata");
    let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
    metadata.is_some_and(replaces) || annotations.is_some_and(replaces)
}
