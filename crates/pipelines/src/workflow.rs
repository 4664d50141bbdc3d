//! The loop over workflows: observe, plan, look up what is asked for, apply.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
    thread,
    time::Duration,
};

use jiff::Timestamp;
use parking_lot::Mutex;
use reconcile::{Cached, Closing, Key, Next, Queue, Recorder, requests, run};
use resources::workflows::WORKFLOW;
use serde_json::Value;
use workflows::{Locks, Observed, Plan, Refusal, Settings, Under, plan};

use crate::{
    kept::{KeptWorkflow, SeenPod},
    lookups::look_up,
    places::folder,
    world::World,
};

/// So many workflows are worked on at a time.
const WORKERS: usize = 16;
/// Pods come and go together; their workflow looks at them together, and the longer the more of them are still to end:
/// a workflow is as large as the number of its pods, and would be stored as often.
const GATHERING: Duration = Duration::from_millis(10);
const GATHERING_EACH: Duration = Duration::from_micros(200);
const LONGEST_GATHERING: Duration = Duration::from_millis(500);
/// Looks in a row at one workflow; more would be a circle.
const LOOKS: usize = 64;
const SOON: Duration = Duration::from_millis(100);
/// Only what is used of it is taken.
const STACK: usize = 64 << 20;
/// What was refused may be possible later, though nobody says when.
const RETRY: Duration = Duration::from_secs(5);

pub(crate) struct Controller {
    pub world: Arc<World>,
    pub recorder: Recorder,
    pub closing: Closing,
    queue: Queue<Key>,
    settings: Settings,
    /// What all workflows hold together, and what is left of those that are gone.
    locks: Mutex<Locks>,
    gone: Departed,
    /// What the API refused to make of workflows when they were last looked at.
    refusals: Mutex<HashMap<Key, BTreeMap<String, Refusal>>>,
}

/// Names of workflows that went since somebody looked, whether there is another of that name or not.
type Departed = Arc<Mutex<HashSet<Key>>>;

/// Looks after all workflows until it is told to end.
pub(crate) async fn follow(world: Arc<World>, settings: Settings, closing: Closing) {
    let queue = Queue::new();
    let recorder = Recorder::new(world.client.clone(), "workflow-controller");
    let gone = Departed::default();
    // First, so that nobody goes between.
    wake(&queue, &world, &gone);
    let controller = Arc::new(Controller {
        locks: Mutex::new(held(&world)),
        gone,
        world,
        recorder: recorder.clone(),
        closing: closing.clone(),
        queue: queue.clone(),
        settings,
        refusals: Mutex::default(),
    });
    let working = run("workflow", queue.clone(), WORKERS, move |key| {
        let controller = controller.clone();
        async move { controller.look(key).await }
    });
    let closed = async {
        closing.heard().await;
        queue.close();
    };
    tokio::join!(working, closed);
    recorder.finish().await;
}

/// Who holds which lock, as the workflows themselves say.
fn held(world: &World) -> Locks {
    let mut locks = Locks::default();
    for kept in world.workflows.all() {
        if kept.is_foreign {
            continue;
        }
        if let Some(object) = kept.object() {
            locks.restore(kept.namespace(), &object);
        }
    }
    let pods = world.pods.all();
    let holding = pods.iter().filter(|seen| seen.is_under_locks());
    let workflows: HashSet<Key> = holding.filter_map(|seen| seen.workflow()).collect();
    for workflow in workflows {
        inherit(world, &mut locks, &workflow);
    }
    locks
}

/// Finds out what is held by pods of workflows of this name that are gone.
fn inherit(world: &World, locks: &mut Locks, key: &Key) {
    let living = world.workflows.get(key);
    let living = living.as_deref().map_or("", KeptWorkflow::uid);
    let pods = world.pods.in_namespace(&key.namespace);
    let own = pods.iter().filter(|seen| seen.is_of(key));
    let own = own.filter_map(|seen| seen.pod.as_deref());
    locks.inherit(&key.namespace, &key.name, living, own);
}

