//! PodDisruptionBudgets: how many of their pods may be taken away at the moment.

mod plan;
mod scale;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::{
    core::v1::Pod,
    policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus},
};
use kube::{
    Api, Resource as _,
    api::{Patch, PatchParams},
};
use reconcile::{Key, Next, Queue, Recorder, run, selectors};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{Result, ownership, status::changes, world::World};
use plan::Observed;

const NAME: &str = "disruption-controller";
const WORKERS: usize = 2;

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    listen(world, &queue);
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder("controllermanager"),
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.disruption_budgets.synced().await;
        world.pods.synced().await;
        world.replica_sets.synced().await;
        world.deployments.synced().await;
        world.stateful_sets.synced().await;
        world.replication_controllers.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(key).await }
        })
        .await;
    });
}

fn listen(world: &Arc<World>, queue: &Queue<Key>) {
    let touched = queue.clone();
    world.disruption_budgets.on_change(move |change| {
        if let Some(budget) = change.after {
            touched.add(Key::of(&**budget));
        }
    });
    let (touched, budgets) = (queue.clone(), world.disruption_budgets.clone());
    world.pods.on_change(move |change| {
        let Some(pod) = change.object() else { return };
        for budget in budgets.in_namespace(pod.metadata.namespace.as_deref().unwrap_or_default()) {
            let mut pods = [change.before, change.after].into_iter().flatten();
            if pods.any(|pod| selects(&budget, pod)) {
                touched.add(Key::of(&*budget));
            }
        }
    });
}

fn selects(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    selector.is_some_and(|selector| selectors::matches(selector, pod.metadata.labels.as_ref()))
}

struct Controller {
    world: Arc<World>,
    recorder: Recorder,
}

impl Controller {
    async fn reconcile(&self, key: Key) -> Result<Next> {
        let Some(budget) = self.world.disruption_budgets.get(&key) else {
            return Ok(Next::Wait);
        };
        let pods: Vec<Arc<Pod>> = self
            .world
            .pods
            .in_namespace(&key.namespace)
            .into_iter()
            .filter(|pod| selects(&budget, pod))
            .collect();
        let scale = if plan::needs_scale(&budget) {
            Some(scale::of(&self.world, &pods).await?)
        } else {
            None
        };
        let plan = plan::plan(&Observed {
            budget: &budget,
            pods: &pods,
            scale: scale.as_ref(),
            now: Timestamp::now(),
        });
        for pod in &plan.not_deleted {
            let note = format!("Pod was expected by PDB {key} to be deleted but it wasn't");
            self.recorder.warning(pod.object_ref(&()), "NotDeleted", note);
        }
        if self.write(&key, &budget, &plan.status).await? {
            self.tell(&budget, &plan.notes);
        }
        Ok(plan.next)
    }

    /// Whether the status was another. An eviction that counts at the same time comes first: the
    /// version makes sure that it is not undone.
    async fn write(
        &self,
        key: &Key,
        budget: &PodDisruptionBudget,
        status: &PodDisruptionBudgetStatus,
    ) -> Result<bool> {
        let Some(status) = changes(budget.status.as_ref(), status) else {
            return Ok(false);
        };
        let patch = Patch::Merge(json!({
            "metadata": {"resourceVersion": budget.metadata.resource_version},
            "status": status,
        }));
        let api: Api<PodDisruptionBudget> = ownership::beside(&self.world.client, budget);
        match api.patch_status(&key.name, &PatchParams::default(), &patch).await {
            Ok(written) => self.world.disruption_budgets.wrote(written),
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    fn tell(&self, budget: &PodDisruptionBudget, notes: &[plan::Note]) {
        for note in notes {
            let about = budget.object_ref(&());
            if note.is_warning {
                self.recorder.warning(about, note.reason, note.text.clone());
            } else {
                self.recorder.normal(about, note.reason, note.text.clone());
            }
        }
    }
}
