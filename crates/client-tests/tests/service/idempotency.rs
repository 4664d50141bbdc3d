//! A key stands for one task, however often its request is sent.

use std::{sync::Arc, thread};

use client_tests::{Release, Shell, kubectl, needed};
use serde_json::json;

use crate::{Service, countdown};

#[test]
fn the_same_request_with_the_same_key_is_one_task() {
    let service = Arc::new(Service::start());
    service.register_countdown("countdown");
    let values = countdown("countdown", 1).to_string();
    let submit = |key: &str, body: &str| {
        let header = format!("Idempotency-Key: {key}");
        service.curl(&["-X", "POST", "-H", &header], "/v1/tasks", Some(body))
    };

    // At once and one after the other: one of them makes it, all of them get it.
    let together: Vec<_> = (0..8)
        .map(|_| {
            let (service, values) = (service.clone(), values.clone());
            thread::spawn(move || {
                let reply = service.curl(
                    &["-X", "POST", "-H", "Idempotency-Key: k-1"],
                    "/v1/tasks",
                    Some(&values),
                );
                reply.expect(201)["name"].as_str().unwrap().to_owned()
            })
        })
        .collect();
    let names: Vec<String> = together
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert!(names.iter().all(|name| *name == names[0]), "{names:?}");
    let again = submit("k-1", &values);
    assert_eq!(again.expect(201)["name"], names[0].as_str());
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let tasks = service.get("/v1/tasks").expect(200);
    assert_eq!(tasks["items"].as_array().unwrap().len(), 1, "{tasks}");

    // Another key is another task; another body is a mistake.
    let other = submit("k-2", &values).expect(201);
    assert_ne!(other["name"], names[0].as_str());
    submit("k-1", &countdown("countdown", 2).to_string()).problem(422, "idempotency_key_used");

    // What is wrong leaves no note: the same key may be used once it is right.
    let wrong = json!({"taskDef": "countdown", "name": "demo", "creator": "x", "process": {}}).to_string();
    submit("k-3", &wrong).problem(422, "invalid");
    submit("k-3", &values).expect(201);

    // A task that is gone is not made again by its key.
    let name = other["name"].as_str().unwrap();
    let deleted = service.curl(&["-X", "DELETE"], &format!("/v1/tasks/{name}"), None);
    assert!(matches!(deleted.status, 202 | 204), "{deleted:?}");
    crate::until("the task to be gone", || {
        let found = service.get(&format!("/v1/tasks/{name}"));
        (found.status == 404).then_some(()).ok_or(found.body)
    });
    submit("k-2", &values).problem(410, "gone");
}

/// Whoever is killed between making a task and writing that down leaves a note without a mark.
#[test]
fn a_key_is_used_up_though_nobody_could_write_it_down() {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let service = Service::start();
    service.register_countdown("countdown");
    let values = countdown("countdown", 1).to_string();
    let submit = |key: &str| {
        let header = format!("Idempotency-Key: {key}");
        service.curl(&["-X", "POST", "-H", &header], "/v1/tasks", Some(&values))
    };
    let task = submit("k-1").expect(201);
    let name = task["name"].as_str().unwrap();
    let shell = Shell::new(&service.server, &[("kubectl", &kubectl)]);
    shell.ok("kubectl annotate configmap -l trainyard.dev/idempotency-key trainyard.dev/task-made-");
    shell.ok(&format!("kubectl delete task {name} --timeout=120s"));
    submit("k-1").problem(410, "gone");
}

/// Of a hundred thousand names two may be the same.
#[test]
fn a_key_never_stands_for_the_task_of_somebody_else() {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let service = Service::start();
    service.register_countdown("countdown");
    let theirs = service.countdown("countdown", 1);
    let values = countdown("countdown", 2).to_string();
    let shell = Shell::new(&service.server, &[("kubectl", &kubectl)]);
    shell.ok(&format!(
        r#"key=$(printf %s '["default","admin","k-1"]' | sha256sum | cut -c1-40)
           body=$(printf %s '{values}' | sha256sum | cut -c1-64)
           kubectl create configmap idempotency-$key --from-literal=task={theirs} --from-literal=body=$body"#
    ));
    let header = "Idempotency-Key: k-1";
    let reply = service.curl(&["-X", "POST", "-H", header], "/v1/tasks", Some(&values));
    let problem = reply.problem(409, "conflict");
    assert!(
        problem["detail"].as_str().unwrap().contains("another key"),
        "{problem}"
    );
}
