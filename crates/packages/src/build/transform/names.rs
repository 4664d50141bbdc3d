//! Puts a prefix or a suffix to the names of objects. References to them follow at the end of the build.

use super::Transformer;
use crate::build::{
    field_spec::{Create, FieldSpec, set_scalar},
    identity::Id,
    node::{Scalar, Tag},
    problem::Outcome,
    resource::Resource,
    resources::Resources,
    session::Session,
};

pub(in super::super) struct Affix {
    pub(in super::super) kind: AffixKind,
    pub(in super::super) text: String,
    pub(in super::super) field_specs: Vec<FieldSpec>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum AffixKind {
    Prefix,
    Suffix,
}

impl Transformer for Affix {
    fn transform(&self, resources: &mut Resources, _: &Session<'_>) -> Outcome {
        for resource in resources.rename() {
            if is_never_renamed(&resource.original_id()) {
                continue;
            }
            for spec in &self.field_specs {
                if spec.gvk.selects_id(&resource.original_id()) {
                    self.apply(resource, spec)?;
                }
            }
        }
        Ok(())
    }
}

impl Affix {
    fn apply(&self, resource: &mut Resource, spec: &FieldSpec) -> Outcome {
        if spec.path == "metadata/name" && !self.text.is_empty() {
            let affixes = match self.kind {
                AffixKind::Prefix => &mut resource.prefixes,
                AffixKind::Suffix => &mut resource.suffixes,
            };
            affixes.push(self.text.clone());
            resource.store_id();
        }
        spec.apply(&mut resource.node, Create::Scalar, &mut |node| {
            let text = match self.kind {
                AffixKind::Prefix => format!("{}{}", self.text, node.text()),
                AffixKind::Suffix => format!("{}{}", node.text(), self.text),
            };
            set_scalar(node, Scalar::new(text, Tag::None))
        })
    }
}

/// The names of these mean something.
fn is_never_renamed(id: &Id<'_>) -> bool {
    match id.kind {
        "CustomResourceDefinition" | "Namespace" => true,
        "APIService" => id.group == "apiregistration.k8s.io",
        _ => false,
    }
}
