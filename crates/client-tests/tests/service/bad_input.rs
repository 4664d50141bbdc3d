//! Requests that nobody should send, and what they are told.

use serde_json::json;

use crate::{Service, countdown};

#[test]
fn bodies_that_are_none_are_told_why() {
    let service = Service::start();
    service.register_countdown("countdown");
    let post = |arguments: &[&str], path: &str, body: &str| {
        let mut all = vec!["-X", "POST"];
        all.extend(arguments);
        service.curl(&all, path, Some(body))
    };
    let problem = post(&[], "/v1/tasks", "{\n  \"taskDef\": oops}").problem(400, "not_json");
    assert!(
        problem["detail"].as_str().unwrap().contains("line 2"),
        "{problem}"
    );
    post(&[], "/v1/tasks", "").problem(400, "not_json");
    post(&[], "/v1/tasks", "[1]").problem(422, "invalid");
    post(
        &["-H", "Content-Type: application/x-www-form-urlencoded"],
        "/v1/tasks",
        "a=b",
    )
    .problem(415, "unsupported_media_type");

    // Values of a megabyte, and a body beyond all measure.
    let mut large = countdown("countdown", 1);
    large["description"] = json!("x".repeat(900_000));
    let reply = service.post("/v1/tasks", &large);
    assert!(matches!(reply.status, 413 | 422), "{reply:?}");
    assert!(reply.body.len() < 10_000, "a mistake is told, not repeated");
    assert!(reply.body.contains("bytes"), "{}", reply.body);
    large["description"] = json!("x".repeat(3_000_000));
    service.post("/v1/tasks", &large).problem(413, "too_large");
    assert_eq!(service.get("/v1/tasks").expect(200)["items"], json!([]));

    // Depth is no way in either.
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    post(
        &[],
        "/v1/tasks",
        &format!("{{\"taskDef\": \"countdown\", \"x\": {deep}}}"),
    )
    .problem(400, "not_json");
}

#[test]
fn names_that_are_taken_gone_or_none() {
    let service = Service::start();
    let first = service.register_countdown("mine");
    let mut again = first.clone();
    for extra in ["namespace", "created_at", "etag", "warnings"] {
        again.as_object_mut().unwrap().remove(extra);
    }
    service
        .post("/v1/definitions", &again)
        .problem(409, "already_exists");
    again["append_uuid"] = json!(1);
    let other = service.post("/v1/definitions", &again).expect(201);
    assert!(other["name"].as_str().unwrap().starts_with("mine-"), "{other}");
    service
        .post(
            "/v1/templates",
            &json!({"name": "countdown-task", "template": "kind: Job\n"}),
        )
        .problem(409, "already_exists");

    // What users type is kept, whatever Kubernetes thinks of it.
    for name in ["Ünï cödé", "a.b", "a_b", "UPPER", &"x".repeat(200)] {
        let definition = json!({"name": name, "task_template_name": "countdown-task"});
        assert_eq!(
            service.post("/v1/definitions", &definition).expect(201)["name"],
            name
        );
    }
    for name in ["", " a", "a/b", "a\nb", &"x".repeat(300)] {
        let definition = json!({"name": name, "task_template_name": "countdown-task"});
        service
            .post("/v1/definitions", &definition)
            .problem(422, "invalid");
    }
    let found = service
        .get("/v1/definitions/%C3%9Cn%C3%AF%20c%C3%B6d%C3%A9")
        .expect(200);
    assert_eq!(found["name"], "Ünï cödé");

    let reply = service.post(
        "/v1/definitions",
        &json!({"name": "lost", "task_template_name": "countdown-tusk"}),
    );
    let problem = reply.problem(422, "invalid");
    assert_eq!(reply.pointers(), ["/task_template_name"]);
    assert!(
        problem.to_string().contains("did you mean `countdown-task`"),
        "{problem}"
    );
    for (path, what) in [
        ("/v1/tasks/none", "task"),
        ("/v1/templates/none", "template"),
        ("/v1/definitions/none", "definition"),
        ("/v1/deliveries/none", "delivery"),
        ("/v1/tasks/none/logs", "task"),
    ] {
        let problem = service.get(path).problem(404, "not_found");
        assert!(problem["detail"].as_str().unwrap().contains(what), "{problem}");
    }
    service.get("/v1/nothing").problem(404, "not_found");
    let reply = service.curl(&["-X", "PATCH"], "/v1/tasks", None);
    reply.problem(405, "method_not_allowed");
    assert_eq!(reply.header("allow"), Some("GET, POST"));
}

#[test]
fn lists_are_read_page_by_page() {
    let service = Service::start();
    service.register_countdown("countdown");
    let mut submitted: Vec<String> = (0..7).map(|_| service.countdown("countdown", 1)).collect();
    let (mut read, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = service.get(&format!("/v1/tasks?limit=3{cursor}")).expect(200);
        let names = page["items"].as_array().unwrap().iter();
        read.extend(names.map(|task| task["name"].as_str().unwrap().to_owned()));
        assert!(
            page["items"].to_string().find("values").is_none(),
            "rows have no values"
        );
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    submitted.sort();
    read.sort();
    assert_eq!(read, submitted);
    let reply = service.get("/v1/tasks?cursor=nonsense");
    reply.problem(422, "invalid");
    assert_eq!(reply.pointers(), ["?cursor"]);
    let reply = service.get("/v1/tasks?limit=0&phase=Runing&unknown=1");
    assert_eq!(reply.pointers(), ["?unknown", "?limit", "?phase"]);
}

#[test]
fn a_task_is_cancelled_and_what_has_ended_is_not() {
    let service = Service::start();
    service.register_countdown("countdown");
    // The template counts as fast as it can, which is long with such a number.
    let name = service.countdown("countdown", 100_000_000);
    let act = |verb: &str| service.curl(&["-X", "POST"], &format!("/v1/tasks/{name}:{verb}"), None);
    act("retry").problem(409, "conflict");
    act("cancel").expect(202);
    act("cancel").expect(202);
    let task = service.wait_for(&name, &["Cancelled", "Succeeded", "Failed"]);
    assert_eq!(task["phase"], "Cancelled", "{task}");
    let other = service.get("/v1/tasks?phase=Cancelled").expect(200);
    assert_eq!(other["items"][0]["name"], name.as_str());
}
