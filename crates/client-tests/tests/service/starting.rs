//! The first moments: what is said to be there is there, and what is not is said to be on its way.

use std::{fs, path::PathBuf, process::Command};

use client_tests::{Output, binary, is_real, run};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    Service,
    curl::{self, Reply},
    until,
};

#[test]
fn what_comes_with_the_program_is_there_when_it_says_that_it_is_ready() {
    let service = Service::start();
    let templates = service.get("/v1/templates").expect(200);
    let names: Vec<&str> = templates["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    for name in [
        "countdown-task",
        "non-distributed-task",
        "single-gpu-task",
        "mpi",
        "pipeline",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let groups = service.get("/v1/node-groups").expect(200);
    for name in ["ml", "dl"] {
        assert!(
            groups.to_string().contains(&format!("\"name\":\"{name}\"")),
            "{groups}"
        );
    }
    service.register_countdown("countdown");
}

/// A cluster in the background, which ends with the test.
struct Detached {
    home: TempDir,
}

impl Detached {
    fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn trainyard(&self, words: &[&str], input: &str) -> Output {
        let mut command = Command::new(binary());
        command
            .args(words)
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.data_dir().join("kubeconfig"));
        run(&mut command, input)
    }

    /// Starts it; what it says of itself.
    #[track_caller]
    fn up(&self) -> String {
        let data_dir = self.data_dir();
        let data_dir = data_dir.to_str().unwrap();
        let words = [
            "up",
            "--detach",
            "--listen",
            "127.0.0.1:0",
            "--data-dir",
            data_dir,
        ];
        self.trainyard(&words, "").success()
    }

    fn down(&self) -> Output {
        let data_dir = self.data_dir();
        self.trainyard(&["down", "--data-dir", data_dir.to_str().unwrap()], "")
    }

    /// What the task service says to whoever has this token.
    #[track_caller]
    fn get(&self, token: &str, path: &str) -> Reply {
        let data_dir = self.data_dir();
        let words = ["status", "-o", "json", "--data-dir", data_dir.to_str().unwrap()];
        let status: Value = serde_json::from_str(&self.trainyard(&words, "").success()).unwrap();
        let address = status["service"].as_str().unwrap();
        let authorization = format!("Authorization: Bearer {token}");
        curl::ask(&format!("{address}{path}"), &["-H", &authorization], None)
    }

    /// Returns when everything is there that comes with the program.
    #[track_caller]
    fn await_ready(&self) {
        until("the service to be ready", || {
            let ready = self.get("", "/readyz");
            (ready.status == 200).then_some(()).ok_or(ready.body)
        });
    }

    /// The token, as soon as it is written.
    #[track_caller]
    fn await_token(&self) -> String {
        let mut token = String::new();
        until("the token", || {
            token = self.token()?;
            Ok(())
        });
        token
    }

    /// The token in the file that the start block names.
    fn token(&self) -> Result<String, String> {
        let text = fs::read_to_string(self.data_dir().join("service-token"));
        text.map(|text| text.trim().to_owned())
            .map_err(|error| error.to_string())
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        self.down();
    }
}

/// Whether a start block says that this is still to come, alone or beside others.
fn says_late(block: &str, what: &str) -> bool {
    let mut lines = block.lines();
    lines.any(|line| line.starts_with("  not yet ") && line.contains(what))
}

/// Nobody may make templates.
const POLICY: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-templates}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - {apiGroups: [trainyard.dev], apiVersions: ['*'], resources: [tasktemplates], operations: [CREATE]}
  validations: [{expression: 'false', message: not now}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-templates}
spec: {policyName: no-templates, validationActions: [Deny]}
";

#[test]
fn templates_that_are_not_there_yet_are_not_said_to_be_missing() {
    if is_real() {
        return;
    }
    let cluster = Detached::new();
    cluster.up();
    cluster.await_ready();
    let token = cluster.await_token();
    cluster.trainyard(&["apply", "-f", "-"], POLICY).success();
    let template = |name: &str| {
        let spec = json!({"template": "kind: Job\n"});
        json!({"apiVersion": "trainyard.dev/v1alpha1", "kind": "TaskTemplate", "metadata": {"name": name}, "spec": spec})
            .to_string()
    };
    until("the policy to count", || {
        let tried = cluster.trainyard(&["apply", "--dry-run", "-f", "-"], &template("tried"));
        (tried.code != 0).then_some(()).ok_or(tried.stdout)
    });
    let countdown = template("countdown-task");
    cluster
        .trainyard(&["delete", "--wait", "-f", "-"], &countdown)
        .success();
    cluster
        .get(&token, "/v1/templates/countdown-task")
        .problem(404, "not_found");
    assert_eq!(cluster.down().code, 0);

    // Whoever starts it next brings back what comes with the program, and cannot yet.
    let block = cluster.up();
    assert!(says_late(&block, "task templates"), "{block}");
    for path in ["/v1/templates", "/v1/templates/countdown-task", "/v1/node-groups"] {
        let reply = cluster.get(&token, path);
        reply.problem(503, "unavailable");
        assert_eq!(reply.header("retry-after"), Some("1"), "{reply:?}");
    }
    assert_eq!(cluster.get("", "/readyz").status, 503);
    // What has nothing to do with it is answered.
    cluster.get(&token, "/v1/templates/mpi").expect(200);
    cluster.get(&token, "/v1/tasks").expect(200);

    cluster.trainyard(&["delete", "-f", "-"], POLICY).success();
    cluster.await_ready();
    cluster.get(&token, "/v1/templates/countdown-task").expect(200);
}

#[test]
fn a_token_that_cannot_be_written_is_tried_again_and_made_once() {
    if is_real() {
        return;
    }
    let cluster = Detached::new();
    cluster.up();
    let first = cluster.await_token();
    assert_eq!(cluster.down().code, 0);
    // Nothing can be written where a folder is.
    let file = cluster.data_dir().join("service-token");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let block = cluster.up();
    assert!(says_late(&block, "the token of the task service"), "{block}");
    until("a second try", || {
        let log = fs::read_to_string(cluster.data_dir().join("server.log")).unwrap_or_default();
        let tries = log.matches("has no token for its admin yet").count();
        (tries > 1).then_some(()).ok_or(log)
    });
    fs::remove_dir(&file).unwrap();
    let second = cluster.await_token();
    assert_ne!(second, first);
    let tokens = cluster.get(&second, "/v1/tokens?namespace=*").expect(200);
    assert_eq!(tokens["items"].as_array().unwrap().len(), 2, "{tokens}");
    // Both are in the log, made by nobody's request.
    let log = cluster.get(&second, "/v1/audit?namespace=*").expect(200);
    for record in log["items"].as_array().unwrap() {
        assert_eq!(
            (&record["operation"], &record["who"], &record["outcome"]),
            (&json!("createToken"), &json!("trainyard"), &json!("done")),
            "{log}"
        );
    }
    assert_eq!(log["items"].as_array().unwrap().len(), 2, "{log}");
}
