//! Files of `configurations`.

use super::{FieldSpecs, NameReference};
use crate::build::{
    decode::{CONFIGURATION, Fields, Rules},
    field_spec::FieldSpec,
    kustomization::{read_field_spec, read_gvk},
    node::{Content, Node, read_first},
    problem::{Outcome, Problem},
    session::malformed,
};

pub(in super::super) fn read(text: &str, file: u16) -> Outcome<FieldSpecs> {
    let Some(node) = read_first(text, file).map_err(malformed)? else {
        return Ok(FieldSpecs::default());
    };
    check_twice(&node)?;
    let fields = Fields::of(&node, "a configuration", CONFIGURATION)?;
    let specs = |name| -> Outcome<Vec<FieldSpec>> {
        let specs = fields.list(name, read_field_spec)?;
        Ok(specs.unwrap_or_default())
    };
    let mut config = FieldSpecs {
        name_prefix: specs("namePrefix")?,
        name_suffix: specs("nameSuffix")?,
        namespace: specs("namespace")?,
        common_labels: specs("commonLabels")?,
        labels: specs("labels")?,
        template_labels: specs("templateLabels")?,
        common_annotations: specs("commonAnnotations")?,
        name_reference: fields
            .list("nameReference", NameReference::read)?
            .unwrap_or_default(),
        var_reference: specs("varReference")?,
        images: specs("images")?,
        replicas: specs("replicas")?,
    };
    fields.finish()?;
    config.sort();
    Ok(config)
}

impl NameReference {
    fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "a name reference", rules)?;
        let reference = Self {
            gvk: read_gvk(&fields)?,
            field_specs: fields.list("fieldSpecs", read_field_spec)?.unwrap_or_default(),
        };
        fields.finish()?;
        Ok(reference)
    }
}

/// Here, unlike in kustomizations, a key may not be there twice.
fn check_twice(node: &Node) -> Outcome {
    match &node.content {
        Content::Scalar(_) => Ok(()),
        Content::List(items) => items.iter().try_for_each(check_twice),
        Content::Map(map) => {
            for (index, entry) in map.entries.iter().enumerate() {
                let name = &entry.key.text;
                if map.entries[..index].iter().any(|other| other.key.text == *name) {
                    return Err(Problem::new(format!("the key `{name}` is there twice"))
                        .at(entry.at)
                        .help("put both into one list"));
                }
                check_twice(&entry.value)?;
            }
            Ok(())
        }
    }
}
