//! Callbacks: who is told, of what, in which order, how often, and what stays secret.

use std::process::Command;

use client_tests::{
    Call, Receiver, run,
    team::{Scenario, Team},
};
use serde_json::{Value, json};

use crate::{events, play, submit, until_is};

#[test]
fn receivers_are_told_what_happens() {
    let scenarios: [Scenario; 6] = [
        ("told", told_in_order_with_headers_and_signature),
        ("slow", a_receiver_that_fails_is_tried_again),
        ("wants-none", a_receiver_that_wants_no_more_is_left_alone),
        ("forbidden", addresses_that_are_not_allowed_are_not_called),
        ("replay", a_delivery_is_made_once_more),
        ("secrets", secrets_of_others_are_neither_sent_nor_touched),
    ];
    play(&scenarios);
}

fn endpoint(task: &mut Value, url: &str) {
    task["spec"]["values"]["endpoints"] = json!([
        {"endpoint": "s3://bucket/data", "type": "dataset"},
        {"endpoint": url, "type": "event", "headers": {"x-api-key": "key-of-the-receiver"}},
    ]);
}

/// The deliveries of the team's task when all are over.
fn deliveries(team: &Team<'_>, count: usize) -> Vec<Value> {
    let list = team.until("callbackdeliveries", |list| {
        let all = list["items"].as_array().unwrap();
        let is_over =
            |delivery: &Value| !matches!(delivery["status"]["phase"].as_str(), None | Some("Pending"));
        all.len() == count && all.iter().all(is_over)
    });
    let mut all = list["items"].as_array().unwrap().clone();
    all.sort_by_key(|delivery| delivery["spec"]["sequence"].as_i64());
    all
}

