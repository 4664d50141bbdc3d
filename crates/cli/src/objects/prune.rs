//! What was applied under the name of a package before and is no longer in it.

use serde_json::Value;

use super::{
    MANAGER, PACKAGE, Placed,
    delete::remove,
    discovery::{self, Resource},
};
use crate::jobs::{
    api::{ApiError, escaped},
    place::Cluster,
};

/// Deletes it, and says what it was.
pub(super) async fn prune(
    cluster: &Cluster,
    package: &str,
    applied: &[Placed],
    dry_run: bool,
) -> Result<Vec<String>, ApiError> {
    let selector = escaped(&format!("{PACKAGE}={package}"));
    let mut pruned: Vec<Placed> = Vec::new();
    for resource in discovery::all(cluster).await? {
        let list = format!("{}?labelSelector={selector}", resource.path(None, None));
        for object in cluster.api.list(&list).await?.unwrap_or_default() {
            let is_kept = |one: &Placed| one.object["metadata"]["uid"] == object["metadata"]["uid"];
            // Some objects are to be had from more than one group.
            if is_applied_here(&object) && !applied.iter().chain(&pruned).any(is_kept) {
                pruned.push(placed(&resource, object));
            }
        }
    }
    for object in &pruned {
        remove(cluster, object, dry_run).await?;
    }
    Ok(pruned.into_iter().map(|placed| placed.shown).collect())
}

/// Controllers copy labels from one object to others; those nobody has applied.
fn is_applied_here(object: &Value) -> bool {
    let mut managers = object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten();
    managers.any(|entry| entry["manager"] == MANAGER && entry["operation"] == "Apply")
}

fn placed(resource: &Resource, object: Value) -> Placed {
    let text = |field: &str| object["metadata"][field].as_str();
    let name = text("name").unwrap_or_default();
    Placed {
        shown: resource.shown(name),
        path: resource.path(text("namespace"), Some(name)),
        object,
    }
}
