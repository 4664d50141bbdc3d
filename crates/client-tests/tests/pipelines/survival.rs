//! The whole program is killed in the middle of a workflow, again and again.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use client_tests::{Server, User, get, is_real};
use serde_json::{Value, json};

const STEPS: usize = 24;
/// The program is killed when so many steps have ended.
const KILLS: [usize; 3] = [3, 9, 16];
const PATIENCE: Duration = Duration::from_mins(3);

pub(crate) fn no_step_runs_twice() {
    if is_real() {
        return;
    }
    let mut server = Server::start_with_options(User::Us, &["--images", "host"]);
    let folder = server.home().join("ran");
    fs::create_dir_all(&folder).unwrap();
    create(&server, &workflow(&folder.display().to_string()));
    let deadline = Instant::now() + PATIENCE;
    for kill in KILLS {
        wait(deadline, || lines(&folder).len() >= kill);
        server.kill();
        server.start_again();
    }
    let mut ended = Value::Null;
    wait(deadline, || {
        let answer = get(
            &server.address(),
            "/apis/argoproj.io/v1alpha1/namespaces/default/workflows/survives",
            Some(&server.token()),
        );
        ended = serde_json::from_str(&answer.body).unwrap_or_default();
        ended["status"]["finishedAt"].is_string()
    });
    assert_eq!(ended["status"]["phase"], "Succeeded", "{:#}", ended["status"]);
    let mut ran = lines(&folder);
    ran.sort();
    let mut expected: Vec<String> = (0..STEPS).map(|number| format!("step {number}")).collect();
    expected.push("last".to_owned());
    expected.sort();
    assert_eq!(ran, expected, "each step has run once");
}

/// Many steps, a few at a time, and one that needs all of them.
fn workflow(folder: &str) -> Value {
    let numbers: Vec<String> = (0..STEPS).map(|number| number.to_string()).collect();
    let mount = json!([{"name": "ran", "mountPath": "/ran"}]);
    json!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "survives"},
        "spec": {
            "entrypoint": "main",
            "parallelism": 4,
            "volumes": [{"name": "ran", "hostPath": {"path": folder}}],
            "templates": [
                {"name": "main", "steps": [
                    [{"name": "each", "template": "note", "withItems": numbers,
                      "arguments": {"parameters": [{"name": "n", "value": "{{item}}"}]}}],
                    [{"name": "last", "template": "last",
                      "arguments": {"parameters": [{"name": "all", "value": "{{steps.each.outputs.result}}"}]}}],
                ]},
                {"name": "note", "inputs": {"parameters": [{"name": "n"}]}, "script": {
                    "image": "host", "command": ["sh"], "volumeMounts": mount,
                    "source": "sleep 0.2; echo 'step {{inputs.parameters.n}}' >> /ran/log; echo {{inputs.parameters.n}}",
                }},
                {"name": "last", "inputs": {"parameters": [{"name": "all"}]}, "container": {
                    "image": "host", "command": ["sh", "-c", "echo last >> /ran/log"], "volumeMounts": mount,
                }},
            ],
        },
    })
}

pub(crate) fn lines(folder: &std::path::Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn create(server: &Server, object: &Value) {
    let shell = client_tests::Shell::new(server, &[("trainyard", client_tests::binary())]);
    shell.ok(&format!(
        "trainyard pipeline run --detach - <<'END'\n{object}\nEND"
    ));
}

#[track_caller]
pub(crate) fn wait_until(is_so: impl FnMut() -> bool) {
    wait(Instant::now() + PATIENCE, is_so);
}

#[track_caller]
fn wait(deadline: Instant, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        assert!(Instant::now() < deadline, "it takes too long");
        thread::sleep(Duration::from_millis(50));
    }
}
