//! How long after its submission a task's receivers hear of it: submissions of several clients at once, an operator
//! beside the service, and a receiver that answers at once. The tasks make nothing that runs, so that it is callbacks
//! alone that take time.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{Bench, CLIENTS, Samples, percentile, together};
use crate::processes::{Background, wait_until};

const TASKS: usize = 500;
const PATIENCE: Duration = Duration::from_mins(3);

const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ global.release }}\"}\ndata: {number: \"{{ number }}\"}\n";

/// When the first and the last callback of each task came.
type Heard = Arc<Mutex<HashMap<String, Times>>>;
/// Of the first callback and the last.
type Times = (Option<Instant>, Option<Instant>);

pub(super) fn measure(binaries: &Path, folder: &Path, samples: &mut Samples) -> Result<()> {
    eprintln!("ours: callbacks of {TASKS} tasks");
    let bench = Bench::start(binaries, folder)?;
    let mut operator = Command::new(binaries.join("trainyard"));
    operator
        .args(["operator", "--install-definitions", "--leader-elect=false"])
        .args(["--metrics-bind-address=0", "--health-probe-bind-address=0"])
        .args(["--callbacks-to", "127.0.0.0/8"])
        .env("KUBECONFIG", &bench.kubeconfig);
    let operator = Background::start("operator", &mut operator, folder)?;
    let template = json!({"name": "notes", "template": TEMPLATE});
    bench.service.expect(201, "POST", "/v1/templates", &template)?;
    let definition = json!({"name": "note", "task_template_name": "notes"});
    bench
        .service
        .expect(201, "POST", "/v1/definitions", &definition)?;
    let (port, heard) = receive()?;
    let submit = |count: usize| submit(&bench, port, count);
    // Whoever has just started may be slow once.
    let first = submit(CLIENTS)?;
    await_all(&heard, &first)?;
    let submitted = submit(TASKS)?;
    await_all(&heard, &submitted)?;
    let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    let after = |pick: fn(&Times) -> Option<Instant>| -> Vec<Duration> {
        let took = submitted
            .iter()
            .filter_map(|(task, begun)| Some(pick(heard.get(task)?)?.duration_since(*begun)));
        took.collect()
    };
    let (mut firsts, mut lasts) = (after(|heard| heard.0), after(|heard| heard.1));
    samples.add("callback_p50", "ours", percentile(&mut firsts, 50));
    samples.add("callback_p99", "ours", percentile(&mut firsts, 99));
    samples.add("last_callback_p99", "ours", percentile(&mut lasts, 99));
    operator.stop()?;
    bench.stop()
}

/// Submits tasks; their names, and when that began.
fn submit(bench: &Bench, port: u16, count: usize) -> Result<Vec<(String, Instant)>> {
    let submitted = Mutex::new(Vec::new());
    let values = json!({
        "taskDef": "note",
        "number": 1,
        "endpoints": [{"endpoint": format!("http://127.0.0.1:{port}/"), "type": "event", "headers": {"x-api-key": "k"}}],
    });
    together(&bench.service, CLIENTS, count, |service, _| {
        let begun = Instant::now();
        let body = service.expect(201, "POST", "/v1/tasks", &values)?;
        let task: Value = serde_json::from_slice(&body)?;
        let name = task["name"].as_str().context("a task has a name")?.to_owned();
        submitted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((name, begun));
        Ok(())
    })?;
    Ok(submitted.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn await_all(heard: &Heard, submitted: &[(String, Instant)]) -> Result<()> {
    wait_until("all callbacks", PATIENCE, || {
        let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(submitted
            .iter()
            .all(|(task, _)| heard.get(task).is_some_and(|heard| heard.1.is_some())))
    })
}

/// A receiver that notes what comes; its port.
fn receive() -> Result<(u16, Heard)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let heard = Heard::default();
    let noted = heard.clone();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let noted = noted.clone();
            // What breaks off is sent again.
            thread::spawn(move || drop(answer(stream, &noted)));
        }
    });
    Ok((port, heard))
}

fn answer(mut stream: TcpStream, heard: &Heard) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let now = Instant::now();
    stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")?;
    let told: Value = serde_json::from_slice(&body)?;
    let task = told["task_id"].as_str().unwrap_or_default().to_owned();
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = heard.entry(task).or_default();
    match told["status"].as_str() {
        Some("pending") => entry.0 = entry.0.or(Some(now)),
        Some("succeeded" | "failed") => entry.1 = entry.1.or(Some(now)),
        _ => {}
    }
    Ok(())
}
