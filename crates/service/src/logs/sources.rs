//! Which logs a task has: those of its pods, and those that are kept.

use std::{collections::BTreeMap, path::PathBuf};

use resources::tasks::names::labels;
use serde_json::Value;
use tasks::logs::Archive;

use super::Place;
use crate::{
    app::App,
    objects::{Folder, Refusal, escaped},
    rows::text,
};

/// The log of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// `pod/container`.
    pub(super) name: String,
    pub(super) pod: String,
    pub(super) container: String,
    /// Whether the pod is there.
    pub(super) is_there: bool,
    /// The file it is kept in, and whether it is there to its end.
    pub(super) kept: Option<(PathBuf, bool)>,
}

/// The logs of a task's attempt, by name.
pub(super) async fn sources(app: &App, place: &Place) -> Result<Vec<Source>, Refusal> {
    let selector = escaped(&format!("{}={}", labels::TASK, place.task));
    let folder = Folder::core(&place.namespace, "pods");
    let list = app
        .objects
        .list(&folder, &format!("labelSelector={selector}"))
        .await?;
    let mut found = BTreeMap::new();
    for pod in list["items"].as_array().into_iter().flatten() {
        if attempt(pod) != place.attempt {
            continue;
        }
        for container in containers(pod) {
            let source = source(text(&pod["metadata"], "name"), container, true);
            found.insert(source.name.clone(), source);
        }
    }
    for kept in kept(place).await {
        if i64::from(kept.attempt) != place.attempt {
            continue;
        }
        let is_whole = kept.path.extension().is_some_and(|extension| extension == "log");
        let source = source(&kept.pod, &kept.container, false);
        let known = found.entry(source.name.clone()).or_insert(source);
        known.kept = Some((kept.path, is_whole));
    }
    Ok(found.into_values().collect())
}

fn source(pod: &str, container: &str, is_there: bool) -> Source {
    Source {
        name: format!("{pod}/{container}"),
        pod: pod.to_owned(),
        container: container.to_owned(),
        is_there,
        kept: None,
    }
}

/// Files are listed beside everything else.
async fn kept(place: &Place) -> Vec<tasks::logs::Kept> {
    let Some(folder) = place.kept.clone() else {
        return Vec::new();
    };
    let (namespace, task) = (place.namespace.clone(), place.task.clone());
    let listed = tokio::task::spawn_blocking(move || Archive::new(folder).list(&namespace, &task)).await;
    match listed {
        Ok(Ok(kept)) => kept,
        Ok(Err(error)) => {
            tracing::warn!(%error, task = place.task, "kept logs cannot be listed");
            Vec::new()
        }
        Err(_) => Vec::new(),
    }
}

/// The attempt a pod was made for.
fn attempt(pod: &Value) -> i64 {
    let label = pod["metadata"]["labels"][labels::ATTEMPT].as_str();
    label.and_then(|label| label.parse().ok()).unwrap_or(1)
}

/// Those before the others first.
fn containers(pod: &Value) -> impl Iterator<Item = &str> {
    let lists = [&pod["spec"]["initContainers"], &pod["spec"]["containers"]];
    lists
        .into_iter()
        .flat_map(|list| list.as_array().into_iter().flatten())
        .map(|container| text(container, "name"))
}
