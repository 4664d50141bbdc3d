//! Groups of nodes: those that are declared, and what there is of each.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use reconcile::{Cached, Closing, Controller, Identity, Informer, Key, Next, Queue, requests, run};
use resources::tasks::{NODE_GROUP, NodeGroupSpec, NodeGroupStatus};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    places::{self, folder},
    plan::NodeGroup,
    world::World,
};

/// What changes together is told together.
const GATHERING: Duration = Duration::from_secs(1);

/// A declared group.
#[derive(Clone, Debug)]
pub(crate) struct KeptGroup {
    identity: Identity,
    spec: NodeGroupSpec,
    status: NodeGroupStatus,
}

impl<'de> Deserialize<'de> for KeptGroup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let failed = serde::de::Error::custom::<serde_json::Error>;
        let status = &object["status"];
        Ok(Self {
            identity: Identity::read(&object["metadata"]),
            spec: NodeGroupSpec::deserialize(&object["spec"]).map_err(failed)?,
            status: if status.is_null() {
                NodeGroupStatus::default()
            } else {
                NodeGroupStatus::deserialize(status).map_err(failed)?
            },
        })
    }
}

/// A node, as far as groups go by it.
#[derive(Clone, Debug)]
pub(crate) struct SeenNode {
    identity: Identity,
    labels: BTreeMap<String, String>,
    is_ready: bool,
    devices: BTreeMap<String, i64>,
}

impl<'de> Deserialize<'de> for SeenNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
        let conditions = object["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let allocatable = object["status"]["allocatable"].as_object().into_iter().flatten();
        let device = |(name, amount): (&String, &Value)| {
            let amount = amount.as_i64().or_else(|| amount.as_str()?.parse().ok())?;
            name.contains('/').then(|| (name.clone(), amount))
        };
        Ok(Self {
            identity: Identity::read(&object["metadata"]),
            labels: labels
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
            is_ready: conditions
                .any(|condition| condition["type"] == "Ready" && condition["status"] == "True"),
            devices: allocatable.filter_map(device).collect(),
        })
    }
}

macro_rules! cached {
    ($type:ty) => {
        impl Cached for $type {
            fn namespace(&self) -> &str {
                ""
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
                None
            }

            fn trim(&mut self) {}
        }
    };
}

cached!(KeptGroup);
cached!(SeenNode);

/// All groups and what there is of them, counted anew when something has changed.
#[derive(Clone)]
pub(crate) struct Groups {
    groups: Informer<KeptGroup>,
    nodes: Informer<SeenNode>,
    counted: Arc<Mutex<Option<Vec<NodeGroup>>>>,
}

impl Groups {
    pub(crate) fn new(world: &World) -> Self {
        let groups = Self {
            groups: world.groups.clone(),
            nodes: world.nodes.clone(),
            counted: Arc::default(),
        };
        let stale = groups.counted.clone();
        world.groups.on_change(move |_| *stale.lock() = None);
        let stale = groups.counted.clone();
        world.nodes.on_change(move |_| *stale.lock() = None);
        groups
    }

    pub(crate) fn all(&self) -> Vec<NodeGroup> {
        if let Some(counted) = self.counted.lock().clone() {
            return counted;
        }
        let nodes = self.nodes.all();
        let counted: Vec<NodeGroup> = self
            .groups
            .all()
            .iter()
            .map(|group| count(group, &nodes))
            .collect();
        *self.counted.lock() = Some(counted.clone());
        counted
    }
}

fn count(group: &KeptGroup, nodes: &[Arc<SeenNode>]) -> NodeGroup {
    let selector = &group.spec.selector;
    let is_of_it = |node: &&Arc<SeenNode>| {
        !selector.is_empty()
            && selector
                .iter()
                .all(|(name, value)| node.labels.get(name) == Some(value))
    };
    let mut counted = NodeGroup {
        name: group.name().to_owned(),
        spec: group.spec.clone(),
        ..NodeGroup::default()
    };
    for node in nodes.iter().filter(is_of_it) {
        counted.nodes += 1;
        counted.ready += i32::from(node.is_ready);
        for (device, amount) in &node.devices {
            let most = counted.devices.entry(device.clone()).or_default();
            *most = (*most).max(*amount);
        }
    }
    counted
}

/// Keeps the status of groups as it is.
pub(crate) fn start(world: Arc<World>, groups: Groups, closing: Closing, tasks: &mut JoinSet<()>) {
    tasks.spawn(async move {
        tokio::select! {
            () = world.synced() => {}
            () = closing.heard() => return,
        }
        let queue: Queue<Key> = Queue::new();
        wake(&queue, &world);
        let working = {
            let world = world.clone();
            run("node-group", queue.clone(), 1, move |key| {
                let (world, groups) = (world.clone(), groups.clone());
                async move { report(&world, &groups, &key).await }
            })
        };
        let closed = async {
            closing.heard().await;
            queue.close();
        };
        tokio::join!(working, closed);
    });
}

