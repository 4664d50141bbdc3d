//! The pod's status, written once a change.

use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{ContainerStatus, HostIP, Pod, PodIP, PodStatus},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Map, Value, json};

use super::{Presence, RETRY, Worker};
use crate::{admission::Rejection, lifecycle, sandbox::is_on_host_network};

/// Conditions that are ours to set; others belong to others.
const OWN_CONDITIONS: [&str; 5] = [
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
];

impl Worker {
    pub(super) async fn report(&mut self) {
        if self.presence == Presence::Gone || self.is_forgotten || self.is_about_to_be_ready() {
            return;
        }
        let status = self.status(Timestamp::now());
        let Some(change) = change(&self.pod, &status) else {
            return;
        };
        self.tell_of_crash_loops(&status);
        self.tell_of_deadline(&status);
        let meta = &self.pod.metadata;
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let name = meta.name.as_deref().unwrap_or_default();
        let pods: Api<Pod> = Api::namespaced(self.agent.client.clone(), namespace);
        // The uid keeps us from writing into another pod of the same name.
        let patch = Patch::Strategic(json!({ "metadata": { "uid": meta.uid }, "status": change }));
        match pods.patch_status(name, &PatchParams::default(), &patch).await {
            Ok(written) => {
                self.agent.followed.pods.wrote(written.clone());
                self.pod = written.into();
            }
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {}
            Err(error) => {
                tracing::warn!(%error, pod = name, namespace, "a status is not written yet");
                self.look_at(Timestamp::now().saturating_add(RETRY).ok());
            }
        }
    }

    fn status(&self, now: Timestamp) -> PodStatus {
        if let Some(rejection) = &self.book.rejection {
            return rejected(&self.pod, rejection, now);
        }
        let mut status = lifecycle::status(
            &self.pod,
            &self.book.records,
            self.book.eviction.as_deref(),
            self.live.is_some(),
            now,
        );
        let host = self.agent.address();
        status.host_ip = Some(host.to_string());
        status.host_ips = Some(vec![HostIP { ip: host.to_string() }]);
        let address = if is_on_host_network(&self.pod, self.agent.tier.tier) {
            Some(host)
        } else {
            self.book.address.map(IpAddr::V4)
        };
        if let Some(address) = address {
            status.pod_ip = Some(address.to_string());
            status.pod_ips = Some(vec![PodIP {
                ip: address.to_string(),
            }]);
        }
        status
    }

    /// When it is first said that the pod ran longer than it may.
    fn tell_of_deadline(&self, status: &PodStatus) {
        let is_late = |status: &PodStatus| status.reason.as_deref() == Some(lifecycle::DEADLINE_EXCEEDED);
        if is_late(status) && !self.pod.status.as_ref().is_some_and(is_late) {
            let note = status.message.clone().unwrap_or_default();
            self.agent
                .events
                .normal(&self.pod, lifecycle::DEADLINE_EXCEEDED, note);
        }
    }

    fn tell_of_crash_loops(&self, status: &PodStatus) {
        let before = self.pod.status.as_ref();
        let waiting_before: Vec<&str> = before.map(crash_looping).unwrap_or_default();
        for name in crash_looping(status) {
            if waiting_before.contains(&name) {
                continue;
            }
            let meta = &self.pod.metadata;
            let [pod, namespace, uid] =
                [&meta.name, &meta.namespace, &meta.uid].map(|part| part.as_deref().unwrap_or_default());
            let note = format!("Back-off restarting failed container {name} in pod {pod}_{namespace}({uid})");
            self.agent
                .events
                .warning_of_container(&self.pod, name, "BackOff", note);
        }
    }
}

/// The status of a pod that the node does not take: nothing in it has ever been.
fn rejected(pod: &Pod, rejection: &Rejection, now: Timestamp) -> PodStatus {
    let before = pod.status.clone().unwrap_or_default();
    PodStatus {
        phase: Some("Failed".to_owned()),
        reason: Some(rejection.reason.clone()),
        message: Some(format!("Pod was rejected: {}", rejection.message)),
        start_time: before.start_time.or(Some(Time(now))),
        observed_generation: pod.metadata.generation,
        conditions: before.conditions,
        qos_class: before.qos_class,
        ..PodStatus::default()
    }
}

fn crash_looping(status: &PodStatus) -> Vec<&str> {
    let lists = [&status.init_container_statuses, &status.container_statuses];
    let is_waiting = |status: &&ContainerStatus| {
        let waiting = status.state.as_ref().and_then(|state| state.waiting.as_ref());
        waiting.is_some_and(|waiting| waiting.reason.as_deref() == Some("CrashLoopBackOff"))
    };
    let all = lists.into_iter().flatten().flatten();
    all.filter(is_waiting)
        .map(|status| status.name.as_str())
        .collect()
}

/// What has to be sent to get from the status the API has to this one: our own fields and conditions,
/// and nothing that others may have written meanwhile. `None` if there is nothing to say.
fn change(pod: &Pod, wanted: &PodStatus) -> Option<Value> {
    let before = own_fields(pod.status.as_ref().unwrap_or(&PodStatus::default()));
    let after = own_fields(wanted);
    let mut change = Map::new();
    for (name, value) in &after {
        if before.get(name) != Some(value) {
            change.insert(name.clone(), value.clone());
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        change.insert(name.clone(), Value::Null);
    }
    if let Some(addresses) = change.get_mut("podIPs").and_then(Value::as_array_mut) {
        // By itself such a list would be merged.
        addresses.insert(0, json!({ "$patch": "replace" }));
    }
    (!change.is_empty()).then_some(Value::Object(change))
}

fn own_fields(status: &PodStatus) -> Map<String, Value> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(status) else {
        return Map::new();
    };
    if let Some(conditions) = fields.get_mut("conditions").and_then(Value::as_array_mut) {
        conditions.retain(|condition| {
            let kind = condition["type"].as_str().unwrap_or_default();
            OWN_CONDITIONS.contains(&kind)
        });
        // Their order is nobody's concern.
        conditions.sort_by_key(|condition| condition["type"].as_str().unwrap_or_default().to_owned());
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(status: Value) -> Pod {
        serde_json::from_value(json!({ "metadata": { "name": "p" }, "status": status })).unwrap()
    }

    #[test]
    fn only_what_changes_is_sent_and_the_conditions_of_others_are_not() {
        let known = pod(json!({
            "phase": "Pending", "reason": "Old", "qosClass": "BestEffort",
            "conditions": [{"type": "Theirs", "status": "True"}, {"type": "Ready", "status": "False"}],
        }));
        let mut wanted = known.status.clone().unwrap();
        assert_eq!(change(&known, &wanted), None);
        wanted.phase = Some("Running".into());
        wanted.reason = None;
        if let Some(conditions) = &mut wanted.conditions {
            conditions[1].status = "True".into();
        }
        assert_eq!(
            change(&known, &wanted),
            Some(json!({
                "phase": "Running", "reason": null,
                "conditions": [{"type": "Ready", "status": "True"}],
            }))
        );
    }

    #[test]
    fn a_new_address_takes_the_place_of_the_old_one() {
        let known = pod(json!({"podIPs": [{"ip": "10.0.0.1"}]}));
        let mut wanted = known.status.clone().unwrap();
        wanted.pod_ips = Some(vec![PodIP {
            ip: "10.0.0.2".into(),
        }]);
        assert_eq!(
            change(&known, &wanted),
            Some(json!({"podIPs": [{"$patch": "replace"}, {"ip": "10.0.0.2"}]}))
        );
    }
}
