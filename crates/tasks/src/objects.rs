//! Rendered objects become those of a task: its labels, its owner, what its node groups tolerate. Pure.

use resources::tasks::{Child, NodeGroupSpec, TASK, names::labels};
use serde_json::{Map, Value, json};

use crate::plan::{Task, runs};

/// What an object of a task is called.
pub(crate) fn child(object: &Value) -> Child {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Child {
        api_version: text(&object["apiVersion"]),
        kind: text(&object["kind"]),
        name: text(&object["metadata"]["name"]),
    }
}

/// Makes the objects those of an attempt of a task, in the order in which they are to be made.
pub(crate) fn adopt(
    mut objects: Vec<Value>,
    task: &Task,
    attempt: i32,
    keep_claims: bool,
    groups: &[NodeGroupSpec],
) -> Vec<Value> {
    for object in &mut objects {
        let child = child(object);
        let is_run = runs(&child.api_version, &child.kind);
        let is_kept = child.kind == "PersistentVolumeClaim" && keep_claims;
        let meta = &mut object["metadata"];
        meta["namespace"] = json!(task.namespace);
        label(meta, task, is_run.then_some(attempt));
        if !is_kept {
            meta["ownerReferences"] = json!([owner(task)]);
        }
        if is_run {
            stay(&mut object["spec"]);
        }
        if child.kind == "Workflow" {
            label(&mut object["spec"]["podMetadata"], task, Some(attempt));
        }
        if is_run {
            let pods = &mut |pod: &mut Value| {
                label(&mut pod["metadata"], task, Some(attempt));
                tolerate(&mut pod["spec"], groups);
            };
            if child.kind == "Pod" {
                pods(object);
            } else {
                in_templates(object, pods);
            }
        }
    }
    // What pods refer to is there before them.
    objects.sort_by_key(|object| {
        let child = child(object);
        runs(&child.api_version, &child.kind)
    });
    objects
}

/// What is gone looks like something that never ran, to whoever was not there when it ended. So it stays as long as its
/// task, whose own time limit counts.
fn stay(spec: &mut Value) {
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("ttlSecondsAfterFinished");
        // Of workflows.
        spec.remove("ttlStrategy");
        let policy = spec.get_mut("runPolicy").and_then(Value::as_object_mut);
        policy.and_then(|policy| policy.remove("ttlSecondsAfterFinished"));
    }
}

