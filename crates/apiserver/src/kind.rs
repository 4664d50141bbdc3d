//! One resource at one version, as it is served: its names, its verbs, where its objects are stored
//! and what defines them. Built-in kinds and custom resources are rows of the same table.

use std::{borrow::Cow, sync::Arc};

use kinds::{resources::Resource, strategy::Strategy, types::TypeRef};
use serde_json::Value;
use store::Collection;

use crate::{custom::CustomVersion, error::Qualified};

pub struct Kind {
    pub group: Cow<'static, str>,
    pub version: Cow<'static, str>,
    /// `v1` or `apps/v1`, as objects carry it.
    pub api_version: Cow<'static, str>,
    pub kind: Cow<'static, str>,
    pub list_kind: String,
    pub plural: Cow<'static, str>,
    pub singular: Cow<'static, str>,
    pub short_names: Vec<Cow<'static, str>>,
    pub categories: Vec<Cow<'static, str>>,
    pub namespaced: bool,
    pub verbs: Vec<&'static str>,
    pub subresources: Vec<Subresource>,
    pub collection: Collection,
    pub definition: Definition,
    /// The bytes with which a stored object of this version begins.
    pub prefix: String,
    /// An object of this kind with nothing set, as the server writes it.
    pub blank: Value,
}

pub struct Subresource {
    pub name: &'static str,
    pub group: &'static str,
    pub version: &'static str,
    pub kind: Cow<'static, str>,
    pub verbs: &'static [&'static str],
}

pub enum Definition {
    BuiltIn(BuiltIn),
    Custom(Arc<CustomVersion>),
}

/// What makes a built-in kind: its type, its rules and, where it is stored in another version or
/// group than it is served in, the way there and back.
pub struct BuiltIn {
    pub resource: &'static Resource,
    pub shape: TypeRef,
    pub strategy: &'static Strategy,
    pub conversion: Option<Conversion>,
}

/// How a served version differs from the stored one.
#[derive(Clone, Copy)]
pub struct Conversion {
    pub to_stored: fn(&mut Value),
    pub from_stored: fn(&mut Value),
}

impl BuiltIn {
    /// Brings an object of this version into the form the store keeps.
    pub(crate) fn store(&self, object: &mut Value) {
        if let Some(conversion) = self.conversion {
            (conversion.to_stored)(object);
        }
    }

    /// Brings a stored object into the form of this version.
    pub(crate) fn show(&self, object: &mut Value) {
        if let Some(conversion) = self.conversion {
            (conversion.from_stored)(object);
        }
    }
}

impl Kind {
    /// The name errors use: `deployments.apps`.
    pub fn qualified(&self) -> Qualified<'_> {
        Qualified {
            group: &self.group,
            name: &self.plural,
        }
    }

    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources
            .iter()
            .find(|subresource| subresource.name == name)
    }

    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// The Go package of the real server's own form of this kind, as its errors name it.
    pub fn go_package(&self) -> &str {
        match self.group.split('.').next().unwrap_or_default() {
            "" => "core",
            group => group,
        }
    }

    /// The Go type of an object or a list in the real server, as its errors name it.
    pub fn go_type(&self, is_list: bool) -> String {
        let list = if is_list { "List" } else { "" };
        if self.is_custom() {
            format!("*unstructured.Unstructured{list}")
        } else {
            format!("*{}.{}{list}", self.go_package(), self.kind)
        }
    }

    pub fn is_custom(&self) -> bool {
        matches!(self.definition, Definition::Custom(_))
    }

    /// The priority of its group in discovery, from the annotation of its definition.
    pub fn group_priority(&self) -> Option<i64> {
        match &self.definition {
            Definition::BuiltIn(_) => None,
            Definition::Custom(version) => Some(version.group_priority()),
        }
    }

    pub fn built_in(&self) -> Option<&BuiltIn> {
        match &self.definition {
            Definition::BuiltIn(built_in) => Some(built_in),
            Definition::Custom(_) => None,
        }
    }

    pub fn custom(&self) -> Option<&Arc<CustomVersion>> {
        match &self.definition {
            Definition::BuiltIn(_) => None,
            Definition::Custom(custom) => Some(custom),
        }
    }

    /// Whether a PUT may come without a resourceVersion.
    pub fn allows_unconditional_update(&self) -> bool {
        self.built_in()
            .is_some_and(|built_in| built_in.resource.allow_unconditional_update)
    }

    /// Whether a PUT may create the object.
    pub fn allows_create_on_update(&self) -> bool {
        self.built_in()
            .is_some_and(|built_in| built_in.resource.allow_create_on_update)
    }

    /// Whether objects count their changes in `metadata.generation`.
    pub fn tracks_generation(&self) -> bool {
        self.is_custom()
            || kinds::objects::counts_generations(&self.group, &self.kind)
            || GENERATION_KINDS.contains(&(&*self.group, &*self.kind))
    }

    /// Whether a finished deletion answers with the object instead of a Status.
    pub fn returns_deleted_object(&self) -> bool {
        RETURNED_WHEN_DELETED.contains(&(&*self.group, &*self.kind))
    }

    /// Whether the stored bytes of an object are its answer in this version, unchanged.
    pub fn serves_as_stored(&self, stored: &store::Object) -> bool {
        match &self.definition {
            Definition::BuiltIn(built_in) => {
                built_in.conversion.is_none() || stored.json().starts_with(self.prefix.as_bytes())
            }
            Definition::Custom(custom) => {
                stored.json().starts_with(self.prefix.as_bytes()) && custom.is_current(stored.revision())
            }
        }
    }
}

/// Workloads, which keep `metadata.generation`; of other kinds `kinds` knows.
const GENERATION_KINDS: &[(&str, &str)] = &[
    ("", "Pod"),
    ("", "PodTemplate"),
    ("", "ReplicationController"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("batch", "CronJob"),
    ("batch", "Job"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
];

/// Kinds whose storage answers a delete with the object itself.
const RETURNED_WHEN_DELETED: &[(&str, &str)] = &[
    ("", "Namespace"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "PodTemplate"),
    ("", "ResourceQuota"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceClaimTemplate"),
    ("resource.k8s.io", "ResourceSlice"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
];
