//! The loop: keeps the picture of the cluster true, decides, and writes the decisions down.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::{
    api::core::v1::{Binding, Namespace, Node, ObjectReference, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource as _,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
    runtime::watcher,
};
use parking_lot::Mutex;
use reconcile::{Change, Informer, Key, Recorder};
use serde_json::{Value, json};
use tokio::{sync::Notify, task::JoinSet};

use crate::{
    cluster::Cluster,
    cycle::{Decision, decide},
    demand::Demand,
    preemption::Preemption,
    unit::{Group, Unit},
};

/// Pods that name one of these are ours to place. Where we run there is no other scheduler.
const NAMES: [&str; 2] = ["default-scheduler", "volcano"];

/// How soon a pod whose binding was refused is looked at again.
const RETRY: Duration = Duration::from_secs(1);

/// Starts the scheduler. It runs until the tasks are dropped.
pub fn start(client: Client) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let engine = Arc::new(Engine {
        pods: Informer::start(Api::all(client.clone()), watcher::Config::default(), &mut tasks),
        nodes: Informer::start(Api::all(client.clone()), watcher::Config::default(), &mut tasks),
        namespaces: Informer::start(Api::all(client.clone()), watcher::Config::default(), &mut tasks),
        recorder: Recorder::new(client.clone(), "default-scheduler"),
        picture: Mutex::default(),
        changed: Notify::new(),
        client,
    });
    engine.listen();
    tasks.spawn(run(engine));
    tasks
}

struct Engine {
    client: Client,
    recorder: Recorder,
    pods: Informer<Pod>,
    nodes: Informer<Node>,
    namespaces: Informer<Namespace>,
    picture: Mutex<Picture>,
    changed: Notify,
}

#[derive(Default)]
struct Picture {
    cluster: Cluster,
    waiting: BTreeMap<Key, Arc<Demand>>,
}

impl Picture {
    fn pod_changed(&mut self, change: &Change<'_, Pod>) {
        let Some(pod) = change.object() else { return };
        let key = Key::of(&**pod);
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        self.waiting.remove(&key);
        match change.after {
            Some(pod) if is_placed(pod) && !is_over(pod) => self.cluster.set_pod(pod.clone()),
            Some(pod) if is_ours(pod) => {
                self.waiting.insert(key, Arc::new(Demand::of(pod.clone())));
            }
            _ => self.cluster.remove_pod(uid),
        }
    }

    fn node_changed(&mut self, change: &Change<'_, Node>) {
        match (change.after, change.before) {
            (Some(node), _) => self.cluster.set_node(node),
            (None, Some(node)) => self
                .cluster
                .remove_node(node.metadata.name.as_deref().unwrap_or_default()),
            (None, None) => {}
        }
    }

    fn namespace_changed(&mut self, change: &Change<'_, Namespace>) {
        let Some(name) = change.object().and_then(|object| object.metadata.name.clone()) else {
            return;
        };
        match change.after {
            Some(namespace) => {
                let labels = namespace.metadata.labels.clone().unwrap_or_default();
                self.cluster.namespaces.insert(name, labels);
            }
            None => {
                self.cluster.namespaces.remove(&name);
            }
        }
    }
}

fn is_placed(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())
}

fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// A pod that waits for us: of our name, not on its way out, and not held back by a gate.
fn is_ours(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let name = spec.scheduler_name.as_deref().unwrap_or(NAMES[0]);
    let is_gated = spec
        .scheduling_gates
        .as_ref()
        .is_some_and(|gates| !gates.is_empty());
    NAMES.contains(&name)
        && spec.node_name.is_none()
        && !is_gated
        && !is_over(pod)
        && pod.metadata.deletion_timestamp.is_none()
}

