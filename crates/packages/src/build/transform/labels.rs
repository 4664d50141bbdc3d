//! Sets labels on objects, and where it was asked for on pod templates and selectors.

use std::collections::BTreeMap;

use super::{Transformer, annotations::set_all};
use crate::build::{
    config::FieldSpecs,
    field_spec::{self, FieldSpec},
    identity::Gvk,
    kustomization::Label,
    problem::Outcome,
    resources::Resources,
    session::Session,
};

pub(in super::super) struct Labels {
    pub(in super::super) labels: BTreeMap<String, String>,
    pub(in super::super) field_specs: Vec<FieldSpec>,
}

impl Labels {
    pub(in super::super) fn new(label: &Label, config: &FieldSpecs) -> Outcome<Self> {
        let mut field_specs = label.fields.clone();
        field_spec::merge(&mut field_specs, config.labels.iter().cloned())?;
        if label.include_selectors {
            field_spec::merge(&mut field_specs, config.common_labels.iter().cloned())?;
        } else {
            if label.include_templates {
                field_spec::merge(&mut field_specs, config.template_labels.iter().cloned())?;
            }
            let metadata = FieldSpec::new(Gvk::default(), "metadata/labels", true);
            field_spec::merge(&mut field_specs, [metadata])?;
        }
        Ok(Self {
            labels: label.pairs.clone(),
            field_specs,
        })
    }
}

impl Transformer for Labels {
    fn transform(&self, resources: &mut Resources, _: &Session<'_>) -> Outcome {
        set_all(resources, &self.labels, &self.field_specs)
    }
}
