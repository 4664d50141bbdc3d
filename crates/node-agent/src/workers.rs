//! One worker a pod: made when a pod is first seen, told of every change, let go when its pod is no more.

use std::{collections::HashMap, sync::Arc};

use k8s_openapi::api::core::v1::Pod;
use tokio::{
    sync::{mpsc, watch},
    task::{Id, JoinSet},
};

use crate::{
    agent::Agent,
    worker::{Seen, Worker},
};

/// Runs the workers until it is dropped.
pub(crate) async fn run(agent: Arc<Agent>) {
    let (tell, mut told) = mpsc::unbounded_channel();
    agent.pods.on_change(move |change| {
        let seen = match (change.after, change.before) {
            (Some(pod), _) => Seen::Pod(pod.clone()),
            (None, Some(pod)) => Seen::Gone(pod.clone()),
            (None, None) => return,
        };
        // The receiver ends with this function only.
        let _ = tell.send(seen);
    });
    let mut workers = Workers {
        agent,
        tasks: JoinSet::new(),
        by_uid: HashMap::new(),
        uids: HashMap::new(),
    };
    loop {
        tokio::select! {
            Some(seen) = told.recv() => workers.tell(seen),
            Some(ended) = workers.tasks.join_next_with_id() => workers.ended(ended),
        }
    }
}

struct Workers {
    agent: Arc<Agent>,
    tasks: JoinSet<()>,
    by_uid: HashMap<String, watch::Sender<Seen>>,
    uids: HashMap<Id, String>,
}

impl Workers {
    fn tell(&mut self, seen: Seen) {
        let uid = seen.pod().metadata.uid.clone().unwrap_or_default();
        match self.by_uid.get(&uid) {
            Some(worker) => {
                worker.send_replace(seen);
            }
            None if matches!(seen, Seen::Pod(_)) => self.spawn(uid, seen),
            None => {}
        }
    }

    fn spawn(&mut self, uid: String, seen: Seen) {
        let (sender, receiver) = watch::channel(seen);
        let worker = Worker::new(self.agent.clone(), receiver);
        let task = self.tasks.spawn(worker.run());
        self.uids.insert(task.id(), uid.clone());
        self.by_uid.insert(uid, sender);
    }

    fn ended(&mut self, ended: Result<(Id, ()), tokio::task::JoinError>) {
        let (id, panicked) = match ended {
            Ok((id, ())) => (id, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let Some(uid) = self.uids.remove(&id) else { return };
        let Some(sender) = self.by_uid.remove(&uid) else {
            return;
        };
        // A bug in one worker costs its pod nothing: the next one finds everything in the folder.
        if panicked {
            tracing::error!(uid, "the worker of a pod panicked and is replaced");
            let seen = sender.borrow().clone();
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