fn wake(queue: &Queue<Key>, world: &World, gone: &Departed) {
    let (woken, gone) = (queue.clone(), gone.clone());
    world.workflows.on_change(move |change| {
        if let Some(workflow) = change.object() {
            let key = Key::of(&**workflow);
            let is_other =
                |before: &Arc<KeptWorkflow>| change.after.is_none_or(|after| after.uid() != before.uid());
            if change.before.is_some_and(is_other) {
                gone.lock().insert(key.clone());
            }
            woken.add(key);
        }
    });
    let (woken, workflows) = (queue.clone(), world.workflows.clone());
    world.pods.on_change(move |change| {
        for key in concerned(change.before.map(Arc::as_ref), change.after.map(Arc::as_ref)) {
            let unfinished = workflows.get(&key).map_or(0, |kept| kept.unfinished);
            woken.add_after(key, gathering(unfinished));
        }
    });
}

/// Whom a change of a pod concerns: also the one that it is not of any more, which may hold something because of it.
fn concerned<'p>(before: Option<&'p SeenPod>, after: Option<&'p SeenPod>) -> impl Iterator<Item = Key> + 'p {
    let name = after.and_then(SeenPod::workflow_name);
    let before = before.filter(|before| before.workflow_name() != name);
    let both = after.into_iter().chain(before);
    both.filter_map(SeenPod::workflow)
}

/// Whether a workflow has taken the name of the other one.
fn is_another(before: Option<&KeptWorkflow>, after: Option<&KeptWorkflow>) -> bool {
    let uids = before.map(Cached::uid).zip(after.map(Cached::uid));
    uids.is_some_and(|(before, after)| before != after)
}

/// How long a workflow of which so many pods have not ended lets news of them come together.
fn gathering(unfinished: u32) -> Duration {
    (GATHERING + GATHERING_EACH * unfinished).min(LONGEST_GATHERING)
}

impl Controller {
    async fn look(&self, key: Key) -> kube::Result<Next> {
        let before = self.world.workflows.get(&key);
        self.pass_on(&key);
        let kept = self.world.workflows.get(&key);
        if is_another(before.as_deref(), kept.as_deref()) {
            // What the one before held is still to be passed on: this one would have it.
            return Ok(Next::After(SOON));
        }
        let Some(kept) = kept else {
            // What it held has been passed on, or is when this is looked at again because it went just now.
            self.refusals.lock().remove(&key);
            return Ok(Next::Wait);
        };
        if kept.is_foreign {
            return Ok(Next::Wait);
        }
        if kept.is_being_deleted {
            // Its pods wake it when they end; what they hold is theirs until then.
            if !self.has_running_pods(kept.uid()) && !self.has_left_pods(&key, kept.uid()) {
                self.forget(&key);
            }
            return Ok(Next::Wait);
        }
        let Some(mut object) = self.object(&key, &kept).await? else {
            return Ok(Next::Wait);
        };
        let mut observed = Observed::default();
        let mut asked = BTreeSet::new();
        for _ in 0..LOOKS {
            self.observe(&key, kept.uid(), &mut observed);
            let now = Timestamp::now();
            let planned = self.plan(&object, &observed, now);
            if planned.left_queue {
                self.wake_waiting(&self.locks.lock(), None);
            }
            if !planned.unknown.is_empty() {
                if let Some(unknown) = planned.unknown.intersection(&asked).next() {
                    // Asking at once would not help either; somebody has to change something.
                    let message = format!("asked for and still not known: {unknown:?}");
                    return Err(kube::Error::Service(message.into()));
                }
                let unknown = &planned.unknown;
                look_up(&self.world, &key.namespace, kept.uid(), unknown, &mut observed).await?;
                asked = planned.unknown;
                continue;
            }
            asked.clear();
            match self.carry_out(&key, &object, &observed, &planned).await? {
                Carried::Out => return Ok(next(&planned, now)),
                Carried::Refused => return Ok(Next::After(RETRY).or(next(&planned, now))),
                Carried::Again => {}
                Carried::Stored(stored) => object = stored,
                Carried::Late => return Ok(Next::After(SOON)),
            }
            if self.closing.is_said() {
                // Whoever acts next goes on from what there is.
                return Ok(Next::Wait);
            }
        }
        Ok(Next::After(SOON))
    }

