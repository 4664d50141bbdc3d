//! Sets how many replicas a workload has.

use super::Transformer;
use crate::build::{
    field_spec::{Create, FieldSpec, set_scalar},
    kustomization::Replica,
    node::{Scalar, Tag},
    problem::{Outcome, Problem},
    resources::Resources,
    session::Session,
};

pub(in super::super) struct Replicas {
    pub(in super::super) replica: Replica,
    pub(in super::super) field_specs: Vec<FieldSpec>,
}

impl Transformer for Replicas {
    fn transform(&self, resources: &mut Resources, _: &Session<'_>) -> Outcome {
        let name = &self.replica.name;
        let mut is_found = false;
        for spec in &self.field_specs {
            let found = resources.find(name, |resource| {
                resource
                    .ids()
                    .any(|id| id.name == name && spec.gvk.selects_id(&id))
            });
            for index in found {
                is_found = true;
                let node = &mut resources.get_mut(index).node;
                spec.apply(node, Create::Scalar, &mut |node| {
                    set_scalar(node, Scalar::new(self.replica.count.to_string(), Tag::Integer))
                })?;
            }
        }
        if is_found {
            return Ok(());
        }
        let kinds: Vec<&str> = self
            .field_specs
            .iter()
            .map(|spec| spec.gvk.kind.as_str())
            .collect();
        Err(Problem::new(format!(
            "`replicas` names `{name}`, but no workload has that name"
        ))
        .at(self.replica.at)
        .help(format!("it must be the name of one of: {}", kinds.join(", "))))
    }
}
