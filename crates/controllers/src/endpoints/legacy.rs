//! Endpoints objects of services that select pods.

use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::{
    api::core::v1::{Endpoints, Pod, Service},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Api, Resource as _, api::PostParams};
use reconcile::{Key, Next, Queue, Recorder, run};
use tokio::task::JoinSet;

use super::{HEADLESS, TRIGGER_TIME, WORKERS, backends, subsets, trigger::Triggers};
use crate::{Result, message, ownership, world::World};

const NAME: &str = "endpoint-controller";
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    super::follow_services(world, &queue);
    let removed = queue.clone();
    world.endpoints.on_change(move |change| {
        if let (Some(endpoints), None) = (change.before, change.after) {
            removed.add(Key::of(&**endpoints));
        }
    });
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder(NAME),
        triggers: Mutex::default(),
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.pods.synced().await;
        world.services.synced().await;
        world.endpoints.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(key).await }
        })
        .await;
    });
}

struct Controller {
    world: Arc<World>,
    recorder: Recorder,
    triggers: Mutex<Triggers>,
}

impl Controller {
    async fn reconcile(&self, key: Key) -> Result<Next> {
        let known = self.world.endpoints.get(&key);
        let Some(service) = self.world.services.get(&key) else {
            self.triggers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .forget(&key);
            if let Some(endpoints) = known {
                super::delete(&self.world.client, &self.world.endpoints, &*endpoints).await?;
            }
            return Ok(Next::Wait);
        };
        if !super::has_selector(&service) {
            return Ok(Next::Wait);
        }
        let pods = super::selected(&self.world, &service);
        let trigger = self
            .triggers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .since_last_look(&key, &service, &pods);
        if let Some(wanted) = plan(&service, &pods, known.as_deref(), trigger) {
            self.write(&service, wanted).await?;
        }
        Ok(Next::Wait)
    }

    async fn write(&self, service: &Service, endpoints: Endpoints) -> Result<()> {
        let api: Api<Endpoints> = ownership::beside(&self.world.client, service);
        let name = endpoints.metadata.name.as_deref().unwrap_or_default();
        let namespace = service.metadata.namespace.as_deref().unwrap_or_default();
        let is_new = endpoints.metadata.resource_version.is_none();
        let written = if is_new {
            api.create(&PostParams::default(), &endpoints).await
        } else {
            api.replace(name, &PostParams::default(), &endpoints).await
        };
        let error = match written {
            Ok(written) => {
                self.world.endpoints.wrote(written);
                return Ok(());
            }
            Err(kube::Error::Api(status)) if is_new && crate::is_namespace_terminating(&status) => {
                return Ok(());
            }
            Err(error) => error,
        };
        let cause = message(&error);
        let (reason, note) = if is_new {
            let note = format!("Failed to create endpoint for service {namespace}/{name}: {cause}");
            ("FailedToCreateEndpoint", note)
        } else {
            let note = format!("Failed to update endpoint {namespace}/{name}: {cause}");
            ("FailedToUpdateEndpoint", note)
        };
        self.recorder.warning(endpoints.object_ref(&()), reason, note);
        Err(error.into())
    }
}

/// The object as it should be; `None` if it is.
fn plan(
    service: &Service,
    pods: &[Arc<Pod>],
    known: Option<&Endpoints>,
    trigger: Option<String>,
) -> Option<Endpoints> {
    let mut subsets = subsets::subsets(service, pods);
    let is_over = subsets::truncate(&mut subsets);
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    labels.remove(HEADLESS);
    if !backends::has_address(service) {
        labels.insert(HEADLESS.into(), String::new());
    }
    labels.insert(MANAGED_BY.into(), NAME.into());
    let subsets = (!subsets.is_empty()).then_some(subsets);

    let mut wanted = known.cloned().unwrap_or_else(|| Endpoints {
        metadata: ObjectMeta {
            name: service.metadata.name.clone(),
            namespace: service.metadata.namespace.clone(),
            ..ObjectMeta::default()
        },
        subsets: None,
    });
    let annotations = wanted.metadata.annotations.get_or_insert_default();
    let was_over = annotations.contains_key(OVER_CAPACITY);
    if known.is_some_and(|known| {
        known.subsets == subsets && known.metadata.labels.as_ref() == Some(&labels) && was_over == is_over
    }) {
        return None;
    }
    match trigger {
        Some(time) => drop(annotations.insert(TRIGGER_TIME.into(), time)),
        None => drop(annotations.remove(TRIGGER_TIME)),
    }
    if is_over {
        annotations.insert(OVER_CAPACITY.into(), "truncated".into());
    } else {
        annotations.remove(OVER_CAPACITY);
    }
    wanted.metadata.labels = Some(labels);
    wanted.subsets = subsets;
    Some(wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn endpoints_carry_the_services_labels_and_are_written_once() {
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "n", "labels": {"app": "web"}},
            "spec": {"clusterIP": "None", "selector": {"app": "web"}},
        }))
        .unwrap();
        let wanted = plan(&service, &[], None, Some("then".into())).unwrap();
        assert_eq!(
            json!(wanted.metadata),
            json!({"name": "web", "namespace": "n", "annotations": {TRIGGER_TIME: "then"},
                "labels": {"app": "web", HEADLESS: "", MANAGED_BY: "endpoint-controller"}})
        );
        assert_eq!(plan(&service, &[], Some(&wanted), None), None);
    }
}
