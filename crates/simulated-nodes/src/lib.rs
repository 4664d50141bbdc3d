//! Nodes that exist in the API only. Pods on them are timers: they are ready at once and run until
//! they are deleted or their time is up. For schedules of a thousand nodes on one machine; nothing
//! they say is true of a process, and each is labelled so.

mod lifecycle;
mod node;
mod status;

use std::{collections::BTreeMap, time::Duration};

use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Node, Pod},
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
};
use reconcile::{Informer, Informers, Key, Next, Queue, run};
use tokio::task::JoinSet;

use lifecycle::Step;

pub use lifecycle::{DURATION, EXIT_CODE};
pub use node::SIMULATED;

const NAME: &str = "simulated-nodes";
const WORKERS: usize = 64;
const LEASES: &str = "kube-node-lease";

/// The nodes do not change, so they are heard of rarely; their leases say how rarely.
const HEARTBEAT: Duration = Duration::from_mins(20);

#[derive(Clone, Debug)]
pub struct Options {
    /// How many nodes there are.
    pub count: usize,
    /// What each of them has, as resource names and amounts.
    pub capacity: BTreeMap<String, String>,
    /// Labels of each of them beside its own.
    pub labels: BTreeMap<String, String>,
}

impl Options {
    /// So many nodes of the usual size.
    pub fn of(count: usize) -> Self {
        let capacity = [
            ("cpu", "32"),
            ("memory", "256Gi"),
            ("pods", "110"),
            ("ephemeral-storage", "1Ti"),
        ];
        let capacity = capacity.map(|(name, amount)| (name.to_owned(), amount.to_owned()));
        Self {
            count,
            capacity: capacity.into(),
            labels: BTreeMap::new(),
        }
    }
}

/// Starts the nodes. They run until the tasks are dropped; their objects stay, and are found again.
pub fn start(client: Client, informers: &Informers, options: Options) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let pods = informers.pods();
    tasks.spawn(register(client.clone(), options));
    let queue = Queue::new();
    let touched = queue.clone();
    pods.on_change(move |change| {
        if let Some(pod) = change.after.filter(|pod| node::of(pod).is_some()) {
            touched.add(Key::of(&**pod));
        }
    });
    tasks.spawn(async move {
        pods.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let (client, pods) = (client.clone(), pods.clone());
            async move { reconcile(&client, &pods, key).await }
        })
        .await;
    });
    tasks
}

/// Makes the nodes, and renews their leases from time to time.
async fn register(client: Client, options: Options) {
    loop {
        let numbers = stream::iter(0..options.count);
        numbers
            .for_each_concurrent(WORKERS, |number| announce(&client, &options, number))
            .await;
        tokio::time::sleep(HEARTBEAT).await;
    }
}

async fn announce(client: &Client, options: &Options, number: usize) {
    let mut object = node::make(number, &options.capacity, Timestamp::now());
    let labels = object.metadata.labels.get_or_insert_default();
    labels.extend(options.labels.clone());
    let nodes: Api<Node> = Api::all(client.clone());
    let name = object.name_any();
    let registered = match nodes.create(&PostParams::default(), &object).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {
            let status = serde_json::json!({"status": object.status});
            let patch = Patch::Strategic(status);
            nodes.patch_status(&name, &PatchParams::default(), &patch).await
        }
        outcome => outcome,
    };
    let lease = node::lease(&name, HEARTBEAT, Timestamp::now());
    let leases: Api<Lease> = Api::namespaced(client.clone(), LEASES);
    let parameters = PatchParams::apply(NAME).force();
    let renewed = leases.patch(&name, &parameters, &Patch::Apply(lease)).await;
    for error in [registered.err(), renewed.err()].into_iter().flatten() {
        tracing::warn!(node = name, %error, "a simulated node could not be announced");
    }
}

async fn reconcile(client: &Client, pods: &Informer<Pod>, key: Key) -> kube::Result<Next> {
    let Some(pod) = pods.get(&key) else {
        return Ok(Next::Wait);
    };
    let api: Api<Pod> = Api::namespaced(client.clone(), &key.namespace);
    match lifecycle::step(&pod, Timestamp::now()) {
        Step::Nothing => Ok(Next::Wait),
        Step::Wait(left) => Ok(Next::After(left)),
        Step::Report(status) => {
            let patch = serde_json::json!({"metadata": {"uid": pod.metadata.uid}, "status": status});
            let patch = Patch::Strategic(patch);
            let written = api.patch_status(&key.name, &PatchParams::default(), &patch).await;
            // What was written comes back as a change, and is looked at again.
            settle(written, |pod_now| pods.wrote(pod_now))
        }
        Step::Remove => {
            let parameters = DeleteParams::default()
                .grace_period(0)
                .preconditions(Preconditions {
                    uid: pod.metadata.uid.clone(),
                    resource_version: None,
                });
            settle(api.delete(&key.name, &parameters).await, |_| {})
        }
    }
}

/// Somebody else may have been faster.
fn settle<T>(answer: kube::Result<T>, known: impl FnOnce(T)) -> kube::Result<Next> {
    match answer {
        Ok(object) => known(object),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => {}
        Err(error) => return Err(error),
    }
    Ok(Next::Wait)
}
