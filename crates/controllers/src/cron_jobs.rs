//! CronJobs: jobs that are started by the clock.

mod make;
mod missed;
mod plan;

use std::sync::Arc;

use jiff::{Timestamp, tz::TimeZone};
use k8s_openapi::{
    api::{
        batch::v1::{CronJob, CronJobStatus, Job},
        core::v1::ObjectReference,
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::{
    Api, Resource as _,
    api::{DeleteParams, PostParams},
};
use reconcile::{Change, Key, Next, Queue, Recorder, run};
use tokio::task::JoinSet;

use crate::{
    Result,
    jobs::notice::{Notice, words},
    pods::claim,
    world::World,
};
use kinds::workloads::timetable::{self, Timetable};
use plan::Plan;

const NAME: &str = "cronjob-controller";
const WORKERS: usize = 5;

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    let added = queue.clone();
    world.cron_jobs.on_change(move |change| {
        if let Some(cron_job) = change.after {
            let key = Key::of(&**cron_job);
            match next_after_change(change, Timestamp::now()) {
                Next::Wait => added.add(key),
                Next::After(wait) => added.add_after(key, wait),
            }
        }
    });
    let touched = queue.clone();
    world.jobs.on_change(move |change| {
        for job in [change.before, change.after].into_iter().flatten() {
            if let Some(key) = Key::of_controller(&**job, "CronJob") {
                touched.add(key);
            }
        }
    });
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder(NAME),
    });
    tasks.spawn(async move {
        controller.world.jobs.synced().await;
        controller.world.cron_jobs.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(key).await }
        })
        .await;
    });
}

/// A new schedule begins with its next time: what it would have missed, had it been there before, is
/// not made good for. Everything else that changes is looked at now.
fn next_after_change(change: &Change<'_, CronJob>, now: Timestamp) -> Next {
    let specs = change.before.zip(change.after).and_then(|(before, after)| {
        let specs = before.spec.as_ref().zip(after.spec.as_ref())?;
        Some((specs, missed::last_start(after)))
    });
    let Some(((before, after), last)) = specs else {
        return Next::Wait;
    };
    if before.schedule == after.schedule && before.time_zone == after.time_zone {
        return Next::Wait;
    }
    let zone = after
        .time_zone
        .as_deref()
        .and_then(timetable::zone)
        .unwrap_or(TimeZone::UTC);
    let table = Timetable::read(&after.schedule, zone).ok();
    table
        .and_then(|table| missed::until_next(last, &table, now))
        .map_or(Next::Wait, Next::After)
}

struct Controller {
    world: Arc<World>,
    recorder: Recorder,
}

impl Controller {
    async fn reconcile(&self, key: Key) -> Result<Next> {
        let Some(cron_job) = self.world.cron_jobs.get(&key) else {
            return Ok(Next::Wait);
        };
        let jobs = self.jobs_of(&cron_job).await?;
        let plan = plan::plan(&cron_job, &jobs, Timestamp::now());
        let next = plan.next;
        let mut status = plan.status.clone();
        let outcome = self.apply(&cron_job, plan, &mut status).await;
        if cron_job.status.as_ref().unwrap_or(&CronJobStatus::default()) != &status {
            let mut wanted = (*cron_job).clone();
            wanted.status = Some(status);
            wanted.metadata.managed_fields = None;
            let api: Api<CronJob> = Api::namespaced(self.world.client.clone(), &key.namespace);
            let written = api
                .replace_status(&key.name, &PostParams::default(), &wanted)
                .await?;
            self.world.cron_jobs.wrote(written);
        }
        outcome.map(|()| next)
    }

