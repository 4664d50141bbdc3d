//! Keeps the network's table true, and tells of what of it cannot be.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use kube::Resource as _;
use network::{Claimant, Network, Problem, Table};
use reconcile::{Key, Recorder};
use tokio::sync::Notify;

use super::{Cluster, host_ports, table};
use crate::agent::Agent;

/// How soon what could not be put in force is tried again: ports become free without anybody's notice.
const RETRY: Duration = Duration::from_secs(2);

/// Runs for as long as the agent does.
pub(crate) async fn keep(agent: Arc<Agent>) {
    let followed = &agent.followed;
    // A table made from a part of the cluster would close what an agent before us has opened.
    followed.services.synced().await;
    followed.slices.synced().await;
    followed.pods.synced().await;
    let changed = listen(&agent);
    let mut generations = agent.networking.generations();
    let mut complaints = Complaints::new(agent.clone());
    // What is in force as a whole.
    let mut sent: Option<Table> = None;
    loop {
        if let Ok(network) = agent.networking.get() {
            let wanted = table(&Cluster {
                services: &followed.services.all(),
                slices: &followed.slices.all(),
                pods: &followed.pods.all(),
                pod_range: network.description().pods,
                api: agent.settings.api_server,
            });
            if sent.as_ref() != Some(&wanted)
                && let Some(problems) = send(&network, &wanted).await
            {
                sent = problems.is_empty().then_some(wanted);
                complaints.tell(problems);
            }
        }
        tokio::select! {
            () = changed.notified() => {}
            Ok(()) = generations.changed() => sent = None,
            () = tokio::time::sleep(RETRY), if sent.is_none() => {}
        }
    }
}

/// Notified of everything the table is made from.
fn listen(agent: &Agent) -> Arc<Notify> {
    let changed = Arc::new(Notify::new());
    let [on_service, on_slice, on_pod] = [(); 3].map(|()| changed.clone());
    let followed = &agent.followed;
    followed.services.on_change(move |_| on_service.notify_one());
    followed.slices.on_change(move |_| on_slice.notify_one());
    followed.pods.on_change(move |change| {
        if change.object().is_some_and(|pod| host_ports::has_any(pod)) {
            on_pod.notify_one();
        }
    });
    changed
}

/// What of the table is not in force; none if the network did not take it at all.
async fn send(network: &Network, wanted: &Table) -> Option<Vec<Problem>> {
    let in_force = network.describe().await.ok()?.table;
    let numbered = Table {
        number: in_force + 1,
        ..wanted.clone()
    };
    let outcome = network.set_table(numbered).await;
    outcome
        .inspect_err(|error| tracing::warn!(%error, "the network did not take the table of services"))
        .ok()
}

/// Tells whom it concerns of ports that cannot be opened, once for as long as it is so.
struct Complaints {
    agent: Arc<Agent>,
    /// In the name of who does this on other clusters.
    recorder: Recorder,
    told: BTreeSet<Problem>,
}

impl Complaints {
    fn new(agent: Arc<Agent>) -> Self {
        let node = &agent.settings.node_name;
        Self {
            recorder: Recorder::on_node(agent.client.clone(), "kube-proxy", node),
            agent,
            told: BTreeSet::new(),
        }
    }

    fn tell(&mut self, problems: Vec<Problem>) {
        let problems = BTreeSet::from_iter(problems);
        for problem in problems.difference(&self.told) {
            tracing::warn!(%problem, "a port does not lead where it should");
            self.tell_of(problem);
        }
        self.told = problems;
    }

    fn tell_of(&self, problem: &Problem) {
        let followed = &self.agent.followed;
        match &problem.claimant {
            Claimant::Service { namespace, name } => {
                if let Some(service) = followed.services.get(&Key::new(namespace, name)) {
                    let note = format!("The service is not reached there: {problem}; trying again");
                    self.recorder
                        .warning(service.object_ref(&()), "PortConflict", note);
                }
            }
            Claimant::Pod(uid) => {
                let mut pods = followed.pods.all().into_iter();
                if let Some(pod) = pods.find(|pod| pod.metadata.uid.as_ref() == Some(uid)) {
                    let note = format!(
                        "Host port {} does not lead to the pod: {problem}; trying again",
                        problem.address.port()
                    );
                    self.agent.events.warning(&pod, "HostPortConflict", note);
                }
            }
        }
    }
}
