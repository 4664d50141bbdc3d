//! Staying with a task: its states and what it prints, over connections that break off, until it has ended.

use std::{pin::pin, process::ExitCode, time::Duration};

use anyhow::Result;
use futures_util::{StreamExt as _, future::join};
use serde_json::Value;

use super::{
    super::{events::Event, problem::Problem, rest::Rest, shown::text},
    path,
};

/// How often a stream that breaks off is taken up again before that is told.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_secs(1);

/// Reads a stream to its end, whatever breaks off in between, and tells of every event but the last.
async fn read(
    rest: &Rest,
    path: &str,
    query: &[(&str, &str)],
    mut tell: impl FnMut(&Event),
) -> Result<Value> {
    let (mut after, mut failures) = (String::new(), 0);
    loop {
        let outcome: Result<Option<Value>> = async {
            let mut events = pin!(rest.stream(path, query, &after).await?);
            while let Some(event) = events.next().await {
                let event = event?;
                if event.name == "end" {
                    return Ok(Some(serde_json::from_str(&event.data).unwrap_or_default()));
                }
                if let Some(id) = &event.id {
                    after.clone_from(id);
                }
                tell(&event);
                failures = 0;
            }
            Ok(None)
        }
        .await;
        match outcome {
            Ok(Some(end)) => return Ok(end),
            Ok(None) => {}
            Err(error) if error.is::<Problem>() || failures >= TRIES => return Err(error),
            Err(_) => failures += 1,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Shows states and output of a task that was just submitted. Succeeds when the task does.
pub(super) async fn until_the_end(rest: &Rest, task: &Value, is_json: bool) -> Result<ExitCode> {
    let name = &text(task, "name");
    let namespace = task["namespace"].as_str().unwrap_or("default");
    let query = [("namespace", namespace)];
    let mut last = (String::new(), String::new());
    let (states, lines) = (format!("{}/status", path(name)), format!("{}/logs", path(name)));
    let states = read(rest, &states, &query, |event| {
        let state: Value = serde_json::from_str(&event.data).unwrap_or_default();
        if is_json {
            println!("{state}");
            return;
        }
        let now = (text(&state, "phase"), text(&state, "message"));
        if now != last {
            let colon = if now.1.is_empty() { "" } else { ": " };
            eprintln!("{name} is {}{colon}{}", now.0, now.1);
            last = now;
        }
    });
    let output = async {
        if is_json {
            return Ok(Value::Null);
        }
        read(rest, &lines, &query, print_line).await
    };
    let (end, output) = join(states, output).await;
    output?;
    let succeeded = end?["phase"] == "Succeeded";
    Ok(ExitCode::from(u8::from(!succeeded)))
}

/// Shows what a task prints until it has ended.
pub(super) async fn logs(rest: &Rest, path: &str, query: &[(&str, &str)]) -> Result<ExitCode> {
    read(rest, path, query, print_line).await?;
    Ok(ExitCode::SUCCESS)
}

fn print_line(event: &Event) {
    println!("{}", event.data);
}