fn told_in_order_with_headers_and_signature(team: &Team<'_>) {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    let receiver = Receiver::start();
    submit(team, "sleep 1", |task| {
        endpoint(task, &receiver.url("/v1/ml/train/callback"));
    });
    until_is(team, "Succeeded");
    deliveries(team, 3);
    nobody_learns_the_key(team);
    team.ok("delete task t --timeout=120s");
    deliveries(team, 4);
    let calls = receiver.calls();
    let told: Vec<&str> = calls
        .iter()
        .map(|call| call.body["status"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["pending", "running", "succeeded", "deleted"]);
    for (index, call) in calls.iter().enumerate() {
        assert_eq!(call.path, "/v1/ml/train/callback");
        assert_eq!(call.header("x-api-key"), Some("key-of-the-receiver"));
        assert_eq!(call.header("content-type"), Some("application/json"));
        assert_eq!(call.body["task_id"], "t");
        assert_eq!(call.body["task_def"], "run");
        assert_eq!(call.body["creator"], "ducta");
        assert_eq!(call.body["data"]["sequence"], index + 1);
    }
    let secret = team.ok("get secret trainyard-callback-signing -o jsonpath={.data.signing-secret}");
    for call in &calls {
        assert_eq!(call.header("webhook-signature").unwrap(), signed(call, &secret));
    }
    nobody_learns_the_key(team);
    let log = std::fs::read_to_string(team.server.home().join("server.log")).unwrap();
    assert!(!log.contains("key-of-the-receiver"));
}

/// Whoever reads tasks, deliveries or events, and what `kubectl apply` has written on them.
fn nobody_learns_the_key(team: &Team<'_>) {
    for what in [
        "tasks",
        "callbackdeliveries",
        "events",
        "configmaps",
        "jobs",
        "controllerrevisions",
    ] {
        let shown = team.ok(&format!("get {what} -o yaml"));
        assert!(!shown.contains("key-of-the-receiver"), "{what}: {shown}");
    }
}

/// Whoever may write tasks may name any Secret in them.
fn secrets_of_others_are_neither_sent_nor_touched(team: &Team<'_>) {
    team.ok(r#"create secret generic theirs --from-literal=endpoint-1.headers='{"x-api-key": "of-somebody-else"}'"#);
    let before = team.find("secrets/theirs");
    let receiver = Receiver::start();
    submit(team, "true", |task| {
        endpoint(task, &receiver.url("/"));
        task["spec"]["values"]["endpoints"][1]["headers"] = json!({"x-own": "mine"});
        task["spec"]["callbackSecret"] = json!("theirs");
    });
    until_is(team, "Succeeded");
    let all = receiver_settled(team, &receiver);
    for call in receiver.calls() {
        assert_eq!(call.header("x-api-key"), None);
        assert_eq!(call.header("x-own"), Some("mine"));
    }
    // Headers are for whom they were written for.
    let elsewhere = Receiver::start();
    let change = json!([
        {"op": "replace", "path": "/spec/values/endpoints/1/endpoint", "value": elsewhere.url("/")},
        {"op": "add", "path": "/spec/attempt", "value": 2},
    ]);
    team.ok(&format!("patch task t --type=json -p '{change}'"));
    team.until("tasks/t", |task| {
        task["status"]["attempt"] == 2 && task["status"]["phase"] == "Succeeded"
    });
    deliveries(team, events(&team.find("tasks/t")).len());
    let calls = elsewhere.calls();
    assert!(!calls.is_empty() && calls.iter().all(|call| call.header("x-own").is_none()));
    // Nor is a delivery sent elsewhere.
    let name = all[0]["metadata"]["name"].as_str().unwrap();
    let refused = team.run(&format!(
        "patch callbackdelivery {name} --type=merge -p '{{\"spec\":{{\"url\":\"http://127.0.0.1:1/\",\"replay\":1}}}}'"
    ));
    assert!(
        refused.code != 0 && refused.stderr.contains("only `replay`"),
        "{}",
        refused.stderr
    );
    team.ok("delete task t --timeout=120s");
    assert_eq!(team.find("secrets/theirs"), before);
}

/// What a receiver would compute: by another program, from the specification.
fn signed(call: &Call, secret: &str) -> String {
    let program = "
import base64, hashlib, hmac, sys
secret, id, timestamp, body = sys.argv[1:]
key = base64.b64decode(base64.b64decode(secret).decode().removeprefix('whsec_'))
digest = hmac.new(key, f'{id}.{timestamp}.{body}'.encode(), hashlib.sha256).digest()
print('v1,' + base64.b64encode(digest).decode())
";
    let mut python = Command::new("python3");
    python.args([
        "-c",
        program,
        secret,
        call.header("webhook-id").unwrap(),
        call.header("webhook-timestamp").unwrap(),
        &call.text,
    ]);
    run(&mut python, "").success().trim().to_owned()
}

fn a_receiver_that_fails_is_tried_again(team: &Team<'_>) {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let receiver =
        Receiver::answering(
            move |_| match count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 => (500, String::new()),
                1 => (503, "Retry-After: 7\r\n".to_owned()),
                _ => (204, String::new()),
            },
        );
    submit(team, "sleep 1", |task| endpoint(task, &receiver.url("/")));
    until_is(team, "Succeeded");
    let all = deliveries(team, 3);
    let attempts = all[0]["status"]["attempts"].as_array().unwrap();
    let codes: Vec<&Value> = attempts.iter().map(|attempt| &attempt["statusCode"]).collect();
    assert_eq!(codes, [500, 503, 204]);
    let calls = receiver.calls();
    // Nothing overtakes what is tried again, and the receiver gets the time it asks for.
    let sequences: Vec<&Value> = calls.iter().map(|call| &call.body["data"]["sequence"]).collect();
    assert_eq!(sequences, [1, 1, 1, 2, 3]);
    assert_eq!(calls[0].header("webhook-id"), calls[2].header("webhook-id"));
    let waited = calls[2].at.duration_since(calls[1].at);
    assert!(waited.as_secs_f64() > 6.5, "{waited:?}");
}

fn a_receiver_that_wants_no_more_is_left_alone(team: &Team<'_>) {
    let receiver = Receiver::answering(|_| (410, String::new()));
    submit(team, "sleep 1", |task| endpoint(task, &receiver.url("/")));
    until_is(team, "Succeeded");
    let all = deliveries(team, 3);
    assert!(
        all.iter().all(|delivery| delivery["status"]["phase"] == "Gone"),
        "{all:?}"
    );
    assert_eq!(receiver.calls().len(), 1);
}

fn addresses_that_are_not_allowed_are_not_called(team: &Team<'_>) {
    let elsewhere = Receiver::start();
    let target = elsewhere.url("/");
    let receiver = Receiver::answering(move |_| (302, format!("Location: {target}\r\n")));
    submit(team, "sleep 1", |task| {
        task["spec"]["values"]["endpoints"] = json!([
            {"endpoint": "http://169.254.169.254/latest/meta-data", "type": "event"},
            {"endpoint": "http://[fd00:ec2::254]/", "type": "event"},
            {"endpoint": "http://10.0.0.1/", "type": "event"},
            {"endpoint": receiver.url("/"), "type": "event"},
        ]);
    });
    until_is(team, "Succeeded");
    let list = team.until("callbackdeliveries", |list| {
        let all = list["items"].as_array().unwrap();
        let is_tried = |delivery: &Value| delivery["status"]["attemptCount"].as_i64() >= Some(1);
        all.iter().filter(|delivery| is_tried(delivery)).count() >= 10
    });
    for delivery in list["items"].as_array().unwrap() {
        let attempts = &delivery["status"]["attempts"];
        match delivery["spec"]["endpoint"].as_i64().unwrap() {
            3 if attempts.is_null() => {}
            3 => assert!(
                attempts[0]["error"]
                    .as_str()
                    .unwrap()
                    .contains("redirects are not followed")
            ),
            _ => {
                assert_eq!(delivery["status"]["phase"], "Failed", "{delivery}");
                assert_eq!(delivery["status"]["attemptCount"], 1);
                assert!(
                    attempts[0]["error"]
                        .as_str()
                        .unwrap()
                        .contains("not a public address"),
                    "{delivery}"
                );
                for inside in ["169.254.169.254", "fd00:ec2::254", "10.0.0.1"] {
                    assert!(!attempts.to_string().contains(inside), "{delivery}");
                }
            }
        }
    }
    assert!(elsewhere.calls().is_empty());
}

fn a_delivery_is_made_once_more(team: &Team<'_>) {
    let receiver = Receiver::start();
    submit(team, "true", |task| endpoint(task, &receiver.url("/")));
    until_is(team, "Succeeded");
    let before = receiver_settled(team, &receiver);
    let last = before.last().unwrap();
    let name = last["metadata"]["name"].as_str().unwrap();
    team.ok(&format!(
        "patch callbackdelivery {name} --type=merge -p '{{\"spec\":{{\"replay\":1}}}}'"
    ));
    team.until(&format!("callbackdeliveries/{name}"), |delivery| {
        delivery["status"]["observedReplay"] == 1 && delivery["status"]["phase"] == "Delivered"
    });
    let calls = receiver.calls();
    assert_eq!(calls.len(), before.len() + 1);
    let ids: Vec<_> = calls
        .iter()
        .rev()
        .take(2)
        .map(|call| call.header("webhook-id"))
        .collect();
    assert_eq!(ids[0], ids[1]);
    assert_eq!(
        calls.last().unwrap().header("x-api-key"),
        Some("key-of-the-receiver")
    );
}

/// All deliveries of a task that has ended, made.
fn receiver_settled(team: &Team<'_>, receiver: &Receiver) -> Vec<Value> {
    let task = team.find("tasks/t");
    let count = task["status"]["events"].as_array().unwrap().len();
    let all = deliveries(team, count);
    assert_eq!(receiver.calls().len(), count);
    all
}
