//! A training job of any kind: as it is stored, and as it is remembered while nobody looks at it.

use std::sync::{Arc, OnceLock};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::core::ApiResource;
use reconcile::{Cached, Controller, Identity};
use resources::Kind;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A job as it is remembered: text, which takes a fraction of the memory of a tree, and of most jobs
/// nothing is wanted for hours.
#[derive(Clone, Debug)]
pub(crate) struct KeptJob {
    identity: Identity,
    text: Box<str>,
}

/// A job that is being looked at.
#[derive(Clone, Debug)]
pub(crate) struct StoredJob {
    kept: Arc<KeptJob>,
    /// The object, without the fields each of its writers owns.
    pub object: Value,
    reference: OnceLock<Arc<ObjectReference>>,
}

/// Where objects of a kind are found: in the version they are stored in.
pub(crate) fn resource(kind: &Kind) -> ApiResource {
    let version = kind.versions.first().copied().unwrap_or_default();
    ApiResource {
        group: kind.group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{}/{version}", kind.group),
        kind: kind.kind.to_owned(),
        plural: kind.plural.to_owned(),
    }
}

impl StoredJob {
    pub(crate) fn of(kept: Arc<KeptJob>) -> Self {
        // What was written by us can be read.
        let object = serde_json::from_str(&kept.text).unwrap_or_default();
        Self {
            kept,
            object,
            reference: OnceLock::new(),
        }
    }

    pub(crate) fn namespace(&self) -> &str {
        self.kept.namespace()
    }

    pub(crate) fn name(&self) -> &str {
        self.kept.name()
    }

    pub(crate) fn uid(&self) -> &str {
        self.kept.uid()
    }

    /// What events about it refer to; there is one of each child, and they share it.
    pub(crate) fn reference(&self, resource: &ApiResource) -> Arc<ObjectReference> {
        self.reference.get_or_init(|| self.refer(resource)).clone()
    }

    fn refer(&self, resource: &ApiResource) -> Arc<ObjectReference> {
        let version = self.object["metadata"]["resourceVersion"].as_str();
        Arc::new(ObjectReference {
            api_version: Some(resource.api_version.clone()),
            kind: Some(resource.kind.clone()),
            namespace: Some(self.namespace().to_owned()),
            name: Some(self.name().to_owned()),
            uid: Some(self.uid().to_owned()),
            resource_version: version.map(str::to_owned),
            field_path: None,
        })
    }
}

impl<'de> Deserialize<'de> for KeptJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        let writers = object["metadata"]["managedFields"].as_array_mut();
        for writer in writers.into_iter().flatten().filter_map(Value::as_object_mut) {
            writer.remove("fieldsV1");
        }
        Ok(Self {
            identity: Identity::read(&object["metadata"]),
            text: object.to_string().into_boxed_str(),
        })
    }
}

impl Cached for KeptJob {
    fn namespace(&self) -> &str {
        self.identity.namespace()
    }

    fn name(&self) -> &str {
        self.identity.name()
    }

    fn uid(&self) -> &str {
        self.identity.uid()
    }

    fn version(&self) -> u64 {
        self.identity.version()
    }

    fn controller(&self) -> Option<Controller<'_>> {
        self.identity.controller()
    }

    fn trim(&mut self) {}
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_wrote_a_job_in_which_version_is_kept_and_what_they_own_is_not() {
        let kept: KeptJob = serde_json::from_value(json!({
            "metadata": {"name": "j", "managedFields": [{"apiVersion": "kubeflow.org/v1", "fieldsV1": {"f:spec": {}}}]},
        }))
        .unwrap();
        let stored = StoredJob::of(Arc::new(kept));
        assert_eq!(
            stored.object["metadata"]["managedFields"],
            json!([{"apiVersion": "kubeflow.org/v1"}])
        );
    }
}
