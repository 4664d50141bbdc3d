//! PodGroups: what gang schedulers of other clusters are told of a job by.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Client, Resource, core::NamespaceResourceScope};
use reconcile::{Informer, definitions};
use serde_json::Value;
use training::{Existing, Gang};

use crate::{
    seen::{Seen, Watched},
    world::World,
};

/// Where a gang scheduler's PodGroups are found.
pub(crate) struct Place {
    pub group: &'static str,
    pub version: &'static str,
}

pub(crate) static VOLCANO: Place = Place {
    group: "scheduling.volcano.sh",
    version: "v1beta1",
};
pub(crate) static SCHEDULER_PLUGINS: Place = Place {
    group: "scheduling.x-k8s.io",
    version: "v1alpha1",
};

/// The gang scheduler a cluster has, by the kinds it serves. A scheduler that has the coscheduling plugin
/// may have any name, so that pods stay with theirs.
pub(crate) async fn detect(client: &Client) -> kube::Result<Gang> {
    if is_served(client, &VOLCANO).await? {
        return Ok(Gang::Volcano);
    }
    if is_served(client, &SCHEDULER_PLUGINS).await? {
        let scheduler = String::new();
        return Ok(Gang::SchedulerPlugins { scheduler });
    }
    Ok(Gang::None)
}

/// Whether the cluster has the kind by which this scheduler is told of jobs.
pub(crate) async fn is_known(client: &Client, gang: &Gang) -> kube::Result<bool> {
    match gang {
        Gang::None | Gang::Embedded => Ok(true),
        Gang::Volcano => is_served(client, &VOLCANO).await,
        Gang::SchedulerPlugins { .. } => is_served(client, &SCHEDULER_PLUGINS).await,
    }
}

async fn is_served(client: &Client, place: &Place) -> kube::Result<bool> {
    definitions::is_served(client, place.group, place.version, "podgroups").await
}

macro_rules! pod_groups {
    ($($name:ident of $place:ident in $field:ident),*) => {
        $(
            #[derive(Clone)]
            pub(crate) struct $name {
                metadata: ObjectMeta,
            }

            impl Resource for $name {
                type DynamicType = ();
                type Scope = NamespaceResourceScope;

                fn kind((): &()) -> Cow<'_, str> {
                    "PodGroup".into()
                }

                fn group((): &()) -> Cow<'_, str> {
                    $place.group.into()
                }

                fn version((): &()) -> Cow<'_, str> {
                    $place.version.into()
                }

                fn plural((): &()) -> Cow<'_, str> {
                    "podgroups".into()
                }

                fn meta(&self) -> &ObjectMeta {
                    &self.metadata
                }

                fn meta_mut(&mut self) -> &mut ObjectMeta {
                    &mut self.metadata
                }
            }

            impl Watched for $name {
                type Form = Existing;

                const UNREAD: &'static [&'static str] = &[];

                fn read(object: &Value) -> Existing {
                    Existing::read("PodGroup", object)
                }

                fn informer(world: &World) -> &Informer<Seen<Self>> {
                    &world.$field
                }
            }
        )*
    };
}

pod_groups! {
    VolcanoGroup of VOLCANO in volcano_groups,
    PluginsGroup of SCHEDULER_PLUGINS in plugins_groups
}