async fn run(engine: Arc<Engine>) {
    engine.pods.synced().await;
    engine.nodes.synced().await;
    engine.namespaces.synced().await;
    loop {
        engine.changed.notified().await;
        let sizes = engine.group_sizes().await;
        let decisions = {
            let mut picture = engine.picture.lock();
            let units = units(&engine.pods, picture.waiting.values(), &sizes);
            let decisions = decide(&mut picture.cluster, units, Timestamp::now());
            for decision in &decisions {
                if let Decision::Bind { demand, .. } = decision {
                    picture.waiting.remove(&Key::of(&*demand.pod));
                }
            }
            decisions
        };
        for decision in decisions {
            engine.clone().carry_out(decision);
        }
    }
}

/// Waiting pods by what they are placed with.
fn units<'a>(
    pods: &Informer<Pod>,
    waiting: impl Iterator<Item = &'a Arc<Demand>>,
    sizes: &HashMap<(String, Group), usize>,
) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut groups: BTreeMap<(String, Group), Vec<Arc<Demand>>> = BTreeMap::new();
    for demand in waiting {
        match Group::of(&demand.pod) {
            None => units.push(Unit::pod(demand.clone())),
            Some(group) => groups
                .entry((demand.namespace().to_owned(), group))
                .or_default()
                .push(demand.clone()),
        }
    }
    for ((namespace, group), members) in groups {
        let is_member =
            |pod: &Arc<Pod>| is_placed(pod) && !is_over(pod) && Group::of(pod).as_ref() == Some(&group);
        let placed = pods
            .in_namespace(&namespace)
            .iter()
            .filter(|pod| is_member(pod))
            .count();
        let size = match &group {
            Group::Own { size, .. } => *size,
            _ => sizes
                .get(&(namespace.clone(), group.clone()))
                .copied()
                .unwrap_or(1),
        };
        units.push(Unit {
            name: group.name().to_owned(),
            namespace,
            members,
            placed,
            size,
        });
    }
    units
}

impl Engine {
    fn listen(self: &Arc<Self>) {
        let engine = self.clone();
        self.pods.on_change(move |change| {
            engine.picture.lock().pod_changed(change);
            engine.changed.notify_one();
        });
        let engine = self.clone();
        self.nodes.on_change(move |change| {
            engine.picture.lock().node_changed(change);
            engine.changed.notify_one();
        });
        let engine = self.clone();
        self.namespaces
            .on_change(move |change| engine.picture.lock().namespace_changed(change));
    }

