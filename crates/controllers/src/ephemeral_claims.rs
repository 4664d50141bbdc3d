//! Volumes that live as long as their pod: a claim for each generic ephemeral volume.

use std::sync::Arc;

use k8s_openapi::{
    api::core::v1::{PersistentVolumeClaim, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Api, Resource as _, ResourceExt as _, api::PostParams};
use reconcile::{Key, Next, Queue, Recorder, run};
use tokio::task::JoinSet;

use crate::{
    Result, message, ownership,
    pods::{claim, health},
    world::World,
};

const NAME: &str = "ephemeral-volume-controller";
const WORKERS: usize = 2;

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    let touched = queue.clone();
    world.pods.on_change(move |change| {
        if let Some(pod) = change.after
            && wanted(pod).next().is_some()
        {
            touched.add(Key::of(&**pod));
        }
    });
    let touched = queue.clone();
    world.claims.on_change(move |change| {
        let gone = change.before.filter(|_| change.after.is_none());
        if let Some(pod) = gone.and_then(|claim| Key::of_controller(&**claim, "Pod")) {
            touched.add(pod);
        }
    });
    let recorder = world.recorder("ephemeral_volume");
    let world = world.clone();
    tasks.spawn(async move {
        world.pods.synced().await;
        world.claims.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let (world, recorder) = (world.clone(), recorder.clone());
            async move { reconcile(&world, &recorder, key).await }
        })
        .await;
    });
}

/// The claims a pod needs; none if it is on its way out.
fn wanted(pod: &Pod) -> impl Iterator<Item = PersistentVolumeClaim> {
    let is_leaving = health::is_terminating(pod) || health::is_finished(pod);
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter(move |_| !is_leaving).filter_map(|volume| {
        let template = volume.ephemeral.as_ref()?.volume_claim_template.as_ref()?;
        let meta = template.metadata.clone().unwrap_or_default();
        Some(PersistentVolumeClaim {
            metadata: ObjectMeta {
                name: Some(format!("{}-{}", pod.name_any(), volume.name)),
                namespace: pod.metadata.namespace.clone(),
                labels: meta.labels,
                annotations: meta.annotations,
                owner_references: Some(vec![ownership::reference(pod)]),
                ..ObjectMeta::default()
            },
            spec: Some(template.spec.clone()),
            status: None,
        })
    })
}

async fn reconcile(world: &World, recorder: &Recorder, key: Key) -> Result<Next> {
    let Some(pod) = world.pods.get(&key) else {
        return Ok(Next::Wait);
    };
    let api: Api<PersistentVolumeClaim> = ownership::beside(&world.client, &*pod);
    for wanted in wanted(&pod) {
        let name = wanted.name_any();
        if let Some(present) = world.claims.get(&Key::new(&key.namespace, &name)) {
            let owner = claim::controller(&present.metadata).map(|owner| owner.uid.as_str());
            if owner != pod.metadata.uid.as_deref() {
                let note = format!(
                    "PVC {} was not created for pod {key} (pod is not owner)",
                    Key::of(&*present)
                );
                recorder.warning(pod.object_ref(&()), "FailedBinding", note);
            }
            continue;
        }
        match api.create(&PostParams::default(), &wanted).await {
            Ok(claim) => world.claims.wrote(claim),
            Err(error) => {
                let note = format!("ephemeral volume {name}: {}", message(&error));
                recorder.warning(pod.object_ref(&()), "FailedBinding", note);
                return Err(error.into());
            }
        }
    }
    Ok(Next::Wait)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_is_named_after_pod_and_volume_and_goes_with_the_pod() {
        let template =
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"]}});
        let volumes = json!([
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}},
            {"name": "plain", "emptyDir": {}},
        ]);
        let object = json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u"},
            "spec": {"containers": [], "volumes": volumes},
        });
        let pod: Pod = serde_json::from_value(object).unwrap();
        let claims: Vec<_> = wanted(&pod).collect();
        assert_eq!(claims.len(), 1);
        assert_eq!(claims[0].name_any(), "p-scratch");
        assert_eq!(
            claim::controller(&claims[0].metadata).map(|owner| &*owner.uid),
            Some("u")
        );
    }
}
