//! The loop over the jobs of one kind: observe, plan, apply, and look again when something changes.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::{
    autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::Job,
    core::v1::{ConfigMap, Pod, Secret, Service, ServiceAccount},
    rbac::v1::{Role, RoleBinding},
};
use kube::core::{ApiResource, DynamicObject};
use parking_lot::Mutex;
use reconcile::{Cached as _, Change, Informer, Key, Next, Queue, Recorder, Unread, run};
use resources::{Kind, kinds::MPI_JOB};
use tokio::{task::JoinSet, time::Instant};
use training::{Plan, Refusal, Settings, plan};

use crate::{
    Closing, Definitions, Metrics,
    apply::Made,
    definitions, launched,
    metrics::{MPI_JOB_INFO, QUEUE_DEPTH, written},
    milestones::count_deleted,
    observe::{has_begun, has_foreign, observe},
    pod_groups::{PluginsGroup, VolcanoGroup},
    pods_first::PodsFirst,
    seen::{Seen, Watched},
    stored_job::{KeptJob, StoredJob, resource},
    world::World,
};

/// So many jobs of a kind are worked on at a time, unless something else is said.
pub(crate) const WORKERS: usize = 16;
/// Pods come and go together; their job looks at them together.
const GATHERING: Duration = Duration::from_millis(50);
/// What was refused or in the way may be possible later, though nobody says when.
const RETRY: Duration = Duration::from_secs(5);
/// Another look is due, but not in a circle that keeps a processor busy.
const SOON: Duration = Duration::from_millis(100);

pub(crate) struct Controller {
    pub kind: &'static Kind,
    pub resource: ApiResource,
    pub world: Arc<World>,
    pub jobs: Informer<KeptJob>,
    pub recorder: Recorder,
    pub metrics: Metrics,
    pub closing: Closing,
    pub settings: Arc<Settings>,
    pub pods_first: PodsFirst,
    /// What the API refused to make of jobs when they were last looked at.
    refusals: Mutex<HashMap<Key, Vec<Refusal>>>,
}

/// What a controller is made of.
pub(crate) struct Start {
    pub kind: &'static Kind,
    pub definitions: Definitions,
    pub world: Arc<World>,
    pub settings: Arc<Settings>,
    pub workers: usize,
    pub metrics: Metrics,
    pub closing: Closing,
}

impl Start {
    /// Looks after all jobs of a kind until it is told to end.
    pub(crate) async fn follow(self) {
        let (closing, workers, kind) = (self.closing.clone(), self.workers, self.kind);
        let (controller, queue, _watches) = tokio::select! {
            ready = self.ready() => ready,
            () = closing.heard() => return,
        };
        let recorder = controller.recorder.clone();
        let order = controller.clone();
        let working = run(name(kind), queue.clone(), workers, move |key| {
            let controller = controller.clone();
            async move { controller.look(key).await }
        });
        let closed = async {
            closing.heard().await;
            queue.close();
        };
        let working = async {
            tokio::select! {
                () = working => {}
                never = order.pods_first.wake(&queue) => match never {},
            }
        };
        tokio::join!(working, closed);
        recorder.finish().await;
    }

    /// Resolves when everything that was there at the start is known.
    async fn ready(self) -> (Arc<Controller>, Queue<Key>, JoinSet<()>) {
        let (world, kind, resource) = (self.world, self.kind, resource(self.kind));
        if self.definitions == Definitions::Install {
            definitions::install(&world.client, kind).await;
        }
        definitions::served(&world.client, &resource).await;
        let mut watches = JoinSet::new();
        let api = Unread::of::<DynamicObject>(world.client.clone(), &resource, world.namespace.as_deref());
        let jobs = Informer::start(api, &mut watches);
        let queue = Queue::new();
        world.synced().await;
        jobs.synced().await;
        wake_by_jobs(&queue, &jobs);
        wake_by_children(&queue, kind, &world);
        figures(&self.metrics, kind, &queue, &jobs);
        let controller = Controller {
            kind,
            resource,
            recorder: Recorder::new(world.client.clone(), name(kind)),
            world,
            jobs,
            metrics: self.metrics,
            closing: self.closing,
            settings: self.settings,
            pods_first: PodsFirst::default(),
            refusals: Mutex::default(),
        };
        (Arc::new(controller), queue, watches)
    }
}