    /// Templates may call each other a hundred deep, which a worker's own stack need not have room for.
    fn plan(&self, object: &Value, observed: &Observed, now: Timestamp) -> Plan {
        let decide = || plan(object, observed, &mut self.locks.lock(), &self.settings, now);
        let apart = || {
            thread::scope(|scope| {
                let builder = thread::Builder::new().name("plan".to_owned()).stack_size(STACK);
                let thread = builder.spawn_scoped(scope, decide).ok()?;
                Some(
                    thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                )
            })
        };
        apart().unwrap_or_else(decide)
    }

    fn has_running_pods(&self, uid: &str) -> bool {
        let pods = self.world.pods.controlled_by(uid);
        let mut pods = pods.iter().filter_map(|seen| seen.pod.as_deref());
        pods.any(|pod| !pod.has_ended())
    }

    /// Whether pods still run under its locks that are let go on alone: they lose their owner before it is gone.
    fn has_left_pods(&self, key: &Key, uid: &str) -> bool {
        let pods = self.world.pods.in_namespace(&key.namespace);
        let own = pods.iter().filter(|seen| seen.is_of(key));
        let mut running = own
            .filter_map(|seen| seen.pod.as_deref())
            .filter(|pod| !pod.has_ended());
        let is_held = |under: &Under| under.is_held_by(&key.namespace, &key.name, uid);
        running.any(|pod| pod.under.iter().any(is_held))
    }

