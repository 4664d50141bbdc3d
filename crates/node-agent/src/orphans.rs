//! Folders of pods that nobody knows any more, and the end of everything at once.

use std::{collections::BTreeSet, fs, io, path::Path, sync::Arc};

use containers::client::bury;
use network::Network;

use crate::{agent::Agent, folders::Folders, volumes::tear_down};

/// Stops and removes what is left of pods that were deleted while no agent looked.
pub(crate) async fn bury_all(agent: Arc<Agent>) {
    let known: BTreeSet<String> = agent
        .followed
        .pods
        .all()
        .iter()
        .filter_map(|pod| pod.metadata.uid.clone())
        .collect();
    if let Some(Err(error)) = agent.gpus.as_ref().map(|pool| pool.restore(&known)) {
        tracing::warn!(%error, "GPUs of pods that are gone were not given back");
    }
    agent.images.release_others(|pod| known.contains(pod));
    for uid in uids(&agent.folders) {
        if known.contains(&uid) {
            continue;
        }
        let folder = agent.folders.pods().join(&uid);
        let _ = bury(&folder).await;
        if let Err(error) = agent.networking.detach(&uid).await {
            tracing::warn!(%error, uid, "the address of a pod that is gone was not given back");
        }
        if let Err(error) = tear_down(&folder.join("volumes")) {
            tracing::warn!(%error, uid, "volumes of a pod that is gone stay behind");
        }
        remove(&folder);
    }
    for logs in entries(&agent.folders.logs()) {
        let is_known = known.iter().any(|uid| logs.ends_with(uid.as_str()));
        if !is_known {
            remove(&agent.folders.logs().join(logs));
        }
    }
}

fn uids(folders: &Folders) -> Vec<String> {
    entries(&folders.pods())
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// Removes a folder that may not be there.
pub(crate) fn remove(folder: &Path) {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, folder = %folder.display(), "a folder stays behind");
        }
        _ => {}
    }
}

/// What still ran of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    pub pods: usize,
    /// The process that pods reach each other through.
    pub network: bool,
}

/// Kills every pod below a data directory whose agent is gone, and ends its network. Returns what there
/// was.
pub async fn leave_nothing_running(data_dir: &Path) -> Leftovers {
    let folders = Folders::new(data_dir);
    let mut left = Leftovers::default();
    for uid in uids(&folders) {
        let folder = folders.pods().join(uid);
        let was_alive = containers::client::Sandbox::adopt(&folder).await.is_ok();
        let _ = bury(&folder).await;
        left.pods += usize::from(was_alive);
    }
    if let Ok(network) = Network::adopt(&folders.network()).await {
        left.network = true;
        let _ = network.stop().await;
    }
    containers::cgroups::remove_unused();
    left
}
