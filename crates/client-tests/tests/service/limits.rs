//! No faster than allowed.

use client_tests::{Server, User, is_real};
use serde_json::json;

use crate::{curl, until};

#[test]
fn whoever_asks_too_often_is_told_when_to_come_back() {
    if is_real() {
        return;
    }
    let options = ["--images", "host", "--service-rate", "1"];
    let server = Server::start_with_options(User::Us, &options);
    let address = crate::address(&server);
    let authorization = format!("Authorization: Bearer {}", crate::admin_token(&server));
    let body = json!({"name": "tried", "task_template_name": "countdown-task"}).to_string();
    let ask = || {
        curl::ask(
            &format!("{address}/v1/definitions?dryRun=true"),
            &["-X", "POST", "-H", authorization.as_str()],
            Some(&body),
        )
    };
    assert_eq!(ask().status, 200);
    // Many at once, and once more where the machine was too slow to be too fast.
    let mut refused = None;
    until("somebody to be refused", || {
        let replies: Vec<_> = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..30).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().map(|asked| asked.join().unwrap()).collect()
        });
        let other = replies.iter().find(|reply| !matches!(reply.status, 200 | 429));
        assert!(other.is_none(), "{other:?}");
        refused = replies.into_iter().find(|reply| reply.status == 429);
        let is_refused = refused.is_some().then_some(());
        is_refused.ok_or_else(|| "all of them were taken".to_owned())
    });
    let refused = refused.unwrap();
    refused.problem(429, "too_many_requests");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    // Health is everybody's.
    assert_eq!(curl::ask(&format!("{address}/readyz"), &[], None).status, 200);
}