    /// The workflow, where there may be something to do for it.
    async fn object(&self, key: &Key, kept: &KeptWorkflow) -> kube::Result<Option<Value>> {
        if let Some(object) = kept.object() {
            return Ok(Some(object));
        }
        let pods = self.world.pods.controlled_by(kept.uid());
        let mut pods = pods.iter().filter_map(|seen| seen.pod.as_deref());
        let is_unfinished = |pod: &workflows::Pod| !pod.is_labelled_completed && !pod.is_being_deleted;
        if !pods.any(is_unfinished) {
            return Ok(None);
        }
        match requests::get(&self.world.client, &folder(&WORKFLOW, &key.namespace), &key.name).await {
            // Another of that name has other pods.
            Ok(object) => Ok(Some(object).filter(|object: &Value| object["metadata"]["uid"] == kept.uid())),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn observe(&self, key: &Key, uid: &str, observed: &mut Observed) {
        let pods = self.world.pods.controlled_by(uid);
        observed.pods = pods
            .iter()
            .filter_map(|seen| seen.pod.as_deref().cloned())
            .collect();
        observed.refusals = self.refusals.lock().get(key).cloned().unwrap_or_default();
    }

    /// Notes what was refused; whether that is news.
    pub(crate) fn remember(&self, key: &Key, refusals: BTreeMap<String, Refusal>) -> bool {
        let mut known = self.refusals.lock();
        let before = if refusals.is_empty() {
            known.remove(key)
        } else {
            known.insert(key.clone(), refusals.clone())
        };
        before.unwrap_or_default() != refusals
    }

    /// What a workflow that is gone held is its pods' until they have ended. One that is called like it has nothing
    /// of it.
    fn pass_on(&self, key: &Key) {
        let is_gone = self.gone.lock().remove(key) || self.world.workflows.get(key).is_none();
        let mut locks = self.locks.lock();
        // One that held nothing has left nothing, and most are such; its pods need not be looked for.
        let has_left = is_gone && locks.concern(&key.namespace, &key.name);
        if !has_left && !locks.has_heirs(&key.namespace, &key.name) {
            return;
        }
        let before = locks.clone();
        if is_gone {
            locks.release_all(&key.namespace, &key.name);
        }
        inherit(&self.world, &mut locks, key);
        if *locks != before {
            self.wake_waiting(&locks, Some(key));
        }
    }

    /// The workflow is going, and nothing of it runs any more.
    fn forget(&self, key: &Key) {
        self.refusals.lock().remove(key);
        let mut locks = self.locks.lock();
        if locks.concern(&key.namespace, &key.name) {
            locks.release_all(&key.namespace, &key.name);
            self.wake_waiting(&locks, Some(key));
        }
    }

    /// Locks have passed on; whoever waits for one looks whether it is its turn.
    pub(crate) fn locks_changed(&self, key: &Key) {
        self.wake_waiting(&self.locks.lock(), Some(key));
    }

    fn wake_waiting(&self, locks: &Locks, but: Option<&Key>) {
        for (namespace, name) in locks.waiting() {
            let key = Key::new(&namespace, &name);
            if but != Some(&key) {
                self.queue.add(key);
            }
        }
    }
}

/// What has come of a plan.
pub(crate) enum Carried {
    /// All of it was done.
    Out,
    /// All but what the API would not do, of which the status tells.
    Refused,
    /// There is news, and the plan has to be made again.
    Again,
    /// A part of it is stored, and the rest has to be planned again from there.
    Stored(Value),
    /// It is not the workflow that was decided on any more.
    Late,
}

fn next(plan: &Plan, now: Timestamp) -> Next {
    let Some(at) = plan.wake_at else { return Next::Wait };
    let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
    Next::After(wait.max(SOON))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use workflows::names;

    use super::*;

    #[test]
    fn a_pod_that_is_not_of_a_workflow_any_more_still_concerns_it() {
        let pod = |workflow: &str| -> SeenPod {
            let under = json!([{"lock": "n/Mutex/m", "holder": "n/w@u"}]).to_string();
            let (labels, annotations) = (json!({names::WORKFLOW: workflow}), json!({names::LOCKS: under}));
            let meta = json!({"namespace": "n", "name": "p", "labels": labels, "annotations": annotations});
            serde_json::from_value(json!({"metadata": meta})).unwrap()
        };
        let (own, other) = (pod("w"), pod("another"));
        let without: SeenPod =
            serde_json::from_value(json!({"metadata": {"namespace": "n", "name": "p"}})).unwrap();
        let names = |before, after| -> Vec<String> {
            concerned(before, after).map(|key| key.name.to_string()).collect()
        };
        assert_eq!(names(None, Some(&own)), ["w"]);
        assert_eq!(names(Some(&own), Some(&own)), ["w"]);
        assert_eq!(names(Some(&own), None), ["w"]);
        assert_eq!(names(Some(&own), Some(&without)), ["w"]);
        assert_eq!(names(Some(&own), Some(&other)), ["another", "w"]);
    }

    #[test]
    fn a_workflow_of_the_same_name_is_another() {
        let kept = |uid: &str| -> KeptWorkflow {
            serde_json::from_value(json!({"metadata": {"name": "w", "uid": uid}})).unwrap()
        };
        let (one, other) = (kept("1"), kept("2"));
        assert!(is_another(Some(&one), Some(&other)));
        assert!(!is_another(Some(&one), Some(&one)));
        assert!(!is_another(None, Some(&one)) && !is_another(Some(&one), None));
    }

    #[test]
    fn a_wide_workflow_is_stored_less_often_and_its_last_step_is_not_waited_for() {
        assert!(gathering(1) < GATHERING * 2);
        assert!(gathering(1000) > GATHERING * 20);
        assert_eq!(gathering(u32::MAX), LONGEST_GATHERING);
    }
}
