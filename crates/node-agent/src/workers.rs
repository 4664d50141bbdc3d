//! One worker a pod: made when a pod is first seen, told of every change, let go when its pod is over, and made again
//! when something is to be done for it after that.

use std::{collections::HashMap, sync::Arc};

use k8s_openapi::api::core::v1::Pod;
use reconcile::{Cached as _, Key};
use tokio::{
    sync::{Notify, mpsc, watch},
    task::{Id, JoinSet},
};

use crate::{
    admission::{self, Ground, Rejection},
    agent::Agent,
    node,
    worker::{Content, End, Seen, Worker, is_terminal},
};

/// What may be of interest to a worker.
enum News {
    Pod(Seen),
    /// A config map or secret has changed.
    Content(Content),
}

/// Runs the workers until it is dropped.
pub(crate) async fn run(agent: Arc<Agent>) {
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut workers = Workers {
        agent,
        tasks: JoinSet::new(),
        by_uid: HashMap::new(),
        uids: HashMap::new(),
    };
    workers.take_in_known();
    listen(&workers.agent, &tell);
    loop {
        tokio::select! {
            Some(news) = told.recv() => match news {
                News::Pod(seen) => workers.tell(seen),
                News::Content(content) => workers.refresh(&content),
            },
            Some(ended) = workers.tasks.join_next_with_id() => workers.ended(ended),
        }
    }
}

/// Who sends lives no longer than who receives.
fn listen(agent: &Agent, tell: &mpsc::UnboundedSender<News>) {
    let on_pod = tell.clone();
    agent.followed.pods.on_change(move |change| {
        let seen = match (change.after, change.before) {
            (Some(pod), _) => Seen::Pod(pod.clone()),
            (None, Some(pod)) => Seen::Gone(pod.clone()),
            (None, None) => return,
        };
        let _ = on_pod.send(News::Pod(seen));
    });
    let on_config_map = tell.clone();
    agent.followed.config_maps.on_change(move |change| {
        if let Some(object) = change.object() {
            let _ = on_config_map.send(News::Content(Content::ConfigMap(Key::of(&**object))));
        }
    });
    let on_secret = tell.clone();
    agent.followed.secrets.on_change(move |change| {
        if let Some(object) = change.object() {
            let _ = on_secret.send(News::Content(Content::Secret(Key::of(&**object))));
        }
    });
}

/// How to reach a worker.
struct Handle {
    seen: watch::Sender<Seen>,
    refresh: Arc<Notify>,
    /// The node does not take the pod; it holds nothing.
    is_rejected: bool,
    /// The version of the pod that its worker has left it at, while it has none.
    rests_at: Option<u64>,
}

impl Handle {
    /// Whether a pod without a worker needs one: what its last worker wrote itself comes back as news.
    fn is_woken(&self) -> bool {
        let newer = |version| match &*self.seen.borrow() {
            Seen::Pod(pod) => pod.version() > version,
            Seen::Gone(_) => true,
        };
        self.rests_at.is_some_and(newer)
    }

    /// The pod, unless it is over or gone.
    fn active(&self) -> Option<Arc<Pod>> {
        match &*self.seen.borrow() {
            Seen::Pod(pod) if !is_terminal(pod) => Some(pod.clone()),
            _ => None,
        }
    }
}

struct Workers {
    agent: Arc<Agent>,
    tasks: JoinSet<End>,
    by_uid: HashMap<String, Handle>,
    uids: HashMap<Id, String>,
}

impl Workers {
    /// Those the node has taken before come first, then those that have waited longest.
    fn take_in_known(&mut self) {
        let mut pods = self.agent.followed.pods.all();
        pods.sort_by_cached_key(|pod| {
            let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
            (!self.is_taken(pod), created)
        });
        for pod in pods {
            self.tell(Seen::Pod(pod));
        }
    }

    /// Whether an agent before us has begun with the pod.
    fn is_taken(&self, pod: &Pod) -> bool {
        self.agent.folders.pod(pod).book().exists()
    }

    fn tell(&mut self, seen: Seen) {
        let uid = seen.pod().metadata.uid.clone().unwrap_or_default();
        match self.by_uid.get(&uid) {
            Some(worker) => {
                worker.seen.send_replace(seen);
                self.wake(uid);
            }
            None if matches!(seen, Seen::Pod(_)) => {
                let rejection = self.rejection(seen.pod());
                self.spawn(uid, seen, rejection);
            }
            None => {}
        }
    }

    /// Why the node does not take a pod that is new to it, if it does not.
    fn rejection(&self, pod: &Pod) -> Option<Rejection> {
        let is_ending = pod.metadata.deletion_timestamp.is_some() || is_terminal(pod);
        if is_ending || self.is_taken(pod) {
            return None;
        }
        let handles = self.by_uid.values().filter(|handle| !handle.is_rejected);
        let others: Vec<Arc<Pod>> = handles.filter_map(Handle::active).collect();
        let others: Vec<&Pod> = others.iter().map(Arc::as_ref).collect();
        let ground = Ground {
            node: &node::current(&self.agent),
            others: &others,
            tier: self.agent.tier.tier,
            host_images: self.agent.settings.host_images,
        };
        admission::rejection(pod, ground)
    }

    fn spawn(&mut self, uid: String, seen: Seen, rejection: Option<Rejection>) {
        let (sender, receiver) = watch::channel(seen);
        let refresh = Arc::new(Notify::new());
        let is_rejected = rejection.is_some();
        let worker = Worker::new(self.agent.clone(), receiver, refresh.clone(), rejection);
        let task = self.tasks.spawn(worker.run());
        self.uids.insert(task.id(), uid.clone());
        let handle = Handle {
            seen: sender,
            refresh,
            is_rejected,
            rests_at: None,
        };
        self.by_uid.insert(uid, handle);
    }

    /// Gives a pod a worker again that has none and needs one.
    fn wake(&mut self, uid: String) {
        if self.by_uid.get(&uid).is_some_and(Handle::is_woken)
            && let Some(handle) = self.by_uid.remove(&uid)
        {
            self.replace(uid, &handle);
        }
    }

    /// The next worker of a pod. It finds everything in the folder.
    fn replace(&mut self, uid: String, handle: &Handle) {
        let seen = handle.seen.borrow().clone();
        self.spawn(uid, seen, None);
    }

    fn refresh(&self, content: &Content) {
        for worker in self.by_uid.values() {
            if content.is_used_by(worker.seen.borrow().pod()) {
                worker.refresh.notify_one();
            }
        }
    }

    fn ended(&mut self, ended: Result<(Id, End), tokio::task::JoinError>) {
        let (id, end) = match ended {
            Ok((id, end)) => (id, Some(end)),
            Err(error) if error.is_panic() => (error.id(), None),
            Err(error) => (error.id(), Some(End::Done)),
        };
        let Some(uid) = self.uids.remove(&id) else { return };
        let Some(mut handle) = self.by_uid.remove(&uid) else {
            return;
        };
        match end {
            Some(End::Done) => {}
            Some(End::Rest(version)) => {
                handle.rests_at = Some(version);
                self.by_uid.insert(uid.clone(), handle);
                // It may have been told of something that it did not hear any more.
                self.wake(uid);
            }
            // A bug in one worker costs its pod nothing.
            None => {
                tracing::error!(uid, "the worker of a pod panicked and is replaced");
                self.replace(uid, &handle);
            }
        }
    }
}

impl Seen {
    pub(crate) fn pod(&self) -> &Arc<Pod> {
        match self {
            Self::Pod(pod) | Self::Gone(pod) => pod,
        }
    }
}
