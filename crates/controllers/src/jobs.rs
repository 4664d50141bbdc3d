//! Jobs: pods that work until enough of them have succeeded.

mod account;
mod apply;
mod backoff;
mod failure_policy;
mod indexes;
mod make;
pub(crate) mod notice;
mod observed;
mod plan;
mod strays;
mod success_policy;
mod tracking;
mod verdict;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::{
    batch::v1::{Job, JobCondition, JobSpec},
    core::v1::Pod,
};
use kube::Resource as _;
use reconcile::{Change, Key, Next, Queue, Recorder, run, selectors};
use tokio::task::JoinSet;

use crate::{Result, pods::claim, world::World};
use notice::Notice;
use observed::Observed;

const NAME: &str = "job-controller";
const WORKERS: usize = 5;
/// Pods come and go together; their job looks at them together.
const GATHERING: Duration = Duration::from_millis(100);

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    let added = queue.clone();
    world.jobs.on_change(move |change| {
        if let Some(job) = change.after {
            added.add(Key::of(&**job));
        }
    });
    let (touched, jobs) = (queue.clone(), world.jobs.clone());
    world.pods.on_change(move |change| {
        for key in concerned(change, |namespace| jobs.in_namespace(namespace)) {
            touched.add_after(key, GATHERING);
        }
    });
    strays::start(world, tasks);
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder(NAME),
    });
    tasks.spawn(async move {
        controller.world.pods.synced().await;
        controller.world.jobs.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(key).await }
        })
        .await;
    });
}

/// The condition that says that a job is over: Complete or Failed.
pub(crate) fn end(job: &Job) -> Option<&JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| {
        matches!(condition.type_.as_str(), "Complete" | "Failed") && condition.status == "True"
    })
}

/// The jobs a changed pod belongs to, or, if it belongs to nobody, could belong to.
fn concerned(change: &Change<'_, Pod>, jobs: impl Fn(&str) -> Vec<Arc<Job>>) -> Vec<Key> {
    let pods = [change.before, change.after];
    let owners = pods.iter().flatten();
    let mut keys: Vec<Key> = owners
        .filter_map(|pod| Key::of_controller(&***pod, "Job"))
        .collect();
    if let Some(orphan) = change
        .after
        .filter(|pod| claim::controller(&pod.metadata).is_none())
    {
        let jobs = jobs(orphan.metadata.namespace.as_deref().unwrap_or_default());
        let candidates = jobs.iter().filter(|job| selects(job, orphan));
        keys.extend(candidates.map(|job| Key::of(&**job)));
    }
    keys
}

fn selects(job: &Job, pod: &Pod) -> bool {
    let selector = job.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    selector.is_some_and(|selector| {
        !selectors::is_empty(selector) && selectors::matches(selector, pod.metadata.labels.as_ref())
    })
}

/// Another controller looks after the job.
fn is_managed_by_another(job: &Job) -> bool {
    let manager = job.spec.as_ref().and_then(|spec| spec.managed_by.as_deref());
    manager.is_some_and(|manager| manager != "kubernetes.io/job-controller")
}

struct Controller {
    world: Arc<World>,
    recorder: Recorder,
}

impl Controller {
    async fn reconcile(&self, key: Key) -> Result<Next> {
        let Some(job) = self.world.jobs.get(&key) else {
            return Ok(Next::Wait);
        };
        let Some(spec) = &job.spec else {
            return Ok(Next::Wait);
        };
        if is_managed_by_another(&job) || end(&job).is_some() {
            return Ok(Next::Wait);
        }
        if !matches!(
            spec.completion_mode.as_deref(),
            None | Some("Indexed" | "NonIndexed")
        ) {
            let text = "Skipped Job sync because completion mode is unknown";
            Notice::warning("UnknownCompletionMode", text).tell(&self.recorder, job.object_ref(&()));
            return Ok(Next::Wait);
        }
        self.bring_in_line(&job, spec).await
    }

    async fn bring_in_line(&self, job: &Job, spec: &JobSpec) -> Result<Next> {
        let now = Timestamp::now();
        self.claim(job).await?;
        let pods = self.own_pods(job);
        let plan = plan::plan(&Observed::new(job, spec, &pods, now));
        let failure = self.apply(job, &plan).await;

        // What was just done is known already, so that the status tells of it at once.
        let pods = self.own_pods(job);
        let account = account::account(&Observed::new(job, spec, &pods, now));
        self.write(job, account).await?;
        failure.map(|()| plan.next)
    }

    fn own_pods(&self, job: &Job) -> Vec<Arc<Pod>> {
        let uid = job.metadata.uid.as_deref().unwrap_or_default();
        let mut pods = self.world.pods.controlled_by(uid);
        pods.retain(|pod| selects(job, pod));
        pods
    }
}
