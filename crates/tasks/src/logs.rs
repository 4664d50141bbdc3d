//! Logs of tasks, kept when their pods are gone: a file for each container, in a folder for each attempt.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::{AsyncReadExt as _, future::join_all, io::AsyncRead};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::LogParams};
use reconcile::{Cached as _, Closing, Key, Next, Queue, run};
use tokio::{fs, io::AsyncWriteExt as _, task::JoinSet};

use crate::{kept::SeenPod, world::World};

/// So many logs are followed at a time; the others when one of them ends.
const FOLLOWED: usize = 128;
/// As much of one log is kept: its beginning.
const LARGEST: u64 = 64 * 1024 * 1024;
const AGAIN: Duration = Duration::from_secs(2);

/// The folder of kept logs. Names are those of objects, which have no slashes.
#[derive(Clone, Debug)]
pub struct Archive {
    root: PathBuf,
}

/// A kept log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kept {
    pub attempt: i32,
    pub pod: String,
    pub container: String,
    pub path: PathBuf,
}

impl Archive {
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    fn of_task(&self, namespace: &str, task: &str) -> PathBuf {
        self.root.join(namespace).join(task)
    }

    fn of_pod(&self, namespace: &str, task: &str, attempt: i32) -> PathBuf {
        self.of_task(namespace, task).join(attempt.to_string())
    }

    /// What is kept of a task, attempt by attempt; nothing is no error.
    pub fn list(&self, namespace: &str, task: &str) -> io::Result<Vec<Kept>> {
        let mut kept = Vec::new();
        for attempt in entries(&self.of_task(namespace, task))? {
            let number = attempt.file_name().and_then(|name| name.to_str()?.parse().ok());
            let Some(number) = number else { continue };
            for path in entries(&attempt)? {
                let name = path
                    .file_name()
                    .and_then(|name| name.to_str())
                    .unwrap_or_default();
                // One that is being written counts, unless it was written to its end before.
                let is_partial = name.ends_with(PARTIAL);
                let stem = name.strip_suffix(PARTIAL).or_else(|| name.strip_suffix(WHOLE));
                let Some(stem) = stem else { continue };
                let mut parts = stem.split('@');
                let (Some(pod), Some(container)) = (parts.next(), parts.next()) else {
                    continue;
                };
                if is_partial && attempt.join(format!("{stem}{WHOLE}")).exists() {
                    continue;
                }
                kept.push(Kept {
                    attempt: number,
                    pod: pod.to_owned(),
                    container: container.to_owned(),
                    path,
                });
            }
        }
        kept.sort();
        Ok(kept)
    }

    async fn forget(&self, namespace: &str, task: &str) {
        let folder = self.of_task(namespace, task);
        match fs::remove_dir_all(&folder).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, folder = %folder.display(), "logs of a deleted task cannot be removed");
            }
            _ => {}
        }
    }
}

const WHOLE: &str = ".log";
const PARTIAL: &str = ".part";

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

struct Keeper {
    world: Arc<World>,
    archive: Archive,
}

/// Keeps logs until the tasks are dropped, or the word is said.
pub(crate) fn start(world: Arc<World>, archive: Archive, closing: Closing, tasks: &mut JoinSet<()>) {
    tasks.spawn(async move {
        tokio::select! {
            () = world.synced() => {}
            () = closing.heard() => return,
        }
        let queue: Queue<Key> = Queue::new();
        let woken = queue.clone();
        world.pods.on_change(move |change| {
            if let Some(pod) = change.after.filter(|pod| has_begun(pod)) {
                woken.add(Key::of(&**pod));
            }
        });
        let keeper = Arc::new(Keeper {
            world: world.clone(),
            archive,
        });
        let forgetful = keeper.clone();
        let (gone, mut left) = tokio::sync::mpsc::unbounded_channel();
        world.tasks.on_change(move |change| {
            if let (Some(task), None) = (change.before, change.after) {
                // Whoever listens lives as long as this.
                let _ = gone.send(Key::of(&**task));
            }
        });
        let forgetting = async {
            while let Some(key) = left.recv().await {
                forgetful.archive.forget(&key.namespace, &key.name).await;
            }
        };
        let working = run("task-log", queue.clone(), FOLLOWED, move |key| {
            let keeper = keeper.clone();
            async move { keeper.keep(&key).await }
        });
        tokio::select! {
            () = forgetting => {}
            () = working => {}
            // What is followed is followed again by whoever comes next.
            () = closing.heard() => queue.close(),
        }
    });
}

