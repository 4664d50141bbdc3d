//! The loop over CronWorkflows: which workflows are due, which give way, which are kept.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use reconcile::{Cached as _, Closing, Key, Next, Queue, Recorder, requests, run};
use resources::workflows::{CRON_WORKFLOW, WORKFLOW};
use serde_json::{Value, json};
use workflows::cron::{self, Child, CronPlan};

use crate::{
    apply::{delete_object, reference},
    kept::KeptWorkflow,
    places::folder,
    world::World,
};

const WORKERS: usize = 4;
const SOON: Duration = Duration::from_millis(100);
/// What was refused may be possible later, though nobody says when.
const RETRY: Duration = Duration::from_secs(5);

struct Clock {
    world: Arc<World>,
    recorder: Recorder,
}

/// Looks after all CronWorkflows until it is told to end.
pub(crate) async fn follow(world: Arc<World>, closing: Closing) {
    let queue = Queue::new();
    let recorder = Recorder::new(world.client.clone(), "workflow-controller");
    wake(&queue, &world);
    let clock = Arc::new(Clock {
        world,
        recorder: recorder.clone(),
    });
    let working = run("cron-workflow", queue.clone(), WORKERS, move |key| {
        let clock = clock.clone();
        async move { clock.look(key).await }
    });
    let closed = async {
        closing.heard().await;
        queue.close();
    };
    tokio::join!(working, closed);
    recorder.finish().await;
}

fn wake(queue: &Queue<Key>, world: &World) {
    let woken = queue.clone();
    world.crons.on_change(move |change| {
        if let Some(cron) = change.object() {
            woken.add(Key::of(&**cron));
        }
    });
    let woken = queue.clone();
    world.workflows.on_change(move |change| {
        let workflow = change.object();
        if let Some(key) = workflow.and_then(|one| Key::of_controller(&**one, CRON_WORKFLOW.kind)) {
            woken.add(key);
        }
    });
}

impl Clock {
    async fn look(&self, key: Key) -> kube::Result<Next> {
        let Some(kept) = self.world.crons.get(&key) else {
            return Ok(Next::Wait);
        };
        let Some(object) = kept.object() else {
            return Ok(Next::Wait);
        };
        if object["metadata"]["deletionTimestamp"].is_string() {
            return Ok(Next::Wait);
        }
        let children = self.world.workflows.controlled_by(kept.uid());
        let children: Vec<Child> = children.iter().map(|child| of(child)).collect();
        let now = Timestamp::now();
        let plan = cron::plan(&object, &children, now);
        let done = self.carry_out(&key, &object, &plan).await?;
        Ok(done.or(next(&plan, now)))
    }

    /// The workflow is made before it is noted that it was: its name is one for each time.
    async fn carry_out(&self, key: &Key, object: &Value, plan: &CronPlan) -> kube::Result<Next> {
        let (client, workflows) = (&self.world.client, folder(&WORKFLOW, &key.namespace));
        for name in &plan.terminate {
            let patch = json!({"spec": {"shutdown": "Terminate"}});
            match requests::merge::<KeptWorkflow>(client, &workflows, name, &patch).await {
                Ok(stopped) => self.world.workflows.wrote(stopped),
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(workflow) = &plan.make {
            match requests::create::<KeptWorkflow>(client, &workflows, workflow).await {
                Ok(made) => {
                    let note = format!("Created workflow: {}", made.name());
                    self.world.workflows.wrote(made);
                    self.recorder
                        .normal(reference(&CRON_WORKFLOW, object), "SuccessfulCreate", note);
                }
                Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
                Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 413 | 422) => {
                    let note = format!("Error creating: {}", status.message);
                    self.recorder
                        .warning(reference(&CRON_WORKFLOW, object), "FailedCreate", note);
                    return Ok(Next::After(RETRY));
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(wanted) = &plan.object {
            let crons = folder(&CRON_WORKFLOW, &key.namespace);
            match requests::replace(client, &crons, &key.name, wanted).await {
                Ok(stored) => self.world.crons.wrote(stored),
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                    return Ok(Next::After(SOON));
                }
                Err(error) => return Err(error),
            }
        }
        for (name, uid) in &plan.delete {
            delete_object(client, &workflows, name, uid).await?;
        }
        Ok(Next::Wait)
    }
}

fn of(workflow: &KeptWorkflow) -> Child {
    Child {
        name: workflow.name().to_owned(),
        uid: workflow.uid().to_owned(),
        phase: workflow.phase,
        finished_at: workflow.finished_at,
        is_being_deleted: workflow.is_being_deleted,
        is_being_stopped: workflow.is_being_stopped,
    }
}

fn next(plan: &CronPlan, now: Timestamp) -> Next {
    let Some(at) = plan.wake_at else { return Next::Wait };
    let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
    // Timers may fire a moment early.
    Next::After(wait.max(SOON) + Duration::from_millis(5))
}
