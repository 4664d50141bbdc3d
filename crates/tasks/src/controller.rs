//! The loop over tasks: observe, plan, write what is intended, do it, and look again.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use parking_lot::Mutex;
use reconcile::{Cached as _, Change, Closing, Informer, Key, Next, Queue, Recorder, run};
use resources::tasks::{Child, Phase, TASK};
use tokio::task::JoinSet;

use crate::{
    Options,
    ended::Ended,
    kept::{SeenRun, pods_key},
    node_groups::Groups,
    plan::{Plan, Pod, Run, Seen, Step, Task, plan, runs},
    prepare::Kitchen,
    requests::Written,
    world::World,
};

/// So many tasks are worked on at a time.
const WORKERS: usize = 16;
/// Pods come and go together; their task looks at them together.
const GATHERING: Duration = Duration::from_millis(20);
/// Looks in a row at one task; more would be a circle.
const LOOKS: usize = 12;
const SOON: Duration = Duration::from_millis(100);
/// The server says when something is gone; this is for when it does not.
const STOPPING: Duration = Duration::from_secs(5);

pub(crate) struct Controller {
    pub world: Arc<World>,
    pub options: Arc<Options>,
    pub kitchen: Kitchen,
    pub groups: Groups,
    pub recorder: Recorder,
    pub closing: Closing,
    /// What autoscalers said of pods, and when it was asked for.
    pub hints: Mutex<crate::hints::Heard>,
}

/// Starts the loop; it ends when the tasks are dropped, or by itself after a word by `closing`.
pub(crate) fn start(controller: Arc<Controller>, tasks: &mut JoinSet<()>) {
    tasks.spawn(async move {
        let closing = controller.closing.clone();
        tokio::select! {
            () = controller.world.synced() => {}
            () = closing.heard() => return,
        }
        let queue = Queue::new();
        wake(&queue, &controller.world);
        let recorder = controller.recorder.clone();
        let working = run("task", queue.clone(), WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.look(key).await }
        });
        let closed = async {
            closing.heard().await;
            queue.close();
        };
        tokio::join!(working, closed);
        recorder.finish().await;
    });
}

/// What makes a task be looked at: itself, what it is made of, what it has made.
fn wake(queue: &Queue<Key>, world: &Arc<World>) {
    let (woken, ended) = (queue.clone(), world.ended.clone());
    world.on_follow(move |kind, informer| wake_by_runs(&woken, &ended, kind, informer));
    let woken = queue.clone();
    world.tasks.on_change(move |change| {
        if let Some(task) = change.object() {
            woken.add(Key::of(&**task));
        }
    });
    let woken = queue.clone();
    world.pods.on_change(move |change| {
        if let Some(pod) = change.object()
            && let Some(task) = pod.task_name()
        {
            woken.add_after(Key::new(pod.namespace(), task), GATHERING);
        }
    });
    // A task may wait for a definition or a template.
    let (woken, tasks) = (queue.clone(), world.tasks.clone());
    world.definitions.on_change(move |change| {
        if let Some(definition) = change.after {
            for task in tasks.in_namespace(definition.namespace()) {
                wake_unmade(&woken, &task);
            }
        }
    });
    let (woken, tasks) = (queue.clone(), world.tasks.clone());
    world.templates.on_change(move |change| {
        if change.after.is_some() {
            for task in tasks.all() {
                wake_unmade(&woken, &task);
            }
        }
    });
}

fn wake_unmade(queue: &Queue<Key>, task: &crate::kept::KeptTask) {
    if task.revisions.iter().any(|revision| revision.is_empty()) {
        queue.add(Key::of(task));
    }
}

fn wake_by_runs(queue: &Queue<Key>, ended: &Arc<Ended>, kind: &str, informer: &Informer<SeenRun>) {
    let (queue, ended, kind) = (queue.clone(), ended.clone(), kind.to_owned());
    informer.on_change(move |change: &Change<'_, SeenRun>| {
        ended.note(&kind, change);
        let run = change.object();
        if let Some(key) = run.and_then(|run| Key::of_controller(&**run, TASK.kind)) {
            queue.add(key);
        }
    });
}

impl Controller {
    async fn look(&self, key: Key) -> kube::Result<Next> {
        let Some(mut task) = self.read(&key)? else {
            self.hints.lock().forget(&key);
            self.world.ended.forget(&key);
            return Ok(Next::Wait);
        };
        let mut seen = Seen::default();
        for _ in 0..LOOKS {
            self.observe(&key, &task, &mut seen).await?;
            let now = Timestamp::now();
            let planned = plan(&task, &seen, now);
            let before = task.status.phase;
            match self.carry_out(&mut task, &mut seen, &planned).await? {
                Carried::Acted => {}
                Carried::Nothing => return Ok(next(&planned, now)),
                Carried::Again(next) => return Ok(next),
            }
            self.tell(&task, before);
            if task.status.phase.is_final() {
                self.world.ended.forget(&key);
            }
            if self.closing.is_said() {
                // Whoever acts next goes on from what is written.
                return Ok(Next::Wait);
            }
        }
        Ok(Next::After(SOON))
    }

