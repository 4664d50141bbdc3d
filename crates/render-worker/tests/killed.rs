//! A process that somebody else ends. Alone in its program, which has no other processes then.

#![expect(clippy::unwrap_used, reason = "the parts shared by tests are tests, too")]

use std::path::PathBuf;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use render_worker::{Pool, RenderRequest};
use templates::{Global, Inputs};

fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/render_worker")
}

fn request(number: u32) -> RenderRequest {
    RenderRequest {
        template: "t".to_owned(),
        text: format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: r-1}}\ndata: {{a: {number}}}\n"),
        inputs: Inputs {
            global: Global {
                release: "r-1".to_owned(),
                ..Global::default()
            },
            ..Inputs::default()
        },
        ..RenderRequest::default()
    }
}

#[tokio::test]
async fn a_process_that_was_killed_is_replaced() {
    let pool = Pool::new(program());
    pool.render(request(1)).await.unwrap();
    let [first] = children()[..] else {
        panic!("one process")
    };
    kill(Pid::from_raw(first), Signal::SIGKILL).unwrap();
    let rendered = pool.render(request(2)).await.unwrap();
    assert_eq!(rendered.objects[0]["data"]["a"], 2);
}

/// Our processes.
fn children() -> Vec<i32> {
    let own = std::process::id();
    let mut found = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{own}/task")).unwrap() {
        let text = std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        found.extend(text.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    found
}
