//! From the first moment on, and no faster than allowed.

use std::fs;

use client_tests::{Server, User, is_real};
use serde_json::json;

use crate::{Service, curl};

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

#[test]
fn whoever_asks_too_often_is_told_when_to_come_back() {
    if is_real() {
        return;
    }
    let options = ["--images", "host", "--service-rate", "1"];
    let server = Server::start_with_options(User::Us, &options);
    let status = server.status();
    let address = status["service"].as_str().unwrap();
    let token = fs::read_to_string(server.data_dir().join("service-token")).unwrap();
    let authorization = format!("Authorization: Bearer {}", token.trim());
    let body = json!({"name": "tried", "task_template_name": "countdown-task"}).to_string();
    let ask = || {
        curl::ask(
            &format!("{address}/v1/definitions?dryRun=true"),
            &["-X", "POST", "-H", authorization.as_str()],
            Some(&body),
        )
    };
    // At once, however slow the machine is.
    let replies: Vec<_> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..30).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert!(replies.iter().any(|reply| reply.status == 200), "{replies:?}");
    let refused = replies.iter().find(|reply| reply.status != 200);
    let refused = refused.expect("some of many are refused");
    refused.problem(429, "too_many_requests");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    // Health is everybody's.
    assert_eq!(curl::ask(&format!("{address}/readyz"), &[], None).status, 200);
}
