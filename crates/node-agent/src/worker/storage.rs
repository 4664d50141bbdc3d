//! What a pod may keep in its volumes: measured now and then, as nothing tells when it is too much.

use std::{path::PathBuf, time::Duration};

use super::{Happening, Worker};
use crate::volumes::{self, Limit};

const MEASURED_EVERY: Duration = Duration::from_secs(10);

impl Worker {
    /// Has the volumes of a running pod measured that have a limit.
    pub(super) fn watch_storage(&mut self) {
        if self.is_storage_watched || self.live.is_none() || self.book.eviction.is_some() {
            return;
        }
        let limits = volumes::limits(&self.pod);
        if limits.is_empty() {
            return;
        }
        self.is_storage_watched = true;
        let (folder, tell) = (self.folder.volumes(), self.tell.clone());
        self.jobs.spawn(async move {
            if let Some(why) = exceeded(folder, limits).await {
                let _ = tell.send(Happening::TooMuchStored(why));
            }
        });
    }

    pub(super) fn evict(&mut self, why: String) {
        if self.is_over() {
            return;
        }
        self.agent.events.warning(&self.pod, "Evicted", why.clone());
        self.book.eviction = Some(why);
    }
}

/// Resolves when a volume holds more than it may, with words for it, or when there are none any more.
async fn exceeded(folder: PathBuf, limits: Vec<Limit>) -> Option<String> {
    loop {
        tokio::time::sleep(MEASURED_EVERY).await;
        if !folder.exists() {
            return None;
        }
        let (folder, limits) = (folder.clone(), limits.clone());
        let measured = tokio::task::spawn_blocking(move || volumes::exceeded(&folder, &limits));
        if let Ok(Some(why)) = measured.await {
            return Some(why);
        }
    }
}
