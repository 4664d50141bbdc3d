//! Who changes something says what it was: ETags.

use serde_json::json;

use crate::Service;

#[test]
fn a_change_names_the_version_it_changes() {
    let service = Service::start();
    let made = service.register_countdown("countdown");
    let reply = service.get("/v1/definitions/countdown");
    let tag = reply
        .header("etag")
        .expect("what can be changed has a version")
        .to_owned();
    let mut changed = made.clone();
    for extra in ["namespace", "created_at", "etag", "warnings"] {
        changed.as_object_mut().unwrap().remove(extra);
    }
    changed["description"] = json!("counts down, but better described");
    let put = |header: Option<&str>| {
        let header = header.map(|value| format!("If-Match: {value}"));
        let mut arguments = vec!["-X", "PUT"];
        if let Some(header) = &header {
            arguments.extend(["-H", header]);
        }
        service.curl(
            &arguments,
            "/v1/definitions/countdown",
            Some(&changed.to_string()),
        )
    };
    put(None).problem(428, "version_required");
    put(Some("\"1\"")).problem(412, "changed");
    let answer = put(Some(&tag));
    answer.expect(200);
    assert_ne!(answer.header("etag"), Some(tag.as_str()));
    put(Some(&tag)).problem(412, "changed");
    put(Some("*")).expect(200);

    // Whoever has it gets nothing.
    let now = service.get("/v1/definitions/countdown");
    let header = format!("If-None-Match: {}", now.header("etag").unwrap());
    let reply = service.curl(&["-H", &header], "/v1/definitions/countdown", None);
    assert_eq!((reply.status, reply.body.as_str()), (304, ""));

    // A dry run changes nothing.
    changed["description"] = json!("only tried");
    let path = "/v1/definitions/countdown?dryRun=true";
    let tried = service.curl(
        &["-X", "PUT", "-H", "If-Match: *"],
        path,
        Some(&changed.to_string()),
    );
    assert_eq!(tried.expect(200)["description"], "only tried");
    assert_ne!(
        service.get("/v1/definitions/countdown").expect(200)["description"],
        "only tried"
    );

    // Deleting needs no version, but minds one.
    let delete = |tag: &str| {
        let header = format!("If-Match: {tag}");
        service.curl(
            &["-X", "DELETE", "-H", &header],
            "/v1/definitions/countdown",
            None,
        )
    };
    delete("\"1\"").problem(412, "changed");
    delete("*").expect(204);
    service.get("/v1/definitions/countdown").problem(404, "not_found");
}

#[test]
fn a_template_in_use_stays_and_tasks_keep_what_they_were_made_of() {
    let service = Service::start();
    service.register_countdown("countdown");
    let delete = |path: &str| service.curl(&["-X", "DELETE"], path, None);
    let problem = delete("/v1/templates/countdown-task").problem(409, "in_use");
    assert!(
        problem["detail"].as_str().unwrap().contains("`countdown`"),
        "{problem}"
    );
    let name = service.countdown("countdown", 1);
    service.wait_for(&name, &["Running", "Succeeded"]);
    delete("/v1/definitions/countdown").expect(204);
    if !client_tests::is_real() {
        assert_eq!(
            service.wait_for(&name, &["Succeeded", "Failed"])["phase"],
            "Succeeded"
        );
        // Once more, from what it was.
        service
            .curl(&["-X", "POST"], &format!("/v1/tasks/{name}:retry"), None)
            .expect(202);
        crate::until("the second attempt", || {
            let task = service.get(&format!("/v1/tasks/{name}")).expect(200);
            (task["attempt"] == 2 && task["phase"] == "Succeeded")
                .then_some(())
                .ok_or(task.to_string())
        });
    }
}

#[test]
fn a_template_that_another_includes_stays_and_includes_never_go_round() {
    let service = Service::start();
    let part = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ global.release }}\"}\n";
    let publish =
        |name: &str, text: &str| service.post("/v1/templates", &json!({"name": name, "template": text}));
    let problem = publish("whole", "{% include 'part' %}").problem(422, "unrenderable");
    assert_eq!(problem["errors"][0]["column"], 12, "{problem}");
    publish("part", part).expect(201);
    publish("whole", "{% include 'part' %}").expect(201);
    let rendered = service.post("/v1/templates/whole/render", &json!({"values": {}}));
    assert_eq!(rendered.expect(200)["manifests"][0]["kind"], "ConfigMap");
    let around = json!({"name": "part", "template": "{% include 'whole' %}"}).to_string();
    let replaced = service.curl(
        &["-X", "PUT", "-H", "If-Match: *"],
        "/v1/templates/part",
        Some(&around),
    );
    let problem = replaced.problem(422, "unrenderable");
    assert!(problem.to_string().contains("part → whole → part"), "{problem}");
    let delete = |name: &str| service.curl(&["-X", "DELETE"], &format!("/v1/templates/{name}"), None);
    let problem = delete("part").problem(409, "in_use");
    assert!(
        problem["detail"].as_str().unwrap().contains("`whole`"),
        "{problem}"
    );
    delete("whole").expect(204);
    delete("part").expect(204);
}
