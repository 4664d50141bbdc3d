//! What the operator may do on a cluster: the one list that its role is written from and that is asked for
//! before it starts.

use futures_util::future::join_all;
use kube::Client;
use reconcile::requests;
use resources::Kind;
use serde_json::{Value, json};
use training::Gang;

/// So many questions are asked at a time.
const AT_A_TIME: usize = 16;

/// Verbs on one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Right {
    pub group: &'static str,
    pub resource: String,
    pub verbs: &'static [&'static str],
}

const MAKE: &[&str] = &["get", "list", "watch", "create"];
const KEEP: &[&str] = &["get", "list", "watch", "create", "patch"];
const REPLACE: &[&str] = &["get", "list", "watch", "create", "delete"];
const ALL: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

fn right(group: &'static str, resource: &str, verbs: &'static [&'static str]) -> Right {
    Right {
        group,
        resource: resource.to_owned(),
        verbs,
    }
}

/// In the namespaces whose jobs it looks after.
pub(crate) fn on_jobs(kinds: &[&'static Kind], gang: &Gang) -> Vec<Right> {
    let mut rights = vec![
        right("", "pods", REPLACE),
        right("", "pods/status", &["patch"]),
        right("", "services", REPLACE),
        right("", "configmaps", KEEP),
        right("", "secrets", MAKE),
        right("", "serviceaccounts", MAKE),
        right("", "events", &["create", "patch"]),
        right("batch", "jobs", ALL),
        right("autoscaling", "horizontalpodautoscalers", KEEP),
        right("rbac.authorization.k8s.io", "roles", KEEP),
        right("rbac.authorization.k8s.io", "rolebindings", MAKE),
        // Nobody grants what they do not have: MPI launchers run commands in their workers.
        right("", "pods/exec", &["create", "get"]),
    ];
    for kind in kinds {
        rights.push(right(
            kind.group,
            kind.plural,
            &["get", "list", "watch", "delete"],
        ));
        rights.push(right(kind.group, &format!("{}/status", kind.plural), &["update"]));
        // What blocks the deletion of its owner must be allowed to, where that is enforced.
        rights.push(right(
            kind.group,
            &format!("{}/finalizers", kind.plural),
            &["update"],
        ));
    }
    match gang {
        Gang::None | Gang::Embedded => {}
        Gang::Volcano => rights.push(right(crate::pod_groups::VOLCANO.group, "podgroups", ALL)),
        Gang::SchedulerPlugins { .. } => {
            rights.push(right(
                crate::pod_groups::SCHEDULER_PLUGINS.group,
                "podgroups",
                ALL,
            ));
        }
    }
    rights
}

/// For tasks, in the whole cluster: their own kinds, what their templates may make, and what is known of pods and
/// nodes.
pub(crate) fn on_tasks() -> Vec<Right> {
    const GROUP: &str = resources::tasks::GROUP;
    let mut rights = vec![
        right("", "persistentvolumeclaims", ALL),
        right("", "configmaps", ALL),
        right("", "secrets", ALL),
        right("", "services", ALL),
        right("", "pods", ALL),
        right("", "pods/log", &["get"]),
        right("", "nodes", &["get", "list", "watch"]),
        right("storage.k8s.io", "storageclasses", &["list"]),
        right("", "persistentvolumes", &["list"]),
        right("", "events", &["get", "list", "create", "patch"]),
        right(
            "apps",
            "controllerrevisions",
            &["get", "list", "create", "delete"],
        ),
        right("apps", "deployments", ALL),
        right("apps", "statefulsets", ALL),
        right("batch", "jobs", ALL),
        right("argoproj.io", "workflows", ALL),
        right(GROUP, "tasks/finalizers", &["update"]),
    ];
    for kind in resources::tasks::ALL {
        rights.push(right(GROUP, kind.plural, ALL));
        rights.push(right(
            GROUP,
            &format!("{}/status", kind.plural),
            &["update", "patch"],
        ));
    }
    for kind in resources::kinds::ALL {
        rights.push(right(kind.group, kind.plural, ALL));
    }
    rights
}

/// For workflows, in the whole cluster: their kinds, pods, claims and remembered results, and whether Argo's own
/// controller is there.
pub(crate) fn on_workflows() -> Vec<Right> {
    const GROUP: &str = resources::workflows::GROUP;
    const CHANGE: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];
    vec![
        right("", "pods", ALL),
        right("", "persistentvolumeclaims", &["create", "get", "delete"]),
        right("", "configmaps", &["get", "create", "patch"]),
        right("", "events", &["create", "patch"]),
        right("coordination.k8s.io", "leases", &["list"]),
        right(GROUP, "workflows", CHANGE),
        right(GROUP, "workflows/finalizers", &["update"]),
        right(GROUP, "cronworkflows", CHANGE),
        right(GROUP, "cronworkflows/finalizers", &["update"]),
        right(GROUP, "workflowtemplates", &["get"]),
        right(GROUP, "clusterworkflowtemplates", &["get"]),
        right(GROUP, "workflowtaskresults", &["get"]),
    ]
}

/// In the namespace of its lease.
pub(crate) fn on_lease() -> Vec<Right> {
    vec![right(
        "coordination.k8s.io",
        "leases",
        &["get", "create", "update"],
    )]
}

/// On the definitions of the kinds.
pub(crate) fn on_definitions(installs: bool) -> Vec<Right> {
    let verbs: &[&str] = if installs {
        &["get", "create", "patch"]
    } else {
        &["get"]
    };
    vec![right("apiextensions.k8s.io", "customresourcedefinitions", verbs)]
}

/// A rule of a role that grants it.
pub(crate) fn rule(right: &Right) -> Value {
    json!({"apiGroups": [right.group], "resources": [right.resource], "verbs": right.verbs})
}

/// One verb that is not allowed, for people: `create pods`, `watch jobs.batch`.
pub(crate) async fn missing(
    client: &Client,
    namespace: Option<&str>,
    rights: &[Right],
) -> kube::Result<Vec<String>> {
    let questions: Vec<(&Right, &str)> = rights
        .iter()
        .flat_map(|right| right.verbs.iter().map(move |verb| (right, *verb)))
        .collect();
    let mut missing = Vec::new();
    for round in questions.chunks(AT_A_TIME) {
        let answers = join_all(
            round
                .iter()
                .map(|(right, verb)| ask(client, namespace, right, verb)),
        )
        .await;
        for ((right, verb), is_allowed) in round.iter().zip(answers) {
            if !is_allowed? {
                missing.push(shown(right, verb));
            }
        }
    }
    Ok(missing)
}

async fn ask(client: &Client, namespace: Option<&str>, right: &Right, verb: &str) -> kube::Result<bool> {
    let (resource, subresource) = right.resource.split_once('/').unwrap_or((&right.resource, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "namespace": namespace.unwrap_or_default(),
            "verb": verb,
            "group": right.group,
            "resource": resource,
            "subresource": subresource,
        }},
    });
    let folder = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer: Value = requests::create(client, folder, &review).await?;
    Ok(answer["status"]["allowed"] == true)
}

fn shown(right: &Right, verb: &str) -> String {
    match right.group {
        "" => format!("{verb} {}", right.resource),
        group => match right.resource.split_once('/') {
            Some((resource, subresource)) => format!("{verb} {resource}.{group}/{subresource}"),
            None => format!("{verb} {}.{group}", right.resource),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_shown_as_kubectl_writes_them() {
        assert_eq!(shown(&right("", "pods", REPLACE), "watch"), "watch pods");
        let status = right("kubeflow.org", "tfjobs/status", &["update"]);
        assert_eq!(shown(&status, "update"), "update tfjobs.kubeflow.org/status");
    }

    #[test]
    fn what_a_gang_scheduler_needs_is_asked_for_where_there_is_one() {
        let kinds = [&resources::kinds::TF_JOB];
        let has_groups = |gang| {
            let rights = on_jobs(&kinds, &gang);
            rights.iter().any(|right| right.resource == "podgroups")
        };
        assert!(has_groups(Gang::Volcano));
        assert!(!has_groups(Gang::None));
    }
}
