//! `crds` lists files of OpenAPI definitions. Extensions on their properties say which hold labels,
//! annotations, names, and the names of other objects.

use manifests::yaml;
use serde_json::Value;

use super::{FieldSpecs, NameReference};
use crate::build::{
    field_spec::{self, FieldSpec},
    identity::Gvk,
    problem::{Outcome, Problem},
};

const ANNOTATION: &str = "x-kubernetes-annotation";
const LABEL_SELECTOR: &str = "x-kubernetes-label-selector";
const IDENTITY: &str = "x-kubernetes-identity";
const REFERENCE_VERSION: &str = "x-kubernetes-object-ref-api-version";
const REFERENCE_KIND: &str = "x-kubernetes-object-ref-kind";
const REFERENCE_NAME_KEY: &str = "x-kubernetes-object-ref-name-key";

/// References may lead in circles.
const MAX_DEPTH: usize = 32;

pub(in super::super) fn from_crds(content: &str) -> Outcome<FieldSpecs> {
    let parsed = yaml::parse(content.as_bytes());
    let definitions = parsed
        .map_err(|error| Problem::new(format!("unable to parse open API definition: {error}")))?
        .value;
    let Some(types) = definitions.as_object() else {
        return Err(Problem::new(
            "unable to parse open API definition: it is not a map of definitions",
        ));
    };
    let mut specs = FieldSpecs::default();
    for (name, definition) in types {
        let properties = &definition["Schema"]["properties"];
        if ["kind", "apiVersion", "metadata"]
            .iter()
            .all(|field| properties.get(field).is_some())
        {
            let kind = name.rsplit('.').next().unwrap_or(name);
            let collector = Collector {
                types: &definitions,
                kind,
            };
            collector.collect(name, &mut Vec::new(), &mut specs)?;
        }
    }
    specs.sort();
    Ok(specs)
}

struct Collector<'d> {
    types: &'d Value,
    kind: &'d str,
}

impl Collector<'_> {
    fn collect(&self, name: &str, path: &mut Vec<String>, specs: &mut FieldSpecs) -> Outcome {
        let properties = self.types[name]["Schema"]["properties"].as_object();
        if path.len() > MAX_DEPTH {
            return Err(Problem::new(format!("the definition `{name}` refers to itself")));
        }
        for (field, property) in properties.into_iter().flatten() {
            path.push(field.clone());
            self.property(property, path, specs)?;
            if let Some(reference) = property["$ref"].as_str() {
                self.collect(reference, path, specs)?;
            }
            path.pop();
        }
        Ok(())
    }

    fn property(&self, property: &Value, path: &[String], specs: &mut FieldSpecs) -> Outcome {
        let has = |extension: &str| property[extension].is_string();
        let gvk = Gvk {
            kind: self.kind.to_owned(),
            ..Gvk::default()
        };
        let spec = |path: &str| FieldSpec::new(gvk.clone(), path, false);
        let joined = path.join("/");
        if has(ANNOTATION) {
            field_spec::merge(&mut specs.common_annotations, [spec(&joined)])?;
        }
        if has(LABEL_SELECTOR) {
            field_spec::merge(&mut specs.common_labels, [spec(&joined)])?;
        }
        if has(IDENTITY) {
            field_spec::merge(&mut specs.name_prefix, [spec(&joined)])?;
        }
        let (version, kind) = (&property[REFERENCE_VERSION], &property[REFERENCE_KIND]);
        if let (Some(version), Some(kind)) = (version.as_str(), kind.as_str()) {
            let name_key = property[REFERENCE_NAME_KEY].as_str().unwrap_or("name");
            specs.add_reference(NameReference {
                gvk: Gvk {
                    version: version.to_owned(),
                    kind: kind.to_owned(),
                    ..Gvk::default()
                },
                field_specs: vec![spec(&format!("{joined}/{name_key}"))],
            })?;
        }
        Ok(())
    }
}
