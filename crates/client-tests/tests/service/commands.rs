//! The same over the command line.

use std::{fs, process::Command};

use client_tests::{Output, binary, is_real, run};
use serde_json::{Value, json};

use crate::{Service, countdown};

struct Line<'a> {
    service: &'a Service,
}

impl Line<'_> {
    #[track_caller]
    fn run(&self, line: &str, input: &str) -> Output {
        let mut command = Command::new(binary());
        command.args(line.split(' ').filter(|word| !word.is_empty()));
        if is_real() {
            command
                .env("TRAINYARD_SERVICE", &self.service.address)
                .env("TRAINYARD_TOKEN", &self.service.token);
        } else {
            command.arg("--data-dir").arg(self.service.data_dir());
        }
        run(&mut command, input)
    }

    #[track_caller]
    fn ok(&self, line: &str, input: &str) -> String {
        let output = self.run(line, input);
        assert_eq!(output.code, 0, "{line}: {}{}", output.stdout, output.stderr);
        output.stdout
    }

    #[track_caller]
    fn json(&self, line: &str, input: &str) -> Value {
        serde_json::from_str(&self.ok(line, input)).unwrap()
    }
}

#[test]
fn tasks_are_submitted_followed_and_deleted_by_commands() {
    let service = Service::start();
    let line = Line { service: &service };
    let templates = line.ok("template list", "");
    for name in ["countdown-task", "non-distributed-task", "single-gpu-task"] {
        assert!(templates.contains(name), "{templates}");
    }
    assert!(
        line.ok("template show countdown-task", "")
            .contains("{{ global.release }}")
    );

    // Definitions, as JSON and as an object of Kubernetes.
    let mut definition = service.register_countdown("countdown");
    for extra in ["namespace", "created_at", "etag", "warnings"] {
        definition.as_object_mut().unwrap().remove(extra);
    }
    let file = service.server.home().join("definition.json");
    fs::write(&file, definition.to_string()).unwrap();
    let applied = line.ok(&format!("definition apply -f {}", file.display()), "");
    assert_eq!(applied, "definition countdown changed\n");
    definition.as_object_mut().unwrap().remove("name");
    let object = json!({"kind": "TaskDefinition", "metadata": {"name": "second"}, "spec": definition});
    assert_eq!(
        line.ok("definition apply -f -", &object.to_string()),
        "definition second created\n"
    );
    assert_eq!(
        line.json("definition list -o json", "").as_array().unwrap().len(),
        2
    );
    assert_eq!(
        line.json("definition form countdown -o json", "")["definition"],
        "countdown"
    );
    assert!(
        line.ok("definition show countdown", "")
            .contains("task_template_name: countdown-task")
    );

    // A task, tried, submitted, shown.
    let values = countdown("countdown", 2).to_string();
    let tried = line.ok("task submit -f - --dry-run", &values);
    assert!(
        tried.contains("kind: Job") && tried.contains("namespace: default"),
        "{tried}"
    );
    let refused = line.run("task submit -f -", r#"{"taskDef": "countdown"}"#);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("/process"), "{}", refused.stderr);
    assert_eq!(line.run("task show none", "").code, 1);
    let task = line.json("task submit -f - -o json --key once", &values);
    let name = task["name"].as_str().unwrap();
    assert_eq!(
        line.json("task submit -f - -o json --key once", &values)["name"],
        name
    );
    assert!(line.ok("task list", "").contains(name));
    assert_eq!(
        line.json(&format!("task show {name} -o json"), "")["values"]["process"]["train"]["number"],
        2
    );
    if !is_real() {
        let watched = line.run("task submit -f - --watch --set process.train.number=3", &values);
        assert_eq!(watched.code, 0, "{watched:?}");
        assert!(
            watched.stdout.replace('\r', "").ends_with("3\n2\n1\n"),
            "{watched:?}"
        );
        assert!(watched.stderr.contains("is Succeeded"), "{watched:?}");
        let printed = line.ok(&format!("task logs {name} -f"), "");
        assert_eq!(printed.replace('\r', ""), "2\n1\n");
    }
    let done = line.ok(&format!("task delete {name}"), "");
    assert!(done.starts_with(name), "{done}");

    // Templates: published, tried.
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: \"{{ global.release }}\"\ndata: {a: \"{{ a }}\"}\n";
    let file = service.server.home().join("mine.yaml.j2");
    fs::write(&file, template).unwrap();
    let apply = format!("template apply -f {}", file.display());
    assert_eq!(line.ok(&apply, ""), "template mine created\n");
    assert_eq!(line.ok(&apply, ""), "template mine changed\n");
    let rendered = line.ok("template render mine -f -", "a: b\n");
    assert!(rendered.contains("a: b"), "{rendered}");
    let broken = line.run("template render mine -f -", "x: y\n");
    assert_eq!(broken.code, 1);
    assert!(broken.stderr.contains("{{ a }}"), "{}", broken.stderr);

    // Tokens.
    let token = line.ok("token create ada --role viewer --in default --days 1", "");
    assert!(token.starts_with("ty_"), "{token}");
    let list = line.ok("token list", "");
    assert!(
        list.contains("ada") && list.contains("viewer in default"),
        "{list}"
    );
}

#[test]
fn the_manifests_of_the_service_are_what_a_cluster_takes() {
    let mut command = Command::new(binary());
    command.args([
        "service",
        "--print-manifests",
        "--image",
        "registry.example/trainyard:1",
    ]);
    let text = run(&mut command, "").success();
    for words in [
        "kind: Deployment",
        "image: registry.example/trainyard:1",
        "name: trainyard-submitter",
        "name: tasks.trainyard.dev",
    ] {
        assert!(text.contains(words), "{words}");
    }
}