/// What is shown of the jobs of a kind, and counted when they go.
fn figures(metrics: &Metrics, kind: &'static Kind, queue: &Queue<Key>, jobs: &Informer<KeptJob>) {
    let queue = queue.clone();
    metrics.show(&QUEUE_DEPTH, move || {
        vec![(written(&[("name", name(kind))]), queue.len() as f64)]
    });
    if kind.kind == MPI_JOB.kind {
        let jobs = jobs.clone();
        metrics.show(&MPI_JOB_INFO, move || {
            let info = |job: &Arc<KeptJob>| {
                let launcher = format!("{}-launcher", job.name());
                (
                    written(&[("launcher", &launcher), ("namespace", job.namespace())]),
                    1.0,
                )
            };
            jobs.all().iter().map(info).collect()
        });
    }
    let metrics = metrics.clone();
    jobs.on_change(move |change| {
        if let (Some(gone), None) = (change.before, change.after) {
            count_deleted(&metrics, kind, gone.namespace());
        }
    });
}

/// Who says what is said in events.
fn name(kind: &Kind) -> &'static str {
    match kind.operator {
        "" => "mxjob-controller",
        operator => operator,
    }
}

fn wake_by_jobs(queue: &Queue<Key>, jobs: &Informer<KeptJob>) {
    let queue = queue.clone();
    jobs.on_change(move |change| {
        if let Some(job) = change.object() {
            queue.add(Key::of(&**job));
        }
    });
}

/// Children that change or are gone make their job be looked at.
fn wake_by_children(queue: &Queue<Key>, kind: &'static Kind, world: &World) {
    wake_by::<Service>(queue, kind, world);
    wake_by::<ConfigMap>(queue, kind, world);
    wake_by::<Job>(queue, kind, world);
    wake_by::<HorizontalPodAutoscaler>(queue, kind, world);
    wake_by::<Role>(queue, kind, world);
    wake_by::<RoleBinding>(queue, kind, world);
    wake_by::<Secret>(queue, kind, world);
    wake_by::<ServiceAccount>(queue, kind, world);
    wake_by::<Pod>(queue, kind, world);
    wake_by::<VolcanoGroup>(queue, kind, world);
    wake_by::<PluginsGroup>(queue, kind, world);
    let (queue, batch_jobs) = (queue.clone(), world.jobs.clone());
    world.pods.on_change(move |change| {
        let Some(batch_job) = owner(change, "Job") else {
            return;
        };
        let key = match batch_jobs.get(&batch_job) {
            Some(job) => Key::of_controller(&*job, kind.kind),
            // The next launcher waits for the end of this one.
            None if kind.kind == MPI_JOB.kind => launched::mpi_job(&batch_job),
            None => None,
        };
        if let Some(key) = key {
            queue.add_after(key, GATHERING);
        }
    });
}

fn wake_by<K: Watched>(queue: &Queue<Key>, kind: &'static Kind, world: &World) {
    let queue = queue.clone();
    K::informer(world).on_change(move |change| {
        if let Some(key) = owner(change, kind.kind) {
            queue.add_after(key, GATHERING);
        }
    });
}

fn owner<K: Watched>(change: &Change<'_, Seen<K>>, kind: &str) -> Option<Key> {
    change
        .object()
        .and_then(|child| Key::of_controller(&**child, kind))
}

impl Controller {
    async fn look(&self, key: Key) -> kube::Result<Next> {
        let started = Instant::now();
        let outcome = self.reconcile(key).await;
        self.metrics
            .reconciled(name(self.kind), started.elapsed(), outcome.is_ok());
        outcome
    }