    fn read(&self, key: &Key) -> kube::Result<Option<Task>> {
        let Some(kept) = self.world.tasks.get(key) else {
            return Ok(None);
        };
        match kept.task() {
            Some(Ok(task)) => Ok(Some(task)),
            Some(Err(error)) => Err(kube::Error::SerdeError(error)),
            // All was done when it was last seen, and nothing has happened to it since.
            None => Ok(None),
        }
    }

    /// What is there of a task beside itself, and what is remembered of this look.
    async fn observe(&self, key: &Key, task: &Task, seen: &mut Seen) -> kube::Result<()> {
        let prepared = self.kitchen.children(&task.uid);
        let mut kinds: Vec<&Child> = Vec::new();
        for child in task.status.children.iter().chain(&prepared) {
            let is_new = !kinds.iter().any(|known| known.kind == child.kind);
            if runs(&child.api_version, &child.kind) && is_new {
                kinds.push(child);
            }
        }
        seen.runs.clear();
        seen.ended.clear();
        let gone = self.world.ended.of(key);
        for kind in kinds {
            let Some(informer) = self.world.runs(&kind.api_version, &kind.kind).await? else {
                continue;
            };
            let found = informer.controlled_by(&task.uid);
            seen.runs.extend(found.iter().map(|found| of(kind, found, true)));
            let gone = gone
                .iter()
                .filter(|gone| gone.kind == kind.kind && gone.task_uid == task.uid);
            seen.ended.extend(gone.map(|gone| of(kind, &gone.run, true)));
        }
        let pods = self
            .world
            .pods
            .controlled_by(&pods_key(&task.namespace, &task.name));
        seen.pods = pods
            .iter()
            .filter_map(|seen| seen.pod.as_deref().cloned())
            .collect();
        let is_waiting = |pod: &Pod| pod.unscheduled.is_some();
        if seen.pods.iter().any(is_waiting) {
            seen.groups = self.groups.all();
            seen.hints = self.heard_of(task, &seen.pods).await;
        }
        Ok(())
    }

    /// Writes what is intended, then does it.
    async fn carry_out(&self, task: &mut Task, seen: &mut Seen, plan: &Plan) -> kube::Result<Carried> {
        let mut has_acted = false;
        if plan.status != task.status {
            if let Written::Changed = self.world.write_status(task, &plan.status).await? {
                return Ok(Carried::Again(Next::After(SOON)));
            }
            has_acted = true;
        }
        for step in &plan.steps {
            let carried = self.take(task, seen, step).await?;
            match carried {
                Carried::Acted => has_acted = true,
                Carried::Nothing => {}
                Carried::Again(_) => return Ok(carried),
            }
        }
        Ok(if has_acted {
            Carried::Acted
        } else {
            Carried::Nothing
        })
    }

    async fn take(&self, task: &mut Task, seen: &mut Seen, step: &Step) -> kube::Result<Carried> {
        match step {
            Step::Hold => return self.hold(task).await,
            Step::HideHeaders => return self.hide_headers(task).await,
            Step::Prepare => seen.prepared = Some(self.prepare(task).await?),
            Step::Make => seen.made = Some(self.make(task).await?),
            Step::Stop(targets) => {
                self.stop(task, targets).await?;
                return Ok(Carried::Again(Next::After(STOPPING)));
            }
            Step::Announce { from } => seen.announced = self.announce(task, *from).await?,
            Step::Release { keep_claims } => return self.release(task, *keep_claims).await,
            Step::Delete => {
                self.world.delete_task(task).await?;
                return Ok(Carried::Again(Next::Wait));
            }
        }
        Ok(Carried::Acted)
    }

    /// Kubernetes' own events, for `kubectl describe`.
    fn tell(&self, task: &Task, before: Phase) {
        let status = &task.status;
        if status.phase == before {
            return;
        }
        let note = if status.message.is_empty() {
            format!("attempt {} is {}", status.attempt, status.phase.name())
        } else {
            status.message.clone()
        };
        match status.phase {
            Phase::Failed => self.recorder.warning(reference(task), &status.reason, note),
            _ => self.recorder.normal(reference(task), &status.reason, note),
        }
    }
}

/// What has come of a step or a plan.
pub(crate) enum Carried {
    Acted,
    Nothing,
    /// Enough for now; the next look is due then, or when something changes.
    Again(Next),
}

fn of(kind: &Child, found: &SeenRun, is_ours: bool) -> Run {
    Run {
        child: Child {
            name: found.name().to_owned(),
            ..kind.clone()
        },
        uid: found.uid().to_owned(),
        is_ours,
        attempt: found.attempt,
        is_deleting: found.is_deleting,
        state: found.state.clone(),
    }
}

fn next(plan: &Plan, now: Timestamp) -> Next {
    let Some(at) = plan.wake_at else { return Next::Wait };
    let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
    Next::After(wait.max(SOON))
}

pub(crate) fn reference(task: &Task) -> ObjectReference {
    ObjectReference {
        api_version: Some(TASK.api_version()),
        kind: Some(TASK.kind.to_owned()),
        namespace: Some(task.namespace.clone()),
        name: Some(task.name.clone()),
        uid: Some(task.uid.clone()),
        resource_version: Some(task.version.clone()),
        field_path: None,
    }
}
