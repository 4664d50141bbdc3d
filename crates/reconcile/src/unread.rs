//! Objects as the server sent them. Everything that lists, watches and starts again is made for this one
//! type: the same made for each of thirty kinds would be a tenth of the program.

use std::{borrow::Cow, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Client, Resource, ResourceExt as _,
    core::{ApiResource, DynamicResourceScope},
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;

/// The text of an object, and of its metadata what a watch goes by.
#[derive(Clone)]
pub struct Unread {
    metadata: ObjectMeta,
    text: Box<RawValue>,
}

impl Unread {
    /// The objects of a kind in one namespace, or in all.
    pub fn of<K: Resource>(client: Client, kind: &K::DynamicType, namespace: Option<&str>) -> Api<Self> {
        let resource = ApiResource::erase::<K>(kind);
        match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        }
    }

    /// The object itself. One that cannot be read is none: the others of its kind must not wait for it.
    pub(crate) fn read<K: DeserializeOwned>(&self) -> Option<K> {
        // Where, but not what: the words of the error would show a value, which may be a secret.
        let unreadable = |error: &serde_json::Error| {
            tracing::error!(
                namespace = self.namespace(),
                name = self.name_any(),
                line = error.line(),
                column = error.column(),
                "an object does not fit its kind and is passed over"
            );
        };
        serde_json::from_str(self.text.get()).inspect_err(unreadable).ok()
    }
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    metadata: HeadMetadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadMetadata {
    name: Option<String>,
    namespace: Option<String>,
    resource_version: Option<String>,
}

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let head: Head = serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        let metadata = ObjectMeta {
            name: head.metadata.name,
            namespace: head.metadata.namespace,
            resource_version: head.metadata.resource_version,
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, text })
    }
}

/// Without the text: it may be a Secret.
impl fmt::Debug for Unread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Unread")
            .field("namespace", &self.metadata.namespace)
            .field("name", &self.metadata.name)
            .finish_non_exhaustive()
    }
}

impl Resource for Unread {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Pod, Secret};
    use kube::core::{ObjectList, WatchEvent};

    use super::*;

    const POD: &str = r#"{"kind": "Pod", "metadata": {"name": "p", "namespace": "n", "resourceVersion": "7",
        "labels": {"a": "b"}}, "spec": {"containers": [], "nodeName": "here"}}"#;

    #[test]
    fn an_object_of_a_watch_is_kept_as_it_came() {
        let line = format!(r#"{{"type": "ADDED", "object": {POD}}}"#);
        let WatchEvent::Added(unread) = serde_json::from_str::<WatchEvent<Unread>>(&line).unwrap() else {
            panic!("it was added");
        };
        assert_eq!(unread.resource_version().as_deref(), Some("7"));
        let pod: Pod = unread.read().unwrap();
        assert_eq!(pod.spec.unwrap().node_name.as_deref(), Some("here"));
        assert_eq!(pod.metadata.labels.unwrap()["a"], "b");
    }

    #[test]
    fn so_are_those_of_a_list() {
        let text = format!(
            r#"{{"kind": "PodList", "apiVersion": "v1", "metadata": {{}}, "items": [{POD}, {POD}]}}"#
        );
        let list: ObjectList<Unread> = serde_json::from_str(&text).unwrap();
        let names: Vec<Option<Pod>> = list.items.iter().map(Unread::read).collect();
        assert!(
            names
                .iter()
                .all(|pod| pod.as_ref().is_some_and(|pod| pod.name_any() == "p"))
        );
        assert_eq!(names.len(), 2);
    }

    #[test]
    fn one_that_does_not_fit_its_kind_is_none() {
        let unread: Unread = serde_json::from_str(r#"{"metadata": {"name": "p"}, "spec": 3}"#).unwrap();
        assert!(unread.read::<Pod>().is_none());
    }

    #[test]
    fn what_an_object_holds_is_not_shown_by_accident() {
        let unread: Unread =
            serde_json::from_str(r#"{"metadata": {"name": "p"}, "stringData": {"key": "hunter2"}}"#).unwrap();
        assert!(unread.read::<Secret>().is_some());
        assert!(!format!("{unread:?}").contains("hunter2"));
    }
}