    async fn reconcile(&self, key: Key) -> kube::Result<Next> {
        let Some(kept) = self.jobs.get(&key) else {
            self.refusals.lock().remove(&key);
            self.pods_first.forget(&key);
            return Ok(Next::Wait);
        };
        if self.pods_first.still_gives_way(&key, Instant::now()) && !has_begun(&self.world, kept.uid()) {
            return Ok(Next::Wait);
        }
        let job = StoredJob::of(kept);
        let mut decided = self.decide(&key, &job);
        let refusals = match self.make(&job, &decided.plan.make).await? {
            Made::All { but } => {
                self.pods_first.forget(&key);
                but
            }
            Made::PodsOnly => return Ok(Next::Wait),
        };
        if self.closing.is_said() {
            // Whoever acts next goes on from what there is.
            return Ok(Next::Wait);
        }
        let is_refused = !refusals.is_empty();
        if self.remember(&key, refusals) {
            // The status is to tell of it, so it is decided again.
            return Ok(Next::After(SOON));
        }
        if !decided.plan.make.is_empty() {
            // One status tells of what was decided and of what has come of it.
            decided = self.decide(&key, &job);
        }
        let next = self.carry_out(&job, &decided.plan).await?;
        Ok(next
            .or(decided.obstacle(is_refused))
            .or(wake(&decided.plan, decided.at)))
    }

    fn decide(&self, key: &Key, job: &StoredJob) -> Decided {
        let refusals = self.refusals.lock().get(key).cloned().unwrap_or_default();
        let observed = observe(&self.world, job, &self.settings, refusals);
        let at = Timestamp::now();
        Decided {
            plan: plan(&job.object, &observed, &self.settings, at),
            is_obstructed: has_foreign(&observed, job),
            at,
        }
    }

    /// Everything but making, in the order that `training` asks for. It may end anywhere and begin again.
    async fn carry_out(&self, job: &StoredJob, plan: &Plan) -> kube::Result<Next> {
        self.delete(job, &plan.delete).await?;
        if let Some(status) = &plan.status
            && !self.write_status(job, status).await?
        {
            return Ok(Next::After(SOON));
        }
        self.tell(job, &plan.events);
        if plan.delete_job {
            self.delete_job(job).await?;
        }
        Ok(Next::Wait)
    }

    /// Whether it is other than what was known.
    fn remember(&self, key: &Key, refusals: Vec<Refusal>) -> bool {
        let mut known = self.refusals.lock();
        if refusals.is_empty() {
            return known.remove(key).is_some();
        }
        let names = |refusals: &[Refusal]| refusals.first().cloned();
        let before = known.insert(key.clone(), refusals.clone());
        before.as_deref().and_then(names) != names(&refusals)
    }
}

/// What a look at a job has come to.
struct Decided {
    plan: Plan,
    /// Something of another owner has the name of a child.
    is_obstructed: bool,
    at: Timestamp,
}

impl Decided {
    /// When to try again what has not come about, though nothing tells that it would now.
    fn obstacle(&self, is_refused: bool) -> Next {
        let is_in_the_way = self.is_obstructed && !self.plan.events.is_empty();
        // A child that was to be patched is gone, say, and the watch has not told yet; or somebody sets back what we
        // set, who must not be fought ten times a second.
        let is_unmade = !self.plan.make.is_empty();
        if is_refused || is_in_the_way || is_unmade {
            Next::After(RETRY)
        } else {
            Next::Wait
        }
    }
}

fn wake(plan: &Plan, now: Timestamp) -> Next {
    let Some(at) = plan.wake_at else { return Next::Wait };
    let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
    Next::After(wait.max(SOON))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use training::{Child, Make};

    use super::*;

    fn decided(is_made: bool) -> Decided {
        let child = Child {
            object: json!({"kind": "Role"}),
            make: Make::Patch,
        };
        Decided {
            plan: Plan {
                make: if is_made { Vec::new() } else { vec![child] },
                ..Plan::default()
            },
            is_obstructed: false,
            at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn what_is_still_to_be_made_or_was_refused_is_tried_again() {
        assert_eq!(decided(true).obstacle(false), Next::Wait);
        assert_eq!(decided(false).obstacle(false), Next::After(RETRY));
        assert_eq!(decided(true).obstacle(true), Next::After(RETRY));
    }
}
