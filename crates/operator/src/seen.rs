//! Children as the operator remembers them: who they belong to, and of the rest what decisions need.

mod forms;
mod reading;

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

pub(crate) use self::forms::Form;
use self::reading::Reading;
use crate::world::World;

/// A kind of children.
pub(crate) trait Watched:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Send + Sync + 'static
{
    /// What decisions need of an object.
    type Form: Form;

    /// The fields that are passed over when an object is read. Those of most are more than all the rest.
    const UNREAD: &'static [&'static str];

    /// Whether the metadata of an object that was just made tells all that decisions need of it.
    const IS_TOLD_BY_METADATA: bool = false;

    fn read(object: &Value) -> Self::Form;

    fn informer(world: &World) -> &Informer<Seen<Self>>;
}

/// A child that is there.
#[derive(Clone)]
pub(crate) struct Seen<K: Watched> {
    identity: Identity,
    kept: <K::Form as Form>::Kept,
}

impl<K: Watched> Seen<K> {
    pub(crate) fn form(&self) -> K::Form {
        K::Form::restore(&self.kept, &K::kind(&()), &self.identity)
    }
}

impl<K: Watched> std::fmt::Debug for Seen<K> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", K::kind(&()), self.identity.name())
    }
}

impl<'de, K: Watched> Deserialize<'de> for Seen<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Reading::without(K::UNREAD).object(deserializer)?;
        Ok(Self {
            identity: Identity::read(&object["metadata"]),
            kept: K::read(&object).keep(),
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

impl Watched for Pod {
    type Form = training::Pod;

    const UNREAD: &'static [&'static str] = &["spec"];

    // It waits.
    const IS_TOLD_BY_METADATA: bool = true;

    fn read(object: &Value) -> Self::Form {
        training::Pod::read(object)
    }

    fn informer(world: &World) -> &Informer<Seen<Self>> {
        &world.pods
    }
}

impl Watched for Job {
    type Form = BatchJob;

    const UNREAD: &'static [&'static str] = &[];

    fn read(object: &Value) -> Self::Form {
        BatchJob::read(object)
    }

    fn informer(world: &World) -> &Informer<Seen<Self>> {
        &world.jobs
    }
}

macro_rules! supports {
    ($($kind:ident in $field:ident without $unread:expr, told by $told:ident),*) => {
        $(impl Watched for $kind {
            type Form = Existing;

            const UNREAD: &'static [&'static str] = &$unread;

            const IS_TOLD_BY_METADATA: bool = supports!(@$told);

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
    (@metadata) => { true };
    (@content) => { false };
}

supports! {
    ConfigMap in config_maps without ["binaryData"], told by content,
    HorizontalPodAutoscaler in autoscalers without ["status"], told by content,
    Role in roles without [], told by content,
    RoleBinding in role_bindings without ["subjects"], told by metadata,
    Secret in secrets without ["data"], told by metadata,
    Service in services without ["spec", "status"], told by metadata,
    ServiceAccount in accounts without ["secrets"], told by metadata
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use training::Phase;

    use super::*;

    fn seen<K: Watched>(object: &Value) -> K::Form {
        let text = object.to_string();
        serde_json::from_str::<Seen<K>>(&text).unwrap().form()
    }

    fn owned() -> Value {
        json!({
            "namespace": "n", "name": "j-worker-0", "uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z",
            "managedFields": [{"manager": "m"}],
            "ownerReferences": [{"kind": "PyTorchJob", "name": "j", "uid": "v", "controller": true}],
        })
    }

    #[test]
    fn a_pod_of_which_little_is_to_be_told_is_remembered_as_it_was() {
        let pod = json!({"metadata": owned(), "spec": {"containers": []}, "status": {"phase": "Running"}});
        let form = seen::<Pod>(&pod);
        assert_eq!(form, training::Pod::read(&pod));
        assert_eq!(form.phase, Phase::Running);
    }

    #[test]
    fn so_is_one_of_which_there_is_much() {
        let pod = json!({"metadata": owned(), "status": {
            "phase": "Failed", "reason": "Evicted", "message": "no room",
            "containerStatuses": [{"name": "c", "restartCount": 2, "state": {"terminated": {"exitCode": 137}}}],
        }});
        assert_eq!(seen::<Pod>(&pod), training::Pod::read(&pod));
    }

    #[test]
    fn what_a_support_holds_is_remembered_where_it_is_compared() {
        let map = json!({"metadata": owned(), "data": {"hostfile": "a\nb\n"}});
        assert_eq!(seen::<ConfigMap>(&map), Existing::read("ConfigMap", &map));
        let service = json!({"metadata": owned(), "spec": {"clusterIP": "None"}});
        assert_eq!(seen::<Service>(&service), Existing::read("Service", &service));
    }
}
