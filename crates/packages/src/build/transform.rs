//! What changes the objects of a package. Each transformer is made of what a kustomization, or an object
//! that configures it, says; they run one after the other over everything.

pub(super) mod annotations;
pub(super) mod images;
pub(super) mod json_patch;
pub(super) mod labels;
pub(super) mod merge_patch;
pub(super) mod names;
pub(super) mod namespace;
pub(super) mod patch;
pub(super) mod replacements;
pub(super) mod replicas;
pub(super) mod select;
pub(super) mod value_add;

use super::{problem::Outcome, resources::Resources, session::Session};

pub(super) trait Transformer {
    fn transform(&self, resources: &mut Resources, session: &Session<'_>) -> Outcome;
}

/// Transformers one after the other, as if they were one.
pub(super) struct Several(pub(super) Vec<Box<dyn Transformer>>);

impl Transformer for Several {
    fn transform(&self, resources: &mut Resources, session: &Session<'_>) -> Outcome {
        self.0
            .iter()
            .try_for_each(|transformer| transformer.transform(resources, session))
    }
}
