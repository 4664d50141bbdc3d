//! Locks of workflows that are deleted while their pods still end.

use std::{fs, path::Path};

use client_tests::{Release, Server, Shell, User, binary, is_real, kubectl, needed};
use serde_json::{Value, json};

use crate::survival::{lines, wait_until};

/// A pod that takes its time to end keeps the mutex of its workflow, which is gone at once, from the next one, also
/// when another process looks after workflows meanwhile.
pub(crate) fn a_lock_outlives_its_workflow() {
    if is_real() {
        return;
    }
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let mut server = Server::start_with_options(User::Us, &["--images", "host"]);
    let folder = server.home().join("ran");
    fs::create_dir_all(&folder).unwrap();
    let programs = [("kubectl", kubectl.as_path()), ("trainyard", binary())];
    run(
        &server,
        &programs,
        &locked(&folder, "first", "slow", SLOW_TO_END),
        "--detach",
    );
    wait_until(|| lines(&folder).len() == 1);
    let second = "echo second >> /ran/log";
    run(
        &server,
        &programs,
        &locked(&folder, "second", "quick", second),
        "--detach",
    );
    Shell::new(&server, &programs).ok("kubectl delete workflow first");
    wait_until(|| lines(&folder).contains(&"going".to_owned()));
    // Who runs after the deletion was seen shows that the other could have.
    run(&server, &programs, &free("one"), "");
    assert_eq!(lines(&folder), ["began", "going"]);
    server.kill();
    server.start_again();
    run(&server, &programs, &free("two"), "");
    assert_eq!(lines(&folder), ["began", "going"]);
    // One that is called like it is another.
    let again = "echo again >> /ran/log";
    run(
        &server,
        &programs,
        &locked(&folder, "first", "quick", again),
        "--detach",
    );
    run(&server, &programs, &free("three"), "");
    assert_eq!(lines(&folder), ["began", "going"]);
    fs::write(folder.join("let-go"), "").unwrap();
    wait_until(|| lines(&folder).len() == 5);
    assert_eq!(lines(&folder), ["began", "going", "ended", "second", "again"]);
}

/// It ends when somebody says so, and not before, however often it is asked to.
const SLOW_TO_END: &str = "trap 'trap : TERM; echo going >> /ran/log; until [ -e /ran/let-go ]; do sleep 0.05; done; \
                           echo ended >> /ran/log; exit 0' TERM; \
                           echo began >> /ran/log; while :; do sleep 0.05; done";

/// A workflow under the mutex. Its pod is called by its name and that of its template: two of the same name could not
/// be beside each other anyway.
fn locked(folder: &Path, name: &str, template: &str, script: &str) -> Value {
    let mut workflow = workflow(name, template, script);
    let spec = &mut workflow["spec"];
    spec["synchronization"] = json!({"mutex": {"name": "only"}});
    spec["podSpecPatch"] = json!("terminationGracePeriodSeconds: 120");
    spec["volumes"] = json!([{"name": "ran", "hostPath": {"path": folder}}]);
    workflow
}

fn free(name: &str) -> Value {
    let mut workflow = workflow(name, "main", "true");
    workflow["spec"]["templates"][1]["container"]["volumeMounts"] = Value::Null;
    workflow
}

fn workflow(name: &str, template: &str, script: &str) -> Value {
    let mount = json!([{"name": "ran", "mountPath": "/ran"}]);
    json!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": name},
        "spec": {"entrypoint": "steps", "templates": [
            {"name": "steps", "steps": [[{"name": "only", "template": template}]]},
            {"name": template, "container":
                {"image": "host", "command": ["sh", "-c", script], "volumeMounts": mount}},
        ]},
    })
}

#[track_caller]
fn run(server: &Server, programs: &[(&str, &Path)], workflow: &Value, option: &str) {
    let line = format!("trainyard pipeline run {option} - <<'END'\n{workflow}\nEND");
    Shell::new(server, programs).ok(&line);
}
