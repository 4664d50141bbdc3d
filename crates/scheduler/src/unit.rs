//! What is placed as one: a pod, or a group of pods that only make sense together.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use k8s_openapi::{api::core::v1::Pod, jiff::Timestamp};

use crate::demand::Demand;

/// Our own operator's mark: the group, and how many of its pods must run together.
pub const GROUP: &str = "trainyard.dev/pod-group";
pub const GROUP_SIZE: &str = "trainyard.dev/pod-group-size";
const SCHEDULER_PLUGINS_GROUP: &str = "scheduling.x-k8s.io/pod-group";
const VOLCANO_GROUP: &str = "scheduling.k8s.io/group-name";

/// Which sort of group a pod names, and so where its size is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Size on the pods themselves; those made before the group grew have another than those made after.
    Own { name: String },
    /// `scheduling.x-k8s.io/v1alpha1` PodGroup.
    SchedulerPlugins { name: String },
    /// `scheduling.volcano.sh/v1beta1` PodGroup.
    Volcano { name: String },
}

impl Group {
    pub fn of(pod: &Pod) -> Option<Self> {
        if let Some(name) = own_mark(pod, GROUP) {
            return Some(Self::Own { name });
        }
        let meta = &pod.metadata;
        if let Some(name) = read(meta.labels.as_ref(), SCHEDULER_PLUGINS_GROUP) {
            return Some(Self::SchedulerPlugins { name });
        }
        read(meta.annotations.as_ref(), VOLCANO_GROUP).map(|name| Self::Volcano { name })
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Own { name } | Self::SchedulerPlugins { name } | Self::Volcano { name } => name,
        }
    }
}

/// How many pods of its group must run together, where the pod says so itself.
pub(crate) fn own_size(pod: &Pod) -> Option<usize> {
    own_mark(pod, GROUP_SIZE)?.parse().ok()
}

fn own_mark(pod: &Pod, key: &str) -> Option<String> {
    let meta = &pod.metadata;
    read(meta.labels.as_ref(), key).or_else(|| read(meta.annotations.as_ref(), key))
}

fn read(map: Option<&BTreeMap<String, String>>, key: &str) -> Option<String> {
    map?.get(key).cloned()
}

#[derive(Clone, Debug)]
pub struct Unit {
    pub namespace: String,
    /// The group's name, or the pod's.
    pub name: String,
    /// Pods without a place.
    pub members: Vec<Arc<Demand>>,
    /// Members that have a place already.
    pub placed: usize,
    /// How many must have a place for any to get one.
    pub size: usize,
    /// Why that is not known, so that none gets one.
    pub obstacle: Option<String>,
}

impl Unit {
    pub fn pod(demand: Arc<Demand>) -> Self {
        Self {
            namespace: demand.namespace().to_owned(),
            name: demand.name().to_owned(),
            members: vec![demand],
            placed: 0,
            size: 1,
            obstacle: None,
        }
    }

    pub fn is_group(&self) -> bool {
        self.size > 1 || self.members.len() > 1
    }

    pub fn priority(&self) -> i32 {
        self.members
            .iter()
            .map(|member| member.priority)
            .max()
            .unwrap_or_default()
    }

    /// Nobody who is more important than any of them leaves for a group.
    pub fn least_priority(&self) -> i32 {
        let priorities = self.members.iter().map(|member| member.priority);
        priorities.min().unwrap_or_default()
    }

    /// How many of the members must get a place for any to get one.
    pub fn missing(&self) -> usize {
        self.size.saturating_sub(self.placed)
    }

    /// Since when the first of them waits.
    pub fn since(&self) -> Option<Timestamp> {
        let created = self
            .members
            .iter()
            .filter_map(|member| member.pod.metadata.creation_timestamp.as_ref());
        created.map(|time| time.0).min()
    }

    /// The important first, then those who came first.
    pub fn order(&self) -> impl Ord + use<> {
        (
            Reverse(self.priority()),
            self.since(),
            self.namespace.clone(),
            self.name.clone(),
        )
    }

    /// Devices the unit asks for.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        let requests = self.members.iter().flat_map(|member| member.requests.iter());
        requests
            .filter(|(name, amount)| name.contains('/') && *amount > 0)
            .map(|(name, _)| name)
    }
}
