//! Which rules hold for an object: those of a built-in kind, of a definition in the package, or of a kind of
//! training job.

use std::collections::HashMap;

use kinds::resources::{self as built_in, RESOURCES, Resource};
use packages::TracedObject;
use schemas::crd::{CustomKind, CustomVersion};
use serde_json::Value;

use crate::complaints::Complaints;

pub(crate) struct Catalogue {
    /// Of the definitions in the package and of training jobs, by group and kind.
    customs: HashMap<(String, String), Custom>,
}

struct Custom {
    kind: CustomKind,
    /// Whether the rules beyond the schema are known too.
    is_training: bool,
}

pub(crate) enum Rules<'c> {
    BuiltIn(&'static Resource),
    Custom(CustomRules<'c>),
    Unknown(Unknown),
}

/// A version of a custom kind.
pub(crate) struct CustomRules<'c> {
    pub(crate) version: &'c CustomVersion,
    pub(crate) namespaced: bool,
    pub(crate) is_training: bool,
}

/// A kind of which nothing is known.
pub(crate) struct Unknown {
    api_version: String,
    kind: String,
    /// The versions in which it is known.
    versions: Vec<String>,
    /// Whether the cluster itself would have to know it.
    is_of_kubernetes: bool,
}

impl Catalogue {
    pub(crate) fn of(objects: &[TracedObject]) -> Self {
        let mut customs = HashMap::new();
        let training = objects.iter().filter_map(|object| {
            let group = group_of(&object.value);
            let kind = object.value["kind"].as_str()?;
            resources::kinds::ALL
                .into_iter()
                .find(|row| row.group == group && row.kind == kind)
        });
        for kind in training {
            let key = (kind.group.to_owned(), kind.kind.to_owned());
            customs.entry(key).or_insert_with(|| Custom {
                kind: CustomKind::of(&resources::definitions::definition(kind)),
                is_training: true,
            });
        }
        let definitions = objects.iter().map(|object| &object.value);
        for definition in definitions.filter(|value| value["kind"] == "CustomResourceDefinition") {
            let kind = CustomKind::of(definition);
            let key = (kind.group.clone(), kind.kind.clone());
            customs.insert(
                key,
                Custom {
                    kind,
                    is_training: false,
                },
            );
        }
        Self { customs }
    }

    pub(crate) fn rules(&self, object: &Value) -> Rules<'_> {
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let kind = object["kind"].as_str().unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if let Some(resource) = built_in::of_kind(group, version, kind) {
            return Rules::BuiltIn(resource);
        }
        let custom = self.customs.get(&(group.to_owned(), kind.to_owned()));
        let served = custom.and_then(|custom| {
            let version = custom.kind.version(version).filter(|version| version.served)?;
            Some(CustomRules {
                version,
                namespaced: custom.kind.namespaced,
                is_training: custom.is_training,
            })
        });
        match served {
            Some(rules) => Rules::Custom(rules),
            None => Rules::Unknown(Unknown {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                versions: versions(custom, group, kind),
                is_of_kubernetes: !group.contains('.') || group.ends_with(".k8s.io"),
            }),
        }
    }
}

fn group_of(object: &Value) -> &str {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// In which versions there is such a kind. Some have moved to other groups since.
fn versions(custom: Option<&Custom>, group: &str, kind: &str) -> Vec<String> {
    let served = custom.into_iter().flat_map(|custom| &custom.kind.versions);
    let served = served.map(|version| format!("{group}/{}", version.name));
    let built_in = RESOURCES.iter().filter(|row| row.kind == kind);
    served.chain(built_in.map(Resource::api_version)).collect()
}

impl Unknown {
    pub(crate) fn tell(&self, complaints: &mut Complaints<'_>) {
        let Self {
            api_version, kind, ..
        } = self;
        let known = self.versions.join("` or `");
        if self.is_of_kubernetes || !known.is_empty() {
            let message = format!("no matches for kind {kind:?} in version {api_version:?}");
            let hint = match known.as_str() {
                "" => "look at the spelling of `kind` and `apiVersion`".to_owned(),
                known => format!("there is one in `{known}`"),
            };
            return complaints.refuse("apiVersion", message, hint);
        }
        complaints.warn(
            "apiVersion",
            format!("{kind} of {api_version} is not known here, so its fields are not checked"),
            "put its CustomResourceDefinition into the package, or have the cluster look: `trainyard apply --dry-run`"
                .to_owned(),
        );
    }
}