    /// How many members the groups need whose size stands in an object of their own.
    async fn group_sizes(&self) -> HashMap<(String, Group), usize> {
        let mut wanted: Vec<(String, Group)> = {
            let picture = self.picture.lock();
            let waiting = picture.waiting.values();
            waiting
                .filter_map(|demand| Some((demand.namespace().to_owned(), Group::of(&demand.pod)?)))
                .collect()
        };
        wanted.sort();
        wanted.dedup();
        let mut sizes = HashMap::new();
        for (namespace, group) in wanted {
            let kind = match &group {
                Group::Own { .. } => continue,
                Group::SchedulerPlugins { .. } => {
                    GroupVersionKind::gvk("scheduling.x-k8s.io", "v1alpha1", "PodGroup")
                }
                Group::Volcano { .. } => {
                    GroupVersionKind::gvk("scheduling.volcano.sh", "v1beta1", "PodGroup")
                }
            };
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.client.clone(), &namespace, &ApiResource::from_gvk(&kind));
            // Without its object a group is as large as it says nothing of: its pods go one by one.
            if let Ok(Some(object)) = api.get_opt(group.name()).await
                && let Some(size) = object.data["spec"]["minMember"].as_u64()
            {
                sizes.insert((namespace, group), usize::try_from(size).unwrap_or(usize::MAX));
            }
        }
        sizes
    }

    fn carry_out(self: Arc<Self>, decision: Decision) {
        tokio::spawn(async move {
            match decision {
                Decision::Bind { demand, node } => self.bind(demand, node).await,
                Decision::Wait {
                    demand,
                    message,
                    preemption,
                } => self.hold(&demand, message, preemption).await,
            }
        });
    }

    async fn bind(&self, demand: Arc<Demand>, node: String) {
        let (namespace, name) = (demand.namespace(), demand.name());
        let binding = Binding {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(namespace.to_owned()),
                uid: demand.pod.metadata.uid.clone(),
                ..ObjectMeta::default()
            },
            target: ObjectReference {
                kind: Some("Node".into()),
                name: Some(node.clone()),
                ..ObjectReference::default()
            },
        };
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let bound = pods
            .create_subresource::<Binding, Value>("binding", name, &PostParams::default(), &binding)
            .await;
        match bound {
            Ok(_) => {
                let note = format!("Successfully assigned {namespace}/{name} to {node}");
                self.recorder
                    .normal(demand.pod.object_ref(&()), "Scheduled", note);
            }
            Err(error) => {
                tracing::warn!(pod = %Key::of(&*demand.pod), %error, "the pod could not be bound");
                self.picture.lock().cluster.remove_pod(demand.uid());
                tokio::time::sleep(RETRY).await;
                self.requeue(&demand);
            }
        }
    }

    /// Puts a pod back among those that wait, as it is now.
    fn requeue(&self, demand: &Demand) {
        let key = Key::of(&*demand.pod);
        if let Some(pod) = self.pods.get(&key).filter(|pod| is_ours(pod)) {
            self.picture.lock().waiting.insert(key, Arc::new(Demand::of(pod)));
            self.changed.notify_one();
        }
    }

    /// Tells why the pod waits, and makes room for it if it is important enough.
    async fn hold(&self, demand: &Demand, message: String, preemption: Option<Preemption>) {
        if let Some(preemption) = &preemption {
            self.evict(demand, preemption).await;
        }
        if is_told(&demand.pod, &message) {
            return;
        }
        let condition = json!({
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": since(&demand.pod).unwrap_or_else(Timestamp::now),
            "observedGeneration": demand.pod.metadata.generation,
        });
        let nominated = preemption.map(|preemption| preemption.node);
        let patch = json!({"metadata": {"uid": demand.uid()}, "status": {
            "conditions": [condition], "nominatedNodeName": nominated,
        }});
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), demand.namespace());
        let patched = pods
            .patch_status(demand.name(), &PatchParams::default(), &Patch::Strategic(patch))
            .await;
        match patched {
            Ok(_) => self
                .recorder
                .warning(demand.pod.object_ref(&()), "FailedScheduling", message),
            // It has gone or was changed meanwhile; the next look sees it as it is.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => {}
            Err(error) => {
                tracing::warn!(pod = %Key::of(&*demand.pod), %error, "cannot say why the pod waits");
            }
        }
    }

    async fn evict(&self, demand: &Demand, preemption: &Preemption) {
        for victim in &preemption.victims {
            if victim.pod.metadata.deletion_timestamp.is_some() {
                continue;
            }
            let note = format!("Preempted by pod {} on node {}", demand.uid(), preemption.node);
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), victim.namespace());
            match pods.delete(victim.name(), &DeleteParams::default()).await {
                Ok(_) => self
                    .recorder
                    .normal(victim.pod.object_ref(&()), "Preempted", note),
                Err(error) => tracing::warn!(pod = %Key::of(&*victim.pod), %error, "cannot preempt the pod"),
            }
        }
    }
}

fn condition(pod: &Pod) -> Option<&k8s_openapi::api::core::v1::PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions
        .iter()
        .find(|condition| condition.type_ == "PodScheduled")
}

fn is_told(pod: &Pod, message: &str) -> bool {
    condition(pod).is_some_and(|condition| condition.message.as_deref() == Some(message))
}

fn since(pod: &Pod) -> Option<Timestamp> {
    let condition = condition(pod).filter(|condition| condition.status == "False")?;
    condition.last_transition_time.as_ref().map(|time| time.0)
}
