//! One worker a pod: made when a pod is first seen, told of every change, let go when its pod is no more.

use std::{collections::HashMap, sync::Arc};

use k8s_openapi::api::core::v1::Pod;
use reconcile::Key;
use tokio::{
    sync::{Notify, mpsc, watch},
    task::{Id, JoinSet},
};

use crate::{
    agent::Agent,
    worker::{Content, Seen, Worker},
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
    listen(&agent, &tell);
    let mut workers = Workers {
        agent,
        tasks: JoinSet::new(),
        by_uid: HashMap::new(),
        uids: HashMap::new(),
    };
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
}

struct Workers {
    agent: Arc<Agent>,
    tasks: JoinSet<()>,
    by_uid: HashMap<String, Handle>,
    uids: HashMap<Id, String>,
}

impl Workers {
    fn tell(&mut self, seen: Seen) {
        let uid = seen.pod().metadata.uid.clone().unwrap_or_default();
        match self.by_uid.get(&uid) {
            Some(worker) => {
                worker.seen.send_replace(seen);
            }
            None if matches!(seen, Seen::Pod(_)) => self.spawn(uid, seen),
            None => {}
        }
    }

    fn spawn(&mut self, uid: String, seen: Seen) {
        let (sender, receiver) = watch::channel(seen);
        let refresh = Arc::new(Notify::new());
        let worker = Worker::new(self.agent.clone(), receiver, refresh.clone());
        let task = self.tasks.spawn(worker.run());
        self.uids.insert(task.id(), uid.clone());
        let handle = Handle {
            seen: sender,
            refresh,
        };
        self.by_uid.insert(uid, handle);
    }

    fn refresh(&self, content: &Content) {
        for worker in self.by_uid.values() {
            if content.is_used_by(worker.seen.borrow().pod()) {
                worker.refresh.notify_one();
            }
        }
    }

    fn ended(&mut self, ended: Result<(Id, ()), tokio::task::JoinError>) {
        let (id, panicked) = match ended {
            Ok((id, ())) => (id, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let Some(uid) = self.uids.remove(&id) else { return };
        let Some(handle) = self.by_uid.remove(&uid) else {
            return;
        };
        // A bug in one worker costs its pod nothing: the next one finds everything in the folder.
        if panicked {
            tracing::error!(uid, "the worker of a pod panicked and is replaced");
            let seen = handle.seen.borrow().clone();
            self.spawn(uid, seen);
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