/// Nodes and tasks wake the groups they were and are of.
fn wake(queue: &Queue<Key>, world: &World) {
    let woken = queue.clone();
    world.groups.on_change(move |change| {
        if let Some(group) = change.after {
            woken.add_after(Key::of(&**group), GATHERING);
        }
    });
    let (woken, groups) = (queue.clone(), world.groups.clone());
    world.nodes.on_change(move |change| {
        let of = |node: Option<&Arc<SeenNode>>| node.map(|node| (node.labels.clone(), node.is_ready));
        // The heartbeats of nodes change nothing here.
        if of(change.before) != of(change.after) {
            for group in groups.all() {
                woken.add_after(Key::of(&*group), GATHERING);
            }
        }
    });
    let woken = queue.clone();
    world.tasks.on_change(move |change| {
        let of = |task: Option<&Arc<crate::kept::KeptTask>>| task.and_then(|task| task.waits_for.clone());
        let (before, after) = (of(change.before), of(change.after));
        if before != after {
            for name in before.into_iter().chain(after) {
                woken.add_after(Key::new("", &name), GATHERING);
            }
        }
    });
}

async fn report(world: &World, groups: &Groups, key: &Key) -> kube::Result<Next> {
    let Some(kept) = world.groups.get(key) else {
        return Ok(Next::Wait);
    };
    let Some(counted) = groups.all().into_iter().find(|group| *group.name == *key.name) else {
        return Ok(Next::Wait);
    };
    let mut waiting: HashMap<Box<str>, i32> = HashMap::new();
    for task in world.tasks.all() {
        if let Some(group) = &task.waits_for {
            *waiting.entry(group.clone()).or_default() += 1;
        }
    }
    let status = NodeGroupStatus {
        nodes: counted.nodes,
        ready_nodes: counted.ready,
        waiting_tasks: waiting.get(&*key.name).copied().unwrap_or(0),
    };
    if status == kept.status {
        return Ok(Next::Wait);
    }
    let folder = format!("{}/{}", folder(&places::of(&NODE_GROUP), None), key.name);
    let patch = json!({"status": status});
    match requests::merge::<KeptGroup>(&world.client, &folder, "status", &patch).await {
        Ok(written) => world.groups.wrote(written),
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => return Err(error),
    }
    Ok(Next::Wait)
}

/// The groups that every cluster begins with, by the labels of the first users' machines: `ml` has processors, `dl`
/// has GPUs.
pub(crate) fn defaults() -> Vec<Value> {
    let group = |name: &str, label: &str, description: &str| {
        json!({
            "apiVersion": NODE_GROUP.api_version(),
            "kind": NODE_GROUP.kind,
            "metadata": {"name": name},
            "spec": {"description": description, "selector": {label: "true"}},
        })
    };
    vec![
        group("ml", LABEL_ML, "nodes for training on processors"),
        group("dl", LABEL_DL, "nodes for training on GPUs"),
    ]
}

/// What the nodes of the default groups are found by.
pub const LABEL_ML: &str = "kops.k8s.io/ml-instance";
pub const LABEL_DL: &str = "kops.k8s.io/dl-instance";

/// Makes the default groups where there are none of these names. What somebody made of them stays.
pub(crate) async fn install(client: &kube::Client) -> kube::Result<()> {
    let folder = folder(&places::of(&NODE_GROUP), None);
    for group in defaults() {
        match requests::create::<Value>(client, &folder, &group).await {
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
            made => drop(made?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_counted_by_their_labels() {
        let group: KeptGroup = serde_json::from_value(defaults().remove(1)).unwrap();
        let node = |labels: Value, ready: &str, gpus: &str| {
            let node = json!({
                "metadata": {"name": "n", "labels": labels},
                "status": {
                    "conditions": [{"type": "Ready", "status": ready}],
                    "allocatable": {"cpu": "4", "nvidia.com/gpu": gpus},
                },
            });
            Arc::new(serde_json::from_value::<SeenNode>(node).unwrap())
        };
        let nodes = [
            node(json!({LABEL_DL: "true"}), "True", "2"),
            node(json!({LABEL_DL: "true"}), "False", "4"),
            node(json!({LABEL_ML: "true"}), "True", "8"),
        ];
        let counted = count(&group, &nodes);
        assert_eq!((counted.nodes, counted.ready), (2, 1));
        assert_eq!(counted.devices["nvidia.com/gpu"], 4);
    }
}