fn has_begun(pod: &SeenPod) -> bool {
    pod.pod.as_ref().is_some_and(|pod| pod.started_at.is_some())
}

impl Keeper {
    /// Follows the logs of a pod to their end.
    async fn keep(&self, key: &Key) -> io::Result<Next> {
        let Some(seen) = self.world.pods.get(key) else {
            return Ok(Next::Wait);
        };
        let (Some(task), Some(pod)) = (seen.task_name(), &seen.pod) else {
            return Ok(Next::Wait);
        };
        let folder = self.archive.of_pod(&key.namespace, task, pod.attempt);
        let uid: String = pod.uid.chars().take(8).collect();
        let logs = seen.containers.iter().map(|container| {
            let name = format!("{}@{container}@{uid}", pod.name);
            self.keep_one(key, container, folder.join(name))
        });
        let mut is_whole = true;
        for outcome in join_all(logs).await {
            is_whole &= outcome?;
        }
        let is_there = self
            .world
            .pods
            .get(key)
            .is_some_and(|now| now.uid() == seen.uid());
        Ok(if is_whole || !is_there {
            Next::Wait
        } else {
            Next::After(AGAIN)
        })
    }

    /// Whether the log is there to its end.
    async fn keep_one(&self, key: &Key, container: &str, path: PathBuf) -> io::Result<bool> {
        let named = |suffix: &str| {
            let mut name = path.clone().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        };
        let (partial, whole) = (named(PARTIAL), named(WHOLE));
        if fs::try_exists(&whole).await? {
            return Ok(true);
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).await?;
        }
        match self.copy(key, container, &partial).await {
            Ok(()) => {
                fs::rename(&partial, &whole).await?;
                Ok(true)
            }
            Err(error) => {
                tracing::debug!(%error, pod = %key, container, "a log broke off");
                Ok(false)
            }
        }
    }

    /// From the first byte on, as long as the container runs.
    async fn copy(&self, key: &Key, container: &str, path: &Path) -> io::Result<()> {
        let api: Api<Pod> = Api::namespaced(self.world.client.clone(), &key.namespace);
        let parameters = LogParams {
            container: Some(container.to_owned()),
            follow: true,
            timestamps: true,
            ..LogParams::default()
        };
        let log = api
            .log_stream(&key.name, &parameters)
            .await
            .map_err(io::Error::other)?;
        let written = write(log, path).await?;
        let runs = self.world.pods.get(key).is_some_and(|seen| {
            let pod = seen.pod.as_deref();
            pod.is_some_and(|pod| pod.phase == "Running")
        });
        if written == 0 && runs {
            // A node that cannot follow a log may say nothing and be done.
            return Err(io::Error::other("nothing was printed so far"));
        }
        Ok(())
    }
}

/// Writes a log into a file; how much came.
async fn write(log: impl AsyncRead, path: &Path) -> io::Result<u64> {
    let mut log = std::pin::pin!(log);
    let mut file = fs::File::create(path).await?;
    let (mut buffer, mut written) = (vec![0; 16 * 1024], 0_u64);
    loop {
        let length = log.read(&mut buffer).await?;
        if length == 0 {
            file.flush().await?;
            return Ok(written);
        }
        if written < LARGEST {
            file.write_all(&buffer[..length]).await?;
            file.flush().await?;
            written += length as u64;
        }
    }
}
