//! Children as the operator remembers them: who they belong to, and of the rest what decisions need.

use k8s_openapi::api::{
    autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::Job,
    core::v1::{ConfigMap, Pod, Secret, Service, ServiceAccount},
    rbac::v1::{Role, RoleBinding},
};
use kube::{Resource, core::NamespaceResourceScope};
use reconcile::{Cached, Controller, Identity, Informer};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use training::{BatchJob, Existing};

use crate::world::World;

/// A kind of children.
pub(crate) trait Watched:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Send + Sync + 'static
{
    /// What is kept of an object.
    type Form: Form;

    fn read(object: &Value) -> Self::Form;

    fn informer(world: &World) -> &Informer<Seen<Self>>;
}

/// What decisions need to know of an object.
pub(crate) trait Form: Clone + Send + Sync + 'static {
    /// Says which object it is and what controls it.
    fn identify(&mut self, name: String, uid: String, controller: Option<String>);
}

/// A child that is there.
#[derive(Clone)]
pub(crate) struct Seen<K: Watched> {
    identity: Identity,
    /// Without what the identity says.
    form: K::Form,
}

impl<K: Watched> Seen<K> {
    pub(crate) fn form(&self) -> K::Form {
        let mut form = self.form.clone();
        let controller = self.identity.controller();
        form.identify(
            self.identity.name().to_owned(),
            self.identity.uid().to_owned(),
            controller.map(|controller| controller.uid.to_owned()),
        );
        form
    }
}

impl<K: Watched> std::fmt::Debug for Seen<K> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", K::kind(&()), self.identity.name())
    }
}

impl<'de, K: Watched> Deserialize<'de> for Seen<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let mut form = K::read(&object);
        form.identify(String::new(), String::new(), None);
        Ok(Self {
            identity: Identity::read(&object["metadata"]),
            form,
        })
    }
}

impl<K: Watched> Cached for Seen<K> {
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

impl Form for training::Pod {
    fn identify(&mut self, name: String, uid: String, controller: Option<String>) {
        (self.name, self.uid, self.controller) = (name, uid, controller);
    }
}

impl Form for BatchJob {
    fn identify(&mut self, name: String, uid: String, controller: Option<String>) {
        (self.name, self.uid, self.controller) = (name, uid, controller);
    }
}

impl Form for Existing {
    fn identify(&mut self, name: String, _uid: String, controller: Option<String>) {
        (self.name, self.controller) = (name, controller);
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
