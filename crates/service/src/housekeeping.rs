//! What the service sees to from time to time: its own namespace, and notes of keys that are forgotten.

use std::time::Duration;

use jiff::Timestamp;
use resources::tasks::names::labels::IDEMPOTENCY_KEY;
use serde_json::json;

use crate::{
    handlers::is_forgotten,
    objects::{Earnest, Folder, Objects, Refusal},
    rows::text,
};

const EVERY: Duration = Duration::from_hours(1);
/// Notes that are looked at in one request.
const PAGE: usize = 500;

pub(crate) async fn keep(objects: Objects, namespace: String) {
    let mut pause = Duration::from_secs(1);
    while let Err(refusal) = ensure_namespace(&objects, &namespace).await {
        tracing::warn!(%refusal, namespace, "the namespace of the task service cannot be made");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_mins(1));
    }
    loop {
        tokio::time::sleep(EVERY).await;
        if let Err(refusal) = forget(&objects, Timestamp::now()).await {
            tracing::warn!(%refusal, "old keys could not be forgotten");
        }
    }
}

/// The namespace the service keeps its own things in.
pub(crate) async fn ensure_namespace(objects: &Objects, name: &str) -> Result<(), Refusal> {
    let folder = Folder::cluster("namespaces");
    if objects.find(&folder, name).await?.is_some() {
        return Ok(());
    }
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    match objects.create(&folder, &namespace, Earnest::Really).await {
        Err(refusal) if refusal.is(409) => Ok(()),
        other => other.map(drop),
    }
}

/// Removes notes of keys that may be used again.
async fn forget(objects: &Objects, now: Timestamp) -> Result<(), Refusal> {
    let everywhere = Folder::cluster("configmaps");
    let mut next = String::new();
    loop {
        let query = format!("labelSelector={IDEMPOTENCY_KEY}&limit={PAGE}&continue={next}");
        let list = objects.list_metadata(&everywhere, &query).await?;
        for note in list["items"].as_array().into_iter().flatten() {
            if is_forgotten(note, now) {
                let meta = &note["metadata"];
                let folder = Folder::core(text(meta, "namespace"), "configmaps");
                match objects.delete(&folder, text(meta, "name"), &json!({})).await {
                    Err(refusal) if refusal.is(404) => {}
                    other => drop(other?),
                }
            }
        }
        next = crate::objects::escaped(text(&list["metadata"], "continue"));
        if next.is_empty() {
            return Ok(());
        }
    }
}
