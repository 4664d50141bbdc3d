//! What the launcher may do: see pods, and run commands in its own workers.

use serde_json::{Value, json};

use super::labelled;
use crate::{
    children::Child,
    job::{Job, Mpi, MpiVersion},
};

pub(super) fn all(job: &Job, mpi: &Mpi) -> Vec<Child> {
    let name = job.child_name("Launcher", 0);
    let mut objects = Vec::new();
    // An account of the user's own is the user's to make.
    if service_account(job, mpi) == name {
        objects.push(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": labelled(job, &name)}));
    }
    objects.extend([role(job, &name), binding(job, mpi, &name)]);
    objects.into_iter().map(Child::create).collect()
}

fn role(job: &Job, name: &str) -> Value {
    let workers: Vec<String> = (0..job.count("Worker"))
        .map(|index| job.child_name("Worker", index))
        .collect();
    let mut rules =
        vec![json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]})];
    // A rule without names is one for every pod of the namespace.
    if !workers.is_empty() {
        rules.push(json!({
            "apiGroups": [""], "resources": ["pods/exec"], "resourceNames": workers, "verbs": ["create", "get"],
        }));
    }
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": labelled(job, name),
        "rules": rules,
    })
}

fn binding(job: &Job, mpi: &Mpi, name: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": labelled(job, name),
        "subjects": [{
            "kind": "ServiceAccount",
            "name": service_account(job, mpi),
            "namespace": job.namespace(),
        }],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
    })
}

/// The account the launcher runs as: the user's where there is one, but for v1alpha2, which never
/// heeded it.
pub(super) fn service_account(job: &Job, mpi: &Mpi) -> String {
    let launcher = job.replica("Launcher");
    let chosen = launcher.and_then(|launcher| launcher.template["spec"]["serviceAccountName"].as_str());
    match chosen.filter(|name| !name.is_empty()) {
        Some(name) if mpi.version != MpiVersion::V1Alpha2 => name.to_owned(),
        _ => job.child_name("Launcher", 0),
    }
}