    /// What the CronJob controls. For a running job that the cache does not know the server is asked:
    /// the cache may be a moment late, and a job that is believed gone would be started again.
    async fn jobs_of(&self, cron_job: &CronJob) -> Result<Vec<Arc<Job>>> {
        let mut jobs = self
            .world
            .jobs
            .controlled_by(cron_job.metadata.uid.as_deref().unwrap_or_default());
        let active = cron_job
            .status
            .iter()
            .flat_map(|status| status.active.iter().flatten());
        for listed in active {
            if jobs.iter().any(|job| job.metadata.uid == listed.uid) {
                continue;
            }
            let found = self
                .api(cron_job)
                .get_opt(listed.name.as_deref().unwrap_or_default())
                .await?;
            jobs.extend(found.filter(|job| job.metadata.uid == listed.uid).map(Arc::new));
        }
        Ok(jobs)
    }

    /// Notes in the status what it has done, so that what fails half-way is not forgotten.
    async fn apply(&self, cron_job: &CronJob, plan: Plan, status: &mut CronJobStatus) -> Result<()> {
        for notice in plan.notices {
            self.tell(cron_job, notice);
        }
        for job in &plan.forget {
            // What cannot be deleted now is still too old the next time.
            let _ = self
                .delete(cron_job, job.metadata.name.as_deref().unwrap_or_default())
                .await;
        }
        for job in &plan.replace {
            self.delete(cron_job, job.name.as_deref().unwrap_or_default())
                .await?;
            plan::strike(status, job.uid.as_ref());
        }
        if let Some(at) = plan.start
            && let Some(job) = self.create(cron_job, at).await?
        {
            status.active.get_or_insert_default().push(job);
            status.last_schedule_time = Some(Time(at));
        }
        Ok(())
    }

    /// Makes the job, or finds the one that was made before a crash. `None` if its name is another's.
    async fn create(&self, cron_job: &CronJob, at: Timestamp) -> Result<Option<ObjectReference>> {
        let wanted = make::job(cron_job, at);
        let job = match self.api(cron_job).create(&PostParams::default(), &wanted).await {
            Ok(job) => {
                let text = format!("Created job {}", job.metadata.name.as_deref().unwrap_or_default());
                self.tell(cron_job, Notice::normal("SuccessfulCreate", text));
                self.world.jobs.wrote(job.clone());
                job
            }
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                let name = wanted.metadata.name.unwrap_or_default();
                let known = self.api(cron_job).get(&name).await?;
                let owner = claim::controller(&known.metadata).map(|owner| &owner.uid);
                if owner != cron_job.metadata.uid.as_ref() {
                    return Ok(None);
                }
                known
            }
            Err(error) => {
                let text = format!("Error creating job: {}", words(&error));
                self.tell(cron_job, Notice::warning("FailedCreate", text));
                return Err(error.into());
            }
        };
        Ok(Some(ObjectReference {
            resource_version: job.metadata.resource_version.clone(),
            ..job.object_ref(&())
        }))
    }

    async fn delete(&self, cron_job: &CronJob, name: &str) -> Result<()> {
        match self.api(cron_job).delete(name, &DeleteParams::background()).await {
            Ok(answer) => {
                let key = Key::new(cron_job.metadata.namespace.as_deref().unwrap_or_default(), name);
                match answer
                    .left()
                    .filter(|job| job.metadata.deletion_timestamp.is_some())
                {
                    Some(leaving) => self.world.jobs.wrote(leaving),
                    None => {
                        if let Some(gone) = self.world.jobs.get(&key) {
                            self.world.jobs.removed(&gone);
                        }
                    }
                }
                self.tell(
                    cron_job,
                    Notice::normal("SuccessfulDelete", format!("Deleted job {name}")),
                );
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => {
                let text = format!("Deleted job: {}", words(&error));
                self.tell(cron_job, Notice::warning("FailedDelete", text));
                Err(error.into())
            }
        }
    }

    fn tell(&self, cron_job: &CronJob, notice: Notice) {
        notice.tell(&self.recorder, cron_job.object_ref(&()));
    }

    fn api(&self, cron_job: &CronJob) -> Api<Job> {
        let namespace = cron_job.metadata.namespace.as_deref().unwrap_or_default();
        Api::namespaced(self.world.client.clone(), namespace)
    }
}
