//! Storage classes of a task's claims: what the claims ask for, compared with what the cluster has.

use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim},
    storage::v1::StorageClass,
};
use kube::{Api, api::ListParams, core::PartialObjectMeta};
use serde_json::Value;

use crate::{controller::Controller, objects, plan::Task};

/// The class that templates name for shared files. Where the cluster does not have it, its default class is used.
const SHARED_FILES: &str = "aws-efs";
const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";

/// The storage classes of a cluster.
#[derive(Debug, Default)]
struct Classes {
    names: Vec<String>,
    default: Option<String>,
}

/// What becomes of the class of one claim.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// The default class takes its place.
    Default(String),
    Missing,
}

/// What was found out about the claims of a task.
pub(crate) enum Settled {
    /// Claims that get the default class instead, as sentences for events.
    Ready(Vec<String>),
    /// Why a claim would wait for ever.
    Missing(String),
}

impl Controller {
    /// Compares the claims among `objects` with the cluster and takes away classes that its default replaces.
    pub(crate) async fn settle_storage(&self, task: &Task, objects: &mut [Value]) -> kube::Result<Settled> {
        let mut notes = Vec::new();
        let claims = objects
            .iter_mut()
            .filter(|object| object["kind"] == "PersistentVolumeClaim" && class_of(object).is_some());
        let mut known = None;
        for claim in claims {
            let name = objects::child(claim).name;
            let class = class_of(claim).unwrap_or_default().to_owned();
            if known.is_none() {
                known = self.storage_classes().await?;
            }
            // A cluster that does not show its classes settles it by itself.
            let Some(classes) = &known else { break };
            match classes.judge(&class, is_asked_for(&task.spec.values, &class)) {
                Verdict::Keep => {}
                Verdict::Default(default) => {
                    if let Some(spec) = claim["spec"].as_object_mut() {
                        spec.remove("storageClassName");
                    }
                    notes.push(format!(
                        "claim {name} uses the default storage class `{default}`: there is no `{class}` here"
                    ));
                }
                Verdict::Missing if self.is_provided(task, &name, &class).await? => {}
                Verdict::Missing => return Ok(Settled::Missing(classes.missing(&name, &class))),
            }
        }
        Ok(Settled::Ready(notes))
    }

    /// The classes of the cluster; none where this engine may not see them.
    async fn storage_classes(&self) -> kube::Result<Option<Classes>> {
        let api: Api<StorageClass> = Api::all(self.world.client.clone());
        let listed = seen(api.list_metadata(&ListParams::default()).await)?;
        Ok(listed.map(|listed| Classes::of(&listed.items)))
    }

    /// A claim that exists already, or volumes made by hand, need no class.
    async fn is_provided(&self, task: &Task, claim: &str, class: &str) -> kube::Result<bool> {
        let client = || self.world.client.clone();
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(client(), &task.namespace);
        if claims.get_metadata_opt(claim).await?.is_some() {
            return Ok(true);
        }
        let volumes: Api<PersistentVolume> = Api::all(client());
        let Some(volumes) = seen(volumes.list(&ListParams::default()).await)? else {
            return Ok(true);
        };
        let mut classes = volumes
            .items
            .into_iter()
            .filter_map(|volume| volume.spec?.storage_class_name);
        Ok(classes.any(|other| other == class))
    }
}

/// An answer, unless the engine may not ask.
fn seen<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(None),
        answer => answer.map(Some),
    }
}

fn class_of(claim: &Value) -> Option<&str> {
    let class = claim["spec"]["storageClassName"].as_str();
    class.filter(|class| !class.is_empty())
}

/// Whether the values of a task say so themselves.
fn is_asked_for(values: &serde_json::Map<String, Value>, class: &str) -> bool {
    fn says(value: &Value, class: &str) -> bool {
        match value {
            Value::String(text) => text == class,
            Value::Array(items) => items.iter().any(|item| says(item, class)),
            Value::Object(fields) => fields.values().any(|field| says(field, class)),
            _ => false,
        }
    }
    values.values().any(|value| says(value, class))
}

impl Classes {
    fn of(found: &[PartialObjectMeta<StorageClass>]) -> Self {
        let is_default = |found: &&PartialObjectMeta<StorageClass>| {
            let annotations = found.metadata.annotations.iter().flatten();
            annotations
                .into_iter()
                .any(|(name, value)| name == IS_DEFAULT && value == "true")
        };
        let name = |found: &PartialObjectMeta<StorageClass>| found.metadata.name.clone().unwrap_or_default();
        Self {
            names: found.iter().map(name).collect(),
            default: found.iter().find(is_default).map(name),
        }
    }

    fn judge(&self, class: &str, is_asked_for: bool) -> Verdict {
        if self.names.iter().any(|name| name == class) {
            return Verdict::Keep;
        }
        match &self.default {
            Some(default) if class == SHARED_FILES && !is_asked_for => Verdict::Default(default.clone()),
            _ => Verdict::Missing,
        }
    }

    fn missing(&self, claim: &str, class: &str) -> String {
        let name = |name: &String| match &self.default {
            Some(default) if default == name => format!("`{name}` (default)"),
            _ => format!("`{name}`"),
        };
        let there_are = match self.names.as_slice() {
            [] => "this cluster has no storage class".to_owned(),
            names => format!(
                "this cluster has {}",
                names.iter().map(name).collect::<Vec<_>>().join(", ")
            ),
        };
        let first = self
            .default
            .as_ref()
            .map(|default| format!("--storage-class {default} "))
            .unwrap_or_default();
        format!(
            "claim {claim} asks for storage class `{class}`, which does not exist; {there_are}; name another one in \
             the values or the template, or make this one (embedded cluster: `trainyard up {first}--storage-class \
             {class}`)"
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn classes(names: &[&str], default: Option<&str>) -> Classes {
        Classes {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            default: default.map(str::to_owned),
        }
    }

    #[test]
    fn the_default_class_takes_the_place_of_shared_files_only_where_they_are_missing() {
        let plain = classes(&["standard"], Some("standard"));
        assert_eq!(plain.judge("aws-efs", false), Verdict::Default("standard".into()));
        assert_eq!(plain.judge("aws-efs", true), Verdict::Missing);
        assert_eq!(plain.judge("fast", false), Verdict::Missing);
        assert_eq!(plain.judge("standard", true), Verdict::Keep);
        let amazon = classes(&["gp2", "aws-efs"], Some("gp2"));
        assert_eq!(amazon.judge("aws-efs", false), Verdict::Keep);
        assert_eq!(classes(&["gp2"], None).judge("aws-efs", false), Verdict::Missing);
    }

    #[test]
    fn what_the_values_name_was_asked_for() {
        let values = json!({"resources": {"storageClass": "aws-efs"}, "list": [{"a": "b"}]});
        let values = values.as_object().unwrap();
        assert!(is_asked_for(values, "aws-efs") && is_asked_for(values, "b"));
        assert!(!is_asked_for(values, "standard"));
    }

    #[test]
    fn a_missing_class_is_named_with_those_there_are() {
        let message = classes(&["fast", "standard"], Some("standard")).missing("t", "nope");
        assert!(
            message.starts_with(
                "claim t asks for storage class `nope`, which does not exist; this cluster has `fast`, `standard` (default); "
            ),
            "{message}"
        );
    }
}
