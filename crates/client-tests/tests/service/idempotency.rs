//! A key stands for one task, however often its request is sent.

use std::{sync::Arc, thread};

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