/// The reference by which a task owns an object.
pub(crate) fn owner(task: &Task) -> Value {
    json!({
        "apiVersion": TASK.api_version(),
        "kind": TASK.kind,
        "name": task.name,
        "uid": task.uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

fn label(meta: &mut Value, task: &Task, attempt: Option<i32>) {
    if !meta.is_object() {
        *meta = json!({});
    }
    if !meta["labels"].is_object() {
        meta["labels"] = json!({});
    }
    meta["labels"][labels::TASK] = json!(task.name);
    if let Some(attempt) = attempt {
        meta["labels"][labels::ATTEMPT] = json!(attempt.to_string());
    }
}

/// Every pod template in an object, wherever its kind has them.
fn in_templates(value: &mut Value, act: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if name == "template" && field["spec"]["containers"].is_array() {
                    act(field);
                } else {
                    in_templates(field, act);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| in_templates(item, act)),
        _ => {}
    }
}

/// Pods that ask for the labels of a group tolerate what its nodes have.
fn tolerate(spec: &mut Value, groups: &[NodeGroupSpec]) {
    let empty = Map::new();
    let selector = spec["nodeSelector"].as_object().unwrap_or(&empty);
    let is_asked_for = |group: &&NodeGroupSpec| {
        let mut labels = group.selector.iter();
        !group.selector.is_empty()
            && labels.all(|(name, value)| selector.get(name).and_then(Value::as_str) == Some(value))
    };
    let tolerations: Vec<Value> = groups
        .iter()
        .filter(is_asked_for)
        .flat_map(|group| group.tolerations.clone())
        .collect();
    if tolerations.is_empty() {
        return;
    }
    if !spec["tolerations"].is_array() {
        spec["tolerations"] = json!([]);
    }
    for toleration in tolerations {
        let known = spec["tolerations"].as_array_mut();
        if let Some(known) = known.filter(|known| !known.contains(&toleration)) {
            known.push(toleration);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        Task {
            namespace: "n".to_owned(),
            name: "t".to_owned(),
            uid: "u".to_owned(),
            ..Task::default()
        }
    }

    fn objects() -> Vec<Value> {
        vec![
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "t", "namespace": "kube-system"},
                "spec": {"ttlSecondsAfterFinished": 0, "template": {"metadata": {"name": "t"}, "spec": {
                    "nodeSelector": {"gpu": "true"}, "containers": [{"name": "c"}]}}}}),
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "t"}}),
        ]
    }

    #[test]
    fn everything_is_the_tasks_own_and_what_runs_comes_last() {
        let made = adopt(objects(), &task(), 2, false, &[]);
        assert_eq!(made[0]["kind"], "PersistentVolumeClaim");
        assert_eq!(made[0]["metadata"]["ownerReferences"][0]["uid"], "u");
        let job = &made[1];
        assert_eq!(job["metadata"]["namespace"], "n");
        assert_eq!(job["metadata"]["labels"][labels::ATTEMPT], "2");
        assert_eq!(job["spec"]["template"]["metadata"]["labels"][labels::TASK], "t");
        assert!(job["spec"].get("ttlSecondsAfterFinished").is_none());
    }

    #[test]
    fn nothing_that_runs_goes_by_itself() {
        let object = |kind: &str, api_version: &str, spec: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "t"}, "spec": spec});
        let objects = vec![
            object(
                "PyTorchJob",
                "kubeflow.org/v1",
                json!({"runPolicy": {"ttlSecondsAfterFinished": 0, "cleanPodPolicy": "None"}}),
            ),
            object(
                "Workflow",
                "argoproj.io/v1alpha1",
                json!({"ttlStrategy": {"secondsAfterCompletion": 0}}),
            ),
        ];
        let made = adopt(objects, &task(), 1, true, &[]);
        assert_eq!(made[0]["spec"], json!({"runPolicy": {"cleanPodPolicy": "None"}}));
        assert!(made[1]["spec"].get("ttlStrategy").is_none());
    }

    #[test]
    fn claims_that_stay_belong_to_nobody() {
        let made = adopt(objects(), &task(), 1, true, &[]);
        assert!(made[0]["metadata"].get("ownerReferences").is_none());
        assert!(made[1]["metadata"].get("ownerReferences").is_some());
    }

    #[test]
    fn pods_tolerate_what_the_group_they_ask_for_has() {
        let group = |label: &str| NodeGroupSpec {
            selector: [(label.to_owned(), "true".to_owned())].into(),
            tolerations: vec![json!({"key": label, "operator": "Exists"})],
            ..NodeGroupSpec::default()
        };
        let made = adopt(
            objects(),
            &task(),
            1,
            true,
            &[group("gpu"), group("cpu"), group("gpu")],
        );
        assert_eq!(
            made[1]["spec"]["template"]["spec"]["tolerations"],
            json!([{"key": "gpu", "operator": "Exists"}])
        );
    }

    #[test]
    fn pods_of_training_jobs_and_workflows_are_found() {
        let worker = json!({"template": {"spec": {"containers": []}}});
        let mpi = json!({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "t"},
            "spec": {"mpiReplicaSpecs": {"Launcher": worker, "Worker": worker}}});
        let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "t"},
            "spec": {}});
        let made = adopt(vec![mpi, workflow], &task(), 1, true, &[]);
        for role in ["Launcher", "Worker"] {
            let template = &made[0]["spec"]["mpiReplicaSpecs"][role]["template"];
            assert_eq!(template["metadata"]["labels"][labels::TASK], "t");
        }
        assert_eq!(made[1]["spec"]["podMetadata"]["labels"][labels::TASK], "t");
    }
}
