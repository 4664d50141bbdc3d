//! `patches`: strategic merge or JSON patches, told apart by what they are.

use super::{
    Transformer,
    json_patch::{self, JsonPatch},
    merge_patch::{self, Allowed},
    select::Matcher,
};
use crate::build::{
    kustomization::Patch,
    node::{At, read_documents},
    objects::{inline_objects, objects},
    problem::{Outcome, Problem},
    resource::Resource,
    resources::Resources,
    root::Root,
    session::{Session, malformed},
};

pub(in super::super) struct Patches {
    content: Content,
    target: Option<Matcher>,
    allowed: Allowed,
    at: At,
}

enum Content {
    Merge(Vec<Resource>),
    Json(JsonPatch),
}

impl Patches {
    pub(in super::super) fn new(root: &Root<'_, '_>, patch: &Patch) -> Outcome<Self> {
        let option = |name: &str| patch.options.get(name).copied().unwrap_or_default();
        let allowed = Allowed {
            name: option("allowNameChange"),
            kind: option("allowKindChange"),
        };
        let mut content = content(root, patch)?;
        if let Content::Merge(patches) = &mut content
            && (allowed.name || allowed.kind)
        {
            // The reference notes this in annotations, which makes text of those that are there.
            let patches = patches.iter_mut();
            patches.for_each(|patch| patch.make_texts("annotations"));
        }
        Ok(Self {
            content,
            target: patch.target.as_ref().map(Matcher::new).transpose()?,
            allowed,
            at: patch.at,
        })
    }
}

fn content(root: &Root<'_, '_>, patch: &Patch) -> Outcome<Content> {
    let inline = patch
        .patch
        .as_ref()
        .filter(|inline| !inline.text.trim().is_empty());
    let (text, at, merge) = match (inline, &patch.path) {
        (None, None) => {
            return Err(Problem::new("the patch has neither `patch` nor `path`").at(patch.at));
        }
        (Some(_), Some(_)) => {
            return Err(Problem::new("the patch has both `patch` and `path`")
                .at(patch.at)
                .help("keep one of them"));
        }
        (Some(inline), None) => {
            let text = inline.text.trim().to_owned();
            let merge = inline_objects(root.session, &text, inline.at);
            (text, inline.at, merge)
        }
        (None, Some(path)) => {
            let (text, at) = root.read_text(path)?;
            let documents = read_documents(&text, at.file).map_err(malformed);
            let merge = documents.and_then(|documents| objects(root.session, &documents));
            (text, at, merge)
        }
    };
    let json = json_patch::parse(&text);
    match (merge, json) {
        (Ok(_), Ok(_)) => Err(Problem::new("there is no patch in it").at(at)),
        (Ok(merge), Err(_)) if merge.is_empty() => Ok(Content::Json(JsonPatch {
            operations: serde_json::Value::Null,
            at,
        })),
        (Ok(merge), Err(_)) => Ok(Content::Merge(merge)),
        (Err(_), Ok(operations)) => Ok(Content::Json(JsonPatch { operations, at })),
        (Err(problem), Err(message)) => {
            // What begins like a list was meant to be a JSON patch.
            let is_list = text.trim_start().starts_with(['[', '-']) && !text.starts_with("---");
            Err(if is_list {
                json_patch::not_a_patch(&message, at)
            } else {
                problem
            })
        }
    }
}

impl Transformer for Patches {
    fn transform(&self, resources: &mut Resources, session: &Session<'_>) -> Outcome {
        match &self.content {
            Content::Merge(patches) => self.merge(resources, session, patches),
            Content::Json(patch) => self.json(resources, session, patch),
        }
    }
}

impl Patches {
    fn merge(&self, resources: &mut Resources, session: &Session<'_>, patches: &[Resource]) -> Outcome {
        let Some(target) = &self.target else {
            return patches
                .iter()
                .try_for_each(|patch| self.merge_by_name(resources, session, patch));
        };
        let [patch] = patches else {
            return Err(
                Problem::new("several patches in one entry cannot have a `target`")
                    .at(self.at)
                    .help("make an entry for each, or let each name its own object"),
            );
        };
        let targets = target.select(resources);
        merge_patch::apply_to(resources, session, &targets, patch, self.allowed)
    }

    fn merge_by_name(&self, resources: &mut Resources, session: &Session<'_>, patch: &Resource) -> Outcome {
        let target = resources.target_of(patch)?;
        let resource = resources.get_mut(target);
        merge_patch::apply(resource, session, patch.node.clone(), self.allowed)?;
        if self.allowed.name || self.allowed.kind || resources.get(target).node.is_empty() {
            resources.rename();
        }
        Ok(())
    }

    fn json(&self, resources: &mut Resources, session: &Session<'_>, patch: &JsonPatch) -> Outcome {
        let Some(target) = &self.target else {
            return Err(Problem::new("a JSON patch needs a `target`")
                .at(self.at)
                .help("add `target: {kind: …, name: …}`"));
        };
        for index in target.select(resources) {
            let resource = &mut resources.rename()[index];
            resource.store_id();
            json_patch::apply(resource, session, patch)?;
        }
        Ok(())
    }
}
