//! This machine as a Node of the cluster: registered at once, and heard of every ten seconds.

mod facts;
mod object;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        coordination::v1::{Lease, LeaseSpec},
        core::v1::{Node, ObjectReference},
    },
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference},
};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use reconcile::{Key, Recorder, deaths};
use serde_json::json;
use tokio::sync::watch;

use crate::agent::Agent;

pub(crate) use facts::Facts;

const HEARTBEAT: Duration = Duration::from_secs(10);
/// The lease tells that the node lives; its status is written when it changes, and now and then.
const STATUS_EVERY: Duration = Duration::from_mins(5);
const RETRY: Duration = Duration::from_millis(200);
/// What the network gets to come up before the node is registered without it.
const HEAD_START: Duration = Duration::from_secs(1);
const LEASE_SECONDS: i32 = 40;
const LEASES: &str = "kube-node-lease";

/// Condition of a node that is true while parts of the cluster on it die again and again.
pub const PART_FAILING: &str = "ClusterPartFailing";

/// Reason of the condition NetworkUnavailable while the network of a node that has just started is not there yet.
pub const NETWORK_IS_STARTING: &str = "NetworkIsStarting";

/// The name of this machine as a Node may have it.
pub fn name_of_this_machine() -> String {
    object::sanitized(&rustix::system::uname().nodename().to_string_lossy())
}

/// The node as the API has it, or as it will be there.
pub(crate) fn current(agent: &Agent) -> Arc<Node> {
    let known = agent.followed.nodes.get(&Key::new("", &agent.settings.node_name));
    known.unwrap_or_else(|| object::node(agent, None, Timestamp::now()).into())
}

pub(crate) async fn keep_registered(agent: Arc<Agent>) {
    let mut network = agent.networking.generations();
    let mut dead = Mourning::new(&agent);
    // A node that is only about to be ready would be marked as one that is not.
    let _ = tokio::time::timeout(HEAD_START, network.changed()).await;
    let mut registered = loop {
        match register(&agent).await {
            Ok(node) => break node,
            Err(error) => tracing::warn!(%error, "the node is not registered yet"),
        }
        tokio::time::sleep(RETRY).await;
    };
    let mut written = tokio::time::Instant::now();
    let mut failing = dead.failing();
    let is_full = || facts::last_space(&agent.settings.data_dir).is_some();
    let mut was_full = is_full();
    loop {
        dead.report(&registered);
        if let Err(error) = renew(&agent, &registered).await {
            tracing::warn!(%error, "the node's lease is not renewed");
        }
        let is_news = tokio::select! {
            () = tokio::time::sleep(HEARTBEAT) => false,
            Ok(()) = network.changed() => true,
            Ok(()) = dead.deaths.changed() => true,
        };
        let is_news = is_news || failing != dead.failing() || was_full != is_full() || is_removed(&agent);
        if is_news || written.elapsed() >= STATUS_EVERY {
            match register(&agent).await {
                Ok(node) => {
                    registered = node;
                    (failing, was_full) = (dead.failing(), is_full());
                    written = tokio::time::Instant::now();
                }
                Err(error) => tracing::warn!(%error, "the node's status is not written"),
            }
        }
    }
}

/// Whether the Node was removed from the API, though this machine is still here.
fn is_removed(agent: &Agent) -> bool {
    let nodes = &agent.followed.nodes;
    nodes.get(&Key::new("", &agent.settings.node_name)).is_none()
}

/// Deaths of parts, reported as events of the node.
struct Mourning {
    deaths: watch::Receiver<deaths::Deaths>,
    /// How many of them were reported.
    reported: usize,
    recorder: Recorder,
}

impl Mourning {
    fn new(agent: &Agent) -> Self {
        Self {
            deaths: deaths::subscribe(),
            reported: 0,
            recorder: Recorder::on_node(agent.client.clone(), "kubelet", &agent.settings.node_name),
        }
    }

    fn report(&mut self, node: &Node) {
        let deaths = self.deaths.borrow_and_update();
        // Events of nodes have the name in the place of the uid, as the kubelet writes them.
        let about = Arc::new(ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Node".to_owned()),
            name: node.metadata.name.clone(),
            uid: node.metadata.name.clone(),
            ..ObjectReference::default()
        });
        for death in deaths.since(self.reported) {
            let note = format!("{} died: {}", death.part, death.last_words);
            self.recorder.warning(about.clone(), "ClusterPartDied", note);
        }
        self.reported = deaths.count();
    }

    fn failing(&self) -> Vec<&'static str> {
        let failing = self.deaths.borrow().failing(Timestamp::now());
        failing.into_iter().map(|part| part.part).collect()
    }
}

/// Makes the Node if it is missing, and brings its labels and status up to date.
async fn register(agent: &Agent) -> kube::Result<Node> {
    let nodes: Api<Node> = Api::all(agent.client.clone());
    let known = nodes.get_opt(&agent.settings.node_name).await?;
    let wanted = object::node(agent, known.as_ref(), Timestamp::now());
    let Some(known) = known else {
        return nodes.create(&PostParams::default(), &wanted).await;
    };
    let labels = known.metadata.labels.unwrap_or_default();
    let mut own = wanted.metadata.labels.unwrap_or_default();
    // What somebody has made of these stays.
    own.retain(|name, _| !(agent.settings.labels.contains_key(name) && labels.contains_key(name)));
    own.retain(|name, value| labels.get(name) != Some(value));
    let name = &agent.settings.node_name;
    if !own.is_empty() {
        let patch = Patch::Merge(json!({ "metadata": { "labels": own } }));
        nodes.patch(name, &PatchParams::default(), &patch).await?;
    }
    let patch = Patch::Strategic(json!({ "status": wanted.status }));
    nodes.patch_status(name, &PatchParams::default(), &patch).await
}

async fn renew(agent: &Agent, node: &Node) -> kube::Result<()> {
    let name = &agent.settings.node_name;
    let leases: Api<Lease> = Api::namespaced(agent.client.clone(), LEASES);
    let renewed = MicroTime(Timestamp::now());
    let patch = Patch::Merge(json!({ "spec": { "renewTime": renewed } }));
    match leases.patch(name, &PatchParams::default(), &patch).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        outcome => return outcome.map(drop),
    }
    let lease = Lease {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            owner_references: Some(vec![OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Node".to_owned(),
                name: name.clone(),
                uid: node.metadata.uid.clone().unwrap_or_default(),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(name.clone()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            renew_time: Some(renewed),
            ..LeaseSpec::default()
        }),
    };
    leases.create(&PostParams::default(), &lease).await.map(drop)
}
