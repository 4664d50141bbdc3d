//! Children as the operator remembers them: who they belong to, and of the rest what decisions need.

use std::borrow::Cow;

use k8s_openapi::{
    api::{
        autoscaling::v2::HorizontalPodAutoscaler,
        batch::v1::Job,
        core::v1::{ConfigMap, Pod, Secret, Service, ServiceAccount},
        rbac::v1::{Role, RoleBinding},
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::{Resource, core::NamespaceResourceScope};
use reconcile::Informer;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use training::{BatchJob, Existing};

use crate::world::World;

/// A kind of children.
pub(crate) trait Watched:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Send + Sync + 'static
{
    /// What is kept of an object.
    type Form: Clone + Send + Sync + 'static;

    fn read(object: &Value) -> Self::Form;

    fn informer(world: &World) -> &Informer<Seen<Self>>;
}

/// A child that is there.
#[derive(Clone)]
pub(crate) struct Seen<K: Watched> {
    metadata: ObjectMeta,
    pub form: K::Form,
}

impl<K: Watched> std::fmt::Debug for Seen<K> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.metadata.name.as_deref().unwrap_or_default();
        write!(formatter, "{} {name}", K::kind(&()))
    }
}

impl<'de, K: Watched> Deserialize<'de> for Seen<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        Ok(Self {
            metadata: identity(&object["metadata"]),
            form: K::read(&object),
        })
    }
}

impl<K: Watched> Resource for Seen<K> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Which object it is, and what controls it.
pub(crate) fn identity(meta: &Value) -> ObjectMeta {
    let text = |field: &str| meta[field].as_str().map(str::to_owned);
    let owners = meta["ownerReferences"].as_array().into_iter().flatten();
    let controller = owners
        .filter(|owner| owner["controller"] == true)
        .find_map(|owner| OwnerReference::deserialize(owner).ok());
    ObjectMeta {
        name: text("name"),
        namespace: text("namespace"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        owner_references: controller.map(|controller| vec![controller]),
        ..ObjectMeta::default()
    }
}

impl Watched for Pod {
    type Form = training::Pod;

    fn read(object: &Value) -> Self::Form {
        training::Pod::read(object)
    }

    fn informer(world: &World) -> &Informer<Seen<Self>> {
        &world.pods
    }
}

impl Watched for Job {
    type Form = BatchJob;

    fn read(object: &Value) -> Self::Form {
        BatchJob::read(object)
    }

    fn informer(world: &World) -> &Informer<Seen<Self>> {
        &world.jobs
    }
}

macro_rules! supports {
    ($($kind:ident in $field:ident),*) => {
        $(impl Watched for $kind {
            type Form = Existing;

            fn read(object: &Value) -> Self::Form {
                let mut form = Existing::read(stringify!($kind), object);
                // What belongs to nobody is only ever in the way.
                if form.controller.is_none() {
                    form.content = Value::Null;
                }
                form
            }

            fn informer(world: &World) -> &Informer<Seen<Self>> {
                &world.$field
            }
        })*
    };
}

supports! {
    ConfigMap in config_maps,
    HorizontalPodAutoscaler in autoscalers,
    Role in roles,
    RoleBinding in role_bindings,
    Secret in secrets,
    Service in services,
    ServiceAccount in accounts
}
