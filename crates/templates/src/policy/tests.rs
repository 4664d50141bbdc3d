use serde_json::{Value, json};

use super::*;

fn policy() -> Policy {
    Policy::of_task("team", "count-abc")
}

fn job(spec: Value) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "count-abc"}, "spec": {"template": {"spec": spec}}})
}

#[track_caller]
fn check(objects: &[Value], expected: &[&str]) {
    let told: Vec<String> = policy().judge(objects).iter().map(ToString::to_string).collect();
    assert_eq!(told, expected);
}

#[test]
fn an_ordinary_job_is_allowed() {
    check(
        &[job(
            json!({"containers": [{"name": "a", "image": "b"}], "volumes": [{"name": "v", "emptyDir": {}}]}),
        )],
        &[],
    );
}

#[test]
fn kinds_names_and_places_are_the_tasks() {
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "x"}});
    let mut elsewhere = job(json!({}));
    elsewhere["metadata"]["namespace"] = "kube-system".into();
    elsewhere["metadata"]["name"] = "count-abcd".into();
    check(
        &[role, elsewhere],
        &[
            "ClusterRole/x /kind: tasks may not have a `ClusterRole` of rbac.authorization.k8s.io",
            "ClusterRole/x /metadata/name: the name must be the task's, `count-abc`, or begin with `count-abc-`",
            "Job/count-abcd /metadata/namespace: a template does not choose the namespace: everything of a task is in the task's own",
            "Job/count-abcd /metadata/name: the name must be the task's, `count-abc`, or begin with `count-abc-`",
        ],
    );
}

#[test]
fn pods_keep_to_the_baseline_wherever_they_are() {
    let pod = json!({
        "hostNetwork": true,
        "serviceAccountName": "admin",
        "containers": [{"name": "a", "securityContext": {"privileged": true}}],
        "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
    });
    let told = policy().judge(&[job(pod.clone())]);
    let pointers: Vec<&str> = told.iter().map(|violation| violation.pointer.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/spec/template/spec",
            "/spec/template/spec",
            "/spec/template/spec",
            "/spec/template/spec/serviceAccountName"
        ],
        "{told:?}"
    );
    let trusted = Policy {
        trusted: true,
        ..policy()
    };
    assert_eq!(trusted.judge(&[job(pod)]), []);
}

#[test]
fn steps_of_workflows_are_pods_too() {
    let workflow = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "count-abc"},
        "spec": {
            "podSpecPatch": "hostNetwork: true",
            "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
            "templates": [
                {"name": "a", "container": {"name": "main", "securityContext": {"privileged": true}}},
                {"name": "b", "resource": {"action": "create", "manifest": "kind: Pod"}},
            ],
        },
    });
    let told = policy().judge(&[workflow]);
    let pointers: Vec<&str> = told.iter().map(|violation| violation.pointer.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/spec",
            "/spec/podSpecPatch",
            "/spec/templates/0",
            "/spec/templates/1/resource/manifest"
        ],
        "{told:?}"
    );
}

#[test]
fn texts_for_programs_are_not_looked_into() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "count-abc-x"}, "data": {"containers": "hostPath", "manifest": ""}});
    check(&[map], &[]);
}

#[test]
fn no_two_objects_are_one() {
    check(
        &[job(json!({})), job(json!({}))],
        &["Job/count-abc /metadata/name: an object before it has the same kind and name"],
    );
}

#[test]
fn objects_are_put_where_the_task_is() {
    let mut objects = [job(json!({}))];
    policy().place(&mut objects);
    assert_eq!(objects[0]["metadata"]["namespace"], "team");
}

#[test]
fn kinds_are_named_in_three_ways() {
    let usual = Policy::of_task("n", "r").kinds;
    let shown = |rule: &str| {
        let rule = kind_rule(rule, &usual);
        format!("{}/{}", rule.group, rule.kind)
    };
    assert_eq!(shown("batch/v1/Job"), "batch/Job");
    assert_eq!(shown("Job"), "batch/Job");
    assert_eq!(shown("v1/Secret"), "/Secret");
    assert_eq!(shown("Secret"), "/Secret");
    assert_eq!(shown("kubeflow.org/MPIJob"), "kubeflow.org/MPIJob");
}

#[test]
fn what_a_template_was_allowed_takes_the_place_of_what_all_may() {
    let allowed = Allowed {
        trusted: true,
        kinds: vec!["v1/Secret".to_owned()],
    };
    let policy = Policy::of_template("n", "r", &allowed);
    assert!(policy.trusted && policy.allows("", "Secret") && !policy.allows("batch", "Job"));
    assert_eq!(
        Policy::of_template("n", "r", &Allowed::default()),
        Policy::of_task("n", "r")
    );
}

#[test]
fn kinds_that_every_template_may_make_are_nothing_special() {
    let allowed = Allowed {
        kinds: [
            "Job",
            "batch/Job",
            "batch/v1/Job",
            "v1/Pod",
            "kubeflow.org/v1/TFJob",
            "Secret",
            "example.com/Job",
            "rbac.authorization.k8s.io/v1/RoleBinding",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Allowed::default()
    };
    assert_eq!(
        allowed.unusual(),
        [
            "Secret",
            "example.com/Job",
            "rbac.authorization.k8s.io/v1/RoleBinding"
        ]
    );
}
