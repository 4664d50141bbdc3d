//! What a plan asks for before it can be made: templates, ConfigMaps, long reports, pods that are missing.

use std::collections::BTreeSet;

use reconcile::{Cached as _, requests};
use resources::workflows::{CLUSTER_WORKFLOW_TEMPLATE, WORKFLOW_TASK_RESULT, WORKFLOW_TEMPLATE};
use serde::Deserialize as _;
use serde_json::Value;
use workflows::{Observed, Unknown, report::Report};

use crate::{
    kept::SeenPod,
    places::{built_in, folder},
    world::World,
};

/// Adds to what is observed of the workflow with this uid, or to what is known of pods.
pub(crate) async fn look_up(
    world: &World,
    namespace: &str,
    uid: &str,
    unknown: &BTreeSet<Unknown>,
    observed: &mut Observed,
) -> kube::Result<()> {
    let client = &world.client;
    for wanted in unknown {
        match wanted {
            Unknown::Template(source) => {
                let kind = if source.is_cluster {
                    &CLUSTER_WORKFLOW_TEMPLATE
                } else {
                    &WORKFLOW_TEMPLATE
                };
                let found = requests::get(client, &folder(kind, namespace), &source.name).await;
                observed.templates.insert(source.clone(), there(found)?);
            }
            Unknown::ConfigMap(namespace, name) => {
                let found = requests::config_map(client, namespace, name).await;
                observed
                    .config_maps
                    .insert((namespace.clone(), name.clone()), there(found)?);
            }
            Unknown::Report(node) => {
                let folder = folder(&WORKFLOW_TASK_RESULT, namespace);
                let found: Option<Value> = there(requests::get(client, &folder, node).await)?;
                observed.reports.insert(node.clone(), report(found.as_ref()));
            }
            Unknown::Pod { name, node_id } => {
                let found: Option<SeenPod> =
                    there(requests::get(client, &built_in("pods", namespace), name).await)?;
                match found.filter(|pod| is_of(pod, uid, node_id)) {
                    Some(pod) => world.pods.wrote(pod),
                    None => {
                        observed.absent.insert(name.clone());
                    }
                }
            }
        }
    }
    Ok(())
}

/// Whether a pod is the one of a node, and says so. One that has been made to say something else is lost to it: it would
/// be found again and again, and be of no use each time.
fn is_of(pod: &SeenPod, workflow: &str, node_id: &str) -> bool {
    let is_controlled = pod.controller().is_some_and(|owner| owner.uid == workflow);
    is_controlled && pod.pod.as_deref().is_some_and(|pod| pod.node_id == node_id)
}

/// The report in an object of its own. One that is not there has been deleted: nobody else can tell any more.
fn report(object: Option<&Value>) -> Report {
    let read = object.map(|object| Report::deserialize(&object["report"]));
    match read {
        Some(Ok(report)) => report,
        Some(Err(error)) => broken(format!("the step's report cannot be read: {error}")),
        None => broken("the WorkflowTaskResult of the step is gone".to_owned()),
    }
}

fn broken(error: String) -> Report {
    Report {
        error,
        ..Report::default()
    }
}

fn there<T>(found: kube::Result<T>) -> kube::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use workflows::names;

    use super::*;

    #[test]
    fn a_pod_that_does_not_say_any_more_whose_it_is_counts_as_gone() {
        let pod = |label: &str, node_id: &str| -> SeenPod {
            let owner = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "w", "uid": "u", "controller": true});
            let meta = json!({
                "name": "p", "labels": {label: "w"}, "annotations": {names::NODE_ID: node_id},
                "ownerReferences": [owner],
            });
            serde_json::from_value(json!({"metadata": meta})).unwrap()
        };
        assert!(is_of(&pod(names::WORKFLOW, "w-1"), "u", "w-1"));
        assert!(!is_of(&pod(names::WORKFLOW, "w-1"), "another", "w-1"));
        assert!(!is_of(&pod(names::WORKFLOW, "mine"), "u", "w-1"));
        assert!(!is_of(&pod("other", "w-1"), "u", "w-1"));
    }
}
