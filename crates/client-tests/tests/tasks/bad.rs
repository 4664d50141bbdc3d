//! What is wrong is said, and nothing is lost or half made.

use client_tests::team::{Scenario, Team};
use serde_json::{Value, json};

use crate::{definition, play, task, template};

#[test]
fn what_is_wrong_is_said() {
    let scenarios: [Scenario; 5] = [
        ("broken-template", a_template_that_cannot_be_rendered),
        ("bomb", a_template_that_takes_all_memory),
        ("values", values_that_do_not_fit),
        ("name-taken", a_name_that_somebody_else_has),
        ("policy", what_a_template_may_not_make),
    ];
    play(&scenarios);
}

/// A task of a template with this text, when it has failed.
#[track_caller]
fn failed(team: &Team<'_>, text: &str, change: impl FnOnce(&mut Value, &mut Value)) -> Value {
    let name = format!("bad-{}", team.namespace);
    let mut bad = template(&name);
    bad["spec"]["template"] = json!(text);
    let mut definition = definition("bad", &name, "true");
    let mut task = task("t", "bad");
    change(&mut definition, &mut task);
    for object in [bad, definition, task] {
        team.apply(&object.to_string());
    }
    let task = team.until("tasks/t", |task| task["status"]["phase"] == "Failed");
    assert!(team.find("jobs/t").is_null());
    task
}

fn message(task: &Value) -> &str {
    task["status"]["message"].as_str().unwrap()
}

fn a_template_that_cannot_be_rendered(team: &Team<'_>) {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ global.release\n";
    let task = failed(team, text, |_, task| {
        task["spec"]["values"]["secret"] = json!("hunter2");
    });
    assert_eq!(task["status"]["reason"], "RenderFailed");
    assert!(
        message(&task).contains(&format!("bad-{}:4:", team.namespace)),
        "{}",
        message(&task)
    );
    assert!(!message(&task).contains("hunter2"));
}

fn a_template_that_takes_all_memory(team: &Team<'_>) {
    let text = "{% set s = 'x' * 1000 %}{% for i in range(40) %}{% set s = s ~ s %}{% endfor %}{{ s }}\n\
                {{ '%1000000000d' % 1 }}";
    let task = failed(team, text, |_, _| {});
    assert!(!message(&task).is_empty());
    // Others go on.
    let mut good = template(&format!("good-{}", team.namespace));
    good["spec"]["template"] =
        json!("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ global.release }}\"}\n");
    team.apply(&good.to_string());
    team.apply(&definition("good", &format!("good-{}", team.namespace), "true").to_string());
    team.apply(&crate::task("good", "good").to_string());
    // Nothing runs, so it is done when it is made.
    team.until("tasks/good", |task| task["status"]["phase"] == "Succeeded");
    assert!(!team.find("configmaps/good").is_null());
}

fn values_that_do_not_fit(team: &Team<'_>) {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ global.release }}\"}\n";
    let task = failed(team, text, |definition, _| {
        definition["spec"]["user_values_description"] =
            json!("process:\r\n  number: (Required) how many\r\n");
    });
    assert_eq!(task["status"]["reason"], "ValuesInvalid");
    assert!(message(&task).contains("/process"), "{}", message(&task));
    let refused = team.refusal(
        &json!({
            "apiVersion": "trainyard.dev/v1alpha1", "kind": "Task",
            "metadata": {"name": "x"}, "spec": {"values": "text", "attempt": 0},
        })
        .to_string(),
    );
    assert!(
        refused.contains("spec.values") && refused.contains("spec.attempt"),
        "{refused}"
    );
}

fn a_name_that_somebody_else_has(team: &Team<'_>) {
    team.ok("create configmap t --from-literal=whose=mine");
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ global.release }}\"}\n";
    let task = failed(team, text, |_, _| {});
    assert_eq!(task["status"]["reason"], "NameTaken");
    assert_eq!(team.find("configmaps/t")["data"]["whose"], "mine");
    team.ok("delete task t --timeout=120s");
    assert_eq!(team.find("configmaps/t")["data"]["whose"], "mine");
}

fn what_a_template_may_not_make(team: &Team<'_>) {
    let text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\n\
                metadata: {name: \"{{ global.release }}\"}\n";
    let task = failed(team, text, |_, _| {});
    assert_eq!(task["status"]["reason"], "NotAllowed");
    assert!(
        message(&task).contains("ClusterRoleBinding"),
        "{}",
        message(&task)
    );
}
