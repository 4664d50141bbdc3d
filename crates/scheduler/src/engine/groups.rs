//! How many members the groups need whose size stands in an object of their own.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind},
};

use crate::{
    demand::Demand,
    unit::{Group, own_size},
};

/// Sizes hardly ever change; they are asked for again after this time.
const KEPT: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct Sizes {
    known: HashMap<(String, Group), (Instant, usize)>,
}

impl Sizes {
    /// The size of a group of which these wait.
    pub(super) fn of(&self, key: &(String, Group), members: &[Arc<Demand>]) -> usize {
        // Of those that differ, the newest know best.
        let age = |member: &Arc<Demand>| member.pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let newest = members.iter().map(age).max();
        let own = || {
            let newest = members.iter().filter(|member| Some(age(member)) == newest);
            newest.filter_map(|member| own_size(&member.pod)).max()
        };
        let size = match key.1 {
            Group::Own { .. } => own(),
            _ => self.known.get(key).map(|(_, size)| *size),
        };
        size.unwrap_or(1)
    }

    pub(super) async fn learn(&mut self, client: &Client, wanted: BTreeSet<(String, Group)>) {
        self.known.retain(|key, _| wanted.contains(key));
        for (namespace, group) in wanted {
            let key = (namespace, group);
            let is_fresh = self.known.get(&key).is_some_and(|(at, _)| at.elapsed() < KEPT);
            if is_fresh || matches!(key.1, Group::Own { .. }) {
                continue;
            }
            // Without its object nothing is known of the group's size: its pods go one by one.
            let size = ask(client, &key.0, &key.1).await.unwrap_or(1);
            self.known.insert(key, (Instant::now(), size));
        }
    }
}

async fn ask(client: &Client, namespace: &str, group: &Group) -> Option<usize> {
    let kind = match group {
        Group::Own { .. } => return None,
        Group::SchedulerPlugins { .. } => {
            GroupVersionKind::gvk("scheduling.x-k8s.io", "v1alpha1", "PodGroup")
        }
        Group::Volcano { .. } => GroupVersionKind::gvk("scheduling.volcano.sh", "v1beta1", "PodGroup"),
    };
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&kind));
    let object = api.get_opt(group.name()).await.ok()??;
    let size = object.data["spec"]["minMember"].as_u64()?;
    Some(usize::try_from(size).unwrap_or(usize::MAX))
}
