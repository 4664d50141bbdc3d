//! Telling pods why they wait, and making room for the important ones.

use k8s_openapi::{
    api::core::v1::{Pod, PodCondition},
    jiff::Timestamp,
};
use kube::{
    Api, Resource as _,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use reconcile::Key;
use serde_json::json;

use super::Engine;
use crate::{demand::Demand, preemption::Preemption};

impl Engine {
    /// Tells why the pod waits, and makes room for it if it is important enough.
    pub(super) async fn hold(&self, demand: &Demand, message: String, preemption: Option<Preemption>) {
        if let Some(preemption) = &preemption {
            self.evict(demand, preemption).await;
        }
        let nominated = preemption.map(|preemption| preemption.node);
        let status = demand.pod.status.as_ref();
        let promised = status.and_then(|status| status.nominated_node_name.clone());
        if is_told(&demand.pod, &message) && nominated == promised {
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
        let patch = json!({"metadata": {"uid": demand.uid()}, "status": {
            "conditions": [condition], "nominatedNodeName": nominated,
        }});
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), demand.namespace());
        let patched = pods
            .patch_status(demand.name(), &PatchParams::default(), &Patch::Strategic(patch))
            .await;
        match patched {
            Ok(pod) => {
                self.pods.wrote(pod);
                self.recorder
                    .warning(demand.pod.object_ref(&()), "FailedScheduling", message);
            }
            // It has gone or was changed meanwhile; the next look sees it as it is.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => {}
            Err(error) => {
                tracing::warn!(pod = %Key::of(&*demand.pod), %error, "cannot say why the pod waits");
            }
        }
    }

    /// Victims leave with their own grace period.
    async fn evict(&self, demand: &Demand, preemption: &Preemption) {
        for victim in &preemption.victims {
            if victim.pod.metadata.deletion_timestamp.is_some() {
                continue;
            }
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), victim.namespace());
            let condition = json!({
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "PreemptionByScheduler",
                "message": "default-scheduler: preempting to accommodate a higher priority pod",
                "lastTransitionTime": Timestamp::now(),
                "observedGeneration": victim.pod.metadata.generation,
            });
            let patch = json!({"metadata": {"uid": victim.uid()}, "status": {"conditions": [condition]}});
            let patch = Patch::Strategic(patch);
            if let Err(error) = pods
                .patch_status(victim.name(), &PatchParams::default(), &patch)
                .await
            {
                tracing::debug!(pod = %Key::of(&*victim.pod), %error, "cannot say why the pod leaves");
            }
            let parameters = DeleteParams::default().preconditions(Preconditions {
                uid: victim.pod.metadata.uid.clone(),
                resource_version: None,
            });
            let note = format!("Preempted by pod {} on node {}", demand.uid(), preemption.node);
            match pods.delete(victim.name(), &parameters).await {
                Ok(_) => self
                    .recorder
                    .normal(victim.pod.object_ref(&()), "Preempted", note),
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                Err(error) => tracing::warn!(pod = %Key::of(&*victim.pod), %error, "cannot preempt the pod"),
            }
        }
    }
}

fn condition(pod: &Pod) -> Option<&PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions
        .iter()
        .find(|condition| condition.type_ == "PodScheduled")
}

pub(super) fn is_told(pod: &Pod, message: &str) -> bool {
    condition(pod).is_some_and(|condition| condition.message.as_deref() == Some(message))
}

fn since(pod: &Pod) -> Option<Timestamp> {
    let condition = condition(pod).filter(|condition| condition.status == "False")?;
    condition.last_transition_time.as_ref().map(|time| time.0)
}
