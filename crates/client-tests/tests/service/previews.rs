//! Trying things: dry runs and renders make nothing, and mistakes are told with their place.

use serde_json::json;

use crate::{Service, countdown};

#[test]
fn what_is_tried_leaves_nothing_behind() {
    let service = Service::start();
    service.register_countdown("countdown");
    let preview = service
        .post("/v1/tasks?dryRun=true", &countdown("countdown", 4))
        .expect(200);
    let manifests = preview["manifests"].as_array().unwrap();
    assert_eq!(manifests.len(), 1);
    assert_eq!(manifests[0]["metadata"]["namespace"], "default");
    let command = manifests[0]["spec"]["template"]["spec"]["containers"][0]["command"].to_string();
    assert!(command.contains("seq") || command.contains('4'), "{command}");
    assert_eq!(service.get("/v1/tasks").expect(200)["items"], json!([]));

    let template = json!({"name": "tried", "template": "apiVersion: v1\nkind: ConfigMap\n"});
    service.post("/v1/templates?dryRun=true", &template).expect(200);
    service.get("/v1/templates/tried").problem(404, "not_found");
    let definition = json!({"name": "tried", "task_template_name": "countdown-task"});
    service
        .post("/v1/definitions?dryRun=true", &definition)
        .expect(200);
    service.get("/v1/definitions/tried").problem(404, "not_found");
    let token = json!({"name": "tried", "grants": [{"role": "viewer", "namespace": "*"}]});
    let tried = service.post("/v1/tokens?dryRun=true", &token).expect(200);
    assert!(tried["token"].is_null(), "{tried}");
    service
        .get(&format!("/v1/tokens/{}", tried["id"].as_str().unwrap()))
        .problem(404, "not_found");
}

#[test]
fn values_that_are_wrong_are_told_all_at_once() {
    let service = Service::start();
    service.register_countdown("countdown");
    let wrong = json!({"taskDef": "countdown", "proces": {}, "process": {"train": {"number": "many"}}});
    let reply = service.post("/v1/tasks", &wrong);
    reply.problem(422, "invalid");
    let pointers = reply.pointers();
    for expected in ["/name", "/creator", "/process/train/number"] {
        assert!(
            pointers.contains(&expected.to_owned()),
            "{expected}: {pointers:?}"
        );
    }
    let problem = reply.json();
    let described = problem["errors"].to_string();
    assert!(
        described.contains("Upperbound number to countdown"),
        "{described}"
    );
    assert_eq!(service.get("/v1/tasks").expect(200)["items"], json!([]));
    let reply = service.post("/v1/tasks", &countdown("countdwn", 1));
    let problem = reply.problem(422, "invalid");
    assert_eq!(reply.pointers(), ["/taskDef"]);
    assert!(
        problem.to_string().contains("did you mean `countdown`"),
        "{problem}"
    );
}

#[test]
fn a_template_that_does_not_render_says_in_which_line() {
    let service = Service::start();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: \"{{ global.release }}\"\ndata:\n  tag: \"{{ image.tag }}\"\n";
    service
        .post("/v1/templates", &json!({"name": "mine", "template": text}))
        .expect(201);
    let render = |values| service.post("/v1/templates/mine/render", &json!({"values": values}));
    let rendered = render(json!({"image": {"tag": "v1"}})).expect(200);
    assert_eq!(rendered["manifests"][0]["data"]["tag"], "v1");
    let problem = render(json!({"name": "s3cret"})).problem(422, "unrenderable");
    let error = &problem["errors"][0];
    assert_eq!(
        (&error["line"], error["template"].as_str()),
        (&json!(6), Some("mine")),
        "{problem}"
    );
    assert!(
        error["snippet"].as_str().unwrap().contains("{{ image.tag }}"),
        "{problem}"
    );
    assert!(!problem.to_string().contains("s3cret"));

    // What may not be made says where in the template it is.
    let secret = text.replace("ConfigMap", "Secret");
    service
        .post("/v1/templates", &json!({"name": "theirs", "template": secret}))
        .expect(201);
    let reply = service.post(
        "/v1/templates/theirs/render",
        &json!({"values": {"image": {"tag": "v1"}}}),
    );
    let problem = reply.problem(422, "unrenderable");
    assert_eq!(problem["errors"][0]["line"], 2, "{problem}");

    // One that cannot be read is not published.
    let broken = json!({"name": "broken", "template": "a: {{ b \nc: {% if %}\n"});
    let reply = service.post("/v1/templates", &broken);
    let problem = reply.problem(422, "unrenderable");
    assert_eq!(
        (reply.pointers(), &problem["errors"][0]["line"]),
        (vec!["/template".to_owned()], &json!(2)),
        "{problem}"
    );
    let report = service.post("/v1/templates:check", &broken).expect(200);
    assert_eq!(report["findings"][0]["severity"], "error");
}

#[test]
fn definitions_have_a_schema_and_a_form() {
    let service = Service::start();
    service.register_countdown("count_down");
    let schema = service.get("/v1/definitions/count_down/schema").expect(200);
    let number = &schema["properties"]["process"]["properties"]["train"]["properties"]["number"];
    assert_eq!(number["type"], "integer", "{schema}");
    let form = service.get("/v1/definitions/count_down/form").expect(200);
    assert_eq!(form["definition"], "count_down");
    assert_eq!(form["example"]["process"]["train"]["number"], 3);
    assert!(form["fields"].to_string().contains("Upperbound number"), "{form}");
}
