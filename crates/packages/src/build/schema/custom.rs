//! Definitions a package brings itself: an OpenAPI document of version 2, in JSON or YAML.

use std::collections::HashMap;

use manifests::yaml;
use serde_json::Value;

use crate::build::problem::{Outcome, Problem};

pub(in super::super) struct CustomSchemas {
    document: Value,
    /// The names of definitions by apiVersion and kind.
    by_kind: HashMap<(String, String), String>,
    namespaced: HashMap<(String, String), bool>,
}

impl CustomSchemas {
    pub(super) fn read(content: &str) -> Outcome<Self> {
        let parsed = yaml::parse(content.as_bytes());
        let document = parsed
            .map_err(|error| Problem::new(format!("invalid schema file: {error}")))?
            .value;
        if !document.is_object() {
            return Err(Problem::new("invalid schema file: it is not an OpenAPI document")
                .help("it needs a field `definitions`, as in the answer of `/openapi/v2`"));
        }
        let mut by_kind = HashMap::new();
        for (name, definition) in fields(&document["definitions"]) {
            let kinds = definition["x-kubernetes-group-version-kind"].as_array();
            for kind in kinds.into_iter().flatten().filter_map(type_of) {
                by_kind.insert(kind, name.clone());
            }
        }
        let namespaced = namespaced(&document["paths"]);
        Ok(Self {
            document,
            by_kind,
            namespaced,
        })
    }

    pub(super) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Value> {
        let name = self.by_kind.get(&(api_version.to_owned(), kind.to_owned()))?;
        self.definition(name)
    }

    pub(super) fn definition(&self, name: &str) -> Option<&Value> {
        self.document["definitions"].get(name)
    }

    pub(super) fn is_namespaced(&self, api_version: &str, kind: &str) -> Option<bool> {
        self.namespaced
            .get(&(api_version.to_owned(), kind.to_owned()))
            .copied()
    }
}

/// Kinds have a namespace when one of their paths has.
fn namespaced(paths: &Value) -> HashMap<(String, String), bool> {
    let mut namespaced = HashMap::new();
    for (path, operations) in fields(paths) {
        let kind = &operations["get"]["x-kubernetes-group-version-kind"];
        if let Some(kind) = type_of(kind) {
            let known = namespaced.entry(kind).or_insert(false);
            *known |= path.contains("namespaces/{namespace}");
        }
    }
    namespaced
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn type_of(kind: &Value) -> Option<(String, String)> {
    let (version, name) = (kind["version"].as_str()?, kind["kind"].as_str()?);
    let api_version = match kind["group"].as_str() {
        None | Some("") => version.to_owned(),
        Some(group) => format!("{group}/{version}"),
    };
    Some((api_version, name.to_owned()))
}
