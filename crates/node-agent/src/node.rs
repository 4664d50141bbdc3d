//! This machine as a Node of the cluster: registered at once, and heard of every ten seconds.

mod facts;
mod object;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        coordination::v1::{Lease, LeaseSpec},
        core::v1::Node,
    },
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference},
};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use reconcile::Key;
use serde_json::json;

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
    loop {
        if let Err(error) = renew(&agent, &registered).await {
            tracing::warn!(%error, "the node's lease is not renewed");
        }
        let is_news = tokio::select! {
            () = tokio::time::sleep(HEARTBEAT) => false,
            Ok(()) = network.changed() => true,
        };
        if is_news || written.elapsed() >= STATUS_EVERY {
            match register(&agent).await {
                Ok(node) => {
                    registered = node;
                    written = tokio::time::Instant::now();
                }
                Err(error) => tracing::warn!(%error, "the node's status is not written"),
            }
        }
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
