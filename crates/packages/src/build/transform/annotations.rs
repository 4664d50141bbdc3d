//! Sets annotations on objects and their pod templates.

use std::collections::BTreeMap;

use super::Transformer;
use crate::build::{
    field_spec::{Create, FieldSpec, set_entry},
    links,
    node::{Scalar, Tag},
    problem::Outcome,
    resources::Resources,
    session::Session,
};

pub(in super::super) struct Annotations {
    pub(in super::super) annotations: BTreeMap<String, String>,
    pub(in super::super) field_specs: Vec<FieldSpec>,
}

impl Transformer for Annotations {
    fn transform(&self, resources: &mut Resources, _: &Session<'_>) -> Outcome {
        set_all(resources, &self.annotations, &self.field_specs)
    }
}

/// Sets entries in every map the specs lead to.
pub(super) fn set_all(
    resources: &mut Resources,
    entries: &BTreeMap<String, String>,
    field_specs: &[FieldSpec],
) -> Outcome {
    if entries.is_empty() {
        return Ok(());
    }
    for resource in resources.iter_mut() {
        let mut linked = Vec::with_capacity(entries.len());
        for (name, text) in entries {
            let mut scalar = Scalar::new(text, Tag::Text);
            resource.links.add(&mut scalar);
            linked.push((name, scalar));
        }
        for spec in field_specs {
            spec.apply(&mut resource.node, Create::Map, &mut |node| {
                linked
                    .iter()
                    .try_for_each(|(name, scalar)| set_entry(node, name, scalar))
            })?;
        }
        links::follow(resource);
    }
    Ok(())
}
