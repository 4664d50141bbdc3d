//! Which fields transformers are about: the built-in ones, and what `configurations` and `crds` add.

mod crds;
mod defaults;
mod read;

use std::{cmp::Ordering, sync::Arc};

use super::{
    field_spec::{self, FieldSpec},
    identity::Gvk,
    problem::Outcome,
    sort::kind_rank,
};
pub(super) use crds::from_crds;
pub(super) use defaults::defaults;
pub(super) use read::read;

/// Shared until it is changed: most kustomizations add nothing.
pub(super) type Config = Arc<FieldSpecs>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSpecs {
    pub(super) name_prefix: Vec<FieldSpec>,
    pub(super) name_suffix: Vec<FieldSpec>,
    pub(super) namespace: Vec<FieldSpec>,
    pub(super) common_labels: Vec<FieldSpec>,
    pub(super) labels: Vec<FieldSpec>,
    pub(super) template_labels: Vec<FieldSpec>,
    pub(super) common_annotations: Vec<FieldSpec>,
    pub(super) name_reference: Vec<NameReference>,
    pub(super) var_reference: Vec<FieldSpec>,
    pub(super) images: Vec<FieldSpec>,
    pub(super) replicas: Vec<FieldSpec>,
}

/// The fields that hold the names of objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameReference {
    pub(super) gvk: Gvk,
    pub(super) field_specs: Vec<FieldSpec>,
}

/// Adds one configuration to another.
pub(super) fn merge(config: &mut Config, incoming: &Config) -> Outcome {
    if Arc::ptr_eq(config, incoming) {
        return Ok(());
    }
    // The built-in specs come out of this as they are. Others may not: sorted as they are, one for some
    // kinds comes before one for all and takes its place.
    if **config == FieldSpecs::default() && Arc::ptr_eq(incoming, &defaults()) {
        *config = defaults();
        return Ok(());
    }
    Arc::make_mut(config).merge(incoming)
}

/// The same for one that nobody else has.
pub(super) fn merge_in(config: &mut Config, incoming: FieldSpecs) -> Outcome {
    if incoming == FieldSpecs::default() {
        return Ok(());
    }
    Arc::make_mut(config).merge(&incoming)
}

impl FieldSpecs {
    pub(super) fn merge(&mut self, incoming: &Self) -> Outcome {
        // Taken apart without `..`, so that a new field cannot be forgotten here.
        let Self {
            name_prefix,
            name_suffix,
            namespace,
            common_labels,
            labels,
            template_labels,
            common_annotations,
            name_reference,
            var_reference,
            images,
            replicas,
        } = incoming;
        let lists = [
            (&mut self.name_prefix, name_prefix),
            (&mut self.name_suffix, name_suffix),
            (&mut self.namespace, namespace),
            (&mut self.common_labels, common_labels),
            (&mut self.labels, labels),
            (&mut self.template_labels, template_labels),
            (&mut self.common_annotations, common_annotations),
            (&mut self.var_reference, var_reference),
            (&mut self.images, images),
            (&mut self.replicas, replicas),
        ];
        for (own, incoming) in lists {
            field_spec::merge(own, incoming.iter().cloned())?;
        }
        for reference in name_reference {
            self.add_reference(reference.clone())?;
        }
        self.sort();
        Ok(())
    }

    pub(super) fn add_reference(&mut self, reference: NameReference) -> Outcome {
        let existing = self
            .name_reference
            .iter_mut()
            .find(|existing| existing.gvk == reference.gvk);
        if let Some(existing) = existing {
            return field_spec::merge(&mut existing.field_specs, reference.field_specs);
        }
        self.name_reference.push(reference);
        Ok(())
    }

    /// The order of the reference, in which a later field sees what an earlier one changed.
    pub(super) fn sort(&mut self) {
        let lists = [
            &mut self.name_prefix,
            &mut self.name_suffix,
            &mut self.namespace,
            &mut self.common_labels,
            &mut self.labels,
            &mut self.template_labels,
            &mut self.common_annotations,
            &mut self.var_reference,
            &mut self.images,
            &mut self.replicas,
        ];
        for specs in lists {
            specs.sort_by(|left, right| compare(&left.gvk, &right.gvk));
        }
        self.name_reference
            .sort_by(|left, right| compare(&left.gvk, &right.gvk));
    }
}

fn compare(left: &Gvk, right: &Gvk) -> Ordering {
    let text = |gvk: &Gvk| {
        let or = |text: &str, missing: &str| if text.is_empty() { missing } else { text }.to_owned();
        let parts = [or(&gvk.group, "~G"), or(&gvk.version, "~V"), or(&gvk.kind, "~K")];
        parts.join("_")
    };
    kind_rank(&left.kind)
        .cmp(&kind_rank(&right.kind))
        .then_with(|| text(left).cmp(&text(right)))
}
