//! Deletes jobs that are over, as long after their end as they ask for.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use kube::{
    Api,
    api::{DeleteParams, Preconditions},
};
use reconcile::{Key, Next, Queue, run};
use tokio::task::JoinSet;

use crate::{Result, jobs, world::World};

const NAME: &str = "ttl-after-finished-controller";
const WORKERS: usize = 5;

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    let added = queue.clone();
    world.jobs.on_change(move |change| {
        if let Some(job) = change.after.filter(|job| expiry(job).is_some()) {
            added.add(Key::of(&**job));
        }
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.jobs.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let world = world.clone();
            async move { reconcile(&world, key).await }
        })
        .await;
    });
}

async fn reconcile(world: &World, key: Key) -> Result<Next> {
    let Some(job) = world.jobs.get(&key) else {
        return Ok(Next::Wait);
    };
    if let Some(next) = not_yet(&job, Timestamp::now()) {
        return Ok(next);
    }
    // The user may have changed the time a moment ago; what is deleted is gone.
    let api: Api<Job> = Api::namespaced(world.client.clone(), &key.namespace);
    let Some(fresh) = api.get_opt(&key.name).await? else {
        return Ok(Next::Wait);
    };
    if let Some(next) = not_yet(&fresh, Timestamp::now()) {
        return Ok(next);
    }
    let parameters = DeleteParams::foreground().preconditions(Preconditions {
        uid: fresh.metadata.uid.clone(),
        resource_version: None,
    });
    match api.delete(&key.name, &parameters).await {
        Ok(_) => Ok(Next::Wait),
        // Somebody else was faster.
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => Ok(Next::Wait),
        Err(error) => Err(error.into()),
    }
}

/// What to wait for before the job is deleted; `None` if it is time.
fn not_yet(job: &Job, now: Timestamp) -> Option<Next> {
    let Some(expiry) = expiry(job) else {
        return Some(Next::Wait);
    };
    let left = expiry.duration_since(now);
    left.is_positive()
        .then(|| Next::After(Duration::try_from(left).unwrap_or_default()))
}

/// When the job is to be deleted, if it ever is.
fn expiry(job: &Job) -> Option<Timestamp> {
    if job.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let seconds = job.spec.as_ref()?.ttl_seconds_after_finished?;
    let end = jobs::end(job)?.last_transition_time.as_ref()?.0;
    end.checked_add(SignedDuration::from_secs(seconds.into())).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn job(condition: &str, seconds: Value) -> Job {
        let conditions = json!([
            {"type": condition, "status": "True", "lastTransitionTime": "1970-01-01T00:01:40Z"},
        ]);
        serde_json::from_value(json!({
            "spec": {"ttlSecondsAfterFinished": seconds, "template": {}},
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_job_goes_when_its_time_after_the_end_is_over() {
        let seconds = |seconds| Some(Next::After(Duration::from_secs(seconds)));
        assert_eq!(not_yet(&job("Complete", json!(60)), at(110)), seconds(50));
        assert_eq!(not_yet(&job("Failed", json!(60)), at(160)), None);
        assert_eq!(not_yet(&job("Complete", json!(0)), at(100)), None);
    }

    #[test]
    fn a_job_that_runs_or_asks_for_nothing_or_goes_anyway_is_left_alone() {
        assert_eq!(
            not_yet(&job("FailureTarget", json!(0)), at(999)),
            Some(Next::Wait)
        );
        assert_eq!(not_yet(&job("Complete", json!(null)), at(999)), Some(Next::Wait));
        let mut going = job("Complete", json!(0));
        going.metadata.deletion_timestamp = serde_json::from_value(json!("1970-01-01T00:02:00Z")).unwrap();
        assert_eq!(not_yet(&going, at(999)), Some(Next::Wait));
    }
}
