//! Where pods come from: which objects hold templates of them, and which changes make another pod.

use serde_json::Value;

use crate::read::{at, get, list, text};

/// The pod template in an object of a kind that makes pods.
pub fn template_of<'a>(group: &str, kind: &str, object: &'a Value) -> Option<&'a Value> {
    let path: &[&str] = match (group, kind) {
        ("", "PodTemplate") => &["template"],
        ("", "ReplicationController")
        | ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
        | ("batch", "Job") => &["spec", "template"],
        ("batch", "CronJob") => &["spec", "jobTemplate", "spec", "template"],
        _ => return None,
    };
    Some(at(object, path)).filter(|template| !template.is_null())
}

/// Whether an update changes what a pod runs. Of what may change in a running pod, only images and
/// ephemeral containers count.
pub fn is_significant_update(new: &Value, old: &Value) -> bool {
    let (new, old) = (get(new, "spec"), get(old, "spec"));
    let replaced = |key: &str| {
        let (new, old) = (list(new, key), list(old, key));
        new.len() != old.len() || new.iter().zip(old).any(|(new, old)| has_other_image(new, old))
    };
    let added = list(new, "ephemeralContainers").iter().any(|new| {
        let old = list(old, "ephemeralContainers")
            .iter()
            .find(|old| text(old, "name") == text(new, "name"));
        old.is_none_or(|old| has_other_image(new, old))
    });
    replaced("containers") || replaced("initContainers") || added
}

fn has_other_image(new: &Value, old: &Value) -> bool {
    text(new, "image") != text(old, "image")
}
